// tl doc: the topics of the library, what belongs to one, what a function does, with an example; what has some words in
// it; the same of a program; with --html all of the library and the manual as pages.
#include "commands.h"
#include "doc_index.h"
#include "documentation.h"
#include "options.h"
#include "parser/check/foreign_names.h"
#include "site.h"
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <sstream>

namespace tl::cli {
namespace {

std::string indented(const std::string& text) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    result += fmt::format("    {}\n", text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

} // namespace

std::string documentation_of(const Documented& entry) {
  std::string result;
  for (const std::string& signature : entry.signatures)
    result += signature + "\n";
  result += indented(entry.doc);
  for (const Example& example : entry.examples) {
    if (entry.doc.find('`' + example.code + '`') != std::string::npos) continue; // the text says it
    result += fmt::format("    {}\n", example.code);
    if (!example.value.empty()) result += fmt::format("    # {}{}\n", example.about ? "about " : "", example.value);
  }
  return result;
}

static std::string documentation_of_own(const std::string& name) {
  std::string found;
  auto entry = [&](const Documented& documented) {
    found += (found.empty() ? "" : "\n") + documentation_of(documented);
  };
  const std::vector<DocumentedModule> modules = documented_library();
  for (const DocumentedModule& module : modules) {
    const bool is_named = module.name == name;
    if (is_named || (name.empty() && module.name != "prelude"))
      found += fmt::format("{}import {}\n{}", found.empty() ? "" : "\n", module.name, indented(module.doc));
    for (const Documented& documented : module.functions)
      if (name.empty() || is_named || documented.name == name) entry(documented);
  }
  if (found.empty()) // of a module that was not named
    for (const DocumentedModule& module : modules)
      for (const Documented& documented : module.functions)
        if (documented.name == module.name + "." + name) entry(documented);
  return found;
}

// What tl writes for a name of another library: np.cov, torch.einsum, pd.read_csv, nn.LSTM, concatenate.
static std::string documentation_of_foreign(const std::string& name) {
  const size_t dot = name.rfind('.');
  const std::string member = dot == std::string::npos ? "" : name.substr(dot + 1);
  if (!member.empty())
    if (std::string own = documentation_of_own(member); !own.empty()) return own;
  auto hint = member.empty() ? foreign_hint(name) : member_hint(member);
  const std::string module = name.substr(0, name.find('.'));
  if (!hint && !is_foreign_module(module)) hint = foreign_hint(module); // of a library that tl has as a whole otherwise
  return hint ? fmt::format("tl has no {}: {}\n", name, *hint) : "";
}

std::string documentation_of(const std::string& name) {
  std::string own = documentation_of_own(name);
  return own.empty() ? documentation_of_foreign(name) : own;
}

std::optional<std::string> help_on(compiler::Session& session, const std::string& name) {
  const std::vector<Documented> declared = session.declared();
  auto own = std::find_if(declared.rbegin(), declared.rend(), [&](const Documented& d) { return d.name == name; });
  if (own != declared.rend()) return documentation_of(*own);
  if (std::string text = documentation_of(name); !text.empty()) return text;
  const std::vector<std::string> names = session.names();
  if (std::find(names.begin(), names.end(), name) == names.end()) return std::nullopt;
  const auto type = session.type_of(name);
  return type ? *type + "\n" : "";
}

namespace {

struct DocFlags {
  std::string name, inside, search, folder;
  bool all = false;
};

int nothing_of(const std::string& name, const std::string& where) {
  fmt::print(stderr,
             "tl: there is no documentation of '{}'{}; `tl doc` lists the topics, `tl doc --search WORDS` looks "
             "for words\n",
             name, where);
  return kUsage;
}

int search(const std::vector<DocTopic>& topics, const std::string& words) {
  std::string text; // what tl has for words of other libraries, and then what has the words
  std::istringstream parts(words);
  for (std::string word; parts >> word;)
    if (foreign_hint(word)) text += documentation_of_foreign(word);
  text += found_in(topics, words);
  if (text.empty()) text = documentation_of_foreign(words);
  if (!text.empty()) {
    fmt::print("{}", text);
    return kFine;
  }
  fmt::print(stderr, "tl: no documentation has '{}' in it\n", words);
  return kUsage;
}

// Of a program: its summary, or all that there is of one name.
int document_file(const DocFlags& flags) {
  const std::optional<DocTopic> topic = file_topic(flags.name);
  if (!topic) return kRejected;
  if (!flags.search.empty()) return search({*topic}, flags.search);
  if (flags.inside.empty()) {
    fmt::print("{}", summary_of(*topic));
    return kFine;
  }
  for (const Documented& entry : topic->entries)
    if (entry.name == flags.inside) {
      fmt::print("{}", documentation_of(entry));
      return kFine;
    }
  return nothing_of(flags.inside, " in " + flags.name);
}

bool has_entry(const std::vector<DocTopic>& topics, const std::string& name) {
  for (const DocTopic& topic : topics)
    for (const Documented& entry : topic.entries)
      if (entry.name == name) return true;
  return false;
}

std::string summaries_of(const std::vector<DocTopic>& topics) {
  std::string text;
  for (const DocTopic& topic : topics)
    text += (text.empty() ? "" : "\n") + summary_of(topic);
  return text;
}

int document_library(const DocFlags& flags) {
  const std::vector<DocTopic> topics = library_topics();
  if (!flags.search.empty()) return search(topics, flags.search);
  if (flags.name.empty()) {
    fmt::print("{}", index_of(topics));
    return kFine;
  }
  const auto module = std::find_if(topics.begin(), topics.end(),
                                   [&](const DocTopic& t) { return t.is_module && t.title == flags.name; });
  if (module != topics.end()) {
    fmt::print("import {}", summary_of(*module));
    return kFine;
  }
  // A whole word of a topic comes before the functions of modules and of other libraries, the beginning of one behind.
  std::string text = has_entry(topics, flags.name) ? "" : summaries_of(topics_named(topics, flags.name, false));
  if (text.empty()) text = documentation_of(flags.name);
  if (text.empty()) text = summaries_of(topics_named(topics, flags.name, true));
  if (text.empty()) return nothing_of(flags.name, "");
  fmt::print("{}", text);
  return kFine;
}

int document(const DocFlags& flags) {
  const bool is_file = flags.name.ends_with(".tl") || flags.name.find('/') != std::string::npos;
  if (!flags.inside.empty() && !is_file)
    throw UsageError(fmt::format("'{}': a second name is looked for in a program, as in `tl doc FILE.tl {}`",
                                 flags.inside, flags.inside));
  if (flags.all) {
    fmt::print("{}", documentation_of(""));
    return kFine;
  }
  return is_file ? document_file(flags) : document_library(flags);
}

} // namespace

void add_doc(Command app, int& exit_code) {
  Command command =
      app.add_command("doc", "documentation by topic, by name or by words, of the library or of a program");
  auto flags = std::make_shared<DocFlags>();
  Option name = command.add_option(
      "NAME", flags->name, "a topic, module, function or struct; or a program, FILE.tl (default: list the topics)");
  command.add_option("INSIDE", flags->inside, "of a program: a function or struct in it");
  Option words = command.add_option("--search", flags->search, "list what has these words in its name or text")
                     .placeholder("WORDS");
  Option all = command.add_flag("--all", flags->all, "the whole reference").excludes(name).excludes(words);
  Option folder =
      command
          .add_option("--html", flags->folder, "write the manual and the library's reference as pages into this folder")
          .placeholder("FOLDER")
          .excludes(name)
          .excludes(words)
          .excludes(all);
  command.on_chosen([flags, folder, words, app, &exit_code] {
    if (words.given() && flags->search.find_first_not_of(" .,") == std::string::npos)
      throw UsageError("--search: give the words to look for");
    exit_code = folder.given() ? write_site(flags->folder, app) : document(*flags);
  });
}

} // namespace tl::cli

#include "doc_index.h"
#include "compiler/programs.h"
#include "driver/messages.h"
#include "lang/stdlib.h"
#include "parser/syntax/cursor.h"
#include "parser/syntax/parse.h"
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>

namespace tl::cli {
namespace {

constexpr size_t kLineColumns = 100, kNameColumns = 24, kMostFound = 40;
constexpr std::string_view kSection = "# ---- ";

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

// In lower case: of names and of texts, where `_` and `.` divide words, too.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : lower(text))
    if (is_word(c) && c != '_')
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  if (words.back().empty()) words.pop_back();
  return words;
}

// The sections of the prelude by what they declare.
std::map<std::string, std::string> prelude_sections() {
  std::map<std::string, std::string> sections;
  for (const EmbeddedFile& file : embedded_stdlib()) {
    if (file.name != "prelude.tl") continue;
    std::string section;
    for (size_t begin = 0; begin < file.text.size();) {
      const size_t end = std::min(file.text.find('\n', begin), file.text.size());
      const std::string_view line = std::string_view(file.text).substr(begin, end - begin);
      begin = end + 1;
      if (line.starts_with(kSection)) section = lower(line.substr(kSection.size()));
      const size_t name = line.starts_with("fn ") ? 3 : line.starts_with("struct ") ? 7 : std::string_view::npos;
      if (name == std::string_view::npos) continue;
      const std::string_view rest = line.substr(name);
      sections.emplace(rest.substr(0, rest.find_first_of("<([ ")), section);
    }
  }
  return sections;
}

// By section, in the order of their first functions; what the op table alone has is elementwise.
std::vector<DocTopic> prelude_topics(const DocumentedModule& prelude) {
  const std::map<std::string, std::string> sections = prelude_sections();
  std::vector<DocTopic> topics;
  for (const Documented& entry : prelude.functions) {
    const auto section = sections.find(entry.name);
    const std::string title = section == sections.end() ? "elementwise" : section->second;
    auto topic = std::find_if(topics.begin(), topics.end(), [&](const DocTopic& t) { return t.title == title; });
    if (topic == topics.end()) topic = topics.insert(topics.end(), DocTopic{title, "", false, {}});
    topic->entries.push_back(entry);
  }
  return topics;
}

// The first sentence, as one line.
std::string first_sentence(std::string_view doc) {
  std::string line;
  for (const char c : doc)
    line += c == '\n' ? ' ' : c;
  const size_t end = line.find(". ");
  if (end != std::string::npos) line.resize(end);
  while (!line.empty() && (line.back() == '.' || line.back() == ' '))
    line.pop_back();
  return line;
}

// Cut at a blank where it is too long.
std::string shortened(const std::string& text, size_t columns) {
  if (character_count(text) <= columns) return text;
  const size_t cut = text.find_last_of(' ', columns - 2);
  return text.substr(0, cut == std::string::npos ? 0 : cut) + " …";
}

std::string line_of(const Documented& entry) {
  const std::string about = shortened(first_sentence(entry.doc), kLineColumns - kNameColumns - 4);
  const std::string line = fmt::format("  {:<{}}  {}", entry.name, kNameColumns, about);
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

// How well an entry answers to a word: its name counts more than its text, the whole word more than its beginning.
int score(const Documented& entry, const std::string& word) {
  const std::string name = lower(entry.name);
  const std::string_view own = std::string_view(name).substr(name.rfind('.') + 1);
  if (own == word || name == word) return 100;
  if (own.starts_with(word)) return 60;
  for (const std::string& part : words_of(name))
    if (part.starts_with(word)) return 50;
  if (name.find(word) != std::string::npos) return 30;
  int best = 0;
  const std::vector<std::string> first = words_of(first_sentence(entry.doc));
  for (const std::string& part : words_of(entry.doc)) {
    const bool is_first = std::find(first.begin(), first.end(), part) != first.end();
    if (part == word) best = std::max(best, is_first ? 20 : 10);
    if (part.starts_with(word)) best = std::max(best, is_first ? 15 : 6);
  }
  return best;
}

} // namespace

std::vector<DocTopic> library_topics() {
  std::vector<DocTopic> topics;
  for (const DocumentedModule& module : documented_library())
    if (module.name == "prelude")
      topics = prelude_topics(module);
    else
      topics.push_back({module.name, module.doc, true, module.functions});
  for (DocTopic& topic : topics)
    std::erase_if(topic.entries, [](const Documented& entry) { return is_inner(entry.name); });
  return topics;
}

std::optional<DocTopic> file_topic(const std::string& path) {
  SourceManager sources;
  Diagnostics diagnostics;
  const ast::File file = parse(sources, sources.add(path, compiler::read_program(path)), diagnostics);
  DocTopic topic{path, file.doc, false, {}};
  driver::show(diagnostics, sources);
  if (diagnostics.has_errors()) return std::nullopt;
  topic.entries = documented_structs("prelude", file, sources); // whose names have no prefix
  for (Documented& function : documented_functions("prelude", file, sources))
    topic.entries.push_back(std::move(function));
  return topic;
}

std::string index_of(const std::vector<DocTopic>& topics) {
  std::string text =
      "`tl doc TOPIC` lists what belongs to one, `tl doc NAME` documents a function, struct or module, and\n"
      "`tl doc --search WORDS` looks for words; `tl doc FILE.tl` is about a program of your own.\n";
  for (const bool modules : {false, true}) {
    text += modules ? "\nModules, behind `import`:\n" : "\nIn every program:\n";
    for (const DocTopic& topic : topics) {
      if (topic.is_module != modules) continue;
      std::string names;
      for (const Documented& entry : topic.entries)
        names += (names.empty() ? "" : " ") + entry.name.substr(topic.is_module ? topic.title.size() + 1 : 0);
      text +=
          fmt::format("  {:<36}  {:>3}  {}\n", topic.title, topic.entries.size(), shortened(names, kLineColumns - 45));
    }
  }
  return text;
}

std::string summary_of(const DocTopic& topic) {
  std::string text = topic.title + "\n";
  for (size_t begin = 0; begin < topic.doc.size();) {
    const size_t end = std::min(topic.doc.find('\n', begin), topic.doc.size());
    text += "    " + topic.doc.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  for (const Documented& entry : topic.entries)
    text += line_of(entry);
  return text;
}

std::vector<DocTopic> topics_named(const std::vector<DocTopic>& topics, const std::string& name, bool by_beginnings) {
  const std::vector<std::string> wanted = words_of(name);
  std::vector<DocTopic> found;
  for (const DocTopic& topic : topics) {
    if (topic.title == lower(name)) return {topic};
    const std::vector<std::string> words = words_of(topic.title);
    const bool has_all = std::all_of(wanted.begin(), wanted.end(), [&](const std::string& one) {
      return std::any_of(words.begin(), words.end(),
                         [&](const std::string& word) { return by_beginnings ? word.starts_with(one) : word == one; });
    });
    if (has_all && !wanted.empty()) found.push_back(topic);
  }
  return found;
}

std::string found_in(const std::vector<DocTopic>& topics, const std::string& words) {
  struct Found {
    int score;
    const Documented* entry;
  };
  std::vector<Found> found;
  const std::vector<std::string> wanted = words_of(words);
  for (const DocTopic& topic : topics)
    for (const Documented& entry : topic.entries) {
      int all = 0;
      for (const std::string& word : wanted) {
        const int one = std::max(score(entry, word), topic.title == word ? 5 : 0);
        all = one == 0 ? -1'000'000 : all + one;
      }
      if (all > 0) found.push_back({all, &entry});
    }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.score > b.score; });
  std::string text;
  for (size_t i = 0; i < std::min(found.size(), kMostFound); ++i)
    text += line_of(*found[i].entry);
  if (found.size() > kMostFound) text += fmt::format("  … and {} more: give more words\n", found.size() - kMostFound);
  return text;
}

} // namespace tl::cli

#include "site.h"
#include "commands.h"
#include "driver/messages.h"
#include "lang/stdlib.h"
#include "markdown.h"
#include "options.h"
#include "parser/doc/library.h"
#include "vm/io/io.h"
#include "vm/io/source.h"
#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace tl::cli {
namespace {

struct Page {
  std::string file, title, group, body;
  std::vector<Heading> headings;
};

// What the search box finds.
struct Name {
  std::string name, url, about;
};

struct ManualPage {
  const char *stem, *title; // docs/STEM.md
};
constexpr ManualPage kLanguagePages[] = {
    {"tutorial", "Tutorial"}, {"language", "Language reference"}, {"training", "Training"}};
constexpr ManualPage kUsePages[] = {{"commands", "Commands"}, {"errors", "Errors"},
                                    {"files", "Files"},       {"random", "Random numbers"},
                                    {"accuracy", "Accuracy"}, {"formatting", "Canonical form"}};

const std::string& embedded(std::string_view name) {
  for (const EmbeddedFile& file : embedded_stdlib())
    if (file.name == name) return file.text;
  throw std::logic_error(fmt::format("'{}' is not embedded", name));
}

std::string link(std::string_view url, std::string_view text) {
  return fmt::format("<a href=\"{}\">{}</a>", escape_html(url), escape_html(text));
}

std::string line_of(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

// "linalg.solve" -> "solve": the entry's id in the page of its module.
std::string id_of(const std::string& name) {
  size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

class Site {
public:
  explicit Site(Command app) : app_(app), library_(documented_library()) { collect_links(); }

  int write(std::string folder) {
    while (folder.size() > 1 && folder.ends_with('/'))
      folder.pop_back();
    for (const ManualPage& page : kLanguagePages)
      add_manual("The language", page);
    for (const DocumentedModule& module : library_)
      add_module(module);
    add_functions();
    for (const ManualPage& page : kUsePages)
      add_manual("Using tl", page);
    add_index();
    if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
      throw IoError(fmt::format("cannot create the folder '{}': {}", folder, system_error_text(errno)));
    const std::string prefix = folder + "/";
    for (const Page& page : pages_)
      write_text(prefix + page.file, html(page));
    write_text(prefix + "style.css", embedded("style.css"));
    write_text(prefix + "search.js", embedded("search.js"));
    write_text(prefix + "names.js", names());
    fmt::print("{}index.html\n", prefix);
    return kFine;
  }

private:
  Command app_;
  std::vector<DocumentedModule> library_;
  std::vector<Page> pages_;
  std::vector<Name> names_;
  std::map<std::string, Target, std::less<>> links_; // by inline code

  void collect_links() {
    auto link_page = [&](const ManualPage& page) {
      links_[fmt::format("docs/{}.md", page.stem)] = {fmt::format("{}.html", page.stem), page.title};
    };
    std::for_each(std::begin(kLanguagePages), std::end(kLanguagePages), link_page);
    std::for_each(std::begin(kUsePages), std::end(kUsePages), link_page);
    for (const DocumentedModule& module : library_) {
      const std::string file = module.name + ".html";
      if (module.name != "prelude") links_[module.name] = links_["import " + module.name] = {file, {}};
      for (const Documented& entry : module.functions)
        links_[entry.name] = {file + "#" + id_of(entry.name), {}};
    }
    for (const Command& command : app_.commands())
      links_["tl " + command.name()] = {"commands.html#tl-" + command.name(), {}};
    const std::string& errors = embedded("errors.md");
    for (size_t at = errors.find("\n## "); at != std::string::npos; at = errors.find("\n## ", at + 1)) {
      const std::string kind = line_of(std::string_view(errors).substr(at + 4));
      links_[kind] = {"errors.html#" + kind, {}};
    }
  }

  // `sum`, `sum(x, axis = 0)`, `tl fmt --check`, `ShapeMismatch`
  Target link_of(std::string_view code) const {
    auto found = links_.find(code);
    if (found == links_.end() && code.starts_with("tl ")) {
      found = links_.find(code.substr(0, code.find(' ', 3)));
    } else if (found == links_.end() && code.ends_with(')')) {
      // the bracket that opens behind the name must be the one that closes at the end
      size_t open = code.find('(');
      int depth = 0;
      for (size_t i = open; i + 1 < code.size(); ++i)
        if ((depth += (code[i] == '(') - (code[i] == ')')) == 0) return {};
      found = links_.find(code.substr(0, open));
    }
    return found == links_.end() ? Target{} : found->second;
  }

  Html from_markdown(const std::string& text) const {
    return markdown_to_html(text, [this](std::string_view code) { return link_of(code); });
  }

  void add_manual(const std::string& group, const ManualPage& manual) {
    std::string text = embedded(std::string(manual.stem) + ".md");
    const std::string file = std::string(manual.stem) + ".html";
    if (file == "commands.html") text += commands();
    if (file == "errors.html") mark_refused(text);
    Html html = from_markdown(text);
    for (const Heading& heading : html.headings)
      if (heading.level > 1) names_.push_back({heading.title, file + "#" + heading.id, manual.title});
    pages_.push_back({file, manual.title, group, std::move(html.body), std::move(html.headings)});
  }

  // The first program of a section of the catalogue of errors is the one that is refused.
  static void mark_refused(std::string& errors) {
    for (size_t at = errors.find("\n## "); at != std::string::npos; at = errors.find("\n## ", at + 1)) {
      size_t program = errors.find("\n```tl\n", at);
      if (program < errors.find("\n## ", at + 1)) errors.insert(program + 6, " error");
    }
  }

  // A section for each command with a table of what may follow it, as Markdown.
  std::string commands() const {
    auto cell = [](std::string text) {
      for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
        text.insert(at, "\\");
      return text;
    };
    std::string out;
    for (const Command& command : app_.commands()) {
      out += fmt::format("\n## tl {}\n{}\n\n", command.name(), cell(command.description()));
      std::string rows;
      for (const OptionText& option : command.options()) {
        if (option.name == "-h,--help") continue;
        const std::string variable = option.environment.empty() ? "" : '`' + option.environment + '`';
        rows += fmt::format("| `{}` | {} | {} |\n", option.name, cell(option.description), variable);
      }
      if (!rows.empty()) out += "| | | environment |\n| --- | --- | --- |\n" + rows;
    }
    return out;
  }

  std::string entry_html(const Documented& entry) const {
    std::string signatures;
    for (std::string signature : entry.signatures) {
      for (size_t at; (at = signature.find("  ")) != std::string::npos;) // the op table has several in a row
        signature.replace(at, 2, "\n");
      signatures += (signatures.empty() ? "" : "\n") + signature;
    }
    std::string out = code_block(signatures, "tl signature") + from_markdown(entry.doc).body;
    std::string examples;
    for (const Example& example : entry.examples) {
      if (entry.doc.find('`' + example.code + '`') != std::string::npos) continue; // the text says it
      examples += (examples.empty() ? "" : "\n") + example.code;
      if (!example.value.empty()) examples += fmt::format("  # {}{}", example.about ? "about " : "", example.value);
    }
    return examples.empty() ? out : out + code_block(examples);
  }

  void add_module(const DocumentedModule& module) {
    const bool prelude = module.name == "prelude";
    Page page{module.name + ".html", module.name, "Standard library", {}, {}};
    page.body = fmt::format("<h1>{}</h1>\n", module.name);
    page.body += prelude ? "<p>What every program can use without an <code>import</code>.</p>\n"
                         : from_markdown(fmt::format("```tl\nimport {}\n```\n\n{}", module.name, module.doc)).body;
    // Entries of one name (`max` of two and `max` of all) are together.
    std::vector<std::pair<std::string, std::string>> entries;
    for (const Documented& documented : module.functions) {
      auto same = std::find_if(entries.begin(), entries.end(), [&](auto& e) { return e.first == documented.name; });
      if (same == entries.end()) {
        names_.push_back({documented.name, page.file + "#" + id_of(documented.name), line_of(documented.doc)});
        entries.emplace_back(documented.name, entry_html(documented));
      } else {
        same->second += entry_html(documented);
      }
    }
    page.body += "<p class=\"names\">";
    for (const auto& [name, text] : entries)
      page.body += link("#" + id_of(name), id_of(name)) + " ";
    page.body += "</p>\n";
    for (const auto& [name, text] : entries)
      page.body += fmt::format("<section class=\"entry\">\n<h3><a class=\"anchor\" id=\"{0}\" href=\"#{0}\" "
                               "aria-label=\"link\"></a>{1}</h3>\n{2}</section>\n",
                               escape_html(id_of(name)), escape_html(name), text);
    pages_.push_back(std::move(page));
  }

  void add_functions() {
    std::vector<Name> sorted;
    for (const Name& name : names_)
      if (std::any_of(library_.begin(), library_.end(),
                      [&](const DocumentedModule& m) { return name.url.starts_with(m.name + ".html#"); }))
        sorted.push_back(name);
    std::sort(sorted.begin(), sorted.end(), [](const Name& a, const Name& b) {
      return std::pair(id_of(a.name), a.name) < std::pair(id_of(b.name), b.name);
    });
    std::string body = "<h1>All functions</h1>\n<table>\n<tbody>\n";
    for (const Name& name : sorted)
      body += fmt::format("<tr><td><a href=\"{}\"><code>{}</code></a></td><td>{}</td></tr>\n", escape_html(name.url),
                          escape_html(name.name), escape_html(name.about));
    pages_.push_back({"functions.html", "All functions", "Standard library", body + "</tbody>\n</table>\n", {}});
  }

  void add_index() {
    std::string body = from_markdown("# tl\n\nA small language for tensor programs: loops, slices, index notation and "
                                     "ordinary functions, with shapes that are checked before anything runs.\n\n"
                                     "```tl\nfn distance(a: f32[n], b: f32[n]) -> f32 = sqrt(sum((a - b) ** 2))\n\n"
                                     "print(distance([0.0, 3.0], [4.0, 0.0]))\n```\n```\n5.0\n```\n")
                           .body;
    std::string group;
    for (const Page& page : pages_) {
      if (page.group != group) body += fmt::format("{}<h2>{}</h2>\n<ul>\n", group.empty() ? "" : "</ul>\n", page.group);
      group = page.group;
      body += fmt::format("<li>{}</li>\n", link(page.file, page.title));
    }
    body += fmt::format("</ul>\n<p>{}</p>\n", escape_html(version_text()));
    pages_.insert(pages_.begin(), {"index.html", "Overview", "", std::move(body), {}});
  }

  std::string html(const Page& page) const {
    std::string out = fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n"
                                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n"
                                  "<title>{} – tl</title>\n<link rel=\"stylesheet\" href=\"style.css\" />\n</head>\n"
                                  "<body>\n<nav>\n",
                                  escape_html(page.title));
    out += "<input type=\"search\" id=\"search\" placeholder=\"Search (press /)\" aria-label=\"Search\" "
           "autocomplete=\"off\" />\n<div id=\"results\"></div>\n";
    std::string group = "-";
    for (const Page& other : pages_) {
      if (other.group != group) out += fmt::format("{}{}<ul>\n", group == "-" ? "" : "</ul>\n", group_title(other));
      group = other.group;
      const bool here = &other == &page;
      out += fmt::format("<li>{}", here ? fmt::format("<a href=\"{}\" aria-current=\"page\">{}</a>", page.file,
                                                      escape_html(page.title))
                                        : link(other.file, other.title));
      if (here) out += contents(page);
      out += "</li>\n";
    }
    return out + "</ul>\n</nav>\n<main>\n" + page.body +
           "</main>\n<script src=\"names.js\"></script>\n<script src=\"search.js\"></script>\n</body>\n</html>\n";
  }

  static std::string group_title(const Page& page) {
    return page.group.empty() ? "" : fmt::format("<p class=\"group\">{}</p>\n", escape_html(page.group));
  }

  static std::string contents(const Page& page) {
    std::string rows;
    for (const Heading& heading : page.headings)
      if (heading.level == 2) rows += fmt::format("<li>{}</li>\n", link("#" + heading.id, heading.title));
    return rows.empty() ? rows : "\n<ul>\n" + rows + "</ul>\n";
  }

  std::string names() const {
    nlohmann::json all = nlohmann::json::array();
    for (const Name& name : names_)
      all.push_back({name.name, name.url, name.about});
    return "const names = " + all.dump() + ";\n";
  }
};

} // namespace

int write_site(const std::string& folder, Command app) {
  if (folder.empty()) throw UsageError("--html needs the name of a folder");
  try {
    return Site(app).write(folder);
  } catch (const IoError& error) {
    show("IoError", error.what());
    return kRuntimeError;
  }
}

} // namespace tl::cli

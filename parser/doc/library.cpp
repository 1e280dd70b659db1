#include "parser/doc/library.h"
#include "lang/diagnostics.h"
#include "lang/stdlib.h"
#include "parser/syntax/parse.h"
#include <functional>
#include <set>

namespace tl {

std::vector<DocumentedModule> documented_library() {
  std::vector<DocumentedModule> modules;
  SourceManager sources;
  Diagnostics diagnostics;
  for (const EmbeddedFile& file : embedded_stdlib()) {
    if (!file.name.ends_with(".tl")) continue;
    const std::string name = file.name.substr(0, file.name.size() - 3);
    ast::File tree = parse(sources, sources.add(file.name, file.text), diagnostics, {.is_library = true});
    DocumentedModule module{name, tree.doc, documented_structs(name, tree, sources)};
    for (Documented& function : documented(name, tree, sources))
      module.functions.push_back(std::move(function));
    modules.insert(name == "prelude" ? modules.begin() : modules.end(), std::move(module));
  }
  return modules;
}

static std::set<std::string, std::less<>> inner_names() {
  constexpr std::string_view kMark = "\n## Inner. ";
  std::set<std::string, std::less<>> names;
  for (const EmbeddedFile& file : embedded_stdlib()) {
    if (!file.name.ends_with(".tl")) continue;
    const std::string prefix = file.name == "prelude.tl" ? "" : file.name.substr(0, file.name.size() - 2);
    for (size_t at = file.text.find(kMark); at != std::string::npos; at = file.text.find(kMark, at + 1)) {
      size_t line = at + 1;
      while (file.text.compare(line, 2, "##") == 0)
        line = file.text.find('\n', line) + 1;
      const size_t name = file.text.find(' ', line) + 1; // behind `fn`
      names.insert(prefix + file.text.substr(name, file.text.find_first_of("<([ ", name) - name));
    }
  }
  return names;
}

bool is_inner(std::string_view name) {
  static const std::set<std::string, std::less<>> names = inner_names();
  return names.contains(name);
}

} // namespace tl

#include "parser/doc/library.h"
#include "lang/diagnostics.h"
#include "lang/stdlib.h"
#include "parser/syntax/parse.h"

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

} // namespace tl

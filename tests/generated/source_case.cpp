#include "source_case.h"
#include "ir/lower/lower.h"
#include "lang/diagnostics.h"
#include "lang/stdlib.h"
#include "parser/check/check.h"
#include "parser/syntax/imports.h"
#include "parser/syntax/parse.h"
#include "passes/pipeline.h"

namespace tl::generated {

std::optional<std::string> library_text(const std::string& module) {
  for (const EmbeddedFile& file : embedded_stdlib())
    if (file.name == module + ".tl") return std::string(file.text);
  return std::nullopt;
}

std::optional<ir::Module> module_of_source(const std::string& source, std::string& said) {
  SourceManager sources;
  Diagnostics diagnostics;
  ast::File prelude;
  if (auto text = library_text("prelude"))
    prelude = parse(sources, sources.add(library_file_name("prelude"), *text), diagnostics, {.is_library = true});
  FileId file = sources.add("example.tl", source);
  ast::File tree = parse(sources, file, diagnostics);
  ImportReader reader;
  reader.module = library_text;
  Imports imports;
  load_imports(sources, tree, diagnostics, reader, imports);
  CheckOptions options;
  options.imports = &imports;
  try {
    typed::Program program;
    if (!diagnostics.has_errors()) program = check(tree, prelude, sources, diagnostics, options);
    if (!diagnostics.has_errors()) return expand_transforms(ir::lower(program, sources));
    for (const Diagnostic& d : diagnostics.sorted())
      said += render(d, sources);
  } catch (const std::exception& e) {
    said = e.what();
  }
  return std::nullopt;
}

} // namespace tl::generated

// The checker; and of what it takes for a program, the graph after each pass, which the verifier looks at.
#include "parser/check/check.h"
#include "ir/graph/verify.h"
#include "ir/lower/lower.h"
#include "lang/stdlib.h"
#include "parser/syntax/parse.h"
#include "passes/devices.h"
#include "passes/pipeline.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace tl;

std::string library_text(const std::string& module) {
  for (const EmbeddedFile& file : embedded_stdlib())
    if (file.name == module + ".tl") return file.text;
  return {};
}

// The prelude, parsed once for all inputs.
struct Prelude {
  SourceManager sources;
  ast::File tree;

  Prelude() {
    Diagnostics diagnostics;
    const FileId file = sources.add(library_file_name("prelude"), library_text("prelude"));
    tree = parse(sources, file, diagnostics, {.is_library = true});
    if (!diagnostics.has_errors()) return;
    std::fputs(render(diagnostics, sources).c_str(), stderr);
    std::abort();
  }
};

void require_sound(const ir::Module& module) {
  for (const std::string& fault : ir::verify(module)) {
    std::fprintf(stderr, "%s\n", fault.c_str());
    std::abort();
  }
}

void compile(const typed::Program& program, const SourceManager& sources) {
  try {
    ir::Module module = ir::lower(program, sources);
    require_sound(module);
    PassOptions options;
    options.verify = true;
    run_passes(expand_transforms(std::move(module), options), options);
  } catch (const ir::Unsupported&) {
  } catch (const NotDifferentiable&) {
  } catch (const MixedDevices&) {
  }
}

void check_text(const std::string& text) {
  static Prelude prelude;
  SourceManager& sources = prelude.sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("fuzz.tl", text);
  const ast::File tree = parse(sources, file, diagnostics);
  Imports imports;
  if (!diagnostics.has_errors()) {
    ImportReader reader;
    reader.module = [](const std::string& name) {
      const std::string module = name == "prelude" ? "" : library_text(name);
      return module.empty() ? std::nullopt : std::optional(module);
    };
    reader.file = [](const std::string&, std::string& problem) -> std::optional<std::string> {
      problem = "no such file";
      return std::nullopt;
    };
    load_imports(sources, tree, diagnostics, reader, imports);
  }
  if (!diagnostics.has_errors()) {
    CheckOptions options;
    options.imports = &imports;
    const typed::Program program = check(tree, prelude.tree, sources, diagnostics, options);
    if (program.ok == diagnostics.has_errors()) std::abort(); // refused without a word
    if (program.ok) compile(program, sources);
  }
  render(diagnostics, sources);
  for (const ast::File& imported : imports.files)
    sources.forget(imported.id);
  sources.forget(file);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  check_text({reinterpret_cast<const char*>(data), size});
  return 0;
}

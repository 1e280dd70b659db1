// The files that a program imports: found, parsed, each once.
#pragma once
#include "lang/ast.h"
#include "lang/diagnostics.h"
#include "lang/source.h"
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace tl {

// Texts of files. Nothing, and why in `problem`, where there is none. Modules are asked for when all of the program's
// own files have been.
struct ImportReader {
  std::function<std::optional<std::string>(const std::string& name)> module; // of the standard library: "nn"
  std::function<std::optional<std::string>(const std::string& path, std::string& problem)> file;
};

struct Imports {
  std::deque<ast::File> files;                            // without the program's own
  std::map<const ast::Import*, const ast::File*> targets; // what each import statement means
  std::set<uint32_t> library;                             // FileIds of the standard library's
  std::map<std::string, const ast::File*> by_name;        // null: could not be read
};

// Adds what `root` imports, and what that imports, but for files that are there already. Paths are relative to the file
// that names them. Reports missing files, syntax errors in them, and circles.
void load_imports(SourceManager& sources, const ast::File& root, Diagnostics& diagnostics, const ImportReader& reader,
                  Imports& imports);

} // namespace tl

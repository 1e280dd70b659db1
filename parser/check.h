// Names, types and sizes: the syntax tree becomes the typed AST (lang/typed.h).
#pragma once
#include "lang/ast.h"
#include "lang/diagnostics.h"
#include "lang/source.h"
#include "lang/typed.h"
#include "parser/imports.h"
#include <functional>

namespace tl {

// Element type and rank of a file, for `load` of a constant path without a type.
struct FileHeader {
  DType dtype = DType::F32;
  uint32_t rank = 0;
  std::string problem;  // not empty: why they cannot be told
  bool missing = false; // there is no such file
};

struct CheckOptions {
  // Reads the header of the file at `path`, relative to the working directory; `name` of one tensor in it, or "".
  // Null: never.
  std::function<FileHeader(const std::string& path, const std::string& name, LoadOptions options)> read_header;
  const Imports* imports = nullptr;     // what the program's import statements mean; null: it has none
  bool missing_file_is_warning = false; // `tl check`: a `load` of a file that isn't there yet
};

// Reports all errors of the file. The result may be used further only if it is `ok`. `prelude` declares the functions
// that every program sees; instances of them are made where they are used.
typed::Program check(const ast::File& file, const ast::File& prelude, const SourceManager& sources,
                     Diagnostics& diagnostics, const CheckOptions& options = {});

} // namespace tl

// Text -> syntax tree.
#pragma once
#include "lang/ast.h"
#include "lang/diagnostics.h"
#include "lang/source.h"
#include <string>
#include <string_view>

namespace tl {

struct ParseOptions {
  // A file of the standard library: it declares what is built in as functions without a body, elsewhere an error.
  bool is_library = false;
};

// Parses a file. All its syntax errors are reported to `diagnostics`; what could be read is returned, but after an
// error the tree lacks statements, so it is not to be checked. Never throws on bad input, whatever the bytes.
ast::File parse(const SourceManager& sources, FileId file, Diagnostics& diagnostics, const ParseOptions& options = {});

// May more lines mend what is wrong with this text, because a bracket or a `"""` string is open at its end, or it ends
// in an operator?
bool is_incomplete(std::string_view text);

// The tokens of a file as the grammar sees them, one a line: `line:column kind text`. For `tl dump --stage tokens`.
std::string dump_tokens(const SourceManager& sources, FileId file, Diagnostics& diagnostics);

} // namespace tl

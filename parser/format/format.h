// The canonical text of a program (docs/formatting.md): what `tl fmt` writes.
#pragma once
#include "lang/diagnostics.h"
#include "lang/source.h"
#include <optional>
#include <string>

namespace tl {

inline constexpr size_t kFormatWidth = 100; // characters in a line, where there is a place to break it

// The file, laid out anew: the same syntax tree, the same comments, at most one blank line in a row. Formatting the
// result changes nothing. Nothing, and errors in `diagnostics`, if the file does not parse. Throws std::logic_error
// if the result would mean something else (a fault of the formatter; checked by parsing it).
std::optional<std::string> format_source(SourceManager& sources, FileId file, Diagnostics& diagnostics);

} // namespace tl

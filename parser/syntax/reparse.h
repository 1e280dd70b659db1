// The tree of a text after an edit, from the one before it: an editor's texts change in one place.
#pragma once
#include "lang/ast.h"
#include "lang/source.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace tl {

// Bytes [begin, old_end) of a text have become [begin, new_end).
struct TextEdit {
  uint32_t begin = 0, old_end = 0, new_end = 0;
};
// The smallest that makes `after` of `before`.
TextEdit difference(std::string_view before, std::string_view after);

// The statements at the top of a file that an edit touches, read again.
struct Reparsed {
  size_t first = 0, count = 0; // of the statements that go
  ast::File part;              // what comes for them; its spans are those of the text `now`
};
// `before` is a file without syntax errors, and `now` its text after the edit. Nothing, where the new statements do not
// parse, or do not end where the others begin: then all of the text is to be read.
std::optional<Reparsed> reparse(SourceManager& sources, const ast::File& before, FileId now, TextEdit edit);

// Moves all nodes that an arena owns: `place` says where a span is from now on.
void move_nodes(ast::Arena& arena, const std::function<Span(Span)>& place);

} // namespace tl

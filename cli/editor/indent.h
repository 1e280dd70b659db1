// How far the next line of a program that is being typed is indented.
#pragma once
#include <cstddef>
#include <string_view>

namespace tl::editor {

// The blanks before the line after this text: two more than its last line where that opens a bracket or cannot end;
// where it closes one, those of the line that opened it.
size_t indentation_after(std::string_view text);
// The blanks before a line that begins with a bracket that closes one of this text: those of the line that opened it.
size_t indentation_of_closing(std::string_view text);

} // namespace tl::editor

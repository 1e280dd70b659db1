// What each piece of a program's text is, for those who colour it.
#pragma once
#include <string_view>
#include <vector>

namespace tl {

enum class TextClass { Plain, Keyword, Type, Call, Number, String, Comment };

struct TextPiece {
  TextClass kind;
  std::string_view text;
};

// The text cut into pieces: joined they are the text again, byte for byte. Any text is fine, also what is no program.
std::vector<TextPiece> highlight(std::string_view text);

} // namespace tl

// Text from elsewhere — names of files, of what is in them, of what others have written — as it may be shown: on a
// terminal, control characters do things.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tl {

// One line: \n, \t and \r as these two characters, other control characters and bytes that are no UTF-8 as \x1b, and as
// \u{202e} those of Unicode that turn, break or hide text.
std::string visible(std::string_view text);
std::string visible_lines(std::string_view text); // the same, with the ends of lines as they are

struct Character {
  size_t length; // in bytes
  uint32_t code; // its number; of what is no UTF-8, the byte
  bool valid;    // UTF-8
  bool plain;    // it may be shown as it is
};
Character character_at(std::string_view text, size_t at);

} // namespace tl

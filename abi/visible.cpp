#include "abi/visible.h"
#include <fmt/format.h>

namespace tl {
namespace {

uint32_t code_of(std::string_view character) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  uint32_t code = byte(0) & (0xffu >> (character.size() + 1));
  for (size_t i = 1; i < character.size(); ++i)
    code = code << 6 | (byte(i) & 0x3f);
  return code;
}

// Controls of ISO 6429, marks of direction, separators of lines, what has no width.
bool disturbs(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

std::string escaped(const Character& character) {
  if (character.code == '\n') return "\\n";
  if (character.code == '\t') return "\\t";
  if (character.code == '\r') return "\\r";
  return character.length == 1 ? fmt::format("\\x{:02x}", character.code) : fmt::format("\\u{{{:x}}}", character.code);
}

std::string shown(std::string_view text, bool lines) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const Character character = character_at(text, i);
    if (character.plain || (lines && (character.code == '\n' || character.code == '\t')))
      result += text.substr(i, character.length);
    else
      result += escaped(character);
    i += character.length;
  }
  return result;
}

} // namespace

Character character_at(std::string_view text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  size_t length = first >= 0xf5 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
  if (at + length > text.size()) length = 1;
  for (size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) length = 1;
  const uint32_t code = code_of(text.substr(at, length));
  const bool valid = length > 1 || first < 0x80;
  return {length, code, valid, valid && !disturbs(code)};
}

std::string visible(std::string_view text) { return shown(text, false); }
std::string visible_lines(std::string_view text) { return shown(text, true); }

} // namespace tl

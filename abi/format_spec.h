// Python's format specifications, the "Format Specification Mini-Language" of its library reference:
// [[fill]align][sign][z][#][0][width][grouping][.precision][type]
// The checker and what formats values read them here, so that they accept the same ones.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tl {

enum class FormatCategory : uint8_t { Bool, Int, Float, Str };

struct FormatSpec {
  std::string fill = " "; // one character, UTF-8
  char align = 0;         // < > = ^, or 0 for the type's own
  char sign = '-';
  bool sign_given = false, no_negative_zero = false, alternate = false;
  int64_t width = -1, precision = -1;
  char grouping = 0; // , or _
  char type = 0;
};

// Fills `spec`, or says what is wrong with the text for values of that category.
std::optional<std::string> parse_format(std::string_view text, FormatCategory category, FormatSpec& spec);

inline bool is_float_format(char type) {
  return type && std::string_view("eEfFgG%").find(type) != std::string_view::npos;
}
inline bool is_int_format(char type) { return type && std::string_view("bcdoxX").find(type) != std::string_view::npos; }

// The bytes of the first character of a text that is not empty.
inline size_t utf8_length(std::string_view text) {
  size_t n = 1;
  while (n < text.size() && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80)
    ++n;
  return n;
}

} // namespace tl

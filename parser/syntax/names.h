// Which words may be names: letters, digits and `_`, also beyond ASCII (Unicode, UAX #31), so that two names that look
// alike cannot differ. The table is letters.def.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tl {

// The bytes at the beginning of a text that are one word of such characters; 0: it begins with none, or with a digit.
size_t word_length(std::string_view text);

// Why a word is no name as it is written: it is not in Unicode's composed form (NFC), or in letters that only look like
// Latin ones. The hint begins with "write `…`", the word as it may be written.
struct NameProblem {
  std::string message, hint;
};
std::optional<NameProblem> problem_of_word(std::string_view word);

// A whole text that may be a name, were it no keyword.
bool is_name_text(std::string_view text);
bool is_ascii(std::string_view text);

// A character of code that is none of tl's, as a message shows it, and what to write instead ("" where nobody knows).
struct StrayCharacter {
  std::string shown, hint;
};
StrayCharacter stray_character(std::string_view character);

std::string utf8_of(uint32_t code); // the character of this number
std::string
composed(std::string_view text); // in Unicode's normalisation form C, as far as its characters are those of names

} // namespace tl

// What stands around a place in a text that is being written: what completion asks, of text that need not parse.
#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

namespace tl {

inline constexpr std::string_view kKeywords[] = {"and", "assert", "break",  "const",  "continue", "else", "false",
                                                 "fn",  "for",    "if",     "import", "in",       "let",  "none",
                                                 "not", "or",     "return", "struct", "true",     "var",  "while"};

bool is_word(char c); // of a name; bytes of other letters too
// Where the word begins that ends with the text.
size_t word_begin(std::string_view text, bool with_dots);

// What is open at the end of a text: text in quotes, where it begins; a bracket of a call or a group; a comment.
struct Around {
  std::optional<size_t> quote, call;
  bool in_comment = false;
};
Around around_end(std::string_view text);

bool follows_import(std::string_view before); // the word `import` and a blank

} // namespace tl

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

// What is open at the end of a text: text in quotes, where it begins; a bracket of a call or a group; the `{` of an
// expression in a text, which is no part of the quote; a comment.
struct Around {
  std::optional<size_t> quote, call, hole;
  bool in_comment = false;
  bool in_long_text = false; // the hole's or the open text is one that may span lines
};
Around around_end(std::string_view text);

// What closes the expression and the text that are open at the end of `before`, as far as the rest of its line does
// not.
std::string_view closing_hole(std::string_view before, std::string_view after);

// The block of an `if`, `for` or `while` whose head is being written on the line, and has none behind it yet: " {}".
std::string_view missing_block(std::string_view before, std::string_view after);

bool follows_import(std::string_view before); // the word `import` and a blank

} // namespace tl

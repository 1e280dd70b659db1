// Operations on text: one row each. Their meaning is vm/io/text.h, for both engines.
#pragma once
#include <cstdint>
#include <iterator>
#include <string_view>

namespace tl {

// clang-format off
// TL_TEXT(Enum, name, operands, result)   operands and result: s text, i i64, l list of texts, n number, b u8[n]; an
// operand in parentheses may be missing
#define TL_TEXT_OPS(TL_TEXT)                                                                                          \
  TL_TEXT(Compare, "text_compare", "ss",    "i") /* -1, 0 or 1, by code points */                                     \
  TL_TEXT(Length,  "text_length",  "s",     "i") /* in characters */                                                  \
  TL_TEXT(At,      "text_at",      "si",    "s") /* one character; wraps, else IndexOutOfRange */                     \
  TL_TEXT(Slice,   "text_slice",   "s(iii)", "s") /* Python's; ints of the node: which of first, last, step are given */ \
  TL_TEXT(Find,    "text_find",    "ss",    "i") /* where the second begins in the first, or -1 */                    \
  TL_TEXT(Replace, "text_replace", "sss",   "s")                                                                      \
  TL_TEXT(Strip,   "text_strip",   "s(s)",  "s") /* without white space, or those characters, at both ends */         \
  TL_TEXT(Repeat,  "text_repeat",  "si",    "s")                                                                      \
  TL_TEXT(Split,   "text_split",   "s(s)",  "l") /* at white space, or at that text */                                \
  TL_TEXT(Lines,   "text_lines",   "s",     "l")                                                                      \
  TL_TEXT(Join,    "text_join",    "ls",    "s")                                                                      \
  TL_TEXT(Parse,   "text_parse",   "s",     "n") /* ParseError if it is not a number of the result's type */          \
  TL_TEXT(Bytes,   "text_bytes",   "s",     "b")                                                                      \
  TL_TEXT(Decode,  "text_decode",  "b",     "s") /* UTF-8, else ParseError */                                         \
  TL_TEXT(Pack,    "text_pack",    "l",     "b") /* a list of texts as files of tensors have it: pack_texts() */      \
  TL_TEXT(Unpack,  "text_unpack",  "b",     "l") /* the list again, else ParseError */
// clang-format on

enum class TextOp : uint8_t {
#define TL_TEXT(Enum, ...) Enum,
  TL_TEXT_OPS(TL_TEXT)
#undef TL_TEXT
};

struct TextOpInfo {
  std::string_view name, operands, result;
};
inline constexpr TextOpInfo kTextOps[] = {
#define TL_TEXT(Enum, name, operands, result) {name, operands, result},
    TL_TEXT_OPS(TL_TEXT)
#undef TL_TEXT
};
inline constexpr int kTextOpCount = static_cast<int>(std::size(kTextOps));
constexpr const TextOpInfo& info(TextOp op) { return kTextOps[static_cast<int>(op)]; }

} // namespace tl

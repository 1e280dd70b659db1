// What the operations on text mean (abi/text_op.h), for both engines. Texts are UTF-8; positions count characters.
#pragma once
#include "abi/scalar_op.h"
#include "abi/text_op.h"
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tl {

using TextInput = std::variant<int64_t, std::string_view, std::vector<std::string_view>>; // bytes are a string_view
using TextOutput = std::variant<Scalar, std::string, std::vector<std::string>>;           // bytes are a string

// Where the characters of a text begin, for one that is asked again and again: `s[i]` in a loop.
class TextIndex {
public:
  explicit TextIndex(std::string_view text);
  int64_t count() const { return count_; }          // characters
  bool is_plain() const { return starts_.empty(); } // each is one byte
  void grow(std::string_view text);                 // it has become this one, which starts with it
  size_t
  start(int64_t character) const; // the byte where it begins, in the text that this was made of; of count(): its end

private:
  static constexpr int64_t kStride = 64;
  std::string_view text_;
  int64_t count_ = 0;
  std::vector<size_t> starts_; // of every 64th character; empty where each is one byte
};

// `type`: of the number that Parse gives. `ints`: those of the node. `first`: the index of the first operand, where the
// caller has it. Throws IoError with the kind of the failure.
TextOutput eval_text(TextOp op, DType type, const std::vector<TextInput>& in, const std::vector<int64_t>& ints,
                     const TextIndex* first = nullptr);

// Where the bytes stop being UTF-8 (RFC 3629); npos if they do not.
size_t invalid_utf8(std::string_view text);

// A list of texts as bytes, which is what files of tensors have of it: each with the end of a line behind it. Where one
// of them holds such an end itself, a byte of 255 stands behind each instead, which no text in UTF-8 holds.
std::string pack_texts(const std::vector<std::string_view>& texts);
std::vector<std::string> unpack_texts(std::string_view bytes); // throws IoError (kind ParseError) if it is not UTF-8

// The next line of standard input without its end; throws IoError (kind EndOfInput) where there is none.
std::string read_input_line();

} // namespace tl

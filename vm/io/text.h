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

// `type`: of the number that Parse gives. `ints`: those of the node. Throws IoError with the kind of the failure.
TextOutput eval_text(TextOp op, DType type, const std::vector<TextInput>& in, const std::vector<int64_t>& ints);

// Where the bytes stop being UTF-8 (RFC 3629); npos if they do not.
size_t invalid_utf8(std::string_view text);

// A list of texts as bytes, which is what files of tensors have of it: each with the end of a line behind it. Where one
// of them holds such an end itself, a byte of 255 stands behind each instead, which no text in UTF-8 holds.
std::string pack_texts(const std::vector<std::string_view>& texts);
std::vector<std::string> unpack_texts(std::string_view bytes); // throws IoError (kind ParseError) if it is not UTF-8

// The next line of standard input without its end; throws IoError (kind EndOfInput) where there is none.
std::string read_input_line();

} // namespace tl

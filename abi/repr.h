// What is in a FormatTemplate in place of a specification.
#pragma once
#include <string_view>

namespace tl {

inline constexpr std::string_view kRepr = "!r"; // text as Python's repr has it, in quotes
// Before a specification: a tensor of complex numbers, which has their real and their imaginary parts along its first
// axis. Before the name of a tensor that is saved: it has them along its last axis.
inline constexpr std::string_view kComplexParts = "!c";
inline constexpr std::string_view kBrief = "!b"; // a tensor of more than a few elements by its type: f32[784, 128]

} // namespace tl

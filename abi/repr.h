// What is in a FormatTemplate in place of a specification where text is shown as Python's repr has it, in quotes.
#pragma once
#include <string_view>

namespace tl {

inline constexpr std::string_view kRepr = "!r";

} // namespace tl

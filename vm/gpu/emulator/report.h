// What the emulator says, on stderr: a card would be silent, or only late and vague.
#pragma once
#include <string_view>

namespace tl::emulator {

void complain(std::string_view text);          // "tl emulator: …"; the caller goes on
[[noreturn]] void stop(std::string_view text); // the same, and ends the process by abort()

} // namespace tl::emulator

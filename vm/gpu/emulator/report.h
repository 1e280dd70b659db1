// What the emulator says, on stderr: a card would be silent, or only late and vague.
#pragma once
#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <string_view>

namespace tl::emulator {

void complain(std::string_view text);          // "tl emulator: …"; the caller goes on
[[noreturn]] void stop(std::string_view text); // the same, and ends the process by abort()

// A text that takes no memory, for signal handlers too; what does not fit is left out.
class Line {
public:
  template <class... Values> void add(fmt::format_string<Values...> format, Values&&... values) {
    auto end = fmt::format_to_n(text_ + size_, sizeof text_ - size_, format, std::forward<Values>(values)...);
    size_ = std::min(sizeof text_, size_ + end.size);
  }
  std::string_view text() const { return {text_, size_}; }

private:
  char text_[512];
  size_t size_ = 0;
};

} // namespace tl::emulator

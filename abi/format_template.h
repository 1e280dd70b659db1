// A text with gaps, as interpolation and the messages of assertions have them.
#pragma once
#include <string>
#include <vector>

namespace tl {

// "epoch {}: {:.4}" cut up: literal[0] spec[0] literal[1] … literal[n]; one more literal than specs.
struct FormatTemplate {
  std::vector<std::string> literals;
  std::vector<std::string> specs; // Python format specifications, "" for plain
};

} // namespace tl

#include "driver/usage.h"
#include <charconv>
#include <fmt/format.h>

namespace tl::driver {

uint64_t parse_size(const std::string& text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  double scale = 0;
  if (unit.empty() || unit == "B")
    scale = 1;
  else if (unit == "K" || unit == "KB")
    scale = 1e3;
  else if (unit == "M" || unit == "MB")
    scale = 1e6;
  else if (unit == "G" || unit == "GB")
    scale = 1e9;
  else if (unit == "KiB")
    scale = 1024;
  else if (unit == "MiB")
    scale = 1024.0 * 1024;
  else if (unit == "GiB")
    scale = 1024.0 * 1024 * 1024;
  if (error != std::errc() || scale == 0 || !(number > 0) || number * scale > 1e18)
    throw UsageError(fmt::format("'{}' is not a size: write digits with K, M, G, KiB, MiB or GiB", text));
  return static_cast<uint64_t>(number * scale);
}

} // namespace tl::driver

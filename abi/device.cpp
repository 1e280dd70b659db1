#include "abi/device.h"
#include "abi/error.h"
#include "abi/system_file.h"
#include <charconv>
#include <unistd.h>

namespace tl {

std::string device_name(int64_t device) {
  if (device < 0) return "no device";
  bool is_gpu = device >= kFirstGpu;
  return (is_gpu ? "gpu(" : "cpu(") + std::to_string(is_gpu ? device - kFirstGpu : device) + ")";
}

std::optional<int64_t> device_from_text(std::string_view text) {
  if (!text.starts_with("cpu") && !text.starts_with("gpu")) return std::nullopt;
  bool is_gpu = text[0] == 'g';
  text.remove_prefix(3);
  int64_t number = 0;
  if (!text.empty()) {
    if (text[0] == '(' && text.back() == ')')
      text.remove_suffix(1);
    else if (text[0] != ':')
      return std::nullopt;
    text.remove_prefix(1);
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || stop != text.data() + text.size() || number < 0 || number >= kFirstGpu)
      return std::nullopt;
  }
  return (is_gpu ? kFirstGpu : 0) + number;
}

RuntimeError mixed_devices(int64_t a, int64_t b, LocId loc) {
  return {"DeviceMismatch",
          "this mixes tensors on " + device_name(a) + " and on " + device_name(b),
          "`x.to(d)` is a copy of x on the device d",
          loc,
          3,
          {}};
}

std::string processor_name() {
  const std::string info = system_file("/proc/cpuinfo");
  size_t line = info.find("model name"), colon = info.find(": ", line);
  return colon == std::string::npos ? "CPU" : info.substr(colon + 2, info.find('\n', colon) - colon - 2);
}

uint64_t physical_memory() {
  long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(size) : 0;
}

int processor_count() {
  long count = ::sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? static_cast<int>(count) : 1;
}

} // namespace tl

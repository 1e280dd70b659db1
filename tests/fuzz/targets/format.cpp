// The formatter: its result means the same (it says so itself, by an exception) and is left as it is.
#include "parser/format/format.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

std::optional<std::string> formatted(const std::string& text) {
  tl::SourceManager sources;
  tl::Diagnostics diagnostics;
  return tl::format_source(sources, sources.add("fuzz.tl", text), diagnostics);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::optional<std::string> once = formatted({reinterpret_cast<const char*>(data), size});
  if (!once) return 0;
  const std::optional<std::string> twice = formatted(*once);
  if (twice == once) return 0;
  std::fprintf(stderr, "formatted:\n%s\nagain:\n%s\n", once->c_str(), twice ? twice->c_str() : "(an error)");
  std::abort();
}

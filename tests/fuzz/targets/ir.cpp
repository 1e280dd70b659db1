// The reader of graphs as text: what it takes, it can print and read again, and the verifier looks at it.
#include "ir/graph/text.h"
#include "ir/graph/verify.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tl::ir::Module module;
  try {
    module = tl::ir::parse_text({reinterpret_cast<const char*>(data), size});
  } catch (const std::runtime_error&) {
    return 0;
  }
  if (!tl::ir::verify(module).empty()) return 0;
  const std::string text = tl::ir::to_text(module);
  const std::string again = tl::ir::to_text(tl::ir::parse_text(text));
  if (text == again) return 0;
  std::fprintf(stderr, "printed:\n%s\nagain:\n%s\n", text.c_str(), again.c_str());
  std::abort();
}

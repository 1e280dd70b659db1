// What archives of the system take for the standard streams (cmake/libtl.cmake).
#include <cstdio>

#define TL_STREAM(name)                                                                                                \
  extern "C" __attribute__((visibility("hidden"))) std::FILE* tl_##name;                                               \
  std::FILE* tl_##name = nullptr;
TL_STREAM(stdin)
TL_STREAM(stdout)
TL_STREAM(stderr)

namespace {
[[gnu::constructor]] void set_standard_streams() {
  tl_stdin = stdin;
  tl_stdout = stdout;
  tl_stderr = stderr;
}
} // namespace

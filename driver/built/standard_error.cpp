// What libpng and libjpeg take for stderr (cmake/built.cmake).
#include <cstdio>

extern "C" {
__attribute__((visibility("hidden"))) std::FILE* tl_stderr = nullptr;
}

namespace {
[[gnu::constructor]] void set_standard_error() { tl_stderr = stderr; }
} // namespace

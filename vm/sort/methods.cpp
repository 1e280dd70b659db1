#include "vm/sort/methods.h"

namespace tl::sorting {

namespace {
bool has_avx512() { return __builtin_cpu_supports("x86-64-v4"); }
} // namespace

template <> const Methods<int32_t>& methods() {
  static const Methods<int32_t>& chosen = has_avx512() ? avx512::methods<int32_t>() : avx2::methods<int32_t>();
  return chosen;
}
template <> const Methods<int64_t>& methods() {
  static const Methods<int64_t>& chosen = has_avx512() ? avx512::methods<int64_t>() : avx2::methods<int64_t>();
  return chosen;
}

} // namespace tl::sorting

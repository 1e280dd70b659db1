#include "vm/sort/quick.h"

namespace tl::sorting::avx2 {

template <> const Methods<int32_t>& methods() { return kMethods<int32_t>; }
template <> const Methods<int64_t>& methods() { return kMethods<int64_t>; }

} // namespace tl::sorting::avx2

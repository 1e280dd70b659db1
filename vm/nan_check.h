// --check-nan: what computes a NaN out of operands that have none.
#pragma once
#include "abi/dtype.h"
#include <cstddef>
#include <cstdint>

namespace tl {

// The index of the first NaN among `count` elements, or -1; integers have none.
int64_t first_nan(DType type, const std::byte* data, int64_t count);

} // namespace tl

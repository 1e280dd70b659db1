// The sizes of packed blocks.
#pragma once
#include "vm/linalg/blas/blas.h"
#include "vm/linalg/blas/vector.h"
#include <algorithm>

namespace tl::blas {

// A tile of c that is computed in registers: twelve vectors of sums, two of a, two factors of b.
template <class T> constexpr int kTileRows = 2 * kLanes<T>;
constexpr int kTileColumns = 6;

// A block of a (rows by depth) is to stay in a second-level cache, a panel of b in the first, a block of b in the
// third.
constexpr Size kBlockRows = 128, kBlockDepth = 256, kBlockColumns = 85 * kTileColumns;

// Copies rows of a triangle, or right-hand sides, of any strides.
template <class T> inline void copy_block(Size m, Size n, Const<T> from, View<T> to) {
  for (Size i = 0; i < m; ++i)
    for (Size j = 0; j < n; ++j)
      to(i, j) = from(i, j);
}

} // namespace tl::blas

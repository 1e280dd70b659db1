// Sorting numbers (i32 or i64) with the widest vectors that the processor has.
#pragma once
#include <cstdint>

namespace tl::sorting {

template <class T> struct Methods {
  void (*sort)(T* numbers, int64_t n); // ascending, in place
  // Those less than `bound` to the front, the others behind them. Gives how many are less.
  int64_t (*partition)(T* numbers, int64_t n, T bound);
  // Sorts `lanes` rows of n numbers each, at most 32; their beginnings are `pitch` apart, a multiple of the lanes that
  // is not less than n. What a row has behind n is changed.
  void (*sort_columns)(T* rows, int64_t pitch, int n);
  int lanes;
};

// T: int32_t or int64_t.
template <class T> const Methods<T>& methods();

namespace avx2 {
template <class T> const Methods<T>& methods();
}
namespace avx512 {
template <class T> const Methods<T>& methods();
}

} // namespace tl::sorting

// Sorting numbers (i32 or i64) with the widest vectors that the processor has.
#pragma once
#include <cstdint>

namespace tl::sorting {

constexpr int kLongestColumn = 32; // at most so many numbers a row are sorted side by side,
constexpr int kMostLanes = 16;     // and at most so many rows

template <class T> struct Methods {
  void (*sort)(T* numbers, int64_t n); // ascending, in place
  // Those less than `bound` to the front, the others behind them. Gives how many are less.
  int64_t (*partition)(T* numbers, int64_t n, T bound);
  // Sorts `lanes` rows of n numbers each; their beginnings are `pitch` apart, a multiple of the lanes that is not less
  // than n. What a row has behind n is changed.
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

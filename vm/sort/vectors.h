// Numbers in vectors: sorting networks (Batcher 1968) within a vector, across vectors, and of rows side by side. No
// branch depends on a number. The width is what the file that includes this is compiled for, and so is the namespace:
// one program has both.
#pragma once
#include "vm/sort/methods.h"
#include <cstdint>
#include <cstring>
#include <immintrin.h>
#ifdef __AVX512F__
#define TL_VECTORS avx512
#else
#define TL_VECTORS avx2
#endif

namespace tl::sorting::TL_VECTORS {

#ifdef __AVX512F__
constexpr int kVectorBytes = 64;
#else
constexpr int kVectorBytes = 32;
#endif
template <class T> struct VectorOf {
  typedef T Type __attribute__((vector_size(kVectorBytes)));
};
template <class T> using Vector = typename VectorOf<T>::Type;
template <class T> inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
template <class T> inline constexpr T kMost = static_cast<T>(~(T{1} << (8 * sizeof(T) - 1)));

// The standard library's templates are compiled for every processor, and these are not to be taken for them.
template <int... i> struct Ints {};
template <int n, int... i> struct Counted : Counted<n - 1, n - 1, i...> {};
template <int... i> struct Counted<0, i...> {
  using Type = Ints<i...>;
};
template <class T> using Indices = typename Counted<kLanes<T>>::Type;

template <class T> Vector<T> load(const T* from) {
  Vector<T> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T> void store(T* to, Vector<T> v) { std::memcpy(to, &v, sizeof v); }
template <class T> Vector<T> broadcast(T x) { return x - Vector<T>{}; }

template <class V> V least(V a, V b) { return a < b ? a : b; }
template <class V> V greatest(V a, V b) { return a < b ? b : a; }
template <class T> void order(Vector<T>& a, Vector<T>& b) {
  const Vector<T> lo = least(a, b);
  b = greatest(a, b);
  a = lo;
}
template <class T> void order_in_memory(T* a, T* b) {
  Vector<T> lo = load(a), hi = load(b);
  order<T>(lo, hi);
  store(a, lo);
  store(b, hi);
}

// Lane i becomes lane i ^ by.
template <class T, int by, int... i> Vector<T> crossed(Vector<T> v, Ints<i...>) {
  return __builtin_shuffle(v, Vector<T>{static_cast<T>(i ^ by)...});
}
template <class T> Vector<T> reversed(Vector<T> v) { return crossed<T, kLanes<T> - 1>(v, Indices<T>{}); }

// The lesser of a and b in lanes without the bit `by`, the greater in the others.
#ifdef __AVX512F__
template <int by> constexpr __mmask16 lanes_with() {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < 16; ++i)
    if (i & by) mask |= 1u << i;
  return static_cast<__mmask16>(mask);
}
template <int by> Vector<int32_t> ordered(Vector<int32_t> a, Vector<int32_t> b) {
  return (Vector<int32_t>)_mm512_mask_max_epi32((__m512i)least(a, b), lanes_with<by>(), (__m512i)a, (__m512i)b);
}
template <int by> Vector<int64_t> ordered(Vector<int64_t> a, Vector<int64_t> b) {
  return (Vector<int64_t>)_mm512_mask_max_epi64((__m512i)least(a, b), static_cast<__mmask8>(lanes_with<by>()),
                                                (__m512i)a, (__m512i)b);
}
template <class T, int by, int... i> Vector<T> ordered_by(Vector<T> a, Vector<T> b, Ints<i...>) {
  return ordered<by>(a, b);
}
#else
template <class T, int by, int... i> Vector<T> ordered_by(Vector<T> a, Vector<T> b, Ints<i...>) {
  return __builtin_shuffle(least(a, b), greatest(a, b), Vector<T>{static_cast<T>(i & by ? i + kLanes<T> : i)...});
}
#endif

// Lane i is compared with lane i ^ with: the lesser goes where the bit `top` is clear.
template <class T, int with, int top> Vector<T> exchanged(Vector<T> v) {
  return ordered_by<T, top>(v, crossed<T, with>(v, Indices<T>{}), Indices<T>{});
}

// Bitonic runs of 2 `by` lanes, ascending.
template <class T, int by = kLanes<T> / 2> Vector<T> cleaned(Vector<T> v) {
  if constexpr (by == 0)
    return v;
  else
    return cleaned<T, by / 2>(exchanged<T, by, by>(v));
}
// A vector whose runs of `width` lanes are ascending, ascending.
template <class T, int width = 1> Vector<T> sorted(Vector<T> v) {
  if constexpr (width == kLanes<T>)
    return v;
  else
    return sorted<T, 2 * width>(cleaned<T, width / 2>(exchanged<T, 2 * width - 1, width>(v)));
}

// Two neighbouring ascending runs of `width` vectors each, in registers.
template <class T, int width> void merge_whole(T* run) {
  constexpr int n = kLanes<T>, all = 2 * width;
  Vector<T> v[all];
#pragma GCC unroll 16
  for (int k = 0; k < width; ++k) {
    v[k] = load(run + k * n);
    v[all - 1 - k] = reversed<T>(load(run + (all - 1 - k) * n));
    order<T>(v[k], v[all - 1 - k]);
  }
#pragma GCC unroll 16
  for (int half = width / 2; half > 0; half /= 2)
#pragma GCC unroll 16
    for (int k = 0; k < all; ++k)
      if ((k & half) == 0) order<T>(v[k], v[k + half]);
#pragma GCC unroll 16
  for (int k = 0; k < all; ++k)
    store(run + k * n, cleaned<T>(v[k]));
}

// The same where the second run ends before `all` vectors. What would follow up to 2 `width` counts as greatest, and so
// stays where it is.
template <class T> void merge_some(T* run, int width, int all) {
  constexpr int n = kLanes<T>;
  for (int k = 2 * width - all; k < width; ++k) {
    T *lo = run + k * n, *hi = run + (2 * width - 1 - k) * n;
    Vector<T> a = load(lo), b = reversed<T>(load(hi));
    order<T>(a, b);
    store(lo, a);
    store(hi, b);
  }
  for (int half = width / 2; half > 0; half /= 2)
    for (int block = 0; block < all; block += 2 * half)
      for (int k = block; k < block + half && k + half < all; ++k)
        order_in_memory(run + k * n, run + (k + half) * n);
  for (int k = 0; k < all; ++k)
    store(run + k * n, cleaned<T>(load(run + k * n)));
}

template <class T> void merge_vectors(T* run, int width, int all) {
  if (all < 2 * width) return merge_some(run, width, all);
  switch (width) {
  case 1: return merge_whole<T, 1>(run);
  case 2: return merge_whole<T, 2>(run);
  case 4: return merge_whole<T, 4>(run);
  default: return merge_whole<T, 8>(run);
  }
}

// a[first], b[first], a[first + 1], b[first + 1] …
template <class T, int first, int... i> Vector<T> zipped(Vector<T> a, Vector<T> b, Ints<i...>) {
  return __builtin_shuffle(a, b, Vector<T>{static_cast<T>(first + i / 2 + i % 2 * kLanes<T>)...});
}
// As many vectors as lanes, as a matrix.
template <class T> [[gnu::always_inline]] inline void transpose(Vector<T> (&v)[kLanes<T>]) {
  constexpr int n = kLanes<T>;
  Vector<T> rows[n];
#pragma GCC unroll 4
  for (int round = 1; round < n; round *= 2) {
#pragma GCC unroll 16
    for (int k = 0; k < n / 2; ++k) {
      rows[2 * k] = zipped<T, 0>(v[k], v[k + n / 2], Indices<T>{});
      rows[2 * k + 1] = zipped<T, n / 2>(v[k], v[k + n / 2], Indices<T>{});
    }
#pragma GCC unroll 16
    for (int k = 0; k < n; ++k)
      v[k] = rows[k];
  }
}

// Networks of few exchanges for 4, 8 and 16 numbers (for 16: Green 1969, in Knuth, 5.3.4).
constexpr int kExchanges4[][2] = {{0, 1}, {2, 3}, {0, 2}, {1, 3}, {1, 2}};
constexpr int kExchanges8[][2] = {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 1}, {2, 3},
                                  {4, 5}, {6, 7}, {2, 4}, {3, 5}, {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};
constexpr int kExchanges16[][2] = {
    {0, 1},  {2, 3},  {4, 5},   {6, 7},   {8, 9},  {10, 11}, {12, 13}, {14, 15}, {0, 2},  {4, 6},   {8, 10},  {12, 14},
    {1, 3},  {5, 7},  {9, 11},  {13, 15}, {0, 4},  {8, 12},  {1, 5},   {9, 13},  {2, 6},  {10, 14}, {3, 7},   {11, 15},
    {0, 8},  {1, 9},  {2, 10},  {3, 11},  {4, 12}, {5, 13},  {6, 14},  {7, 15},  {5, 10}, {6, 9},   {3, 12},  {13, 14},
    {4, 8},  {7, 11}, {1, 2},   {1, 4},   {7, 13}, {2, 8},   {11, 14}, {2, 4},   {5, 6},  {9, 10},  {11, 13}, {3, 8},
    {7, 12}, {6, 8},  {10, 12}, {3, 5},   {7, 9},  {3, 4},   {5, 6},   {7, 8},   {9, 10}, {11, 12}, {6, 7},   {8, 9}};

// As many vectors as lanes: each becomes ascending, with other numbers than it had.
template <class T> void sort_square(T* numbers) {
  constexpr int n = kLanes<T>;
  Vector<T> v[n];
#pragma GCC unroll 16
  for (int k = 0; k < n; ++k)
    v[k] = load(numbers + k * n);
  auto exchange = [&](const auto& exchanges) __attribute__((always_inline)) {
#pragma GCC unroll 64
    for (unsigned i = 0; i < sizeof exchanges / sizeof exchanges[0]; ++i)
      order<T>(v[exchanges[i][0]], v[exchanges[i][1]]);
  };
  if constexpr (n == 4)
    exchange(kExchanges4);
  else if constexpr (n == 8)
    exchange(kExchanges8);
  else
    exchange(kExchanges16);
  transpose<T>(v);
#pragma GCC unroll 16
  for (int k = 0; k < n; ++k)
    store(numbers + k * n, v[k]);
}

// Sorts so many whole vectors, at most 16.
template <class T> void sort_vectors(T* numbers, int count) {
  constexpr int n = kLanes<T>;
  int k = 0;
  for (; k + n <= count; k += n)
    sort_square(numbers + k * n);
  for (; k < count; ++k)
    store(numbers + k * n, sorted<T>(load(numbers + k * n)));
  for (int width = 1; width < count; width *= 2)
    for (int first = 0; first + width < count; first += 2 * width)
      merge_vectors(numbers + first * n, width, count - first < 2 * width ? count - first : 2 * width);
}

// As many rows of n numbers as there are lanes, a pitch apart (a multiple of the lanes), each lane a row of its own: by
// merge exchange (Knuth, The Art of Computer Programming, 5.2.2, algorithm M).
template <class T> void sort_columns(T* rows, int64_t pitch, int n) {
  constexpr int lanes = kLanes<T>;
  alignas(kVectorBytes) T columns[kLongestColumn * lanes];
  auto transpose_all = [&](auto from, auto to) {
    for (int block = 0; block < n; block += lanes) {
      Vector<T> v[lanes];
#pragma GCC unroll 16
      for (int k = 0; k < lanes; ++k)
        v[k] = load(from(block, k));
      transpose<T>(v);
#pragma GCC unroll 16
      for (int k = 0; k < lanes; ++k)
        store(to(block, k), v[k]);
    }
  };
  auto in_row = [&](int block, int k) { return rows + k * pitch + block; };
  auto in_column = [&](int block, int k) { return columns + (block + k) * lanes; };
  transpose_all(in_row, in_column);
  int top = 1;
  while (2 * top < n)
    top *= 2;
  for (int p = top; p > 0; p /= 2)
    for (int q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
      for (int i = 0; i + d < n; ++i)
        if ((i & p) == r) order_in_memory(columns + i * lanes, columns + (i + d) * lanes);
      if (q == p) break;
    }
  transpose_all(in_column, in_row);
}

} // namespace tl::sorting::TL_VECTORS

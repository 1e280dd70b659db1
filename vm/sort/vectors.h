// Sorting numbers without positions: columns of vectors by a sorting network, then merges of vectors by bitonic
// networks (Batcher 1968; as in Inoue et al., AA-sort, 2007), from both ends of two runs at once. No branch depends on
// a number.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

namespace tl::sort_vectors {

template <class T> struct LanesOf;
template <> struct LanesOf<int32_t> {
  static constexpr size_t kCount = 8;
  typedef int32_t Vector __attribute__((vector_size(32)));
};
template <> struct LanesOf<int64_t> {
  static constexpr size_t kCount = 4;
  typedef int64_t Vector __attribute__((vector_size(32)));
};
template <class T> using Vector = typename LanesOf<T>::Vector;
template <class T> inline constexpr size_t kLanes = LanesOf<T>::kCount;
template <class T> using Indices = std::make_index_sequence<kLanes<T>>;

template <class T> Vector<T> load(const T* from) {
  Vector<T> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T> void store(T* to, Vector<T> v) { std::memcpy(to, &v, sizeof v); }

template <class V> V least(V a, V b) { return a < b ? a : b; }
template <class V> V greatest(V a, V b) { return a < b ? b : a; }

// Lane i becomes lane i ^ by.
template <class T, size_t by, size_t... i> Vector<T> crossed(Vector<T> v, std::index_sequence<i...>) {
  return __builtin_shuffle(v, Vector<T>{static_cast<T>(i ^ by)...});
}
// The lanes without the bit `by` of a, the others of b.
template <class T, size_t by, size_t... i> Vector<T> chosen(Vector<T> a, Vector<T> b, std::index_sequence<i...>) {
  return __builtin_shuffle(a, b, Vector<T>{static_cast<T>(i & by ? i + kLanes<T> : i)...});
}
// a[first], b[first], a[first + 1], b[first + 1] …
template <class T, size_t first, size_t... i> Vector<T> zipped(Vector<T> a, Vector<T> b, std::index_sequence<i...>) {
  return __builtin_shuffle(a, b, Vector<T>{static_cast<T>(first + i / 2 + i % 2 * kLanes<T>)...});
}

// A bitonic vector, ascending.
template <class T, size_t by = kLanes<T> / 2> Vector<T> cleaned(Vector<T> v) {
  if constexpr (by == 0) {
    return v;
  } else {
    const Vector<T> other = crossed<T, by>(v, Indices<T>{});
    return cleaned<T, by / 2>(chosen<T, by>(least(v, other), greatest(v, other), Indices<T>{}));
  }
}

// Two ascending vectors: the least numbers to a, the greatest to b, both ascending.
template <class T> void merge(Vector<T>& a, Vector<T>& b) {
  const Vector<T> back = crossed<T, kLanes<T> - 1>(b, Indices<T>{});
  b = cleaned<T>(greatest(a, back));
  a = cleaned<T>(least(a, back));
}

template <class T> void order(Vector<T>& a, Vector<T>& b) {
  const Vector<T> lo = least(a, b);
  b = greatest(a, b);
  a = lo;
}

// As many vectors as lanes, as a matrix.
template <class T> void transpose(Vector<T> (&v)[kLanes<T>]) {
  constexpr size_t n = kLanes<T>;
  Vector<T> rows[n];
  for (size_t round = 1; round < n; round *= 2) {
    for (size_t k = 0; k < n / 2; ++k) {
      rows[2 * k] = zipped<T, 0>(v[k], v[k + n / 2], Indices<T>{});
      rows[2 * k + 1] = zipped<T, n / 2>(v[k], v[k + n / 2], Indices<T>{});
    }
    std::copy_n(rows, n, v);
  }
}

// As many vectors as lanes: each becomes ascending, and a run of its own.
template <class T> void sort_square(T* numbers) {
  constexpr size_t n = kLanes<T>;
  Vector<T> v[n];
  for (size_t k = 0; k < n; ++k)
    v[k] = load(numbers + k * n);
  // The networks of fewest exchanges for 4 and for 8.
  if constexpr (n == 4) {
    constexpr int exchanges[][2] = {{0, 1}, {2, 3}, {0, 2}, {1, 3}, {1, 2}};
    for (const auto& [i, j] : exchanges)
      order<T>(v[i], v[j]);
  } else {
    constexpr int exchanges[][2] = {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 1}, {2, 3},
                                    {4, 5}, {6, 7}, {2, 4}, {3, 5}, {1, 4}, {3, 6}, {1, 2}, {3, 4}, {5, 6}};
    for (const auto& [i, j] : exchanges)
      order<T>(v[i], v[j]);
  }
  transpose<T>(v);
  for (size_t k = 0; k < n; ++k)
    store(numbers + k * n, v[k]);
}

// As many rows of n numbers as there are lanes, a pitch apart (a multiple of the lanes), each lane a row of its own: by
// merge exchange (Knuth, The Art of Computer Programming, 5.2.2, algorithm M). columns: room for as many numbers.
template <class T> void sort_rows(T* rows, int64_t pitch, int64_t n, T* columns) {
  constexpr auto lanes = static_cast<int64_t>(kLanes<T>);
  auto transpose_all = [&](auto from, auto to) {
    for (int64_t block = 0; block < n; block += lanes) {
      Vector<T> v[kLanes<T>];
      for (int64_t k = 0; k < lanes; ++k)
        v[k] = load(from(block, k));
      transpose<T>(v);
      for (int64_t k = 0; k < lanes; ++k)
        store(to(block, k), v[k]);
    }
  };
  auto in_row = [&](int64_t block, int64_t k) { return rows + k * pitch + block; };
  auto in_column = [&](int64_t block, int64_t k) { return columns + (block + k) * lanes; };
  transpose_all(in_row, in_column);
  const auto top = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)) / 2);
  for (int64_t p = top; p > 0; p /= 2)
    for (int64_t q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
      for (int64_t i = 0; i + d < n; ++i) {
        if ((i & p) != r) continue;
        Vector<T> a = load(columns + i * lanes), b = load(columns + (i + d) * lanes);
        order<T>(a, b);
        store(columns + i * lanes, a);
        store(columns + (i + d) * lanes, b);
      }
      if (q == p) break;
    }
  transpose_all(in_column, in_row);
}

// Two neighbouring runs of `width` numbers each, from both ends.
template <class T> void merge_equal(const T* a, int64_t width, T* to) {
  constexpr auto n = static_cast<int64_t>(kLanes<T>);
  const T *b = a + width, *a_last = b - n, *b_last = b + width - n;
  T* last = to + 2 * width - n;
  Vector<T> least = load(a), held = load(b), held_last = load(a_last), most = load(b_last);
  a += n, b += n, a_last -= n, b_last -= n;
  for (int64_t left = width / n;;) {
    merge<T>(least, held);
    merge<T>(held_last, most);
    store(to, least), to += n;
    store(last, most), last -= n;
    if (--left == 0) return;
    const bool second = *b < *a, first = b_last[n - 1] < a_last[n - 1];
    least = load(second ? b : a);
    most = load(first ? a_last : b_last);
    b += second ? n : 0;
    a += second ? 0 : n;
    a_last -= first ? n : 0;
    b_last -= first ? 0 : n;
  }
}

// Two neighbouring runs, of multiples of the lanes.
template <class T> void merge_any(const T* a, const T* b, const T* end, T* to) {
  constexpr auto n = static_cast<int64_t>(kLanes<T>);
  const T* a_end = b;
  Vector<T> least = load(a), held = load(b);
  a += n, b += n;
  merge<T>(least, held);
  store(to, least), to += n;
  while (a != a_end || b != end) {
    const bool second = a == a_end || (b != end && *b < *a);
    least = load(second ? b : a);
    b += second ? n : 0;
    a += second ? 0 : n;
    merge<T>(least, held);
    store(to, least), to += n;
  }
  store(to, held);
}

// Sorts a[0, n), with b as room for as many; n is a multiple of the square of the lanes. Gives where the result is.
template <class T> T* sort(T* a, T* b, int64_t n) {
  constexpr auto lanes = static_cast<int64_t>(kLanes<T>);
  for (int64_t i = 0; i < n; i += lanes * lanes)
    sort_square(a + i);
  for (int64_t width = lanes; width < n; width *= 2, std::swap(a, b))
    for (int64_t lo = 0; lo < n; lo += 2 * width) {
      const int64_t middle = std::min(lo + width, n), hi = std::min(lo + 2 * width, n);
      if (hi - lo == 2 * width)
        merge_equal(a + lo, width, b + lo);
      else if (middle < hi)
        merge_any(a + lo, a + middle, a + hi, b + lo);
      else
        std::copy(a + lo, a + hi, b + lo);
    }
  return a;
}

} // namespace tl::sort_vectors

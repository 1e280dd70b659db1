// Systems of equations with triangular matrices, and products with these: halves by products of matrices, down to small
// triangles, which are packed and applied to two vectors of right-hand sides at a time.
#include "vm/linalg/blas/packing.h"
#include <algorithm>

namespace tl::blas {
namespace {

constexpr Size kSmall = 64; // rows of a triangle that is not divided
constexpr int kRows = 4;    // rows at a time

// A small lower triangle, kRows rows at a time, element by element: l(i, p) is at [i / kRows][p][i % kRows].
template <class T> struct SmallTriangle {
  Size n;
  T packed[kSmall * kSmall];

  SmallTriangle(Size n, Const<T> l, bool unit) : n(n) {
    for (Size i = 0; i < (n + kRows - 1) / kRows * kRows; i += kRows) {
      T* to = packed + i * kSmall;
      const Size whole = i + kRows <= n ? i : 0; // columns of which every row is there
      for (Size p = 0; p < whole; ++p)
        for (Size r = 0; r < kRows; ++r)
          to[p * kRows + r] = l(i + r, p);
      for (Size p = whole; p < std::min(n, i + kRows); ++p)
        for (Size r = 0; r < kRows; ++r) {
          const bool diagonal = unit && i + r == p;
          to[p * kRows + r] = i + r >= n || p > i + r ? T(0) : diagonal ? T(1) : l(i + r, p);
        }
    }
  }
  T& at(Size i, Size p) { return packed[i / kRows * kRows * kSmall + p * kRows + i % kRows]; }
  const T* rows(Size i) const { return packed + i * kSmall; } // i is a multiple of kRows
};

constexpr int kVectors = 2;
template <class T> using Row = Vector<T>[kVectors]; // one element of each right-hand side

// sums += or -= the first `count` columns of some rows of l times x
template <bool add, class T>
inline void multiply_rows(const T* rows, Size count, const Row<T>* x, Vector<T> (&sums)[kRows][kVectors]) {
  for (Size p = 0; p < count; ++p)
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const T l = rows[p * kRows + r];
      const Vector<T> factor = broadcast(add ? l : -l);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        sums[r][v] = fma(x[p][v], factor, sums[r][v]);
    }
}

// x = l⁻¹ x
template <class T> void solve_small(const SmallTriangle<T>& l, bool unit, Row<T>* x) {
  for (Size i = 0; i < l.n; i += kRows) {
    Vector<T> sums[kRows][kVectors];
    std::memcpy(sums, x[i], sizeof sums);
    const T* rows = l.rows(i);
    multiply_rows<false>(rows, i, x, sums);
    const int count = static_cast<int>(std::min<Size>(kRows, l.n - i));
    for (int r = 0; r < count; ++r)
      for (int v = 0; v < kVectors; ++v) {
        Vector<T> sum = sums[r][v];
        for (int q = 0; q < r; ++q)
          sum = fma(x[i + q][v], broadcast(-rows[(i + q) * kRows + r]), sum);
        x[i + r][v] = unit ? sum : sum / broadcast(rows[(i + r) * kRows + r]);
      }
  }
}

// x = l x
template <class T> void multiply_small(const SmallTriangle<T>& l, bool, Row<T>* x) {
  for (Size i = (l.n - 1) / kRows * kRows; i >= 0; i -= kRows) {
    Vector<T> sums[kRows][kVectors] = {};
    const T* rows = l.rows(i);
    multiply_rows<true>(rows, i, x, sums);
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kVectors; ++v)
        for (int q = 0; q <= r; ++q)
          sums[r][v] = fma(x[i + q][v], broadcast(rows[(i + q) * kRows + r]), sums[r][v]);
    std::memcpy(x[i], sums, sizeof sums);
  }
}

// Applies a small triangle to all right-hand sides.
template <class T, class Apply> void apply_small(Size n, Size k, Const<T> l, bool unit, View<T> b, Apply&& apply) {
  constexpr Size wide = kVectors * kLanes<T>;
  const SmallTriangle<T> small(n, l, unit);
  alignas(Vector<T>) T elements[(kSmall + kRows) * wide];
  std::fill(elements, elements + (n + kRows) * wide, T(0));
  auto* x = reinterpret_cast<Row<T>*>(elements);
  for (Size j = 0; j < k; j += wide) {
    const Size count = std::min(wide, k - j);
    if (count == wide && b.columns == 1) { // as vectors
      for (Size i = 0; i < n; ++i)
        std::memcpy(x[i], b.p + i * b.rows + j, sizeof x[i]);
      apply(small, unit, x);
      for (Size i = 0; i < n; ++i)
        std::memcpy(b.p + i * b.rows + j, x[i], sizeof x[i]);
      continue;
    }
    copy_block<T>(n, count, b.at(0, j), {elements, wide, 1});
    apply(small, unit, x);
    copy_block<T>(n, count, {elements, wide, 1}, b.at(0, j));
  }
}

// Of more than kSmall rows the first half, of whole small triangles.
Size half(Size n) { return (n / 2 + kSmall - 1) / kSmall * kSmall; }

// x = l⁻¹ x: blocks of rows by products with what is known, and then column by column: no element waits for a sum.
template <class T> void solve_vector(Size n, Const<T> l, bool unit, T* x, Size step) {
  constexpr Size block = 16;
  for (Size row = 0; row < n; row += block) {
    const Size count = std::min(block, n - row);
    gemv<T>(count, row, T(-1), l.at(row, 0), x, step, x + row * step, step);
    T here[block];
    for (Size i = 0; i < count; ++i)
      here[i] = x[(row + i) * step];
    for (Size i = 0; i < count; ++i) {
      if (!unit) here[i] /= l(row + i, row + i);
      for (Size j = i + 1; j < count; ++j)
        here[j] = fma(-l(row + j, row + i), here[i], here[j]);
    }
    for (Size i = 0; i < count; ++i)
      x[(row + i) * step] = here[i];
  }
}

} // namespace

template <class T> void solve_lower(Size n, Size k, Const<T> l, bool unit, View<T> b) {
  if (n == 0 || k == 0) return;
  if (k == 1) return solve_vector<T>(n, l, unit, b.p, b.rows);
  if (n <= kSmall) return apply_small(n, k, l, unit, b, solve_small<T>);
  const Size top = half(n);
  solve_lower<T>(top, k, l, unit, b);
  gemm<T>(n - top, k, top, T(-1), l.at(top, 0), b, b.at(top, 0));
  solve_lower<T>(n - top, k, l.at(top, top), unit, b.at(top, 0));
}

template <class T> void multiply_lower(Size n, Size k, Const<T> l, bool unit, View<T> b) {
  if (n == 0 || k == 0) return;
  if (n <= kSmall) return apply_small(n, k, l, unit, b, multiply_small<T>);
  const Size top = half(n);
  multiply_lower<T>(n - top, k, l.at(top, top), unit, b.at(top, 0));
  gemm<T>(n - top, k, top, T(1), l.at(top, 0), b, b.at(top, 0));
  multiply_lower<T>(top, k, l, unit, b);
}

template void solve_lower(Size, Size, Const<float>, bool, View<float>);
template void solve_lower(Size, Size, Const<double>, bool, View<double>);
template void multiply_lower(Size, Size, Const<float>, bool, View<float>);
template void multiply_lower(Size, Size, Const<double>, bool, View<double>);

} // namespace tl::blas

#include "vm/linalg/factor.h"
#include "vm/linalg/blas/vector.h"
#include <algorithm>
#include <limits>

namespace tl {

using blas::Size, blas::View;
using lapack::Int;

namespace {

constexpr Size kSmallTriangle = 64;

// Column by column, in a column-major copy.
template <class T> Int small_cholesky(Size n, View<T> a) {
  T copy[kSmallTriangle * kSmallTriangle];
  const View<T> l{copy, 1, kSmallTriangle};
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j <= i; ++j)
      l(i, j) = a(i, j);
  Int info = 0;
  for (Size j = 0; j < n && info == 0; ++j) {
    blas::gemv<T>(n - j, j, T(-1), l.at(j, 0), &l(j, 0), kSmallTriangle, &l(j, j), 1);
    if (!(l(j, j) > T(0))) info = static_cast<Int>(j + 1); // nor is it a number
    const T root = std::sqrt(l(j, j));
    l(j, j) = root;
    for (Size i = j + 1; i < n; ++i)
      l(i, j) /= root;
  }
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j <= i; ++j)
      a(i, j) = l(i, j);
  return info;
}

// The first of the elements of greatest magnitude. Those that are no numbers count only where the first is one of them.
template <class T> Size greatest(const T* x, Size n) {
  blas::Vector<T> most = blas::broadcast(std::abs(x[0]));
  Size i = 0;
  for (; i + blas::kLanes<T> <= n; i += blas::kLanes<T>) {
    const auto at = blas::load(x + i);
    const auto size = at < T(0) ? -at : at;
    most = size > most ? size : most;
  }
  T all[blas::kLanes<T>];
  blas::store(all, most);
  T result = all[0];
  for (T one : all)
    result = one > result ? one : result;
  for (; i < n; ++i)
    result = std::abs(x[i]) > result ? std::abs(x[i]) : result;
  for (i = 0; i < n; ++i)
    if (std::abs(x[i]) == result) return i;
  return 0;
}

// The column j of a panel (column-major) that has its final rows above the diagonal: its pivot, and the column of l.
template <class T> bool eliminate(Size m, Size n, Size j, View<T> panel, Int* pivots) {
  T* column = &panel(0, j);
  const Size pivot = j + greatest(column + j, m - j);
  pivots[j] = static_cast<Int>(pivot);
  if (column[pivot] == T(0)) return false;
  if (pivot != j)
    for (Size q = 0; q < n; ++q)
      std::swap(panel(j, q), panel(pivot, q));
  const T divisor = column[j];
  if (std::abs(divisor) >= std::numeric_limits<T>::min()) {
    const T factor = T(1) / divisor;
    for (Size i = j + 1; i < m; ++i)
      column[i] *= factor;
  } else {
    for (Size i = j + 1; i < m; ++i)
      column[i] /= divisor;
  }
  return true;
}

// Few columns, one after the other, in a column-major copy.
template <class T> Int lu_of_panel(Size m, Size n, View<T> a, Int* pivots, T* copy) {
  const View<T> panel{copy, 1, m};
  for (Size i = 0; i < m; ++i)
    for (Size j = 0; j < n; ++j)
      panel(i, j) = a(i, j);
  Int info = 0;
  for (Size j = 0; j < n; ++j) {
    const Size above = std::min(j, m);
    T* column = &panel(0, j);
    for (Size p = 0; p < above; ++p)
      for (Size i = p + 1; i < above; ++i)
        column[i] = std::fma(-column[p], panel(i, p), column[i]);
    blas::gemv<T>(m - above, above, T(-1), panel.at(above, 0), column, 1, column + above, 1);
    if (j < m && !eliminate(m, n, j, panel, pivots) && info == 0) info = static_cast<Int>(j + 1);
  }
  for (Size i = 0; i < m; ++i)
    for (Size j = 0; j < n; ++j)
      a(i, j) = panel(i, j);
  return info;
}

} // namespace

template <class T> Int cholesky(Size n, View<T> a) {
  if (n <= kSmallTriangle) return small_cholesky(n, a);
  const Size top = (n / 2 + kSmallTriangle - 1) / kSmallTriangle * kSmallTriangle, rest = n - top;
  if (Int info = cholesky(top, a)) return info;
  const View<T> below = a.at(top, 0), last = a.at(top, top);
  blas::solve_lower<T>(top, rest, a, false, below.transposed());
  blas::gemm<T>(rest, rest, top, T(-1), below, below.transposed(), last, blas::Part::Lower);
  const Int info = cholesky(rest, last);
  return info == 0 ? 0 : static_cast<Int>(top) + info;
}

template <class T> void exchange_rows(View<T> a, Size n, const Int* pivots, Size count) {
  for (Size i = 0; i < count; ++i)
    if (pivots[i] != i)
      for (Size j = 0; j < n; ++j)
        std::swap(a(i, j), a(pivots[i], j));
}

template <class T> Int lu(Size m, Size n, View<T> a, Int* pivots, T* panel) {
  if (n <= kLuPanel) return lu_of_panel(m, n, a, pivots, panel);
  const Size p = std::min(m, n);
  const Size left = p <= kLuPanel ? p : (p / 2 + kLuPanel - 1) / kLuPanel * kLuPanel, right = n - left;
  const Int first = lu(m, left, a, pivots, panel);
  const View<T> beside = a.at(0, left), last = a.at(left, left);
  exchange_rows(beside, right, pivots, left);
  blas::solve_lower<T>(left, right, a, true, beside);
  if (left == m) return first;
  blas::gemm<T>(m - left, right, left, T(-1), a.at(left, 0), beside, last);
  const Int second = lu(m - left, right, last, pivots + left, panel);
  exchange_rows(a.at(left, 0), left, pivots + left, p - left);
  for (Size i = left; i < p; ++i)
    pivots[i] += static_cast<Int>(left);
  return first != 0 || second == 0 ? first : static_cast<Int>(left) + second;
}

#define TL_FACTORS(T)                                                                                                  \
  template Int cholesky(Size, View<T>);                                                                                \
  template Int lu(Size, Size, View<T>, Int*, T*);                                                                      \
  template void exchange_rows(View<T>, Size, const Int*, Size);
TL_FACTORS(float)
TL_FACTORS(double)
#undef TL_FACTORS

} // namespace tl

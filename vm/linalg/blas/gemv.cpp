// Matrices times vectors: bound by memory, so that each element of the matrix is read once, along the unit stride.
#include "vm/linalg/blas/blas.h"
#include "vm/linalg/blas/vector.h"
#include <algorithm>

namespace tl::blas {
namespace {

constexpr Size kChunk = 512; // so many elements of a vector stay in the first-level cache
constexpr int kAtOnce = 4;   // rows or columns

// y (m) += the columns of a times their factors. a.rows is 1.
template <class T> void add_columns(Size m, int count, const T* a, Size step, const T* factors, T* __restrict y) {
  Vector<T> by[kAtOnce];
  for (int j = 0; j < kAtOnce; ++j)
    by[j] = broadcast(j < count ? factors[j] : T(0));
  Size i = 0;
  if (count == kAtOnce)
    for (; i + kLanes<T> <= m; i += kLanes<T>) {
      Vector<T> sum = load(y + i);
#pragma GCC unroll 4
      for (int j = 0; j < kAtOnce; ++j)
        sum = fma(load(a + j * step + i), by[j], sum);
      store(y + i, sum);
    }
  else
    for (; i + kLanes<T> <= m; i += kLanes<T>) {
      Vector<T> sum = load(y + i);
      for (int j = 0; j < count; ++j)
        sum = fma(load(a + j * step + i), by[j], sum);
      store(y + i, sum);
    }
  for (; i < m; ++i)
    for (int j = 0; j < count; ++j)
      y[i] = std::fma(a[j * step + i], factors[j], y[i]);
}

template <class T>
void by_columns(Size m, Size n, T alpha, const T* a, Size step, const T* x, Size x_step, T* y, Size y_step) {
  T gathered[kChunk];
  for (Size i = 0; i < m; i += kChunk) {
    const Size rows = std::min(kChunk, m - i);
    T* to = y + i * y_step;
    if (y_step != 1) {
      for (Size r = 0; r < rows; ++r)
        gathered[r] = to[r * y_step];
      to = gathered;
    }
    for (Size j = 0; j < n; j += kAtOnce) {
      const int count = static_cast<int>(std::min<Size>(kAtOnce, n - j));
      T factors[kAtOnce];
      for (int q = 0; q < count; ++q)
        factors[q] = alpha * x[(j + q) * x_step];
      add_columns(rows, count, a + i + j * step, step, factors, to);
    }
    if (y_step != 1)
      for (Size r = 0; r < rows; ++r)
        y[(i + r) * y_step] = gathered[r];
  }
}

// The products of rows of a with x. a.columns is 1.
template <class T, int count> void row_products(Size n, const T* a, Size step, const T* x, T* products) {
  constexpr int chains = count == 1 ? 4 : 1;
  Vector<T> sums[count][chains] = {};
  Size j = 0;
  for (; j + chains * kLanes<T> <= n; j += chains * kLanes<T>)
#pragma GCC unroll 4
    for (int q = 0; q < chains; ++q) {
      const Vector<T> at = load(x + j + q * kLanes<T>);
#pragma GCC unroll 4
      for (int r = 0; r < count; ++r)
        sums[r][q] = fma(load(a + r * step + j + q * kLanes<T>), at, sums[r][q]);
    }
  for (int r = 0; r < count; ++r) {
    Vector<T> all = sums[r][0];
    for (int q = 1; q < chains; ++q)
      all += sums[r][q];
    T total = sum<T>(all);
    for (Size tail = j; tail < n; ++tail)
      total = std::fma(a[r * step + tail], x[tail], total);
    products[r] += total;
  }
}

template <class T>
void by_rows(Size m, Size n, T alpha, const T* a, Size step, const T* x, Size x_step, T* y, Size y_step) {
  T gathered[kChunk];
  for (Size j = 0; j < n; j += kChunk) {
    const Size columns = std::min(kChunk, n - j);
    for (Size c = 0; c < columns; ++c)
      gathered[c] = alpha * x[(j + c) * x_step];
    Size i = 0;
    for (; i < m; i += kAtOnce) {
      T products[kAtOnce] = {};
      const T* rows = a + i * step + j;
      const Size count = std::min<Size>(kAtOnce, m - i);
      if (count == kAtOnce)
        row_products<T, kAtOnce>(columns, rows, step, gathered, products);
      else
        for (Size r = 0; r < count; ++r)
          row_products<T, 1>(columns, rows + r * step, step, gathered, products + r);
      for (Size r = 0; r < count; ++r)
        y[(i + r) * y_step] += products[r];
    }
  }
}

} // namespace

template <class T> void gemv(Size m, Size n, T alpha, Const<T> a, const T* x, Size x_step, T* y, Size y_step) {
  if (m == 0 || n == 0) return;
  if (a.rows == -1) return gemv<T>(m, n, alpha, a.rows_reversed(m), x, x_step, y + (m - 1) * y_step, -y_step);
  if (a.columns == -1)
    return gemv<T>(m, n, alpha, a.transposed().rows_reversed(n).transposed(), x + (n - 1) * x_step, -x_step, y, y_step);
  if (a.rows == 1) return by_columns(m, n, alpha, a.p, a.columns, x, x_step, y, y_step);
  if (a.columns == 1) return by_rows(m, n, alpha, a.p, a.rows, x, x_step, y, y_step);
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < m; ++i)
      y[i * y_step] = std::fma(alpha * x[j * x_step], a(i, j), y[i * y_step]);
}

template void gemv(Size, Size, float, Const<float>, const float*, Size, float*, Size);
template void gemv(Size, Size, double, Const<double>, const double*, Size, double*, Size);

} // namespace tl::blas

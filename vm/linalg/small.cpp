#include "vm/linalg/small.h"
#include "vm/linalg/lanes.h"
#include <algorithm>

namespace tl {

using blas::broadcast, blas::fma, blas::kLanes;

// The matrices as columns first … of vectors. Lanes without a matrix compute with the last one.
template <class T>
void SmallMatrices<T>::read(const T* from, int64_t rows, int64_t columns, int64_t first, int64_t all_columns) {
  const T* lane[kLanes<T>];
  for (int w = 0; w < kLanes<T>; ++w)
    lane[w] = from + std::min(w, count - 1) * rows * columns;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      Vector v;
      for (int w = 0; w < kLanes<T>; ++w)
        v[w] = lane[w][i * columns + j];
      at(i, first + j, all_columns) = v;
    }
}

template <class T>
void SmallMatrices<T>::write(int64_t rows, int64_t columns, int64_t first, int64_t all_columns, T* to) const {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const Vector v = work[i * all_columns + first + j];
      for (int w = 0; w < count; ++w)
        to[(w * rows + i) * columns + j] = v[w];
    }
}

// Keeps the first pivot that failed in each lane.
template <class T> template <class Mask> void SmallMatrices<T>::fail(Mask failed, int64_t pivot) {
  if (!blas::any(failed)) return;
  for (int w = 0; w < count; ++w)
    if (failed[w] && info[w] == 0) info[w] = static_cast<lapack::Int>(pivot + 1);
}

template <class T> void SmallMatrices<T>::cholesky(const T* a, T* l) {
  read(a, n, n, 0, n);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      Vector sum = at(i, j, n);
      for (int64_t p = 0; p < j; ++p)
        sum = fma(-at(i, p, n), at(j, p, n), sum);
      at(i, j, n) = sum;
    }
    const Vector pivot = at(j, j, n);
    fail(!(pivot > T(0)), j); // nor is it a number
    const Vector root = blas::square_root(pivot);
    at(j, j, n) = root;
    for (int64_t i = j + 1; i < n; ++i)
      at(i, j, n) /= root;
    for (int64_t i = 0; i < j; ++i)
      at(i, j, n) = Vector{};
  }
  write(n, n, 0, n, l);
}

// The step j of elimination, of rows of n and more columns: the row exchanged with the row j, of each lane.
template <class T> typename SmallMatrices<T>::Vector SmallMatrices<T>::eliminate(int64_t j, int64_t columns) {
  auto size = [&](int64_t i) {
    const Vector v = at(i, j, columns);
    return v < T(0) ? -v : v;
  };
  Vector chosen = broadcast(static_cast<T>(j)), most = size(j);
  for (int64_t i = j + 1; i < m; ++i) {
    const Vector here = size(i);
    const auto greater = here > most; // not where it is no number
    most = greater ? here : most;
    chosen = greater ? broadcast(static_cast<T>(i)) : chosen;
  }
  for (int64_t i = j + 1; i < m; ++i) {
    const auto exchanged = chosen == static_cast<T>(i);
    if (!blas::any(exchanged)) continue;
    for (int64_t q = 0; q < columns; ++q) {
      Vector &upper = at(j, q, columns), &lower = at(i, q, columns);
      const Vector kept = upper;
      upper = exchanged ? lower : kept;
      lower = exchanged ? kept : lower;
    }
  }
  const Vector pivot = at(j, j, columns);
  const auto zero = pivot == T(0);
  fail(zero, j);
  const Vector divisor = zero ? broadcast(T(1)) : pivot;
  for (int64_t i = j + 1; i < m; ++i) {
    const Vector factor = at(i, j, columns) / divisor;
    at(i, j, columns) = factor;
    for (int64_t q = j + 1; q < columns; ++q)
      at(i, q, columns) = fma(-factor, at(j, q, columns), at(i, q, columns));
  }
  return chosen;
}

template <class T> void SmallMatrices<T>::lu_factor(const T* a, T* lu, int64_t* pivots) {
  const int64_t p = std::min(m, n);
  read(a, m, n, 0, n);
  for (int64_t j = 0; j < p; ++j) {
    const Vector chosen = eliminate(j, n);
    for (int w = 0; w < count; ++w)
      pivots[w * p + j] = static_cast<int64_t>(chosen[w]);
  }
  std::fill(info, info + count, 0); // a zero pivot is no failure here
  write(m, n, 0, n, lu);
}

// a and b side by side: elimination solves with l at once.
template <class T> void SmallMatrices<T>::solve(const T* a, const T* b, T* x) {
  const int64_t columns = n + k;
  read(a, n, n, 0, columns);
  read(b, n, k, n, columns);
  for (int64_t j = 0; j < n; ++j)
    eliminate(j, columns);
  for (int64_t i = n - 1; i >= 0; --i)
    for (int64_t q = n; q < columns; ++q) {
      Vector sum = at(i, q, columns);
      for (int64_t p = i + 1; p < n; ++p)
        sum = fma(-at(i, p, columns), at(p, q, columns), sum);
      at(i, q, columns) = sum / at(i, i, columns);
    }
  write(n, k, n, columns, x);
}

template <class T> void SmallMatrices<T>::solve_triangular(bool lower, const T* a, const T* b, T* x) {
  const int64_t columns = n + k;
  read(a, n, n, 0, columns);
  read(b, n, k, n, columns);
  for (int64_t i = 0; i < n; ++i)
    fail(at(i, i, columns) == T(0), i);
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = lower ? step : n - 1 - step;
    const int64_t begin = lower ? 0 : i + 1, end = lower ? i : n;
    for (int64_t q = n; q < columns; ++q) {
      Vector sum = at(i, q, columns);
      for (int64_t p = begin; p < end; ++p)
        sum = fma(-at(i, p, columns), at(p, q, columns), sum);
      at(i, q, columns) = sum / at(i, i, columns);
    }
  }
  write(n, k, n, columns, x);
}

// What lies below the diagonal of a becomes zero, column after column, by reflections 1 - tau v vᵀ; q is their product,
// applied to the first columns of the identity, the last reflection first. The matrix and q stand by columns.
template <class T> void SmallMatrices<T>::qr(const T* from, T* to_q, T* to_r) {
  const int64_t p = std::min(m, n);
  Vector *a = work, *q = a + m * n, *tau = q + m * p;
  Vector most{};
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) {
      Vector v;
      for (int w = 0; w < kLanes<T>; ++w)
        v[w] = from[(std::min(w, count - 1) * m + i) * n + j];
      a[j * m + i] = v;
      most = blas::greatest<T>(most, blas::size<T>(v));
    }
  const blas::Scaling<T> scaling(most);
  for (int64_t i = 0; i < m * n; ++i)
    a[i] *= scaling.down;
  // column -= t (v · column) v, from row i on
  auto reflect = [&](int64_t i, const Vector* v, Vector t, Vector* column) {
    Vector sum = column[i];
    for (int64_t r = i + 1; r < m; ++r)
      sum = fma(v[r], column[r], sum);
    sum *= -t;
    column[i] += sum;
    for (int64_t r = i + 1; r < m; ++r)
      column[r] = fma(sum, v[r], column[r]);
  };
  for (int64_t j = 0; j < p; ++j) {
    Vector* column = a + j * m;
    const auto [beta, t] = blas::reflection<T>(column + j, m - j);
    column[j] = beta;
    tau[j] = t;
    for (int64_t c = j + 1; c < n; ++c)
      reflect(j, column, t, a + c * m);
  }
  std::fill(q, q + m * p, Vector{});
  for (int64_t j = p - 1; j >= 0; --j) {
    q[j * m + j] = broadcast(T(1));
    for (int64_t c = j; c < p; ++c)
      reflect(j, a + j * m, tau[j], q + c * m);
  }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < p; ++j) {
      const Vector v = q[j * m + i];
      for (int w = 0; w < count; ++w)
        to_q[(w * m + i) * p + j] = v[w];
    }
  for (int64_t i = 0; i < p; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const Vector v = i <= j ? a[j * m + i] * scaling.up : Vector{};
      for (int w = 0; w < count; ++w)
        to_r[(w * p + i) * n + j] = v[w];
    }
}

template struct SmallMatrices<float>;
template struct SmallMatrices<double>;

} // namespace tl

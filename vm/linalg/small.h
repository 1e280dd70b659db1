// Batches of small matrices: as many matrices at a time as a vector has lanes, so that each lane computes with one of
// them. What a matrix gives does not depend on the others.
#pragma once
#include "vm/linalg/blas/vector.h"
#include "vm/linalg/lapack.h"
#include <algorithm>

namespace tl {

constexpr int64_t kSmallSize = 16; // rows and columns

// Matrices a (m×n) and b (n×k) of row-major batches. `count` of them, at most as many as lanes, are read from `a` and
// `b` and written; `work` has `vectors` of them. `info` gets one number for each: 0, or what LAPACK calls info.
template <class T> struct SmallMatrices {
  int64_t m, n, k;
  int count;
  blas::Vector<T>* work;
  lapack::Int info[blas::kLanes<T>] = {};

  static int64_t vectors(int64_t m, int64_t n, int64_t k) { return m * (n + k); }

  void cholesky(const T* a, T* l);
  void lu_factor(const T* a, T* lu, int64_t* pivots);
  void solve(const T* a, const T* b, T* x);
  void solve_triangular(bool lower, const T* a, const T* b, T* x);
  void qr(const T* a, T* q, T* r); // by reflections, with the signs that LAPACK gives
  static int64_t qr_vectors(int64_t m, int64_t n) { return m * n + m * std::min(m, n) + std::min(m, n); }

private:
  using Vector = blas::Vector<T>;
  // Vectors of elements, `columns` to a row.
  Vector& at(int64_t i, int64_t j, int64_t columns) { return work[i * columns + j]; }
  void read(const T* from, int64_t rows, int64_t columns, int64_t first, int64_t all_columns);
  void write(int64_t rows, int64_t columns, int64_t first, int64_t all_columns, T* to) const;
  template <class Mask> void fail(Mask failed, int64_t pivot);
  Vector eliminate(int64_t j, int64_t columns);
};

} // namespace tl

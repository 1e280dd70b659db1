// Eigenvalues and singular values of batches of small matrices: as many matrices at a time as a vector has lanes, so
// that each lane computes with one of them. Lanes that are done wait for the others without being changed: what a
// matrix gives does not depend on the others.
#pragma once
#include "vm/linalg/blas/vector.h"
#include "vm/linalg/lapack.h"

namespace tl {

// `count` matrices, at most as many as lanes, are read from row-major batches and written; `work` has so many vectors
// as eigh_vectors or svd_vectors says. `info` gets a number for each: 0, or not if the eigenvalues were not found.
template <class T> struct SmallSpectra {
  int count;
  blas::Vector<T>* work;
  lapack::Int info[blas::kLanes<T>] = {};

  // Symmetric n×n: their lower triangles -> w n, ascending, and, unless v is null, eigenvectors as columns. A
  // tridiagonal form by reflections, then the implicit QL algorithm (Golub and Van Loan, Matrix Computations, 8.3).
  void eigh(int64_t n, const T* a, T* w, T* v);
  static int64_t eigh_vectors(int64_t n) { return 2 * n * n + 4 * n; }

  // m×n -> u m×p, s p, descending, vt p×n with p = min(m, n). Rotations of two columns until all are orthogonal
  // (Hestenes 1958). Bit i of what it gives: matrix i has a singular value that is so little that u or vt is not known;
  // nothing but s is written of it.
  uint32_t svd(int64_t m, int64_t n, const T* a, T* u, T* s, T* vt);
  void svd_values(int64_t m, int64_t n, const T* a, T* s);
  static int64_t svd_vectors(int64_t m, int64_t n) { return m * n + n * n + m * m + m + n; }

private:
  using Vector = blas::Vector<T>;
  struct Ql; // the state of the second step of eigh
  struct Columns;
  void reduce(int64_t n, Vector* a, Vector* d, Vector* e, Vector* tau, Vector* p);
  void orthogonalise(Columns& c);
};

} // namespace tl

// Triangular factors of row-major matrices, in place, by blocks: most of the work is products of matrices. Needs
// blas::use_scratch. Gives 0, or what LAPACK calls info: the first pivot (from 1) that is not positive, or 0.
#pragma once
#include "vm/linalg/blas/blas.h"
#include "vm/linalg/lapack.h"

namespace tl {

// The lower triangle of a (n×n) becomes l with l lᵀ = a; the other triangle is not touched.
template <class T> lapack::Int cholesky(blas::Size n, blas::View<T> a);

// a (m×n) becomes l (with ones on its diagonal) and u with l u = p a; row i was exchanged with row pivots[i], one after
// the other. `panel` has lu_panel(m) elements. A zero pivot does not end it.
template <class T> lapack::Int lu(blas::Size m, blas::Size n, blas::View<T> a, lapack::Int* pivots, T* panel);
constexpr blas::Size kLuPanel = 16;
constexpr blas::Size lu_panel(blas::Size m) { return m * kLuPanel; }

// The exchanges of `count` rows, one after the other, in n columns.
template <class T> void exchange_rows(blas::View<T> a, blas::Size n, const lapack::Int* pivots, blas::Size count);

} // namespace tl

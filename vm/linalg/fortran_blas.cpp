// The routines of BLAS on which LAPACK spends its time, under their names in Fortran: those of the reference BLAS,
// which supplies the others, take several times as long. Matrices are column-major.
#include "vm/linalg/blas/blas.h"
#include "vm/linalg/blas/vector.h"
#include "vm/linalg/lapack.h"
#include <algorithm>

namespace tl {
namespace {

using blas::Size, blas::View;
using lapack::Int;

bool is(const char* option, char letter) { return (*option & ~0x20) == letter; }

// Steps of -1 and below run from the end.
template <class T> T* first(T* x, Size n, Size step) { return step < 0 ? x - (n - 1) * step : x; }

template <class T> View<const T> operand(const char* trans, const T* a, Int lda) {
  return is(trans, 'N') ? View<const T>{a, 1, lda} : View<const T>{a, lda, 1};
}

// c = beta c; 0 overwrites what is no number.
template <class T> void scale(Size m, Size n, T beta, View<T> c) {
  if (beta == T(1)) return;
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < m; ++i)
      c(i, j) = beta == T(0) ? T(0) : beta * c(i, j);
}
// The same for a triangle of a square matrix.
template <class T> void scale_triangle(Size n, T beta, bool lower, View<T> c) {
  for (Size j = 0; j < n; ++j)
    scale<T>(lower ? n - j : j + 1, 1, beta, lower ? c.at(j, j) : c.at(0, j));
}

template <class T>
void gemm(const char* trans_a, const char* trans_b, Int m, Int n, Int k, T alpha, const T* a, Int lda, const T* b,
          Int ldb, T beta, T* c, Int ldc) {
  const View<T> to{c, 1, ldc};
  scale<T>(m, n, beta, to);
  if (alpha != T(0)) blas::gemm<T>(m, n, k, alpha, operand(trans_a, a, lda), operand(trans_b, b, ldb), to);
}

template <class T>
void syr2k(const char* uplo, const char* trans, Int n, Int k, T alpha, const T* a, Int lda, const T* b, Int ldb, T beta,
           T* c, Int ldc) {
  const bool lower = is(uplo, 'L');
  const View<T> to{c, 1, ldc};
  scale_triangle<T>(n, beta, lower, to);
  if (alpha == T(0)) return;
  const blas::Part part = lower ? blas::Part::Lower : blas::Part::Upper;
  const View<const T> left = operand(trans, a, lda), right = operand(trans, b, ldb);
  blas::gemm<T>(n, n, k, alpha, left, right.transposed(), to, part);
  blas::gemm<T>(n, n, k, alpha, right, left.transposed(), to, part);
}

template <class T>
void trmm(const char* side, const char* uplo, const char* trans, const char* diag, Int m, Int n, T alpha, const T* a,
          Int lda, T* b, Int ldb) {
  View<T> to{b, 1, ldb};
  scale<T>(m, n, alpha, to);
  if (alpha == T(0)) return;
  const bool right = is(side, 'R');
  const Size size = right ? n : m, count = right ? m : n;
  View<const T> triangle = operand(trans, a, lda);
  if (right) triangle = triangle.transposed(), to = to.transposed();
  const bool lower = is(uplo, 'L') == (is(trans, 'N') != right);
  if (!lower) triangle = triangle.reversed(size, size), to = to.rows_reversed(size);
  blas::multiply_lower<T>(size, count, triangle, is(diag, 'U'), to);
}

template <class T>
void gemv(const char* trans, Int m, Int n, T alpha, const T* a, Int lda, const T* x, Int x_step, T beta, T* y,
          Int y_step) {
  const Size rows = is(trans, 'N') ? m : n, columns = is(trans, 'N') ? n : m;
  y = first(y, rows, y_step);
  scale<T>(rows, 1, beta, {y, y_step, 1});
  if (alpha != T(0))
    blas::gemv<T>(rows, columns, alpha, operand(trans, a, lda), first(x, columns, x_step), x_step, y, y_step);
}

template <class T> void axpy(Size n, T alpha, const T* x, Size x_step, T* y, Size y_step) {
  Size i = 0;
  if (x_step == 1 && y_step == 1)
    for (; i + blas::kLanes<T> <= n; i += blas::kLanes<T>)
      blas::store(y + i, blas::fma(blas::load(x + i), blas::broadcast(alpha), blas::load(y + i)));
  for (; i < n; ++i)
    y[i * y_step] = std::fma(alpha, x[i * x_step], y[i * y_step]);
}

template <class T> void ger(Int m, Int n, T alpha, const T* x, Int x_step, const T* y, Int y_step, T* a, Int lda) {
  x = first(x, m, x_step), y = first(y, n, y_step);
  for (Size j = 0; j < n; ++j)
    axpy<T>(m, alpha * y[j * y_step], x, x_step, a + j * lda, 1);
}

template <class T> T dot(Int n, const T* x, Int x_step, const T* y, Int y_step) {
  T total = 0;
  x = first(x, n, x_step), y = first(y, n, y_step);
  if (y_step == 1)
    blas::gemv<T>(1, n, T(1), {y, n, 1}, x, x_step, &total, 1);
  else
    blas::gemv<T>(1, n, T(1), {x, n, x_step}, y, y_step, &total, 1);
  return total;
}

template <class T> void rot(Int n, T* x, Int x_step, T* y, Int y_step, T c, T s) {
  x = first(x, n, x_step), y = first(y, n, y_step);
  Size i = 0;
  if (x_step == 1 && y_step == 1)
    for (; i + blas::kLanes<T> <= n; i += blas::kLanes<T>) {
      const auto a = blas::load(x + i), b = blas::load(y + i);
      blas::store(x + i, c * a + s * b);
      blas::store(y + i, c * b - s * a);
    }
  for (; i < n; ++i) {
    const T a = x[i * x_step], b = y[i * y_step];
    x[i * x_step] = c * a + s * b;
    y[i * y_step] = c * b - s * a;
  }
}

constexpr int kColumns = 4; // of a symmetric matrix at a time

// y += a x and sums += aᵀ z, for `kColumns` columns of m elements.
template <class T> void both_products(Size m, const T* a, Size step, const T* x, const T* z, T* __restrict y, T* sums) {
  blas::Vector<T> totals[kColumns] = {};
  Size i = 0;
  for (; i + blas::kLanes<T> <= m; i += blas::kLanes<T>) {
    const auto at = blas::load(z + i);
    auto sum = blas::load(y + i);
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) {
      const auto column = blas::load(a + j * step + i);
      sum = blas::fma(column, blas::broadcast(x[j]), sum);
      totals[j] = blas::fma(column, at, totals[j]);
    }
    blas::store(y + i, sum);
  }
  for (int j = 0; j < kColumns; ++j) {
    sums[j] += blas::sum<T>(totals[j]);
    for (Size tail = i; tail < m; ++tail) {
      y[tail] = std::fma(a[j * step + tail], x[j], y[tail]);
      sums[j] = std::fma(a[j * step + tail], z[tail], sums[j]);
    }
  }
}

template <class T>
void symv(const char* uplo, Int n, T alpha, const T* a, Int lda, const T* x, Int x_step, T beta, T* y, Int y_step) {
  const bool lower = is(uplo, 'L');
  x = first(x, n, x_step), y = first(y, n, y_step);
  scale<T>(n, 1, beta, {y, y_step, 1});
  if (alpha == T(0)) return;
  for (Size j = 0; j < n; j += kColumns) {
    const Size count = std::min<Size>(kColumns, n - j);
    for (Size c = j; c < j + count; ++c) // the square on the diagonal
      for (Size r = j; r < j + count; ++r) {
        const T element = (r >= c) == lower ? a[r + c * lda] : a[c + r * lda];
        y[r * y_step] = std::fma(alpha * x[c * x_step], element, y[r * y_step]);
      }
    const Size begin = lower ? j + count : 0, end = lower ? n : j; // the rows beyond
    const T* columns = a + begin + j * lda;
    if (count == kColumns && x_step == 1 && y_step == 1) {
      T factors[kColumns], sums[kColumns] = {};
      for (int c = 0; c < kColumns; ++c)
        factors[c] = alpha * x[j + c];
      both_products<T>(end - begin, columns, lda, factors, x + begin, y + begin, sums);
      for (int c = 0; c < kColumns; ++c)
        y[j + c] = std::fma(alpha, sums[c], y[j + c]);
    } else {
      const View<const T> block{columns, 1, lda};
      blas::gemv<T>(end - begin, count, alpha, block, x + j * x_step, x_step, y + begin * y_step, y_step);
      blas::gemv<T>(count, end - begin, alpha, block.transposed(), x + begin * x_step, x_step, y + j * y_step, y_step);
    }
  }
}

} // namespace

#define TL_BLAS_ROUTINES(P, T)                                                                                         \
  extern "C" {                                                                                                         \
  void P##gemm_(const char* trans_a, const char* trans_b, const Int* m, const Int* n, const Int* k, const T* alpha,    \
                const T* a, const Int* lda, const T* b, const Int* ldb, const T* beta, T* c, const Int* ldc) {         \
    gemm<T>(trans_a, trans_b, *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);                                   \
  }                                                                                                                    \
  void P##syr2k_(const char* uplo, const char* trans, const Int* n, const Int* k, const T* alpha, const T* a,          \
                 const Int* lda, const T* b, const Int* ldb, const T* beta, T* c, const Int* ldc) {                    \
    syr2k<T>(uplo, trans, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);                                           \
  }                                                                                                                    \
  void P##trmm_(const char* side, const char* uplo, const char* trans, const char* diag, const Int* m, const Int* n,   \
                const T* alpha, const T* a, const Int* lda, T* b, const Int* ldb) {                                    \
    trmm<T>(side, uplo, trans, diag, *m, *n, *alpha, a, *lda, b, *ldb);                                                \
  }                                                                                                                    \
  void P##gemv_(const char* trans, const Int* m, const Int* n, const T* alpha, const T* a, const Int* lda, const T* x, \
                const Int* incx, const T* beta, T* y, const Int* incy) {                                               \
    gemv<T>(trans, *m, *n, *alpha, a, *lda, x, *incx, *beta, y, *incy);                                                \
  }                                                                                                                    \
  void P##symv_(const char* uplo, const Int* n, const T* alpha, const T* a, const Int* lda, const T* x,                \
                const Int* incx, const T* beta, T* y, const Int* incy) {                                               \
    symv<T>(uplo, *n, *alpha, a, *lda, x, *incx, *beta, y, *incy);                                                     \
  }                                                                                                                    \
  void P##ger_(const Int* m, const Int* n, const T* alpha, const T* x, const Int* incx, const T* y, const Int* incy,   \
               T* a, const Int* lda) {                                                                                 \
    ger<T>(*m, *n, *alpha, x, *incx, y, *incy, a, *lda);                                                               \
  }                                                                                                                    \
  T P##dot_(const Int* n, const T* x, const Int* incx, const T* y, const Int* incy) {                                  \
    return dot<T>(*n, x, *incx, y, *incy);                                                                             \
  }                                                                                                                    \
  void P##axpy_(const Int* n, const T* alpha, const T* x, const Int* incx, T* y, const Int* incy) {                    \
    axpy<T>(*n, *alpha, first(x, *n, *incx), *incx, first(y, *n, *incy), *incy);                                       \
  }                                                                                                                    \
  void P##scal_(const Int* n, const T* alpha, T* x, const Int* incx) {                                                 \
    for (Size i = 0; i < *n; ++i)                                                                                      \
      x[i * *incx] *= *alpha;                                                                                          \
  }                                                                                                                    \
  void P##rot_(const Int* n, T* x, const Int* incx, T* y, const Int* incy, const T* c, const T* s) {                   \
    rot<T>(*n, x, *incx, y, *incy, *c, *s);                                                                            \
  }                                                                                                                    \
  }

TL_BLAS_ROUTINES(s, float)
TL_BLAS_ROUTINES(d, double)
#undef TL_BLAS_ROUTINES

} // namespace tl

// The routines of LAPACK and BLAS that tl uses, by one name for both element types. See netlib.org/lapack/explore-html
// for their parameters. Matrices are column-major. The lengths of text arguments follow all others.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tl::lapack {

using Int = int32_t; // Fortran's INTEGER

#define TL_LAPACK_ROUTINES(P, T)                                                                                       \
  extern "C" {                                                                                                         \
  void P##potrf_(const char*, const Int* n, T* a, const Int* lda, Int* info, size_t);                                  \
  void P##getrf_(const Int* m, const Int* n, T* a, const Int* lda, Int* ipiv, Int* info);                              \
  void P##gesv_(const Int* n, const Int* nrhs, T* a, const Int* lda, Int* ipiv, T* b, const Int* ldb, Int* info);      \
  void P##trsm_(const char* side, const char* uplo, const char* trans, const char* diag, const Int* m, const Int* n,   \
                const T* alpha, const T* a, const Int* lda, T* b, const Int* ldb, size_t, size_t, size_t, size_t);     \
  void P##geqrf_(const Int* m, const Int* n, T* a, const Int* lda, T* tau, T* work, const Int* lwork, Int* info);      \
  void P##orgqr_(const Int* m, const Int* n, const Int* k, T* a, const Int* lda, const T* tau, T* work,                \
                 const Int* lwork, Int* info);                                                                         \
  void P##gesdd_(const char* jobz, const Int* m, const Int* n, T* a, const Int* lda, T* s, T* u, const Int* ldu,       \
                 T* vt, const Int* ldvt, T* work, const Int* lwork, Int* iwork, Int* info, size_t);                    \
  void P##syevd_(const char* jobz, const char* uplo, const Int* n, T* a, const Int* lda, T* w, T* work,                \
                 const Int* lwork, Int* iwork, const Int* liwork, Int* info, size_t, size_t);                          \
  }                                                                                                                    \
  inline Int potrf(char uplo, Int n, T* a, Int lda) {                                                                  \
    Int info = 0;                                                                                                      \
    P##potrf_(&uplo, &n, a, &lda, &info, 1);                                                                           \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline Int getrf(Int m, Int n, T* a, Int lda, Int* ipiv) {                                                           \
    Int info = 0;                                                                                                      \
    P##getrf_(&m, &n, a, &lda, ipiv, &info);                                                                           \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline Int gesv(Int n, Int nrhs, T* a, Int lda, Int* ipiv, T* b, Int ldb) {                                          \
    Int info = 0;                                                                                                      \
    P##gesv_(&n, &nrhs, a, &lda, ipiv, b, &ldb, &info);                                                                \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline void trsm(char side, char uplo, char trans, char diag, Int m, Int n, T alpha, const T* a, Int lda, T* b,      \
                   Int ldb) {                                                                                          \
    P##trsm_(&side, &uplo, &trans, &diag, &m, &n, &alpha, a, &lda, b, &ldb, 1, 1, 1, 1);                               \
  }                                                                                                                    \
  inline Int geqrf(Int m, Int n, T* a, Int lda, T* tau, T* work, Int lwork) {                                          \
    Int info = 0;                                                                                                      \
    P##geqrf_(&m, &n, a, &lda, tau, work, &lwork, &info);                                                              \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline Int orgqr(Int m, Int n, Int k, T* a, Int lda, const T* tau, T* work, Int lwork) {                             \
    Int info = 0;                                                                                                      \
    P##orgqr_(&m, &n, &k, a, &lda, tau, work, &lwork, &info);                                                          \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline Int gesdd(char jobz, Int m, Int n, T* a, Int lda, T* s, T* u, Int ldu, T* vt, Int ldvt, T* work, Int lwork,   \
                   Int* iwork) {                                                                                       \
    Int info = 0;                                                                                                      \
    P##gesdd_(&jobz, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, iwork, &info, 1);                           \
    return info;                                                                                                       \
  }                                                                                                                    \
  inline Int syevd(char jobz, char uplo, Int n, T* a, Int lda, T* w, T* work, Int lwork, Int* iwork, Int liwork) {     \
    Int info = 0;                                                                                                      \
    P##syevd_(&jobz, &uplo, &n, a, &lda, w, work, &lwork, iwork, &liwork, &info, 1, 1);                                \
    return info;                                                                                                       \
  }

TL_LAPACK_ROUTINES(s, float)
TL_LAPACK_ROUTINES(d, double)
#undef TL_LAPACK_ROUTINES

} // namespace tl::lapack

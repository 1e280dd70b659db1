// The routines of LAPACK and BLAS that tl uses, by one name for both element types. See netlib.org/lapack/explore-html
// for their parameters. Matrices are column-major. The lengths of text arguments follow all others.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tl::lapack {

using Int = int32_t; // Fortran's INTEGER

#define TL_LAPACK_ROUTINES(P, T)                                                                                       \
  extern "C" {                                                                                                         \
  void P##geqrf_(const Int* m, const Int* n, T* a, const Int* lda, T* tau, T* work, const Int* lwork, Int* info);      \
  void P##orgqr_(const Int* m, const Int* n, const Int* k, T* a, const Int* lda, const T* tau, T* work,                \
                 const Int* lwork, Int* info);                                                                         \
  void P##gesdd_(const char* jobz, const Int* m, const Int* n, T* a, const Int* lda, T* s, T* u, const Int* ldu,       \
                 T* vt, const Int* ldvt, T* work, const Int* lwork, Int* iwork, Int* info, size_t);                    \
  void P##syevd_(const char* jobz, const char* uplo, const Int* n, T* a, const Int* lda, T* w, T* work,                \
                 const Int* lwork, Int* iwork, const Int* liwork, Int* info, size_t, size_t);                          \
  void P##geev_(const char* jobvl, const char* jobvr, const Int* n, T* a, const Int* lda, T* wr, T* wi, T* vl,         \
                const Int* ldvl, T* vr, const Int* ldvr, T* work, const Int* lwork, Int* info, size_t, size_t);        \
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
  /* eigenvectors from the right only, or none where vr is null */                                                     \
  inline Int geev(Int n, T* a, Int lda, T* wr, T* wi, T* vr, Int ldvr, T* work, Int lwork) {                           \
    const char none = 'N', right = vr ? 'V' : 'N';                                                                     \
    const Int one = 1;                                                                                                 \
    Int info = 0;                                                                                                      \
    P##geev_(&none, &right, &n, a, &lda, wr, wi, nullptr, &one, vr, &ldvr, work, &lwork, &info, 1, 1);                 \
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

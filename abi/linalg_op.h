// Decompositions of matrices, and Fourier transforms of their columns. Their meaning is vm/linalg, for both engines.
#pragma once
#include <cstdint>
#include <iterator>
#include <string_view>

namespace tl {

// clang-format off
// TL_LINALG(Enum, name, operands, results)   operands: a is T[..s, m, n], b is T[..s, m, k]; all of them have the same
// leading axes, which the results have too
#define TL_LINALG_OPS(TL_LINALG)                                                                                       \
  TL_LINALG(Cholesky,        "cholesky",         1, 1) /* a n×n; its lower triangle alone is read -> l n×n */          \
  TL_LINALG(LuFactor,        "lu_factor",        1, 2) /* a m×n -> L and U in one m×n; pivots: i64[min(m, n)], from 0 */ \
  TL_LINALG(Solve,           "solve",            2, 1) /* a n×n, b n×k -> x n×k with a @ x = b */                      \
  TL_LINALG(SolveLower,      "solve_lower",      2, 1) /* the same where a is 0 above its diagonal, which is not read */ \
  TL_LINALG(SolveUpper,      "solve_upper",      2, 1) /* the same where a is 0 below its diagonal */                  \
  TL_LINALG(Qr,              "qr",               1, 2) /* a m×n -> q m×p, r p×n, p = min(m, n) */                      \
  TL_LINALG(Svd,             "svd",              1, 3) /* a m×n, finite -> u m×p, s p (descending), vt p×n */          \
  TL_LINALG(Eigh,            "eigh",             1, 2) /* a n×n, finite; its lower triangle -> w n (ascending), v n×n */ \
  TL_LINALG(EigParts,        "eig",              1, 3) /* a n×n, finite -> parts of w, n each; v n×n, as linalg.eig_parts */ \
  TL_LINALG(Fft,             "fft",              2, 2) /* a, b m×n: parts of columns -> those of their transforms */   \
  TL_LINALG(InverseFft,      "inverse_fft",      2, 2) /* the same with exp(+2 pi i …), without the factor 1 / m */    \
  TL_LINALG(RealFft,         "real_fft",         1, 2) /* a m×n, real -> the first m / 2 + 1 of each transform */      \
  TL_LINALG(RealFftTransposed, "real_fft_transposed", 2, 1) /* the transposed map: a, b (k / 2 + 1)×n -> k×n, real */ \
  TL_LINALG(SvdValues,       "svd_values",       1, 1) /* the s of Svd alone, but for the last digits */               \
  TL_LINALG(EighValues,      "eigh_values",      1, 1) /* the w of Eigh alone, but for the last digits */              \
  TL_LINALG(EigValues,       "eig_values",       1, 2) /* the parts of w of EigParts alone, but for the last digits */
// clang-format on

enum class LinalgOp : uint8_t {
#define TL_LINALG(Enum, ...) Enum,
  TL_LINALG_OPS(TL_LINALG)
#undef TL_LINALG
};

struct LinalgOpInfo {
  std::string_view name;
  int operands, results;
};
inline constexpr LinalgOpInfo kLinalgOps[] = {
#define TL_LINALG(Enum, name, operands, results) {name, operands, results},
    TL_LINALG_OPS(TL_LINALG)
#undef TL_LINALG
};
inline constexpr int kLinalgOpCount = static_cast<int>(std::size(kLinalgOps));
constexpr const LinalgOpInfo& info(LinalgOp op) { return kLinalgOps[static_cast<int>(op)]; }

// The sizes of one call: `batch` matrices a of m by n, b of m by k (0 where there is none; the rows of the result of
// RealFftTransposed).
struct LinalgSizes {
  int64_t batch = 0, m = 0, n = 0, k = 0;
};

} // namespace tl

// Discrete Fourier transforms of columns of complex numbers. Real and imaginary parts are arrays of their own:
//
//   to[k] = sum over j of from[j] * exp(-2 pi i j k / n), not normalised
//
// A length is split into two factors near its root; transforms of the columns of that matrix, a factor of twiddles and
// transforms of its rows give the whole (Bailey, "FFTs in external or hierarchical memory", 1990). Several columns at a
// time are the lanes of vectors, transformed in cache by Stockham's algorithm with radices 4, 2, 3, 5 and other primes.
// A length with a greater prime factor is a convolution (Bluestein, 1970). Transforms of real numbers, and the way
// back, take half of the work. What happens to a column depends on the sizes of the matrix alone, and no routine of the
// machine's libm takes part: the bits are the same everywhere.
#pragma once
#include <cstdint>

namespace tl {

template <class T> struct ComplexRow {
  T *re, *im;
};

// ToHalf: of real numbers, the first n / 2 + 1 numbers of the transform; from.im is not read. FromHalf: of n / 2 + 1
// numbers g the real parts of the sum of g[k] * exp(+2 pi i j k / n), n of them; to.im is not written. Each is the
// transposed map of the other.
enum class FourierKind : uint8_t { Complex, ToHalf, FromHalf };

// Transforms of length n of each column of matrices with `inner` columns.
struct FourierSizes {
  FourierKind kind;
  int64_t n, inner;
  int64_t from_lines() const { return kind == FourierKind::FromHalf ? n / 2 + 1 : n; }
  int64_t to_lines() const { return kind == FourierKind::ToHalf ? n / 2 + 1 : n; }
};

// Tiles of a matrix: so many columns each.
constexpr int64_t kFourierColumns = 16;

// Elements of T that transforms of these sizes need as `work`.
template <class T> int64_t fourier_work(const FourierSizes& sizes);
// At least as many, as `factor * n + constant`: fourier_work is not more.
constexpr int64_t kFourierWorkFactor = 40, kFourierWorkConstant = 131072;

// The tiles begin … end of dense matrices, which lie one after the other. `to` is not `from`.
template <class T>
void fourier(const FourierSizes& sizes, int64_t begin, int64_t end, ComplexRow<const T> from, ComplexRow<T> to,
             T* work);

} // namespace tl

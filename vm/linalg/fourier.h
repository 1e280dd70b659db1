// Discrete Fourier transforms of rows of complex numbers, whose real and imaginary parts are arrays of their own:
//
//   to[k] = sum over j of from[j] * exp(-2 pi i j k / n), not normalised
//
// A length is split into two factors near its root; transforms of the columns of that matrix, a factor of twiddles and
// transforms of its rows give the whole (Bailey, "FFTs in external or hierarchical memory", 1990). Several columns at a
// time are the lanes of vectors, transformed in cache by Stockham's algorithm with radices 4, 2, 3, 5 and other primes.
// A length with a greater prime factor is a convolution (Bluestein, 1970). What happens to a row depends on its length
// alone, and no routine of the machine's libm takes part: the bits are the same everywhere.
#pragma once
#include <cstdint>

namespace tl {

template <class T> struct ComplexRow {
  T *re, *im;
};

// Elements of T that transforms of this length need as `work`.
template <class T> int64_t fourier_work(int64_t n);
// At least as many, as `factor * n + constant`: fourier_work(n) is not more.
constexpr int64_t kFourierWorkFactor = 40, kFourierWorkConstant = 16384;

// The transforms of `count` rows of n elements, which lie one after the other. `to` is not `from`.
template <class T> void fourier_rows(int64_t n, int64_t count, ComplexRow<const T> from, ComplexRow<T> to, T* work);

} // namespace tl

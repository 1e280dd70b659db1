// What decompositions of small matrices need of vectors whose lanes have a matrix each.
#pragma once
#include "vm/linalg/blas/vector.h"
#include <limits>
#include <type_traits>

namespace tl::blas {

template <class T> using Word = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
template <class T> struct WordsOf {
  typedef Word<T> Type __attribute__((vector_size(32)));
};
template <class T> using Words = typename WordsOf<T>::Type; // also the masks that comparisons give

template <class T> Vector<T> size(Vector<T> v) { return v < T(0) ? -v : v; }
template <class T> Vector<T> greatest(Vector<T> a, Vector<T> b) { return a < b ? b : a; }

// What a matrix whose greatest element is about 1 may lose: the square of an element.
template <class T> constexpr T kTiny = sizeof(T) == 4 ? T(0x1p-100f) : T(0x1p-900);

// Matrices are multiplied by powers of two, so that their greatest elements are about 1, and results by the inverse.
template <class T> struct Scaling {
  Vector<T> down, up;
  explicit Scaling(Vector<T> most) {
    constexpr int mantissa = std::numeric_limits<T>::digits - 1;
    constexpr Word<T> bias = std::numeric_limits<T>::max_exponent - 1;
    const Words<T> zero{}, one = zero + (Word<T>(1) << mantissa), last = zero + ((2 * bias - 1) << mantissa);
    Words<T> exponent = (Words<T>)most & (zero + ((2 * bias + 1) << mantissa));
    exponent = exponent < one ? one : exponent;
    exponent = exponent > last ? last : exponent;
    up = (Vector<T>)exponent;
    down = (Vector<T>)((zero + (2 * bias << mantissa)) - exponent);
  }
};

// 1 - tau v vᵀ turns x, of n elements, into beta times the first unit vector. x becomes v, whose first element is 1.
template <class T> struct Reflection {
  Vector<T> beta, tau;
};
template <class T> Reflection<T> reflection(Vector<T>* x, int64_t n) {
  Vector<T> rest{};
  for (int64_t i = 1; i < n; ++i)
    rest = fma(x[i], x[i], rest);
  const Vector<T> alpha = x[0], square = fma(alpha, alpha, rest), one = broadcast(T(1));
  const auto none = (rest == T(0)) | (square < kTiny<T>);
  const Vector<T> root = square_root(square), beta = none ? alpha : alpha > T(0) ? -root : root;
  const Vector<T> factor = none ? Vector<T>{} : T(1) / (none ? one : alpha - beta);
  const Vector<T> tau = none ? Vector<T>{} : (beta - alpha) / (none ? one : beta);
  x[0] = one;
  for (int64_t i = 1; i < n; ++i)
    x[i] *= factor;
  return {beta, tau};
}

} // namespace tl::blas

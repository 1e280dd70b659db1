// Vectors of 32 bytes. A product that is added is rounded once (FMA) on every machine, so that results do not depend on
// how a loop was compiled.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__FMA__) && defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tl::blas {

template <class T> struct VectorOf {
  typedef T Type __attribute__((vector_size(32)));
};
template <class T> using Vector = typename VectorOf<T>::Type;
template <class T> constexpr int kLanes = 32 / sizeof(T);

template <class T> inline Vector<T> load(const T* from) {
  Vector<T> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T> inline void store(T* to, Vector<T> v) { std::memcpy(to, &v, sizeof v); }
template <class T> inline Vector<T> broadcast(T x) { return x - Vector<T>{}; } // -0.0 stays what it is

// fma: a * b + c, fnma: c - a * b
#if defined(__FMA__) && defined(__AVX2__)
inline Vector<double> fma(Vector<double> a, Vector<double> b, Vector<double> c) { return _mm256_fmadd_pd(a, b, c); }
inline Vector<float> fma(Vector<float> a, Vector<float> b, Vector<float> c) { return _mm256_fmadd_ps(a, b, c); }
inline Vector<double> fnma(Vector<double> a, Vector<double> b, Vector<double> c) { return _mm256_fnmadd_pd(a, b, c); }
inline Vector<float> fnma(Vector<float> a, Vector<float> b, Vector<float> c) { return _mm256_fnmadd_ps(a, b, c); }
inline Vector<double> square_root(Vector<double> v) { return _mm256_sqrt_pd(v); }
inline Vector<float> square_root(Vector<float> v) { return _mm256_sqrt_ps(v); }
// Whether a comparison holds in any lane.
template <class Mask> inline bool any(Mask mask) { return !_mm256_testz_si256((__m256i)mask, (__m256i)mask); }
#else
template <class V> inline V fma(V a, V b, V c) {
  for (size_t i = 0; i < sizeof(V) / sizeof a[0]; ++i)
    c[i] = std::fma(a[i], b[i], c[i]);
  return c;
}
template <class V> inline V fnma(V a, V b, V c) { return fma(-a, b, c); }
template <class V> inline V square_root(V v) {
  for (size_t i = 0; i < sizeof(V) / sizeof v[0]; ++i)
    v[i] = std::sqrt(v[i]);
  return v;
}
template <class Mask> inline bool any(Mask mask) {
  for (size_t i = 0; i < sizeof(Mask) / sizeof mask[0]; ++i)
    if (mask[i] != 0) return true;
  return false;
}
#endif

inline float fma(float a, float b, float c) { return std::fma(a, b, c); }
inline double fma(double a, double b, double c) { return std::fma(a, b, c); }
inline float fnma(float a, float b, float c) { return std::fma(-a, b, c); }
inline double fnma(double a, double b, double c) { return std::fma(-a, b, c); }

// The lanes in a fixed order.
template <class T> inline T sum(Vector<T> v) {
  T total[kLanes<T>];
  store(total, v);
  for (int half = kLanes<T> / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i)
      total[i] += total[i + half];
  return total[0];
}

} // namespace tl::blas

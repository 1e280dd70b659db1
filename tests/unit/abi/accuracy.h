// Measuring scalar functions against long double, in units in the last place: used by the tests, and by tl_accuracy,
// which writes docs/accuracy.md.
#pragma once
#include "abi/scalar_functions.h"
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace tl::accuracy {

using Real = long double;

struct Row {
  ScalarOp op;
  float (*f32)(float);
  double (*f64)(double);
  std::function<Real(Real)> exact;
  double wide_lo, wide_hi, wide_ulp; // a greater domain and its bound
};

inline Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }

#define BODY(Enum)                                                                                                     \
  ScalarOp::Enum, [](float x) { return body::Enum(math, x); }, [](double x) { return body::Enum(math, x); }

inline NativeMath math;

inline const std::vector<Row> kRows = {
    {BODY(Rsqrt), [](Real x) { return 1 / std::sqrt(x); }, 1e-37, 1e37, 2},
    {BODY(Exp), [](Real x) { return std::exp(x); }, -100, 100, 2},
    {BODY(Exp2), [](Real x) { return std::exp2(x); }, -148, 148, 2},
    {BODY(Expm1), [](Real x) { return std::expm1(x); }, -100, 88, 3},
    {BODY(Log), [](Real x) { return std::log(x); }, 1e-44, 1e38, 2},
    {BODY(Log2), [](Real x) { return std::log2(x); }, 1e-44, 1e38, 2},
    {BODY(Log1p), [](Real x) { return std::log1p(x); }, -0.9999999, 1e38, 3},
    {BODY(Sin), [](Real x) { return std::sin(x); }, -1e5, 1e5, 2},
    {BODY(Cos), [](Real x) { return std::cos(x); }, -1e5, 1e5, 2},
    {BODY(Tan), [](Real x) { return std::tan(x); }, -1e5, 1e5, 4},
    {BODY(Asin), [](Real x) { return std::asin(x); }, -1, 1, 3},
    {BODY(Acos), [](Real x) { return std::acos(x); }, -1, 1, 3},
    {BODY(Atan), [](Real x) { return std::atan(x); }, -1e38, 1e38, 3},
    {BODY(Sinh), [](Real x) { return std::sinh(x); }, -89.4, 89.4, 4},
    {BODY(Cosh), [](Real x) { return std::cosh(x); }, -89.4, 89.4, 4},
    {BODY(Tanh), [](Real x) { return std::tanh(x); }, -100, 100, 3},
    {BODY(Sigmoid), sigmoid, -103, 100, 4},
    {BODY(Erf), [](Real x) { return std::erf(x); }, -100, 100, 4},
};

// Distance in ulps of the exact value's binade (of the subnormals below the normal ones).
template <class T> double ulps(T got, Real exact) {
  if (std::isnan(got) || std::isinf(got))
    return std::isinf(got) && std::fabs(exact) >= std::numeric_limits<T>::max() ? 0 : INFINITY;
  int exponent = exact == 0 ? std::numeric_limits<T>::min_exponent : std::ilogb(exact) + 1;
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  return static_cast<double>(std::fabs(Real(got) - exact) /
                             std::ldexp(Real(1), exponent - std::numeric_limits<T>::digits));
}

struct Worst {
  double ulp = 0, at = 0;
  template <class T> void see(T x, T got, Real exact) {
    double u = ulps(got, exact);
    if (u > ulp) ulp = u, at = static_cast<double>(x);
  }
};

// Calls visit on floats of [lo, hi], in steps over their bit patterns, so that every binade has its share.
template <class F> void each_f32(double lo, double hi, uint32_t stride, F visit) {
  for (uint64_t bits = 0; bits < 0x7F800000; bits += stride)
    for (uint32_t sign : {0u, 0x80000000u}) {
      float x = std::bit_cast<float>(static_cast<uint32_t>(bits) | sign);
      if (x >= lo && x <= hi) visit(x);
    }
}

template <class F> void each_f64(double lo, double hi, int count, F visit) {
  std::mt19937_64 random(1);
  for (int i = 0; i < count; ++i) {
    double x = i % 2 ? std::uniform_real_distribution<double>(lo, hi)(random)
                     : std::bit_cast<double>(random()); // every binade; those outside are left out
    if (i % 2 == 0) {
      x = std::copysign(std::exp2(std::uniform_real_distribution<double>(-60, std::log2(std::fmax(-lo, hi)))(random)),
                        x);
    }
    if (x >= lo && x <= hi) visit(x);
  }
}

// ---- f16 and bf16: the f32 body, rounded once ----

struct Half {
  DType type;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);
  int digits, least_exponent; // of the significand; of the least normal number, as in numeric_limits
  double greatest;
};
inline constexpr Half kHalves[] = {{DType::F16, f16_to_float, float_to_f16, 11, -13, 65504},
                                   {DType::BF16, bf16_to_float, float_to_bf16, 8, -125, 0x1.FEp127}};

inline double ulps(const Half& half, float got, Real exact) {
  if (!std::isfinite(got)) return std::isinf(got) && std::fabs(exact) >= half.greatest ? 0 : INFINITY;
  int exponent = exact == 0 ? half.least_exponent : std::ilogb(exact) + 1;
  exponent = std::max(exponent, half.least_exponent);
  return static_cast<double>(std::fabs(Real(got) - exact) / std::ldexp(Real(1), exponent - half.digits));
}

// The worst of all values of the type at which the exact result is finite.
inline Worst worst_of_all(const Half& half, const Row& row) {
  Worst worst;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float x = half.widen(static_cast<uint16_t>(bits));
    if (!(x >= row.wide_lo && x <= row.wide_hi)) continue;
    float got = half.widen(half.narrow(row.f32(x)));
    double u = ulps(half, got, row.exact(x));
    if (u > worst.ulp) worst.ulp = u, worst.at = x;
  }
  return worst;
}

} // namespace tl::accuracy

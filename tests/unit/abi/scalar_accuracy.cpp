// Accuracy of the approximated scalar functions, in units in the last place, against the C++ library's long double:
// over the domain in the op table by its bound, outside it by a looser one. f32: exhaustive in strides; f64: random.
#include "vm/abi/scalar_functions.h"
#include <bit>
#include <cmath>
#include <doctest/doctest.h>
#include <functional>
#include <limits>
#include <random>
#include <vector>

using namespace tl;
using Real = long double;

namespace {

struct Row {
  ScalarOp op;
  float (*f32)(float);
  double (*f64)(double);
  std::function<Real(Real)> exact;
  double wide_lo, wide_hi, wide_ulp; // a greater domain and its bound
};

Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }

#define BODY(Enum)                                                                                                     \
  ScalarOp::Enum, [](float x) { return body::Enum(math, x); }, [](double x) { return body::Enum(math, x); }

NativeMath math;

const std::vector<Row> kRows = {
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

} // namespace

TEST_CASE("scalar functions of f32 keep the op table's accuracy") {
  for (const Row& row : kRows) {
    const auto& info = tl::info(row.op);
    Worst inside, outside;
    // The long double library is slow; a prime stride of some thousands takes half a million values of each function.
    each_f32(row.wide_lo, row.wide_hi, 4099, [&](float x) {
      Worst& worst = x >= info.lo && x <= info.hi ? inside : outside;
      worst.see(x, row.f32(x), row.exact(x));
    });
    each_f32(info.lo, info.hi, 8191, [&](float x) {
      // Domains like [-80, 80] hold few binades of interest: walk them linearly too.
      float y = static_cast<float>(info.lo + (info.hi - info.lo) *
                                                 (double(std::bit_cast<uint32_t>(x) & 0x7FFFFFFF) / 0x7F800000));
      inside.see(y, row.f32(y), row.exact(y));
    });
    INFO(info.name, " f32: inside ", inside.ulp, " ulp at ", inside.at, ", outside ", outside.ulp, " ulp at ",
         outside.at);
    CHECK(inside.ulp <= info.ulp);
    CHECK(outside.ulp <= row.wide_ulp);
  }
}

TEST_CASE("scalar functions of f64 keep the op table's accuracy") {
  for (const Row& row : kRows) {
    const auto& info = tl::info(row.op);
    Worst inside, outside;
    each_f64(info.lo, info.hi, 200000, [&](double x) { inside.see(x, row.f64(x), row.exact(x)); });
    each_f64(row.wide_lo, row.wide_hi, 200000, [&](double x) { outside.see(x, row.f64(x), row.exact(x)); });
    INFO(info.name, " f64: inside ", inside.ulp, " ulp at ", inside.at, ", outside ", outside.ulp, " ulp at ",
         outside.at);
    CHECK(inside.ulp <= info.ulp);
    CHECK(outside.ulp <= row.wide_ulp);
  }
}

namespace {

template <class T> void check_two_operands() {
  std::mt19937_64 random(2);
  Worst power, wide_power, angle;
  auto uniform = [&](double lo, double hi) {
    return static_cast<T>(std::uniform_real_distribution<double>(lo, hi)(random));
  };
  const auto &pow = info(ScalarOp::Pow), &atan2 = info(ScalarOp::Atan2);
  for (int i = 0; i < 400000; ++i) {
    T x = uniform(pow.lo, pow.hi), y = uniform(pow.lo, pow.hi);
    power.see(x, body::Pow(math, x, y), std::pow(Real(x), Real(y)));
    x = static_cast<T>(std::exp2(uniform(-120, 120)));
    y = uniform(-40, 40);
    Real exact = std::pow(Real(x), Real(y));
    if (exact < std::numeric_limits<T>::max()) wide_power.see(x, body::Pow(math, x, y), exact);
    x = uniform(atan2.lo, atan2.hi), y = uniform(atan2.lo, atan2.hi);
    angle.see(y, body::Atan2(math, y, x), std::atan2(Real(y), Real(x)));
  }
  INFO("pow ", power.ulp, ", wide ", wide_power.ulp, " at ", wide_power.at, "; atan2 ", angle.ulp);
  CHECK(power.ulp <= pow.ulp);
  CHECK(wide_power.ulp <= pow.ulp);
  CHECK(angle.ulp <= atan2.ulp);
}

} // namespace

TEST_CASE("pow and atan2 keep the op table's accuracy") {
  check_two_operands<float>();
  check_two_operands<double>();
}

TEST_CASE("sines of large arguments") {
  Worst f32, f64;
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; ++i) {
    double x = std::exp2(std::uniform_real_distribution<double>(10, 46.9)(random));
    float y = static_cast<float>(x);
    // x87's sine is good to 2^63 (glibc reduces exactly).
    f32.see(y, body::Sin(math, y), std::sin(Real(y)));
    f32.see(y, body::Cos(math, y), std::cos(Real(y)));
    f64.see(x, body::Sin(math, x), std::sin(Real(x)));
    f64.see(x, body::Cos(math, x), std::cos(Real(x)));
  }
  INFO("f32 ", f32.ulp, " at ", f32.at, ", f64 ", f64.ulp, " at ", f64.at);
  CHECK(f32.ulp <= 2);
  CHECK(f64.ulp <= 2);
  CHECK(std::isnan(body::Sin(math, 1e15)));
}

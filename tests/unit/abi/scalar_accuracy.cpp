// Accuracy of the approximated scalar functions, in units in the last place, against the C++ library's long double:
// over the domain in the op table by its bound, outside it by a looser one. f32: exhaustive in strides; f64: random;
// f16 and bf16: every value.
#include "accuracy.h"
#include <doctest/doctest.h>

using namespace tl;
using namespace tl::accuracy;

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

TEST_CASE("scalar functions of f16 and bf16 are rounded once") {
  for (const Half& half : kHalves)
    for (const Row& row : kRows) {
      Worst worst = worst_of_all(half, row);
      INFO(tl::info(row.op).name, " ", name_of(half.type), ": ", worst.ulp, " ulp at ", worst.at);
      CHECK(worst.ulp <= 0.51); // half an ulp, and f32's error beside it
    }
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

// Special values, integers, conversions and random words of the scalar functions, through eval_scalar and
// convert_scalar.
#include "abi/scalar_functions.h"
#include <bit>
#include <cmath>
#include <doctest/doctest.h>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

using namespace tl;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

template <class T> constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::F32;
  if constexpr (std::is_same_v<T, double>) return DType::F64;
  if constexpr (std::is_same_v<T, int8_t>) return DType::I8;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::U8;
  if constexpr (std::is_same_v<T, int16_t>) return DType::I16;
  if constexpr (std::is_same_v<T, uint16_t>) return DType::U16;
  if constexpr (std::is_same_v<T, int32_t>) return DType::I32;
  if constexpr (std::is_same_v<T, uint32_t>) return DType::U32;
  if constexpr (std::is_same_v<T, int64_t>) return DType::I64;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::U64;
  return DType::Bool;
}

template <class T, class... A> T eval(ScalarOp op, A... args) {
  std::vector<Scalar> slots{Scalar::of(static_cast<T>(args))...};
  return eval_scalar(op, dtype_of<T>(), slots).template as<T>();
}
template <class T, class... A> bool test(ScalarOp op, A... args) {
  std::vector<Scalar> slots{Scalar::of(static_cast<T>(args))...};
  return eval_scalar(op, dtype_of<T>(), slots).template as<bool>();
}

// Equal as values, zeros by sign; any NaN equals any NaN.
bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); }

struct Case {
  ScalarOp op;
  std::vector<double> args;
  double expected;
};

template <class T> void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    double got = c.args.size() == 1   ? eval<T>(c.op, c.args[0])
                 : c.args.size() == 2 ? eval<T>(c.op, c.args[0], c.args[1])
                                      : eval<T>(c.op, c.args[0], c.args[1], c.args[2]);
    INFO(info(c.op).name, " of ", c.args[0], ", ", c.args.back(), " gives ", got, ", expected ", c.expected);
    const T expected = static_cast<T>(c.expected);
    // An angle may be a unit off; everything else here is exact.
    const bool beside = c.op == ScalarOp::Atan2 && std::nextafter(expected, static_cast<T>(got)) == got;
    CHECK((same(got, expected) || (beside && expected != 0)));
  }
}

using Op = ScalarOp;
constexpr double half_pi = 1.5707963267948966, pi = 3.141592653589793;

const std::vector<Case> kSpecial = {
    {Op::Neg, {0}, -0.0},
    {Op::Abs, {-0.0}, 0},
    {Op::Abs, {-inf}, inf},
    {Op::Sign, {-0.0}, 0},
    {Op::Sign, {nan_value}, nan_value},
    {Op::Sign, {-inf}, -1},
    {Op::Round, {2.5}, 2},
    {Op::Round, {3.5}, 4},
    {Op::Round, {-0.5}, -0.0},
    {Op::Floor, {-0.5}, -1},
    {Op::Ceil, {-0.5}, -0.0},
    {Op::Trunc, {-1.5}, -1},
    {Op::Sqrt, {-1}, nan_value},
    {Op::Sqrt, {-0.0}, -0.0},
    {Op::Rsqrt, {0}, inf},
    {Op::Rsqrt, {inf}, 0},
    {Op::Exp, {0}, 1},
    {Op::Exp, {-inf}, 0},
    {Op::Exp, {inf}, inf},
    {Op::Exp, {nan_value}, nan_value},
    {Op::Exp, {1e30}, inf},
    {Op::Exp, {-1e30}, 0},
    {Op::Exp2, {-inf}, 0},
    {Op::Exp2, {inf}, inf},
    {Op::Exp2, {nan_value}, nan_value},
    {Op::Exp2, {10}, 1024},
    {Op::Exp2, {-140}, 0x1p-140},
    {Op::Expm1, {-0.0}, -0.0},
    {Op::Expm1, {-inf}, -1},
    {Op::Expm1, {inf}, inf},
    {Op::Expm1, {nan_value}, nan_value},
    {Op::Expm1, {1e-30}, 1e-30},
    {Op::Log, {0}, -inf},
    {Op::Log, {-0.0}, -inf},
    {Op::Log, {-1}, nan_value},
    {Op::Log, {1}, 0},
    {Op::Log, {inf}, inf},
    {Op::Log, {-inf}, nan_value},
    {Op::Log, {nan_value}, nan_value},
    {Op::Log2, {0x1p-130}, -130},
    {Op::Log2, {1024}, 10},
    {Op::Log2, {0}, -inf},
    {Op::Log1p, {-0.0}, -0.0},
    {Op::Log1p, {-1}, -inf},
    {Op::Log1p, {-2}, nan_value},
    {Op::Log1p, {inf}, inf},
    {Op::Log1p, {nan_value}, nan_value},
    {Op::Log1p, {1e-30}, 1e-30},
    {Op::Sin, {-0.0}, -0.0},
    {Op::Sin, {inf}, nan_value},
    {Op::Cos, {inf}, nan_value},
    {Op::Cos, {0}, 1},
    {Op::Tan, {-0.0}, -0.0},
    {Op::Tan, {nan_value}, nan_value},
    {Op::Asin, {-0.0}, -0.0},
    {Op::Asin, {1}, half_pi},
    {Op::Asin, {1.5}, nan_value},
    {Op::Acos, {1}, 0},
    {Op::Acos, {-1}, pi},
    {Op::Acos, {-1.5}, nan_value},
    {Op::Atan, {-0.0}, -0.0},
    {Op::Atan, {inf}, half_pi},
    {Op::Atan, {-inf}, -half_pi},
    {Op::Atan, {nan_value}, nan_value},
    {Op::Sinh, {-0.0}, -0.0},
    {Op::Sinh, {-inf}, -inf},
    {Op::Sinh, {nan_value}, nan_value},
    {Op::Cosh, {-inf}, inf},
    {Op::Cosh, {0}, 1},
    {Op::Tanh, {-0.0}, -0.0},
    {Op::Tanh, {inf}, 1},
    {Op::Tanh, {-inf}, -1},
    {Op::Tanh, {nan_value}, nan_value},
    {Op::Sigmoid, {inf}, 1},
    {Op::Sigmoid, {-inf}, 0},
    {Op::Sigmoid, {0}, 0.5},
    {Op::Sigmoid, {nan_value}, nan_value},
    {Op::Erf, {-0.0}, -0.0},
    {Op::Erf, {inf}, 1},
    {Op::Erf, {-inf}, -1},
    {Op::Erf, {nan_value}, nan_value},
    {Op::FloorDiv, {7, 2}, 3},
    {Op::FloorDiv, {-7, 2}, -4},
    {Op::FloorDiv, {1, 0}, inf},
    {Op::FloorDiv, {0, 0}, nan_value},
    {Op::FloorDiv, {-1e-30, 1}, -1},
    {Op::FloorDiv, {5, inf}, 0},
    {Op::FloorDiv, {-5, inf}, -1},
    {Op::FloorDiv, {-0.0, 3}, -0.0},
    {Op::FloorDiv, {inf, 2}, nan_value},
    {Op::FloorDiv, {-inf, 0}, -inf},
    {Op::Mod, {7, 3}, 1},
    {Op::Mod, {-7, 3}, 2},
    {Op::Mod, {7, -3}, -2},
    {Op::Mod, {6, -3}, -0.0},
    {Op::Mod, {-6, 3}, 0},
    {Op::Mod, {1, 0}, nan_value},
    {Op::Mod, {5, inf}, 5},
    {Op::Mod, {-5, inf}, inf},
    {Op::Mod, {inf, 5}, nan_value},
    {Op::Mod, {-1e-30, 1}, 1},
    {Op::Mod, {1e9, 7}, 6},
    {Op::Min, {1, nan_value}, nan_value},
    {Op::Min, {nan_value, 1}, nan_value},
    {Op::Max, {1, nan_value}, nan_value},
    {Op::Max, {nan_value, 1}, nan_value},
    {Op::Min, {-inf, 1}, -inf},
    {Op::Max, {3, 2}, 3},
    {Op::Clamp, {5, 0, 1}, 1},
    {Op::Clamp, {nan_value, 0, 1}, nan_value},
    {Op::Pow, {2, 3}, 8},
    {Op::Pow, {-2, 3}, -8},
    {Op::Pow, {-2, 2}, 4},
    {Op::Pow, {-2, 0.5}, nan_value},
    {Op::Pow, {0, 0}, 1},
    {Op::Pow, {nan_value, 0}, 1},
    {Op::Pow, {1, nan_value}, 1},
    {Op::Pow, {2, nan_value}, nan_value},
    {Op::Pow, {nan_value, 2}, nan_value},
    {Op::Pow, {0, -1}, inf},
    {Op::Pow, {-0.0, -1}, -inf},
    {Op::Pow, {-0.0, 2}, 0},
    {Op::Pow, {0, 2.5}, 0},
    {Op::Pow, {-1, inf}, 1},
    {Op::Pow, {-1, -inf}, 1},
    {Op::Pow, {2, inf}, inf},
    {Op::Pow, {2, -inf}, 0},
    {Op::Pow, {0.5, -inf}, inf},
    {Op::Pow, {inf, -1}, 0},
    {Op::Pow, {-inf, 3}, -inf},
    {Op::Pow, {-inf, 0.5}, inf},
    {Op::Atan2, {0, 0}, 0},
    {Op::Atan2, {0, -0.0}, pi},
    {Op::Atan2, {-0.0, -1}, -pi},
    {Op::Atan2, {1, 0}, half_pi},
    {Op::Atan2, {inf, inf}, pi / 4},
    {Op::Atan2, {inf, -inf}, 3 * pi / 4},
    {Op::Atan2, {-1, inf}, -0.0},
    {Op::Atan2, {nan_value, 0}, nan_value},
    {Op::Atan2, {0, nan_value}, nan_value},
};

} // namespace

TEST_CASE("special values of f32 and f64") {
  check<float>(kSpecial);
  check<double>(kSpecial);
  CHECK(test<float>(Op::IsNan, nan_value));
  CHECK(!test<float>(Op::IsNan, inf));
  CHECK(test<double>(Op::IsInf, -inf));
  CHECK(!test<double>(Op::IsFinite, nan_value));
  CHECK(test<float>(Op::Ne, nan_value, nan_value));
  CHECK(!test<float>(Op::Ge, nan_value, 1));
}

TEST_CASE("floor division and remainder of floats are those of the exact quotient") {
  NativeMath m;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-20, 20);
  for (int i = 0; i < 100000; ++i) {
    float x = static_cast<float>(std::ldexp(double(random() % (1 << 24)) - (1 << 23), int(random() % 40) - 20));
    float y = static_cast<float>(std::exp2(exponent(random))) * (i % 2 ? 1.0f : -1.0f);
    if (i % 3 == 0) x = y * float(random() % 1000); // near multiples
    if (i % 6 == 0) x = std::nextafter(x, i % 4 ? 1e30f : -1e30f);
    if (std::fabs(x / y) > 0x1p38f) continue;
    // C's remainder is exact, Python's moves it to the sign of the divisor.
    double rest = std::fmod(double(x), double(y));
    if (rest != 0 && (rest < 0) != (y < 0)) rest += y;
    INFO(x, " by ", y);
    REQUIRE(body::Mod(m, x, y) == static_cast<float>(rest));
    long double quotient = ((long double)x - std::fmod(double(x), double(y))) / y; // exact: 24 + 38 bits
    if (std::fmod(double(x), double(y)) != 0 && (x < 0) != (y < 0)) quotient -= 1;
    REQUIRE(body::FloorDiv(m, x, y) == static_cast<float>(quotient));
  }
}

namespace {

// Every pair of these, against arithmetic in 128 bits, wrapped.
template <class T> void check_integers() {
  using Wide = __int128;
  const T least = std::numeric_limits<T>::min(), greatest = std::numeric_limits<T>::max();
  const int width = 8 * sizeof(T);
  std::vector<T> values{0,
                        1,
                        2,
                        3,
                        5,
                        7,
                        8,
                        31,
                        63,
                        64,
                        100,
                        T(-1),
                        T(-2),
                        T(-3),
                        T(-7),
                        least,
                        T(least + 1),
                        greatest,
                        T(greatest - 1),
                        T(greatest / 3)};
  for (T x : values) {
    CHECK(eval<T>(Op::Neg, x) == T(-Wide(x)));
    CHECK(eval<T>(Op::Abs, x) == T(x < 0 ? -Wide(x) : Wide(x)));
    CHECK(eval<T>(Op::Sign, x) == T(x > 0 ? 1 : x < 0 ? -1 : 0));
    CHECK(eval<T>(Op::BitNot, x) == T(~x));
    for (T y : values) {
      INFO(name_of(dtype_of<T>()), ": ", +x, ", ", +y);
      CHECK(eval<T>(Op::Add, x, y) == T(Wide(x) + y));
      CHECK(eval<T>(Op::Sub, x, y) == T(Wide(x) - y));
      CHECK(eval<T>(Op::Mul, x, y) == T(Wide(uint64_t(x)) * uint64_t(y)));
      CHECK(eval<T>(Op::Min, x, y) == std::min(x, y));
      CHECK(eval<T>(Op::Max, x, y) == std::max(x, y));
      CHECK(eval<T>(Op::Clamp, T(5), x, y) == std::min(std::max(T(5), x), y));
      CHECK(eval<T>(Op::BitAnd, x, y) == T(x & y));
      CHECK(eval<T>(Op::BitOr, x, y) == T(x | y));
      CHECK(eval<T>(Op::BitXor, x, y) == T(x ^ y));
      CHECK(test<T>(Op::Lt, x, y) == (x < y));
      CHECK(test<T>(Op::Le, x, y) == (x <= y));
      CHECK(test<T>(Op::Gt, x, y) == (x > y));
      CHECK(test<T>(Op::Eq, x, y) == (x == y));

      Wide quotient = 0, rest = 0;
      if (y != 0) {
        quotient = Wide(x) / y, rest = Wide(x) % y;
        if (rest != 0 && (rest < 0) != (y < 0)) quotient -= 1, rest += y;
      }
      CHECK(eval<T>(Op::FloorDiv, x, y) == T(quotient));
      CHECK(eval<T>(Op::Mod, x, y) == T(rest));

      T power = 1, square = x;
      for (uint64_t e = static_cast<uint64_t>(y); e > 0; e /= 2) {
        if (e % 2) power = T(uint64_t(power) * uint64_t(square));
        square = T(uint64_t(square) * uint64_t(square));
      }
      CHECK(eval<T>(Op::Pow, x, y) == (y < 0 ? T(0) : power));

      const uint64_t count = y < 0 ? 0 : uint64_t(y);
      CHECK(eval<T>(Op::ShiftLeft, x, y) == (count >= uint64_t(width) ? T(0) : T(uint64_t(x) << count)));
      CHECK(eval<T>(Op::ShiftRight, x, y) == (count >= uint64_t(width) ? T(x < 0 ? -1 : 0) : T(x >> count)));
    }
  }
}

} // namespace

TEST_CASE("integers wrap, and division, powers and shifts are total") {
  check_integers<int8_t>();
  check_integers<uint8_t>();
  check_integers<int16_t>();
  check_integers<uint16_t>();
  check_integers<int32_t>();
  check_integers<uint32_t>();
  check_integers<int64_t>();
  check_integers<uint64_t>();
}

TEST_CASE("bools") {
  for (bool a : {false, true}) {
    CHECK(eval<bool>(Op::Not, a) == !a);
    for (bool b : {false, true}) {
      CHECK(eval<bool>(Op::And, a, b) == (a && b));
      CHECK(eval<bool>(Op::Or, a, b) == (a || b));
      CHECK(test<bool>(Op::Eq, a, b) == (a == b));
      CHECK(test<bool>(Op::Ne, a, b) == (a != b));
    }
  }
}

TEST_CASE("f16 and bf16 read and round exactly") {
  // Every f16: reading is exact by construction of the format; writing gives the bits back.
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    float value = f16_to_float(static_cast<uint16_t>(bits));
    if (exponent == 31 && mantissa != 0) {
      CHECK(std::isnan(value));
      CHECK(std::isnan(f16_to_float(float_to_f16(value))));
      CHECK(std::isnan(bf16_to_float(float_to_bf16(value))));
      continue;
    }
    double expected = exponent == 31  ? inf
                      : exponent == 0 ? std::ldexp(mantissa, -24)
                                      : std::ldexp(1024 + mantissa, exponent - 25);
    REQUIRE(value == static_cast<float>(bits & 0x8000 ? -expected : expected));
    REQUIRE(float_to_f16(value) == bits);
    // Between it and the next: nearest, ties to even.
    if ((bits & 0x7FFF) < 0x7BFF) {
      float next = f16_to_float(static_cast<uint16_t>(bits + 1)), middle = (value + next) / 2;
      REQUIRE(float_to_f16(middle) == (bits % 2 ? bits + 1 : bits));
      REQUIRE(float_to_f16(std::nextafter(middle, value)) == bits);
      REQUIRE(float_to_f16(std::nextafter(middle, next)) == bits + 1);
    }
  }
  CHECK(float_to_f16(65519.996f) == 0x7BFF);
  CHECK(float_to_f16(65520.0f) == 0x7C00);
  CHECK(float_to_f16(1e-30f) == 0);
  CHECK(float_to_f16(-1e-30f) == 0x8000);
  for (uint32_t bits = 0; bits < 0x7F80; ++bits) {
    float value = bf16_to_float(static_cast<uint16_t>(bits));
    REQUIRE(float_to_bf16(value) == bits);
    float middle = std::bit_cast<float>(bits << 16 | 0x8000);
    REQUIRE(float_to_bf16(middle) == (bits % 2 ? bits + 1 : bits));
    REQUIRE(float_to_bf16(std::nextafter(middle, 1e38f)) == (std::nextafter(middle, 1e38f) > middle ? bits + 1 : bits));
  }
  // Operations round once, from f32.
  Scalar one = Scalar::of(float_to_f16(1.0f)), tiny = Scalar::of(float_to_f16(0x1p-11f));
  Scalar sum = eval_scalar(Op::Add, DType::F16, std::vector<Scalar>{one, tiny});
  CHECK(sum == one);
  CHECK(eval_scalar(Op::Lt, DType::F16, std::vector<Scalar>{tiny, one}).as<bool>());
}

namespace {
template <class From, class To> To convert(From value) {
  return convert_scalar(dtype_of<From>(), dtype_of<To>(), Scalar::of(value)).template as<To>();
}
} // namespace

TEST_CASE("conversions truncate, saturate, wrap and round as the language says") {
  CHECK(convert<double, int32_t>(-1.9) == -1);
  CHECK(convert<double, int32_t>(1e20) == std::numeric_limits<int32_t>::max());
  CHECK(convert<double, int64_t>(9.3e18) == std::numeric_limits<int64_t>::max());
  CHECK(convert<float, int64_t>(-inf) == std::numeric_limits<int64_t>::min());
  CHECK(convert<float, uint64_t>(1.5e19f) == 15000000520515485696u);
  CHECK(convert<float, uint8_t>(-5) == 0);
  CHECK(convert<float, uint8_t>(255.9f) == 255);
  CHECK(convert<float, uint8_t>(256) == 255);
  CHECK(convert<float, int8_t>(-128.9f) == -128);
  CHECK(convert<double, int32_t>(nan_value) == 0);
  CHECK(convert<double, bool>(nan_value));
  CHECK(convert<double, bool>(0.5));
  CHECK(!convert<double, bool>(-0.0));
  CHECK(convert<bool, double>(true) == 1.0);
  CHECK(convert<int64_t, int8_t>(300) == 44);
  CHECK(convert<int8_t, uint64_t>(-1) == ~uint64_t(0));
  CHECK(convert<uint64_t, float>(~uint64_t(0)) == 0x1p64f);
  CHECK(convert<int64_t, double>((int64_t(1) << 53) + 1) == 0x1p53);
  CHECK(convert<int64_t, bool>(int64_t(1) << 40));
  CHECK(convert<double, float>(1e300) == static_cast<float>(inf));
  // From f64 at once: by way of the nearest f32 this would be a tie, and round to the even 1.
  auto narrow = [](DType to, double x) { return convert_scalar(DType::F64, to, Scalar::of(x)).as<uint16_t>(); };
  CHECK(narrow(DType::F16, 1 + 0x1p-11 + 0x1p-40) == 0x3C01);
  CHECK(narrow(DType::F16, 1 + 0x1p-11) == 0x3C00);
  CHECK(narrow(DType::F16, 1 + 0x1p-11 - 0x1p-40) == 0x3C00);
  CHECK(narrow(DType::F16, -1 - 0x1p-11 - 0x1p-40) == 0xBC01);
  CHECK(narrow(DType::BF16, 1 + 0x1p-8 + 0x1p-40) == 0x3F81);
  CHECK(narrow(DType::F16, 1e300) == 0x7C00);
  CHECK(std::isnan(f16_to_float(narrow(DType::F16, nan_value))));
  CHECK(convert_scalar(DType::F16, DType::I32, Scalar::of(float_to_f16(-2.5f))).as<int32_t>() == -2);
  CHECK(convert_scalar(DType::I32, DType::BF16, Scalar::of(int32_t((257 << 16) + 1))).as<uint16_t>() ==
        float_to_bf16(258 << 16)); // just past a tie that f32 cannot tell
  CHECK(convert_scalar(DType::I32, DType::BF16, Scalar::of(int32_t(257))).as<uint16_t>() == float_to_bf16(256));
}

TEST_CASE("Philox gives the published words") {
  // philox4x32 with 10 rounds, from kat_vectors of Random123 1.09.
  struct Known {
    uint32_t counter[4], key[2], words[4];
  };
  const Known known[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  NativeMath m;
  for (const Known& k : known) {
    auto [c0, c1, c2, c3] = k.counter;
    auto out = body::philox(m, body::PhiloxWords<uint32_t>{{c0, c1, c2, c3}}, k.key[0], k.key[1]);
    for (int i = 0; i < 4; ++i)
      CHECK(out.word[i] == k.words[i]);
  }
  auto word = [](uint64_t key, int64_t i) {
    return eval_scalar(Op::KeyBits, DType::Key, std::vector<Scalar>{Scalar::of(key), Scalar::of(i)}).as<int64_t>();
  };
  for (int i = 0; i < 4; ++i)
    CHECK(word(0, i) == known[0].words[i]);
  // The stream's counter is 64 bits wide, the key's low half comes first.
  auto far = body::philox(m, body::PhiloxWords<uint32_t>{{0x80000001, 1, 0, 0}}, 7u, 9u);
  CHECK(word((uint64_t(9) << 32) | 7, 4 * 0x180000001 + 2) == far.word[2]);
  // Derived keys differ from each other, from their parent and from the stream.
  auto fold = [](uint64_t key, int64_t i) {
    return eval_scalar(Op::KeyFold, DType::Key, std::vector<Scalar>{Scalar::of(key), Scalar::of(i)}).as<uint64_t>();
  };
  CHECK(fold(0, 0) != fold(0, 1));
  CHECK(fold(0, 0) != fold(1, 0));
  CHECK(uint32_t(fold(0, 0)) != known[0].words[0]);
}

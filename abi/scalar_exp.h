// Bodies of the exponential family: exp, expm1, the hyperbolic functions, sigmoid, erf.
//
// All of them reduce x = n ln 2 + r, |r| <= ln 2 / 2, with n rounded by adding 1.5 * 2^p (which leaves n in the low
// bits of the sum), r by two FMAs with the halves of ln 2 (the first is exact), and e^r by a polynomial. Coefficients
// here and in the other files are minimax (Remez's exchange in 72 digits), weighted for the relative error of the
// result, then rounded.
#pragma once
#include "abi/scalar_simple.h"

namespace tl::body {

// 1.5 * 2^p: adding it to |x| < 2^(p - 1) rounds x to a whole number, the low bits of the sum.
template <class M, class V> V rounding_magic(M& m, V like) {
  return m.constant(m.is_f64(like) ? 0x1.8p52 : 0x1.8p23, like);
}

// 2^n for the whole number n, given as as_int(n + rounding_magic); normal results only.
template <class M, class V> auto power_of_two(M& m, V like, V n_plus_magic) {
  const bool wide = m.is_f64(like);
  auto n = m.as_int(n_plus_magic);
  // magic's own low exponent bits vanish in the shift; its mantissa bit is shifted out too.
  auto biased = m.add(n, m.integer(wide ? 1023 : 127, n));
  return m.as_float(m.shift_left(biased, m.integer(wide ? 52 : 23, n)));
}

// x = n ln 2 + r.
template <class V> struct ExpParts {
  V n, n_plus_magic, r;
};
template <class M, class V> ExpParts<V> split_exp(M& m, V x) {
  const bool wide = m.is_f64(x);
  auto magic = rounding_magic(m, x);
  auto n_plus_magic = m.fma(x, m.constant(wide ? 0x1.71547652b82fep+0 : 0x1.715476p+0, x), magic);
  auto n = m.sub(n_plus_magic, magic);
  auto r = m.fma(n, m.constant(wide ? -0x1.62e42fefa39efp-1 : -0x1.62e43p-1, x), x);
  r = m.fma(n, m.constant(wide ? -0x1.abc9e3b39803fp-56 : 0x1.05c61p-29, x), r);
  return {n, n_plus_magic, r};
}

// e^r - 1 for |r| <= 0.3475. Relative to e^r: f32 2^-27.7, f64 2^-57.
template <class M, class V> V expm1_polynomial(M& m, V r) {
  auto p = m.is_f64(r)
               ? polynomial(m, r,
                            {0x1.000000000000cp-1, 0x1.5555555555561p-3, 0x1.555555554fe6cp-5, 0x1.111111110d4e0p-7,
                             0x1.6c16c1860cfb4p-10, 0x1.a01a01bb57bdep-13, 0x1.a019957875170p-16, 0x1.71dddec532938p-19,
                             0x1.28b1559b93b99p-22, 0x1.af87277bb2855p-26})
               : polynomial(m, r, {0x1.0p-1, 0x1.55548cp-3, 0x1.55545ap-5, 0x1.123cep-7, 0x1.6db6f6p-10});
  return m.fma(m.mul(r, r), p, r);
}

// p * 2^(n + shift) in two steps, so that subnormal results and overflow come out right; |n| up to twice the exponent
// range.
template <class M, class V> V scale(M& m, V p, V n_plus_magic, int shift) {
  const bool wide = m.is_f64(p);
  auto bits = m.as_int(n_plus_magic);
  const int bias = wide ? 1023 : 127;
  auto width = m.integer(wide ? 52 : 23, bits);
  // n + shift + 2 bias >= 0, without the exponent of magic.
  const int64_t magic_bits = wide ? 0x4338000000000000 : 0x4B400000;
  auto twice = m.add(bits, m.integer(shift + 2 * bias - magic_bits, bits));
  auto lower = m.shift_right_logical(twice, m.integer(1, bits));
  auto upper = m.sub(twice, lower);
  p = m.mul(p, m.as_float(m.shift_left(lower, width)));
  return m.mul(p, m.as_float(m.shift_left(upper, width)));
}

// p, or zero where x is below what gives the least result: that zero is not left to the products of `scale`, as some
// processors take a hundred times as long for a product that is subnormal.
template <class M, class V> V or_nothing(M& m, V p, V x, double least) {
  return m.select(m.lt(x, m.constant(least, x)), m.constant(0, x), p);
}

// e^x * 2^shift, any x, shift 0 or -1.
template <class M, class V> V exp_scaled(M& m, V x, int shift) {
  const bool wide = m.is_f64(x);
  const double least = wide ? -746 : -104;
  auto parts = split_exp(m, at_most(m, at_least(m, x, least), wide ? 711 : 90));
  auto p = or_nothing(m, m.add(expm1_polynomial(m, parts.r), m.constant(1, x)), x, least);
  return scale(m, p, parts.n_plus_magic, shift);
}

// e^x where the result is normal.
template <class M, class V> V exp_normal(M& m, V x) {
  auto parts = split_exp(m, x);
  auto s = power_of_two(m, x, parts.n_plus_magic);
  return m.fma(expm1_polynomial(m, parts.r), s, s);
}

// e^x - 1 for x from -30 (f64: -50) to just past overflow. With s = 2^(n - 1): 2 (s (e^r - 1) + (s - 1/2)).
template <class M, class V> V expm1_bounded(M& m, V x) {
  auto parts = split_exp(m, x);
  auto s = power_of_two(m, x, m.sub(parts.n_plus_magic, m.constant(1, x)));
  auto half = m.fma(expm1_polynomial(m, parts.r), s, m.sub(s, m.constant(0.5, x)));
  return m.add(half, half);
}

template <class M, class V> V Exp(M& m, V x) { return exp_scaled(m, x, 0); }

template <class M, class V> V Exp2(M& m, V x) {
  const bool wide = m.is_f64(x);
  const double least = wide ? -1080 : -152;
  auto bounded = at_most(m, at_least(m, x, least), wide ? 1025 : 130);
  auto magic = rounding_magic(m, x);
  auto n_plus_magic = m.add(bounded, magic);
  auto n = m.sub(n_plus_magic, magic);
  auto r = m.mul(m.sub(bounded, n), m.constant(wide ? 0x1.62e42fefa39efp-1 : 0x1.62e43p-1, x));
  auto p = or_nothing(m, m.add(expm1_polynomial(m, r), m.constant(1, x)), x, least);
  return scale(m, p, n_plus_magic, 0);
}

template <class M, class V> V Expm1(M& m, V x) {
  const bool wide = m.is_f64(x);
  auto bounded = at_most(m, at_least(m, x, wide ? -50 : -30), wide ? 709.9 : 88.8);
  return m.copysign(expm1_bounded(m, bounded), x);
}

// sinh: x + x^3 P(x^2) below 1; above, and cosh: E -+ 1 / (4 E) with E = e^|x| / 2, which overflows where the result
// does.
template <class M, class V> V Sinh(M& m, V x) {
  auto a = m.abs(x), z = m.mul(x, x);
  auto p = m.is_f64(x)
               ? polynomial(m, z,
                            {0x1.5555555555556p-3, 0x1.11111111110a1p-7, 0x1.a01a01a029200p-13, 0x1.71de3a45f6e3fp-19,
                             0x1.ae646766be1f6p-26, 0x1.611a3a0c2d68ep-33, 0x1.b4cf7eb07271ep-41})
               : polynomial(m, z, {0x1.555556p-3, 0x1.111136p-7, 0x1.9ffe12p-13, 0x1.7a2672p-19});
  auto small = m.fma(m.mul(a, z), p, a);
  auto e = exp_scaled(m, a, -1);
  auto large = m.sub(e, m.div(m.constant(0.25, x), e));
  return m.copysign(m.select(m.lt(a, m.constant(1, x)), small, large), x);
}

template <class M, class V> V Cosh(M& m, V x) {
  auto e = exp_scaled(m, m.abs(x), -1);
  return m.add(e, m.div(m.constant(0.25, x), e));
}

// With t = e^(2|x|) - 1: t / (t + 2), which is 1 from |x| = 10 (f64: 20) on.
template <class M, class V> V Tanh(M& m, V x) {
  auto a = at_most(m, m.abs(x), m.is_f64(x) ? 20 : 10);
  auto t = expm1_bounded(m, m.add(a, a));
  return m.copysign(m.div(t, m.add(t, m.constant(2, x))), x);
}

// With e = e^-|x|: 1 / (1 + e) for x >= 0, else e / (1 + e): nothing overflows.
template <class M, class V> V Sigmoid(M& m, V x) {
  auto one = m.constant(1, x);
  auto e = exp_scaled(m, m.neg(m.abs(x)), 0);
  return m.div(m.select(m.lt(x, m.constant(0, x)), e, one), m.add(one, e));
}

// |x| < 1: x + x P(x^2). Above: 1 - exp(-Q(|x|)), where Q = -log erfc is smooth; the result is 1 from 4 (f64: 6) on.
template <class M, class V> V Erf(M& m, V x) {
  const bool wide = m.is_f64(x);
  auto one = m.constant(1, x), a = m.abs(x), z = m.mul(x, x);
  auto b = at_most(m, a, wide ? 6 : 4);
  auto p =
      wide ? polynomial(m, z,
                        {0x1.06eba8214db68p-3, -0x1.812746b0379c2p-2, 0x1.ce2f21a041017p-4, -0x1.b82ce31206295p-6,
                         0x1.565bccfa9a438p-8, -0x1.c02db072ed591p-11, 0x1.f9a2bf738ef29p-14, -0x1.f4ca949662012p-17,
                         0x1.b9827b1932137p-20, -0x1.5c16e39f6580cp-23, 0x1.d7849a73873fep-27, -0x1.ace016065575bp-31})
           : polynomial(m, z,
                        {0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2d2p-4, -0x1.b7fbb4p-6, 0x1.5419f2p-8, -0x1.a485dp-11,
                         0x1.4ae484p-14});
  auto q =
      wide ? polynomial(m, b,
                        {0x1.f9170f930a021p-26,  0x1.20dd70863afdbp+0,   0x1.45f329c3b0e1cp-1,   0x1.a4f2c43103815p-4,
                         -0x1.3962cec8f11d7p-6,  -0x1.a9d155c295ac2p-13, 0x1.b74f80aa5ccbap-10,  -0x1.22048b33440e5p-11,
                         -0x1.6752a682df318p-16, 0x1.cf32bb4ca2353p-14,  -0x1.0eee7134e8bdap-14, 0x1.9648c07518c33p-16,
                         -0x1.c5f3dd2f1fc84p-18, 0x1.893795ec87039p-20,  -0x1.096dd1232f7ddp-22, 0x1.135aaf28cb4bdp-25,
                         -0x1.a915dcbbe3e9dp-29, 0x1.cc631096ae071p-33,  -0x1.3835767efd204p-37, 0x1.8eef6c99270bep-43})
           : polynomial(m, b,
                        {-0x1.8a5384p-13, 0x1.212c0cp+0, 0x1.44356ap-1, 0x1.bc1502p-4, -0x1.9d02d4p-6, 0x1.138c74p-8,
                         -0x1.cec51ap-12, 0x1.6bd6aap-16});
  auto small = m.fma(a, p, a);
  auto large = m.sub(one, exp_normal(m, m.neg(q)));
  return m.copysign(m.select(m.lt(a, one), small, large), x);
}

} // namespace tl::body

// Bodies of the trigonometric functions and their inverses.
//
// Sine, cosine and tangent reduce |x| = n pi/2 + r in f64 for both types, by FMAs with the parts of pi/2 (Cody, Waite:
// Software manual for the elementary functions, 1980): while n has at most 47 bits the first is exact. That keeps f32
// within 2 ulp for every |x| < 2^47 (1.4e14), and f64 too but for arguments closer to a multiple of pi/2 than 2^-54.
// Beyond 2^47, where the neighbours of an f32 are millions of periods apart, the result is NaN.
#pragma once
#include "abi/scalar_simple.h"

namespace tl::body {

template <class V, class I> struct Quadrant {
  V r;
  I n; // modulo 4
};

// r from f64 x >= 0 and n = round(x 2/pi), as n + 1.5 * 2^52.
template <class M, class V> V reduce_by_half_pi(M& m, V x, V n, bool three_parts) {
  auto r = m.fma(n, m.constant(-0x1.921fb54442d18p+0, x), x);
  r = m.fma(n, m.constant(-0x1.1a62633145c07p-54, x), r);
  return three_parts ? m.fma(n, m.constant(0x1.f1976b7ed8fbcp-110, x), r) : r;
}

template <class M, class V> auto quadrant(M& m, V a) {
  const bool wide = m.is_f64(a);
  auto x = m.to_f64(a);
  auto magic = m.constant(0x1.8p52, x);
  auto n_plus_magic = m.fma(x, m.constant(0x1.45f306dc9c883p-1, x), magic);
  auto reduced = reduce_by_half_pi(m, x, m.sub(n_plus_magic, magic), wide);
  reduced = m.select(m.lt(x, m.constant(0x1p47, x)), reduced, m.constant(kNaN, x));
  return Quadrant<decltype(x), decltype(m.as_int(n_plus_magic))>{reduced, m.as_int(n_plus_magic)};
}

// |r| <= 0.8. Relative: f32 2^-27.5, f64 2^-56.8.
template <class M, class V> V sin_polynomial(M& m, V r, V z) {
  auto p = m.is_f64(r) ? polynomial(m, z,
                                    {-0x1.5555555555546p-3, 0x1.111111110f38bp-7, -0x1.a01a019b6ef63p-13,
                                     0x1.71de34e750fe7p-19, -0x1.ae5df2ffd0167p-26, 0x1.5d7113ae552cbp-33})
                       : polynomial(m, z, {-0x1.555544p-3, 0x1.1106a4p-7, -0x1.990df4p-13});
  return m.fma(m.mul(r, z), p, r);
}
template <class M, class V> V cos_polynomial(M& m, V z) {
  auto p = m.is_f64(z) ? polynomial(m, z,
                                    {0x1.5555555555549p-5, -0x1.6c16c16c14c27p-10, 0x1.a01a019c2857bp-16,
                                     -0x1.27e4f7a43a53cp-22, 0x1.1ee9a55945cbbp-29, -0x1.8f8971c2891e0p-37})
                       : polynomial(m, z, {0x1.55554ap-5, -0x1.6c0bc6p-10, 0x1.99c84ep-16});
  return m.fma(z, m.fma(z, p, m.constant(-0.5, z)), m.constant(1, z));
}

// Sine and cosine of r, whether n is odd, and a bit (1 or 2) of n + turn as a sign bit of r's type.
template <class V, class B, class I> struct SinCos {
  V sin, cos;
  B odd;
  I sign;
};
template <class M, class R, class N> auto sin_cos_of(M& m, R r, N n, int turn, int bit) {
  const bool wide = m.is_f64(r);
  auto z = m.mul(r, r);
  auto one = m.integer(1, n);
  auto odd = m.ne(m.bit_and(n, one), m.integer(0, n));
  auto flag = m.bit_and(m.add(n, m.integer(turn, n)), m.integer(bit, n));
  auto sign = m.shift_left(flag, m.integer((wide ? 64 : 32) - (bit == 2 ? 2 : 1), n));
  return SinCos<R, decltype(odd), N>{sin_polynomial(m, r, z), cos_polynomial(m, z), odd, sign};
}

// value with the sign flipped where `sign` (a sign bit, or 0) says so.
template <class M, class V, class I> V flip_sign(M& m, V value, I sign) {
  return m.as_float(m.bit_xor(m.as_int(value), sign));
}
template <class M, class V> auto sign_bit(M& m, V x) {
  auto bits = m.as_int(x);
  const int64_t mask = m.is_f64(x) ? INT64_MIN : int64_t(INT32_MIN);
  return m.bit_and(bits, m.integer(mask, bits));
}

enum class Circular { Sin, Cos, Tan };

template <class M, class V, class R, class N> V circular(M& m, Circular function, V x, R r, N n) {
  auto parts = sin_cos_of(m, r, n, function == Circular::Cos ? 1 : 0, function == Circular::Tan ? 1 : 2);
  switch (function) {
  case Circular::Sin:
    return flip_sign(m, m.select(parts.odd, parts.cos, parts.sin), m.bit_xor(parts.sign, sign_bit(m, x)));
  case Circular::Cos: return flip_sign(m, m.select(parts.odd, parts.sin, parts.cos), parts.sign);
  case Circular::Tan: break;
  }
  auto quotient = m.div(m.select(parts.odd, parts.cos, parts.sin), m.select(parts.odd, parts.sin, parts.cos));
  return flip_sign(m, quotient, m.bit_xor(parts.sign, sign_bit(m, x)));
}

template <class M, class V> V circular(M& m, Circular function, V x) {
  auto reduced = quadrant(m, m.abs(x));
  return if_f64(
      m, x, [&](auto v) { return circular(m, function, v, reduced.r, reduced.n); },
      [&](auto v) { return circular(m, function, v, m.to_f32(reduced.r), m.to_i32(reduced.n)); });
}

template <class M, class V> V Sin(M& m, V x) { return circular(m, Circular::Sin, x); }
template <class M, class V> V Cos(M& m, V x) { return circular(m, Circular::Cos, x); }
template <class M, class V> V Tan(M& m, V x) { return circular(m, Circular::Tan, x); }

// pi/2 = high + low.
template <class M, class V> V half_pi_high(M& m, V like) {
  return m.constant(m.is_f64(like) ? 0x1.921fb54442d18p+0 : 0x1.921fb6p+0, like);
}
template <class M, class V> V half_pi_low(M& m, V like) {
  return m.constant(m.is_f64(like) ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25, like);
}

// asin(s) = s + tail for s <= 1/2 with s^2 = z; for |x| > 1/2, asin |x| = pi/2 - 2 asin(sqrt((1 - |x|) / 2)).
// Relative: f32 2^-27.4, f64 2^-55.8.
template <class V, class B> struct AsinParts {
  V s, tail;
  B big;
};
template <class M, class V> auto asin_parts(M& m, V x, V a) {
  auto half = m.constant(0.5, x);
  auto big = m.lt(half, a);
  auto z = m.select(big, m.mul(m.sub(m.constant(1, x), a), half), m.mul(a, a));
  auto s = m.select(big, m.sqrt(z), x);
  auto p = m.is_f64(x)
               ? polynomial(m, z,
                            {0x1.5555555555387p-3, 0x1.333333336f8acp-4, 0x1.6db6db41d2c42p-5, 0x1.f1c72c6d9582cp-6,
                             0x1.6e89ef749376bp-6, 0x1.1c6c27fce61e7p-6, 0x1.c6f87a12bd4f2p-7, 0x1.8ee4b7bb4d50dp-7,
                             0x1.aab34d7c65decp-8, 0x1.40b200b9aa4fep-6, -0x1.0af4d68bf1710p-6, 0x1.05ce4b84af871p-5})
               : polynomial(m, z, {0x1.5555cap-3, 0x1.33015p-4, 0x1.748c3ap-5, 0x1.8ba412p-6, 0x1.59d95p-5});
  return AsinParts<V, decltype(big)>{s, m.mul(m.mul(s, z), p), big};
}

template <class M, class V> V Asin(M& m, V x) {
  auto a = m.abs(x);
  auto parts = asin_parts(m, a, a);
  auto minus_two = m.constant(-2, x);
  auto large = m.add(m.fma(minus_two, parts.s, half_pi_high(m, x)), m.fma(minus_two, parts.tail, half_pi_low(m, x)));
  return m.copysign(m.select(parts.big, large, m.add(parts.s, parts.tail)), x);
}

template <class M, class V> V Acos(M& m, V x) {
  auto parts = asin_parts(m, x, m.abs(x));
  auto rest = m.sub(half_pi_high(m, x), m.sub(parts.s, m.sub(half_pi_low(m, x), parts.tail)));
  auto near_one = m.add(parts.s, parts.tail);
  auto big = m.select(m.lt(x, m.constant(0, x)), rest, near_one);
  return m.select(parts.big, m.add(big, big), rest);
}

// The angle in [0, pi/2] of the point (x, y) with x, y >= 0: of q = the smaller over the larger, q + q^3 P(q^2), or
// pi/2 less that. Relative: f32 2^-27.1, f64 2^-55.1. At equal coordinates, infinite ones too, q is 1, and 0 at the
// origin.
template <class M, class V> V first_quadrant_angle(M& m, V y, V x) {
  auto steep = m.lt(x, y);
  auto q = m.div(m.select(steep, x, y), m.select(steep, y, x));
  auto zero = m.constant(0, x), one = m.constant(1, x);
  q = m.select(m.eq(x, y), m.select(m.eq(x, zero), zero, one), q);
  auto z = m.mul(q, q);
  auto p =
      m.is_f64(x)
          ? polynomial(m, z,
                       {-0x1.555555555552ap-2, 0x1.9999999995ae6p-3,  -0x1.2492492392315p-3,  0x1.c71c7184260bdp-4,
                        -0x1.745d11fb194fdp-4, 0x1.3b136a16a1275p-4,  -0x1.110e6d8e5cbd1p-4,  0x1.e1bcf78468409p-5,
                        -0x1.ae644c68706f5p-5, 0x1.82eeac5f4a9efp-5,  -0x1.59d7ead77d36cp-5,  0x1.2c980c4f45b10p-5,
                        -0x1.eb4902276801cp-6, 0x1.69d84a48eb1dbp-6,  -0x1.ca973efb17cf1p-7,  0x1.dc03fabcec6e6p-8,
                        -0x1.7ea5eca4b5e4cp-9, 0x1.ba3c15e1a8db3p-11, -0x1.44a35855c8373p-13, 0x1.c4a229ddd68bdp-17})
          : polynomial(m, z,
                       {-0x1.55554p-2, 0x1.999276p-3, -0x1.2426f8p-3, 0x1.c0d27ep-4, -0x1.58dc66p-4, 0x1.dd0ebp-5,
                        -0x1.01af6ep-5, 0x1.6a8f6ep-7, -0x1.defe9cp-10});
  auto tail = m.mul(m.mul(q, z), p);
  auto complement = m.sub(half_pi_high(m, x), m.sub(q, m.sub(half_pi_low(m, x), tail)));
  return m.select(steep, complement, m.add(q, tail));
}

template <class M, class V> V Atan(M& m, V x) {
  return m.copysign(first_quadrant_angle(m, m.abs(x), m.constant(1, x)), x);
}

template <class M, class V> V Atan2(M& m, V y, V x) {
  auto angle = first_quadrant_angle(m, m.abs(y), m.abs(x));
  auto two = m.constant(2, x);
  auto beyond = m.fma(half_pi_high(m, x), two, m.sub(m.mul(half_pi_low(m, x), two), angle));
  auto left = m.lt(m.copysign(m.constant(1, x), x), m.constant(0, x)); // -0 counts as left
  return m.copysign(m.select(left, beyond, angle), y);
}

} // namespace tl::body

// Bodies of the logarithms and of pow.
//
// x = 2^e (1 + f) with 1 + f around 1, taken from the bits. f32: log(1 + f) = f + f^2 (f P(f) - 1/2). f64: with
// s = f / (2 + f), log(1 + f) = 2s + s^3 R(s^2) = f - f^2/2 + s (f^2/2 + s^2 R) (the form of FreeBSD's msun, e_log.c).
#pragma once
#include "abi/scalar_exp.h"

namespace tl::body {

template <class V, class I> struct LogParts {
  V e, f;
  I biased; // e + bias
};

// For positive, finite x. `tiny_too`: subnormal x as well.
template <class M, class V> auto split_log(M& m, V x, bool tiny_too) {
  const bool wide = m.is_f64(x);
  const int mantissa = wide ? 52 : 23, bias = wide ? 1023 : 127;
  const double two_p = wide ? 0x1p52 : 0x1p23;
  // 1 + f is in [pivot, 2 pivot): 2/3 makes f32's interval symmetric in f, the root of 1/2 makes f64's symmetric in s.
  const int64_t pivot = wide ? 0x3FE6A09E667F3BCD : 0x3F2AAAAB;
  auto offset = m.constant(two_p + bias, x);
  if (tiny_too) {
    auto tiny = m.lt(x, m.constant(wide ? 0x1p-1022 : 0x1p-126, x));
    x = m.select(tiny, m.mul(x, m.constant(two_p, x)), x);
    offset = m.select(tiny, m.constant(two_p + bias + mantissa, x), offset);
  }
  auto bits = m.as_int(x);
  auto moved = m.add(bits, m.integer((int64_t(bias) << mantissa) - pivot, bits));
  auto biased = m.shift_right_logical(moved, m.integer(mantissa, bits));
  // The bits of 2^p + biased, as a float.
  auto e = m.sub(m.as_float(m.add(biased, m.integer(wide ? 0x4330000000000000 : 0x4B000000, bits))), offset);
  auto fraction = m.bit_and(moved, m.integer((int64_t(1) << mantissa) - 1, bits));
  auto f = m.sub(m.as_float(m.add(fraction, m.integer(pivot, bits))), m.constant(1, x));
  return LogParts<V, decltype(bits)>{e, f, biased};
}

// log(1 + f) - f. Relative to f: f32 2^-27.4, f64 2^-58.
template <class M, class V> V log_tail(M& m, V f) {
  auto z = m.mul(f, f);
  if (m.is_f64(f)) {
    auto half = m.mul(z, m.constant(0.5, f));
    auto s = m.div(f, m.add(f, m.constant(2, f)));
    auto w = m.mul(s, s);
    auto r = polynomial(m, w,
                        {0x1.5555555555593p-1, 0x1.999999997fb2bp-2, 0x1.249249421833dp-2, 0x1.c71c51e76f2d1p-3,
                         0x1.7466464a09c48p-3, 0x1.39a0f1f517380p-3, 0x1.2f0dadcf64fd3p-3});
    return m.sub(m.mul(s, m.fma(w, r, half)), half);
  }
  auto p = polynomial(m, f,
                      {0x1.55550cp-2, -0x1.fffe5cp-3, 0x1.99ce6ep-3, -0x1.55b834p-3, 0x1.1eee64p-3, -0x1.f033aep-4,
                       0x1.1e04d4p-3, -0x1.0e3d48p-3});
  return m.mul(z, m.fma(f, p, m.constant(-0.5, f)));
}

// e ln 2 + log(1 + f).
template <class M, class V> V log_of_parts(M& m, V e, V f) {
  const bool wide = m.is_f64(f);
  auto low = m.fma(e, m.constant(wide ? 0x1.abc9e3b39803fp-56 : -0x1.05c61p-29, f), log_tail(m, f));
  return m.fma(e, m.constant(wide ? 0x1.62e42fefa39efp-1 : 0x1.62e43p-1, f), m.add(f, low));
}

// What a logarithm with this value gives at x <= zero, at infinity and at NaN, where zero is its pole.
template <class M, class V> V log_special(M& m, V x, double pole, V value) {
  auto p = m.constant(pole, x);
  value = m.select(m.lt(x, m.constant(kInfinity, x)), value, x);
  value = m.select(m.eq(x, p), m.constant(-kInfinity, x), value);
  return m.select(m.lt(x, p), m.constant(kNaN, x), value);
}

template <class M, class V> V Log(M& m, V x) {
  auto parts = split_log(m, x, true);
  return log_special(m, x, 0, log_of_parts(m, parts.e, parts.f));
}

// Exact at powers of two: there f = 0.
template <class M, class V> V Log2(M& m, V x) {
  const bool wide = m.is_f64(x);
  auto parts = split_log(m, x, true);
  auto high = m.constant(wide ? 0x1.71547652b82fep+0 : 0x1.715476p+0, x);
  auto low = m.constant(wide ? 0x1.777d0ffda0d24p-56 : 0x1.4ae0cp-26, x);
  auto tail = m.fma(log_tail(m, parts.f), high, m.mul(parts.f, low));
  return log_special(m, x, 0, m.add(parts.e, m.fma(parts.f, high, tail)));
}

// 1 + x = u + c, exactly. The logarithm of u, with c / 2^e added to f: so f is x itself where e = 0.
template <class M, class V> V Log1p(M& m, V x) {
  const bool wide = m.is_f64(x);
  auto one = m.constant(1, x), zero = m.constant(0, x);
  auto u = m.add(x, one);
  auto c = m.select(m.lt(x, one), m.sub(x, m.sub(u, one)), m.sub(one, m.sub(u, x)));
  auto parts = split_log(m, u, false);
  auto bits = m.shift_left(m.sub(m.integer(wide ? 2046 : 254, parts.biased), parts.biased),
                           m.integer(wide ? 52 : 23, parts.biased));
  auto inverse = m.select(m.lt(x, m.constant(0x1p60, x)), m.as_float(bits), zero); // 2^-e
  auto value = log_of_parts(m, parts.e, m.fma(c, inverse, parts.f));
  return log_special(m, x, -1, m.select(m.eq(x, zero), x, value));
}

// |x|^y in f32: the logarithm, relative to 2^-43, and its product in f64, so that 24 bits are left after a product of
// 150.
template <class M, class V> V pow_size_f32(M& m, V size, V exponent) {
  auto x = m.to_f64(size), y = m.to_f64(exponent); // subnormals of f32 are normal here
  auto parts = split_log(m, x, false);
  auto s = m.div(parts.f, m.add(parts.f, m.constant(2, x)));
  auto w = m.mul(s, s);
  auto r = polynomial(
      m, w,
      {0x1.555555561f2fep-1, 0x1.999996a684397p-2, 0x1.24941332cf291p-2, 0x1.c62aa16d46572p-3, 0x1.911c8599fa9b4p-3});
  auto log = m.fma(m.mul(s, w), r, m.add(s, s));
  log = m.fma(parts.e, m.constant(0x1.62e42fefa39efp-1, x), log);
  log = m.select(m.lt(x, m.constant(kInfinity, x)), log, x);
  log = m.select(m.eq(x, m.constant(0, x)), m.constant(-kInfinity, x), log);
  auto t = m.mul(log, y);
  auto split = split_exp(m, at_most(m, at_least(m, t, -105), 90));
  auto p = m.add(expm1_polynomial(m, m.to_f32(split.r)), m.constant(1, size));
  p = or_nothing(m, p, m.to_f32(t), -105);
  return scale(m, p, m.add(m.to_f32(split.n), rounding_magic(m, size)), 0);
}

// |x|^y in f64: logarithm and product as sums of two f64 (Dekker: A floating-point technique for extending the
// available precision, 1971), relative to about 2^-64.
template <class M, class V> V pow_size_f64(M& m, V x, V y) {
  auto parts = split_log(m, x, true);
  auto f = parts.f, two = m.constant(2, x);
  // s = f / (2 + f) = s + s_low
  auto b = m.add(f, two);
  auto b_low = m.sub(f, m.sub(b, two));
  auto inverse = m.div(m.constant(1, x), b);
  auto s = m.mul(f, inverse);
  auto s_low = m.mul(m.fma(m.neg(s), b_low, m.fma(m.neg(s), b, f)), inverse);
  // c = 2/3 s^3 = c + c_low
  auto z = m.mul(s, s);
  auto z_low = m.fma(s, s, m.neg(z));
  auto cube = m.mul(s, z);
  auto cube_low = m.add(m.fma(s, z, m.neg(cube)), m.fma(s, z_low, m.mul(m.mul(z, m.constant(3, x)), s_low)));
  auto two_thirds = m.constant(0x1.5555555555555p-1, x);
  auto c = m.mul(two_thirds, cube);
  auto c_low = m.fma(two_thirds, cube_low, m.fma(two_thirds, cube, m.neg(c)));
  c_low = m.fma(m.constant(0x1.5555555555555p-55, x), cube, c_low);
  // s^5 R(s^2), relative to s: 2^-64
  auto r = polynomial(m, z,
                      {0x1.9999999999b33p-2, 0x1.2492492457802p-2, 0x1.c71c722de3a75p-3, 0x1.745ce9b6b1e6fp-3,
                       0x1.3b1ef4637524bp-3, 0x1.0f7f208c712e3p-3, 0x1.0e4a30dcdbd6bp-3});
  auto rest = m.mul(m.mul(cube, z), r);
  // e ln 2 + 2s + c + rest; the short half of ln 2 has 40 bits, its product is exact. Each sum's terms descend.
  auto first = m.mul(parts.e, m.constant(0x1.62e42fefa4p-1, x)), second = m.add(s, s);
  auto sum = m.add(first, second);
  auto low = m.sub(second, m.sub(sum, first));
  auto total = m.add(sum, c);
  low = m.add(low, m.sub(c, m.sub(total, sum)));
  low =
      m.add(low, m.add(m.fma(parts.e, m.constant(-0x1.8432a1b0e2634p-43, x), m.add(s_low, s_low)), m.add(c_low, rest)));
  auto log = m.add(total, low);
  auto log_low = m.sub(low, m.sub(log, total));
  log = m.select(m.lt(x, m.constant(kInfinity, x)), log, x);
  log = m.select(m.eq(x, m.constant(0, x)), m.constant(-kInfinity, x), log);

  auto t = m.mul(log, y);
  auto t_low = m.fma(log, y, m.neg(t));
  t_low = m.fma(log_low, y, t_low);
  t_low = m.select(m.lt(m.abs(t), m.constant(800, x)), t_low, m.constant(0, x));
  auto split = split_exp(m, at_most(m, at_least(m, t, -750), 711));
  auto p = or_nothing(m, m.add(expm1_polynomial(m, m.add(split.r, t_low)), m.constant(1, x)), t, -750);
  return scale(m, p, split.n_plus_magic, 0);
}

// Special values as in C's pow: pow(x, 0) = pow(1, y) = 1 even for NaN.
template <class M, class V> V pow_float(M& m, V x, V y) {
  auto zero = m.constant(0, x), one = m.constant(1, x), infinity = m.constant(kInfinity, x);
  auto size = m.abs(x);
  V value =
      if_f64(m, y, [&](auto v) { return pow_size_f64(m, size, v); }, [&](auto v) { return pow_size_f32(m, size, v); });
  auto whole = m.eq(m.trunc(y), y);
  auto half = m.mul(y, m.constant(0.5, x));
  auto odd = m.bit_and(whole, m.ne(m.trunc(half), half));
  auto negative = m.lt(m.copysign(one, x), zero);
  value = m.select(m.bit_and(negative, odd), m.neg(value), value);
  auto no_root = m.bit_and(m.bit_and(m.lt(x, zero), m.lt(size, infinity)), m.bit_not(whole));
  // The root of a negative number; but y = NaN stays NaN either way.
  value = m.select(no_root, m.constant(kNaN, x), value);
  auto unit = m.bit_and(m.eq(size, one), m.eq(m.abs(y), infinity));
  return m.select(m.bit_or(m.bit_or(m.eq(y, zero), m.eq(x, one)), unit), one, value);
}

template <class M, class V> V Pow(M& m, V x, V y) {
  return m.if_float(x, [&](auto v) { return pow_float(m, v, y); }, [&](auto v) { return pow_int(m, v, y); });
}

} // namespace tl::body

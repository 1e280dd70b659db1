// Bodies that need no approximation: arithmetic, rounding, comparisons, bits, integers.
#pragma once
#include "abi/scalar_math.h"
#include <initializer_list>
#include <limits>

namespace tl::body {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// c[0] + c[1] x + c[2] x^2 + ...
template <class M, class V> V polynomial(M& m, V x, std::initializer_list<double> c) {
  auto term = c.end();
  V sum = m.constant(*--term, x);
  while (term != c.begin())
    sum = m.fma(sum, x, m.constant(*--term, x));
  return sum;
}

// x, or the bound that it passes; NaN stays.
template <class M, class V> V at_most(M& m, V x, double bound) {
  auto b = m.constant(bound, x);
  return m.select(m.lt(b, x), b, x);
}
template <class M, class V> V at_least(M& m, V x, double bound) {
  auto b = m.constant(bound, x);
  return m.select(m.lt(x, b), b, x);
}

// f(x) where x is F64, else g(x). Where C++ types tell, only one is compiled: the branches may give different types.
template <class M, class V, class F, class G> auto if_f64(M& m, V x, F f, G g) {
  if constexpr (std::is_same_v<V, double>)
    return f(x);
  else if constexpr (std::is_same_v<V, float>)
    return g(x);
  else
    return m.is_f64(x) ? f(x) : g(x);
}

template <class M, class V> V Neg(M& m, V x) { return m.neg(x); }

template <class M, class V> V Abs(M& m, V x) {
  return m.if_float(
      x, [&](auto v) { return m.abs(v); },
      [&](auto v) { return m.is_signed(v) ? m.select(m.lt(v, m.integer(0, v)), m.neg(v), v) : v; });
}

template <class M, class V> V Sign(M& m, V x) {
  return m.if_float(
      x,
      [&](auto v) {
        auto zero = m.constant(0, v);
        auto unit =
            m.select(m.lt(zero, v), m.constant(1, v), m.select(m.lt(v, zero), m.constant(-1, v), v)); // NaN stays
        return m.select(m.eq(v, zero), zero, unit);
      },
      [&](auto v) {
        auto zero = m.integer(0, v);
        auto positive = m.select(m.lt(zero, v), m.integer(1, v), zero);
        return m.is_signed(v) ? m.select(m.lt(v, zero), m.integer(-1, v), positive) : positive;
      });
}

template <class M, class V> V Floor(M& m, V x) { return m.floor(x); }
template <class M, class V> V Ceil(M& m, V x) { return m.ceil(x); }
template <class M, class V> V Round(M& m, V x) { return m.round_even(x); }
template <class M, class V> V Trunc(M& m, V x) { return m.trunc(x); }
template <class M, class V> V Sqrt(M& m, V x) { return m.sqrt(x); }
template <class M, class V> V Rsqrt(M& m, V x) { return m.div(m.constant(1, x), m.sqrt(x)); }

template <class M, class V> V Add(M& m, V x, V y) { return m.add(x, y); }
template <class M, class V> V Sub(M& m, V x, V y) { return m.sub(x, y); }
template <class M, class V> V Mul(M& m, V x, V y) { return m.mul(x, y); }
template <class M, class V> V Div(M& m, V x, V y) { return m.div(x, y); }

// Comparisons with NaN are false: a NaN in x stays, a NaN in y is chosen by the second select.
template <class M, class V> V Min(M& m, V x, V y) {
  auto least = m.select(m.lt(y, x), y, x);
  return m.if_float(y, [&](auto v) { return m.select(m.ne(v, v), v, least); }, [&](auto) { return least; });
}
template <class M, class V> V Max(M& m, V x, V y) {
  auto greatest = m.select(m.lt(x, y), y, x);
  return m.if_float(y, [&](auto v) { return m.select(m.ne(v, v), v, greatest); }, [&](auto) { return greatest; });
}
template <class M, class V> V Clamp(M& m, V x, V lo, V hi) { return Min(m, Max(m, x, lo), hi); }

template <class M, class V> auto IsNan(M& m, V x) { return m.ne(x, x); }
template <class M, class V> auto IsInf(M& m, V x) { return m.eq(m.abs(x), m.constant(kInfinity, x)); }
template <class M, class V> auto IsFinite(M& m, V x) { return m.lt(m.abs(x), m.constant(kInfinity, x)); }

template <class M, class V> auto Eq(M& m, V x, V y) { return m.eq(x, y); }
template <class M, class V> auto Ne(M& m, V x, V y) { return m.ne(x, y); }
template <class M, class V> auto Lt(M& m, V x, V y) { return m.lt(x, y); }
template <class M, class V> auto Le(M& m, V x, V y) { return m.le(x, y); }
template <class M, class V> auto Gt(M& m, V x, V y) { return m.lt(y, x); }
template <class M, class V> auto Ge(M& m, V x, V y) { return m.le(y, x); }
template <class M, class B, class V> V Where(M& m, B c, V x, V y) { return m.select(c, x, y); }

template <class M, class V> V Not(M& m, V x) { return m.bit_not(x); }
template <class M, class V> V And(M& m, V x, V y) { return m.bit_and(x, y); }
template <class M, class V> V Or(M& m, V x, V y) { return m.bit_or(x, y); }
template <class M, class V> V BitNot(M& m, V x) { return m.bit_not(x); }
template <class M, class V> V BitAnd(M& m, V x, V y) { return m.bit_and(x, y); }
template <class M, class V> V BitOr(M& m, V x, V y) { return m.bit_or(x, y); }
template <class M, class V> V BitXor(M& m, V x, V y) { return m.bit_xor(x, y); }

template <class M, class V> V not_negative(M& m, V x) {
  return m.is_signed(x) ? m.select(m.lt(x, m.integer(0, x)), m.integer(0, x), x) : x;
}

template <class M, class V> V ShiftLeft(M& m, V x, V y) {
  auto zero = m.integer(0, x);
  auto count = not_negative(m, y);
  auto in_range = m.lt(count, m.integer(m.width(x), x));
  return m.select(in_range, m.shift_left(x, m.select(in_range, count, zero)), zero);
}

template <class M, class V> V ShiftRight(M& m, V x, V y) {
  auto zero = m.integer(0, x);
  auto count = not_negative(m, y);
  auto in_range = m.lt(count, m.integer(m.width(x), x));
  // Past the width every bit is the sign: as many shifts as the last count gives that too.
  if (m.is_signed(x)) return m.shift_right_arithmetic(x, m.select(in_range, count, m.integer(m.width(x) - 1, x)));
  return m.select(in_range, m.shift_right_logical(x, m.select(in_range, count, zero)), zero);
}

// The f32 from which rounding to f16 or bf16 gives what rounding the f64 x directly would: x rounded to odd, that is
// toward zero with the last bit set where that is inexact (Boldo, Melquiond: Emulation of a FMA and correctly rounded
// sums: proved algorithms using rounding to odd, 2008). Conversions from f64 to f16 and bf16 go through it, those from
// integers through the nearest f64 and then it.
template <class M, class V> auto f64_to_odd_f32(M& m, V x) {
  auto nearest = m.to_f32(x);
  auto back = m.to_f64(nearest);
  auto bits = m.as_int(nearest);
  auto one = m.integer(1, bits);
  auto inward = m.select(m.lt(m.abs(x), m.abs(back)), m.sub(bits, one), bits);
  return m.as_float(m.select(m.ne(back, x), m.bit_or(inward, one), bits));
}

// Floor of the exact quotient, and the remainder, of floats. For q = x / y rounded to nearest, or its floor, x - q*y is
// exact in one FMA (Boldo, Daumas: Representable correcting terms for possibly underflowing floating point operations,
// 2003); a second round takes what a quotient beyond the precision left. Exact while |x / y| < 2^(2p - 2) (f32: 2^46);
// beyond, the remainder is 0. A remainder has the sign of y, also when it is 0. By zero: x / y, and NaN for the
// remainder; by anything else NaN for both if x is infinite. All as in NumPy.
template <class V> struct QuotientRest {
  V quotient, rest;
};
template <class M, class V> QuotientRest<V> floor_divide(M& m, V x, V y) {
  auto zero = m.constant(0, x), one = m.constant(1, x), infinity = m.constant(kInfinity, x);
  auto signs_differ = [&](V a, V b) {
    return m.bit_or(m.bit_and(m.lt(a, zero), m.lt(zero, b)), m.bit_and(m.lt(zero, a), m.lt(b, zero)));
  };
  auto negative = m.neg(y), size = m.abs(y), plain = m.div(x, y);
  auto q1 = m.floor(plain);
  auto r1 = m.fma(q1, negative, x);
  auto q2 = m.floor(m.div(r1, y));
  auto r2 = m.fma(q2, negative, r1);
  // Rounding may have put the floor one too high (the rest has the other sign) or too low (the rest reaches y).
  auto high = signs_differ(r2, y);
  auto low = m.bit_and(m.bit_not(high), m.le(size, m.abs(r2)));
  auto quotient = m.add(q1, m.select(high, m.sub(q2, one), m.select(low, m.add(q2, one), q2)));
  auto rest = m.select(high, m.add(r2, y), m.select(low, m.sub(r2, y), r2));
  auto overflow = m.bit_and(m.eq(m.abs(plain), infinity), m.bit_and(m.lt(m.abs(x), infinity), m.lt(zero, size)));
  rest = m.select(m.bit_or(overflow, m.le(size, m.abs(rest))), zero, rest);
  // |x| < |y|, with y perhaps infinite: the quotient is 0 or -1.
  auto small = m.lt(m.abs(x), size), differ = signs_differ(x, y);
  rest = m.select(small, m.select(differ, m.add(x, y), x), rest);
  quotient = m.select(small, m.select(differ, m.neg(one), m.mul(plain, zero)), quotient);
  // Overflow, division by zero and NaN: what the division says.
  quotient = m.select(m.lt(m.abs(plain), infinity), quotient, plain);
  auto parts_of_infinity = m.bit_and(m.eq(m.abs(x), infinity), m.lt(zero, size));
  quotient = m.select(parts_of_infinity, m.constant(kNaN, x), quotient);
  return {quotient, m.copysign(rest, y)};
}

template <class M, class V> V FloorDiv(M& m, V x, V y) {
  return m.if_float(
      x, [&](auto v) { return floor_divide(m, v, y).quotient; }, [&](auto v) { return m.floor_div_int(v, y); });
}
template <class M, class V> V Mod(M& m, V x, V y) {
  return m.if_float(x, [&](auto v) { return floor_divide(m, v, y).rest; }, [&](auto v) { return m.mod_int(v, y); });
}

// Powers of integers, wrapping; a negative exponent gives 0 (the language puts a check beside it). Square and multiply
// over the exponent's low bits: the odd numbers modulo 2^w repeat after 2^(w-2) steps, and even ones are 0 from the
// exponent w on.
template <class M, class V> V pow_int(M& m, V x, V y) {
  auto zero = m.integer(0, x), one = m.integer(1, x);
  auto result = one, square = x, exponent = y;
  const int steps = m.width(x) - 2;
  for (int i = 0; i < steps; ++i) {
    auto odd = m.ne(m.bit_and(exponent, one), zero);
    result = m.select(odd, m.mul(result, square), result);
    if (i + 1 == steps) break;
    square = m.mul(square, square);
    exponent = m.shift_right_logical(exponent, one);
  }
  auto even = m.eq(m.bit_and(x, one), zero);
  auto vanishes = m.bit_and(even, m.le(m.integer(m.width(x), x), y));
  if (m.is_signed(x)) vanishes = m.bit_or(vanishes, m.lt(y, zero));
  return m.select(vanishes, zero, result);
}

// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011), checked against
// the known answers published with Random123.
template <class W> struct PhiloxWords {
  W word[4];
};
template <class M, class W> PhiloxWords<W> philox(M& m, PhiloxWords<W> counter, W key0, W key1) {
  auto [c0, c1, c2, c3] = counter.word;
  auto multiplier0 = m.integer(0xD2511F53, c0), multiplier1 = m.integer(0xCD9E8D57, c0);
  auto weyl0 = m.integer(0x9E3779B9, c0), weyl1 = m.integer(0xBB67AE85, c0);
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      key0 = m.add(key0, weyl0);
      key1 = m.add(key1, weyl1);
    }
    auto high0 = m.mul_hi_u32(multiplier0, c0), low0 = m.mul(multiplier0, c0);
    auto high1 = m.mul_hi_u32(multiplier1, c2), low1 = m.mul(multiplier1, c2);
    c0 = m.bit_xor(m.bit_xor(high1, c1), key0);
    c1 = low1;
    c2 = m.bit_xor(m.bit_xor(high0, c3), key1);
    c3 = low0;
  }
  return {{c0, c1, c2, c3}};
}

// The two halves of a 64-bit value.
template <class M, class V> auto low_half(M& m, V x) { return m.to_u32(x); }
template <class M, class V> auto high_half(M& m, V x) { return m.to_u32(m.shift_right_logical(x, m.integer(32, x))); }

// Word i of a key's stream: lane i % 4 of the block with counter (i / 4, 0).
template <class M, class K, class I> auto KeyBits(M& m, K key, I i) {
  auto k = m.to_u64(key), n = m.to_u64(i);
  auto block = m.shift_right_logical(n, m.integer(2, n));
  auto lane = m.bit_and(low_half(m, n), m.integer(3, low_half(m, n)));
  auto none = m.integer(0, lane);
  auto words = philox(m, PhiloxWords<decltype(lane)>{{low_half(m, block), high_half(m, block), none, none}},
                      low_half(m, k), high_half(m, k));
  auto is = [&](int number) { return m.eq(lane, m.integer(number, lane)); };
  auto upper = m.select(is(2), words.word[2], words.word[3]);
  return m.to_i64(m.select(is(0), words.word[0], m.select(is(1), words.word[1], upper)));
}

// A derived key: the first two words of the block (i, 0, tag). The tag keeps it apart from the words of the stream,
// whose last counter word is 0.
constexpr int64_t kFoldTag = 0x666F6C64; // "fold"
template <class M, class K, class I> K KeyFold(M& m, K key, I i) {
  auto k = m.to_u64(key), n = m.to_u64(i);
  auto none = m.integer(0, low_half(m, n));
  auto tag = m.integer(kFoldTag, none);
  auto words = philox(m, PhiloxWords<decltype(none)>{{low_half(m, n), high_half(m, n), none, tag}}, low_half(m, k),
                      high_half(m, k));
  auto high = m.to_u64(words.word[1]);
  return m.bit_or(m.to_u64(words.word[0]), m.shift_left(high, m.integer(32, high)));
}

} // namespace tl::body

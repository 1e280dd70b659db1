// What the scalar bodies (abi/scalar_functions.h) compute with: a `Math` policy. A body is a template
//   template <class M, class V> V Exp(M& m, V x);
// and speaks only to m. Two policies exist:
//   NativeMath (below)  values are C++ numbers; m.f(x) computes. For the interpreter, folding and host scalars.
//   the Kernel IR builder (backend/kernel)  every value is one type (a value id), its element type is known to m while
//   the
//                       body runs; m.f(x) appends one KOp. So the element type is dynamic there: bodies ask m.
//
// The contract of a policy; each row is one KOp, or a constant:
//   is_f64(x) is_signed(x) width(x)      of x's element type: F64? (else F32), a signed integer?, bits (bool: 1)
//   if_float(x, f, g)                    f(x) where x is a float, else g(x); both take `auto` (only one need compile)
//   constant(double, like)               Const, rounded to nearest in like's float type
//   integer(int64_t, like)               Const of like's integer type, wrapped
//   add sub mul neg                      ints wrap
//   div fma sqrt abs floor ceil round_even trunc copysign(magnitude, sign)         floats (abs: floats only)
//   floor_div_int mod_int                ints; by zero 0, least // -1 wraps
//   bit_and bit_or bit_xor bit_not       ints, and bools (logical)
//   shift_left shift_right_logical shift_right_arithmetic (x, count)               one type, 0 <= count < width
//   eq ne lt le                          one type -> bool; ordered on floats but for ne (NaN: true)
//   select(bool, a, b)                   a and b of one type
//   mul_hi_u32(a, b)                     u32: the high half of the product
//   as_int(x) as_float(i)                Bitcast F32 <-> I32, F64 <-> I64
//   to_f32 to_f64                        Convert from a float
//   to_i32 to_u32 to_i64 to_u64          Convert from an integer (wraps or extends by the signedness of the operand)
// A random key is a u64 here, in and out. f16 and bf16 come as f32; the caller rounds the result once.
//
// Bodies have no branch on data (only select), call no library, and fuse only where they say fma: so they vectorise and
// give the same bits everywhere.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tl {

struct NativeMath {
  template <class V> static constexpr bool is_f64(V) { return std::is_same_v<V, double>; }
  template <class V> static constexpr bool is_signed(V) { return std::is_signed_v<V>; }
  template <class V> static constexpr int width(V) { return std::is_same_v<V, bool> ? 1 : 8 * int(sizeof(V)); }
  template <class V, class F, class G> static auto if_float(V x, F f, G g) {
    if constexpr (std::is_floating_point_v<V>)
      return f(x);
    else
      return g(x);
  }

  template <class V> static V constant(double value, V) { return static_cast<V>(value); }
  template <class V> static V integer(int64_t value, V) { return static_cast<V>(value); }

  // Integers go through uint64_t: wrapping, and free of the promotion of narrow types to int.
  template <class V> static V add(V a, V b) {
    if constexpr (std::is_floating_point_v<V>)
      return a + b;
    else
      return static_cast<V>(uint64_t(a) + uint64_t(b));
  }
  template <class V> static V sub(V a, V b) {
    if constexpr (std::is_floating_point_v<V>)
      return a - b;
    else
      return static_cast<V>(uint64_t(a) - uint64_t(b));
  }
  template <class V> static V mul(V a, V b) {
    if constexpr (std::is_floating_point_v<V>)
      return a * b;
    else
      return static_cast<V>(uint64_t(a) * uint64_t(b));
  }
  template <class V> static V neg(V a) {
    if constexpr (std::is_floating_point_v<V>)
      return -a;
    else
      return static_cast<V>(0 - uint64_t(a));
  }

  template <class V> static V div(V a, V b) { return a / b; }
  template <class V> static V fma(V a, V b, V c) { return std::fma(a, b, c); }
  template <class V> static V sqrt(V a) { return std::sqrt(a); }
  template <class V> static V abs(V a) { return std::fabs(a); }
  template <class V> static V floor(V a) { return std::floor(a); }
  template <class V> static V ceil(V a) { return std::ceil(a); }
  template <class V> static V round_even(V a) { return std::nearbyint(a); }
  template <class V> static V trunc(V a) { return std::trunc(a); }
  template <class V> static V copysign(V magnitude, V sign) { return std::copysign(magnitude, sign); }

  template <class V> static V floor_div_int(V a, V b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<V>) {
      if (b == V(-1)) return neg(a);
      V quotient = static_cast<V>(a / b);
      return static_cast<V>(quotient - (a % b != 0 && (a < 0) != (b < 0)));
    } else {
      return static_cast<V>(a / b);
    }
  }
  template <class V> static V mod_int(V a, V b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<V>) {
      if (b == V(-1)) return 0;
      V rest = static_cast<V>(a % b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<V>(rest + b) : rest;
    } else {
      return static_cast<V>(a % b);
    }
  }

  template <class V> static V bit_and(V a, V b) { return static_cast<V>(a & b); }
  template <class V> static V bit_or(V a, V b) { return static_cast<V>(a | b); }
  template <class V> static V bit_xor(V a, V b) { return static_cast<V>(a ^ b); }
  template <class V> static V bit_not(V a) {
    if constexpr (std::is_same_v<V, bool>)
      return !a;
    else
      return static_cast<V>(~uint64_t(a));
  }
  template <class V> static V shift_left(V a, V count) { return static_cast<V>(uint64_t(a) << count); }
  template <class V> static V shift_right_logical(V a, V count) {
    return static_cast<V>(static_cast<std::make_unsigned_t<V>>(a) >> count);
  }
  template <class V> static V shift_right_arithmetic(V a, V count) {
    return static_cast<V>(static_cast<std::make_signed_t<V>>(a) >> count);
  }

  template <class V> static bool eq(V a, V b) { return a == b; }
  template <class V> static bool ne(V a, V b) { return a != b; }
  template <class V> static bool lt(V a, V b) { return a < b; }
  template <class V> static bool le(V a, V b) { return a <= b; }
  template <class V> static V select(bool c, V a, V b) { return c ? a : b; }

  static uint32_t mul_hi_u32(uint32_t a, uint32_t b) { return static_cast<uint32_t>((uint64_t(a) * b) >> 32); }

  template <class V> static auto as_int(V x) { return bits<std::conditional_t<sizeof(V) == 8, int64_t, int32_t>>(x); }
  template <class V> static auto as_float(V x) { return bits<std::conditional_t<sizeof(V) == 8, double, float>>(x); }
  template <class V> static float to_f32(V x) { return static_cast<float>(x); }
  template <class V> static double to_f64(V x) { return static_cast<double>(x); }
  template <class V> static int32_t to_i32(V x) { return static_cast<int32_t>(x); }
  template <class V> static uint32_t to_u32(V x) { return static_cast<uint32_t>(x); }
  template <class V> static int64_t to_i64(V x) { return static_cast<int64_t>(x); }
  template <class V> static uint64_t to_u64(V x) { return static_cast<uint64_t>(x); }

private:
  template <class To, class From> static To bits(From x) {
    static_assert(sizeof(To) == sizeof(From));
    To y;
    std::memcpy(&y, &x, sizeof y);
    return y;
  }
};

} // namespace tl

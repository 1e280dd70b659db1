// Bounds of numbers that may be far from an i64; for the sources of size.h.
#pragma once
#include "lang/size.h"
#include <algorithm>

namespace tl {

using Wide = __int128;
constexpr Wide kInfinite = Wide{1} << 120; // a bound of this is none; finite ones stay well below

inline Wide saturated(Wide x) { return std::clamp(x, -kInfinite, kInfinite); }
inline Wide add_wide(Wide a, Wide b) { return saturated(a + b); } // of two of which none is +infinite beside -infinite
inline Wide mul_wide(Wide a, Wide b) {
  Wide r = 0;
  if (a == 0 || b == 0) return 0;
  if (__builtin_mul_overflow(a, b, &r)) return (a < 0) == (b < 0) ? kInfinite : -kInfinite;
  return saturated(r);
}
inline Wide floor_wide(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

struct SizeAtoms::Interval {
  Wide lo = -kInfinite, hi = kInfinite;

  static Interval of(Wide value) { return {value, value}; }
  bool is_i64() const { return lo >= INT64_MIN && hi <= INT64_MAX; }
  Interval operator+(const Interval& o) const {
    return {lo == -kInfinite || o.lo == -kInfinite ? -kInfinite : add_wide(lo, o.lo),
            hi == kInfinite || o.hi == kInfinite ? kInfinite : add_wide(hi, o.hi)};
  }
  Interval operator*(const Interval& o) const {
    const Wide all[] = {mul_wide(lo, o.lo), mul_wide(lo, o.hi), mul_wide(hi, o.lo), mul_wide(hi, o.hi)};
    return {*std::min_element(all, all + 4), *std::max_element(all, all + 4)};
  }
  Interval both(const Interval& o) const { return {std::max(lo, o.lo), std::min(hi, o.hi)}; }
  Interval either(const Interval& o) const { return {std::min(lo, o.lo), std::max(hi, o.hi)}; }
};

} // namespace tl

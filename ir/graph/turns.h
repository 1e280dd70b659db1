// How often a loop over a range runs. All of i64 may be bounds and step; more turns than an i64 counts are INT64_MAX:
// nobody sees their end.
#pragma once
#include "abi/scalar_op.h"
#include <algorithm>
#include <cstdint>
#include <optional>

namespace tl::ir {

// From `lo` to `hi`, which is not among them. The step is not 0.
inline int64_t turns(int64_t lo, int64_t hi, int64_t step) {
  const __int128 distance = step > 0 ? __int128(hi) - lo : __int128(lo) - hi;
  if (distance <= 0) return 0;
  const __int128 by = step > 0 ? __int128(step) : -__int128(step);
  return static_cast<int64_t>(std::min<__int128>((distance - 1) / by + 1, INT64_MAX));
}

// The same as operations on values: `emit(op, {values})` gives their result, `i64(n)` a constant. What is known of the
// bounds makes it shorter.
template <class Value, class Emit, class Constant>
Value turns(const Emit& emit, const Constant& i64, const Value& lo, const Value& hi, const Value& step,
            std::optional<int64_t> known_lo, std::optional<int64_t> known_step) {
  using Op = ScalarOp;
  const Value zero = i64(0), one = i64(1);
  const bool fits = known_lo && *known_lo >= 0; // the distance, in an i64
  if (known_step == 1 || (fits && known_step && *known_step > 0)) {
    const Value end = emit(Op::Max, {hi, lo});
    const Value span = known_lo == 0 ? end : emit(Op::Sub, {end, lo});
    if (known_step == 1) return fits ? span : emit(Op::Where, {emit(Op::Lt, {span, zero}), i64(INT64_MAX), span});
    const Value rest = emit(Op::FloorDiv, {emit(Op::Sub, {span, one}), step});
    return emit(Op::Where, {emit(Op::Gt, {span, zero}), emit(Op::Add, {rest, one}), zero});
  }
  // Of the numbers lo, lo + step, … up to `end`: floor((end - lo) / step) and one more, without the difference. A
  // remainder has the sign of the step.
  const Value up = emit(Op::Gt, {step, zero});
  const Value some = emit(Op::Where, {up, emit(Op::Lt, {lo, hi}), emit(Op::Gt, {lo, hi})});
  const Value end = emit(Op::Where, {up, emit(Op::Sub, {hi, one}), emit(Op::Add, {hi, one})});
  const Value whole = emit(Op::Sub, {emit(Op::FloorDiv, {end, step}), emit(Op::FloorDiv, {lo, step})});
  const Value over = emit(Op::Mod, {end, step}), before = emit(Op::Mod, {lo, step});
  const Value short_of = emit(Op::Where, {up, emit(Op::Lt, {over, before}), emit(Op::Gt, {over, before})});
  const Value count = emit(Op::Add, {whole, emit(Op::Where, {short_of, zero, one})});
  const Value wide = emit(Op::Lt, {count, zero}); // steps of 1, -1, 2, -2
  return emit(Op::Where, {some, emit(Op::Where, {wide, i64(INT64_MAX), count}), zero});
}

} // namespace tl::ir

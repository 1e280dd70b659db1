#include "backend/kernel/scalar.h"
#include "abi/scalar_functions.h"
#include <limits>
#include <stdexcept>

namespace tl::kir {
namespace {

// The Math policy (abi/scalar_math.h) whose values are instructions.
struct KernelMath {
  Builder& b;
  using V = ValueId;

  bool is_f64(V x) const { return b.type(x) == DType::F64; }
  bool is_signed(V x) const { return is_int(b.type(x)) && !is_unsigned(b.type(x)); }
  int width(V x) const { return b.type(x) == DType::Bool ? 1 : 8 * size_of(b.type(x)); }
  template <class F, class G> V if_float(V x, F f, G g) { return is_float(b.type(x)) ? f(x) : g(x); }

  V constant(double value, V like) {
    DType type = b.type(like);
    return b.constant(type, type == DType::F64 ? Scalar::of(value) : Scalar::of(static_cast<float>(value)));
  }
  V integer(int64_t value, V like) {
    DType type = b.type(like);
    Scalar imm;
    std::memcpy(&imm.bits, &value, static_cast<size_t>(size_of(type)));
    return b.constant(type, imm);
  }

  V same(KOp op, std::vector<V> operands) {
    DType type = b.type(operands[0]);
    return b.pure(op, type, std::move(operands));
  }
  V compare(KOp op, V x, V y) { return b.pure(op, DType::Bool, {x, y}); }
  V to(DType type, V x) { return b.pure(KOp::Convert, type, {x}); }

  V add(V x, V y) { return same(KOp::Add, {x, y}); }
  V sub(V x, V y) { return same(KOp::Sub, {x, y}); }
  V mul(V x, V y) { return same(KOp::Mul, {x, y}); }
  V neg(V x) { return same(KOp::Neg, {x}); }
  V div(V x, V y) { return same(KOp::Div, {x, y}); }
  V fma(V x, V y, V z) { return same(KOp::Fma, {x, y, z}); }
  V sqrt(V x) { return same(KOp::Sqrt, {x}); }
  V abs(V x) { return same(KOp::Abs, {x}); }
  V floor(V x) { return same(KOp::Floor, {x}); }
  V ceil(V x) { return same(KOp::Ceil, {x}); }
  V round_even(V x) { return same(KOp::RoundEven, {x}); }
  V trunc(V x) { return same(KOp::Trunc, {x}); }
  V copysign(V magnitude, V sign) { return same(KOp::CopySign, {magnitude, sign}); }
  V floor_div_int(V x, V y) { return same(KOp::FloorDivInt, {x, y}); }
  V mod_int(V x, V y) { return same(KOp::ModInt, {x, y}); }
  V bit_and(V x, V y) { return same(KOp::And, {x, y}); }
  V bit_or(V x, V y) { return same(KOp::Or, {x, y}); }
  V bit_xor(V x, V y) { return same(KOp::Xor, {x, y}); }
  V bit_not(V x) { return same(KOp::Not, {x}); }
  V shift_left(V x, V count) { return same(KOp::Shl, {x, count}); }
  V shift_right_logical(V x, V count) { return same(KOp::LShr, {x, count}); }
  V shift_right_arithmetic(V x, V count) { return same(KOp::AShr, {x, count}); }
  V eq(V x, V y) { return compare(KOp::Eq, x, y); }
  V ne(V x, V y) { return compare(KOp::Ne, x, y); }
  V lt(V x, V y) { return compare(KOp::Lt, x, y); }
  V le(V x, V y) { return compare(KOp::Le, x, y); }
  V select(V c, V x, V y) { return b.select(c, x, y); }
  V mul_hi_u32(V x, V y) { return same(KOp::MulHiU32, {x, y}); }
  V as_int(V x) { return b.pure(KOp::Bitcast, is_f64(x) ? DType::I64 : DType::I32, {x}); }
  V as_float(V x) { return b.pure(KOp::Bitcast, size_of(b.type(x)) == 8 ? DType::F64 : DType::F32, {x}); }
  V to_f32(V x) { return to(DType::F32, x); }
  V to_f64(V x) { return to(DType::F64, x); }
  V to_i32(V x) { return to(DType::I32, x); }
  V to_u32(V x) { return to(DType::U32, x); }
  V to_i64(V x) { return to(DType::I64, x); }
  V to_u64(V x) { return to(DType::U64, x); }
};

// To f32 with the odd rounding (inexact: the neighbour whose last bit is 1), so that one more rounding to 16 bits is
// the rounding of the exact value (Boldo, Melquiond: Emulation of FMA and correctly rounded sums, 2008).
ValueId to_f32_odd(Builder& b, ValueId x) {
  KernelMath m{b};
  ValueId nearest = m.to_f32(x), back = m.to_f64(nearest);
  ValueId bits = m.as_int(nearest), one = m.integer(1, bits);
  ValueId inexact_even =
      m.bit_and(m.bit_and(m.ne(back, x), m.eq(x, x)), m.eq(m.bit_and(bits, one), m.integer(0, bits)));
  // The neighbour towards x: away from zero if |nearest| < |x|.
  ValueId outwards = m.lt(m.abs(back), m.abs(x));
  ValueId odd = m.select(outwards, m.add(bits, one), m.sub(bits, one));
  return m.as_float(m.select(inexact_even, odd, bits));
}

} // namespace

ValueId round_to(Builder& b, DType type, ValueId value) {
  return type == DType::F16 || type == DType::BF16 ? b.pure(KOp::Round16, type, {value}) : value;
}

ValueId expand(Builder& b, ScalarOp op, DType type, const std::vector<ValueId>& operands) {
  KernelMath math{b};
  ValueId result = apply_body(math, op, operands.data());
  DType out = result_type(op, type);
  return b.type(result) == DType::F32 ? round_to(b, out, result) : result;
}

ValueId convert(Builder& b, DType from, DType to, ValueId value) {
  if (from == to) return value;
  if (to != DType::F16 && to != DType::BF16) return b.pure(KOp::Convert, value_type(to), {value});
  DType have = b.type(value);
  if (have == DType::F64) return round_to(b, to, to_f32_odd(b, value));
  // Integers past f32's precision round once too: f64 holds all below 2^53, and beyond only bf16 notices.
  if (is_int(have) && size_of(have) >= 4) {
    ValueId wide = b.pure(KOp::Convert, DType::F64, {value});
    return round_to(b, to, to_f32_odd(b, wide));
  }
  return round_to(b, to, b.pure(KOp::Convert, DType::F32, {value}));
}

ValueId literal(Builder& b, DType type, Scalar value) {
  if (type == DType::F16) return b.constant(DType::F32, Scalar::of(f16_to_float(value.as<uint16_t>())));
  if (type == DType::BF16) return b.constant(DType::F32, Scalar::of(bf16_to_float(value.as<uint16_t>())));
  return b.constant(value_type(type), value);
}

ValueId combine(Builder& b, ReduceOp op, DType type, ValueId x, ValueId y) {
  if (gives_position(op)) throw std::logic_error("kernel: no fold of single values"); // two at once: replaces()
  const ScalarOp combine = info(op).combine;
  if (type == DType::Bool) return combine == ScalarOp::And || combine == ScalarOp::Min ? b.both(x, y) : b.either(x, y);
  return expand(b, combine, type, {x, y});
}

ValueId position(Builder& b, ValueId best) {
  ValueId none = b.eq(best, b.i64(std::numeric_limits<int64_t>::max()));
  return b.select(none, b.i64(0), best);
}

bool is_dear(ScalarOp op, DType type) {
  switch (op) {
  case ScalarOp::Neg:
  case ScalarOp::Abs:
  case ScalarOp::Sign:
  case ScalarOp::Floor:
  case ScalarOp::Ceil:
  case ScalarOp::Round:
  case ScalarOp::Trunc:
  case ScalarOp::Not:
  case ScalarOp::BitNot:
  case ScalarOp::IsNan:
  case ScalarOp::IsInf:
  case ScalarOp::IsFinite:
  case ScalarOp::Add:
  case ScalarOp::Sub:
  case ScalarOp::Mul:
  case ScalarOp::Min:
  case ScalarOp::Max:
  case ScalarOp::And:
  case ScalarOp::Or:
  case ScalarOp::BitAnd:
  case ScalarOp::BitOr:
  case ScalarOp::BitXor:
  case ScalarOp::ShiftLeft:
  case ScalarOp::ShiftRight:
  case ScalarOp::Eq:
  case ScalarOp::Ne:
  case ScalarOp::Lt:
  case ScalarOp::Le:
  case ScalarOp::Gt:
  case ScalarOp::Ge:
  case ScalarOp::Where:
  case ScalarOp::Clamp: return false;
  default: return is_num(type) || type == DType::Key;
  }
}

} // namespace tl::kir

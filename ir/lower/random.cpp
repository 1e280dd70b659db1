// Random numbers from keys and positions: docs/random.md says how.
#include "ir/lower/function.h"
#include <cmath>
#include <limits>

namespace tl::ir {

// Of a float that is a constant.
std::optional<double> FunctionLowerer::number_of(ValueId value) const {
  const NodeId producer = f_[value].producer;
  if (!producer.valid() || f_[producer].op != Op::Constant) return std::nullopt;
  return convert_scalar(f_[value].type.dtype, DType::F64, f_[producer].as<ConstantAttrs>().literal).as<double>();
}

// 0, 1, … in row-major order under the shape of e, once its sizes are checked.
ValueId FunctionLowerer::positions(const typed::Expr& e, LocId at) {
  const std::vector<Size>& shape = e.type.shape;
  if (shape.empty()) return i64(0);
  std::vector<Dim> sizes = dims(shape);
  Size count = 1;
  for (const Size& size : shape)
    count = count * size;
  return retyped(iota(checked(knows(count) ? dim(count) : product(sizes), e.checks), at), sizes);
}

// Uniform in [0, 1), a multiple of 2^-24 (f32) or 2^-53 (f64): from the word, or the two words, number
// stride * position + word of the key's stream.
ValueId FunctionLowerer::random_unit(ValueId key, ValueId where, int64_t stride, int64_t word, DType t, LocId at) {
  std::vector<Dim> shape = type(where).dims;
  auto each = [&](ScalarOp op, ValueId a, ValueId b) { return elementwise(op, {a, b}, shape, at); };
  auto bits = [&](int64_t offset) {
    ValueId i = stride == 1 ? where : each(ScalarOp::Mul, where, i64(stride));
    if (offset) i = each(ScalarOp::Add, i, i64(offset));
    return elementwise(ScalarOp::KeyBits, {key, i}, shape, at);
  };
  if (t == DType::F64) {
    ValueId high = each(ScalarOp::ShiftRight, bits(word), i64(5)),
            low = each(ScalarOp::ShiftRight, bits(word + 1), i64(6));
    ValueId number = each(ScalarOp::Add, each(ScalarOp::ShiftLeft, high, i64(26)), low);
    return each(ScalarOp::Mul, convert(number, t, at), constant(t, 0x1p-53));
  }
  ValueId number = each(ScalarOp::ShiftRight, bits(word), i64(8));
  return each(ScalarOp::Mul, convert(number, DType::F32, at), constant(DType::F32, 0x1p-24));
}

Leaves FunctionLowerer::split_key(const typed::Expr& e, ValueId key) {
  LocId at = loc(e.span);
  if (e.type.is_tuple())
    return {scalar(ScalarOp::KeyFold, {key, i64(0)}, at), scalar(ScalarOp::KeyFold, {key, i64(1)}, at)};
  std::vector<Dim> sizes = dims(e.type.shape);
  return {elementwise(ScalarOp::KeyFold, {key, iota(sizes.at(0), at)}, sizes, at)};
}

ValueId FunctionLowerer::uniform(const typed::Expr& e, ValueId key, ValueId lo, ValueId hi) {
  LocId at = loc(e.span);
  DType t = e.type.dtype, compute = t == DType::F64 ? DType::F64 : DType::F32;
  std::vector<Dim> shape = dims(e.type.shape);
  ValueId unit = random_unit(key, positions(e, at), compute == DType::F64 ? 2 : 1, 0, compute, at);
  ValueId low = convert(lo, compute, at), high = convert(hi, compute, at);
  ValueId width = scalar(ScalarOp::Sub, {high, low});
  const auto first = number_of(lo), last = number_of(hi);
  const double most = compute == DType::F64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  if (!first || !last || !(std::abs(*last - *first) <= most)) {
    const uint32_t s =
        site("WrongArguments", "the ends of `uniform` are finite, and so is the distance between them", e.span);
    width = guard(width, scalar(ScalarOp::IsFinite, {width}), s, {}, e.span);
  }
  ValueId value = elementwise(ScalarOp::Mul, {unit, width}, shape, at);
  value = convert(elementwise(ScalarOp::Add, {value, low}, shape, at), t, at);
  // Rounding may reach hi, which is excluded.
  ValueId inside = elementwise(ScalarOp::Lt, {value, hi}, shape, at);
  if (!first || !last || *last < *first) {
    const ValueId above = elementwise(ScalarOp::Gt, {value, hi}, shape, at);
    inside = elementwise(ScalarOp::Where, {scalar(ScalarOp::Lt, {hi, lo}), above, inside}, shape, at);
  }
  return elementwise(ScalarOp::Where, {inside, value, lo}, shape, at);
}

ValueId FunctionLowerer::normal(const typed::Expr& e, ValueId key) {
  LocId at = loc(e.span);
  DType t = e.type.dtype, compute = t == DType::F64 ? DType::F64 : DType::F32;
  std::vector<Dim> shape = dims(e.type.shape);
  int64_t words = compute == DType::F64 ? 2 : 1;
  ValueId where = positions(e, at);
  ValueId u = random_unit(key, where, 2 * words, 0, compute, at);
  ValueId v = random_unit(key, where, 2 * words, words, compute, at);
  auto one = [&](ScalarOp op, ValueId a) { return elementwise(op, {a}, shape, at); };
  auto two = [&](ScalarOp op, ValueId a, ValueId b) { return elementwise(op, {a, b}, shape, at); };
  ValueId radius = one(ScalarOp::Log, two(ScalarOp::Sub, constant(compute, 1.0), u)); // 1 - u is in (0, 1]
  radius = one(ScalarOp::Sqrt, two(ScalarOp::Mul, radius, constant(compute, -2.0)));
  ValueId angle = one(ScalarOp::Cos, two(ScalarOp::Mul, v, constant(compute, 6.283185307179586)));
  return convert(two(ScalarOp::Mul, radius, angle), t, at);
}

ValueId FunctionLowerer::bernoulli(const typed::Expr& e, ValueId key, ValueId p) {
  LocId at = loc(e.span);
  DType compute = type(p).dtype == DType::F64 ? DType::F64 : DType::F32;
  if (const auto known = number_of(p); !known || !(*known >= 0 && *known <= 1)) {
    const ValueId zero = here().constant(type(p).dtype, {}), one = constant(type(p).dtype, 1.0);
    const ValueId fine = scalar(ScalarOp::And, {scalar(ScalarOp::Ge, {p, zero}), scalar(ScalarOp::Le, {p, one})});
    p = guard(p, fine, site("WrongArguments", "a probability is from 0 to 1", e.span), {}, e.span);
  }
  ValueId unit = random_unit(key, positions(e, at), compute == DType::F64 ? 2 : 1, 0, compute, at);
  return elementwise(ScalarOp::Lt, {unit, convert(p, compute, at)}, dims(e.type.shape), at);
}

ValueId FunctionLowerer::randint(const typed::Expr& e, ValueId key, ValueId lo, ValueId hi) {
  LocId at = loc(e.span);
  std::vector<Dim> shape = dims(e.type.shape);
  lo = convert_index(lo);
  hi = convert_index(hi);
  uint32_t s = site("InvalidRange", "no integers from {0} to {1}", e.span);
  lo = guard(lo, scalar(ScalarOp::Lt, {lo, hi}), s, {lo, hi}, e.span);
  uint32_t wide = site("InvalidRange", "there are more integers from {0} to {1} than an i64 counts", e.span);
  lo = guard(lo, scalar(ScalarOp::Gt, {scalar(ScalarOp::Sub, {hi, lo}), i64(0)}), wide, {lo, hi}, e.span);
  auto two = [&](ScalarOp op, ValueId a, ValueId b) { return elementwise(op, {a, b}, shape, at); };
  ValueId first = two(ScalarOp::Mul, positions(e, at), i64(2));
  ValueId high = elementwise(ScalarOp::KeyBits, {key, first}, shape, at);
  ValueId low = elementwise(ScalarOp::KeyBits, {key, two(ScalarOp::Add, first, i64(1))}, shape, at);
  ValueId number = two(ScalarOp::Add, two(ScalarOp::ShiftLeft, high, i64(31)), two(ScalarOp::ShiftRight, low, i64(1)));
  ValueId width = scalar(ScalarOp::Sub, {hi, lo});
  return convert(two(ScalarOp::Add, two(ScalarOp::Mod, number, width), lo), e.type.dtype, at);
}

} // namespace tl::ir

#include "passes/derive/partials.h"
#include <cmath>
#include <fmt/format.h>
#include <numbers>
#include <stdexcept>

namespace tl {
using namespace ir;

Slope slope_of(ScalarOp op) {
  switch (op) {
  case ScalarOp::Sign:
  case ScalarOp::Floor:
  case ScalarOp::Ceil:
  case ScalarOp::Round:
  case ScalarOp::Trunc:
  case ScalarOp::FloorDiv:
  case ScalarOp::Not:
  case ScalarOp::BitNot:
  case ScalarOp::IsNan:
  case ScalarOp::IsInf:
  case ScalarOp::IsFinite:
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
  case ScalarOp::KeyBits:
  case ScalarOp::KeyFold: return Slope::None;
  case ScalarOp::Neg:
  case ScalarOp::Add:
  case ScalarOp::Sub: return Slope::Constant;
  case ScalarOp::Min:
  case ScalarOp::Max:
  case ScalarOp::Where:
  case ScalarOp::Clamp: return Slope::Choice;
  case ScalarOp::Abs:
  case ScalarOp::Log:
  case ScalarOp::Log2:
  case ScalarOp::Log1p:
  case ScalarOp::Sin:
  case ScalarOp::Cos:
  case ScalarOp::Asin:
  case ScalarOp::Acos:
  case ScalarOp::Atan:
  case ScalarOp::Sinh:
  case ScalarOp::Cosh:
  case ScalarOp::Erf:
  case ScalarOp::Mul:
  case ScalarOp::Mod:
  case ScalarOp::Atan2: return Slope::OfOperands;
  case ScalarOp::Sqrt:
  case ScalarOp::Rsqrt:
  case ScalarOp::Exp:
  case ScalarOp::Exp2:
  case ScalarOp::Expm1:
  case ScalarOp::Tan:
  case ScalarOp::Tanh:
  case ScalarOp::Sigmoid: return Slope::OfResult;
  case ScalarOp::Div:
  case ScalarOp::Pow: return Slope::OfBoth;
  }
  throw std::logic_error("derive: no scalar operation");
}

bool has_derivative(ScalarOp op) { return slope_of(op) != Slope::None; }

bool leaves_out(ScalarOp op) { return slope_of(op) == Slope::Choice; }

bool is_steep(ScalarOp op) {
  return op == ScalarOp::Sqrt || op == ScalarOp::Pow || op == ScalarOp::Asin || op == ScalarOp::Acos;
}

namespace {

bool is_linear(ScalarOp op) { return slope_of(op) == Slope::Constant || slope_of(op) == Slope::Choice; }

ValueId partial(Emit& e, ScalarOp op, std::span<const ValueId> x, ValueId y, size_t i, ValueId d,
                const std::vector<bool>& moving, bool guarded) {
  auto one_plus = [&](ValueId v) { return e.op(ScalarOp::Add, {e.number(e.type(v).dtype, 1), v}); };
  auto one_minus = [&](ValueId v) { return e.op(ScalarOp::Sub, {e.number(e.type(v).dtype, 1), v}); };
  auto less = [&](ValueId a, ValueId b) { return e.op(ScalarOp::Lt, {a, b}); };
  // Where two operands are equal and the second (`rival`) moves too, the first is followed.
  auto first_less = [&](ValueId a, ValueId b, size_t rival) {
    return e.op(moving[rival] ? ScalarOp::Le : ScalarOp::Lt, {a, b});
  };
  auto both = [&](ValueId a, ValueId b) { return e.op(ScalarOp::And, {a, b}); };
  // Where d is infinite and the factor zero, the product is zero. (Of a finite d it is the product also there: so it
  // has derivatives of its own.)
  auto times = [&](ValueId factor) {
    ValueId product = e.mul(d, factor);
    if (!guarded) return product;
    ValueId nothing = e.op(ScalarOp::And, {e.op(ScalarOp::IsInf, {d}), e.compare(ScalarOp::Eq, factor, 0)});
    return e.where(nothing, e.number(e.type(product).dtype, 0), product);
  };
  switch (op) {
  case ScalarOp::Neg: return e.neg(d);
  case ScalarOp::Abs: return times(e.op(ScalarOp::Sign, {x[0]}));
  case ScalarOp::Sqrt: return e.div(d, e.mul(y, 2));
  case ScalarOp::Rsqrt: return times(e.mul(e.mul(e.mul(y, y), y), -0.5));
  case ScalarOp::Exp: return times(y);
  case ScalarOp::Exp2: return times(e.mul(y, std::numbers::ln2));
  case ScalarOp::Expm1: return times(one_plus(y));
  case ScalarOp::Log: return e.div(d, x[0]);
  case ScalarOp::Log2: return e.div(d, e.mul(x[0], std::numbers::ln2));
  case ScalarOp::Log1p: return e.div(d, one_plus(x[0]));
  case ScalarOp::Sin: return times(e.op(ScalarOp::Cos, {x[0]}));
  case ScalarOp::Cos: return times(e.neg(e.op(ScalarOp::Sin, {x[0]})));
  case ScalarOp::Tan: return times(one_plus(e.mul(y, y)));
  case ScalarOp::Asin: return e.div(d, e.op(ScalarOp::Sqrt, {one_minus(e.mul(x[0], x[0]))}));
  case ScalarOp::Acos: return e.neg(e.div(d, e.op(ScalarOp::Sqrt, {one_minus(e.mul(x[0], x[0]))})));
  case ScalarOp::Atan: return e.div(d, one_plus(e.mul(x[0], x[0])));
  case ScalarOp::Sinh: return times(e.op(ScalarOp::Cosh, {x[0]}));
  case ScalarOp::Cosh: return times(e.op(ScalarOp::Sinh, {x[0]}));
  case ScalarOp::Tanh: return times(one_minus(e.mul(y, y)));
  case ScalarOp::Sigmoid: return times(e.mul(y, one_minus(y)));
  case ScalarOp::Erf:
    return times(e.mul(e.op(ScalarOp::Exp, {e.neg(e.mul(x[0], x[0]))}), 2 * std::numbers::inv_sqrtpi));
  case ScalarOp::Add: return d;
  case ScalarOp::Sub: return i == 0 ? d : e.neg(d);
  case ScalarOp::Mul: return times(x[1 - i]);
  case ScalarOp::Div: return i == 0 ? e.div(d, x[1]) : times(e.neg(e.div(y, x[1])));
  case ScalarOp::Mod: return i == 0 ? d : times(e.neg(e.op(ScalarOp::FloorDiv, {x[0], x[1]})));
  case ScalarOp::Pow: {
    if (i == 0) { // x ** 0 is flat everywhere
      ValueId less_one = e.op(ScalarOp::Sub, {x[1], e.number(e.type(x[1]).dtype, 1)});
      ValueId slope = times(e.mul(x[1], e.op(ScalarOp::Pow, {x[0], less_one})));
      return e.where(e.compare(ScalarOp::Eq, x[1], 0), e.number(e.type(slope).dtype, 0), slope);
    }
    // 0 ** y is flat for y > 0
    ValueId flat = both(e.compare(ScalarOp::Eq, x[0], 0), e.compare(ScalarOp::Ge, x[1], 0));
    ValueId slope = times(e.mul(y, e.op(ScalarOp::Log, {x[0]})));
    return e.where(flat, e.number(e.type(slope).dtype, 0), slope);
  }
  case ScalarOp::Min:
    return e.where(i == 0 ? first_less(x[0], x[1], 1) : less(x[1], x[0]), d, e.number(e.type(d).dtype, 0));
  case ScalarOp::Max:
    return e.where(i == 0 ? first_less(x[1], x[0], 1) : less(x[0], x[1]), d, e.number(e.type(d).dtype, 0));
  case ScalarOp::Clamp: { // min(max(x, lo), hi)
    ValueId raised = e.op(ScalarOp::Max, {x[0], x[1]});
    auto inside = [&] { return first_less(raised, x[2], 2); };
    ValueId mine = i == 2   ? less(x[2], raised)
                   : i == 1 ? both(less(x[0], x[1]), inside())
                            : both(first_less(x[1], x[0], 1), inside());
    return e.where(mine, d, e.number(e.type(d).dtype, 0));
  }
  case ScalarOp::Atan2: {
    ValueId square = e.add(e.mul(x[0], x[0]), e.mul(x[1], x[1]));
    return i == 0 ? times(e.div(x[1], square)) : times(e.neg(e.div(x[0], square)));
  }
  case ScalarOp::Where: {
    ValueId zero = e.number(e.type(d).dtype, 0);
    if (i == 0) return {};
    return i == 1 ? e.where(x[0], d, zero) : e.where(x[0], zero, d);
  }
  case ScalarOp::Sign:
  case ScalarOp::Floor:
  case ScalarOp::Ceil:
  case ScalarOp::Round:
  case ScalarOp::Trunc:
  case ScalarOp::FloorDiv:
  case ScalarOp::Not:
  case ScalarOp::BitNot:
  case ScalarOp::IsNan:
  case ScalarOp::IsInf:
  case ScalarOp::IsFinite:
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
  case ScalarOp::KeyBits:
  case ScalarOp::KeyFold: break; // Slope::None
  }
  throw std::logic_error(fmt::format("derive: `{}` has a slope and no rule", info(op).name));
}

} // namespace

ValueId scaled_partial(Emit& e, ScalarOp op, std::span<const ValueId> x, ValueId y, size_t i, ValueId d,
                       const std::vector<bool>& moving, bool guarded) {
  if (!has_derivative(op)) return {};
  ValueId result = partial(e, op, x, y, i, d, moving, guarded);
  if (!result.valid() || !(guarded || is_steep(op)) || is_linear(op)) return result;
  return e.where(e.compare(ScalarOp::Eq, d, 0), e.number(e.type(result).dtype, 0), result);
}

ValueId products_of_others(Emit& e, ValueId x, const std::vector<int64_t>& axes) {
  const std::vector<Dim> shape = e.dims(x);
  const std::vector<int64_t> kept = other_axes(shape.size(), axes);
  auto spread = [&](ValueId v) { return e.broadcast(v, kept, shape); };
  // Without zeros the product over x; with one of them, only at its place, what is left.
  ValueId zero = e.compare(ScalarOp::Eq, x, 0);
  ValueId others = e.reduce(ReduceOp::Prod, e.where(zero, e.number(e.type(x).dtype, 1), x), axes);
  ValueId zeros = spread(e.reduce(ReduceOp::Sum, e.convert(zero, DType::I64), axes));
  ValueId without = e.where(e.compare(ScalarOp::Eq, zeros, 0), e.div(spread(others), x), 0);
  ValueId one = e.op(ScalarOp::And, {zero, e.compare(ScalarOp::Eq, zeros, 1)});
  return e.where(one, spread(others), without);
}

ValueId is_first_extreme(Emit& e, ReduceOp op, ValueId x, ValueId mask, const std::vector<int64_t>& axes) {
  if (axes.empty()) return {};
  const std::vector<Dim> shape = e.dims(x);
  const std::vector<int64_t> kept = other_axes(shape.size(), axes);
  Type t = Type::tensor(DType::I64, {});
  for (int64_t axis : kept)
    t.dims.push_back(shape[static_cast<size_t>(axis)]);
  std::vector<ValueId> operands{x};
  if (mask.valid()) operands.push_back(mask);
  Attrs attrs;
  attrs.reduce = op == ReduceOp::Max ? ReduceOp::ArgMax : ReduceOp::ArgMin;
  attrs.ints = axes;
  ValueId first = e.builder().one(Op::Reduce, std::move(operands), std::move(t), std::move(attrs), e.loc());
  ValueId position; // among the reduced
  for (int64_t axis : axes) {
    Dim n = shape[static_cast<size_t>(axis)];
    ValueId along = e.broadcast(e.iota(n), {axis}, shape);
    position = position.valid() ? e.add(e.mul(position, e.size(n)), along) : along;
  }
  return e.op(ScalarOp::Eq, {position, e.broadcast(first, kept, shape)});
}

} // namespace tl

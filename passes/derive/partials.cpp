#include "passes/derive/partials.h"
#include <numbers>
#include <numeric>

namespace tl {
using namespace ir;

namespace {

// d · ∂op/∂x[i], while it is written: the arguments of scaled_partial, and short names.
struct Step {
  Emit& e;
  std::span<const ValueId> x; // operands
  ValueId y;                  // result
  size_t i;
  ValueId d;
  const std::vector<bool>& moving;
  bool guarded;

  ValueId op(ScalarOp o, std::vector<ValueId> operands) const { return e.op(o, std::move(operands)); }
  ValueId zero(ValueId like) const { return e.number(e.type(like).dtype, 0); }
  ValueId one_plus(ValueId v) const { return op(ScalarOp::Add, {e.number(e.type(v).dtype, 1), v}); }
  ValueId one_minus(ValueId v) const { return op(ScalarOp::Sub, {e.number(e.type(v).dtype, 1), v}); }
  ValueId square(ValueId v) const { return e.mul(v, v); }
  ValueId less(ValueId a, ValueId b) const { return op(ScalarOp::Lt, {a, b}); }
  // Where two operands are equal and the second (`rival`) moves too, the first is followed.
  ValueId first_less(ValueId a, ValueId b, size_t rival) const {
    return op(moving[rival] ? ScalarOp::Le : ScalarOp::Lt, {a, b});
  }
  ValueId both(ValueId a, ValueId b) const { return op(ScalarOp::And, {a, b}); }
  ValueId by(ValueId divisor) const { return e.div(d, divisor); }
  ValueId where(ValueId taken) const { return e.where(taken, d, zero(d)); }
  // Where d is infinite and the factor zero, the product is zero. (Of a finite d it is the product also there: so it
  // has derivatives of its own.)
  ValueId times(ValueId factor) const {
    ValueId product = e.mul(d, factor);
    if (!guarded) return product;
    ValueId nothing = both(op(ScalarOp::IsInf, {d}), e.compare(ScalarOp::Eq, factor, 0));
    return e.where(nothing, zero(product), product);
  }
};

ValueId power(const Step& s) {
  if (s.i == 0) { // x ** 0 is flat everywhere, but at other y it is not: only what is no number is left out
    ValueId less_one = s.op(ScalarOp::Sub, {s.x[1], s.e.number(s.e.type(s.x[1]).dtype, 1)});
    ValueId factor = s.op(ScalarOp::Pow, {s.x[0], less_one});
    ValueId slope = s.times(s.e.mul(s.x[1], factor));
    ValueId endless = s.op(ScalarOp::Not, {s.op(ScalarOp::IsFinite, {factor})});
    return s.e.where(s.both(s.e.compare(ScalarOp::Eq, s.x[1], 0), endless), s.zero(slope), slope);
  }
  // 0 ** y is flat for y > 0
  ValueId flat = s.both(s.e.compare(ScalarOp::Eq, s.x[0], 0), s.e.compare(ScalarOp::Ge, s.x[1], 0));
  ValueId slope = s.times(s.e.mul(s.y, s.op(ScalarOp::Log, {s.x[0]})));
  return s.e.where(flat, s.zero(slope), slope);
}

ValueId clamp(const Step& s) { // min(max(x, lo), hi)
  ValueId raised = s.op(ScalarOp::Max, {s.x[0], s.x[1]});
  auto inside = [&] { return s.first_less(raised, s.x[2], 2); };
  return s.where(s.i == 2   ? s.less(s.x[2], raised)
                 : s.i == 1 ? s.both(s.less(s.x[0], s.x[1]), inside())
                            : s.both(s.first_less(s.x[1], s.x[0], 1), inside()));
}

ValueId select(const Step& s) {
  if (s.i == 0) return {};
  return s.i == 1 ? s.e.where(s.x[0], s.d, s.zero(s.d)) : s.e.where(s.x[0], s.zero(s.d), s.d);
}

enum Steepness : bool { Gentle, Steep };

// The derivative of an elementwise operation: what it is made of, whether it is infinite where the value is not, the
// rule.
struct Partial {
  ScalarOp op;
  Slope slope;
  Steepness steepness = Gentle;
  ValueId (*rule)(const Step&) = nullptr;
};

using S = ScalarOp;
using enum Slope;

// clang-format off
constexpr Partial kPartials[] = { // in the order of abi/ops.def: a missing row does not compile
    {S::Neg,        Constant,   Gentle, [](const Step& s) { return s.e.neg(s.d); }},
    {S::Abs,        OfOperands, Gentle, [](const Step& s) { return s.times(s.op(S::Sign, {s.x[0]})); }},
    {S::Sign,       None},
    {S::Floor,      None},
    {S::Ceil,       None},
    {S::Round,      None},
    {S::Trunc,      None},
    {S::Sqrt,       OfResult,   Steep,  [](const Step& s) { return s.by(s.e.mul(s.y, 2)); }},
    {S::Rsqrt,      OfResult,   Gentle, [](const Step& s) { return s.times(s.e.mul(s.e.mul(s.square(s.y), s.y), -0.5)); }},
    {S::Exp,        OfResult,   Gentle, [](const Step& s) { return s.times(s.y); }},
    {S::Exp2,       OfResult,   Gentle, [](const Step& s) { return s.times(s.e.mul(s.y, std::numbers::ln2)); }},
    {S::Expm1,      OfResult,   Gentle, [](const Step& s) { return s.times(s.one_plus(s.y)); }},
    {S::Log,        OfOperands, Gentle, [](const Step& s) { return s.by(s.x[0]); }},
    {S::Log2,       OfOperands, Gentle, [](const Step& s) { return s.by(s.e.mul(s.x[0], std::numbers::ln2)); }},
    {S::Log1p,      OfOperands, Gentle, [](const Step& s) { return s.by(s.one_plus(s.x[0])); }},
    {S::Sin,        OfOperands, Gentle, [](const Step& s) { return s.times(s.op(S::Cos, {s.x[0]})); }},
    {S::Cos,        OfOperands, Gentle, [](const Step& s) { return s.times(s.e.neg(s.op(S::Sin, {s.x[0]}))); }},
    {S::Tan,        OfResult,   Gentle, [](const Step& s) { return s.times(s.one_plus(s.square(s.y))); }},
    {S::Asin,       OfOperands, Steep,  [](const Step& s) { return s.by(s.op(S::Sqrt, {s.one_minus(s.square(s.x[0]))})); }},
    {S::Acos,       OfOperands, Steep,  [](const Step& s) { return s.e.neg(s.by(s.op(S::Sqrt, {s.one_minus(s.square(s.x[0]))}))); }},
    {S::Atan,       OfOperands, Gentle, [](const Step& s) { return s.by(s.one_plus(s.square(s.x[0]))); }},
    {S::Sinh,       OfOperands, Gentle, [](const Step& s) { return s.times(s.op(S::Cosh, {s.x[0]})); }},
    {S::Cosh,       OfOperands, Gentle, [](const Step& s) { return s.times(s.op(S::Sinh, {s.x[0]})); }},
    {S::Tanh,       OfResult,   Gentle, [](const Step& s) { return s.times(s.one_minus(s.square(s.y))); }},
    {S::Sigmoid,    OfResult,   Gentle, [](const Step& s) { return s.times(s.e.mul(s.y, s.one_minus(s.y))); }},
    {S::Erf,        OfOperands, Gentle, [](const Step& s) {
       return s.times(s.e.mul(s.op(S::Exp, {s.e.neg(s.square(s.x[0]))}), 2 * std::numbers::inv_sqrtpi)); }},
    {S::Not,        None},
    {S::BitNot,     None},
    {S::IsNan,      None},
    {S::IsInf,      None},
    {S::IsFinite,   None},
    {S::Add,        Constant,   Gentle, [](const Step& s) { return s.d; }},
    {S::Sub,        Constant,   Gentle, [](const Step& s) { return s.i == 0 ? s.d : s.e.neg(s.d); }},
    {S::Mul,        OfOperands, Gentle, [](const Step& s) { return s.times(s.x[1 - s.i]); }},
    {S::Div,        OfBoth,     Gentle, [](const Step& s) { return s.i == 0 ? s.by(s.x[1]) : s.times(s.e.neg(s.e.div(s.y, s.x[1]))); }},
    {S::FloorDiv,   None},
    {S::Mod,        OfOperands, Gentle, [](const Step& s) {
       return s.i == 0 ? s.d : s.times(s.e.neg(s.op(S::FloorDiv, {s.x[0], s.x[1]}))); }},
    {S::Pow,        OfBoth,     Steep,  power},
    {S::Min,        Choice,     Gentle, [](const Step& s) {
       return s.where(s.i == 0 ? s.first_less(s.x[0], s.x[1], 1) : s.less(s.x[1], s.x[0])); }},
    {S::Max,        Choice,     Gentle, [](const Step& s) {
       return s.where(s.i == 0 ? s.first_less(s.x[1], s.x[0], 1) : s.less(s.x[0], s.x[1])); }},
    {S::Atan2,      OfOperands, Gentle, [](const Step& s) {
       ValueId radius = s.e.add(s.square(s.x[0]), s.square(s.x[1])); // squared
       return s.i == 0 ? s.times(s.e.div(s.x[1], radius)) : s.times(s.e.neg(s.e.div(s.x[0], radius))); }},
    {S::And,        None},
    {S::Or,         None},
    {S::BitAnd,     None},
    {S::BitOr,      None},
    {S::BitXor,     None},
    {S::ShiftLeft,  None},
    {S::ShiftRight, None},
    {S::Eq,         None},
    {S::Ne,         None},
    {S::Lt,         None},
    {S::Le,         None},
    {S::Gt,         None},
    {S::Ge,         None},
    {S::Where,      Choice,     Gentle, select},
    {S::Clamp,      Choice,     Gentle, clamp},
    {S::KeyBits,    None},
    {S::KeyFold,    None},
};
// clang-format on

constexpr bool is_complete() {
  for (int i = 0; i < kScalarOpCount; ++i)
    if (kPartials[i].op != static_cast<ScalarOp>(i) || (kPartials[i].slope == None) != !kPartials[i].rule) return false;
  return true;
}
static_assert(std::size(kPartials) == kScalarOpCount && is_complete());

const Partial& partial(ScalarOp op) { return kPartials[static_cast<int>(op)]; }

} // namespace

Slope slope_of(ScalarOp op) { return partial(op).slope; }
bool has_derivative(ScalarOp op) { return slope_of(op) != None; }
bool leaves_out(ScalarOp op) { return slope_of(op) == Choice; }
bool is_steep(ScalarOp op) { return partial(op).steepness == Steep; }

ValueId scaled_partial(Emit& e, ScalarOp op, std::span<const ValueId> x, ValueId y, size_t i, ValueId d,
                       const std::vector<bool>& moving, bool guarded) {
  if (!has_derivative(op)) return {};
  const Step step{e, x, y, i, d, moving, guarded};
  ValueId result = partial(op).rule(step);
  const bool is_linear = slope_of(op) == Constant || slope_of(op) == Choice;
  if (!result.valid() || !(guarded || is_steep(op)) || is_linear) return result;
  // Nothing times a slope that is not finite is nothing. Only there: elsewhere the product has derivatives of its own,
  // also where d is zero (at a minimum, all second derivatives).
  ValueId undefined = step.both(e.op(ScalarOp::IsNan, {result}), e.compare(ScalarOp::Eq, d, 0));
  return e.where(undefined, step.zero(result), result);
}

// What comes before an element times what comes behind it: without a division it is right, and so are its derivatives,
// where elements are 0.
static ValueId products_around(Emit& e, ValueId x, const std::vector<int64_t>& axes) {
  const std::vector<Dim> shape = e.dims(x);
  // The reduced axes as one, behind the others.
  std::vector<int64_t> order = other_axes(shape.size(), axes);
  const auto last = static_cast<int64_t>(order.size());
  order.insert(order.end(), axes.begin(), axes.end());
  const ValueId behind = e.transpose(x, order);
  const std::vector<Dim> apart = e.dims(behind);
  std::vector<Dim> rows(apart.begin(), apart.begin() + last);
  rows.push_back(e.product({apart.begin() + last, apart.end()}));
  const ValueId y = e.reshape(behind, rows);
  const ValueId position = e.iota(rows.back()), one = e.number(e.type(x).dtype, 1);
  const ValueId is_first = e.broadcast(e.compare(ScalarOp::Eq, position, 0), {last}, rows);
  const ValueId earlier = e.op(ScalarOp::Max, {e.sub(position, e.i64(1)), e.i64(0)});
  auto before = [&](ValueId v) {
    return e.where(is_first, one, e.gather(e.scan(ReduceOp::Prod, v, last), earlier, last));
  };
  const ValueId others = e.mul(before(y), e.flip(before(e.flip(y, last)), last));
  return e.transpose(e.reshape(others, apart), inverse(order));
}

ValueId products_of_others(Emit& e, ValueId x, const std::vector<int64_t>& axes) {
  const Type t = e.type(x);
  if (axes.empty()) return e.filled(t, 1);
  std::vector<int64_t> all(t.dims.size());
  std::iota(all.begin(), all.end(), 0);
  const ValueId zeros = e.reduce(ReduceOp::Any, e.compare(ScalarOp::Eq, x, 0), all);
  std::vector<Region> sides(2);
  Emit with(e.builder().module(), e.function(), sides[0], e.loc());
  sides[0].yields = {products_around(with, x, axes)};
  Emit without(e.builder().module(), e.function(), sides[1], e.loc());
  const ValueId product = without.reduce(ReduceOp::Prod, x, axes);
  const ValueId spread = without.broadcast(product, other_axes(t.dims.size(), axes), t.dims);
  // A batch takes both sides of some: that no quotient is 0 / 0.
  const ValueId divisor = without.where(without.compare(ScalarOp::Eq, x, 0), without.number(t.dtype, 1), x);
  sides[1].yields = {without.div(spread, divisor)};
  const NodeId chosen = e.builder().node(Op::If, {zeros}, {t}, {}, e.loc(), std::move(sides));
  return e.function()[chosen].results[0];
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
  const ReduceAttrs attrs{op == ReduceOp::Max ? ReduceOp::ArgMax : ReduceOp::ArgMin, axes};
  ValueId first = e.builder().one(Op::Reduce, std::move(operands), std::move(t), attrs, e.loc());
  ValueId position; // among the reduced
  for (int64_t axis : axes) {
    Dim n = shape[static_cast<size_t>(axis)];
    ValueId along = e.broadcast(e.iota(n), {axis}, shape);
    position = position.valid() ? e.add(e.mul(position, e.size(n)), along) : along;
  }
  return e.op(ScalarOp::Eq, {position, e.broadcast(first, kept, shape)});
}

} // namespace tl

#include "ir/graph/op_info.h"
#include "ir/lower/function.h"
#include <algorithm>
#include <cmath>
#include <utility>

namespace tl::ir {

Leaves FunctionLowerer::expr(const typed::Expr& e) {
  if (!evaluated_.empty())
    if (auto found = evaluated_.find(&e); found != evaluated_.end()) return found->second;
  const Span outer = std::exchange(at_, e.span.valid() ? e.span : at_);
  Leaves value = evaluate(e);
  at_ = outer;
  return placing_.valid() && frames_.empty() ? placed(e, std::move(value)) : value;
}

ValueId FunctionLowerer::one(const typed::Expr& e) {
  const Leaves leaves = expr(e);
  if (leaves.size() != 1) throw std::logic_error("lowering: one leaf is wanted, and there are others");
  return leaves[0];
}

Leaves FunctionLowerer::evaluate(const typed::Expr& e) {
  if (e.is<typed::UnitExpr>()) return {};
  if (const auto* literal = e.get_if<typed::LiteralExpr>()) {
    if (works_on_complex(e)) {
      const Complex z = complex_literal(e);
      return {splat(z.re, dims(e.type.shape), loc(e.span)), splat(z.im, dims(e.type.shape), loc(e.span))};
    }
    ValueId value = here().constant(e.type.dtype, literal->value);
    return {e.type.is_scalar() ? value : splat(value, dims(e.type.shape), loc(e.span))};
  }
  if (const auto* str = e.get_if<typed::StrExpr>()) return {string(str->text, loc(e.span))};
  if (const auto* variable = e.get_if<typed::VariableExpr>()) {
    auto found = env_.find(variable->var.index);
    if (found != env_.end()) return as_type(found->second, e.type);
    if (leaf_types(e.type).empty()) return {}; // unit, a range, an element type
    const std::string& name = shared_.program.variables[variable->var.index].name;
    throw std::logic_error("lowering: variable " + name + " has no value");
  }
  if (const ConstantValue* value = shared_.value_of_const(e)) return constant_value(e, *value);
  if (e.is<typed::IfExpr, typed::BlockExpr>()) {
    if (may_leave(e)) throw std::logic_error("lowering: something that may leave has no continuation");
    auto value = [](const Leaves& leaves) { return leaves; };
    return e.is<typed::IfExpr>() ? if_expression(e, value) : block_expression(e, value);
  }
  if (e.is<typed::ComprehensionExpr>()) return comprehension(e);
  if (e.is<typed::DeriveExpr>()) return derive(e);
  if (e.is<typed::TensorLiteralExpr>())
    return works_on_complex(e) ? complex_tensor_literal(e) : Leaves{tensor_literal(e)};
  return operation(e);
}

// The kinds that evaluate operands, then binds and checks, then do one thing.
Leaves FunctionLowerer::operation(const typed::Expr& e) {
  if (e.is<typed::IndexExpr>()) return index(e);
  if (e.is<typed::TupleGetExpr>()) { // of a variable: only the leaves asked for
    const typed::Expr* base = &e;
    std::vector<uint32_t> path;
    for (; base->is<typed::TupleGetExpr>(); base = base->operands[0].get())
      path.insert(path.begin(), base->as<typed::TupleGetExpr>().index);
    if (const auto* variable = base->get_if<typed::VariableExpr>())
      if (auto found = env_.find(variable->var.index); found != env_.end()) {
        auto begin = found->second.begin() + static_cast<long>(leaf_index(base->type, path));
        return as_type(Leaves(begin, begin + static_cast<long>(leaf_types(e.type).size())), e.type);
      }
  }
  std::vector<Leaves> operands;
  std::span<const typed::SizeBind> binds = e.binds;
  for (const typed::ExprPtr& operand : e.operands) {
    size_t own = binds_before(*operand, e, binds);
    bind_all(binds.first(own));
    binds = binds.subspan(own);
    operands.push_back(expr(*operand));
  }
  bind_all(binds);
  Leaves flat;
  for (const Leaves& operand : operands)
    flat.insert(flat.end(), operand.begin(), operand.end());
  Leaves result;
  if (const auto* size = e.get_if<typed::SizeExpr>()) return {size_value(size->size)};
  if (e.is<typed::RangeExpr>()) return {};
  if (e.is<typed::CallExpr>()) return call(e, std::move(operands));
  if (const auto* interp = e.get_if<typed::InterpExpr>()) {
    FormatAttrs attrs{interp->format};
    Leaves shown = as_shown(e, operands, attrs.format);
    return {here().one(Op::Format, std::move(shown), Type::str(), std::move(attrs), loc(e.span))};
  }
  if (e.is<typed::TupleExpr>()) {
    result = std::move(flat);
  } else if (e.is<typed::RecastExpr>()) {
    result = checked(std::move(flat), e.checks, true);
  } else if (const auto* get = e.get_if<typed::TupleGetExpr>()) {
    auto begin = flat.begin() + static_cast<long>(leaf_index(e.operands[0]->type, {get->index}));
    result = Leaves(begin, begin + static_cast<long>(leaf_types(e.type).size()));
  } else if (e.is<typed::ScalarExpr>()) {
    result = scalar_operation(e, std::move(operands));
  } else if (e.is<typed::ConvertExpr>()) {
    result = works_on_complex(e) ? complex_convert(e, flat) : Leaves{convert(flat.at(0), e.type.dtype, loc(e.span))};
  } else if (e.is<typed::BuiltinExpr>()) {
    result = builtin(e, operands);
  } else if (e.is<typed::ListExpr>()) {
    result = list_operation(e, operands);
  } else if (e.is<typed::TextExpr>()) {
    result = text_operation(e, operands);
  } else {
    throw std::logic_error("lowering: an expression of an unexpected kind");
  }
  bind_fresh(e.fresh, e.type, result);
  return as_type(std::move(result), e.type);
}

// ---- elementwise

ValueId FunctionLowerer::elementwise(ScalarOp op, std::vector<ValueId> operands, const std::vector<Dim>& shape,
                                     LocId at) {
  DType operand = type(operands[op == ScalarOp::Where ? 1 : 0]).dtype;
  bool shaped = shape.empty();
  for (ValueId v : operands)
    shaped = shaped || !type(v).dims.empty();
  if (!shaped) operands[0] = splat(operands[0], shape, at);
  return here().one(Op::Elementwise, std::move(operands), Type::tensor(result_type(op, operand), shape),
                    ElementwiseAttrs{op}, at);
}

ValueId FunctionLowerer::splat(ValueId value, const std::vector<Dim>& shape, LocId at) {
  if (shape.empty()) return value;
  Type t = Type::tensor(type(value).dtype, shape);
  return here().one(Op::Broadcast, {value}, std::move(t), AxesAttrs{}, at);
}

// Aligned right; rank 0 stays as it is where an elementwise operation may splat it (to full rank only on demand).
ValueId FunctionLowerer::broadcast(ValueId value, const std::vector<Size>& from, const std::vector<Size>& to,
                                   LocId at) {
  std::vector<Dim> target = dims(to);
  if (from.empty()) return splat(value, target, at);
  size_t shift = to.size() - from.size();
  std::vector<Dim> own;
  AxesAttrs attrs;
  bool stretches = shift > 0;
  for (size_t i = 0; i < from.size(); ++i) {
    bool stretch = from[i].is(1) && !to[shift + i].is(1);
    stretches = stretches || stretch;
    own.push_back(stretch ? Dim::of(1) : target[shift + i]);
    attrs.axes.push_back(static_cast<int64_t>(shift + i));
  }
  value = retyped(value, own);
  if (!stretches) return value;
  Type t = Type::tensor(type(value).dtype, target);
  return here().one(Op::Broadcast, {value}, std::move(t), std::move(attrs), at);
}

ValueId FunctionLowerer::convert(ValueId value, DType to, LocId at) {
  if (type(value).dtype == to) return value;
  Type t = Type::tensor(to, type(value).dims);
  return here().one(Op::Convert, {value}, std::move(t), {}, at);
}

ValueId FunctionLowerer::guarded_operand(ScalarOp op, ValueId operand, Span span) {
  DType t = type(operand).dtype;
  if (!is_int(t)) return operand;
  bool division = op == ScalarOp::FloorDiv || op == ScalarOp::Mod;
  bool power = op == ScalarOp::Pow && !is_unsigned(t);
  if (!division && !power) return operand;
  NodeId producer = f_[operand].producer;
  if (producer.valid() && f_[producer].op == Op::Constant) {
    Scalar literal = f_[producer].as<ConstantAttrs>().literal;
    Scalar args[] = {literal, Scalar{}};
    if (eval_scalar(division ? ScalarOp::Ne : ScalarOp::Ge, t, args).as<uint8_t>()) return operand;
  }
  ValueId zero = here().constant(t, {});
  ValueId fine = elementwise(division ? ScalarOp::Ne : ScalarOp::Ge, {operand, zero}, type(operand).dims, loc(span));
  if (division) return guard(operand, fine, site("DivisionByZero", "division by zero", span), {}, span);
  uint32_t s = site("NegativeExponent", "an integer to a negative power", span, "convert the base to a float first");
  return guard(operand, fine, s, {}, span);
}

namespace {

// A number that is written down, perhaps by arithmetic: 1.0 / 3.
std::optional<Scalar> constant_number(const typed::Expr& e) {
  if (!e.type.is_scalar()) return std::nullopt;
  if (const auto* literal = e.get_if<typed::LiteralExpr>()) return literal->value;
  const bool exact = e.is(ScalarOp::Neg) || e.is(ScalarOp::Add) || e.is(ScalarOp::Sub) || e.is(ScalarOp::Mul) ||
                     (e.is(ScalarOp::Div) && is_float(e.type.dtype));
  if (!exact || !e.checks.empty()) return std::nullopt;
  std::vector<Scalar> operands;
  for (const typed::ExprPtr& operand : e.operands) {
    auto number = constant_number(*operand);
    if (!number) return std::nullopt;
    operands.push_back(*number);
  }
  return eval_scalar(e.as<typed::ScalarExpr>().op, e.type.dtype, operands);
}

} // namespace

// Of floats x to a power that is known: by a root and a division, which are exact to half an ulp each, where the result
// is what `pow` gives: of -0 that is +0, and of an infinity one without a sign.
std::optional<ValueId> FunctionLowerer::known_power(ValueId x, double exponent, const std::vector<Dim>& shape,
                                                    LocId at) {
  const DType t = type(x).dtype;
  if (!is_float(t)) return std::nullopt;
  auto number = [&](double value) { return here().constant(t, convert_scalar(DType::F64, t, Scalar::of(value))); };
  auto apply = [&](ScalarOp op, std::vector<ValueId> operands) {
    return elementwise(op, std::move(operands), shape, at);
  };
  if (exponent == -1) return apply(ScalarOp::Div, {number(1), x});
  if (std::abs(exponent) != 0.5) return std::nullopt;
  const ValueId root = apply(ScalarOp::Add, {apply(ScalarOp::Sqrt, {x}), number(0)});
  const ValueId below = number(-std::numeric_limits<double>::infinity());
  const ValueId all = number(std::numeric_limits<double>::infinity());
  const ValueId power = apply(ScalarOp::Where, {apply(ScalarOp::Eq, {x, below}), all, root});
  return exponent > 0 ? power : apply(ScalarOp::Div, {number(1), power});
}

Leaves FunctionLowerer::scalar_operation(const typed::Expr& e, std::vector<Leaves> operands) {
  if (works_on_complex(e)) return complex_scalar(e, operands);
  LocId at = loc(e.span);
  std::vector<Dim> shape = dims(e.type.shape);
  Leaves values;
  for (const Leaves& operand : operands)
    values.push_back(operand.at(0));
  values = checked_operands(std::move(values), e);
  for (size_t i = 0; i < values.size(); ++i) {
    const tl::Type& t = e.operands[i]->type;
    if (t.rank()) values[i] = broadcast(values[i], t.shape, e.type.shape, at);
  }
  const ScalarOp op = e.as<typed::ScalarExpr>().op;
  if (op == ScalarOp::Pow) {
    // A small literal exponent is repeated multiplication.
    const typed::Expr& exponent = *e.operands[1];
    if (const auto known = constant_number(exponent))
      if (auto power =
              known_power(values[0], convert_scalar(exponent.type.dtype, DType::F64, *known).as<double>(), shape, at))
        return {*power};
    if (const auto* literal = exponent.get_if<typed::LiteralExpr>()) {
      double n = convert_scalar(exponent.type.dtype, DType::F64, literal->value).as<double>();
      if (n == 1 || n == 2 || n == 3 || n == 4) {
        ValueId power = values[0];
        for (int i = 1; i < static_cast<int>(n); ++i)
          power = elementwise(ScalarOp::Mul, {power, values[0]}, shape, at);
        return {power};
      }
    }
  }
  if (values.size() == 2) values[1] = guarded_operand(op, values[1], e.span);
  return {elementwise(op, std::move(values), shape, at)};
}

// ---- tensor literals

namespace {

// All elements of a nest of such numbers, row-major; false where there is anything else.
bool constants(const typed::Expr& e, std::vector<Scalar>& into) {
  if (auto number = constant_number(e)) {
    into.push_back(*number);
    return true;
  }
  if (!e.is<typed::TensorLiteralExpr>() || !e.checks.empty()) return false;
  return std::all_of(e.operands.begin(), e.operands.end(), [&](auto& operand) { return constants(*operand, into); });
}

// The numbers of a nest of literals, row-major; false where there is anything else.
bool numbers(const typed::Expr& e, std::vector<const typed::Expr*>& into) {
  if (!e.is<typed::TensorLiteralExpr>()) {
    into.push_back(&e);
    return e.type.is_scalar();
  }
  return e.checks.empty() && e.binds.empty() &&
         std::all_of(e.operands.begin(), e.operands.end(), [&](auto& operand) { return numbers(*operand, into); });
}

// So many numbers cost less as a list that is made into a tensor than as a kernel that chooses among all of them: the
// time to compile that grows with their square.
constexpr size_t kManyNumbers = 24;

} // namespace

ValueId FunctionLowerer::tensor_literal(const typed::Expr& e) {
  LocId at = loc(e.span);
  std::vector<Scalar> elements;
  bool constant_shape = std::all_of(e.type.shape.begin(), e.type.shape.end(), [](auto& s) { return s.is_constant(); });
  if (constant_shape && constants(e, elements)) {
    std::vector<int64_t> sizes;
    for (const Size& size : e.type.shape)
      sizes.push_back(size.constant());
    HostTensor t = HostTensor::make(e.type.dtype, sizes);
    if (static_cast<size_t>(t.count()) == elements.size()) {
      for (size_t i = 0; i < elements.size(); ++i)
        t.set(static_cast<int64_t>(i), elements[i]);
      const ConstTensorAttrs attrs{static_cast<uint32_t>(shared_.module.tensors.size())};
      shared_.module.tensors.push_back(std::move(t));
      // In the outermost region, so that maps find it outside of them.
      return this->at(0).one(Op::ConstTensor, {}, Type::tensor(e.type.dtype, dims(e.type.shape)), attrs, at);
    }
  }
  Leaves parts;
  std::vector<const typed::Expr*> all;
  if (constant_shape && numbers(e, all) && all.size() > kManyNumbers) {
    for (const typed::Expr* number : all)
      parts.push_back(one(*number));
    const auto count = static_cast<int64_t>(parts.size());
    const Type number = Type::scalar(e.type.dtype);
    ValueId list = here().one(Op::ListMake, std::move(parts), Type::list({number}), ListMakeAttrs{1, count}, at);
    const uint32_t unfit = site("ShapeMismatch", "the elements of the list do not fit together", e.span);
    const ListJoinAttrs join{unfit, 0, true}; // stacked along axis 0
    NodeId node = here().node(Op::ListJoin, {list}, {Type::tensor(e.type.dtype, {Dim()}), Type::scalar(DType::I64)},
                              std::move(join), at);
    ValueId flat = f_[node].results[0];
    f_[flat].type.dims[0] = Dim::of(f_[node].results[1]);
    return retyped(flat, dims(e.type.shape));
  }
  for (const typed::ExprPtr& operand : e.operands)
    parts.push_back(one(*operand));
  bind_all(e.binds);
  std::vector<Dim> shape = dims(e.type.shape);
  if (parts.empty()) return splat(here().constant(e.type.dtype, {}), shape, at);
  parts = checked(std::move(parts), e.checks, true);
  std::vector<Dim> part = shape;
  part[0] = Dim::of(1);
  for (ValueId& value : parts)
    value = retyped(value, part);
  return concat(std::move(parts), 0, shape, at);
}

// ---- small builders

ValueId FunctionLowerer::iota(const Dim& count, LocId at) {
  return here().one(Op::Iota, {}, Type::tensor(DType::I64, {count}), {}, at);
}

ValueId FunctionLowerer::reduce(ReduceOp op, ValueId x, std::vector<int64_t> axes, ValueId mask, LocId at) {
  if (axes.empty() && !mask.valid()) return x;
  Type t{Type::Kind::Tensor, type(x).dtype, {}};
  if (gives_position(op)) t.dtype = DType::I64;
  for (size_t i = 0; i < type(x).dims.size(); ++i)
    if (!std::count(axes.begin(), axes.end(), static_cast<int64_t>(i))) t.dims.push_back(type(x).dims[i]);
  std::vector<ValueId> operands{x};
  if (mask.valid()) operands.push_back(mask);
  return here().one(Op::Reduce, std::move(operands), std::move(t), ReduceAttrs{op, std::move(axes)}, at);
}

ValueId FunctionLowerer::slice(ValueId x, std::vector<ValueId> starts, std::vector<int64_t> steps,
                               std::vector<Dim> sizes, LocId at) {
  starts.insert(starts.begin(), x);
  Type t = Type::tensor(type(x).dtype, std::move(sizes));
  return here().one(Op::Slice, std::move(starts), std::move(t), StepsAttrs{std::move(steps)}, at);
}

} // namespace tl::ir

#include "ir/lower_function.h"
#include "ir/op_info.h"
#include <algorithm>
#include <cmath>

namespace tl::ir {

Leaves FunctionLowerer::expr(const typed::Expr& e) {
  Leaves value = evaluate(e);
  return placing_.valid() && frames_.empty() ? placed(e, std::move(value)) : value;
}

Leaves FunctionLowerer::evaluate(const typed::Expr& e) {
  using typed::ExprKind;
  switch (e.kind) {
  case ExprKind::Unit: return {};
  case ExprKind::Literal: {
    ValueId value = here().constant(e.type.dtype, e.literal);
    return {e.type.is_scalar() ? value : splat(value, dims(e.type.shape), loc(e.span))};
  }
  case ExprKind::Str: {
    Attrs attrs;
    attrs.text = e.text;
    return {here().one(Op::ConstStr, {}, Type::str(), std::move(attrs), loc(e.span))};
  }
  case ExprKind::Variable: {
    auto found = env_.find(e.var.index);
    if (found != env_.end()) return as_type(found->second, e.type);
    if (leaf_types(e.type).empty()) return {}; // unit, a range, an element type
    throw std::logic_error("lowering: variable " + shared_.program.variables[e.var.index].name + " has no value");
  }
  case ExprKind::If: {
    Leaves result = if_expression(e, [](const Leaves& value) { return value; });
    bind_fresh(e.fresh, e.type, result);
    return as_type(std::move(result), e.type);
  }
  case ExprKind::Block: {
    ValueId outer = placing_;
    if (!e.operands.empty()) placing_ = one(*e.operands[0]);
    Leaves result = block(e.blocks[0]);
    placing_ = outer;
    bind_all(e.binds);
    result = checked(std::move(result), e.checks, true);
    bind_fresh(e.fresh, e.type, result);
    return as_type(std::move(result), e.type);
  }
  case ExprKind::Comprehension: return comprehension(e);
  case ExprKind::Derive: return derive(e);
  case ExprKind::TensorLiteral: return {tensor_literal(e)};
  default: return operation(e);
  }
}

// The kinds that evaluate operands, then binds and checks, then do one thing.
Leaves FunctionLowerer::operation(const typed::Expr& e) {
  using typed::ExprKind;
  if (e.kind == ExprKind::Index) return index(e);
  if (e.kind == ExprKind::TupleGet) { // of a variable: only the leaves asked for
    const typed::Expr* base = &e;
    std::vector<uint32_t> path;
    for (; base->kind == ExprKind::TupleGet; base = base->operands[0].get())
      path.insert(path.begin(), base->index);
    if (base->kind == ExprKind::Variable)
      if (auto found = env_.find(base->var.index); found != env_.end()) {
        auto begin = found->second.begin() + static_cast<long>(leaf_index(base->type, path));
        return as_type(Leaves(begin, begin + static_cast<long>(leaf_types(e.type).size())), e.type);
      }
  }
  // A size that an argument computes has its place among the operands.
  std::vector<Leaves> operands;
  std::span<const typed::SizeBind> binds = e.binds;
  for (const typed::ExprPtr& operand : e.operands) {
    while (operand->kind == ExprKind::SizeValue && !knows(operand->size) && !binds.empty()) {
      bind_all(binds.first(1));
      binds = binds.subspan(1);
    }
    operands.push_back(expr(*operand));
  }
  bind_all(binds);
  Leaves flat;
  for (const Leaves& operand : operands)
    flat.insert(flat.end(), operand.begin(), operand.end());
  Leaves result;
  switch (e.kind) {
  case ExprKind::SizeValue: return {size_value(e.size)};
  case ExprKind::Range: return {};
  case ExprKind::Tuple: result = std::move(flat); break;
  case ExprKind::Recast: result = checked(std::move(flat), e.checks, true); break;
  case ExprKind::TupleGet: {
    size_t first = leaf_index(e.operands[0]->type, {e.index});
    auto begin = flat.begin() + static_cast<long>(first);
    result = Leaves(begin, begin + static_cast<long>(leaf_types(e.type).size()));
    break;
  }
  case ExprKind::Scalar: result = scalar_operation(e, std::move(operands)); break;
  case ExprKind::Convert: result = {convert(flat.at(0), e.type.dtype, loc(e.span))}; break;
  case ExprKind::Call: return call(e, std::move(operands));
  case ExprKind::Builtin: result = builtin(e, operands); break;
  case ExprKind::List: result = list_operation(e, operands); break;
  case ExprKind::Text: result = text_operation(e, operands); break;
  case ExprKind::Interp: {
    Attrs attrs;
    attrs.format = e.format;
    return {here().one(Op::Format, std::move(flat), Type::str(), std::move(attrs), loc(e.span))};
  }
  default: throw std::logic_error("lowering: an expression of an unexpected kind");
  }
  bind_fresh(e.fresh, e.type, result);
  return as_type(std::move(result), e.type);
}

// ---- elementwise
// ------------------------------------------------------------------------------------------------------

ValueId FunctionLowerer::elementwise(ScalarOp op, std::vector<ValueId> operands, const std::vector<Dim>& shape,
                                     LocId at) {
  DType operand = type(operands[op == ScalarOp::Where ? 1 : 0]).dtype;
  bool shaped = shape.empty();
  for (ValueId v : operands)
    shaped = shaped || !type(v).dims.empty();
  if (!shaped) operands[0] = splat(operands[0], shape, at);
  Attrs attrs;
  attrs.scalar = op;
  return here().one(Op::Elementwise, std::move(operands), Type::tensor(result_type(op, operand), shape),
                    std::move(attrs), at);
}

ValueId FunctionLowerer::splat(ValueId value, const std::vector<Dim>& shape, LocId at) {
  if (shape.empty()) return value;
  Type t = Type::tensor(type(value).dtype, shape);
  return here().one(Op::Broadcast, {value}, std::move(t), {}, at);
}

// Aligned right; rank 0 stays as it is where an elementwise operation may splat it (to full rank only on demand).
ValueId FunctionLowerer::broadcast(ValueId value, const std::vector<Size>& from, const std::vector<Size>& to,
                                   LocId at) {
  std::vector<Dim> target = dims(to);
  if (from.empty()) return splat(value, target, at);
  size_t shift = to.size() - from.size();
  std::vector<Dim> own;
  Attrs attrs;
  bool stretches = shift > 0;
  for (size_t i = 0; i < from.size(); ++i) {
    bool stretch = from[i].is(1) && !to[shift + i].is(1);
    stretches = stretches || stretch;
    own.push_back(stretch ? Dim::of(1) : target[shift + i]);
    attrs.ints.push_back(static_cast<int64_t>(shift + i));
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
    Scalar literal = f_[producer].attrs.literal;
    Scalar args[] = {literal, Scalar{}};
    if (eval_scalar(division ? ScalarOp::Ne : ScalarOp::Ge, t, args).as<uint8_t>()) return operand;
  }
  ValueId zero = here().constant(t, {});
  ValueId fine = elementwise(division ? ScalarOp::Ne : ScalarOp::Ge, {operand, zero}, type(operand).dims, loc(span));
  if (division) return guard(operand, fine, site("DivisionByZero", "division by zero", span), {}, span);
  uint32_t s = site("NegativeExponent", "an integer to a negative power", span, "convert the base to a float first");
  return guard(operand, fine, s, {}, span);
}

Leaves FunctionLowerer::scalar_operation(const typed::Expr& e, std::vector<Leaves> operands) {
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
  if (e.scalar_op == ScalarOp::Pow) {
    // A small literal exponent is repeated multiplication.
    const typed::Expr& exponent = *e.operands[1];
    if (exponent.kind == typed::ExprKind::Literal) {
      double n = convert_scalar(exponent.type.dtype, DType::F64, exponent.literal).as<double>();
      if (n == 1 || n == 2 || n == 3 || n == 4) {
        ValueId power = values[0];
        for (int i = 1; i < static_cast<int>(n); ++i)
          power = elementwise(ScalarOp::Mul, {power, values[0]}, shape, at);
        return {power};
      }
    }
  }
  if (values.size() == 2) values[1] = guarded_operand(e.scalar_op, values[1], e.span);
  return {elementwise(e.scalar_op, std::move(values), shape, at)};
}

// ---- tensor literals
// --------------------------------------------------------------------------------------------------

namespace {

// A number that is written down, perhaps by arithmetic: 1.0 / 3.
std::optional<Scalar> constant_number(const typed::Expr& e) {
  if (!e.type.is_scalar()) return std::nullopt;
  if (e.kind == typed::ExprKind::Literal) return e.literal;
  const bool exact = e.scalar_op == ScalarOp::Neg || e.scalar_op == ScalarOp::Add || e.scalar_op == ScalarOp::Sub ||
                     e.scalar_op == ScalarOp::Mul || (e.scalar_op == ScalarOp::Div && is_float(e.type.dtype));
  if (e.kind != typed::ExprKind::Scalar || !exact || !e.checks.empty()) return std::nullopt;
  std::vector<Scalar> operands;
  for (const typed::ExprPtr& operand : e.operands) {
    auto number = constant_number(*operand);
    if (!number) return std::nullopt;
    operands.push_back(*number);
  }
  return eval_scalar(e.scalar_op, e.type.dtype, operands);
}

// All elements of a nest of such numbers, row-major; false where there is anything else.
bool constants(const typed::Expr& e, std::vector<Scalar>& into) {
  if (auto number = constant_number(e)) {
    into.push_back(*number);
    return true;
  }
  if (e.kind != typed::ExprKind::TensorLiteral || !e.checks.empty()) return false;
  return std::all_of(e.operands.begin(), e.operands.end(), [&](auto& operand) { return constants(*operand, into); });
}

// The numbers of a nest of literals, row-major; false where there is anything else.
bool numbers(const typed::Expr& e, std::vector<const typed::Expr*>& into) {
  if (e.kind != typed::ExprKind::TensorLiteral) {
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
      Attrs attrs;
      attrs.index = static_cast<uint32_t>(shared_.module.tensors.size());
      shared_.module.tensors.push_back(std::move(t));
      // In the outermost region, so that maps find it outside of them.
      return this->at(0).one(Op::ConstTensor, {}, Type::tensor(e.type.dtype, dims(e.type.shape)), std::move(attrs), at);
    }
  }
  Leaves parts;
  std::vector<const typed::Expr*> all;
  if (constant_shape && numbers(e, all) && all.size() > kManyNumbers) {
    for (const typed::Expr* number : all)
      parts.push_back(one(*number));
    const auto count = static_cast<int64_t>(parts.size());
    const Type number = Type::scalar(e.type.dtype);
    Attrs make, join;
    make.ints = {1, count};
    ValueId list = here().one(Op::ListMake, std::move(parts), Type::list({number}), std::move(make), at);
    join.ints = {0, 1}; // stacked along axis 0
    join.index = site("ShapeMismatch", "the elements of the list do not fit together", e.span);
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

// ---- branches
// ---------------------------------------------------------------------------------------------------------

Leaves FunctionLowerer::if_expression(const typed::Expr& e, const Use& use) {
  ValueId condition = one(*e.operands[0]);
  bind_all(e.binds);
  LocId at = loc(e.span);
  std::vector<typed::Join> none;
  bool meet = !e.blocks[0].diverges && !e.blocks[1].diverges;
  auto way = [&](size_t i) -> Leaves {
    Leaves value = block(e.blocks[i]);
    if (dead_) return {};
    if (meet) return as_type(value, e.type);
    // The only way that goes on: what follows stands in it.
    bind_joins(e.joins);
    bind_fresh(e.fresh, e.type, value);
    return use(as_type(value, e.type));
  };
  Leaves result = merge(
      condition, [&] { return way(0); }, [&] { return way(1); }, at);
  if (!meet) return result;
  bind_joins(e.joins);
  return use(result);
}

Leaves FunctionLowerer::merge(ValueId condition, const Rest& then, const Rest& otherwise, LocId at) {
  auto mark = static_cast<uint32_t>(f_.values.size());
  Env before = env_;
  struct Way {
    Region region;
    Env env;
    Leaves value;
    bool dead;
  } ways[2];
  for (int i = 0; i < 2; ++i) {
    env_ = before;
    dead_ = false;
    push(ways[i].region, ScopeKind::Lazy);
    ways[i].value = i == 0 ? then() : otherwise();
    pop();
    ways[i].env = std::move(env_);
    ways[i].dead = dead_;
  }
  env_ = std::move(before);
  dead_ = ways[0].dead && ways[1].dead;

  std::vector<Type> types; // sizes that differ are results of their own, filled in afterwards
  struct Fill {
    size_t result, axis, size;
  };
  std::vector<Fill> fills;
  auto builder = [&](int i) { return Builder(shared_.module, f_, ways[i].region); };
  // One result of the node; a value that only one way has is zeros in the other.
  auto result = [&](ValueId a, ValueId b) -> size_t {
    ValueId values[2] = {a, b};
    for (int i = 0; i < 2; ++i)
      if (!values[i].valid()) {
        Type t = type(values[1 - i]);
        for (Dim& d : t.dims)
          if (!d.is_constant() && !is_outer(d.value, mark)) d = Dim::of(0);
        scopes_.push_back({&ways[i].region, ScopeKind::Lazy, {}});
        values[i] = placeholder(t.is_tensor() ? Type::scalar(t.dtype) : t, t.dims);
        pop();
      }
    Type t = type(values[0]);
    const Type other = type(values[1]);
    std::vector<Fill> mine;
    for (size_t axis = 0; axis < t.dims.size(); ++axis) {
      Dim d = t.dims[axis];
      if (d == other.dims[axis] && (d.is_constant() || is_outer(d.value, mark))) continue;
      mine.push_back({0, axis, types.size()});
      types.push_back(Type::scalar(DType::I64));
      for (int i = 0; i < 2; ++i)
        ways[i].region.yields.push_back(builder(i).size(type(values[i]).dims[axis]));
      t.dims[axis] = Dim::of(0);
    }
    for (Fill fill : mine)
      fills.push_back({types.size(), fill.axis, fill.size});
    types.push_back(t);
    for (int i = 0; i < 2; ++i)
      ways[i].region.yields.push_back(values[i]);
    return types.size() - 1;
  };

  std::map<VarKey, std::vector<std::pair<ValueId, size_t>>> variables; // old or (if invalid) which result
  auto merge_variable = [&](VarKey var) {
    const Leaves* a = ways[0].env.contains(var) ? &ways[0].env[var] : nullptr;
    const Leaves* b = ways[1].env.contains(var) ? &ways[1].env[var] : nullptr;
    if (!a && !b) return;
    if (a && b && *a == *b && (a->empty() || is_outer((*a)[0], mark))) {
      env_[var] = *a;
      return;
    }
    size_t count = a ? a->size() : b->size();
    auto& merged = variables[var];
    for (size_t i = 0; i < count; ++i) {
      ValueId va = a ? (*a)[i] : ValueId{}, vb = b ? (*b)[i] : ValueId{};
      if (va == vb && is_outer(va, mark))
        merged.emplace_back(va, 0);
      else
        merged.emplace_back(ValueId{}, result(va, vb));
    }
  };
  // Where neither way comes back and no loop is around, only the result matters.
  const Callee& callee = callees_.back();
  bool only_result = dead_ && callee.loops.empty();
  std::vector<VarKey> keys;
  for (const auto& [var, leaves] : env_)
    if (!only_result || var == kToken || var == callee.result) keys.push_back(var);
  if (!env_.contains(callee.result)) keys.push_back(callee.result);
  for (VarKey var : keys)
    merge_variable(var);
  std::vector<size_t> value;
  for (size_t i = 0; i < std::max(ways[0].value.size(), ways[1].value.size()); ++i) {
    auto leaf = [&](int w) { return i < ways[w].value.size() ? ways[w].value[i] : ValueId{}; };
    value.push_back(result(leaf(0), leaf(1)));
  }

  std::vector<Region> regions;
  for (Way& way : ways)
    regions.push_back(std::move(way.region));
  NodeId node = here().node(Op::If, {condition}, std::move(types), {}, at, std::move(regions));
  std::vector<ValueId> results = f_[node].results;
  for (const Fill& fill : fills)
    f_[results[fill.result]].type.dims[fill.axis] = Dim::of(results[fill.size]);
  for (const auto& [var, leaves] : variables) {
    Leaves merged;
    for (auto [old, index] : leaves)
      merged.push_back(old.valid() ? old : results[index]);
    for (size_t i = 0; i < merged.size(); ++i)
      if (env_.contains(var) && i < env_[var].size() && f_[merged[i]].name.empty())
        f_[merged[i]].name = std::string(f_[env_[var][i]].name);
    env_[var] = std::move(merged);
  }
  Leaves merged_value;
  for (size_t index : value)
    merged_value.push_back(results[index]);
  return merged_value;
}

// ---- small builders
// ---------------------------------------------------------------------------------------------------

ValueId FunctionLowerer::iota(const Dim& count, LocId at) {
  return here().one(Op::Iota, {}, Type::tensor(DType::I64, {count}), {}, at);
}

ValueId FunctionLowerer::reduce(ReduceOp op, ValueId x, std::vector<int64_t> axes, ValueId mask, LocId at) {
  if (axes.empty() && !mask.valid()) return x;
  Type t{Type::Kind::Tensor, type(x).dtype, {}};
  if (op == ReduceOp::ArgMin || op == ReduceOp::ArgMax) t.dtype = DType::I64;
  for (size_t i = 0; i < type(x).dims.size(); ++i)
    if (!std::count(axes.begin(), axes.end(), static_cast<int64_t>(i))) t.dims.push_back(type(x).dims[i]);
  Attrs attrs;
  attrs.reduce = op;
  attrs.ints = std::move(axes);
  std::vector<ValueId> operands{x};
  if (mask.valid()) operands.push_back(mask);
  return here().one(Op::Reduce, std::move(operands), std::move(t), std::move(attrs), at);
}

ValueId FunctionLowerer::slice(ValueId x, std::vector<ValueId> starts, std::vector<int64_t> steps,
                               std::vector<Dim> sizes, LocId at) {
  Attrs attrs;
  attrs.ints = std::move(steps);
  starts.insert(starts.begin(), x);
  Type t = Type::tensor(type(x).dtype, std::move(sizes));
  return here().one(Op::Slice, std::move(starts), std::move(t), std::move(attrs), at);
}

} // namespace tl::ir

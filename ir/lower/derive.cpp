// Transforms of functions: the function becomes a region, over the leaves that the transform is about. What a
// derivative does not see (integers, texts, fields marked `state`) the region reads from outside.
#include "ir/lower/function.h"
#include <algorithm>

namespace tl::ir {

using typed::Transform;

constexpr const char* kDeclareSize = "declare the size of the function's result, in names of its parameters' sizes or "
                                     "numbers: `-> f64[n]`, not `-> f64[_]`";

Leaves FunctionLowerer::trained(const tl::Type& type, const Leaves& given) {
  std::vector<bool> which = trained_leaves(type);
  Leaves result;
  for (size_t i = 0; i < given.size(); ++i)
    if (which.at(i)) result.push_back(given[i]);
  return result;
}

Leaves FunctionLowerer::with_still_leaves(const tl::Type& t, const Leaves& given, const Leaves& moved) {
  std::vector<bool> which = trained_leaves(t);
  Leaves result;
  size_t next = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    const Type leaf = type(given[i]);
    if (which.at(i))
      result.push_back(moved.at(next++));
    else if (leaf.is_tensor() && has_zero(leaf.dtype))
      result.push_back(splat(here().constant(leaf.dtype, {}), leaf.dims, {}));
    else
      result.push_back(given[i]);
  }
  return result;
}

FunctionLowerer::Derived FunctionLowerer::derived_region(const typed::Expr& e, const std::vector<Leaves>& operands) {
  const auto& transform = e.as<typed::DeriveExpr>();
  const tl::Type& result = transform.body.result->type;
  // Sizes that can be told outside are the same values inside.
  for (const tl::Type& leaf : leaf_types(result))
    for (const Size& size : leaf.shape)
      if (knows(size)) (void)dim(size);
  Derived derived;
  auto mark = static_cast<uint32_t>(f_.values.size());
  Env outside = env_;
  push(derived.region, ScopeKind::Lazy);
  const bool of_rows = transform.transform == Transform::Vmap;
  size_t params = std::min(transform.params.size(), operands.size());
  for (size_t k = 0; k < params; ++k) {
    const tl::Type& t = shared_.program.variables[transform.params[k].index].type;
    std::vector<bool> which = trained_leaves(t);
    Leaves leaves = operands[k];
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!which.at(i) && !of_rows) continue;
      Type leaf = type(leaves[i]);
      if (of_rows) leaf.dims.erase(leaf.dims.begin());
      leaves[i] = here().param(std::move(leaf), shared_.program.variables[transform.params[k].index].name);
    }
    env_[transform.params[k].index] = std::move(leaves);
  }
  ValueId before = env_.contains(kToken) ? token() : ValueId{};
  derived.y = as_type(block(transform.body, [](const Leaves& value) { return value; }), result);
  derived.effects = before.valid() && token() != before;
  if (derived.effects) {
    derived.region.yields.push_back(token());
    derived.results.push_back(Type::token());
  }
  pop();
  env_ = std::move(outside);
  std::vector<Type> types;
  for (ValueId leaf : derived.y) {
    types.push_back(type(leaf));
    for (const Dim& size : types.back().dims)
      if (!size.is_constant() && !is_outer(size.value, mark) &&
          !std::count(derived.own.begin(), derived.own.end(), size)) {
        derived.own.push_back(size);
        derived.region.yields.push_back(size.value);
        derived.results.push_back(Type::scalar(DType::I64));
      }
  }
  derived.region.yields.insert(derived.region.yields.end(), derived.y.begin(), derived.y.end());
  derived.results.insert(derived.results.end(), types.begin(), types.end());
  return derived;
}

Leaves FunctionLowerer::derived_results(const typed::Expr& e, const Derived& derived, NodeId node) {
  std::vector<ValueId> results = f_[node].results;
  size_t first = derived.effects ? 1 : 0;
  if (derived.effects) set_token(results[0]);
  size_t begin = first + derived.own.size();
  Leaves y(results.begin() + static_cast<long>(begin), results.begin() + static_cast<long>(begin + derived.y.size()));
  std::vector<tl::Type> types = leaf_types(e.as<typed::DeriveExpr>().body.result->type);
  for (size_t i = 0; i < y.size(); ++i)
    for (size_t axis = 0; axis < f_[y[i]].type.dims.size(); ++axis) {
      Dim& size = f_[y[i]].type.dims[axis];
      auto own = std::find(derived.own.begin(), derived.own.end(), size);
      if (own == derived.own.end()) continue;
      size = Dim::of(results[first + static_cast<size_t>(own - derived.own.begin())]);
      const Size& named = types[i].shape[axis];
      if (!knows(named)) scopes_.back().sizes[named] = size.value;
    }
  return y;
}

Leaves FunctionLowerer::derive(const typed::Expr& e) {
  std::vector<Leaves> operands;
  for (const typed::ExprPtr& operand : e.operands)
    operands.push_back(expr(*operand));
  bind_all(e.binds);
  Leaves result;
  switch (e.as<typed::DeriveExpr>().transform) {
  case Transform::Vjp: result = derive_vjp(e, operands); break;
  case Transform::Jvp: result = derive_jvp(e, operands); break;
  case Transform::Vmap: result = derive_vmap(e, operands); break;
  case Transform::Jacobian: result = derive_jacobian(e, operands); break;
  case Transform::Checkpoint:
  case Transform::CustomVjp: result = derive_block(e, operands); break;
  }
  return as_type(std::move(result), e.type);
}

Leaves FunctionLowerer::derive_vjp(const typed::Expr& e, const std::vector<Leaves>& operands) {
  LocId at = loc(e.span);
  size_t count = e.as<typed::DeriveExpr>().params.size();
  std::vector<Leaves> given(operands.begin(), operands.begin() + static_cast<long>(count));
  const tl::Type& y_type = e.as<typed::DeriveExpr>().body.result->type;
  Derived derived = derived_region(e, given);
  std::vector<ValueId> inputs;
  std::vector<Type> results = derived.results;
  for (size_t k = 0; k < count; ++k)
    for (ValueId leaf : trained(e.operands[k]->type, given[k])) {
      inputs.push_back(leaf);
      results.push_back(type(leaf));
    }
  VjpAttrs attrs{derived.effects, e.as<typed::DeriveExpr>().without_effects, static_cast<uint32_t>(inputs.size()), {}};
  size_t trained_count = inputs.size();
  auto position = static_cast<int64_t>(derived.own.size());
  if (operands.size() > count) {
    std::vector<bool> which = trained_leaves(y_type);
    for (size_t i = 0; i < which.size(); ++i)
      if (which[i]) {
        inputs.push_back(operands[count].at(i));
        attrs.outputs.push_back(position + static_cast<int64_t>(i));
      }
  } else {
    inputs.push_back(constant(type(derived.y.at(0)).dtype, 1));
    attrs.outputs.push_back(position);
  }
  std::vector<Region> regions;
  regions.push_back(std::move(derived.region));
  NodeId node = here().node(Op::Vjp, std::move(inputs), std::move(results), std::move(attrs), at, std::move(regions));
  Leaves result = derived_results(e, derived, node);
  std::vector<ValueId> all = f_[node].results;
  Leaves moved(all.end() - static_cast<long>(trained_count), all.end());
  for (size_t k = 0; k < count; ++k) {
    size_t own = trained(e.operands[k]->type, given[k]).size();
    Leaves mine(moved.begin(), moved.begin() + static_cast<long>(own));
    moved.erase(moved.begin(), moved.begin() + static_cast<long>(own));
    mine = with_still_leaves(e.operands[k]->type, given[k], mine);
    result.insert(result.end(), mine.begin(), mine.end());
  }
  return result;
}

Leaves FunctionLowerer::derive_jvp(const typed::Expr& e, const std::vector<Leaves>& operands) {
  LocId at = loc(e.span);
  size_t count = e.as<typed::DeriveExpr>().params.size();
  std::vector<Leaves> given(operands.begin(), operands.begin() + static_cast<long>(count));
  const tl::Type& y_type = e.as<typed::DeriveExpr>().body.result->type;
  Derived derived = derived_region(e, given);
  std::vector<ValueId> inputs, tangents;
  for (size_t k = 0; k < count; ++k) {
    for (ValueId leaf : trained(e.operands[k]->type, given[k]))
      inputs.push_back(leaf);
    for (ValueId leaf : trained(e.operands[k]->type, operands.at(count + k)))
      tangents.push_back(leaf);
  }
  JvpAttrs attrs{derived.effects, static_cast<uint32_t>(inputs.size()), {}};
  inputs.insert(inputs.end(), tangents.begin(), tangents.end());
  std::vector<Type> results = derived.results;
  std::vector<bool> which = trained_leaves(y_type);
  for (size_t i = 0; i < which.size(); ++i)
    if (which[i]) {
      attrs.outputs.push_back(static_cast<int64_t>(derived.own.size() + i));
      results.push_back(type(derived.y.at(i)));
    }
  size_t moved_count = attrs.outputs.size();
  std::vector<Region> regions;
  regions.push_back(std::move(derived.region));
  NodeId node = here().node(Op::Jvp, std::move(inputs), std::move(results), std::move(attrs), at, std::move(regions));
  Leaves result = derived_results(e, derived, node);
  std::vector<ValueId> all = f_[node].results;
  Leaves moved(all.end() - static_cast<long>(moved_count), all.end());
  size_t next = 0;
  for (size_t i = 0; i < which.size(); ++i)
    if (which[i]) f_[moved[next++]].type.dims = std::vector<Dim>(type(result.at(i)).dims);
  Leaves dy = with_still_leaves(y_type, result, moved);
  result.insert(result.end(), dy.begin(), dy.end());
  return result;
}

Leaves FunctionLowerer::derive_vmap(const typed::Expr& e, const std::vector<Leaves>& operands) {
  LocId at = loc(e.span);
  Dim count = dim(e.as<typed::DeriveExpr>().count);
  std::vector<Leaves> given = operands;
  for (Leaves& leaves : given)
    for (ValueId& leaf : leaves) {
      std::vector<Dim> wanted = type(leaf).dims;
      wanted.at(0) = count;
      leaf = retyped(leaf, wanted);
    }
  Derived derived = derived_region(e, given);
  if (derived.effects) unsupported("a function with effects under `vmap`", e.span);
  if (!derived.own.empty())
    unsupported("`vmap` of a function whose result has a size that only its values tell", e.span, kDeclareSize);
  std::vector<ValueId> inputs{here().size(count)};
  VmapAttrs attrs;
  for (const Leaves& leaves : given)
    for (ValueId leaf : leaves) {
      inputs.push_back(leaf);
      attrs.has_batch_axis.push_back(1);
    }
  for (Type& t : derived.results)
    t.dims.insert(t.dims.begin(), count);
  std::vector<Region> regions;
  regions.push_back(std::move(derived.region));
  NodeId node =
      here().node(Op::Vmap, std::move(inputs), std::move(derived.results), std::move(attrs), at, std::move(regions));
  return f_[node].results;
}

// One row for each element of y: the cotangent that is 1 there and 0 elsewhere, taken back.
Leaves FunctionLowerer::derive_jacobian(const typed::Expr& e, const std::vector<Leaves>& operands) {
  LocId at = loc(e.span);
  const tl::Type& y_type = e.as<typed::DeriveExpr>().body.result->type;
  for (const Size& size : y_type.shape)
    if (!knows(size))
      unsupported("the jacobian of a function whose result has a size that only its values tell", e.span, kDeclareSize);
  ValueId x = operands.at(0).at(0);
  const Type x_type = type(x);
  std::vector<Dim> y_dims = dims(y_type.shape);
  Dim count = product(y_dims);
  ValueId numbers = iota(count, at);
  std::vector<Dim> square{count, count};
  auto along = [&](int64_t axis) {
    return here().one(Op::Broadcast, {numbers}, Type::tensor(DType::I64, square), AxesAttrs{{axis}}, at);
  };
  ValueId rows = along(0), columns = along(1);
  ValueId basis = convert(elementwise(ScalarOp::Eq, {rows, columns}, square, at), y_type.dtype, at);
  std::vector<Dim> basis_dims = y_dims;
  basis_dims.insert(basis_dims.begin(), count);
  basis = retyped(basis, basis_dims);

  Region body;
  push(body, ScopeKind::Lazy);
  ValueId seed = here().param(Type::tensor(y_type.dtype, y_dims));
  Derived derived = derived_region(e, operands);
  if (derived.effects) unsupported("the jacobian of a function with effects", e.span);
  std::vector<Type> results = derived.results;
  results.push_back(x_type);
  std::vector<Region> regions;
  regions.push_back(std::move(derived.region));
  NodeId node =
      here().node(Op::Vjp, {x, seed}, std::move(results), VjpAttrs{false, false, 1, {0}}, at, std::move(regions));
  body.yields = {f_[node].results.back()};
  pop();

  Type rows_type = x_type;
  rows_type.dims.insert(rows_type.dims.begin(), count);
  std::vector<Region> bodies;
  bodies.push_back(std::move(body));
  std::vector<Type> stacked;
  stacked.push_back(std::move(rows_type));
  NodeId all = here().node(Op::Vmap, {here().size(count), basis}, std::move(stacked), VmapAttrs{false, {1}}, at,
                           std::move(bodies));
  std::vector<Dim> shape = y_dims;
  shape.insert(shape.end(), x_type.dims.begin(), x_type.dims.end());
  return {retyped(f_[all].results[0], shape)};
}

Leaves FunctionLowerer::derive_block(const typed::Expr& e, const std::vector<Leaves>& operands) {
  LocId at = loc(e.span);
  Derived derived = derived_region(e, operands);
  const auto& transform = e.as<typed::DeriveExpr>();
  bool custom = transform.transform == Transform::CustomVjp;
  std::vector<ValueId> inputs;
  for (size_t k = 0; k < operands.size(); ++k)
    for (ValueId leaf : trained(e.operands[k]->type, operands[k]))
      inputs.push_back(leaf);
  std::vector<Region> regions(1);
  if (custom) {
    if (derived.effects) unsupported("a function with effects under `custom_vjp`", e.span);
    if (!derived.own.empty())
      unsupported("`custom_vjp` of a function whose result has a size that only its values tell", e.span);
    Env outside = env_;
    Region rule;
    push(rule, ScopeKind::Lazy);
    for (size_t k = 0; k < operands.size(); ++k) {
      std::vector<bool> which = trained_leaves(e.operands[k]->type);
      Leaves leaves = operands[k];
      for (size_t i = 0; i < leaves.size(); ++i)
        if (which.at(i)) leaves[i] = here().param(Type(type(leaves[i])));
      env_[transform.params.at(operands.size() + k).index] = std::move(leaves);
    }
    const tl::Type& y_type = e.as<typed::DeriveExpr>().body.result->type;
    Leaves y, dy;
    for (ValueId leaf : derived.y)
      y.push_back(here().param(Type(type(leaf))));
    for (ValueId leaf : trained(y_type, derived.y))
      dy.push_back(here().param(Type(type(leaf))));
    env_[transform.params.at(2 * operands.size()).index] = y;
    env_[transform.params.at(2 * operands.size() + 1).index] = with_still_leaves(y_type, y, dy);
    const tl::Type& dx_type = transform.rule->result->type;
    ValueId before = env_.contains(kToken) ? token() : ValueId{};
    Leaves dx = as_type(block(*transform.rule, [](const Leaves& value) { return value; }), dx_type);
    if (before.valid() && token() != before) unsupported("a derivative with effects in `custom_vjp`", e.span);
    Leaves moved;
    size_t next = 0;
    for (size_t k = 0; k < operands.size(); ++k) {
      size_t n = operands[k].size();
      Leaves mine(dx.begin() + static_cast<long>(next), dx.begin() + static_cast<long>(next + n));
      next += n;
      for (ValueId leaf : trained(e.operands[k]->type, mine))
        moved.push_back(leaf);
    }
    for (size_t i = 0; i < moved.size(); ++i)
      moved[i] = retyped(moved[i], std::vector<Dim>(type(inputs.at(i)).dims));
    rule.yields = std::move(moved);
    pop();
    env_ = std::move(outside);
    regions.push_back(std::move(rule));
  }
  regions[0] = std::move(derived.region);
  NodeId node = here().node(custom ? Op::CustomVjp : Op::Checkpoint, std::move(inputs),
                            std::vector<Type>(derived.results), TokenAttrs{derived.effects}, at, std::move(regions));
  return derived_results(e, derived, node);
}

} // namespace tl::ir

#include "passes/derive/forward.h"
#include "ir/graph/op_info.h"
#include "passes/derive/derive.h"
#include "passes/derive/linalg_rules.h"
#include "passes/derive/partials.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl {
using namespace ir;

void Forward::run(Region& r, const std::vector<std::pair<ValueId, ValueId>>& inputs) {
  for (auto [value, moved] : inputs) {
    moving_.start(value);
    tangents_[value.index] = moved;
  }
  moving_.find(r.nodes);
  region(r);
}

ValueId Forward::tangent(ValueId value, Region& r, LocId loc) {
  Emit e(module_, f_, r, loc);
  return or_zero(e, value);
}

ValueId Forward::or_zero(Emit& e, ValueId value) {
  ValueId known = of(value);
  if (known.valid()) return known;
  if (type(value).is_list()) return e.still(value);
  return e.zeros(Type(type(value)));
}

void Forward::region(Region& r) {
  std::vector<NodeId> nodes = std::move(r.nodes);
  r.nodes.clear();
  for (NodeId id : nodes)
    node(id, r);
}

void Forward::node(NodeId id, Region& r) {
  Emit e(module_, f_, r, f_[id].loc);
  bool wanted = false;
  for (ValueId v : f_[id].results)
    wanted = wanted || (moves(v) && !of(v).valid()); // the inputs have theirs
  if (!wanted) {
    r.nodes.push_back(id);
    return;
  }
  switch (f_[id].op) {
  case Op::If: return branches(id, e);
  case Op::For:
  case Op::While: return loop(id, e);
  default: break;
  }
  r.nodes.push_back(id);
  const Node node = f_[id];
  ValueId result;
  switch (node.op) {
  case Op::Elementwise: {
    std::vector<bool> moving;
    for (ValueId v : node.operands)
      moving.push_back(moves(v));
    for (size_t i = 0; i < node.operands.size(); ++i) {
      ValueId d = of(node.operands[i]);
      if (!d.valid()) continue;
      if (type(d).dims.empty()) d = e.splat(d, std::vector<Dim>(type(node.results[0]).dims));
      ValueId part =
          scaled_partial(e, node.as<ElementwiseAttrs>().op, node.operands, node.results[0], i, d, moving, true);
      if (part.valid()) result = result.valid() ? e.add(result, part) : part;
    }
    break;
  }
  case Op::Convert:
  case Op::Broadcast:
  case Op::Reshape:
  case Op::Transfer:
  case Op::Place:
  case Op::AllReduce:
  case Op::BroadcastFrom:
  case Op::Transpose:
  case Op::Slice:
  case Op::Index:
  case Op::Gather: result = linear(e, node, 1); break;
  case Op::Pad:
  case Op::Update: result = linear(e, node, 2); break;
  case Op::Concat: result = linear(e, node, node.operands.size()); break;
  case Op::Scatter: {
    Node moved = node;
    moved.operands[0] = or_zero(e, node.operands[0]);
    moved.operands[2] = or_zero(e, node.operands[2]);
    result = e.builder().one(Op::Scatter, moved.operands, Type(type(node.results[0])), node.attrs, node.loc);
    break;
  }
  case Op::Guard: result = of(node.operands[0]); break;
  case Op::Wait:
    for (size_t i = 1; i < node.results.size(); ++i)
      if (ValueId d = of(node.operands[i]); d.valid()) tangents_[node.results[i].index] = d;
    return;
  case Op::Debug: tangents_[node.results[1].index] = of(node.operands[1]); return;
  case Op::Reduce: result = reduction(e, node); break;
  case Op::Scan: result = scan(e, node); break;
  case Op::Sort: result = sort(e, node); break;
  case Op::Contract:
    for (size_t k = 0; k < 2; ++k) {
      ValueId d = of(node.operands[k]);
      if (!d.valid()) continue;
      std::vector<ValueId> operands = node.operands;
      operands[k] = d;
      ValueId part = e.builder().one(Op::Contract, operands, Type(type(node.results[0])), node.attrs, node.loc);
      result = result.valid() ? e.add(result, part) : part;
    }
    break;
  case Op::Linalg: {
    const auto& a = node.as<LinalgAttrs>();
    Decomposition made{a.op, a.site, node.operands, node.results};
    std::vector<ValueId> dx;
    for (ValueId v : node.operands)
      dx.push_back(of(v));
    std::vector<ValueId> dy = linalg_tangents(e, made, dx, node.loc);
    for (size_t i = 0; i < dy.size(); ++i)
      if (dy[i].valid()) tangents_[node.results[i].index] = dy[i];
    return;
  }
  case Op::CustomVjp:
    throw NotDifferentiable("a function under `custom_vjp` has no derivative in forward mode", node.loc);
  case Op::Call: throw NotDifferentiable("the derivative of a function that calls itself is not known", node.loc);
  case Op::ListMake:
  case Op::ListGet:
  case Op::ListSet:
  case Op::ListAppend:
  case Op::ListConcat:
  case Op::ListSlice:
  case Op::ListJoin: return list(e, node);
  default: throw NotDifferentiable(fmt::format("the derivative of `{}` is not known", name_of(node.op)), node.loc);
  }
  if (result.valid()) tangents_[node.results[0].index] = result;
}

// The same operation on lists of tangents. What never moves in them is as it is in the values.
void Forward::list(Emit& e, const Node& node) {
  size_t lists = node.op == Op::ListMake ? 0 : node.op == Op::ListConcat ? 2 : 1;
  size_t first = node.op == Op::ListMake ? 0 : node.op == Op::ListAppend ? 1 : node.op == Op::ListSet ? 2 : SIZE_MAX;
  std::vector<ValueId> operands = node.operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Type t = type(operands[i]);
    if (i < lists || (i >= first && Moving::can(t)))
      operands[i] = or_zero(e, operands[i]);
    else if (i >= first && t.is_tensor() && has_zero(t.dtype))
      operands[i] = e.splat(e.builder().constant(t.dtype, {}), t.dims);
  }
  if (node.op == Op::ListGet) {
    std::vector<ValueId> leaves = e.element(operands[0], operands[1]);
    for (size_t k = 0; k < leaves.size(); ++k)
      if (moves(node.results[k]))
        tangents_[node.results[k].index] = e.reshape(leaves[k], std::vector<Dim>(type(node.results[k]).dims));
    return;
  }
  std::vector<Type> types;
  for (ValueId v : node.results)
    types.push_back(type(v));
  NodeId copy = e.builder().node(node.op, std::move(operands), std::move(types), node.attrs, node.loc);
  const std::vector<ValueId> results = f_[copy].results;
  if (node.op == Op::ListJoin) {
    for (size_t axis = 0; axis + 1 < results.size(); ++axis)
      f_[results[0]].type.dims[axis] = Dim::of(results[axis + 1]);
    tangents_[node.results[0].index] = e.reshape(results[0], std::vector<Dim>(type(node.results[0]).dims));
  } else {
    tangents_[node.results[0].index] = results[0];
  }
}

ValueId Forward::linear(Emit& e, const Node& node, size_t operands) {
  std::vector<ValueId> moved = node.operands;
  for (size_t i = 0; i < operands; ++i)
    moved[i] = or_zero(e, node.operands[i]);
  return e.builder().one(node.op, std::move(moved), Type(type(node.results[0])), node.attrs, node.loc);
}

ValueId Forward::reduction(Emit& e, const Node& node) {
  ValueId x = node.operands[0], d = of(x);
  bool masked = node.operands.size() > 1;
  if (masked) d = e.where(node.operands[1], d, 0);
  const auto& [op, axes] = node.as<ReduceAttrs>();
  switch (op) {
  case ReduceOp::Sum: return e.reduce(ReduceOp::Sum, d, axes);
  case ReduceOp::Prod: {
    ValueId value = masked ? e.where(node.operands[1], x, 1) : x;
    return e.reduce(ReduceOp::Sum, e.mul(d, products_of_others(e, value, axes)), axes);
  }
  case ReduceOp::Min:
  case ReduceOp::Max: {
    ValueId first = is_first_extreme(e, op, x, masked ? node.operands[1] : ValueId{}, axes);
    return first.valid() ? e.reduce(ReduceOp::Sum, e.where(first, d, 0), axes) : d;
  }
  case ReduceOp::Any:
  case ReduceOp::All:
  case ReduceOp::ArgMin:
  case ReduceOp::ArgMax: break; // no floats: nothing moves
  }
  return {};
}

// y_i = y_{i-1} x_i, so dy_i = dy_{i-1} x_i + y_{i-1} dx_i, row by row.
void Forward::branches(NodeId id, Emit& e) {
  std::vector<size_t> moving;
  std::vector<Type> types;
  const std::vector<ValueId> results = f_[id].results;
  for (size_t i = 0; i < results.size(); ++i)
    if (moves(results[i])) moving.push_back(i);
  for (size_t k = 0; k < 2; ++k) {
    Region branch = std::move(f_[id].regions[k]);
    region(branch);
    Emit inside(module_, f_, branch, f_[id].loc);
    for (size_t i : moving)
      branch.yields.push_back(or_zero(inside, branch.yields[i]));
    f_[id].regions[k] = std::move(branch);
  }
  for (size_t i : moving) {
    ValueId added{static_cast<uint32_t>(f_.values.size())};
    f_.values.push_back({Type(type(results[i])), id, static_cast<uint32_t>(f_[id].results.size()), {}});
    f_[id].results.push_back(added);
    tangents_[results[i].index] = added;
  }
  e.builder().region().nodes.push_back(id);
}

void Forward::loop(NodeId id, Emit& e) {
  bool is_for = f_[id].op == Op::For;
  size_t first = is_for ? 1 : 0;
  const std::vector<ValueId> results = f_[id].results, operands = f_[id].operands;
  std::vector<size_t> moving;
  std::vector<ValueId> initial;
  for (size_t i = 0; i < results.size(); ++i)
    if (moves(results[i])) {
      moving.push_back(i);
      ValueId start = operands[i + (is_for ? 3 : 0)];
      initial.push_back(or_zero(e, start));
    }
  size_t count = f_[id].regions.size();
  for (size_t k = 0; k < count; ++k) {
    Region body = std::move(f_[id].regions[k]);
    Emit inside(module_, f_, body, f_[id].loc);
    bool condition = !is_for && k == 0;
    for (size_t i : moving) {
      ValueId param = body.params[i + first];
      ValueId added = inside.builder().param(Type(type(param)));
      if (!condition) tangents_[param.index] = added;
    }
    if (!condition) {
      region(body);
      for (size_t i : moving)
        body.yields.push_back(or_zero(inside, body.yields[i]));
    }
    f_[id].regions[k] = std::move(body);
  }
  f_[id].operands.insert(f_[id].operands.end(), initial.begin(), initial.end());
  for (size_t i : moving) {
    ValueId added{static_cast<uint32_t>(f_.values.size())};
    f_.values.push_back({Type(type(results[i])), id, static_cast<uint32_t>(f_[id].results.size()), {}});
    f_[id].results.push_back(added);
    tangents_[results[i].index] = added;
  }
  e.builder().region().nodes.push_back(id);
}

} // namespace tl

// Rules about views. The one form: scalars are operands as they are (splats), what a Broadcast repeats is computed
// before it, a view that only adds or removes axes of size 1 is a Reshape and moves towards the uses, chains of one
// kind are one.
#include "passes/fuse/views.h"
#include "passes/simplify/simplify.h"
#include <algorithm>

namespace tl {
using namespace ir;
namespace {

using Result = std::optional<ValueId>;

const Node* producer(const Function& f, ValueId value, Op op) {
  const Node* node = producer_of(f, value);
  return node && node->op == op ? node : nullptr;
}

Result same_view(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  ValueId x = node.operands[0];
  if (!(f[x].type == f[node.results[0]].type)) return {};
  size_t rank = f[x].type.dims.size();
  switch (node.op) {
  case Op::Reshape:
  case Op::Broadcast: return x;
  case Op::Transpose:
    for (size_t i = 0; i < rank; ++i)
      if (node.as<AxesAttrs>().axes[i] != static_cast<int64_t>(i)) return {};
    return x;
  case Op::Slice:
    for (size_t i = 0; i < rank; ++i)
      if (node.as<StepsAttrs>().steps[i] != 1 || integer_of(f, node.operands[1 + i]) != 0) return {};
    return x;
  case Op::Pad:
    for (size_t i = 0; i < rank; ++i)
      if (integer_of(f, node.operands[2 + i]) != 0) return {};
    return x;
  case Op::Concat: return node.operands.size() == 1 ? Result(x) : Result();
  case Op::Index: return node.operands.size() == 1 ? Result(x) : Result();
  default: return {};
  }
}

Result reshape_twice(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  const Node* inner = producer(f, node.operands[0], Op::Reshape);
  if (!inner) return {};
  return edit.one(Op::Reshape, {inner->operands[0]}, f[node.results[0]].type, {}, node.loc);
}

Result reshape_scalar(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  if (!f[node.operands[0]].type.is_scalar()) return {};
  return edit.one(Op::Broadcast, {node.operands[0]}, f[node.results[0]].type, AxesAttrs{}, node.loc);
}

Result transpose_twice(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  const Node* inner = producer(f, node.operands[0], Op::Transpose);
  if (!inner) return {};
  AxesAttrs attrs;
  for (int64_t axis : node.as<AxesAttrs>().axes)
    attrs.axes.push_back(inner->as<AxesAttrs>().axes[static_cast<size_t>(axis)]);
  return edit.one(Op::Transpose, {inner->operands[0]}, f[node.results[0]].type, attrs, node.loc);
}

// Other names of its sizes move towards where x comes from, so that they do not stand between a view and what reads it.
Result rename_transposed(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  const Node* inner = producer(f, node.operands[0], Op::Transpose);
  const std::vector<Dim>& to = f[node.results[0]].type.dims;
  if (!inner || !only_names_differ(f, node.operands[0], to)) return {};
  const AxesAttrs axes = inner->as<AxesAttrs>();
  const ValueId x = inner->operands[0];
  const LocId loc = node.loc, inner_loc = inner->loc;
  Type type = f[node.results[0]].type, before = type;
  for (size_t i = 0; i < to.size(); ++i)
    before.dims[static_cast<size_t>(axes.axes[i])] = to[i];
  return edit.one(Op::Transpose, {edit.one(Op::Reshape, {x}, before, {}, loc)}, type, axes, inner_loc);
}

// And so do checks.
Result guard_transposed(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  const Node* inner = producer(f, node.operands[0], Op::Transpose);
  if (!inner || !f[node.operands[1]].type.is_scalar()) return {};
  const AxesAttrs axes = inner->as<AxesAttrs>();
  const LocId loc = node.loc, inner_loc = inner->loc;
  const Type type = f[node.results[0]].type;
  std::vector<ValueId> operands = node.operands;
  operands[0] = inner->operands[0];
  const Type before = f[operands[0]].type;
  const Attrs attrs = node.attrs;
  return edit.one(Op::Transpose, {edit.one(Op::Guard, std::move(operands), before, attrs, loc)}, type, axes, inner_loc);
}

Result transpose_broadcast(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  const Node* inner = producer(f, node.operands[0], Op::Broadcast);
  if (!inner || inner->as<AxesAttrs>().axes.size() > 1) return {};
  const std::vector<int64_t>& axes = node.as<AxesAttrs>().axes;
  AxesAttrs attrs;
  for (int64_t axis : inner->as<AxesAttrs>().axes)
    for (size_t i = 0; i < axes.size(); ++i)
      if (axes[i] == axis) attrs.axes.push_back(static_cast<int64_t>(i));
  return edit.one(Op::Broadcast, {inner->operands[0]}, f[node.results[0]].type, attrs, node.loc);
}

// A Transpose that moves only axes of size 1.
Result transpose_of_ones(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  const auto& dims = f[node.operands[0]].type.dims;
  int64_t last = -1;
  for (int64_t axis : node.as<AxesAttrs>().axes) {
    if (dims[static_cast<size_t>(axis)] == Dim::of(1)) continue;
    if (axis < last) return {};
    last = axis;
  }
  return edit.one(Op::Reshape, {node.operands[0]}, f[node.results[0]].type, {}, node.loc);
}

Result broadcast_twice(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  const std::vector<int64_t>& axes = node.as<AxesAttrs>().axes;
  AxesAttrs attrs;
  ValueId x;
  if (const Node* inner = producer(f, node.operands[0], Op::Broadcast)) {
    x = inner->operands[0];
    for (int64_t axis : inner->as<AxesAttrs>().axes)
      attrs.axes.push_back(axes[static_cast<size_t>(axis)]);
  } else if (const Node* reshape = producer(f, node.operands[0], Op::Reshape)) {
    x = reshape->operands[0];
    auto kept = inserted_ones(f[x].type.dims, f[node.operands[0]].type.dims);
    if (!kept) return {};
    for (int64_t axis : *kept)
      attrs.axes.push_back(axes[static_cast<size_t>(axis)]);
  } else {
    return {};
  }
  return edit.one(Op::Broadcast, {x}, f[node.results[0]].type, attrs, node.loc);
}

Result broadcast_to_ones(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  const auto& from = f[node.operands[0]].type.dims;
  const auto& to = f[node.results[0]].type.dims;
  if (from.empty() || from.size() == to.size() || !inserted_ones(from, to)) return {};
  // Every axis of x keeps its size, and the others are 1.
  std::vector<bool> taken(to.size());
  for (size_t i = 0; i < from.size(); ++i) {
    size_t axis = static_cast<size_t>(node.as<AxesAttrs>().axes[i]);
    if (!(from[i] == to[axis])) return {};
    taken[axis] = true;
  }
  for (size_t i = 0; i < to.size(); ++i)
    if (!taken[i] && !(to[i] == Dim::of(1))) return {};
  return edit.one(Op::Reshape, {node.operands[0]}, f[node.results[0]].type, {}, node.loc);
}

// Elementwise, Convert: an operand that is a broadcast scalar, beside one with the result's sizes -> the scalar.
Result splat(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  std::vector<ValueId> operands = node.operands;
  size_t whole = 0, splats = 0;
  for (ValueId& x : operands) {
    if (f[x].type.is_scalar()) continue;
    const Node* inner = producer(f, x, Op::Broadcast);
    if (inner && f[inner->operands[0]].type.is_scalar()) {
      x = inner->operands[0];
      ++splats;
    } else {
      ++whole;
    }
  }
  if (!splats || !whole) return {};
  return edit.one(node.op, std::move(operands), f[node.results[0]].type, Attrs(node.attrs), node.loc);
}

// f(view(a), view(b), scalar) -> view(f(a, b, scalar)), where the views are the same: Broadcasts, or Reshapes that add
// or remove axes of size 1.
Result past_view(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  const Type& type = f[node.results[0]].type;
  const Node* view = nullptr;
  std::vector<ValueId> operands = node.operands;
  for (ValueId& x : operands) {
    if (f[x].type.is_scalar()) continue;
    const Node* inner = producer_of(f, x);
    if (!inner || (inner->op != Op::Broadcast && inner->op != Op::Reshape)) return {};
    ValueId source = inner->operands[0];
    if (inner->op == Op::Reshape && !only_ones_differ(f[source].type.dims, f[x].type.dims)) return {};
    if (view && (view->op != inner->op || view->attrs != inner->attrs || !same_dims(f, view->operands[0], source)))
      return {};
    view = inner;
    x = source;
  }
  if (!view) return {};
  Op op = view->op;
  Attrs attrs = view->attrs;
  Type small = type;
  small.dims = f[view->operands[0]].type.dims;
  Type whole = type;
  LocId loc = node.loc;
  ValueId value = edit.one(node.op, std::move(operands), small, Attrs(node.attrs), loc);
  return edit.one(op, {value}, whole, attrs, loc);
}

Result index_twice(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  const Node* inner = producer(f, node.operands[0], Op::Index);
  if (!inner) return {};
  std::vector<ValueId> operands = inner->operands;
  operands.insert(operands.end(), node.operands.begin() + 1, node.operands.end());
  return edit.one(Op::Index, std::move(operands), f[node.results[0]].type, {}, node.loc);
}

// Subscripts are checked before.
Result gather_iota(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  return producer(f, node.operands[0], Op::Iota) ? Result(node.operands[1]) : Result();
}

// What does not depend on where it is read still fails where the subscript is out of range.
Result index_known(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  if (node.operands.size() < 2) return {};
  if (producer(f, node.operands[0], Op::Iota)) return node.operands[1];
  const Node* inner = producer(f, node.operands[0], Op::Broadcast);
  if (!inner || !f[inner->operands[0]].type.is_scalar() || !f[node.results[0]].type.is_scalar()) return {};
  ValueId value = inner->operands[0];
  const std::vector<ValueId> subscripts(node.operands.begin() + 1, node.operands.end());
  for (ValueId subscript : subscripts)
    if (!producer(f, subscript, Op::Guard) && !cannot_fail(f, subscript)) return {};
  for (ValueId subscript : subscripts) {
    const Node* guard = producer(f, subscript, Op::Guard);
    if (!guard) continue;
    std::vector<ValueId> operands = guard->operands;
    operands[0] = value;
    const LocId loc = guard->loc;
    value = edit.one(Op::Guard, std::move(operands), Type(f[value].type), Attrs(guard->attrs), loc);
  }
  return value;
}

// A reduction over axes of size 1, or none, that gives the element itself.
Result reduce_ones(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  const auto& [op, axes] = node.as<ReduceAttrs>();
  ValueId x = node.operands[0];
  if (node.operands.size() != 1 || gives_position(op)) return {};
  for (int64_t axis : axes)
    if (!(f[x].type.dims[static_cast<size_t>(axis)] == Dim::of(1))) return {};
  if (axes.empty()) return x;
  if (f[node.results[0]].type.is_scalar()) return {}; // stays a reduction: no view gives a scalar
  return edit.one(Op::Reshape, {x}, f[node.results[0]].type, {}, node.loc);
}

Result reduce_all(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  if (node.operands.size() != 2) return {};
  const Node* mask = producer(f, node.operands[1], Op::Broadcast);
  if (!mask) return {};
  auto value = constant_of(f, mask->operands[0]);
  if (!value || !value->as<uint8_t>()) return {};
  return edit.one(Op::Reduce, {node.operands[0]}, f[node.results[0]].type, Attrs(node.attrs), node.loc);
}

// A product whose elements would be written one by one, or whose factor would be read so: as it lies in memory,
// products first, then rows, then columns in their factor's order, and then transposed. So it is where the last axis
// counts products, unless both factors lie along that; and where it is an axis of a factor that lies along another one
// of the result, if there are several products, or that factor's axes are one.
Result in_order_of_factors(Edit& edit, NodeId id) {
  const Function& f = edit.function();
  const Node& node = f[id];
  const auto& [lhs, rhs, result] = node.as<ContractAttrs>();
  const Type type = f[node.results[0]].type;
  using Labels = std::vector<int64_t>;
  auto has = [](const Labels& labels, int64_t label) { return std::count(labels.begin(), labels.end(), label) > 0; };
  auto is_product = [&](int64_t label) { return has(lhs, label) && has(rhs, label); };
  Labels products, left, right; // without those of one element
  for (const auto& [into, from] : {std::pair{&products, &result}, std::pair{&left, &lhs}, std::pair{&right, &rhs}})
    for (int64_t label : *from) {
      const auto at = std::find(result.begin(), result.end(), label);
      if (at == result.end() || type.dims[static_cast<size_t>(at - result.begin())] == Dim::of(1)) continue;
      if (is_product(label) == (into == &products)) into->push_back(label);
    }
  if (result.empty() || (left.empty() && right.empty())) return {};
  const int64_t last = result.back();
  bool swap = left.size() > right.size() || (left.size() == right.size() && has(left, lhs.back()));
  if (has(products, last)) {
    if (lhs.back() == last && rhs.back() == last) return {};
  } else {
    swap = has(left, last);
    const Labels &columns = swap ? left : right, &factor = swap ? lhs : rhs;
    if (!has(columns, last) || !has(columns, factor.back()) || factor.back() == last) return {};
    const auto is_one_axis = [&] {
      return std::search(factor.begin(), factor.end(), columns.begin(), columns.end()) != factor.end();
    };
    if (products.empty() && !is_one_axis()) return {};
  }
  Labels order = products;
  for (const Labels* labels : {swap ? &right : &left, swap ? &left : &right})
    order.insert(order.end(), labels->begin(), labels->end());
  for (int64_t label : result)
    if (!has(order, label)) order.insert(order.begin(), label);
  if (order == result) return {};
  Type natural = type;
  AxesAttrs axes;
  for (size_t i = 0; i < result.size(); ++i) {
    axes.axes.push_back(std::find(order.begin(), order.end(), result[i]) - order.begin());
    natural.dims[static_cast<size_t>(axes.axes.back())] = type.dims[i];
  }
  const LocId loc = node.loc;
  ContractAttrs attrs{lhs, rhs, order};
  std::vector<ValueId> factors = node.operands;
  const ValueId product = edit.one(Op::Contract, std::move(factors), std::move(natural), std::move(attrs), loc);
  return edit.one(Op::Transpose, {product}, type, std::move(axes), loc);
}

constexpr SimplifyRule kRules[] = {
    {"contract in an order that no factor has -> transpose(contract)", Op::Contract, in_order_of_factors},
    {"view to the same sizes -> x", Op::Reshape, same_view},
    {"broadcast to the same sizes -> x", Op::Broadcast, same_view},
    {"identity transpose -> x", Op::Transpose, same_view},
    {"whole slice -> x", Op::Slice, same_view},
    {"pad by nothing -> x", Op::Pad, same_view},
    {"concat of one -> x", Op::Concat, same_view},
    {"index by nothing -> x", Op::Index, same_view},
    {"reshape of a scalar -> broadcast", Op::Reshape, reshape_scalar},
    {"reshape of reshape -> reshape", Op::Reshape, reshape_twice},
    {"other names of sizes: rename(transpose(x)) -> transpose(rename(x))", Op::Reshape, rename_transposed},
    {"guard(transpose(x)) -> transpose(guard(x))", Op::Guard, guard_transposed},
    {"transpose of transpose -> transpose", Op::Transpose, transpose_twice},
    {"transpose of a broadcast vector or scalar -> broadcast", Op::Transpose, transpose_broadcast},
    {"transpose that moves only ones -> reshape", Op::Transpose, transpose_of_ones},
    {"broadcast of broadcast, or of inserted ones -> broadcast", Op::Broadcast, broadcast_twice},
    {"broadcast that only inserts ones -> reshape", Op::Broadcast, broadcast_to_ones},
    {"f(x, broadcast(s)) -> f(x, s)", Op::Elementwise, splat},
    {"f(view(a), view(b)) -> view(f(a, b))", Op::Elementwise, past_view},
    {"convert(view(x)) -> view(convert(x))", Op::Convert, past_view},
    {"x[i][j] -> x[i, j]", Op::Index, index_twice},
    {"iota[i] -> i, broadcast(s)[i] -> s", Op::Index, index_known},
    {"gather(iota, i) -> i", Op::Gather, gather_iota},
    {"reduction over ones -> reshape", Op::Reduce, reduce_ones},
    {"reduction masked by true -> without mask", Op::Reduce, reduce_all},
};

} // namespace

bool cannot_fail(const Function& f, ValueId value, int depth) {
  const Node* node = producer_of(f, value);
  if (!node || node->op == Op::Constant || node->op == Op::Await) return true;
  const bool computed = node->op == Op::Elementwise || node->op == Op::Convert || node->op == Op::Broadcast;
  if (depth == 0 || !computed) return false;
  return std::all_of(node->operands.begin(), node->operands.end(),
                     [&](ValueId operand) { return cannot_fail(f, operand, depth - 1); });
}

std::span<const SimplifyRule> shape_rules() { return kRules; }

} // namespace tl

// Reverse mode: the rule of each operation, by its transpose and its partial derivatives.
#include "ir/graph/op_info.h"
#include "passes/derive/partials.h"
#include "passes/derive/reverse.h"
#include "passes/edit.h"
#include "passes/fuse/views.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace tl {
using namespace ir;

namespace {

std::vector<int64_t> all_axes(size_t rank) {
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

} // namespace

void Reverse::sweep(Scope& s, const std::vector<NodeId>& tape) {
  for (size_t i = tape.size(); i-- > 0;)
    reverse(s, tape[i]);
}

// The operands from this one on, where the sweep is: the starts of a slice, the indices of an element.
std::vector<ValueId> Reverse::starts_from(Scope& s, const Node& node, size_t first) {
  std::vector<ValueId> starts;
  for (size_t i = first; i < node.operands.size(); ++i)
    starts.push_back(primal(s, node.operands[i]));
  return starts;
}

// Adds to a part of the cotangent of x, in place.
void Reverse::add_part(Scope& s, ValueId x, const std::function<ValueId(ValueId)>& with_part) {
  if (!moves(x)) return;
  ValueId whole = cotangent_or_zero(s, x);
  set(s, x, with_part(whole), true);
}

void Reverse::reverse(Scope& s, NodeId id) {
  const Node node = f_[id]; // a copy: new nodes move the others
  bool wanted = false;
  for (ValueId v : node.results)
    wanted = wanted || (moves(v) && cotangent(s, v).valid());
  if (!wanted) return;
  s.loc = node.loc;
  switch (node.op) {
  case Op::If: return reverse_if(s, id);
  case Op::For:
  case Op::While: return reverse_loop(s, id);
  case Op::Checkpoint: return reverse_checkpoint(s, id);
  case Op::CustomVjp: return reverse_custom(s, id);
  case Op::Linalg: return reverse_linalg(s, node);
  case Op::Wait:
    for (size_t i = 1; i < node.results.size(); ++i)
      if (ValueId d = cotangent(s, node.results[i]); d.valid()) add(s, node.operands[i], d, is_guarded(d));
    return;
  case Op::Debug: {
    ValueId d = cotangent(s, node.results[1]);
    return add(s, node.operands[1], d, is_guarded(d));
  }
  case Op::ListGet: return reverse_list_get(s, node);
  default: break;
  }
  if (ValueId dy = cotangent(s, node.results[0]); dy.valid()) reverse_result(s, node, dy);
}

void Reverse::reverse_result(Scope& s, const Node& node, ValueId dy) {
  bool guarded = is_guarded(dy);
  const ValueId x = node.operands.empty() ? ValueId{} : node.operands[0];
  Emit e = emit(s);
  switch (node.op) {
  case Op::Elementwise: return reverse_elementwise(s, node, dy);
  case Op::Convert:
    if (is_float(type(x).dtype)) add(s, x, e.convert(dy, type(x).dtype), guarded);
    return;
  case Op::Broadcast: return reverse_broadcast(s, node, dy);
  case Op::Reshape: return add(s, x, e.reshape(dy, dims(s, x)), guarded);
  case Op::Transpose: return add(s, x, e.transpose(dy, inverse(node.as<AxesAttrs>().axes)), guarded);
  case Op::Guard:
  case Op::Place: return add(s, x, dy, guarded);
  case Op::Transfer: { // back to where x is
    ValueId home = e.builder().one(Op::DeviceOf, {primal(s, x)}, Type::scalar(DType::I64), {}, node.loc);
    home = e.convert(home, DType::Device);
    return add(s, x, e.builder().one(Op::Transfer, {dy, home}, Type(type(dy)), {}, node.loc), guarded);
  }
  case Op::AllReduce:
  case Op::BroadcastFrom: {
    ValueId sum = e.builder().one(Op::AllReduce, {dy}, Type(type(dy)), {}, node.loc);
    if (node.op == Op::AllReduce) return add(s, x, sum, guarded);
    ValueId rank = e.builder().one(Op::ProcessRank, {}, Type::scalar(DType::I64), {}, node.loc);
    return add(s, x, e.where(e.op(ScalarOp::Eq, {rank, primal(s, node.operands[1])}), sum, 0), guarded);
  }
  case Op::Slice: return reverse_slice(s, node, dy);
  case Op::Index:
    return add_part(s, x,
                    [&](ValueId dx) { return emit(s).with_at(dx, starts_from(s, node, 1), dy, UpdateMode::Add); });
  case Op::Pad: return reverse_pad(s, node, dy);
  case Op::Concat: return reverse_concat(s, node, dy);
  case Op::Gather: return reverse_gather(s, node, dy);
  case Op::Update: return reverse_update(s, node, dy);
  case Op::Scatter: return reverse_scatter(s, node, dy);
  case Op::Reduce: return reverse_reduce(s, node, dy);
  case Op::Scan: return reverse_scan(s, node, dy);
  case Op::Sort: return reverse_sort(s, node, dy);
  case Op::Contract: return reverse_contract(s, node, dy);
  case Op::Call: throw NotDifferentiable("the derivative of a function that calls itself is not known", node.loc);
  case Op::ListMake:
  case Op::ListSet:
  case Op::ListAppend:
  case Op::ListConcat:
  case Op::ListSlice:
  case Op::ListJoin: return reverse_list(s, node, dy);
  default: throw NotDifferentiable(fmt::format("the derivative of `{}` is not known", name_of(node.op)), node.loc);
  }
}

void Reverse::reverse_broadcast(Scope& s, const Node& node, ValueId dy) {
  const ValueId x = node.operands[0];
  Emit e = emit(s);
  const std::vector<int64_t>& axes = node.as<AxesAttrs>().axes;
  std::vector<int64_t> gone = other_axes(type(node.results[0]).dims.size(), axes);
  const std::vector<Dim> from = type(x).dims, to = type(node.results[0]).dims;
  for (size_t i = 0; i < from.size(); ++i) {
    auto axis = static_cast<size_t>(axes[i]);
    if (from[i] == Dim::of(1) && to[axis] != Dim::of(1)) gone.push_back(axes[i]);
  }
  std::sort(gone.begin(), gone.end());
  add(s, x, e.reshape(e.sum(dy, gone), dims(s, x)), is_guarded(dy));
}

void Reverse::reverse_slice(Scope& s, const Node& node, ValueId dy) {
  const ValueId x = node.operands[0];
  Emit e = emit(s);
  std::vector<ValueId> starts = starts_from(s, node, 1);
  const std::vector<int64_t>& steps = node.as<StepsAttrs>().steps;
  bool whole = std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 1; });
  if (whole && !cotangent(s, x).valid()) { // alone: zeros around it
    if (!moves(x)) return;
    std::vector<ValueId> operands{dy, e.number(type(dy).dtype, 0)};
    operands.insert(operands.end(), starts.begin(), starts.end());
    ValueId padded =
        e.builder().one(Op::Pad, std::move(operands), Type::tensor(type(dy).dtype, dims(s, x)), {}, node.loc);
    return set(s, x, padded, true);
  }
  add_part(s, x, [&](ValueId dx) { return emit(s).update(dx, dy, starts, steps, UpdateMode::Add); });
}

// The other way round: what the result does not show of x (its end may lie before that of x) has no part in it.
void Reverse::reverse_pad(Scope& s, const Node& node, ValueId dy) {
  const ValueId x = node.operands[0];
  const bool guarded = is_guarded(dy);
  Emit e = emit(s);
  std::vector<ValueId> starts = starts_from(s, node, 2);
  std::vector<ValueId> operands{dy, e.number(type(dy).dtype, 0)};
  for (ValueId start : starts)
    operands.push_back(e.sub(e.i64(0), start));
  ValueId inside =
      e.builder().one(Op::Pad, std::move(operands), Type::tensor(type(dy).dtype, dims(s, x)), {}, node.loc);
  if (moves(node.operands[1])) {
    ValueId margin = e.sub(e.sum(dy, all_axes(starts.size())), e.sum(inside, all_axes(starts.size())));
    add(s, node.operands[1], margin, guarded);
  }
  add(s, x, inside, guarded);
}

// An element of x is the sum of what each part of the windows that shows it gives, the last part first: in one pass,
// where the parts one after the other would each go through memory.
bool Reverse::reverse_windows(Scope& s, const Node& node, ValueId dy) {
  const auto window = window_view(f_, node);
  if (!window) return false;
  const Node first = f_[window->slice];
  const std::vector<int64_t>& steps = first.as<StepsAttrs>().steps;
  const ValueId x = first.operands[0];
  if (!std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 1; })) return false;
  if (!moves(x)) return true;
  Emit e = emit(s);
  const auto axis = static_cast<size_t>(node.as<AxisAttrs>().axis);
  const std::vector<Dim> part = dims(s, node.operands[0]), shown = dims(s, first.results[0]);
  const std::vector<int64_t> ones(part.size(), 1);
  ValueId sum;
  for (size_t k = node.operands.size(); k-- > 0;) {
    std::vector<ValueId> at(part.size(), e.i64(0)), starts = starts_from(s, first, 1);
    at[axis] = e.i64(static_cast<int64_t>(k));
    starts[window->along] = e.add(starts[window->along], e.i64(static_cast<int64_t>(k) * window->distance));
    std::vector<ValueId> operands{e.reshape(e.slice(dy, at, ones, part), shown), e.number(type(dy).dtype, 0)};
    operands.insert(operands.end(), starts.begin(), starts.end());
    const ValueId padded =
        e.builder().one(Op::Pad, std::move(operands), Type::tensor(type(dy).dtype, dims(s, x)), {}, node.loc);
    sum = sum.valid() ? e.add(sum, padded) : padded;
  }
  add(s, x, sum, true);
  return true;
}

void Reverse::reverse_concat(Scope& s, const Node& node, ValueId dy) {
  if (reverse_windows(s, node, dy)) return;
  const bool guarded = is_guarded(dy);
  Emit e = emit(s);
  auto axis = static_cast<size_t>(node.as<AxisAttrs>().axis);
  ValueId at = e.i64(0);
  for (size_t k = 0; k < node.operands.size(); ++k) {
    std::vector<Dim> part = dims(s, node.operands[k]);
    if (moves(node.operands[k])) {
      std::vector<ValueId> starts(part.size(), e.i64(0));
      starts[axis] = at;
      add(s, node.operands[k], e.slice(dy, starts, std::vector<int64_t>(part.size(), 1), part), guarded);
    }
    if (k + 1 < node.operands.size()) at = e.add(at, e.size(part[axis]));
  }
}

void Reverse::reverse_update(Scope& s, const Node& node, ValueId dy) {
  const ValueId x = node.operands[0], value = node.operands[1];
  const bool guarded = is_guarded(dy);
  Emit e = emit(s);
  std::vector<ValueId> starts = starts_from(s, node, 2);
  const auto& [mode, steps] = node.as<UpdateAttrs>();
  bool element = type(value).dims.empty();
  if (moves(value)) {
    ValueId part = element ? e.at(dy, starts) : e.slice(dy, starts, steps, dims(s, value));
    add(s, value, part, guarded);
  }
  if (!moves(x)) return;
  if (mode == UpdateMode::Add) return add(s, x, dy, guarded);
  Type t = type(value);
  t.dims = dims(s, t.dims);
  add(s, x, e.update(dy, e.zeros(t), starts, steps, UpdateMode::Set), true);
}

void Reverse::reverse_elementwise(Scope& s, const Node& node, ValueId dy) {
  ScalarOp op = node.as<ElementwiseAttrs>().op;
  std::vector<bool> moving;
  for (ValueId v : node.operands)
    moving.push_back(moves(v));
  const Slope slope = slope_of(op);
  std::vector<ValueId> x;
  ValueId y = dy; // what is not looked at
  for (size_t i = 0; i < node.operands.size(); ++i) {
    bool needed = slope != Slope::Constant && slope != Slope::OfResult && !(op == ScalarOp::Where && i > 0) &&
                  !(op == ScalarOp::Mul && !moving[1 - i]) && // the other factor's derivative asks for it
                  !(op == ScalarOp::Div && i == 0);
    x.push_back(needed ? primal(s, node.operands[i]) : dy);
  }
  // A quotient is a part of the slope in its divisor alone.
  const bool of_result = slope == Slope::OfResult || slope == Slope::OfBoth;
  if (of_result && (op != ScalarOp::Div || moving[1])) y = primal(s, node.results[0]);
  for (size_t i = 0; i < node.operands.size(); ++i) {
    if (!moving[i]) continue;
    Emit e = emit(s);
    ValueId d = scaled_partial(e, op, x, y, i, dy, moving, is_guarded(dy));
    if (!d.valid()) continue;
    // One value for all elements.
    if (type(node.operands[i]).dims.empty() && !type(d).dims.empty()) d = e.sum(d, all_axes(type(d).dims.size()));
    add(s, node.operands[i], d, is_guarded(dy) || leaves_out(op) || is_steep(op));
  }
}

void Reverse::reverse_gather(Scope& s, const Node& node, ValueId dy) {
  ValueId x = node.operands[0];
  if (!moves(x)) return;
  Emit e = emit(s);
  int64_t axis = node.as<AxisAttrs>().axis;
  ValueId idx = primal(s, node.operands[1]);
  size_t rank = type(x).dims.size(), count = type(idx).dims.size();
  ValueId whole = cotangent_or_zero(s, x);
  // Rows: the axis in front, the positions as one axis.
  ValueId rows = e.transpose(whole, to_front(rank, axis));
  std::vector<int64_t> order;
  for (size_t i = 0; i < count; ++i)
    order.push_back(axis + static_cast<int64_t>(i));
  for (int64_t other : other_axes(type(dy).dims.size(), std::vector<int64_t>(order)))
    order.push_back(other);
  ValueId values = e.transpose(dy, order);
  const Dim n = e.product(type(idx).dims);
  std::vector<Dim> shape(type(values).dims.begin() + static_cast<long>(count), type(values).dims.end());
  shape.insert(shape.begin(), n);
  values = e.reshape(values, shape);
  idx = e.reshape(idx, {n});
  rows = e.scatter(rows, idx, values, UpdateMode::Add);
  set(s, x, e.transpose(rows, inverse(to_front(rank, axis))), true);
}

void Reverse::reverse_scatter(Scope& s, const Node& node, ValueId dy) {
  Emit e = emit(s);
  ValueId x = node.operands[0], value = node.operands[2];
  ValueId idx = primal(s, node.operands[1]);
  bool adds = node.as<ScatterAttrs>().mode == UpdateMode::Add;
  Type rows = type(value);
  rows.dims = dims(s, rows.dims);
  auto scatter = [&](ValueId into, ValueId what) { return e.scatter(into, idx, what, UpdateMode::Set); };
  if (moves(value)) {
    ValueId part = e.reshape(e.gather(dy, idx, 0), rows.dims);
    if (!adds) { // the last of several for one position is the one that is there
      Dim n = type(x).dims[0].is_constant() ? type(x).dims[0] : dims(s, x)[0];
      ValueId numbers = e.iota(rows.dims[0]);
      ValueId last = e.gather(scatter(e.zeros(Type::tensor(DType::I64, {n})), numbers), idx, 0);
      ValueId stands = e.op(ScalarOp::Eq, {e.reshape(last, {rows.dims[0]}), numbers});
      part = e.where(e.broadcast(stands, {0}, rows.dims), part, 0);
    }
    add(s, value, part, !adds || is_guarded(dy));
  }
  if (!moves(x)) return;
  add(s, x, adds ? dy : scatter(dy, e.zeros(rows)), !adds || is_guarded(dy));
}

void Reverse::reverse_reduce(Scope& s, const Node& node, ValueId dy) {
  Emit e = emit(s);
  ValueId x = node.operands[0];
  if (!moves(x)) return;
  const auto& [op, axes] = node.as<ReduceAttrs>();
  std::vector<Dim> shape = dims(s, x);
  std::vector<int64_t> kept = other_axes(shape.size(), axes);
  auto spread = [&](ValueId v) { return e.broadcast(v, kept, shape); };
  bool masked = node.operands.size() > 1;
  ValueId mask = masked ? primal(s, node.operands[1]) : ValueId{};
  auto give = [&](ValueId d, bool guarded) {
    if (masked) d = e.where(mask, d, 0);
    add(s, x, d, guarded || masked || is_guarded(dy));
  };
  switch (op) {
  case ReduceOp::Sum: return give(spread(dy), false);
  case ReduceOp::Prod: {
    ValueId value = primal(s, x);
    if (masked) value = e.where(mask, value, 1);
    return give(e.mul(spread(dy), products_of_others(e, value, axes)), true);
  }
  case ReduceOp::Min:
  case ReduceOp::Max: {
    ValueId chosen = is_first_extreme(e, op, primal(s, x), mask, axes);
    if (!chosen.valid()) return give(dy, false);
    return add(s, x, e.where(chosen, spread(dy), 0), true);
  }
  case ReduceOp::Any:
  case ReduceOp::All:
  case ReduceOp::ArgMin:
  case ReduceOp::ArgMax: return; // no floats: nothing moves
  }
}

void Reverse::reverse_contract(Scope& s, const Node& node, ValueId dy) {
  const auto& [lhs, rhs, out] = node.as<ContractAttrs>();
  for (size_t k = 0; k < 2; ++k) {
    ValueId x = node.operands[k];
    if (!moves(x)) continue;
    Emit e = emit(s);
    ValueId other = primal(s, node.operands[1 - k]);
    const std::vector<int64_t>&mine = k ? rhs : lhs, &theirs = k ? lhs : rhs;
    // Over the labels of x that the others know; along the rest, and off a diagonal, it is spread.
    std::vector<int64_t> distinct, known;
    for (int64_t label : mine)
      if (!std::count(distinct.begin(), distinct.end(), label)) distinct.push_back(label);
    for (int64_t label : distinct)
      if (std::count(out.begin(), out.end(), label) || std::count(theirs.begin(), theirs.end(), label))
        known.push_back(label);
    ValueId d = e.contract(dy, other, out, theirs, known);
    // One product for each element: as with Mul, nothing where dy is infinite and the other factor zero.
    auto spread = [&](ValueId v, const std::vector<int64_t>& axes_of) {
      std::vector<int64_t> at;
      for (int64_t label : axes_of)
        at.push_back(std::find(known.begin(), known.end(), label) - known.begin());
      return e.broadcast(v, at, std::vector<Dim>(type(d).dims));
    };
    bool sums = std::set<int64_t>(theirs.begin(), theirs.end()).size() != theirs.size();
    for (const auto* all : {&out, &theirs})
      for (int64_t label : *all)
        sums = sums || !std::count(known.begin(), known.end(), label);
    if (is_guarded(dy) && !sums) {
      ValueId infinite = spread(e.op(ScalarOp::IsInf, {dy}), out);
      ValueId none = spread(e.compare(ScalarOp::Eq, other, 0), theirs);
      d = e.where(e.op(ScalarOp::Not, {e.op(ScalarOp::And, {infinite, none})}), d, 0);
    }
    std::vector<Dim> shape = dims(s, x);
    if (distinct.size() == mine.size()) {
      std::vector<int64_t> axes;
      for (int64_t label : known)
        axes.push_back(std::find(mine.begin(), mine.end(), label) - mine.begin());
      add(s, x, e.reshape(e.broadcast(d, axes, shape), shape), is_guarded(dy));
      continue;
    }
    // A repeated label reads a diagonal: elements off it have no part in the result.
    std::vector<int64_t> axes;
    for (int64_t label : known)
      axes.push_back(std::find(mine.begin(), mine.end(), label) - mine.begin());
    ValueId wide = e.broadcast(d, axes, shape), on;
    for (size_t i = 0; i < mine.size(); ++i) {
      auto first = static_cast<size_t>(std::find(mine.begin(), mine.end(), mine[i]) - mine.begin());
      if (first == i) continue;
      ValueId equal = e.op(ScalarOp::Eq, {e.broadcast(e.iota(shape[i]), {static_cast<int64_t>(i)}, shape),
                                          e.broadcast(e.iota(shape[first]), {static_cast<int64_t>(first)}, shape)});
      on = on.valid() ? e.op(ScalarOp::And, {on, equal}) : equal;
    }
    add(s, x, e.where(on, wide, 0), true);
  }
}

} // namespace tl

// The frame of the vectorizer, and the nodes that are not about subscripts or control. See
// passes/vectorize/vectorize.h.
#include "passes/vectorize/vectorize.h"
#include "ir/graph/rewrite.h"
#include "passes/edit.h"
#include "passes/vectorize/state.h"
#include <set>

namespace tl {
using namespace ir;

Vectorizer::Vectorizer(Module& module, Function& function, std::vector<Dim> dims, Builder& into)
    : state_(std::make_unique<State>(module, function, std::move(dims), into)) {}
Vectorizer::~Vectorizer() = default;

void Vectorizer::bind(ValueId original, Batched value) {
  state_->bind(original, {value.value, std::move(value.axes), {}, {}});
}
void Vectorizer::bind_index(ValueId original, uint32_t axis) { state_->bind(original, state_->position(axis)); }
bool Vectorizer::region(const Region& region) { return state_->whole_region(region); }
Batched Vectorizer::operator()(ValueId original) {
  BatchValue value = state_->lookup(original);
  return {state_->materialized(value), value.axes};
}
ValueId Vectorizer::spread(const Batched& value) {
  return state_->spread({value.value, value.axes, {}, {}}, state_->all_axes());
}

// ---- the frame
Vectorizer::State::State(Module& module, Function& function, std::vector<Dim> dims, Builder& into)
    : module_(module), f_(function), dims_(std::move(dims)), b_(&into) {}

BatchValue Vectorizer::State::lookup(ValueId original) const {
  auto found = values_.find(original);
  return found == values_.end() ? plain(original) : found->second;
}

// Whether a size in the region is fine only because a Guard of the region holds.
bool Vectorizer::State::sizes_need_guards(const Region& region) const {
  std::set<ValueId> inside, guarded;
  bool found = false;
  auto any_guarded = [&](const std::vector<ValueId>& values) {
    return std::any_of(values.begin(), values.end(), [&](ValueId v) { return guarded.contains(v); });
  };
  walk(f_, region, [&](NodeId id) {
    const Node& n = f_[id];
    bool checked = n.op == Op::Guard || any_guarded(n.operands);
    // A size that is cut off at 0 is one in any case.
    if ((n.is(ScalarOp::Max) || n.is(ScalarOp::Clamp)) && type(n.results[0]).is_scalar() &&
        integer_of(f_, n.operands[1]).value_or(-1) >= 0)
      checked = false;
    for (const Region& inner : n.regions) { // what is carried, and what a branch gives: known too late to be exact
      walk(f_, inner, [&](NodeId i) { checked = checked || f_[i].op == Op::Guard; });
      if (checked) guarded.insert(inner.params.begin(), inner.params.end());
    }
    if (checked) guarded.insert(n.results.begin(), n.results.end());
    for (ValueId v : n.results)
      for (const Dim& d : type(v).dims)
        found = found || (!d.is_constant() && guarded.contains(d.value));
    if (n.op == Op::Reshape && guarded.contains(n.operands[0])) {
      auto sorted = [&](ValueId v) { // sizes in any order, constants as their product
        std::pair<int64_t, std::vector<ValueId>> result{1, {}};
        for (const Dim& d : type(v).dims)
          if (d.is_constant())
            result.first *= d.constant;
          else
            result.second.push_back(d.value);
        std::sort(result.second.begin(), result.second.end());
        return result;
      };
      found = found || sorted(n.operands[0]) != sorted(n.results[0]);
    }
  });
  return found;
}

bool Vectorizer::State::whole_region(const Region& region) {
  Builder* const into = b_;
  const size_t nodes = into->region().nodes.size(), axes = dims_.size();
  // Where sizes need Guards, those must hold for an empty batch too.
  context_ = {};
  strict_ = sizes_need_guards(region);
  add_perhaps_empty(0);
  try {
    emit(region);
    return true;
  } catch (const NotVectorizable&) {
    b_ = into;
    b_->region().nodes.resize(nodes);
    dims_.resize(axes);
    return false;
  }
}

void Vectorizer::State::add_perhaps_empty(uint32_t first) {
  for (uint32_t axis = first; axis < dims_.size() && !strict_; ++axis)
    if (!dims_[axis].is_constant() || dims_[axis].constant == 0) context_.perhaps_empty.push_back(axis);
}

void Vectorizer::State::emit(const Region& region) {
  const std::vector<NodeId> nodes = region.nodes;
  for (NodeId id : nodes)
    emit(Node(f_[id]));
}

void Vectorizer::State::emit(const Node& n) {
  LocId outer = loc_;
  loc_ = n.loc;
  bool ragged = false;
  for (const std::vector<ValueId>* values : {&n.operands, &n.results})
    for (ValueId v : *values) {
      if (!type(v).is_tensor()) throw NotVectorizable{};
      ragged = ragged || is_ragged(v);
    }
  switch (n.op) {
  case Op::Map: map(n); break;
  case Op::If: branch(n); break;
  case Op::For: for_loop(n); break;
  case Op::While: while_loop(n); break;
  case Op::Linalg: linalg(n); break;
  case Op::Sort: sort(n); break;
  default:
    if (n.results.size() != 1) throw NotVectorizable{};
    if (ragged && n.op != Op::Elementwise && n.op != Op::Convert && n.op != Op::Broadcast && n.op != Op::Reduce &&
        n.op != Op::Contract)
      throw NotVectorizable{};
    bind(n.results[0], pure(n));
  }
  loc_ = outer;
}

BatchValue Vectorizer::State::pure(const Node& n) {
  switch (n.op) {
  case Op::Constant:
  case Op::ConstTensor:
  case Op::Iota: {
    BatchValue result = plain(one(n.op, {}, own_type(n.results[0]), n.attrs));
    if (n.op == Op::Constant && type(result.value) == Type::scalar(DType::Bool))
      result.known = n.as<ConstantAttrs>().literal.as<uint8_t>() != 0;
    return result;
  }
  case Op::Elementwise: {
    std::vector<BatchValue> operands;
    for (ValueId v : n.operands)
      operands.push_back(lookup(v));
    return elementwise(n.as<ElementwiseAttrs>().op, operands);
  }
  case Op::Convert:
  case Op::Reshape:
  case Op::Transpose:
  case Op::Scan: return shifted_view(n);
  case Op::DeviceCount:
  case Op::ProcessRank:
  case Op::WorldSize: return plain(one(n.op, {}, own_type(n.results[0]), n.attrs));
  case Op::DeviceOf: return plain(one(Op::DeviceOf, {lookup(n.operands[0]).value}, own_type(n.results[0]), n.attrs));
  case Op::Transfer:
  case Op::Place:
  case Op::AllReduce:
  case Op::BroadcastFrom: return elsewhere(n);
  case Op::Await: return lookup(n.operands[0]);
  case Op::Broadcast: return broadcast(n);
  case Op::Pad: return pad(n);
  case Op::Concat: return concat(n);
  case Op::Slice: return slice(n);
  case Op::Index: return index(n);
  case Op::Gather: return gather(n);
  case Op::Update: return update(n);
  case Op::Scatter: return scatter(n);
  case Op::Reduce: return reduce(n);
  case Op::Contract: return contract(n);
  case Op::Guard: return guard(n);
  default: throw NotVectorizable{};
  }
}

// ---- views
// ------------------------------------------------------------------------------------------------------------ Ops of
// one operand whose attributes name axes, if any.
BatchValue Vectorizer::State::shifted_view(const Node& n) {
  BatchValue x = lookup(n.operands[0]);
  x.value = materialized(x);
  const Type own = own_type(n.results[0]);
  Attrs attrs = n.attrs;
  const auto rank = static_cast<int64_t>(x.axes.size());
  if (auto* scan = std::get_if<ScanAttrs>(&attrs)) scan->axis += rank;
  if (auto* transpose = std::get_if<AxesAttrs>(&attrs)) {
    for (int64_t& axis : transpose->axes)
      axis += rank;
    for (int64_t axis = rank; axis-- > 0;)
      transpose->axes.insert(transpose->axes.begin(), axis);
  }
  Type t = Type::tensor(own.dtype, sizes(x.axes, own.dims));
  return plain_axes(one(n.op, {x.value}, std::move(t), std::move(attrs)), x.axes);
}

// The whole batch in the memory of another device or process; which one is the same for all of it.
BatchValue Vectorizer::State::elsewhere(const Node& n) {
  BatchValue x = lookup(n.operands[0]);
  x.value = materialized(x);
  std::vector<ValueId> operands{x.value};
  if (n.operands.size() > 1) {
    BatchValue d = lookup(n.operands[1]);
    if (!d.axes.empty()) throw NotVectorizable{};
    operands.push_back(d.value);
  }
  return plain_axes(one(n.op, std::move(operands), Type(type(x.value)), n.attrs), x.axes);
}

BatchValue Vectorizer::State::broadcast(const Node& n) {
  BatchValue x = lookup(n.operands[0]);
  x.value = materialized(x);
  const Type own = own_type(n.results[0]);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < x.axes.size(); ++i)
    axes.push_back(static_cast<int64_t>(i));
  for (int64_t axis : n.as<AxesAttrs>().axes)
    axes.push_back(axis + static_cast<int64_t>(x.axes.size()));
  return plain_axes(broadcast(x.value, std::move(axes), sizes(x.axes, own.dims)), x.axes);
}

BatchValue Vectorizer::State::pad(const Node& n) {
  BatchValue x = lookup(n.operands[0]), value = lookup(n.operands[1]);
  x.value = materialized(x);
  const std::vector<Dim> own = own_type(n.results[0]).dims;
  auto padded = [&](const BatchValue& inside, ValueId outside) {
    std::vector<ValueId> operands{inside.value, outside};
    for (size_t i = 0; i < inside.axes.size(); ++i)
      operands.push_back(i64(0));
    for (size_t i = 2; i < n.operands.size(); ++i) {
      BatchValue before = lookup(n.operands[i]);
      if (!before.axes.empty()) throw NotVectorizable{};
      operands.push_back(materialized(before));
    }
    Type t = Type::tensor(type(inside.value).dtype, sizes(inside.axes, own));
    return plain_axes(one(Op::Pad, std::move(operands), std::move(t)), inside.axes);
  };
  if (value.axes.empty()) return padded(x, materialized(value));
  ValueId yes = b_->constant(DType::Bool, Scalar::of(uint8_t{1})), no = b_->constant(DType::Bool, {});
  BatchValue inside = padded(plain(broadcast(yes, {}, own_dims(x))), no);
  return elementwise(ScalarOp::Where, {inside, padded(x, zero(type(x.value).dtype)), value});
}

BatchValue Vectorizer::State::concat(const Node& n) {
  BatchAxes axes;
  for (ValueId v : n.operands)
    axes = united(axes, lookup(v).axes);
  std::vector<ValueId> operands;
  for (ValueId v : n.operands)
    operands.push_back(spread(lookup(v), axes));
  const Type own = own_type(n.results[0]);
  const AxisAttrs attrs{n.as<AxisAttrs>().axis + static_cast<int64_t>(axes.size())};
  Type t = Type::tensor(own.dtype, sizes(axes, own.dims));
  return plain_axes(one(Op::Concat, std::move(operands), std::move(t), attrs), axes);
}

// ---- failures
BatchValue Vectorizer::State::guard(const Node& n) {
  BatchValue x = lookup(n.operands[0]), condition = lookup(n.operands[1]);
  if (condition.known == true) return x;
  std::vector<BatchValue> payloads;
  BatchAxes axes = condition.axes;
  for (size_t i = 2; i < n.operands.size(); ++i) {
    payloads.push_back(lookup(n.operands[i]));
    axes = united(axes, payloads.back().axes);
  }
  if (auto where = needed(axes)) {
    condition = elementwise(ScalarOp::Or, {condition, elementwise(ScalarOp::Not, {*where})});
    axes = united(axes, where->axes);
  }
  condition.value = materialized(condition);
  const std::vector<Dim> own = own_dims(condition);
  std::vector<ValueId> operands{{}, spread(condition, axes)};
  for (BatchValue& payload : payloads) {
    payload.value = materialized(payload);
    operands.push_back(type(payload.value).is_scalar() ? payload.value : spread(payload, axes, own));
  }
  auto guarded = [&](ValueId value) {
    operands[0] = value;
    return one(Op::Guard, operands, Type(type(value)), n.attrs);
  };
  if (!x.affine) return plain_axes(guarded(materialized(x)), x.axes);
  Affine affine = *x.affine;
  affine.base = guarded(scalar_of(affine));
  affine.offset = 0;
  return from_affine(std::move(affine));
}

// Failures of a decomposition: of matrices that nobody needs there are none, for they are identities.
void Vectorizer::State::linalg(const Node& n) {
  BatchAxes axes;
  for (ValueId v : n.operands)
    axes = united(axes, lookup(v).axes);
  std::vector<BatchValue> operands;
  if (auto where = needed(axes)) {
    axes = united(axes, where->axes);
    BatchValue a = lookup(n.operands[0]);
    a.value = materialized(a);
    const std::vector<Dim> own = own_dims(a);
    BatchValue same = with_axes(own, [&](uint32_t) {
      const auto last = static_cast<uint32_t>(dims_.size()) - 1;
      return elementwise(ScalarOp::Eq, {position(last - 1), position(last)});
    });
    Type t = Type::tensor(type(a.value).dtype, type(same.value).dims);
    operands.push_back(select(*where, a, plain(one(Op::Convert, {same.value}, std::move(t)))));
  }
  while (operands.size() < n.operands.size())
    operands.push_back(lookup(n.operands[operands.size()]));
  std::vector<ValueId> ids;
  for (const BatchValue& v : operands)
    ids.push_back(spread(v, axes));
  std::vector<Type> types;
  for (ValueId v : n.results) {
    if (is_ragged(v)) throw NotVectorizable{};
    const Type own = own_type(v);
    types.push_back(Type::tensor(own.dtype, sizes(axes, own.dims)));
  }
  NodeId node = b_->node(n.op, std::move(ids), std::move(types), n.attrs, n.loc);
  for (size_t i = 0; i < n.results.size(); ++i)
    bind(n.results[i], plain_axes(f_[node].results[i], axes));
}

// The axes of the batch are in front, so rows are rows.
void Vectorizer::State::sort(const Node& n) {
  if (is_ragged(n.operands[0]) || is_ragged(n.results[0])) throw NotVectorizable{};
  const BatchValue x = lookup(n.operands[0]);
  const Type own = own_type(n.results[0]);
  ValueId sorted = one(Op::Sort, {spread(x, x.axes)}, Type::tensor(own.dtype, sizes(x.axes, own.dims)), n.attrs);
  bind(n.results[0], plain_axes(sorted, x.axes));
}

// ---- reductions and products
// ------------------------------------------------------------------------------------------ Which elements of a value
// there are at every position, where sizes differ: of its own sizes. Nothing: all.
std::optional<BatchValue> Vectorizer::State::present(ValueId original, const std::vector<int64_t>& of) {
  const std::vector<Dim> dims = type(original).dims;
  const std::vector<Dim> own = own_type(original).dims;
  if (std::none_of(of.begin(), of.end(), [&](int64_t axis) { return is_ragged(dims[static_cast<size_t>(axis)]); }))
    return std::nullopt;
  return with_axes(own, [&](uint32_t first) {
    BatchValue result = truth(true);
    for (int64_t axis : of) {
      const Dim& d = dims[static_cast<size_t>(axis)];
      if (!is_ragged(d)) continue;
      BatchValue size = context_.ragged.at(d.value).second;
      BatchValue there = elementwise(ScalarOp::Lt, {position(first + static_cast<uint32_t>(axis)), size});
      result = elementwise(ScalarOp::And, {result, there});
    }
    return result;
  });
}

BatchValue Vectorizer::State::reduce(const Node& n) {
  std::vector<BatchValue> operands;
  for (ValueId v : n.operands)
    operands.push_back(lookup(v));
  ReduceAttrs attrs = n.as<ReduceAttrs>();
  const bool is_arg = attrs.op == ReduceOp::ArgMin || attrs.op == ReduceOp::ArgMax;
  const bool ordered =
      is_arg || (is_float(type(n.operands[0]).dtype) && attrs.op != ReduceOp::Min && attrs.op != ReduceOp::Max);
  if (ordered) // elements stay at their numbers only where the first of the axes differs
    for (size_t i = 1; i < attrs.axes.size(); ++i)
      if (is_ragged(type(n.operands[0]).dims[static_cast<size_t>(attrs.axes[i])])) throw NotVectorizable{};
  if (auto there = present(n.operands[0], attrs.axes)) {
    if (operands.size() == 2)
      operands[1] = elementwise(ScalarOp::And, {operands[1], *there});
    else
      operands.push_back(*there);
  }
  BatchAxes axes;
  for (const BatchValue& v : operands)
    axes = united(axes, v.axes);
  std::vector<ValueId> ids;
  for (const BatchValue& v : operands)
    ids.push_back(spread(v, axes));
  for (int64_t& axis : attrs.axes)
    axis += static_cast<int64_t>(axes.size());
  const Type own = own_type(n.results[0]);
  Type t = Type::tensor(own.dtype, sizes(axes, own.dims));
  return plain_axes(one(Op::Reduce, std::move(ids), std::move(t), std::move(attrs)), axes);
}

BatchValue Vectorizer::State::contract(const Node& n) {
  std::vector<BatchValue> operands;
  BatchAxes axes;
  const auto& [lhs, rhs, kept] = n.as<ContractAttrs>();
  auto is_kept = [&](int64_t label) { return std::count(kept.begin(), kept.end(), label) != 0; };
  const bool ordered = is_float(type(n.operands[0]).dtype);
  int64_t first_summed = INT64_MAX, most = -1;
  for (const auto* labels : {&lhs, &rhs})
    for (int64_t label : *labels) {
      most = std::max(most, label);
      if (!is_kept(label)) first_summed = std::min(first_summed, label);
    }
  ContractAttrs attrs{{}, {}, kept};
  for (size_t side = 0; side < 2; ++side) {
    const ValueId v = n.operands[side];
    const std::vector<int64_t>& labels = side ? rhs : lhs;
    std::vector<int64_t>& batched = side ? attrs.rhs : attrs.lhs;
    const std::vector<Dim> dims = type(v).dims;
    std::vector<int64_t> summed;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (!is_ragged(dims[i]) || is_kept(labels[i])) continue;
      if (ordered && labels[i] != first_summed) throw NotVectorizable{};
      summed.push_back(static_cast<int64_t>(i));
    }
    BatchValue x = lookup(v);
    x.value = materialized(x);
    if (auto there = present(v, summed)) x = select(*there, x, plain(zero(type(v).dtype)));
    for (uint32_t axis : x.axes)
      batched.push_back(most + 1 + axis);
    batched.insert(batched.end(), labels.begin(), labels.end());
    axes = united(axes, x.axes);
    operands.push_back(std::move(x));
  }
  for (size_t i = axes.size(); i-- > 0;)
    attrs.result.insert(attrs.result.begin(), most + 1 + axes[i]);
  const Type own = own_type(n.results[0]);
  Type t = Type::tensor(own.dtype, sizes(axes, own.dims));
  return plain_axes(one(Op::Contract, {operands[0].value, operands[1].value}, std::move(t), std::move(attrs)), axes);
}

} // namespace tl

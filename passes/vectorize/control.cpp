// Maps, branches and loops over a batch. A condition that differs between positions makes a mask: what is under it
// runs for all positions, and harms none that does not need it. What loops carry gets the axes it needs: loops are
// emitted with the axes known so far, again where those do not do.
#include "ir/graph/turns.h"
#include "passes/edit.h"
#include "passes/vectorize/state.h"

namespace tl {
using namespace ir;

// The body over more axes.
void Vectorizer::State::map(const Node& n) {
  const Region body = n.regions[0];
  std::vector<Dim> extents, raw = type(n.results[0]).dims;
  BatchValue inside = truth(true);
  const auto first = static_cast<uint32_t>(dims_.size());
  for (const Dim& d : raw)
    extents.push_back(dim(d));
  const Context known = context_; // with the sizes that differ
  dims_.insert(dims_.end(), extents.begin(), extents.end());
  for (size_t i = 0; i < raw.size(); ++i) {
    const uint32_t axis = first + static_cast<uint32_t>(i);
    bind(body.params[i], position(axis));
    if (!is_ragged(raw[i])) continue;
    const BatchValue& size = context_.ragged.at(raw[i].value).second;
    inside = elementwise(ScalarOp::And, {inside, elementwise(ScalarOp::Lt, {position(axis), size})});
  }
  add_perhaps_empty(first);
  if (inside.known != true) under(inside);
  emit(body);
  BatchAxes own = all_axes();
  own.erase(own.begin(), own.begin() + first);
  std::vector<BatchValue> results;
  for (ValueId yield : body.yields) {
    BatchValue value = lookup(yield);
    BatchAxes kept = value.axes;
    kept.erase(std::lower_bound(kept.begin(), kept.end(), first), kept.end());
    results.push_back(plain_axes(spread(value, united(kept, own)), kept));
  }
  dims_.resize(first);
  context_ = known;
  for (size_t i = 0; i < results.size(); ++i)
    bind(n.results[i], std::move(results[i]));
}

// From here on only the positions where the condition holds are active.
void Vectorizer::State::under(const BatchValue& condition) {
  context_.mask = context_.mask ? elementwise(ScalarOp::And, {*context_.mask, condition}) : condition;
  context_.some = false;
}

// Exactly these positions are active, and there are some.
void Vectorizer::State::only(std::optional<BatchValue> mask) {
  context_.mask = std::move(mask);
  context_.some = true;
  context_.perhaps_empty.clear();
}

// ---- branches
void Vectorizer::State::branch(const Node& n) {
  BatchValue condition = lookup(n.operands[0]);
  for (ValueId v : n.results)
    if (is_ragged(v)) throw NotVectorizable{};
  if (condition.known) {
    const Region& taken = n.regions[*condition.known ? 0 : 1];
    emit(taken);
    for (size_t k = 0; k < n.results.size(); ++k)
      bind(n.results[k], lookup(taken.yields[k]));
    return;
  }
  if (!condition.axes.empty()) return both_branches(n, condition);
  std::vector<Region> regions(2);
  std::vector<std::vector<BatchValue>> yields(2);
  for (size_t i = 0; i < 2; ++i)
    in_region(regions[i], [&] {
      emit(n.regions[i]);
      yields[i] = lookup_all(n.regions[i].yields);
    });
  std::vector<BatchAxes> axes;
  for (size_t k = 0; k < n.results.size(); ++k)
    axes.push_back(united(yields[0][k].axes, yields[1][k].axes));
  for (size_t i = 0; i < 2; ++i)
    in_region(regions[i], [&] {
      for (size_t k = 0; k < axes.size(); ++k)
        regions[i].yields.push_back(spread(yields[i][k], axes[k]));
    });
  node_with_results(n, {materialized(condition)}, axes, {}, std::move(regions));
}

// Both sides for all positions, and of each position the one it takes.
void Vectorizer::State::both_branches(const Node& n, const BatchValue& condition) {
  std::vector<std::vector<BatchValue>> yields;
  for (size_t i = 0; i < 2; ++i) {
    const Context outer = context_;
    under(i == 0 ? condition : elementwise(ScalarOp::Not, {condition}));
    if (sizes_need_guards(n.regions[i])) {
      yields.push_back(branch_if_taken(n, n.regions[i]));
    } else {
      emit(n.regions[i]);
      yields.push_back(lookup_all(n.regions[i].yields));
    }
    context_ = outer;
  }
  for (size_t k = 0; k < n.results.size(); ++k)
    bind(n.results[k], select(condition, yields[0][k], yields[1][k]));
}

// A branch whose sizes may be nonsense where no position takes it.
std::vector<BatchValue> Vectorizer::State::branch_if_taken(const Node& n, const Region& region) {
  std::optional<ValueId> taken = anyone();
  if (!taken) {
    emit(region);
    return lookup_all(region.yields);
  }
  std::vector<Region> regions(2);
  std::vector<BatchAxes> axes;
  in_region(regions[0], [&] {
    only(context_.mask);
    emit(region);
    for (ValueId yield : region.yields) {
      axes.push_back(lookup(yield).axes);
      regions[0].yields.push_back(materialized(lookup(yield)));
    }
  });
  std::vector<Type> types;
  in_region(regions[1], [&] {
    for (size_t k = 0; k < axes.size(); ++k) {
      const Type own = own_type(n.results[k]);
      types.push_back(Type::tensor(own.dtype, sizes(axes[k], own.dims)));
      regions[1].yields.push_back(broadcast(zero(own.dtype), {}, types.back().dims));
    }
  });
  NodeId node = b_->node(Op::If, {*taken}, std::move(types), {}, n.loc, std::move(regions));
  std::vector<BatchValue> results;
  for (size_t k = 0; k < axes.size(); ++k)
    results.push_back(plain_axes(f_[node].results[k], axes[k]));
  return results;
}

std::vector<BatchValue> Vectorizer::State::lookup_all(const std::vector<ValueId>& values) const {
  std::vector<BatchValue> result;
  for (ValueId v : values)
    result.push_back(lookup(v));
  return result;
}

// A control node in place of n, whose results have these axes; `more` results after them. Binds n's results first:
// types may refer to results beside them.
NodeId Vectorizer::State::node_with_results(const Node& n, std::vector<ValueId> operands,
                                            const std::vector<BatchAxes>& axes, std::vector<Type> more,
                                            std::vector<Region> regions) {
  std::vector<Type> types(n.results.size());
  types.insert(types.end(), more.begin(), more.end());
  NodeId node = b_->node(n.op, std::move(operands), std::move(types), n.attrs, n.loc, std::move(regions));
  for (size_t i = 0; i < n.results.size(); ++i)
    bind(n.results[i], plain_axes(f_[node].results[i], axes[i]));
  for (size_t i = 0; i < n.results.size(); ++i) {
    const Type own = own_type(n.results[i]);
    f_[f_[node].results[i]].type = Type::tensor(own.dtype, sizes(axes[i], own.dims));
  }
  return node;
}

// ---- loops
// Parameters of the region being built, in place of these.
void Vectorizer::State::carry(const std::vector<ValueId>& params, const std::vector<BatchAxes>& axes) {
  std::vector<ValueId> fresh;
  for (size_t i = 0; i < params.size(); ++i) {
    fresh.push_back(b_->param({}, std::string(f_[params[i]].name)));
    bind(params[i], plain_axes(fresh[i], axes[i]));
  }
  for (size_t i = 0; i < params.size(); ++i) {
    const Type own = own_type(params[i]);
    f_[fresh[i]].type = Type::tensor(own.dtype, sizes(axes[i], own.dims));
  }
}

// Tries with the axes until they do. `attempt` emits the loop's regions and gives false after it has enlarged them.
void Vectorizer::State::until_stable(const std::function<bool()>& attempt) {
  for (;;) {
    const Context outer = context_;
    const size_t nodes = f_.nodes.size(), values = f_.values.size(), here = b_->region().nodes.size();
    if (attempt()) return;
    // What was tried is nobody's.
    context_ = outer;
    b_->region().nodes.resize(here);
    f_.nodes.erase(f_.nodes.begin() + static_cast<long>(nodes), f_.nodes.end());
    f_.values.erase(f_.values.begin() + static_cast<long>(values), f_.values.end());
  }
}

// Yields of a turn: new values where the position is active, the old ones elsewhere. False: they have more axes than
// the parameters, which get them.
bool Vectorizer::State::yield_carried(Region& region, const std::vector<BatchValue>& values,
                                      std::vector<BatchAxes>& axes) {
  bool fit = true;
  for (size_t i = 0; i < values.size(); ++i)
    if (!subset(values[i].axes, axes[i])) {
      axes[i] = united(axes[i], values[i].axes);
      fit = false;
    }
  for (size_t i = 0; i < values.size() && fit; ++i)
    region.yields.push_back(spread(values[i], axes[i]));
  return fit;
}

void Vectorizer::State::for_loop(const Node& n) {
  BatchValue lo = lookup(n.operands[0]), hi = lookup(n.operands[1]), step = lookup(n.operands[2]);
  const Region body = n.regions[0];
  const std::vector<ValueId> carried(body.params.begin() + 1, body.params.end());
  std::vector<BatchValue> initial;
  std::vector<BatchAxes> axes;
  for (size_t i = 3; i < n.operands.size(); ++i) {
    initial.push_back(lookup(n.operands[i]));
    axes.push_back(initial.back().axes);
  }
  BatchValue count; // of turns, where it may differ
  bool counted = !lo.axes.empty() || !hi.axes.empty() || !step.axes.empty();
  ValueId bounds[3];
  if (counted) {
    count = turns(lo, hi, step);
    if (!count.axes.empty()) {
      count = plain_axes(materialized(count), count.axes);
      if (auto where = needed(count.axes)) count = select(*where, count, constant(0));
    }
    bounds[0] = i64(0);
    bounds[1] = greatest(count);
    bounds[2] = i64(1);
  } else {
    bounds[0] = materialized(lo);
    bounds[1] = materialized(hi);
    bounds[2] = materialized(step);
  }
  const bool differs = counted && !count.axes.empty();
  if (!differs)
    if (auto active = anyone()) bounds[1] = b_->scalar(ScalarOp::Where, {*active, bounds[1], bounds[0]}, loc_);
  until_stable([&] {
    std::vector<Region> regions(1);
    bool fit = true;
    in_region(regions[0], [&] {
      ValueId turn = b_->param(Type::scalar(DType::I64), std::string(f_[body.params[0]].name));
      carry(carried, axes);
      if (!counted) {
        bind(body.params[0], plain(turn));
      } else {
        bind(body.params[0], elementwise(ScalarOp::Add, {lo, elementwise(ScalarOp::Mul, {plain(turn), step})}));
      }
      std::optional<BatchValue> active;
      if (differs) {
        active = elementwise(ScalarOp::Lt, {plain(turn), count});
        under(*active);
      }
      only(context_.mask);
      emit(body);
      std::vector<BatchValue> values;
      for (size_t i = 0; i < carried.size(); ++i) {
        BatchValue value = lookup(body.yields[i]);
        values.push_back(active ? select(*active, value, lookup(carried[i])) : value);
      }
      fit = yield_carried(regions[0], values, axes);
    });
    if (!fit) return false;
    std::vector<ValueId> operands(bounds, bounds + 3);
    for (size_t i = 0; i < initial.size(); ++i)
      operands.push_back(spread(initial[i], axes[i]));
    node_with_results(n, std::move(operands), axes, {}, std::move(regions));
    return true;
  });
}

// How often a For with these bounds runs, at each position.
BatchValue Vectorizer::State::turns(const BatchValue& lo, const BatchValue& hi, const BatchValue& step) {
  auto known = [&](const BatchValue& x) {
    const std::optional<Affine> affine = as_affine(x);
    return affine && affine->is_constant() ? std::optional(affine->offset) : std::nullopt;
  };
  // Bounds that move together, where they surely stay what they are.
  auto small = [](const Affine& x) {
    constexpr int64_t most_offset = int64_t{1} << 60, most_factor = int64_t{1} << 12; // times a position: 2**59
    return !x.base.valid() && x.terms.size() <= 4 && std::abs(x.offset) <= most_offset &&
           std::all_of(x.terms.begin(), x.terms.end(),
                       [](const Affine::Term& t) { return std::abs(t.factor) <= most_factor; });
  };
  const std::optional<Affine> from = as_affine(lo), to = as_affine(hi);
  if (from && to && small(*from) && small(*to)) {
    const BatchValue distance = elementwise(ScalarOp::Sub, {hi, lo});
    if (const std::optional<int64_t> span = known(distance); span && known(step).value_or(0) != 0)
      return constant(ir::turns(0, *span, *known(step)));
  }
  auto emit = [&](ScalarOp op, const std::vector<BatchValue>& of) { return elementwise(op, of); };
  auto fixed = [&](int64_t value) { return constant(value); };
  return ir::turns(emit, fixed, lo, hi, step, known(lo), known(step));
}

// The greatest of these, at least 0: a scalar.
ValueId Vectorizer::State::greatest(const BatchValue& count) {
  ValueId value = materialized(count);
  if (!count.axes.empty()) value = reduce_all(ReduceOp::Max, value);
  return b_->scalar(ScalarOp::Max, {value, i64(0)}, loc_);
}

void Vectorizer::State::while_loop(const Node& n) {
  std::vector<BatchValue> initial = lookup_all(n.operands);
  std::vector<BatchAxes> axes;
  for (const BatchValue& value : initial)
    axes.push_back(value.axes);
  std::optional<ValueId> anyone_at_first = anyone();
  bool together = true; // the condition is the same for all positions
  until_stable([&] {
    std::vector<Region> regions(2);
    bool fit = true;
    in_region(regions[0], [&] {
      carry(n.regions[0].params, axes);
      emit(n.regions[0]);
      BatchValue condition = lookup(n.regions[0].yields[0]);
      together = condition.axes.empty();
      if (together && anyone_at_first)
        condition = plain(b_->scalar(ScalarOp::And, {*anyone_at_first, materialized(condition)}, loc_));
      regions[0].yields = {materialized(condition)};
    });
    if (!together) return while_any(n, initial, axes);
    in_region(regions[1], [&] {
      carry(n.regions[1].params, axes);
      only(context_.mask);
      emit(n.regions[1]);
      fit = yield_carried(regions[1], lookup_all(n.regions[1].yields), axes);
    });
    if (!fit) return false;
    std::vector<ValueId> operands;
    for (size_t i = 0; i < initial.size(); ++i)
      operands.push_back(spread(initial[i], axes[i]));
    node_with_results(n, std::move(operands), axes, {}, std::move(regions));
    return true;
  });
}

// Turns while any position goes on; which ones do is carried too.
bool Vectorizer::State::while_any(const Node& n, const std::vector<BatchValue>& initial, std::vector<BatchAxes>& axes) {
  std::vector<BatchValue> before;
  for (size_t i = 0; i < initial.size(); ++i) {
    before.push_back(plain_axes(spread(initial[i], axes[i]), axes[i]));
    bind(n.regions[0].params[i], before[i]);
  }
  emit(n.regions[0]);
  BatchValue active = lookup(n.regions[0].yields[0]);
  if (context_.mask) active = elementwise(ScalarOp::And, {active, *context_.mask});
  if (auto where = needed(active.axes)) active = elementwise(ScalarOp::And, {active, *where});
  BatchAxes going = active.axes;
  // With the axes that the condition has in the loop, which may be more than before it.
  std::vector<Region> regions(2);
  bool fit = true;
  auto parameter = [&] { return plain_axes(b_->param(Type::tensor(DType::Bool, sizes(going))), going); };
  until_stable([&] {
    regions.assign(2, Region{});
    BatchAxes now;
    in_region(regions[1], [&] {
      carry(n.regions[1].params, axes);
      BatchValue mask = parameter();
      only(mask);
      emit(n.regions[1]);
      std::vector<BatchValue> values;
      for (size_t i = 0; i < initial.size(); ++i) {
        BatchValue old = lookup(n.regions[1].params[i]);
        values.push_back(select(mask, lookup(n.regions[1].yields[i]), old));
        bind(n.regions[0].params[i], values[i]);
      }
      fit = yield_carried(regions[1], values, axes);
      if (!fit) return;
      emit(n.regions[0]);
      BatchValue next = elementwise(ScalarOp::And, {mask, lookup(n.regions[0].yields[0])});
      now = united(going, next.axes);
      if (now == going) regions[1].yields.push_back(spread(next, going));
    });
    if (!fit || now == going) return true;
    going = now;
    return false;
  });
  if (!fit) return false;
  in_region(regions[0], [&] {
    carry(n.regions[0].params, axes);
    only(parameter());
    const BatchValue mask = *context_.mask;
    context_.some = false;
    regions[0].yields = {*anyone()};
  });
  std::vector<ValueId> operands;
  for (const BatchValue& value : before)
    operands.push_back(value.value);
  operands.push_back(spread(active, going));
  node_with_results(n, std::move(operands), axes, {Type::tensor(DType::Bool, sizes(going))}, std::move(regions));
  return true;
}

} // namespace tl

// `if`, and where two ways meet. What comes behind an `if` that may leave: jumps.cpp.
#include "ir/lower/function.h"
#include <algorithm>
#include <utility>

namespace tl::ir {

Leaves FunctionLowerer::if_expression(const typed::Expr& e, const Use& use) {
  const auto& branches = e.as<typed::IfExpr>();
  return with_value(*e.operands[0], [&](const Leaves& condition) {
    bind_all(e.binds);
    bool meet = !branches.then_block.diverges && !branches.else_block.diverges;
    // Where one way never comes back, all that follows is in the other.
    auto follow = [&](const Leaves& value) {
      bind_joins(branches.joins);
      bind_fresh(e.fresh, e.type, value);
      return use(as_type(value, e.type));
    };
    auto way = [&](const typed::Block& taken) {
      return block(taken, [&](const Leaves& value) { return meet ? as_type(value, e.type) : follow(value); });
    };
    Leaves value = merge(
        condition.at(0), [&] { return way(branches.then_block); }, [&] { return way(branches.else_block); },
        loc(e.span));
    if (!meet) return value;
    return unless_exited([&] { return follow(value); }, e.span);
  });
}

Leaves FunctionLowerer::block_expression(const typed::Expr& e, const Use& use) {
  auto inside = [&](ValueId device) {
    ValueId outer = std::exchange(placing_, device);
    Leaves result = block(e.as<typed::BlockExpr>().block, [&](const Leaves& value) {
      placing_ = outer;
      bind_all(e.binds);
      Leaves given = checked(value, e.checks, true);
      bind_fresh(e.fresh, e.type, given);
      Leaves after = use(as_type(std::move(given), e.type));
      placing_ = device; // the block may have other ways
      return after;
    });
    placing_ = outer;
    return result;
  };
  if (e.operands.empty()) return inside(placing_);
  return with_value(*e.operands[0], [&](const Leaves& device) { return inside(device.at(0)); });
}

// Two ways that meet: what each of them has, and the results of the node that becomes of them.
struct FunctionLowerer::Meeting {
  struct Way {
    Region region;
    Env env;
    Leaves value;
    Flow flow;
  } ways[2];
  uint32_t mark = 0;       // values before it are known where the ways meet
  std::vector<Type> types; // sizes that differ are results of their own, filled in afterwards
  struct Fill {
    size_t result, axis, size;
  };
  std::vector<Fill> fills;

  bool returns() const { return ways[0].flow == Flow::Returns && ways[1].flow == Flow::Returns; }
};

void FunctionLowerer::go_both_ways(Meeting& m, const Rest& then, const Rest& otherwise) {
  Env before = env_;
  for (int i = 0; i < 2; ++i) {
    env_ = before;
    flow_ = Flow::Goes;
    push(m.ways[i].region, ScopeKind::Lazy);
    m.ways[i].value = i == 0 ? then() : otherwise();
    pop();
    m.ways[i].env = std::move(env_);
    m.ways[i].flow = flow_;
  }
  env_ = std::move(before);
  bool goes = m.ways[0].flow == Flow::Goes || m.ways[1].flow == Flow::Goes;
  flow_ = goes ? Flow::Goes : m.returns() ? Flow::Returns : Flow::Leaves;
}

// One result of the node; a value that only one way has is zeros in the other.
size_t FunctionLowerer::merged_result(Meeting& m, ValueId a, ValueId b) {
  ValueId values[2] = {a, b};
  for (int i = 0; i < 2; ++i)
    if (!values[i].valid()) {
      Type t = type(values[1 - i]);
      for (Dim& d : t.dims)
        if (!d.is_constant() && !is_outer(d.value, m.mark)) d = Dim::of(0);
      scopes_.push_back({&m.ways[i].region, ScopeKind::Lazy, {}});
      values[i] = placeholder(t.is_tensor() ? Type::scalar(t.dtype) : t, t.dims);
      pop();
    }
  Type t = type(values[0]);
  const Type other = type(values[1]);
  std::vector<Meeting::Fill> mine;
  for (size_t axis = 0; axis < t.dims.size(); ++axis) {
    Dim d = t.dims[axis];
    if (d == other.dims[axis] && (d.is_constant() || is_outer(d.value, m.mark))) continue;
    mine.push_back({0, axis, m.types.size()});
    m.types.push_back(Type::scalar(DType::I64));
    for (int i = 0; i < 2; ++i) {
      Builder builder(shared_.module, f_, m.ways[i].region);
      m.ways[i].region.yields.push_back(builder.size(type(values[i]).dims[axis]));
    }
    t.dims[axis] = Dim::of(0);
  }
  for (Meeting::Fill fill : mine)
    m.fills.push_back({m.types.size(), fill.axis, fill.size});
  m.types.push_back(t);
  for (int i = 0; i < 2; ++i)
    m.ways[i].region.yields.push_back(values[i]);
  return m.types.size() - 1;
}

std::optional<Scalar> FunctionLowerer::same_constant(ValueId a, ValueId b) const {
  NodeId x = f_[a].producer, y = f_[b].producer;
  if (!x.valid() || !y.valid() || f_[x].op != Op::Constant || f_[y].op != Op::Constant) return {};
  if (type(a) != type(b) || f_[x].attrs != f_[y].attrs) return {};
  return f_[x].as<ConstantAttrs>().literal;
}

FunctionLowerer::Merged FunctionLowerer::merge_leaf(Meeting& m, VarKey var, size_t i, bool is_state) {
  ValueId leaf[2];
  for (int w = 0; w < 2; ++w)
    if (auto found = m.ways[w].env.find(var); found != m.ways[w].env.end()) leaf[w] = found->second.at(i);
  if (!is_state)
    for (int w = 0; w < 2; ++w) { // nobody looks at it where the function has returned
      if (m.ways[w].flow != Flow::Returns) continue;
      ValueId other = leaf[1 - w], old = env_.at(var).at(i);
      if (is_outer(other, m.mark)) return {other, 0};
      leaf[w] = type(old) == type(other) ? old : ValueId{};
    }
  if (leaf[0] == leaf[1] && is_outer(leaf[0], m.mark)) return {leaf[0], 0};
  if (leaf[0].valid() && leaf[1].valid())
    if (std::optional<Scalar> both = same_constant(leaf[0], leaf[1]))
      return {here().constant(type(leaf[0]).dtype, *both), 0};
  return {ValueId{}, merged_result(m, leaf[0], leaf[1])};
}

std::map<VarKey, std::vector<FunctionLowerer::Merged>> FunctionLowerer::merge_variables(Meeting& m) {
  std::map<VarKey, std::vector<Merged>> variables;
  auto merge_variable = [&](VarKey var, bool is_state) {
    size_t count = 0;
    for (const Meeting::Way& way : m.ways)
      if (auto found = way.env.find(var); found != way.env.end()) count = std::max(count, found->second.size());
    auto& merged = variables[var];
    for (size_t i = 0; i < count; ++i)
      merged.push_back(merge_leaf(m, var, i, is_state));
  };
  const Callee& callee = callees_.back();
  std::vector<VarKey> keys;
  for (const auto& [var, leaves] : env_)
    if (var != callee.result) keys.push_back(var);
  for (VarKey var : keys) {
    bool is_state = var >= next_pseudo_; // the token, flags, results
    if (is_state || !m.returns()) merge_variable(var, is_state);
  }
  bool has_result = m.ways[0].env.contains(callee.result) || m.ways[1].env.contains(callee.result);
  if (has_result) merge_variable(callee.result, true);
  return variables;
}

Leaves FunctionLowerer::merge(ValueId condition, const Rest& then, const Rest& otherwise, LocId at) {
  Meeting m;
  m.mark = static_cast<uint32_t>(f_.values.size());
  go_both_ways(m, then, otherwise);
  const std::map<VarKey, std::vector<Merged>> variables = merge_variables(m);
  std::vector<size_t> value;
  for (size_t i = 0; i < std::max(m.ways[0].value.size(), m.ways[1].value.size()); ++i) {
    auto leaf = [&](int w) { return i < m.ways[w].value.size() ? m.ways[w].value[i] : ValueId{}; };
    value.push_back(merged_result(m, leaf(0), leaf(1)));
  }

  std::vector<Region> regions;
  for (Meeting::Way& way : m.ways)
    regions.push_back(std::move(way.region));
  NodeId node = here().node(Op::If, {condition}, std::move(m.types), {}, at, std::move(regions));
  std::vector<ValueId> results = f_[node].results;
  for (const Meeting::Fill& fill : m.fills)
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

} // namespace tl::ir

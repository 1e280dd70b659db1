// `if`, and where two ways meet. What comes behind an `if` that may leave: jumps.cpp.
#include "ir/lower/function.h"
#include <algorithm>
#include <utility>

namespace tl::ir {

Leaves FunctionLowerer::if_expression(const typed::Expr& e, const Use& use) {
  return with_value(*e.operands[0], [&](const Leaves& condition) {
    bind_all(e.binds);
    bool meet = !e.blocks[0].diverges && !e.blocks[1].diverges;
    // Where one way never comes back, all that follows stands in the other.
    auto follow = [&](const Leaves& value) {
      bind_joins(e.joins);
      bind_fresh(e.fresh, e.type, value);
      return use(as_type(value, e.type));
    };
    auto way = [&](size_t i) {
      return block(e.blocks[i], [&](const Leaves& value) { return meet ? as_type(value, e.type) : follow(value); });
    };
    Leaves value = merge(
        condition.at(0), [&] { return way(0); }, [&] { return way(1); }, loc(e.span));
    if (!meet) return value;
    return unless_exited([&] { return follow(value); }, e.span);
  });
}

Leaves FunctionLowerer::block_expression(const typed::Expr& e, const Use& use) {
  auto inside = [&](ValueId device) {
    ValueId outer = std::exchange(placing_, device);
    Leaves result = block(e.blocks[0], [&](const Leaves& value) {
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

Leaves FunctionLowerer::merge(ValueId condition, const Rest& then, const Rest& otherwise, LocId at) {
  auto mark = static_cast<uint32_t>(f_.values.size());
  Env before = env_;
  struct Way {
    Region region;
    Env env;
    Leaves value;
    Flow flow;
  } ways[2];
  for (int i = 0; i < 2; ++i) {
    env_ = before;
    flow_ = Flow::Goes;
    push(ways[i].region, ScopeKind::Lazy);
    ways[i].value = i == 0 ? then() : otherwise();
    pop();
    ways[i].env = std::move(env_);
    ways[i].flow = flow_;
  }
  env_ = std::move(before);
  bool goes = ways[0].flow == Flow::Goes || ways[1].flow == Flow::Goes;
  bool returns = ways[0].flow == Flow::Returns && ways[1].flow == Flow::Returns;
  flow_ = goes ? Flow::Goes : returns ? Flow::Returns : Flow::Leaves;

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

  // What a variable is afterwards: for each leaf its value, or (if that is invalid) which result.
  std::map<VarKey, std::vector<std::pair<ValueId, size_t>>> variables;
  auto same_constant = [&](ValueId a, ValueId b) -> std::optional<Scalar> {
    NodeId x = f_[a].producer, y = f_[b].producer;
    if (!x.valid() || !y.valid() || f_[x].op != Op::Constant || f_[y].op != Op::Constant) return {};
    if (type(a) != type(b) || !(f_[x].attrs.literal == f_[y].attrs.literal)) return {};
    return f_[x].attrs.literal;
  };
  auto merge_leaf = [&](VarKey var, size_t i, bool is_state) -> std::pair<ValueId, size_t> {
    ValueId leaf[2];
    for (int w = 0; w < 2; ++w)
      if (auto found = ways[w].env.find(var); found != ways[w].env.end()) leaf[w] = found->second.at(i);
    if (!is_state)
      for (int w = 0; w < 2; ++w) { // nobody looks at it where the function has returned
        if (ways[w].flow != Flow::Returns) continue;
        ValueId other = leaf[1 - w], old = env_.at(var).at(i);
        if (is_outer(other, mark)) return {other, 0};
        leaf[w] = type(old) == type(other) ? old : ValueId{};
      }
    if (leaf[0] == leaf[1] && is_outer(leaf[0], mark)) return {leaf[0], 0};
    if (leaf[0].valid() && leaf[1].valid())
      if (std::optional<Scalar> both = same_constant(leaf[0], leaf[1]))
        return {here().constant(type(leaf[0]).dtype, *both), 0};
    return {ValueId{}, result(leaf[0], leaf[1])};
  };
  auto merge_variable = [&](VarKey var, bool is_state) {
    size_t count = 0;
    for (const Way& way : ways)
      if (auto found = way.env.find(var); found != way.env.end()) count = std::max(count, found->second.size());
    auto& merged = variables[var];
    for (size_t i = 0; i < count; ++i)
      merged.push_back(merge_leaf(var, i, is_state));
  };
  const Callee& callee = callees_.back();
  std::vector<VarKey> keys;
  for (const auto& [var, leaves] : env_)
    if (var != callee.result) keys.push_back(var);
  for (VarKey var : keys) {
    bool is_state = var >= next_pseudo_; // the token, flags, results
    if (is_state || !returns) merge_variable(var, is_state);
  }
  bool has_result = ways[0].env.contains(callee.result) || ways[1].env.contains(callee.result);
  if (has_result) merge_variable(callee.result, true);
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

} // namespace tl::ir

// Loops. Those without break and return are For nodes; the others are While nodes that also carry flags. What a loop
// carries: the token if its body has effects, flags, and the variables that it assigns.
#include "ir/graph/turns.h"
#include "ir/lower/function.h"
#include <algorithm>
#include <utility>

namespace tl::ir {
namespace {

struct Contents {
  std::set<VarKey> assigned;
  bool breaks = false, continues = false, returns = false, effects = false;
};

// `own`: break and continue in it are those of the loop asked about.
template <class Tree> void collect(const typed::Program& program, const Tree& tree, bool own, Contents& into) {
  walk(
      tree,
      [&](const typed::Expr& e) {
        into.effects = into.effects || typed::is_effect(program, e);
        return true;
      },
      [&](const typed::Stmt& s) {
        for (const typed::Place& place : s.targets)
          if (place.var.valid()) into.assigned.insert(place.var.index);
        into.effects = into.effects || s.kind == typed::StmtKind::Assert;
        into.returns = into.returns || s.kind == typed::StmtKind::Return;
        if (own) into.breaks = into.breaks || s.kind == typed::StmtKind::Break;
        if (own) into.continues = into.continues || s.kind == typed::StmtKind::Continue;
        bool inner_loop = s.kind == typed::StmtKind::For || s.kind == typed::StmtKind::While;
        if (!inner_loop || !own) return true;
        collect(program, s.body, false, into);
        collect(program, *s.value, own, into);
        return false;
      });
}

Contents contents(const typed::Program& program, const typed::Stmt& loop) {
  Contents result;
  collect(program, loop.body, true, result);
  if (loop.kind == typed::StmtKind::While) collect(program, *loop.value, true, result);
  return result;
}

} // namespace

// ---- what is carried

FunctionLowerer::Carried FunctionLowerer::carried_by(const typed::Stmt& stmt, const Loop& exits, bool returns) {
  Contents inside = contents(shared_.program, stmt);
  std::vector<VarKey> vars;
  if (inside.effects && env_.contains(kToken)) vars.push_back(kToken);
  if (exits.broke) vars.push_back(exits.broke);
  const Callee& callee = callees_.back();
  std::map<VarKey, std::vector<std::pair<size_t, uint32_t>>> varying; // by variable: leaf and axis
  if (returns) {
    vars.push_back(callee.returned);
    vars.push_back(callee.result);
    std::vector<tl::Type> types = leaf_types(*callee.result_type);
    for (size_t i = 0; i < types.size(); ++i)
      for (uint32_t axis = 0; axis < types[i].shape.size(); ++axis)
        if (!knows(types[i].shape[axis])) varying[callee.result].emplace_back(i, axis);
  }
  for (VarKey var : inside.assigned)
    if (env_.contains(var)) vars.push_back(var); // the others are declared inside
  for (const auto* joins : {&stmt.head, &stmt.after})
    for (const typed::Join& join : *joins)
      for (const typed::FreshAtom& fresh : join.fresh)
        varying[join.var.index].emplace_back(leaf_index(join.type, fresh.path), fresh.axis);
  Carried carried;
  for (VarKey var : vars)
    for (size_t i = 0; i < env_.at(var).size(); ++i) {
      carried.leaves.push_back({var, i, {}});
      for (auto [leaf, axis] : varying[var])
        if (leaf == i) carried.leaves.back().varying.insert(axis);
    }
  return carried;
}

// The values that the loop starts with, or (given its parameters) that an iteration ends with.
std::vector<ValueId> FunctionLowerer::current(const Carried& carried, const std::vector<ValueId>& params) {
  std::vector<ValueId> values;
  for (const Carried::Leaf& leaf : carried.leaves) {
    ValueId value = env_.at(leaf.var).at(leaf.leaf);
    if (!params.empty()) {
      std::vector<Dim> wanted = type(params[values.size() + leaf.varying.size()]).dims;
      for (uint32_t axis : leaf.varying)
        wanted[axis] = type(value).dims.at(axis);
      value = retyped(value, wanted);
    }
    for (uint32_t axis : leaf.varying)
      values.push_back(here().size(type(value).dims.at(axis)));
    values.push_back(value);
  }
  return values;
}

// `region` is a scope already; loop indices are its parameters already.
std::vector<ValueId> FunctionLowerer::enter(const Carried& carried, Region& region) {
  Builder builder(shared_.module, f_, region);
  std::vector<ValueId> params;
  for (const Carried::Leaf& leaf : carried.leaves) {
    ValueId old = env_.at(leaf.var).at(leaf.leaf);
    Type t = type(old);
    for (uint32_t axis : leaf.varying) {
      params.push_back(builder.param(Type::scalar(DType::I64)));
      t.dims.at(axis) = Dim::of(params.back());
    }
    std::string name = f_[old].name;
    params.push_back(builder.param(std::move(t), std::move(name)));
    env_[leaf.var][leaf.leaf] = params.back();
  }
  return params;
}

void FunctionLowerer::leave(const Carried& carried, const std::vector<ValueId>& params, NodeId loop) {
  std::vector<ValueId> results = f_[loop].results;
  size_t next = 0;
  for (const Carried::Leaf& leaf : carried.leaves) {
    size_t first = next;
    next += leaf.varying.size();
    Type t = type(params[next]);
    for (uint32_t axis : leaf.varying)
      t.dims.at(axis) = Dim::of(results[first++]);
    f_[results[next]].type = std::move(t);
    f_[results[next]].name = std::string(f_[params[next]].name);
    env_[leaf.var][leaf.leaf] = results[next++];
  }
}

void FunctionLowerer::bind_joins(const std::vector<typed::Join>& joins) {
  for (const typed::Join& join : joins)
    if (auto found = env_.find(join.var.index); found != env_.end()) {
      Leaves leaves = found->second;
      bind_fresh(join.fresh, join.type, leaves);
    }
}

// A value that nobody looks at: zeros, of the sizes that are known.
Leaves FunctionLowerer::placeholder(const tl::Type& t) {
  Leaves leaves;
  for (const tl::Type& leaf : leaf_types(t)) {
    std::vector<Dim> sizes;
    for (const Size& size : leaf.shape)
      sizes.push_back(knows(size) ? dim(size) : Dim::of(0));
    leaves.push_back(placeholder(leaf.is_tensor() ? Type::scalar(leaf.dtype) : graph_type(leaf), sizes));
  }
  return leaves;
}

ValueId FunctionLowerer::placeholder(const Type& t, const std::vector<Dim>& sizes) {
  if (t.kind == Type::Kind::Str) return here().one(Op::ConstStr, {}, Type::str(), ConstStrAttrs{});
  if (t.kind == Type::Kind::List) return here().one(Op::ListMake, {}, Type(t), ListMakeAttrs{1, 0});
  return splat(here().constant(t.dtype, {}), sizes, {});
}

// ---- loops

void FunctionLowerer::loop(const typed::Stmt& stmt) {
  Contents inside = contents(shared_.program, stmt);
  Loop exits{inside.breaks ? new_flag() : 0, inside.continues ? new_flag() : 0};
  VarKey result = callees_.back().result;
  if (inside.returns && !env_.contains(result)) env_[result] = placeholder(*callees_.back().result_type);
  if (stmt.kind == typed::StmtKind::For)
    for_loop(stmt, exits, inside.returns);
  else
    while_loop(stmt, exits, inside.returns);
  if (exits.broke) env_.erase(exits.broke);
  if (exits.continued) env_.erase(exits.continued);
  bind_joins(stmt.after);
}

// Where the function has returned, an iteration ends with the variables that it began with, whatever became of them.
void FunctionLowerer::forget_variables(const Carried& carried, const std::vector<ValueId>& params) {
  size_t next = 0;
  for (const Carried::Leaf& leaf : carried.leaves) {
    next += leaf.varying.size();
    if (leaf.var < next_pseudo_) env_[leaf.var][leaf.leaf] = params[next];
    ++next;
  }
}

// One iteration, in the innermost scope: the pattern gets `value`. How its end is reached.
FunctionLowerer::Flow FunctionLowerer::loop_body(const typed::Stmt& stmt, const Loop& exits, const Leaves& value,
                                                 const tl::Type& value_type) {
  Env before = env_;
  callees_.back().loops.push_back(exits);
  if (exits.continued) env_[exits.continued] = {here().constant(DType::Bool, {})};
  bind_joins(stmt.head);
  bind_condition(stmt);
  size_t next = 0;
  bind(stmt.pattern, value_type, value, next);
  block(stmt.body, [](const Leaves&) { return Leaves(); });
  Flow end = std::exchange(flow_, Flow::Goes);
  callees_.back().loops.pop_back();
  for (auto it = env_.begin(); it != env_.end();) // what was declared inside ends here
    it = before.contains(it->first) ? std::next(it) : env_.erase(it);
  return end;
}

void FunctionLowerer::for_loop(const typed::Stmt& stmt, const Loop& exits, bool returns) {
  const typed::Expr& over = *stmt.value;
  LocId at = loc(stmt.span);
  at_ = over.span.valid() ? over.span : stmt.span; // where the sizes of the range fail
  bool is_range = over.type.is_range();
  ValueId lo, hi, step;
  Leaves rows; // of complex numbers two
  std::optional<int64_t> constant_lo, constant_step;
  if (is_range) {
    expr(over); // a variable, or the atoms in its bounds
    lo = checked(size_value(over.type.shape[0]), over.checks);
    hi = size_value(over.type.shape[1]);
    step = size_value(over.type.shape[2]);
    if (over.type.shape[0].is_constant()) constant_lo = over.type.shape[0].constant();
    if (over.type.shape[2].is_constant())
      constant_step = over.type.shape[2].constant();
    else
      step = guard(step, scalar(ScalarOp::Ne, {step, i64(0)}, at),
                   site("WrongArguments", "the step of a range cannot be 0", over.span), {}, over.span);
  } else {
    rows = expr(over);
    lo = i64(0);
    hi = here().size(type(rows.at(0)).dims.at(0));
    step = i64(1);
    constant_lo = 0;
    constant_step = 1;
  }
  bool leaves_early = exits.broke || returns;
  Carried carried = carried_by(stmt, exits, returns);
  auto iteration = [&](ValueId i) {
    if (is_range) return loop_body(stmt, exits, {i}, tl::Type::scalar(DType::I64));
    tl::Type row = over.type;
    row.shape.erase(row.shape.begin());
    Type t = type(rows[0]);
    t.dims.erase(t.dims.begin());
    Leaves values;
    for (ValueId leaf : rows)
      values.push_back(here().one(Op::Index, {leaf, i}, Type(t), {}, at));
    return loop_body(stmt, exits, values, row);
  };

  if (!leaves_early) {
    std::vector<ValueId> operands = current(carried);
    operands.insert(operands.begin(), {lo, hi, step});
    Env outside = env_;
    Region body;
    push(body, ScopeKind::Lazy);
    ValueId i = here().param(Type::scalar(DType::I64));
    std::vector<ValueId> params = enter(carried, body);
    iteration(i);
    body.yields = current(carried, params);
    pop();
    env_ = std::move(outside);
    std::vector<Region> regions;
    regions.push_back(std::move(body));
    std::vector<Type> types;
    for (ValueId param : params)
      types.push_back(type(param));
    leave(carried, params, here().node(Op::For, std::move(operands), std::move(types), {}, at, std::move(regions)));
    return;
  }

  auto emit = [&](ScalarOp op, std::vector<ValueId> of) { return scalar(op, std::move(of)); };
  auto constant = [&](int64_t value) { return i64(value); };
  const ValueId count = turns(emit, constant, lo, hi, step, constant_lo, constant_step);
  std::vector<ValueId> operands = current(carried);
  operands.insert(operands.begin(), i64(0));
  Env outside = env_;
  Region condition, body;
  push(condition, ScopeKind::Lazy);
  {
    ValueId k = here().param(Type::scalar(DType::I64));
    enter(carried, condition);
    callees_.back().loops.push_back({exits.broke, 0});
    ValueId more = scalar(ScalarOp::Lt, {k, count});
    if (std::optional<ValueId> left = exited()) more = scalar(ScalarOp::And, {scalar(ScalarOp::Not, {*left}), more});
    callees_.back().loops.pop_back();
    condition.yields = {more};
  }
  pop();
  env_ = outside;
  push(body, ScopeKind::Lazy);
  ValueId k = here().param(Type::scalar(DType::I64));
  std::vector<ValueId> params = enter(carried, body);
  ValueId i = scalar(ScalarOp::Add, {lo, constant_step == 1 ? k : scalar(ScalarOp::Mul, {k, step})});
  // The flags are down at the start of an iteration, and known to be so.
  for (VarKey flag : {exits.broke, returns ? callees_.back().returned : 0})
    if (flag) env_[flag] = {here().constant(DType::Bool, {})};
  if (iteration(i) == Flow::Returns) forget_variables(carried, params);
  body.yields = current(carried, params);
  body.yields.insert(body.yields.begin(), scalar(ScalarOp::Add, {k, i64(1)}));
  pop();
  env_ = std::move(outside);
  std::vector<Type> types{Type::scalar(DType::I64)};
  for (ValueId param : params)
    types.push_back(type(param));
  std::vector<Region> regions;
  regions.push_back(std::move(condition));
  regions.push_back(std::move(body));
  NodeId node = here().node(Op::While, std::move(operands), std::move(types), {}, at, std::move(regions));
  std::vector<ValueId> results = f_[node].results;
  f_[node].results.erase(f_[node].results.begin()); // leave() looks at the carried ones
  leave(carried, params, node);
  f_[node].results = results;
}

void FunctionLowerer::while_loop(const typed::Stmt& stmt, const Loop& exits, bool returns) {
  LocId at = loc(stmt.span);
  Carried carried = carried_by(stmt, exits, returns);
  auto test = [&]() -> ValueId {
    bind_joins(stmt.head);
    callees_.back().loops.push_back({exits.broke, 0});
    auto condition = [&] { return with_value(*stmt.value, [](const Leaves& value) { return value; }); };
    Leaves go = unless_exited(condition, stmt.value->span);
    callees_.back().loops.pop_back();
    flow_ = Flow::Goes;
    return go.empty() ? here().constant(DType::Bool, {}) : go[0];
  };
  // A condition that does more than to compute a value is evaluated before the loop and at the end of each iteration,
  // and carried.
  Contents inside;
  collect(shared_.program, *stmt.value, true, inside);
  VarKey go = 0;
  if (inside.effects || !inside.assigned.empty() || may_leave(*stmt.value)) {
    ValueId first = test();
    go = new_pseudo();
    env_[go] = {first};
    carried.leaves.push_back({go, 0, {}});
  }
  std::vector<ValueId> operands = current(carried);
  Env outside = env_;
  Region condition, body;
  push(condition, ScopeKind::Lazy);
  enter(carried, condition);
  condition.yields = {go ? env_.at(go)[0] : test()};
  pop();
  env_ = outside;
  push(body, ScopeKind::Lazy);
  std::vector<ValueId> params = enter(carried, body);
  for (VarKey flag : {exits.broke, returns ? callees_.back().returned : 0})
    if (flag) env_[flag] = {here().constant(DType::Bool, {})};
  if (loop_body(stmt, exits, {}, tl::Type::unit()) == Flow::Returns) forget_variables(carried, params);
  if (go) env_[go] = {test()};
  body.yields = current(carried, params);
  pop();
  env_ = std::move(outside);
  std::vector<Type> types;
  for (ValueId param : params)
    types.push_back(type(param));
  std::vector<Region> regions;
  regions.push_back(std::move(condition));
  regions.push_back(std::move(body));
  leave(carried, params, here().node(Op::While, std::move(operands), std::move(types), {}, at, std::move(regions)));
  if (go) env_.erase(go);
  bind_condition(stmt);
}

// The sizes that a condition gives to variables, which are known in it, for what comes behind it: it is evaluated in a
// place of its own.
void FunctionLowerer::bind_condition(const typed::Stmt& loop) {
  if (loop.kind != typed::StmtKind::While) return;
  walk(
      *loop.value,
      [&](const typed::Expr& e) {
        if (const auto* branches = e.get_if<typed::IfExpr>()) bind_joins(branches->joins);
        return true;
      },
      [&](const typed::Stmt& s) {
        bind_joins(s.after);
        return true;
      });
}

} // namespace tl::ir

#include "ir/lower_function.h"
#include "ir/op_info.h"
#include <algorithm>
#include <utility>

namespace tl::ir {
namespace {

bool is_jump(const typed::Stmt& stmt) {
  return stmt.kind == typed::StmtKind::Break || stmt.kind == typed::StmtKind::Continue ||
         stmt.kind == typed::StmtKind::Return;
}

bool contains_jump(const typed::Expr& e) {
  bool found = false;
  walk(
      e, [&](const typed::Expr&) { return !found; },
      [&](const typed::Stmt& stmt) {
        found = found || is_jump(stmt);
        return !found;
      });
  return found;
}

} // namespace

VarKey FunctionLowerer::new_flag() {
  VarKey key = new_pseudo();
  env_[key] = {here().constant(DType::Bool, {})};
  return key;
}

bool FunctionLowerer::may_jump(const typed::Expr& e) const {
  return !callees_.back().without_jumps && contains_jump(e);
}

// What stands inside of it is not asked again, so that deep nests cost linear time.
Leaves FunctionLowerer::expr_without_jumps(const typed::Expr& e) {
  bool outside = std::exchange(callees_.back().without_jumps, true);
  Leaves value = expr(e);
  callees_.back().without_jumps = outside;
  return value;
}

// ---- blocks
// -----------------------------------------------------------------------------------------------------------

Leaves FunctionLowerer::statements(const typed::Block& block, size_t from) {
  for (size_t i = from; i < block.statements.size(); ++i) {
    if (dead_) return {};
    const typed::Stmt& stmt = block.statements[i];
    auto rest = [&, i] { return statements(block, i + 1); };
    switch (stmt.kind) {
    case typed::StmtKind::Let:
    case typed::StmtKind::Assign:
    case typed::StmtKind::Expr:
      if (may_jump(*stmt.value))
        return with_value(*stmt.value, [&](const Leaves& value) -> Leaves {
          finish(stmt, value);
          return rest();
        });
      finish(stmt, expr_without_jumps(*stmt.value));
      break;
    case typed::StmtKind::For:
    case typed::StmtKind::While:
      loop(stmt);
      if (exited()) return unless_exited(rest, stmt.span);
      break;
    case typed::StmtKind::Break:
    case typed::StmtKind::Continue:
    case typed::StmtKind::Return: jump(stmt); return {};
    case typed::StmtKind::Assert: assertion(stmt); break;
    }
  }
  if (dead_) return {};
  bool is_result = callees_.back().body == &block;
  auto use = [&](const Leaves& value) {
    if (is_result) env_[callees_.back().result] = as_type(value, *callees_.back().result_type);
    return value;
  };
  return block.result ? with_value(*block.result, use) : use({});
}

Leaves FunctionLowerer::with_value(const typed::Expr& e, const Use& use) {
  if (!may_jump(e)) return use(expr_without_jumps(e));
  // Where one branch never comes back, all that follows goes into the other.
  if (e.kind == typed::ExprKind::If && (e.blocks[0].diverges || e.blocks[1].diverges)) return if_expression(e, use);
  Leaves value = expr(e);
  return unless_exited([&] { return use(value); }, e.span);
}

Leaves FunctionLowerer::unless_exited(const Rest& rest, Span span) {
  if (dead_) return {};
  std::optional<ValueId> left = exited();
  if (!left) return rest();
  return merge(
      scalar(ScalarOp::Not, {*left}), rest, [] { return Leaves(); }, loc(span));
}

std::optional<ValueId> FunctionLowerer::exited() {
  std::vector<VarKey> flags{callees_.back().returned};
  if (!callees_.back().loops.empty()) {
    flags.push_back(callees_.back().loops.back().broke);
    flags.push_back(callees_.back().loops.back().continued);
  }
  std::optional<ValueId> any;
  for (VarKey flag : flags) {
    if (!flag) continue;
    ValueId value = env_.at(flag)[0];
    NodeId producer = f_[value].producer;
    bool surely_not = producer.valid() && f_[producer].op == Op::Constant && f_[producer].attrs.literal == Scalar{};
    if (!surely_not) any = any ? scalar(ScalarOp::Or, {*any, value}) : value;
  }
  return any;
}

void FunctionLowerer::jump(const typed::Stmt& stmt) {
  Callee& callee = callees_.back();
  VarKey flag = callee.returned;
  if (stmt.kind == typed::StmtKind::Break) flag = callee.loops.back().broke;
  if (stmt.kind == typed::StmtKind::Continue) flag = callee.loops.back().continued;
  if (stmt.kind == typed::StmtKind::Return) {
    Leaves value = stmt.value ? expr(*stmt.value) : Leaves();
    env_[callees_.back().result] = as_type(std::move(value), *callees_.back().result_type);
  }
  env_[flag] = {here().constant(DType::Bool, Scalar::of(uint8_t{1}))};
  dead_ = true;
}

// ---- bindings and assignments
// -----------------------------------------------------------------------------------------

void FunctionLowerer::finish(const typed::Stmt& stmt, const Leaves& value) {
  if (stmt.kind == typed::StmtKind::Let) {
    size_t next = 0;
    bind(stmt.pattern, stmt.value->type, value, next);
  } else if (stmt.kind == typed::StmtKind::Assign) {
    assign(stmt, value);
  }
  for (const auto& [atom, size] : stmt.size_defs)
    bind_atom(atom, size_value(size));
}

void FunctionLowerer::bind(const typed::Pattern& pattern, const tl::Type& t, const Leaves& leaves, size_t& next) {
  if (pattern.is_tuple) {
    for (size_t i = 0; i < pattern.elements.size(); ++i)
      bind(pattern.elements[i], t.elements.at(i), leaves, next);
    return;
  }
  size_t count = leaf_types(t).size();
  Leaves part(leaves.begin() + static_cast<long>(next), leaves.begin() + static_cast<long>(next + count));
  next += count;
  if (!pattern.var.valid()) return;
  const typed::Variable& var = shared_.program.variables[pattern.var.index];
  if (var.atom.valid() && count == 1) bind_atom(var.atom, part[0]);
  if (count == 1 && f_[part[0]].name.empty()) f_[part[0]].name = var.name;
  env_[pattern.var.index] = std::move(part);
}

void FunctionLowerer::assign(const typed::Stmt& stmt, const Leaves& value) {
  assign_place(stmt, stmt.targets[0], stmt.value->type, checked(value, stmt.checks, true));
}

void FunctionLowerer::assign_place(const typed::Stmt& stmt, const typed::Place& place, const tl::Type& value_type,
                                   Leaves value) {
  if (!place.var.valid()) return;
  LocId at = loc(stmt.span);
  Leaves& whole = env_.at(place.var.index);
  // The leaves of the part; a leaf below subscripts is a whole tensor.
  size_t first = place.path.empty() ? 0 : leaf_index(shared_.program.variables[place.var.index].type, place.path);
  size_t count = place.path.empty() ? whole.size() : place.subscripts.empty() ? leaf_types(place.type).size() : 1;
  auto begin = whole.begin() + static_cast<long>(first);
  Leaves target(begin, begin + static_cast<long>(count));
  auto store = [&](Leaves leaves) {
    Leaves& variable = env_.at(place.var.index);
    if (place.path.empty())
      variable = std::move(leaves);
    else
      std::copy(leaves.begin(), leaves.end(), variable.begin() + static_cast<long>(first));
    if (variable.size() == 1 && f_[variable[0]].name.empty())
      f_[variable[0]].name = shared_.program.variables[place.var.index].name;
  };
  auto combine = [&](ValueId old, ValueId operand) {
    std::vector<Dim> shape = type(old).dims;
    ValueId b = guarded_operand(stmt.scalar_op, operand, stmt.span);
    return elementwise(stmt.scalar_op, {old, b}, shape, at);
  };
  if (place.subscripts.empty()) {
    if (place.type.is_tensor() && value_type.is_tensor()) {
      ValueId v = value.at(0);
      if (value_type.rank() || place.type.rank()) v = broadcast(v, value_type.shape, place.type.shape, at);
      if (stmt.mode == typed::AssignMode::Combine) v = combine(as_type(target[0], place.type), v);
      value = {v};
    }
    return store(std::move(value));
  }
  ValueId base = target.at(0);
  const std::vector<Dim> dims = type(base).dims; // a copy: evaluating adds values
  Subscripts subscripts = evaluate(place.subscripts, dims, place.type.shape, stmt.checks);
  ValueId v = value.at(0);
  std::vector<Size> shape = value_type.shape;
  UpdateMode mode = UpdateMode::Set;
  if (stmt.mode == typed::AssignMode::Accumulate) mode = UpdateMode::Add;
  if (subscripts.masks) { // what a mask chooses is chosen once: adding up is combining
    std::function<ValueId(ValueId, ValueId)> with;
    if (stmt.mode == typed::AssignMode::Combine) with = combine;
    if (stmt.mode == typed::AssignMode::Accumulate)
      with = [&](ValueId old, ValueId operand) {
        return elementwise(ScalarOp::Add, {old, operand}, type(old).dims, at);
      };
    return store({write_mask(base, subscripts, v, shape.size(), with, stmt.span)});
  }
  v = guard_count(subscripts, v, shape, place.type.shape, stmt.span);
  if (stmt.mode == typed::AssignMode::Combine) {
    ValueId old = read(base, subscripts, place.type.shape, at);
    v = combine(old, broadcast(v, value_type.shape, place.type.shape, at));
    shape = place.type.shape;
  }
  store({write(base, subscripts, v, place, shape, mode, stmt.span)});
}

void FunctionLowerer::assertion(const typed::Stmt& stmt) {
  Leaves condition = checked({one(*stmt.value)}, stmt.checks, true);
  LocId at = loc(stmt.span);
  auto fail = [&](ValueId cond) {
    std::vector<ValueId> operands{ValueId{}, cond};
    Attrs attrs;
    attrs.format.literals = {"`" + stmt.text + "` is false"};
    if (stmt.message && stmt.message->kind == typed::ExprKind::Interp) {
      attrs.format = stmt.message->format;
      for (const typed::ExprPtr& e : stmt.message->operands)
        operands.push_back(one(*e));
    } else if (stmt.message && stmt.message->kind == typed::ExprKind::Str) {
      attrs.format.literals = {stmt.message->text};
    } else if (stmt.message) {
      attrs.format = {{"", ""}, {""}};
      operands.push_back(one(*stmt.message));
    }
    attrs.index = site("AssertionFailed", "", stmt.span);
    operands[0] = token();
    effect(Op::Assert, operands, {Type::token()}, std::move(attrs), at);
  };
  // The message is evaluated only on failure: where evaluating it could fail itself, it stands in a branch.
  Snapshot before = snapshot();
  Env env = env_;
  size_t nodes = scopes_.back().region->nodes.size();
  fail(condition[0]);
  const std::vector<NodeId>& made = scopes_.back().region->nodes;
  bool risky = false;
  for (size_t i = nodes; i + 1 < made.size(); ++i)
    risky = risky || must_stay(f_, f_[made[i]]);
  if (!risky) return;
  restore(before);
  env_ = env;
  merge(
      condition[0], [] { return Leaves(); },
      [&] {
        fail(here().constant(DType::Bool, {}));
        return Leaves();
      },
      at);
}

} // namespace tl::ir

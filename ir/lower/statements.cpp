#include "ir/graph/op_info.h"
#include "ir/lower/function.h"
#include <algorithm>
#include <utility>

namespace tl::ir {

// ---- blocks

Leaves FunctionLowerer::statements(const typed::Block& block, size_t from, const Use& then) {
  for (size_t i = from; i < block.statements.size(); ++i) {
    const typed::Stmt& stmt = block.statements[i];
    if (may_leave(stmt)) return with_statement(stmt, [&, i] { return statements(block, i + 1, then); });
    switch (stmt.kind) {
    case typed::StmtKind::Let:
    case typed::StmtKind::Expr: {
      const size_t outer = binding_.size();
      binding_.push_back(&stmt);
      const Leaves value = expr(*stmt.value);
      binding_.resize(outer);
      finish(stmt, value);
      break;
    }
    case typed::StmtKind::Assign: with_assignment(stmt, [] { return Leaves(); }); break;
    case typed::StmtKind::For:
    case typed::StmtKind::While: loop(stmt); break;
    case typed::StmtKind::Assert: assertion(stmt, one(*stmt.value)); break;
    case typed::StmtKind::Break:
    case typed::StmtKind::Continue:
    case typed::StmtKind::Return: throw std::logic_error("lowering: a jump that leaves nothing");
    }
  }
  bool leaves = block.result && may_leave(*block.result);
  if (block.diverges && !leaves) { // behind a loop without end
    flow_ = Flow::Returns;
    return {};
  }
  return block.result ? with_value(*block.result, then) : then({});
}

Leaves FunctionLowerer::with_statement(const typed::Stmt& stmt, const Rest& rest) {
  auto go_on = [&] { return unless_exited(rest, stmt.span); };
  switch (stmt.kind) {
  case typed::StmtKind::Let:
  case typed::StmtKind::Expr: {
    const size_t outer = binding_.size();
    binding_.push_back(&stmt);
    Leaves result = with_value(*stmt.value, [&](const Leaves& value) {
      binding_.resize(outer);
      finish(stmt, value);
      return rest();
    });
    binding_.resize(outer); // where the value leaves, nobody has come to its end
    return result;
  }
  case typed::StmtKind::Assign: return with_assignment(stmt, rest);
  case typed::StmtKind::For:
    return with_children({{stmt.value.get(), {}}}, 0, [&] {
      loop(stmt);
      return go_on();
    });
  case typed::StmtKind::While: loop(stmt); return go_on();
  case typed::StmtKind::Break:
  case typed::StmtKind::Continue: jump(stmt, {}); return {};
  case typed::StmtKind::Return:
    if (!stmt.value) {
      jump(stmt, {});
      return {};
    }
    return with_value(*stmt.value, [&](const Leaves& value) {
      jump(stmt, value);
      return Leaves();
    });
  case typed::StmtKind::Assert:
    return with_value(*stmt.value, [&](const Leaves& condition) {
      assertion(stmt, condition.at(0));
      return go_on();
    });
  }
  throw std::logic_error("lowering: a statement of an unexpected kind");
}

Leaves FunctionLowerer::with_assignment(const typed::Stmt& stmt, const Rest& rest) {
  auto write = [&] {
    finish(stmt, expr(*stmt.value));
    return rest();
  };
  return with_children(children(stmt), 0, write, true);
}

// ---- bindings and assignments

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
  // The leaves of the part; a leaf below subscripts is a whole tensor (of complex numbers two).
  size_t first = place.path.empty() ? 0 : leaf_index(shared_.program.variables[place.var.index].type, place.path);
  size_t count = place.path.empty() ? whole.size() : leaf_types(place.type).size();
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
  auto combine = [&](const Leaves& old, const Leaves& operand) -> Leaves {
    const ScalarOp op = stmt.mode == typed::AssignMode::Accumulate ? ScalarOp::Add : stmt.scalar_op;
    std::vector<Dim> shape = type(old[0]).dims;
    if (old.size() == 2) {
      const Complex z = complex_arithmetic(op, {old[0], old[1]}, {operand.at(0), operand.at(1)}, shape, at);
      return {z.re, z.im};
    }
    ValueId b = guarded_operand(op, operand.at(0), stmt.span);
    return {elementwise(op, {old[0], b}, shape, at)};
  };
  auto each = [](Leaves leaves, const auto& change) {
    for (size_t i = 0; i < leaves.size(); ++i)
      leaves[i] = change(leaves[i], i);
    return leaves;
  };
  if (place.subscripts.empty()) {
    if (place.type.is_tensor() && value_type.is_tensor()) {
      if (value_type.rank() || place.type.rank())
        value = each(value, [&](ValueId v, size_t) { return broadcast(v, value_type.shape, place.type.shape, at); });
      if (stmt.mode == typed::AssignMode::Combine) value = combine(as_type(target, place.type), value);
    }
    return store(std::move(value));
  }
  const std::vector<Dim> dims = type(target.at(0)).dims; // a copy: evaluating adds values
  Subscripts subscripts = evaluate(place.subscripts, dims, place.type.shape, stmt.checks, {});
  std::vector<Size> shape = value_type.shape;
  UpdateMode mode = UpdateMode::Set;
  if (stmt.mode == typed::AssignMode::Accumulate) mode = UpdateMode::Add;
  if (subscripts.masks) { // what a mask chooses is chosen once: adding up is combining
    Combine with;
    if (stmt.mode != typed::AssignMode::Set) with = combine;
    return store(write_mask(target, subscripts, value, shape.size(), with, stmt.span));
  }
  value =
      each(value, [&](ValueId v, size_t) { return guard_count(subscripts, v, shape, place.type.shape, stmt.span); });
  if (stmt.mode == typed::AssignMode::Combine) {
    const Leaves old = each(target, [&](ValueId base, size_t) { return read(base, subscripts, place.type.shape, at); });
    value = each(value, [&](ValueId v, size_t) { return broadcast(v, value_type.shape, place.type.shape, at); });
    value = combine(old, value);
    shape = place.type.shape;
  }
  store(each(target, [&](ValueId base, size_t i) {
    return write(base, subscripts, value.at(i), place, shape, mode, stmt.span);
  }));
}

void FunctionLowerer::assertion(const typed::Stmt& stmt, ValueId condition) {
  condition = checked(condition, stmt.checks);
  LocId at = loc(stmt.span);
  auto fail = [&](ValueId cond) {
    std::vector<ValueId> operands{ValueId{}, cond};
    AssertAttrs attrs;
    attrs.format.literals = {"`" + stmt.text + "` is false"};
    if (stmt.message && stmt.message->is<typed::InterpExpr>()) {
      attrs.format = stmt.message->as<typed::InterpExpr>().format;
      std::vector<Leaves> shown;
      for (const typed::ExprPtr& e : stmt.message->operands)
        shown.push_back(expr(*e));
      const Leaves values = as_shown(*stmt.message, shown, attrs.format);
      operands.insert(operands.end(), values.begin(), values.end());
    } else if (stmt.message && stmt.message->is<typed::StrExpr>()) {
      attrs.format.literals = {stmt.message->as<typed::StrExpr>().text};
    } else if (stmt.message) {
      attrs.format = {{"", ""}, {""}};
      operands.push_back(one(*stmt.message));
    }
    attrs.site = site("AssertionFailed", "", stmt.span);
    operands[0] = token();
    effect(Op::Assert, operands, {Type::token()}, std::move(attrs), at);
  };
  // The message is evaluated only on failure: where evaluating it could fail itself, it is in a branch.
  auto fail_in_branch = [&](const Rest& message) { merge(condition, [] { return Leaves(); }, message, at); };
  // What it assigns reaches nothing: behind it is only what follows where the condition holds.
  const Env passes = env_;
  auto forget_message = [&] {
    for (const auto& [var, leaves] : passes)
      if (var < next_pseudo_) env_[var] = leaves;
  };
  auto always = [&] {
    fail(here().constant(DType::Bool, {}));
    forget_message();
    return Leaves();
  };
  if (stmt.message && may_leave(*stmt.message)) {
    bool parts = stmt.message->is<typed::InterpExpr>();
    std::vector<Child> read = parts ? children(*stmt.message) : std::vector<Child>{{stmt.message.get(), {}}};
    return fail_in_branch([&] { return with_children(read, 0, always); });
  }
  Snapshot before = snapshot();
  size_t nodes = scopes_.back().region->nodes.size();
  fail(condition);
  const std::vector<NodeId>& made = scopes_.back().region->nodes;
  bool risky = false;
  for (size_t i = nodes; i + 1 < made.size(); ++i)
    risky = risky || must_stay(f_, f_[made[i]]);
  if (!risky) return forget_message();
  restore(before);
  env_ = passes;
  fail_in_branch(always);
}

} // namespace tl::ir

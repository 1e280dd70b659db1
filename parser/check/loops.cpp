// Loops: `for`, `while`, and the types of the variables that they change.
#include "parser/check/loops.h"
#include "parser/check/expressions.h"
#include "parser/check/for_each.h"
#include "parser/check/iteration.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/statements.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::checker {

namespace {

constexpr int kMaxRounds = 32; // of checking a loop's body

// How the types of a variable at a loop's head and at its end differ.
struct Changes {
  bool sizes = false;
  bool lists = false;
};

// The types of a loop's variables at its head. They have to hold in every iteration.
struct LoopHead {
  Context& cx;
  const Span span;
  std::map<VarId, Type> types;
  std::vector<typed::Join> joins{}; // the sizes that are fresh in every iteration

  bool revise(std::map<VarId, Type>& next, const std::vector<std::map<VarId, Type>>& continues);
  bool make_fresh(VarId var, Type& type, const Type& mixed);
  typed::Join& join_of(VarId var);
  std::vector<typed::Join> present_joins();
};

Size& size_at(Type& type, const typed::FreshAtom& place) {
  Type* t = &type;
  for (uint32_t step : place.path)
    t = &t->elements[step];
  return t->shape[place.axis];
}

// Marks the sizes in `into` that are others in `from`.
void mix(Context& cx, Type& into, const Type& from, Changes& changes) {
  if (into.is_list()) { // its elements' sizes are part of its type: no sizes of its own at the head
    Type both = either_element(cx, into, from);
    changes.lists = changes.lists || both != into;
    into = std::move(both);
    return;
  }
  for (size_t k = 0; k < into.shape.size() && k < from.shape.size(); ++k)
    if (compare(cx, into.shape[k], from.shape[k]) != Compare::Equal)
      into.shape[k] = Size(INT64_MIN), changes.sizes = true;
  for (size_t k = 0; k < into.elements.size() && k < from.elements.size(); ++k)
    mix(cx, into.elements[k], from.elements[k], changes);
}

// Changes the types in `next` that do not hold at the end of the body; whether there are such.
bool LoopHead::revise(std::map<VarId, Type>& next, const std::vector<std::map<VarId, Type>>& continues) {
  bool sizes_changed = false, lists_changed = false;
  for (auto& [var, type] : next) {
    Type mixed = cx.open.resolved(type);
    Changes changes;
    for (const auto& back : continues)
      if (auto it = back.find(var); it != back.end()) mix(cx, mixed, cx.open.resolved(it->second), changes);
    lists_changed = lists_changed || changes.lists;
    if (changes.sizes)
      sizes_changed = make_fresh(var, type, mixed) || sizes_changed;
    else if (lists_changed)
      type = mixed;
  }
  return sizes_changed || lists_changed;
}

// Makes the marked sizes fresh. Only axes that were not fresh count as a change: a size that is fresh at the head
// already stays so.
bool LoopHead::make_fresh(VarId var, Type& type, const Type& mixed) {
  std::vector<typed::FreshAtom> fresh;
  type = fresh_join(cx, cx.open.resolved(type), mixed, fresh, fmt::format("`{}`", cx.program.variables[var.index].name),
                    span);
  typed::Join& join = join_of(var);
  join.type = type;
  join.fresh.insert(join.fresh.end(), fresh.begin(), fresh.end());
  Type& assumed = types.at(var);
  return std::any_of(fresh.begin(), fresh.end(), [&](const typed::FreshAtom& f) {
    auto atom = size_at(assumed, f).as_atom();
    return !atom || std::none_of(join.fresh.begin(), join.fresh.end(),
                                 [&](const typed::FreshAtom& known) { return known.atom == *atom; });
  });
}

typed::Join& LoopHead::join_of(VarId var) {
  for (typed::Join& join : joins)
    if (join.var == var) return join;
  return joins.emplace_back(typed::Join{var, {}, {}});
}

// Without the atoms that the last round made for axes that were fresh already.
std::vector<typed::Join> LoopHead::present_joins() {
  std::vector<typed::Join> present;
  for (const typed::Join& join : joins) {
    typed::Join k{join.var, cx.open.resolved(types.at(join.var)), {}};
    for (const typed::FreshAtom& f : join.fresh)
      if (size_at(k.type, f) == Size::of(f.atom)) k.fresh.push_back(f);
    if (!k.fresh.empty()) present.push_back(std::move(k));
  }
  return present;
}

// The types of the variables after the loop, where `states` are those at its ends.
void leave_loop(Context& cx, const std::map<VarId, Type>& head, std::vector<std::map<VarId, Type>> states,
                typed::Stmt& loop) {
  if (states.empty()) {
    cx.function->current = head;
    return;
  }
  for (auto& s : states)
    for (auto it = s.begin(); it != s.end();)
      it = head.count(it->first) ? std::next(it) : s.erase(it);
  loop.after = join_variables(cx, std::move(states), loop.span);
}

} // namespace

// Checks a loop's body, first as if no variable's sizes changed in it; where they do, again with sizes that are fresh
// in every iteration. `body` fills the loop and returns whether the loop can end by itself.
void check_loop(Context& cx, Span span, typed::Stmt& loop, const std::function<bool(typed::Stmt&)>& body) {
  LoopHead head{cx, span, cx.function->current};
  for (int round = 0;; ++round) {
    Snapshot before = snapshot(cx);
    cx.function->current = head.types;
    cx.function->loops.emplace_back();
    bool ends = body(loop);
    Loop state = std::move(cx.function->loops.back());
    cx.function->loops.pop_back();
    if (cx.function->reachable) state.continues.push_back(cx.function->current);
    cx.function->facts = before.facts;
    std::map<VarId, Type> next = head.types;
    if (head.revise(next, state.continues) && round < kMaxRounds) {
      rollback(cx, before);
      head.types = std::move(next);
      loop.body = {};
      continue;
    }
    loop.head = head.present_joins();
    // After the loop: the types at its head, and those at each break. What was fresh in the loop has a new name.
    std::vector<std::map<VarId, Type>> states = std::move(state.exits);
    if (ends) {
      std::map<VarId, Type> hidden = head.types;
      for (const auto& join : loop.head)
        for (const auto& f : join.fresh)
          size_at(hidden.at(join.var), f) = Size(INT64_MIN);
      states.insert(states.begin(), std::move(hidden));
      states.insert(states.begin(), head.types);
    }
    cx.function->reachable = before.reachable && !states.empty();
    leave_loop(cx, head.types, std::move(states), loop);
    return;
  }
}

static void loop_variables(Context& cx, const ast::Pattern& p, const typed::Expr& iterated, typed::Stmt& loop) {
  const Type& type = iterated.type;
  if (type.is_range()) {
    loop.pattern = bind_pattern(cx, p, Type::scalar(DType::I64), false, nullptr);
    VarId var = loop.pattern.var;
    if (var.valid() && type.shape[2].is_constant()) {
      Size i = Size::of(cx.program.variables[var.index].atom);
      if (type.shape[2].constant() > 0)
        learn_index(cx, i, type.shape[0], type.shape[1]);
      else
        learn_index(cx, i, type.shape[1] + Size(1), type.shape[0] + Size(1));
    }
    return;
  }
  Type row = type;
  if (row.is_tensor()) row.shape.erase(row.shape.begin());
  loop.pattern = bind_pattern(cx, p, row, false, nullptr);
}

void check_for(Context& cx, const ast::For& s, size_t clause, Span span, typed::Block& into) {
  typed::Stmt loop;
  loop.kind = StmtKind::For;
  loop.span = span;
  typed::Block before;
  Progress bar;
  const ast::Expr* iterated = progress_of(cx, s.clauses[clause].range, bar);
  if (!iterated) {
    loop.value = broken(span);
  } else if (bar.is_shown || iterates(cx, iterated)) { // enumerate, zip, batches: no list is made
    Iteration over = iterate(cx, iterated, before);
    if (over.element) {
      for (auto& statement : before.statements)
        into.statements.push_back(std::move(statement));
      return for_each(cx, s, clause, span, std::move(over), bar, into);
    }
    loop.value = broken(iterated->span);
  } else {
    loop.value = check_value(cx, iterated);
    Type kind = refresh(cx, *loop.value);
    const bool takes_apart = s.clauses[clause].pattern->kind == ast::Pattern::Kind::Tuple && kind.rank() > 1;
    if (!kind.is_error() && !kind.is_range() && (!kind.is_tensor() || takes_apart)) {
      Iteration over = iterate_value(cx, std::move(loop.value), before);
      for (auto& statement : before.statements)
        into.statements.push_back(std::move(statement));
      if (over.element) return for_each(cx, s, clause, span, std::move(over), bar, into);
      loop.value = broken(iterated->span);
    }
  }
  Type& type = refresh(cx, *loop.value);
  if (type.is_tensor() && type.rank() == 0) {
    error(cx, "TypeMismatch", loop.value->span,
          fmt::format("a loop iterates over a range or the rows of a tensor, not {}", show(cx, type)),
          fmt::format("write `0..{}`", source_text(cx, loop.value->span)), {label_of(cx, *loop.value)});
    type = Type::error();
  }
  check_loop(cx, span, loop, [&](typed::Stmt& l) {
    SaveAndRestore scope(cx.names.scope);
    push_scope(cx);
    loop_variables(cx, *s.clauses[clause].pattern, *l.value, l);
    if (clause + 1 < s.clauses.size())
      check_for(cx, s, clause + 1, span, l.body);
    else
      l.body = check_block(cx, s.body, false);
    return true;
  });
  into.statements.push_back(std::move(loop));
}

void check_while(Context& cx, const ast::While& s, Span span, typed::Block& into) {
  typed::Stmt loop;
  loop.kind = StmtKind::While;
  loop.span = span;
  auto* forever = ast::as<ast::BoolLiteral>(s.condition);
  check_loop(cx, span, loop, [&](typed::Stmt& l) {
    cx.function->loops.back().in_condition = true;
    l.value = check_condition(cx, s.condition);
    Loop& loop_state = cx.function->loops.back();
    loop_state.in_condition = false;
    bool ends = !(forever && forever->value);
    if (ends) loop_state.exits.push_back(cx.function->current); // with what the condition has assigned
    if (!l.value->type.is_error()) learn_condition(cx, *l.value, true);
    l.body = check_block(cx, s.body, false);
    return ends;
  });
  into.statements.push_back(std::move(loop));
}

} // namespace tl::checker

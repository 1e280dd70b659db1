// Loops: `for`, `while`, and the types of the variables that they change.
#include "parser/check/loops.h"
#include "parser/check/expressions.h"
#include "parser/check/for_each.h"
#include "parser/check/iteration.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/statements.h"
#include <fmt/format.h>

namespace tl::checker {

// Checks a loop's body, first as if no variable's sizes changed in it; where they do, again with sizes that are fresh
// in every iteration. `body` fills the loop and returns whether the loop can end by itself.
void check_loop(Context& cx, Span span, typed::Stmt& loop, const std::function<bool(typed::Stmt&)>& body) {
  std::map<VarId, Type> head = cx.function->current;
  std::vector<typed::Join> joins;
  for (int round = 0;; ++round) {
    Snapshot before = snapshot(cx);
    cx.function->current = head;
    cx.function->loops.emplace_back();
    bool ends = body(loop);
    Loop state = std::move(cx.function->loops.back());
    cx.function->loops.pop_back();
    if (cx.function->reachable) state.continues.push_back(cx.function->current);
    cx.function->facts = before.facts;
    bool changed = false, lists_changed = false;
    std::map<VarId, Type> next = head;
    for (auto& [var, type] : next) {
      std::vector<typed::FreshAtom> fresh;
      Type mixed = cx.open.resolved(type);
      auto mark = [&](auto& self, Type& into, const Type& from) -> void {
        if (into.is_list()) { // its elements' sizes are part of its type: no sizes of its own at the head
          Type both = either_element(cx, into, from);
          lists_changed = lists_changed || both != into;
          into = std::move(both);
          return;
        }
        for (size_t k = 0; k < into.shape.size() && k < from.shape.size(); ++k)
          if (compare(cx, into.shape[k], from.shape[k]) != Compare::Equal)
            into.shape[k] = Size(INT64_MIN), changed = true;
        for (size_t k = 0; k < into.elements.size() && k < from.elements.size(); ++k)
          self(self, into.elements[k], from.elements[k]);
      };
      bool before_changed = changed;
      changed = false;
      for (const auto& back : state.continues)
        if (auto it = back.find(var); it != back.end()) mark(mark, mixed, cx.open.resolved(it->second));
      // A size that is fresh at the head already stays so.
      bool is_fresh_already = false;
      for (auto& join : joins)
        is_fresh_already = is_fresh_already || join.var == var;
      if (lists_changed && !changed) type = mixed;
      if (changed) {
        Type joined = fresh_join(cx, cx.open.resolved(type), mixed, fresh,
                                 fmt::format("`{}`", cx.program.variables[var.index].name), span);
        if (is_fresh_already) {
          for (auto& join : joins)
            if (join.var == var) {
              join.type = joined;
              join.fresh.insert(join.fresh.end(), fresh.begin(), fresh.end());
            }
        } else
          joins.push_back({var, joined, fresh});
        type = joined;
      }
      // Only axes that were not fresh count as a change.
      changed = before_changed || (changed && !fresh.empty() && [&] {
                  for (const auto& f : fresh) {
                    const Type* t = &head.at(var);
                    for (uint32_t step : f.path)
                      t = &t->elements[step];
                    auto atom = t->shape[f.axis].as_atom();
                    bool was_fresh = false;
                    for (const auto& join : joins)
                      if (join.var == var)
                        for (const auto& g : join.fresh)
                          was_fresh = was_fresh || (atom && g.atom == *atom);
                    if (!was_fresh) return true;
                  }
                  return false;
                }());
    }
    if ((changed || lists_changed) && round < 32) {
      rollback(cx, before);
      head = next;
      loop.body = {};
      continue;
    }
    // Drop atoms that the last round made for axes that were fresh already.
    std::vector<typed::Join> kept;
    for (auto& join : joins) {
      typed::Join k{join.var, cx.open.resolved(head.at(join.var)), {}};
      for (const auto& f : join.fresh) {
        const Type* t = &k.type;
        for (uint32_t step : f.path)
          t = &t->elements[step];
        if (t->shape[f.axis] == Size::of(f.atom)) k.fresh.push_back(f);
      }
      if (!k.fresh.empty()) kept.push_back(std::move(k));
    }
    loop.head = kept;
    // After the loop: the types at its head, and those at each break. What was fresh in the loop has a new name.
    std::vector<std::map<VarId, Type>> states = std::move(state.exits);
    if (ends) {
      std::map<VarId, Type> hidden = head;
      for (const auto& join : kept)
        for (const auto& f : join.fresh) {
          Type* t = &hidden.at(join.var);
          for (uint32_t step : f.path)
            t = &t->elements[step];
          t->shape[f.axis] = Size(INT64_MIN);
        }
      states.insert(states.begin(), hidden);
      states.insert(states.begin(), head);
    }
    cx.function->reachable = before.reachable && !states.empty();
    if (states.empty())
      cx.function->current = head;
    else {
      for (auto& s : states)
        for (auto it = s.begin(); it != s.end();)
          it = head.count(it->first) ? std::next(it) : s.erase(it);
      loop.after = join_variables(cx, std::move(states), span);
    }
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
    if (!kind.is_error() && !kind.is_range() && !kind.is_tensor()) {
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

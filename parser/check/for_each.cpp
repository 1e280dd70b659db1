// `for` over what is not a range, and the progress bar that advances with its iterations.
#include "parser/check/for_each.h"
#include "lang/typed_walk.h"
#include "parser/check/expressions.h"
#include "parser/check/iteration.h"
#include "parser/check/lists.h"
#include "parser/check/loops.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/statements.h"
#include "parser/check/strings.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

// for pattern in a list, enumerate(…) … : a loop over positions that binds the pattern first.
const ast::Expr* progress_of(Context& cx, const ast::Expr* e, Progress& bar) {
  const std::vector<ast::Argument>* given = nullptr;
  const ast::Expr* xs = nullptr;
  std::string name;
  if (auto* call = ast::as<ast::Call>(e)) {
    if (auto* callee = ast::as<ast::Name>(call->callee)) name = callee->name;
    given = &call->arguments;
  } else if (auto* method = ast::as<ast::MethodCall>(e)) {
    if (module_of(cx, method->receiver)) return e;
    name = method->name.text;
    given = &method->arguments;
    xs = method->receiver;
  }
  if (name != "progress") return e;
  auto callable = find_callable(cx, name, xs != nullptr);
  if (!callable || callable->builtin != Builtin::Progress) return e;
  bar.is_shown = true;
  for (const ast::Argument& argument : *given) {
    bool is_show = argument.name.text == "show" || (argument.name.empty() && xs);
    if ((is_show && bar.show) || (!is_show && !argument.name.empty())) {
      error(cx, "WrongArguments", argument.value->span, "`progress` takes what to go over, and `show`",
            fmt::format("it is {}", signature_of(cx, Builtin::Progress)));
      continue;
    }
    (is_show ? bar.show : xs) = argument.value;
  }
  if (bar.show && ast::as<ast::NoneLiteral>(bar.show)) bar.show = nullptr;
  if (!xs)
    error(cx, "WrongArguments", e->span, "`progress` needs something to go over", "like `for x in progress(xs) { … }`");
  return xs;
}

static typed::Stmt progress_tick(Context& cx, const Progress& bar, const Size& done, const Size& total,
                                 std::vector<ExprPtr> computed, Span span) {
  auto beside = new_interp(span);
  if (bar.show)
    append_value(cx, *beside, check_value(cx, bar.show), "", bar.show->span);
  else
    append_text(*beside, "");
  auto node = make_expr(typed::BuiltinExpr{Builtin::Progress, typed::ProgressAttrs{}}, span, Type::unit());
  node->operands.push_back(size_expr(done, span));
  node->operands.push_back(size_expr(total, span));
  node->operands.push_back(finish_interp(std::move(beside)));
  for (ExprPtr& value : computed)
    node->operands.push_back(std::move(value));
  typed::Stmt tick;
  tick.span = span;
  tick.value = std::move(node);
  return tick;
}

namespace {

// The variables that a loop assigns and that are outside it: those before `first_inner`.
void assigned_in(const typed::Block& block, uint32_t first_inner, std::set<VarId>& into) {
  typed::Walker walker;
  walker.on_expr = [](const typed::Expr&) {};
  walker.on_stmt = [&](const typed::Stmt& s) {
    for (const typed::Place& place : s.targets)
      if (place.var.valid() && place.var.index < first_inner) into.insert(place.var);
  };
  walker.walk(block);
}

} // namespace

void for_each(Context& cx, const ast::For& s, size_t clause, Span span, Iteration over, const Progress& bar,
              typed::Block& into) {
  // A bar tells at the start of an iteration that those before it are done: what they assigned is computed.
  uint32_t first_inner = static_cast<uint32_t>(cx.program.variables.size());
  std::set<VarId> assigned;
  auto computed = [&](const std::map<VarId, Type>& types) {
    std::vector<ExprPtr> values;
    for (VarId var : assigned)
      if (auto type = types.find(var); type != types.end()) {
        auto value = variable_value(cx, var, span);
        value->type = type->second;
        values.push_back(std::move(value));
      }
    return values;
  };
  typed::Stmt loop;
  loop.kind = StmtKind::For;
  loop.span = span;
  loop.value = make_expr(typed::RangeExpr{}, s.clauses[clause].range->span, Type::range(0, over.count, 1));
  Span at = s.clauses[clause].range->span;
  check_loop(cx, span, loop, [&](typed::Stmt& l) {
    SaveAndRestore scope(cx.names.scope);
    push_scope(cx);
    VarId var = new_variable(cx, "", Type::scalar(DType::I64), false, at);
    bind_atom(cx, var);
    l.pattern = {};
    l.pattern.var = var;
    Size position = Size::of(cx.program.variables[var.index].atom);
    learn_index(cx, position, 0, over.count);
    std::map<VarId, Type> at_start = cx.function->current;
    std::optional<typed::Stmt> tick;
    if (bar.is_shown) tick = progress_tick(cx, bar, position, over.count, {}, at);
    typed::Stmt let;
    let.kind = StmtKind::Let;
    let.span = at;
    let.value = over.element(position, at);
    const ast::Pattern& names = *s.clauses[clause].pattern;
    let.value = taken_apart(cx, std::move(let.value), names, at);
    let.pattern = bind_pattern(cx, names, refresh(cx, *let.value), false, let.value.get());
    if (clause + 1 < s.clauses.size()) {
      l.body = {};
      check_for(cx, s, clause + 1, span, l.body);
    } else {
      l.body = check_block(cx, s.body, false);
    }
    l.body.statements.insert(l.body.statements.begin(), std::move(let));
    if (tick) {
      assigned_in(l.body, first_inner, assigned);
      for (ExprPtr& value : computed(at_start))
        tick->value->operands.push_back(std::move(value));
      l.body.statements.insert(l.body.statements.begin(), std::move(*tick));
    }
    return true;
  });
  into.statements.push_back(std::move(loop));
  if (bar.is_shown) {
    typed::Stmt last = progress_tick(cx, bar, over.count, over.count, computed(cx.function->current), at);
    last.value->attrs<typed::ProgressAttrs>().last = true;
    into.statements.push_back(std::move(last));
  }
}

} // namespace tl::checker

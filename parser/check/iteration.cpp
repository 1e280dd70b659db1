// What `for` and comprehensions go over: lists, rows of tensors, ranges, and enumerate, zip and batches of these. As a
// value, such a call is a list; in a loop no list is made.
#include "parser/check/iteration.h"
#include "parser/check/batches.h"
#include "parser/check/builtins/devices.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/calls.h"
#include "parser/check/comprehensions.h"
#include "parser/check/expressions.h"
#include "parser/check/leaves.h"
#include "parser/check/lists.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/statements.h"
#include "parser/check/tables.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

static Iteration iterate_call(Context& cx, Builtin builtin, std::vector<Arg>& args, Span span, typed::Block& before,
                              bool numbers_together = false);

// An i64 value as a size, held by a variable that `before` binds.
Size bound_size(Context& cx, ExprPtr value, const std::string& name, typed::Block& before) {
  if (auto known = size_of(cx, *value)) return *known;
  Span span = value->span;
  VarId var = new_variable(cx, name, Type::scalar(DType::I64), false, span);
  bind_atom(cx, var);
  before.statements.push_back(let_variable(var, std::move(value), span));
  return Size::of(cx.program.variables[var.index].atom);
}

void add_full_axes(typed::Expr& node, size_t count, Span at) {
  for (size_t k = 0; k < count; ++k) {
    typed::Subscript full;
    full.span = at;
    node.as<typed::IndexExpr>().subscripts.push_back(std::move(full));
  }
}

Iteration iterate_value(Context& cx, ExprPtr value, typed::Block& before, bool numbers_together) {
  Type type = refresh(cx, *value);
  Span span = value->span;
  Iteration result;
  if (type.is_error()) return result;
  if (type.is_range()) {
    // ceil((hi - lo) / step)
    Size distance = type.shape[1] - type.shape[0], step = type.shape[2];
    if (distance.is_too_large()) {
      error(cx, "SizeOverflow", span, "the distance between the ends of this range is no i64");
      return result;
    }
    before.statements.push_back(let_variable({}, std::move(value), span)); // for the atoms in its bounds
    if (step.is_constant()) {
      int64_t by = step.constant();
      Size reach = cx.program.atoms.positive(by < 0 ? Size(0) - distance : distance, sure_facts(cx));
      result.count = steps_within(cx, reach, by);
    } else {
      const Size back = cx.program.atoms.floor_div(Size(0) - distance, step);
      ExprPtr count = size_expr(cx.program.atoms.positive(Size(0) - back, sure_facts(cx)), span);
      auto checked = make_expr(typed::RecastExpr{}, span, count->type);
      const Size magnitude = cx.program.atoms.positive(step) + cx.program.atoms.positive(Size(0) - step);
      SizeCheck nonzero = size_check(cx, magnitude, 1, "the step of a range cannot be 0", span);
      nonzero.relation = SizeCheck::Relation::AtLeast;
      nonzero.kind = "WrongArguments";
      checked->checks.push_back(std::move(nonzero));
      checked->operands.push_back(std::move(count));
      result.count = bound_size(cx, std::move(checked), "", before);
    }
    result.element = [lo = type.shape[0], step](const Size& position, Span at) {
      return size_expr(lo + position * step, at);
    };
    return result;
  }
  if (type.is_list() && numbers_together && !type.elements.empty() && type.elements[0].is_scalar() &&
      !is_device(type.elements[0])) {
    value = list_stacked(cx, std::move(value), span);
    type = value->type;
  }
  if (type.is_list()) {
    cx.open.settle(value->type);
    std::shared_ptr<typed::Expr> held = kept(cx, std::move(value), before);
    result.count = bound_size(cx, list_length(copy_simple(*held), span), "len", before);
    result.is_list = true;
    result.element = [&cx, held](const Size& position, Span at) {
      return list_get(cx, copy_simple(*held), size_expr(position, at), true, at);
    };
    return result;
  }
  if (type.is_tensor() && type.rank() > 0) {
    std::shared_ptr<typed::Expr> held = kept(cx, std::move(value), before);
    result.count = type.shape[0];
    result.element = [&cx, held](const Size& position, Span at) {
      auto node = make_expr(typed::IndexExpr{}, at, refresh(cx, *held));
      node->type.shape.erase(node->type.shape.begin());
      typed::Subscript row;
      row.kind = typed::Subscript::Kind::At;
      row.value = size_expr(position, at);
      row.in_range = true;
      row.span = at;
      node->as<typed::IndexExpr>().subscripts.push_back(std::move(row));
      add_full_axes(*node, held->type.rank() - 1, at);
      node->operands.push_back(copy_simple(*held));
      return node;
    };
    return result;
  }
  error(cx, "TypeMismatch", span,
        fmt::format("a loop iterates over a range, a list or the rows of a tensor, not {}", show(cx, type)),
        type.is_scalar() ? fmt::format("write `0..{}`", source_text(cx, span))
        : !column_hint(cx, type, span).empty()
            ? fmt::format("write `for i in 0..table.row_count({0})`: a row is `{0}[i]`", source_text(cx, span))
        : type.is_str() ? fmt::format("its letters are `{0}[i] for i in 0..len({0})`; `lines({0})` and "
                                      "`{0}.split(\" \")` are lists",
                                      source_text(cx, span))
                        : "",
        {{span, show(cx, type)}});
  return result;
}

bool iterates(Context& cx, const ast::Expr* e) {
  const std::string* name = nullptr;
  if (auto* call = ast::as<ast::Call>(e)) {
    if (auto* callee = ast::as<ast::Name>(call->callee)) name = &callee->name;
  } else if (auto* method = ast::as<ast::MethodCall>(e)) {
    name = &method->name.text;
    // data.batches is the prelude's; a module may have functions of its own under these names.
    Scope* module = module_of(cx, method->receiver);
    if (module && (module->prefix.empty() || callable_in(cx, module, *name))) return false;
  }
  if (!name) return false;
  auto callable = find_callable(cx, *name, !ast::as<ast::Call>(e));
  return callable && (callable->builtin == Builtin::Enumerate || callable->builtin == Builtin::Zip ||
                      callable->builtin == Builtin::Batches);
}

Iteration iterate(Context& cx, const ast::Expr* e, typed::Block& before, bool numbers_together) {
  if (!iterates(cx, e)) return iterate_value(cx, check_value(cx, e), before, numbers_together);
  std::vector<Arg> args;
  std::string name;
  const std::vector<ast::Argument>* given = nullptr;
  if (auto* call = ast::as<ast::Call>(e)) {
    name = ast::as<ast::Name>(call->callee)->name;
    given = &call->arguments;
  } else {
    auto* method = ast::as<ast::MethodCall>(e);
    name = method->name.text;
    if (!module_of(cx, method->receiver))
      args.push_back({"", method->receiver, method->receiver->span, {}, nullptr, std::nullopt});
    given = &method->arguments;
  }
  for (const ast::Argument& a : *given)
    args.push_back({a.name.text, a.value, a.value->span, a.name.span, nullptr, std::nullopt});
  return iterate_call(cx, *find_callable(cx, name, true)->builtin, args, e->span, before, numbers_together);
}

static Iteration iterate_call(Context& cx, Builtin builtin, std::vector<Arg>& args, Span span, typed::Block& before,
                              bool numbers_together) {
  if (builtin == Builtin::Batches) return iterate_batches(cx, args, span, before);
  bool is_zip = builtin == Builtin::Zip;
  for (const Arg& arg : args)
    if (!arg.name.empty()) {
      error(cx, "WrongArguments", arg.name_span,
            fmt::format("`{}` has no parameter `{}`", info(builtin).name, arg.name));
      return {};
    }
  if (is_zip ? args.empty() : args.size() != 1) {
    error(cx, "WrongArguments", span,
          is_zip ? "`zip` iterates over several lists or tensors" : "`enumerate` iterates over one list or tensor",
          fmt::format("it is {}", signature_of(cx, builtin)));
    return {};
  }
  std::vector<Iteration> parts;
  for (Arg& arg : args) {
    parts.push_back(arg.value ? iterate_value(cx, std::move(arg.value), before, numbers_together)
                              : iterate(cx, arg.source, before, numbers_together));
    if (!parts.back().element) return {};
  }
  Iteration result;
  result.count = parts[0].count;
  for (const Iteration& part : parts) {
    result.count = cx.program.atoms.min(result.count, part.count, sure_facts(cx));
    result.is_list = result.is_list || part.is_list;
  }
  result.element = [parts, is_zip](const Size& position, Span at) {
    auto tuple = make_expr(typed::TupleExpr{}, at, Type::tuple({}));
    if (!is_zip) tuple->operands.push_back(size_expr(position, at));
    for (const Iteration& part : parts)
      tuple->operands.push_back(part.element(position, at));
    for (const auto& operand : tuple->operands) {
      tuple->type.elements.push_back(operand->type);
      if (operand->type.is_error()) tuple->type = Type::error();
    }
    return tuple;
  };
  return result;
}

namespace {

// A list of such elements, which are computed anew at each step: sizes with atoms from `first_inner` on are each
// element's own.
Type list_of_steps(Context& cx, const Type& element, size_t first_inner) {
  return list_of(cx, element, [&](const Size& size) {
    std::vector<AtomId> atoms;
    cx.program.atoms.collect(size, atoms);
    return std::any_of(atoms.begin(), atoms.end(), [&](AtomId a) { return a.index >= first_inner; });
  });
}

// Names that stand for nothing, and are not reported as unknown.
void poison_names(Context& cx, const ast::Pattern& p) {
  Entity entity;
  entity.span = p.span;
  if (p.kind == ast::Pattern::Kind::Name) enter(cx, p.name, entity);
  for (const ast::Pattern* inner : p.elements)
    poison_names(cx, *inner);
}

// if condition { statement }
typed::Stmt only_if(ExprPtr condition, typed::Stmt statement, Span span) {
  auto chosen = make_expr(typed::IfExpr{}, condition->span, Type::unit());
  chosen->operands.push_back(std::move(condition));
  chosen->as<typed::IfExpr>().then_block.statements.push_back(std::move(statement));
  typed::Stmt choose;
  choose.span = span;
  choose.value = std::move(chosen);
  return choose;
}

} // namespace

// enumerate, zip and batches where a value is wanted.
ExprPtr iteration_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  typed::Block before;
  Iteration over = iterate_call(cx, builtin, r.args, r.span, before);
  if (!over.element) return nullptr;
  VarId probe = new_variable(cx, "", Type::scalar(DType::I64), false, r.span);
  bind_atom(cx, probe);
  AtomId position = cx.program.variables[probe.index].atom;
  Type type = refresh(cx, *over.element(Size::of(position), r.span));
  if (type.is_error()) return nullptr;
  Type list = list_of_steps(cx, type, position.index);
  return build_list(
      cx, list, over.count, std::move(before), [&](ExprPtr at) { return over.element(*size_of(cx, *at), r.span); },
      r.span);
}

namespace {

// list(e for p in xs, q in ys if c): loops that append.
struct ListComprehensionChecker {
  Context& cx;
  const ast::Comprehension& c;
  const Span span;
  const Type* wanted; // of the elements; null: nothing is known
  // Each clause's block holds what is bound before its loop, then the loop; the next clause is in its body.
  std::vector<typed::Block> blocks = std::vector<typed::Block>(1);
  std::vector<typed::Stmt> loops{};
  bool fine = true, all_bound = true;

  ExprPtr check();
  void check_clause(const ast::IndexClause& clause);
  ExprPtr check_filter();
  ExprPtr check_element();
  typed::Block nested_loops();
};

ExprPtr ListComprehensionChecker::check() {
  auto saved_current = cx.function->current;
  std::optional<InsideComprehension> inside(cx);
  VarId built = new_variable(cx, "", Type::make(TypeKind::List), true, span);
  size_t first_inner = cx.program.atoms.size();
  for (const auto& clause : c.clauses)
    if (all_bound) check_clause(clause);
  ExprPtr filter = check_filter();
  ExprPtr element = check_element();
  inside.reset();
  cx.function->current = saved_current;

  if (!element || refresh(cx, *element).is_error() || !fine) return broken(span);
  if (element->type.is_unit() || element->type.is_range()) {
    error(cx, "TypeMismatch", element->span, fmt::format("{} cannot be an element of a list", show(cx, element->type)));
    return broken(span);
  }
  cx.open.settle(element->type);
  Type list = wanted ? list_of(cx, *wanted) : list_of_steps(cx, element->type, first_inner);
  cx.program.variables[built.index].type = list;
  cx.function->current[built] = list;
  typed::Stmt append = append_to(cx, built, list, std::move(element), span);
  blocks.back().statements.push_back(filter ? only_if(std::move(filter), std::move(append), span) : std::move(append));

  typed::Block whole;
  whole.statements.push_back(let_variable(built, list_node(typed::ListOp::Make, span, list), span));
  for (auto& statement : nested_loops().statements)
    whole.statements.push_back(std::move(statement));
  whole.result = variable_value(cx, built, span);
  return make_expr(typed::BlockExpr{std::move(whole), true}, span, list);
}

void ListComprehensionChecker::check_clause(const ast::IndexClause& clause) {
  typed::Stmt loop;
  loop.kind = StmtKind::For;
  loop.span = clause.span;
  if (!clause.range) {
    error(cx, "UnboundIndex", clause.span, "an index of a list has its range written", "like `i in 0..n`");
    fine = all_bound = false;
    return;
  }
  Span at = clause.range->span;
  Iteration over = iterate(cx, clause.range, blocks.back());
  push_scope(cx);
  if (!over.element) {
    fine = false;
    poison_names(cx, *clause.pattern);
    loops.push_back(std::move(loop));
    blocks.emplace_back();
    return;
  }
  loop.value = make_expr(typed::RangeExpr{}, at, Type::range(0, over.count, 1));
  VarId var = new_variable(cx, "", Type::scalar(DType::I64), false, clause.span);
  bind_atom(cx, var);
  loop.pattern.var = var;
  Size position = Size::of(cx.program.variables[var.index].atom);
  learn_index(cx, position, 0, over.count);
  loops.push_back(std::move(loop));
  blocks.emplace_back();
  typed::Stmt let;
  let.kind = StmtKind::Let;
  let.span = at;
  let.value = over.element(position, at);
  let.value = taken_apart(cx, std::move(let.value), *clause.pattern, at);
  let.pattern = bind_pattern(cx, *clause.pattern, refresh(cx, *let.value), false, let.value.get());
  blocks.back().statements.push_back(std::move(let));
}

ExprPtr ListComprehensionChecker::check_filter() {
  if (!fine || !c.filter) return nullptr;
  ExprPtr filter = check_condition(cx, c.filter);
  fine = !filter->type.is_error();
  if (fine) learn_condition(cx, *filter, true);
  return filter;
}

ExprPtr ListComprehensionChecker::check_element() {
  if (!all_bound) return nullptr;
  ExprPtr element = check_value(cx, c.element, wanted);
  if (wanted && fine) element = coerce(cx, std::move(element), *wanted, "an element of the list");
  return element;
}

// The outermost block, with each loop in the body of the one around it.
typed::Block ListComprehensionChecker::nested_loops() {
  for (size_t i = loops.size(); i-- > 0;) {
    loops[i].body = std::move(blocks[i + 1]);
    blocks[i].statements.push_back(std::move(loops[i]));
  }
  return std::move(blocks[0]);
}

} // namespace

ExprPtr list_comprehension(Context& cx, const ast::Comprehension& c, Span span, const Type* expected) {
  const Type* wanted =
      expected && expected->is_list() && !expected->elements.empty() ? &expected->elements[0] : nullptr;
  return ListComprehensionChecker{cx, c, span, wanted}.check();
}

// A comprehension over lists of other things than numbers: the list of its elements, as one tensor, reduced.
ExprPtr reduce_list(Context& cx, const ast::Comprehension& c, const std::string& reduction, Span span,
                    const Type* expected) {
  ExprPtr list = list_comprehension(cx, c, span, nullptr);
  if (refresh(cx, *list).is_error()) return list;
  if (reduction.empty() && is_device(list->type.elements[0])) return list;
  ExprPtr tensor = list_stacked(cx, std::move(list), span);
  if (refresh(cx, *tensor).is_error() || reduction.empty()) return tensor;
  auto callable = cx.names.builtins.find(reduction);
  std::vector<Arg> args(1);
  args[0].span = span;
  if (tensor->type.rank() > 1) {
    Arg axis;
    axis.name = "axis";
    axis.span = axis.name_span = span;
    axis.constant.emplace();
    axis.constant->kind = Static::Kind::Int;
    args.push_back(std::move(axis));
  }
  args[0].value = std::move(tensor);
  return builtin_call(cx, *callable->second.builtin, std::move(args), span, false, expected);
}

} // namespace tl::checker

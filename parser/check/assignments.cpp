// Assignments: to variables, to parts of them, to several at once.
#include "parser/check/assignments.h"
#include "parser/check/calls.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/indexing.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/statements.h"
#include "parser/check/structs.h"
#include "parser/check/values.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::checker {

static void check_assign_tuple(Context& cx, const ast::Tuple& targets, const ast::Expr* value, Span span,
                               typed::Block& into);

ast::Expr* hold(Context& cx, ExprPtr value, typed::Block& into) {
  const Span span = value->span;
  typed::Stmt let;
  let.kind = StmtKind::Let;
  let.span = span;
  let.value = std::move(value);
  cx.open.settle(let.value->type);
  ast::Expr& held = cx.functions.made->exprs.emplace_back();
  held.span = span;
  std::string key =
      fmt::format("# {} held: {}", cx.program.variables.size(), source_text(cx, span)); // a name that no text has
  held.node = ast::Name{key};
  let.pattern.var = bind_name(cx, key, source_text(cx, span), let.value->type, false, let.value.get(), span);
  if (let.pattern.var.valid()) into.statements.push_back(std::move(let));
  return &held;
}

ast::Expr* held_subscript(Context& cx, ast::Expr* e, typed::Block& into) {
  if (!e || static_of(cx, e)) return e;
  if (auto* name = ast::as<ast::Name>(e)) {
    const Entity* entity = find(cx, name->name);
    if (!entity || entity->kind != Entity::Kind::Variable || !cx.program.variables[entity->var.index].is_mutable)
      return e;
  }
  return hold(cx, check_value(cx, e), into);
}

// with every subscript in it held
static ast::Expr* held_target(Context& cx, ast::Expr* target, typed::Block& into) {
  ast::Expr copy = *target;
  if (auto* tuple = std::get_if<ast::Tuple>(&copy.node)) {
    for (ast::Expr*& element : tuple->elements)
      element = held_target(cx, element, into);
  } else if (auto* field = std::get_if<ast::Field>(&copy.node)) {
    field->object = held_target(cx, field->object, into);
  } else if (auto* sub = std::get_if<ast::Subscript>(&copy.node)) {
    sub->object = held_target(cx, sub->object, into);
    for (ast::SubscriptItem& item : sub->items)
      for (ast::Expr** part : {&item.index, &item.first, &item.last, &item.step})
        *part = held_subscript(cx, *part, into);
  } else {
    return target;
  }
  cx.functions.made->exprs.push_back(std::move(copy));
  return &cx.functions.made->exprs.back();
}

// The value that a function captured of a `var` around it (functions.cpp): it is declared where the variable is.
static bool is_value_of_var(const Context& cx, const Entity& entity) {
  return std::any_of(cx.program.variables.begin(), cx.program.variables.end(), [&](const typed::Variable& v) {
    return v.is_mutable && v.span.file == entity.span.file && v.span.begin == entity.span.begin;
  });
}

// The variable of this name, if it may be assigned here.
static std::optional<VarId> assigned_variable(Context& cx, const ast::Name& name, Span span, bool in_part) {
  const Entity* entity = find(cx, name.name);
  if (!entity) {
    const Entity* other = find(cx, did_you_mean(cx, name.name, false));
    if (in_part || (other && other->kind == Entity::Kind::Variable))
      unknown_name(cx, name.name, span, false);
    else
      error(cx, "UnknownName", span, fmt::format("there is no name `{}` here", name.name),
            fmt::format("a variable is declared before it is assigned: `var {} = …`, or `let` if it never changes",
                        name.name));
    return std::nullopt;
  }
  if (entity->kind == Entity::Kind::Poisoned) return std::nullopt;
  if (entity->kind != Entity::Kind::Variable || !cx.program.variables[entity->var.index].is_mutable) {
    std::string what =
        entity->kind == Entity::Kind::Variable ? "is bound by `let`, a parameter or a loop" : "is not a variable";
    const bool is_captured = entity->kind == Entity::Kind::Variable && is_value_of_var(cx, *entity);
    if (is_captured)
      error(cx, "NotAssignable", span,
            fmt::format("`{}` belongs to the code around this function, which sees only its value", name.name),
            "return the new value instead", {{entity->span, "declared here"}});
    else
      error(cx, "NotAssignable", span, fmt::format("`{}` {} and cannot be assigned", name.name, what),
            fmt::format("declare it by `var`, or copy it: `var y = {}`", name.name), {{entity->span, "declared here"}});
    return std::nullopt;
  }
  VarId var = entity->var;
  if (!cx.function->own.count(var.index)) {
    error(cx, "NotAssignable", span,
          fmt::format("`{}` belongs to the code around this function, which sees only values", name.name),
          "return the new value instead", {{entity->span, "declared here"}});
    return std::nullopt;
  }
  if (cx.in_comprehension && var.index < cx.comprehension_variables) {
    error(cx, "NotAssignable", span,
          fmt::format("the element of a comprehension cannot assign `{}`, which is outside it", name.name),
          "write a `for` loop", {{entity->span, "declared here"}});
    return std::nullopt;
  }
  return var;
}

// Which part of a tuple or struct a step of a target means: a field, or a constant index.
static std::optional<uint32_t> assigned_part(Context& cx, const ast::Expr* step, const Type& type) {
  std::optional<uint32_t> index;
  if (auto* field = ast::as<ast::Field>(step)) {
    if (type.is_struct()) index = type.record->find(field->name.text);
    if (!index) {
      if (type.is_struct())
        unknown_field(cx, type, field->name);
      else
        error(cx, "NotAssignable", field->name.span, fmt::format("{} has no fields", show(cx, type)),
              "write `t[0] = …`");
      return std::nullopt;
    }
  } else {
    auto* sub = ast::as<ast::Subscript>(step);
    auto constant = sub->items.size() == 1 && sub->items[0].index ? static_of(cx, sub->items[0].index) : std::nullopt;
    auto count = static_cast<int64_t>(type.elements.size());
    if (!type.is_tuple() || !constant || constant->kind != Static::Kind::Int || constant->number >= count ||
        constant->number < -count) {
      error(cx, "NotAssignable", step->span,
            type.is_tuple() ? fmt::format("a tuple of {} takes one constant index", count)
                            : fmt::format("an element of {} cannot be assigned", show(cx, type)),
            type.is_struct() ? "assign a field: `p.x = …`" : "");
      return std::nullopt;
    }
    index = static_cast<uint32_t>(constant->number < 0 ? constant->number + count : constant->number);
  }
  return index;
}

// The elements of a tensor that subscripts mean: x[i][j] = e is x[i, j] = e.
static bool assigned_elements(Context& cx, const Type& type, const std::vector<const ast::Expr*>& steps,
                              std::vector<ast::SubscriptItem>& items) {
  for (size_t step = 0; step < steps.size(); ++step) {
    auto* sub = ast::as<ast::Subscript>(steps[step]);
    if (!sub) {
      error(cx, "NotAssignable", steps[step]->span,
            fmt::format("{} has no field that can be assigned", show(cx, type)));
      return false;
    }
    for (const auto& item : sub->items)
      if (step + 1 < steps.size() && item.kind != ast::SubscriptItem::Kind::Index) {
        const bool has_slice = item.kind == ast::SubscriptItem::Kind::Slice;
        error(cx, "NotSupported", item.span, "assigning through this subscript is not supported yet",
              has_slice ? "assign to the slice: `x[a:b] = where(mask, y, x[a:b])`, or write one subscript: `x[i, j]`"
                        : "write one subscript: `x[i, j]`");
        return false;
      }
    items.insert(items.end(), sub->items.begin(), sub->items.end());
  }
  return true;
}

// Writes the subscripts and sizes of a part of a tensor, whose text is `tensor`, to `place`.
static bool subscripted(Context& cx, const std::string& tensor, const std::vector<ast::SubscriptItem>& items,
                        typed::Place& place, typed::Stmt& s, typed::Block& into) {
  auto holder = make_expr(typed::IndexExpr{}, place.span, Type::error());
  auto shape = subscripts(cx, place.type, tensor, items, place.span, *holder, place.subscripts);
  for (auto& bind : holder->binds) {
    typed::Stmt let;
    let.kind = StmtKind::Let;
    let.span = bind.value->span;
    let.pattern.var = new_variable(cx, source_text(cx, let.span), Type::scalar(DType::I64), false, let.span);
    cx.program.variables[let.pattern.var.index].atom = bind.atom;
    let.value = std::move(bind.value);
    into.statements.push_back(std::move(let));
  }
  for (auto& check : holder->checks)
    s.checks.push_back(std::move(check));
  if (!shape) return false;
  for (const auto& fresh : holder->fresh)
    cx.sizes.mask_counts.insert(fresh.atom);
  for (const auto& sub : place.subscripts)
    if (sub.kind == typed::Subscript::Kind::NewAxis) {
      error(cx, "NotAssignable", sub.span, "`new` is not allowed in a target");
      return false;
    }
  place.type.shape = *shape;
  return true;
}

// The variable, or part of a variable, that an assignment writes. Checks of subscripts go to s, what they need from
// values to `into`.
std::optional<typed::Place> check_target(Context& cx, const ast::Expr* target, typed::Stmt& s, typed::Block& into) {
  typed::Place result;
  result.span = target->span;
  if (ast::as<ast::Wildcard>(target)) return result;
  std::vector<const ast::Expr*> steps; // fields and subscripts, the last first
  const ast::Expr* base = target;
  for (;;) {
    auto* sub = ast::as<ast::Subscript>(base);
    auto* field = ast::as<ast::Field>(base);
    if (!sub && !field) break;
    steps.push_back(base);
    base = sub ? sub->object : field->object;
  }
  std::reverse(steps.begin(), steps.end());
  auto* name = ast::as<ast::Name>(base);
  if (!name) {
    error(cx, "NotAssignable", target->span, "only a variable, or a part of one, can be assigned");
    return std::nullopt;
  }
  auto var = assigned_variable(cx, *name, base->span, !steps.empty());
  if (!var) return std::nullopt;
  result.var = *var;
  Type type = current_type(cx, *var);
  if (type.is_error()) return std::nullopt;
  // Fields, and constant indices of tuples; then subscripts of a tensor.
  size_t step = 0;
  for (; step < steps.size() && type.is_aggregate(); ++step) {
    auto index = assigned_part(cx, steps[step], type);
    if (!index) return std::nullopt;
    result.path.push_back(*index);
    Type inner = type.elements[*index];
    type = std::move(inner);
  }
  result.type = type;
  if (type.is_error()) return std::nullopt;
  if (step == steps.size()) return result;
  const ast::Expr* tensor = step ? steps[step - 1] : base;
  std::vector<ast::SubscriptItem> items;
  steps.erase(steps.begin(), steps.begin() + static_cast<long>(step));
  if (!assigned_elements(cx, type, steps, items)) return std::nullopt;
  if (!type.is_tensor()) {
    error(cx, "NotAssignable", target->span, fmt::format("an element of {} cannot be assigned", show(cx, type)));
    return std::nullopt;
  }
  if (!subscripted(cx, source_text(cx, tensor->span), items, result, s, into)) return std::nullopt;
  return result;
}

// The type that a value assigned to a variable or to a part of one must have: the fields of a struct keep their sizes,
// but for those declared as `_`; a variable and the elements of a tuple take those of the value.
Type wanted_by(Context& cx, const typed::Place& place, const Type& have) {
  const Type whole = current_type(cx, place.var);
  bool in_struct = false;
  const Type* part = &whole;
  for (uint32_t step : place.path) {
    in_struct = in_struct || part->is_struct();
    part = &part->elements[step];
  }
  if (!in_struct) return have;
  Type wanted = whole, value = whole;
  *part_of(value, place.path) = have;
  free_sizes(cx, wanted, value);
  return *part_of(wanted, place.path);
}

void set_current(Context& cx, const typed::Place& place, const Type& type) {
  Type whole = current_type(cx, place.var);
  *part_of(whole, place.path) = type;
  cx.function->current[place.var] = std::move(whole);
}

static bool broadcast_to_place(Context& cx, const typed::Place& place, typed::Expr& v, typed::Stmt& s) {
  const auto &to = place.type.shape, &from = v.type.shape;
  bool fits = v.type.is_tensor() && from.size() <= to.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    const Size &a = to[to.size() - 1 - i], &b = from[from.size() - 1 - i];
    if (b.is(1)) continue;
    if (auto count = a.as_atom(); count && cx.sizes.mask_counts.count(*count)) continue;
    fits = require_equal(cx, a, b, true,
                         fmt::format("`{}` has {{0}} along axis {} and `{}` has {{1}}", source_text(cx, place.span),
                                     to.size() - 1 - i, source_text(cx, v.span)),
                         v.span, s.checks);
    if (!fits) {
      std::vector<Label> labels{{place.span, show(cx, place.type)}, label_of(cx, v)};
      add_origins(cx, a, b, labels);
      error(cx, "ShapeMismatch", v.span, fmt::format("the value does not fit its target: {}", different(cx, a, b)),
            equality_hint(cx, a, b), std::move(labels));
      return false;
    }
  }
  if (!fits)
    error(cx, "ShapeMismatch", v.span, "the value does not fit its target", "",
          {{place.span, show(cx, place.type)}, label_of(cx, v)});
  return fits;
}

// Everything is evaluated from left to right: the subscripts of the targets, the value, and only then is anything
// written.
void check_assign(Context& cx, const ast::Assign& s, Span span, typed::Block& into) {
  SaveAndRestore scope(cx.names.scope);
  push_scope(cx); // for what is held
  ast::Assign held = s;
  held.target = held_target(cx, s.target, into);
  if (auto* tuple = ast::as<ast::Tuple>(held.target))
    check_assign_tuple(cx, *tuple, s.value, span, into);
  else
    check_assign_one(cx, held, span, into);
}

// (a, (p.b, c[i])) = e: e is a value that a pattern takes apart, and each of its parts is assigned.
static void check_assign_tuple(Context& cx, const ast::Tuple& targets, const ast::Expr* value_expr, Span span,
                               typed::Block& into) {
  // What each target is now says what literals become.
  auto type_of_target = [&](auto& self, const ast::Expr* target) -> Type {
    if (auto* tuple = ast::as<ast::Tuple>(target)) {
      Type type = Type::tuple({});
      for (const ast::Expr* element : tuple->elements)
        type.elements.push_back(self(self, element));
      return type;
    }
    Snapshot before = snapshot(cx);
    typed::Stmt scratch;
    typed::Block unused;
    auto found = check_target(cx, target, scratch, unused);
    rollback(cx, before);
    return found ? any_sizes(cx, found->type) : Type::error();
  };
  Type expected = Type::tuple({});
  for (const ast::Expr* target : targets.elements)
    expected.elements.push_back(type_of_target(type_of_target, target));
  typed::Stmt let;
  let.kind = StmtKind::Let;
  let.span = span;
  ExprPtr v = check_value(cx, value_expr, &expected);
  v = taken_apart(cx, std::move(v), targets.elements.size(), value_expr->span);
  if (refresh(cx, *v).is_error()) return;

  struct Part {
    ast::Expr* target;
    ast::Expr* value; // a name of the pattern
  };
  std::vector<Part> parts;
  auto take_apart = [&](auto& self, const std::vector<ast::Expr*>& elements, const Type& type, const typed::Expr* value,
                        const ast::Expr* source) -> std::optional<typed::Pattern> {
    if (!type.is_tuple() || type.elements.size() != elements.size()) {
      error(cx, "TypeMismatch", source->span,
            fmt::format("{} targets take a tuple of {}, and this is {}", elements.size(), elements.size(),
                        show(cx, type)));
      return std::nullopt;
    }
    if (value && !value->is<typed::TupleExpr>()) value = nullptr;
    auto* written = ast::as<ast::Tuple>(source);
    if (written && written->elements.size() != elements.size()) written = nullptr;
    typed::Pattern pattern;
    pattern.is_tuple = true;
    for (size_t i = 0; i < elements.size(); ++i) {
      ast::Expr* target = elements[i];
      const typed::Expr* element = value ? value->operands[i].get() : nullptr;
      const ast::Expr* from = written ? written->elements[i] : source;
      if (auto* inner = ast::as<ast::Tuple>(target)) {
        auto one = self(self, inner->elements, type.elements[i], element, from);
        if (!one) return std::nullopt;
        pattern.elements.push_back(std::move(*one));
        continue;
      }
      pattern.elements.emplace_back();
      if (ast::as<ast::Wildcard>(target)) continue;
      cx.functions.made->exprs.emplace_back();
      ast::Expr& name = cx.functions.made->exprs.back();
      name.span = from->span;
      std::string key = fmt::format("# {} of a value: {}", cx.program.variables.size(), source_text(cx, from->span));
      name.node = ast::Name{key};
      pattern.elements.back().var = bind_name(cx, key, "", type.elements[i], false, element, from->span);
      parts.push_back({target, &name});
    }
    return pattern;
  };
  auto pattern = take_apart(take_apart, targets.elements, v->type, v.get(), value_expr);
  if (!pattern) return;
  let.pattern = std::move(*pattern);
  let.value = std::move(v);
  into.statements.push_back(std::move(let));
  for (const Part& part : parts) {
    ast::Assign one;
    one.target = part.target;
    one.value = part.value;
    check_assign_one(cx, one, span, into);
  }
}

// The value is what can be converted.
static void mixed_assignment(Context& cx, const typed::Expr& to, const typed::Expr& from, const std::string& what,
                             Span span) {
  Type x = cx.open.resolved(to.type), y = cx.open.resolved(from.type);
  error(cx, "MixedTypes", span, fmt::format("{} mixes {} and {}", what, name_of(x.dtype), name_of(y.dtype)),
        conversion_hint(cx, from, x, &to), {label_of(cx, to), label_of(cx, from)});
}

static void wrong_value(Context& cx, const ast::Assign& s, const typed::Place& target, const typed::Expr& v,
                        std::string hint = {}, std::vector<Label> labels = {}) {
  error(cx, "TypeMismatch", v.span,
        fmt::format("`{}` has to be {}, and this is {}", source_text(cx, s.target->span), show(cx, target.type),
                    show(cx, v.type)),
        std::move(hint), std::move(labels));
}

// The new value of a variable, or of a part of one without subscripts. Null where an error is reported.
static ExprPtr assigned_value(Context& cx, const ast::Assign& s, Span span, const typed::Place& target) {
  const Type expected = any_sizes(cx, target.type); // a variable keeps none
  if (!s.op) return check_value(cx, s.value, &expected);
  ExprPtr left = part_of(*variable_value(cx, target.var, s.target->span), target.path, s.target->span);
  if (*s.op == ast::BinaryOp::Power) return check_power(cx, std::move(left), s.value, span, s.op_span);
  ExprPtr right = check_value(cx, s.value, expected.is_list() ? &expected : nullptr);
  Type x = refresh(cx, *left), y = refresh(cx, *right);
  if (x.is_tensor() && y.is_tensor() && is_num(x.dtype) && is_num(y.dtype) && !cx.open.unify(x, y)) {
    mixed_assignment(cx, *left, *right, fmt::format("`{}`", source_text(cx, span)), span);
    return nullptr;
  }
  return binary_op(cx, *s.op, std::move(left), std::move(right), span, s.op_span);
}

// Why a value cannot become that of a variable, or of a part of one.
static std::string hint_for_form(Context& cx, const ast::Assign& s, const typed::Place& target, const typed::Expr& v) {
  if (target.type.is_tensor() && v.type.is_tensor())
    return target.type.rank() == v.type.rank()
               ? conversion_hint(cx, v, target.type,
                                 target.path.empty() ? variable_value(cx, target.var, s.target->span).get() : nullptr)
               : "a `var` keeps its number of axes; `x[:] = e` writes all its elements";
  return has_function(cx, target.type)
             ? "which function a name stands for is known when compiling: choose inside one function"
             : "";
}

// x = e, x.f = e, x += e …: without subscripts. Gives what the statement writes, or null where an error is reported.
static ExprPtr assign_whole(Context& cx, const ast::Assign& s, Span span, typed::Place& target) {
  if (!target.var.valid()) return check_value(cx, s.value); // `_ = e`
  ExprPtr v = assigned_value(cx, s, span, target);
  if (!v || refresh(cx, *v).is_error()) return nullptr;
  if (!same_form(cx, target.type, v->type)) {
    const typed::Variable& variable = cx.program.variables[target.var.index];
    wrong_value(cx, s, target, *v, hint_for_form(cx, s, target, *v),
                {{variable.span, fmt::format("declared as {}", show(cx, variable.type))}, label_of(cx, *v)});
    return nullptr;
  }
  const Type wanted = wanted_by(cx, target, refresh(cx, *v));
  v = coerce(cx, std::move(v), wanted, fmt::format("`{}`", source_text(cx, s.target->span)));
  if (v->type.is_error()) return nullptr;
  set_current(cx, target, v->type);
  target.type = v->type;
  return v;
}

// x[i] += v: how the statement combines, and with what. Null where an error is reported.
static ExprPtr combine_elements(Context& cx, const ast::Assign& s, Span span, const typed::Place& target, ExprPtr v,
                                typed::Stmt& out) {
  const bool by_tensor =
      std::any_of(target.subscripts.begin(), target.subscripts.end(),
                  [](const typed::Subscript& sub) { return sub.kind == typed::Subscript::Kind::Tensor; });
  const std::string operation = fmt::format("`{}=`", ast::symbol(*s.op));
  const std::optional<ScalarOp> op = scalar_op_of(*s.op);
  if (!op || (cx.open.is_complex(target.type) && !takes_complex(*op))) {
    error(cx, "NotSupported", s.op_span, fmt::format("{} does not write a part", operation),
          "write the right side out");
    return nullptr;
  }
  if (by_tensor && op != ScalarOp::Add && op != ScalarOp::Sub) {
    error(cx, "NotAssignable", s.op_span,
          fmt::format("{} with an index tensor is not defined where indices repeat", operation),
          "only += and -= accumulate");
    return nullptr;
  }
  // The type rule of the operator.
  std::vector<ExprPtr> operands;
  operands.push_back(make_expr(typed::UnitExpr{}, s.target->span, target.type));
  operands.push_back(std::move(v));
  SizeFacts facts = cx.function->facts;
  size_t reports = cx.function->reports.size();
  ExprPtr node = scalar_node(cx, *op, std::move(operands), span, operation);
  cx.function->facts = facts;
  if (cx.function->reports.size() != reports || node->type.is_error()) return nullptr;
  v = std::move(node->operands[1]);
  out.mode = by_tensor ? typed::AssignMode::Accumulate : typed::AssignMode::Combine;
  out.scalar_op = by_tensor ? ScalarOp::Add : *op;
  if (by_tensor && op == ScalarOp::Sub) {
    std::vector<ExprPtr> one;
    Span value_span = v->span;
    one.push_back(std::move(v));
    v = scalar_node(cx, ScalarOp::Neg, std::move(one), value_span, "`-=`");
  }
  return v;
}

// x[i] = e, x[i] += e …. Gives what the statement writes, or null where an error is reported.
static ExprPtr assign_elements(Context& cx, const ast::Assign& s, Span span, typed::Place& target, typed::Stmt& out) {
  const Type expected = any_sizes(cx, target.type);
  ExprPtr v = check_value(cx, s.value, &expected);
  if (refresh(cx, *v).is_error()) return nullptr;
  if (!v->type.is_tensor()) {
    wrong_value(cx, s, target, *v);
    return nullptr;
  }
  if (const DType t = target.type.dtype; is_complex(t) && !v->type.open && v->type.dtype == part_of(t))
    v = convert(cx, std::move(v), t);
  if (!cx.open.unify(target.type, v->type)) {
    mixed_assignment(cx, *make_expr(typed::UnitExpr{}, s.target->span, target.type), *v, "this assignment", span);
    return nullptr;
  }
  if (s.op) v = combine_elements(cx, s, span, target, std::move(v), out);
  if (!v || !broadcast_to_place(cx, target, *v, out)) return nullptr;
  target.type = cx.open.resolved(target.type);
  return v;
}

// One target, whose subscripts are held.
void check_assign_one(Context& cx, const ast::Assign& s, Span span, typed::Block& into) {
  if (assign_element(cx, s, span, into)) return;
  typed::Stmt out;
  out.kind = StmtKind::Assign;
  out.span = span;
  size_t errors = cx.function->reports.size();
  auto target = check_target(cx, s.target, out, into);
  if (!target) {
    if (cx.function->reports.size() != errors) (void)check_value(cx, s.value);
    return;
  }
  out.value =
      target->subscripts.empty() ? assign_whole(cx, s, span, *target) : assign_elements(cx, s, span, *target, out);
  if (!out.value) return;
  out.targets.push_back(std::move(*target));
  into.statements.push_back(std::move(out));
}

} // namespace tl::checker

// Assignments to elements of lists.
#include "parser/check/assignments.h"
#include "parser/check/calls.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/structs.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

namespace {

// xs[i] = e, p.xs[i] = e: makes a list with that element and assigns it. What is further in, xs[i].w[j] = e, is
// written into a copy of the element.
class ElementAssignment {
public:
  ElementAssignment(Context& cx, const ast::Assign& s, Span span, typed::Block& into)
      : cx(cx), s(s), span(span), into(into) {}
  bool run();

private:
  bool find_list();
  ExprPtr held_list() { return part_of(*variable_value(cx, target->var, at->span), target->path, at->span); }
  ExprPtr changed_element(const typed::Expr& index);
  ExprPtr changed_inside(const typed::Expr& index);
  ast::Expr* target_inside(VarId part);
  bool assign(ExprPtr index, ExprPtr element);

  Context& cx;
  const ast::Assign& s;
  Span span;
  typed::Block& into;
  std::vector<const ast::Expr*> chain; // from the target inwards, to the list
  const ast::Expr* at = nullptr;       // the list
  const ast::Subscript* innermost = nullptr;
  Span element_span;
  typed::Stmt out;
  std::optional<typed::Place> target;
};

// The first list on the way, and the subscript of it. False: none is written.
bool ElementAssignment::find_list() {
  at = s.target;
  for (;;) {
    chain.push_back(at);
    if (auto* sub = ast::as<ast::Subscript>(at))
      at = sub->object;
    else if (auto* field = ast::as<ast::Field>(at))
      at = field->object;
    else
      break;
  }
  auto* name = ast::as<ast::Name>(at);
  const Entity* entity = name ? find(cx, name->name) : nullptr;
  if (!entity || entity->kind != Entity::Kind::Variable) return false;
  size_t step = chain.size() - 1;
  Type type = current_type(cx, entity->var);
  for (; step > 0 && type.is_aggregate(); --step) {
    std::optional<uint32_t> index;
    if (auto* field = ast::as<ast::Field>(chain[step - 1])) {
      if (type.is_struct()) index = type.record->find(field->name.text);
    } else if (auto* sub = ast::as<ast::Subscript>(chain[step - 1]); sub->items.size() == 1 && sub->items[0].index) {
      auto known = static_of(cx, sub->items[0].index);
      auto count = static_cast<int64_t>(type.elements.size());
      if (known && known->kind == Static::Kind::Int && known->number < count && known->number >= -count)
        index = static_cast<uint32_t>(known->number < 0 ? known->number + count : known->number);
    }
    if (!index) return false;
    Type inner = type.elements[*index];
    type = std::move(inner);
  }
  if (step == 0 || !type.is_list()) return false;
  innermost = ast::as<ast::Subscript>(chain[step - 1]);
  if (!innermost) return false;
  at = chain[step];
  chain.resize(step + 1);
  element_span = chain[chain.size() - 2]->span;
  return true;
}

// The target behind the element, of the variable that holds a copy of it.
ast::Expr* ElementAssignment::target_inside(VarId part) {
  const std::string unutterable = source_text(cx, element_span);
  Entity held;
  held.kind = Entity::Kind::Variable;
  held.var = part;
  held.span = element_span;
  enter(cx, unutterable, held);
  cx.functions.made->exprs.emplace_back();
  cx.functions.made->exprs.back().span = element_span;
  cx.functions.made->exprs.back().node = ast::Name{unutterable};
  ast::Expr* inner = &cx.functions.made->exprs.back();
  for (size_t i = chain.size() - 2; i-- > 0;) {
    ast::Expr copy = *chain[i];
    if (auto* sub = std::get_if<ast::Subscript>(&copy.node)) sub->object = inner;
    if (auto* field = std::get_if<ast::Field>(&copy.node)) field->object = inner;
    cx.functions.made->exprs.push_back(std::move(copy));
    inner = &cx.functions.made->exprs.back();
  }
  return inner;
}

ExprPtr ElementAssignment::changed_inside(const typed::Expr& index) {
  ExprPtr old = list_get(cx, held_list(), copy_simple(index), false, element_span);
  if (old->type.is_error()) return nullptr;
  VarId part = new_variable(cx, "", old->type, true, element_span);
  typed::Stmt let;
  let.kind = StmtKind::Let;
  let.span = element_span;
  let.pattern.var = part;
  let.value = std::move(old);
  into.statements.push_back(std::move(let));
  SaveAndRestore scope(cx.names.scope);
  push_scope(cx);
  ast::Assign rest = s;
  rest.target = target_inside(part);
  size_t errors = cx.function->reports.size();
  check_assign_one(cx, rest, span, into);
  if (cx.function->reports.size() != errors) return nullptr;
  return variable_value(cx, part, element_span);
}

// Null where an error is reported.
ExprPtr ElementAssignment::changed_element(const typed::Expr& index) {
  if (chain.size() > 2) return changed_inside(index);
  if (!s.op) {
    Type wanted = any_sizes(cx, target->type);
    return check_value(cx, s.value, wanted.elements.empty() ? nullptr : &wanted.elements[0]);
  }
  ExprPtr old = list_get(cx, held_list(), copy_simple(index), false, element_span);
  if (old->type.is_error()) return nullptr;
  if (*s.op == ast::BinaryOp::Power) return check_power(cx, std::move(old), s.value, span, s.op_span);
  const Type expected = any_sizes(cx, old->type);
  ExprPtr value = check_value(cx, s.value, expected.is_list() ? &expected : nullptr);
  return binary_op(cx, *s.op, std::move(old), std::move(value), span, s.op_span);
}

// The statement. False where an error is reported.
bool ElementAssignment::assign(ExprPtr index, ExprPtr element) {
  const Type list = target->type;
  if (refresh(cx, *element).is_error()) return false;
  if (!list.elements.empty() && !same_form(cx, list.elements[0], element->type)) {
    error(cx, "TypeMismatch", element->span,
          fmt::format("`{}` has to be {}, and this is {}", source_text(cx, element_span), show(cx, list.elements[0]),
                      show(cx, element->type)),
          "", {label_of(cx, *element)});
    return false;
  }
  Type changed = either_element(cx, list, list_of(cx, cx.open.resolved(refresh(cx, *element))));
  out.value = list_node(typed::ListOp::Set, span, changed);
  out.value->operands.push_back(held_list());
  out.value->operands.push_back(std::move(index));
  out.value->operands.push_back(std::move(element));
  if (!target->path.empty()) {
    changed = wanted_by(cx, *target, changed);
    out.value = coerce(cx, std::move(out.value), changed, fmt::format("`{}`", source_text(cx, at->span)));
    if (out.value->type.is_error()) return false;
    changed = out.value->type;
  }
  target->type = changed;
  set_current(cx, *target, changed);
  return true;
}

bool ElementAssignment::run() {
  if (!find_list()) return false;
  out.kind = StmtKind::Assign;
  out.span = span;
  target = check_target(cx, at, out, into); // may it be assigned?
  if (!target) return true;
  if (innermost->items.size() != 1 || innermost->items[0].kind != ast::SubscriptItem::Kind::Index) {
    error(cx, "NotSupported", element_span, "only one element of a list can be assigned",
          "build the list anew: `list(… for … in …)`");
    return true;
  }
  ExprPtr index = to_i64(cx, check_value(cx, innermost->items[0].index), "an index of a list");
  if (index->type.is_error()) return true;
  cx.open.settle(index->type);
  index = shared(cx, std::move(index), into);
  ExprPtr element = changed_element(*index);
  if (!element || !assign(std::move(index), std::move(element))) return true;
  out.targets.push_back(std::move(*target));
  into.statements.push_back(std::move(out));
  return true;
}

} // namespace

// False: the target is no element of a list.
bool assign_element(Context& cx, const ast::Assign& s, Span span, typed::Block& into) {
  return ElementAssignment(cx, s, span, into).run();
}

} // namespace tl::checker

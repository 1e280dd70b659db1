// What goes through the parts of values: arithmetic, map and fold by leaf, and equality of lists, tuples and structs.
#include "parser/check/leaves.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/iteration.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/structs.h"
#include "parser/check/text.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

static ExprPtr equal_parts(Context& cx, ExprPtr a, ExprPtr b, typed::Block& before, Span span);
static ExprPtr equal_tensors(Context& cx, ExprPtr a, ExprPtr b, typed::Block& before, Span span);

static bool is_state_field(const Type& type, size_t index) {
  return type.is_struct() && type.record->fields[index].is_state;
}

ExprPtr copy_part(Context& cx, const typed::Expr& e) {
  if (!e.is<typed::TupleGetExpr>()) return copy_simple(e);
  auto copy = make_expr(e.as<typed::TupleGetExpr>(), e.span, e.type);
  copy->operands.push_back(copy_part(cx, *e.operands[0]));
  return copy;
}

typed::Stmt let_variable(VarId var, ExprPtr value, Span span) {
  typed::Stmt let;
  let.kind = StmtKind::Let;
  let.span = span;
  let.pattern.var = var;
  let.value = std::move(value);
  return let;
}

typed::Stmt set_variable(Context& cx, VarId var, ExprPtr value, Span span) {
  typed::Stmt set;
  set.kind = StmtKind::Assign;
  set.span = span;
  typed::Place place;
  place.var = var;
  place.type = cx.program.variables[var.index].type;
  place.span = span;
  set.targets.push_back(std::move(place));
  set.value = std::move(value);
  return set;
}

std::vector<ExprPtr> enter_lists(Context& cx, std::vector<ExprPtr> lists, Span span, typed::Block& before,
                                 typed::Stmt& loop) {
  for (ExprPtr& list : lists)
    list = shared(cx, std::move(list), before);
  Size count = bound_size(cx, list_length(copy_simple(*lists[0]), span), "len", before);
  for (size_t k = 1; k < lists.size(); ++k) {
    Size other = bound_size(cx, list_length(copy_simple(*lists[k]), span), "len", before);
    auto checked = make_expr(typed::RecastExpr{}, span, lists[k]->type);
    (void)require_equal(cx, count, other, false, "the lists need equal lengths, and have {0} and {1} elements", span,
                        checked->checks);
    for (SizeCheck& check : checked->checks)
      check.notes.clear(); // lengths have no names
    checked->operands.push_back(std::move(lists[k]));
    lists[k] = shared(cx, std::move(checked), before);
  }
  loop.kind = StmtKind::For;
  loop.span = span;
  loop.value = make_expr(typed::RangeExpr{}, span, Type::range(0, count, 1));
  VarId position = new_variable(cx, "", Type::scalar(DType::I64), false, span);
  bind_atom(cx, position);
  loop.pattern.var = position;
  std::vector<ExprPtr> elements;
  for (ExprPtr& list : lists)
    elements.push_back(
        shared(cx, list_get(cx, std::move(list), variable_value(cx, position, span), true, span), loop.body));
  return elements;
}

ExprPtr rebuild(Context& cx, std::vector<ExprPtr> values, Span span, const Leaf& leaf, bool in_state) {
  const Type type = refresh(cx, *values[0]);
  if (type.is_function()) return std::move(values[0]);
  if (type.is_aggregate()) {
    auto node = make_expr(typed::TupleExpr{}, span, type);
    for (size_t i = 0; i < type.elements.size(); ++i) {
      std::vector<ExprPtr> parts;
      for (const ExprPtr& value : values)
        parts.push_back(get_field(copy_part(cx, *value), static_cast<uint32_t>(i), value->span));
      node->operands.push_back(rebuild(cx, std::move(parts), span, leaf, in_state || is_state_field(type, i)));
      node->type.elements[i] = node->operands.back()->type;
      if (node->type.elements[i].is_error()) return broken(span);
    }
    return node;
  }
  if (!type.is_list()) return leaf(type, in_state, std::move(values));
  if (type.elements.empty()) return std::move(values[0]);
  typed::Block before;
  typed::Stmt loop;
  size_t first_own = cx.program.atoms.size();
  ExprPtr element = rebuild(cx, enter_lists(cx, std::move(values), span, before, loop), span, leaf, in_state);
  cx.open.settle(element->type);
  if (element->type.is_error()) return broken(span);
  Type list = list_of(cx, element->type, [&](const Size& size) { // what each element has of its own
    std::vector<AtomId> atoms;
    cx.program.atoms.collect(size, atoms);
    return std::any_of(atoms.begin(), atoms.end(), [&](AtomId a) { return a.index >= first_own; });
  });
  VarId built = new_variable(cx, "", list, true, span);
  before.statements.push_back(let_variable(built, list_node(typed::ListOp::Make, span, list), span));
  loop.body.statements.push_back(append_to(cx, built, list, std::move(element), span));
  before.statements.push_back(std::move(loop));
  return in_block(std::move(before), variable_value(cx, built, span), span);
}

ExprPtr fold_leaves(Context& cx, ExprPtr start, ExprPtr value, typed::Block& before, const FoldStep& step, Span span,
                    bool in_state) {
  const Type type = refresh(cx, *value);
  if (type.is_function() || start->type.is_error()) return start;
  if (type.is_aggregate()) {
    for (size_t i = 0; i < type.elements.size(); ++i)
      start = fold_leaves(cx, std::move(start), get_field(copy_part(cx, *value), static_cast<uint32_t>(i), value->span),
                          before, step, span, in_state || is_state_field(type, i));
    return start;
  }
  if (!type.is_list()) return step(std::move(start), in_state, std::move(value));
  if (type.elements.empty()) return start;
  // One turn outside of what runs, to learn the type of what is carried: it stays the same.
  typed::Block rehearsal;
  typed::Stmt unused;
  std::vector<ExprPtr> one;
  one.push_back(copy_part(cx, *value));
  if (start->is<typed::LiteralExpr>()) {
    auto elements = enter_lists(cx, std::move(one), span, rehearsal, unused);
    ExprPtr trial = fold_leaves(cx, copy_simple(*start), std::move(elements[0]), unused.body, step, span, in_state);
    if (trial->type.is_error()) return trial;
    if (start->type.open) (void)cx.open.unify(start->type, trial->type);
  }
  cx.open.settle(start->type);
  Type carried = start->type;
  VarId total = new_variable(cx, "", carried, true, span);
  before.statements.push_back(let_variable(total, std::move(start), span));
  typed::Stmt loop;
  one.clear();
  one.push_back(std::move(value));
  auto elements = enter_lists(cx, std::move(one), span, before, loop);
  ExprPtr next =
      fold_leaves(cx, variable_value(cx, total, span), std::move(elements[0]), loop.body, step, span, in_state);
  if (next->type.is_error()) return next;
  next = coerce(cx, std::move(next), carried, "what `fold` carries");
  if (next->type.is_error()) return next;
  loop.body.statements.push_back(set_variable(cx, total, std::move(next), span));
  before.statements.push_back(std::move(loop));
  return variable_value(cx, total, span);
}

// ---- equality

static ExprPtr bool_op(ScalarOp op, ExprPtr a, ExprPtr b, Span span) {
  auto node = make_expr(typed::ScalarExpr{op}, span, Type::scalar(DType::Bool));
  node->operands.push_back(std::move(a));
  if (b) node->operands.push_back(std::move(b));
  return node;
}

ExprPtr equality(Context& cx, bool equal, ExprPtr a, ExprPtr b, Span span) {
  cx.open.settle(a->type);
  cx.open.settle(b->type);
  if (!same_form(cx, a->type, b->type)) {
    error(cx, "TypeMismatch", span,
          fmt::format("`{}` compares values of one type, and these are {} and {}",
                      equal ? "==" : "!=", show(cx, a->type), show(cx, b->type)),
          "", {label_of(cx, *a), label_of(cx, *b)});
    return broken(span);
  }
  typed::Block before;
  ExprPtr result = equal_parts(cx, std::move(a), std::move(b), before, span);
  if (result->type.is_error()) return broken(span);
  if (!equal) result = bool_op(ScalarOp::Not, std::move(result), nullptr, span);
  return in_block(std::move(before), std::move(result), span);
}

static ExprPtr equal_parts(Context& cx, ExprPtr a, ExprPtr b, typed::Block& before, Span span) {
  auto written_out = [&](const typed::Expr& e) {
    return e.is<typed::TupleExpr>() &&
           std::all_of(e.operands.begin(), e.operands.end(), [&](const ExprPtr& part) { return is_simple(*part); });
  };
  if (!written_out(*a)) a = kept(cx, std::move(a), before);
  if (!written_out(*b)) b = shared(cx, std::move(b), before);
  auto part_of = [&](const typed::Expr& e, uint32_t i) {
    return e.is<typed::TupleExpr>() ? copy_simple(*e.operands[i]) : get_field(copy_part(cx, e), i, e.span);
  };
  const Type type = refresh(cx, *a), other = refresh(cx, *b);
  if (type.is_tensor()) return equal_tensors(cx, std::move(a), std::move(b), before, span);
  if (type.is_str()) return text_compare(cx, ast::BinaryOp::Equal, std::move(a), std::move(b), span);
  if (type.is_function()) return bool_value(type.function == other.function, span);
  if (type.is_aggregate()) {
    ExprPtr result;
    for (size_t i = 0; i < type.elements.size(); ++i) {
      auto index = static_cast<uint32_t>(i);
      ExprPtr one = equal_parts(cx, part_of(*a, index), part_of(*b, index), before, span);
      if (one->type.is_error()) return one;
      result = result ? bool_op(ScalarOp::And, std::move(result), std::move(one), span) : std::move(one);
    }
    return result ? std::move(result) : bool_value(true, span);
  }
  if (!type.is_list()) {
    error(cx, "TypeMismatch", span, fmt::format("`==` does not compare {}", show(cx, type)));
    return broken(span);
  }
  // As long as each other, and then element by element.
  Size length = bound_size(cx, list_length(copy_simple(*a), span), "len", before);
  Size other_length = bound_size(cx, list_length(copy_simple(*b), span), "len", before);
  std::vector<ExprPtr> lengths;
  lengths.push_back(size_expr(length, span));
  lengths.push_back(size_expr(other_length, span));
  ExprPtr same = bool_op(ScalarOp::Eq, std::move(lengths[0]), std::move(lengths[1]), span);
  if (type.elements.empty() || other.elements.empty()) return same;
  VarId result = new_variable(cx, "", Type::scalar(DType::Bool), true, span);
  before.statements.push_back(let_variable(result, std::move(same), span));
  typed::Stmt loop;
  loop.kind = StmtKind::For;
  loop.span = span;
  loop.value = make_expr(typed::RangeExpr{}, span, Type::range(0, cx.program.atoms.min(length, other_length), 1));
  VarId position = new_variable(cx, "", Type::scalar(DType::I64), false, span);
  bind_atom(cx, position);
  loop.pattern.var = position;
  ExprPtr one =
      equal_parts(cx, list_get(cx, std::move(a), variable_value(cx, position, span), true, span),
                  list_get(cx, std::move(b), variable_value(cx, position, span), true, span), loop.body, span);
  if (one->type.is_error()) return one;
  loop.body.statements.push_back(
      set_variable(cx, result, bool_op(ScalarOp::And, variable_value(cx, result, span), std::move(one), span), span));
  before.statements.push_back(std::move(loop));
  return variable_value(cx, result, span);
}

// Of one size, and all elements equal.
static ExprPtr equal_tensors(Context& cx, ExprPtr a, ExprPtr b, typed::Block& before, Span span) {
  const Type type = a->type, other = b->type;
  ExprPtr sizes;
  for (size_t k = 0; k < type.rank(); ++k) {
    Compare known = compare(cx, type.shape[k], other.shape[k]);
    if (known == Compare::Different) return bool_value(false, span);
    if (known == Compare::Equal) continue;
    ExprPtr one = bool_op(ScalarOp::Eq, size_expr(type.shape[k], span), size_expr(other.shape[k], span), span);
    sizes = sizes ? bool_op(ScalarOp::And, std::move(sizes), std::move(one), span) : std::move(one);
  }
  SizeFacts facts = cx.function->facts;
  if (sizes) {
    sizes = shared(cx, std::move(sizes), before);
    for (size_t k = 0; k < type.rank(); ++k) {
      cx.function->facts.not_negative.push_back(type.shape[k] - other.shape[k]);
      cx.function->facts.not_negative.push_back(other.shape[k] - type.shape[k]);
    }
  }
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(a));
  operands.push_back(std::move(b));
  ExprPtr result = scalar_node(cx, ScalarOp::Eq, std::move(operands), span, "`==`");
  cx.function->facts = facts;
  if (result->type.is_error()) return result;
  if (type.rank()) {
    typed::ReduceAttrs axes;
    for (size_t k = 0; k < type.rank(); ++k)
      axes.axes.push_back(static_cast<int64_t>(k));
    auto all = make_expr(typed::BuiltinExpr{Builtin::All, std::move(axes)}, span, Type::scalar(DType::Bool));
    all->operands.push_back(std::move(result));
    result = std::move(all);
  }
  if (!sizes) return result;
  auto node = make_expr(typed::IfExpr{}, span, Type::scalar(DType::Bool));
  node->operands.push_back(std::move(sizes));
  auto& branches = node->as<typed::IfExpr>();
  branches.then_block.result = std::move(result);
  branches.else_block.result = bool_value(false, span);
  return node;
}

} // namespace tl::checker

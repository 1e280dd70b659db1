// Lists: their types, operations on them, and how a list of one type becomes one of another.
//
// The elements of List<f32[_, n]> have n as their second size and a first size of their own. Such a size is an atom of
// kind Element, numbered by first appearance in the type: equal types compare equal. Where one element is taken, fresh
// atoms stand in their place. Element atoms of a list in a list are the inner one's.
#include "parser/check/lists.h"
#include "parser/check/assignments.h"
#include "parser/check/calls.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/iteration.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/structs.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

namespace {

bool has_element_atom(const SizeAtoms& atoms, const Size& size) {
  std::vector<AtomId> used;
  atoms.collect(size, used);
  return std::any_of(used.begin(), used.end(), [&](AtomId a) { return atoms[a].kind == AtomKind::Element; });
}

} // namespace

bool has_list(const Context& cx, const Type& type) {
  if (type.is_list()) return true;
  return std::any_of(type.elements.begin(), type.elements.end(), [&](const Type& t) { return has_list(cx, t); });
}

Type any_sizes(Context& cx, const Type& type) {
  if (type.is_list())
    return type.elements.empty() ? type : list_of(cx, type.elements[0], [](const Size&) { return true; });
  Type result = type;
  for (Type& element : result.elements)
    element = any_sizes(cx, element);
  return result;
}

Type list_of(Context& cx, const Type& element, const std::function<bool(const Size&)>& varies) {
  std::map<Size, Size> names; // each size that varies, and its Element
  auto visit = [&](auto& self, Type& type) -> void {
    if (type.is_list()) { // its elements' sizes are its own affair
      if (!type.elements.empty()) type = list_of(cx, type.elements[0], varies);
      return;
    }
    for (Size& size : type.shape) {
      bool own = has_element_atom(cx.program.atoms, size) || (varies && varies(size));
      if (!own) continue;
      auto [it, is_new] = names.try_emplace(size);
      if (is_new) it->second = Size::of(cx.program.atoms.element(names.size() - 1));
      size = it->second;
    }
    for (Type& inner : type.elements)
      self(self, inner);
  };
  Type result = element;
  visit(visit, result);
  return Type::list(std::move(result));
}

// with fresh sizes of its own
static Type list_element(Context& cx, const Type& list, std::vector<typed::FreshAtom>& fresh, Span span) {
  std::map<AtomId, Size> by;
  auto visit = [&](auto& self, Type& type, std::vector<uint32_t> path) -> void {
    if (type.is_list()) return;
    for (size_t k = 0; k < type.shape.size(); ++k) {
      auto atom = type.shape[k].as_atom();
      if (!atom || cx.program.atoms[*atom].kind != AtomKind::Element) continue;
      auto [it, is_new] = by.try_emplace(*atom);
      if (is_new) {
        AtomId id = size_atom(cx, AtomKind::Fresh, fmt::format("axis {} of `{}`", k, source_text(cx, span)), span);
        it->second = Size::of(id);
        fresh.push_back({id, path, static_cast<uint32_t>(k)});
      }
      type.shape[k] = it->second;
    }
    for (size_t i = 0; i < type.elements.size(); ++i) {
      auto inner = path;
      inner.push_back(static_cast<uint32_t>(i));
      self(self, type.elements[i], inner);
    }
  };
  Type element = cx.open.resolved(list.elements.at(0));
  visit(visit, element, {});
  return element;
}

bool same_form(Context& cx, const Type& left, const Type& right) {
  Type a = cx.open.resolved(left), b = cx.open.resolved(right);
  if (a.is_list() && b.is_list() && (a.elements.empty() || b.elements.empty())) return true;
  if (a.is_error() || b.is_error()) return true;
  if (a.kind != b.kind || a.rank() != b.rank() || a.elements.size() != b.elements.size() || a.record != b.record)
    return false;
  if (a.is_function()) return a.function == b.function || ((a.function | b.function) & kWritten);
  if (a.is_tensor() && !cx.open.unify(a, b)) return false;
  for (size_t i = 0; i < a.elements.size(); ++i)
    if (!same_form(cx, a.elements[i], b.elements[i])) return false;
  return true;
}

Type either_element(Context& cx, const Type& a, const Type& b) {
  if (a.is_list() && b.is_list()) {
    if (a.elements.empty() || b.elements.empty()) return a.elements.empty() ? b : a;
    return list_of(cx, either_element(cx, a.elements[0], b.elements[0]));
  }
  // Pairs of sizes that differ; equal pairs stay one size. They are numbered behind the Element atoms there are, then
  // list_of numbers them anew.
  std::map<std::pair<Size, Size>, Size> pairs;
  auto visit = [&](auto& self, Type& x, const Type& y) -> void {
    if (x.is_list()) {
      x = either_element(cx, x, y);
      return;
    }
    for (size_t k = 0; k < x.shape.size() && k < y.shape.size(); ++k) {
      bool own = has_element_atom(cx.program.atoms, x.shape[k]) || has_element_atom(cx.program.atoms, y.shape[k]);
      if (!own && (x.shape[k] == y.shape[k] || compare(cx, x.shape[k], y.shape[k]) == Compare::Equal)) continue;
      auto [it, is_new] = pairs.try_emplace({x.shape[k], y.shape[k]});
      if (is_new) it->second = Size::of(cx.program.atoms.element(pairs.size() - 1));
      x.shape[k] = it->second;
    }
    for (size_t i = 0; i < x.elements.size() && i < y.elements.size(); ++i)
      self(self, x.elements[i], y.elements[i]);
  };
  Type result = a;
  visit(visit, result, b);
  return result;
}

ExprPtr list_node(typed::ListOp op, Span span, Type type) {
  auto node = make_expr(ExprKind::List, span, std::move(type));
  node->list_op = op;
  return node;
}

ExprPtr list_make(Context& cx, std::vector<ExprPtr> elements, Span span, const Type* expected) {
  auto node = list_node(typed::ListOp::Make, span, Type::make(TypeKind::List));
  const Type* wanted =
      expected && expected->is_list() && !expected->elements.empty() ? &expected->elements[0] : nullptr;
  Type type;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i]->type.is_error()) return broken(span);
    if (wanted) {
      elements[i] = coerce(cx, std::move(elements[i]), *wanted, fmt::format("element {} of the list", i));
      if (elements[i]->type.is_error()) return broken(span);
    }
    Type& t = refresh(cx, *elements[i]);
    if (t.is_unit() || has_range(cx, t)) {
      error(cx, t.is_unit() ? "TypeMismatch" : "NotSupported", elements[i]->span,
            t.is_unit() ? "this has no value to put into a list" : "a list of ranges is not supported yet");
      return broken(span);
    }
    if (i == 0) {
      type = t;
      continue;
    }
    if (!same_form(cx, type, t)) {
      std::vector<Label> labels{label_of(cx, *elements[0]), label_of(cx, *elements[i])};
      std::string hint;
      if (type.is_tensor() && t.is_tensor() && type.rank() == t.rank() && has_zero(type.dtype) && has_zero(t.dtype))
        hint = fmt::format("write `{}({})` to convert it", name_of(cx.open.resolved(type).dtype),
                           source_text(cx, elements[i]->span));
      error(cx, "TypeMismatch", elements[i]->span,
            fmt::format("the elements of a list are of one type, and here are {} and {}", show(cx, type), show(cx, t)),
            hint, std::move(labels));
      return broken(span);
    }
    type = either_element(cx, cx.open.resolved(type), cx.open.resolved(t));
  }
  if (!elements.empty()) // sizes that the wanted type leaves open are those of the elements
    node->type = list_of(cx, cx.open.resolved(type));
  else if (wanted)
    node->type = list_of(cx, *wanted);
  node->operands = std::move(elements);
  return node;
}

ExprPtr list_length(ExprPtr list, Span span) {
  auto node = list_node(typed::ListOp::Length, span, Type::scalar(DType::I64));
  node->operands.push_back(std::move(list));
  return node;
}

ExprPtr list_get(Context& cx, ExprPtr list, ExprPtr index, bool in_range, Span span) {
  refresh(cx, *list);
  if (list->type.is_error() || index->type.is_error()) return broken(span);
  if (list->type.elements.empty()) {
    error(cx, "TypeMismatch", span, "nothing tells what the elements of this list are",
          "give it a type: `var xs: List<f32> = list()`", {label_of(cx, *list)});
    return broken(span);
  }
  cx.open.settle(list->type);
  auto node = list_node(typed::ListOp::Get, span, Type::error());
  node->type = list_element(cx, list->type, node->fresh, span);
  node->flag = in_range;
  node->operands.push_back(std::move(list));
  node->operands.push_back(std::move(index));
  return node;
}

ExprPtr list_concat(Context& cx, ExprPtr a, ExprPtr b, Span span) {
  for (auto* side : {&a, &b})
    if (!refresh(cx, **side).is_list()) {
      const typed::Expr& other = side == &a ? *b : *a;
      error(cx, "TypeMismatch", (*side)->span,
            fmt::format("`+` joins two lists, and `{}` is {}", source_text(cx, (*side)->span), show(cx, (*side)->type)),
            side == &b
                ? fmt::format("to append it write `{} + [{}]`", source_text(cx, a->span), source_text(cx, b->span))
                : "",
            {label_of(cx, **side), label_of(cx, other)});
      return broken(span);
    }
  if (!same_form(cx, a->type, b->type)) {
    error(cx, "TypeMismatch", span,
          fmt::format("`+` joins lists of one type, and here are {} and {}", show(cx, a->type), show(cx, b->type)), "",
          {label_of(cx, *a), label_of(cx, *b)});
    return broken(span);
  }
  Type type = either_element(cx, cx.open.resolved(a->type), cx.open.resolved(b->type));
  // xs + [x] appends.
  bool one = b->kind == ExprKind::List && b->list_op == typed::ListOp::Make && b->operands.size() == 1;
  auto node = list_node(one ? typed::ListOp::Append : typed::ListOp::Concat, span, std::move(type));
  node->operands.push_back(std::move(a));
  if (one)
    node->operands.push_back(std::move(b->operands[0]));
  else
    node->operands.push_back(std::move(b));
  return node;
}

std::vector<ExprPtr> slice_bounds(Context& cx, const ast::SubscriptItem& item, std::vector<int64_t>& given) {
  std::vector<ExprPtr> bounds;
  for (const ast::Expr* part : {item.first, item.last, item.step}) {
    given.push_back(part != nullptr);
    if (!part) continue;
    bounds.push_back(to_i64(cx, check_value(cx, part), "a bound of a slice"));
    cx.open.settle(bounds.back()->type);
    if (part == item.step && size_of(cx, *bounds.back()) == Size(0)) {
      error(cx, "WrongIndex", part->span, "the step of a slice cannot be 0");
      bounds.back()->type = Type::error();
    }
  }
  return bounds;
}

ExprPtr list_subscript(Context& cx, ExprPtr list, const ast::Subscript& s, Span span) {
  using Item = ast::SubscriptItem::Kind;
  if (s.items.size() != 1 || (s.items[0].kind != Item::Index && s.items[0].kind != Item::Slice)) {
    std::string first = s.items.empty() ? "i" : source_text(cx, s.items[0].span), rest;
    for (size_t i = 1; i < s.items.size(); ++i)
      rest += (i > 1 ? ", " : "") + source_text(cx, s.items[i].span);
    error(cx, "WrongIndex", span, "a list takes one index or slice",
          s.items.size() > 1 ? fmt::format("write `{}[{}][{}]`", source_text(cx, list->span), first, rest) : "",
          {label_of(cx, *list)});
    return broken(span);
  }
  const ast::SubscriptItem& item = s.items[0];
  if (item.kind == Item::Slice) {
    auto node = list_node(typed::ListOp::Slice, span, refresh(cx, *list));
    std::vector<ExprPtr> bounds = slice_bounds(cx, item, node->ints);
    for (const auto& bound : bounds)
      if (bound->type.is_error()) return broken(span);
    node->operands.push_back(std::move(list));
    for (auto& bound : bounds)
      node->operands.push_back(std::move(bound));
    return node;
  }
  ExprPtr index = check_value(cx, item.index);
  if (index->type.is_range()) { // xs[a..b] is xs[a:b]
    auto node = list_node(typed::ListOp::Slice, span, refresh(cx, *list));
    node->ints = {1, 1, 1};
    node->operands.push_back(std::move(list));
    for (size_t k = 0; k < 3; ++k)
      node->operands.push_back(size_expr(index->type.shape[k], item.span));
    node->binds = std::move(index->binds);
    return node;
  }
  index = to_i64(cx, std::move(index), "an index of a list");
  cx.open.settle(index->type);
  return list_get(cx, std::move(list), std::move(index), false, span);
}

// list(a, b): positional values.
ExprPtr list_call(Context& cx, std::vector<Arg> args, Span span, const Type* expected) {
  const Type* wanted =
      expected && expected->is_list() && !expected->elements.empty() ? &expected->elements[0] : nullptr;
  std::vector<ExprPtr> elements;
  for (Arg& arg : args) {
    if (!arg.name.empty()) {
      error(cx, "WrongArguments", arg.name_span, fmt::format("`list` has no parameter `{}`", arg.name));
      return broken(span);
    }
    elements.push_back(arg.value ? std::move(arg.value) : check_value(cx, arg.source, wanted));
  }
  // list(x) of what can be gone through: its elements.
  return list_make(cx, std::move(elements), span, expected);
}

ExprPtr list_stacked(Context& cx, ExprPtr list, Span span) {
  cx.open.settle(list->type);
  if (list->type.elements.empty() || !list->type.elements[0].is_tensor()) {
    error(cx, "TypeMismatch", span,
          fmt::format("this takes numbers or tensors, and the elements are of {}", show(cx, list->type)),
          "`list(… for … in …)` makes a list", {label_of(cx, *list)});
    return broken(span);
  }
  auto node = list_node(typed::ListOp::Join, span, list->type.elements[0]);
  node->ints = {0, 1};
  node->type.shape.insert(node->type.shape.begin(), Size(0));
  for (size_t k = 0; k < node->type.rank(); ++k) {
    if (k > 0 && !has_element_atom(cx.program.atoms, node->type.shape[k])) continue;
    AtomId id = size_atom(cx, AtomKind::Fresh, fmt::format("axis {} of `{}`", k, source_text(cx, span)), span);
    node->type.shape[k] = Size::of(id);
    node->fresh.push_back({id, {}, static_cast<uint32_t>(k)});
  }
  node->operands.push_back(std::move(list));
  return node;
}

// built = built + [element]
typed::Stmt append_to(Context& cx, VarId built, const Type& list, ExprPtr element, Span span) {
  typed::Stmt append;
  append.kind = StmtKind::Assign;
  append.span = span;
  typed::Place place;
  place.var = built;
  place.type = list;
  place.span = span;
  append.targets.push_back(std::move(place));
  append.value = list_node(typed::ListOp::Append, span, list);
  append.value->operands.push_back(variable_value(cx, built, span));
  append.value->operands.push_back(std::move(element));
  return append;
}

ExprPtr build_list(Context& cx, const Type& list, const Size& count, typed::Block block,
                   const std::function<ExprPtr(ExprPtr)>& element, Span span) {
  VarId built = new_variable(cx, "", list, true, span);
  typed::Stmt start;
  start.kind = StmtKind::Let;
  start.span = span;
  start.pattern.var = built;
  start.value = list_node(typed::ListOp::Make, span, list);
  block.statements.push_back(std::move(start));

  typed::Stmt loop;
  loop.kind = StmtKind::For;
  loop.span = span;
  loop.value = make_expr(ExprKind::Range, span, Type::range(0, count, 1));
  VarId position = new_variable(cx, "", Type::scalar(DType::I64), false, span);
  bind_atom(cx, position);
  loop.pattern.var = position;
  typed::Stmt append = append_to(cx, built, list, element(variable_value(cx, position, span)), span);
  bool fine = !append.value->operands[1]->type.is_error();
  loop.body.statements.push_back(std::move(append));
  block.statements.push_back(std::move(loop));
  if (!fine) return broken(span);
  auto node = make_expr(ExprKind::Block, span, list);
  block.result = variable_value(cx, built, span);
  node->blocks.push_back(std::move(block));
  return node;
}

ExprPtr map_list(Context& cx, ExprPtr list, const Type& element, const std::function<ExprPtr(ExprPtr)>& f, Span span) {
  typed::Block block;
  ExprPtr held = shared(cx, std::move(list), block);
  Size count = bound_size(cx, list_length(copy_simple(*held), span), "len", block);
  return build_list(
      cx, list_of(cx, element), count, std::move(block),
      [&](ExprPtr position) { return f(list_get(cx, copy_simple(*held), std::move(position), true, span)); }, span);
}

ExprPtr unpacked(Context& cx, ExprPtr list, size_t count, Span span) {
  typed::Block block;
  cx.open.settle(list->type);
  ExprPtr held = shared(cx, std::move(list), block);
  Size length = bound_size(cx, list_length(copy_simple(*held), span), "", block);
  auto checked = make_expr(ExprKind::Recast, span, held->type);
  std::string message = "this pattern takes {1} values, and the list has {0}";
  (void)require_equal(cx, length, static_cast<int64_t>(count), false, message, span, checked->checks);
  checked->operands.push_back(std::move(held));
  ExprPtr whole = shared(cx, std::move(checked), block);
  auto tuple = make_expr(ExprKind::Tuple, span, Type::tuple({}));
  for (size_t k = 0; k < count; ++k) {
    tuple->operands.push_back(list_get(cx, copy_simple(*whole), int_value(static_cast<int64_t>(k), span), true, span));
    if (tuple->operands.back()->type.is_error()) return broken(span);
    tuple->type.elements.push_back(tuple->operands.back()->type);
  }
  auto node = make_expr(ExprKind::Block, span, tuple->type);
  block.result = std::move(tuple);
  node->blocks.push_back(std::move(block));
  return node;
}

namespace {

// xs[i] = e, p.xs[i] = e: makes a list with that element and assigns it. What stands further in, xs[i].w[j] = e, is
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
  return *s.op == ast::BinaryOp::Power
             ? check_power(cx, std::move(old), s.value, span, s.op_span)
             : binary_op(cx, *s.op, std::move(old), check_value(cx, s.value), span, s.op_span);
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

// Every list of a form may stand for one whose elements' sizes are their own; other sizes are compared, or checked one
// element after the other.
ExprPtr coerce_list(Context& cx, ExprPtr e, const Type& target, const std::string& what) {
  Type from = cx.open.resolved(e->type);
  if (!same_form(cx, from, target)) {
    error(cx, "TypeMismatch", e->span,
          fmt::format("{} has to be {}, and this is {}", what, show(cx, target), show(cx, from)), "",
          {label_of(cx, *e)});
    e->type = Type::error();
    return e;
  }
  from = cx.open.resolved(refresh(cx, *e));
  if (from == target) return e;
  auto retyped = [&](const Type& type) {
    auto node = make_expr(ExprKind::Recast, e->span, type);
    node->operands.push_back(std::move(e));
    return node;
  };
  if (from.elements.empty()) return retyped(target);
  if (target.elements.empty()) return e;
  // Is every size that the target names the same, whatever the element?
  bool free = true;
  std::map<Size, Size> shared_sizes; // an Element of the target stands for one size
  std::vector<SizeCheck> checks;
  auto visit = [&](auto& self, const Type& x, const Type& y) -> void {
    for (size_t k = 0; k < x.shape.size(); ++k) {
      if (has_element_atom(cx.program.atoms, y.shape[k])) {
        auto [it, is_new] = shared_sizes.try_emplace(y.shape[k], x.shape[k]);
        free = free && (is_new || it->second == x.shape[k]);
      } else if (has_element_atom(cx.program.atoms, x.shape[k])) {
        free = false;
      } else if (compare(cx, x.shape[k], y.shape[k]) != Compare::Equal) {
        std::string message = fmt::format("axis {} of the elements of {} is {{0}}, where {} is written, which is {{1}}",
                                          k, what, show(cx, y.shape[k]));
        if (!require_equal(cx, x.shape[k], y.shape[k], false, message, e->span, checks)) {
          std::vector<Label> labels{label_of(cx, *e)};
          add_origins(cx, x.shape[k], y.shape[k], labels);
          error(cx, "ShapeMismatch", e->span,
                fmt::format("{} has to be {}, and this is {}: axis {} of its elements is {}, not {}", what,
                            show(cx, target), show(cx, from), k, show(cx, x.shape[k]), show(cx, y.shape[k])),
                "", std::move(labels));
          e->type = Type::error();
          return;
        }
      }
    }
    if (x.is_list() && (x.elements.empty() || y.elements.empty())) return;
    for (size_t i = 0; i < x.elements.size() && !e->type.is_error(); ++i)
      self(self, x.elements[i], y.elements[i]);
  };
  visit(visit, from.elements[0], target.elements[0]);
  if (e->type.is_error()) return e;
  if (free) {
    auto node = retyped(target);
    node->checks = std::move(checks);
    return node;
  }
  Span span = e->span;
  return map_list(
      cx, std::move(e), target.elements[0],
      [&](ExprPtr element) {
        return coerce(cx, std::move(element), target.elements[0], fmt::format("an element of {}", what));
      },
      span);
}

} // namespace tl::checker

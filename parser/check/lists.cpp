// Lists: their types, operations on them, and how a list of one type becomes one of another.
//
// The elements of List<f32[_, n]> have n as their second size and a first size of their own. Such a size is an atom of
// kind Element, numbered by first appearance in the type: equal types compare equal. Where one element is taken, fresh
// atoms are in their place. Element atoms of a list in a list are the inner one's.
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
#include "parser/check/tables.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

bool has_element_atom(const SizeAtoms& atoms, const Size& size) {
  std::vector<AtomId> used;
  atoms.collect(size, used);
  return std::any_of(used.begin(), used.end(), [&](AtomId a) { return atoms[a].kind == AtomKind::Element; });
}

bool has_list(const Context& cx, const Type& type) {
  if (type.is_list()) return true;
  return std::any_of(type.elements.begin(), type.elements.end(), [&](const Type& t) { return has_list(cx, t); });
}

std::string stack_hint(const Context& cx, const Type& type, Span span) {
  const bool stacks = type.is_list() && !type.elements.empty() && type.elements[0].is_tensor();
  if (!stacks) return column_hint(cx, type, span);
  return fmt::format("`stack({})` is a tensor of the elements of the list", source_text(cx, span));
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
      if (y.is_list()) x = either_element(cx, x, y); // else they are of two forms, which is said elsewhere
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
  return make_expr(typed::ListExpr{op}, span, std::move(type));
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
            t.is_unit() ? "this has no value to put into a list" : "a list of ranges is not supported yet",
            t.is_unit() ? "" : "`arange(n)` is a tensor of these numbers, `list(i for i in 0..n)` a list");
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
  std::vector<typed::FreshAtom> fresh;
  node->type = list_element(cx, list->type, fresh, span);
  node->fresh = std::move(fresh);
  node->as<typed::ListExpr>().in_range = in_range;
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
  const auto* made = b->get_if<typed::ListExpr>();
  bool one = made && made->op == typed::ListOp::Make && b->operands.size() == 1;
  auto node = list_node(one ? typed::ListOp::Append : typed::ListOp::Concat, span, std::move(type));
  node->operands.push_back(std::move(a));
  if (one)
    node->operands.push_back(std::move(b->operands[0]));
  else
    node->operands.push_back(std::move(b));
  return node;
}

std::vector<ExprPtr> slice_bounds(Context& cx, const ast::SubscriptItem& item, typed::SliceBounds& given) {
  given = {item.first != nullptr, item.last != nullptr, item.step != nullptr};
  std::vector<ExprPtr> bounds;
  for (const ast::Expr* part : {item.first, item.last, item.step}) {
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
    std::vector<ExprPtr> bounds = slice_bounds(cx, item, node->as<typed::ListExpr>().bounds);
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
    node->as<typed::ListExpr>().bounds = {true, true, true};
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
  node->as<typed::ListExpr>().stack = true;
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
  loop.value = make_expr(typed::RangeExpr{}, span, Type::range(0, count, 1));
  VarId position = new_variable(cx, "", Type::scalar(DType::I64), false, span);
  bind_atom(cx, position);
  loop.pattern.var = position;
  typed::Stmt append = append_to(cx, built, list, element(variable_value(cx, position, span)), span);
  bool fine = !append.value->operands[1]->type.is_error();
  loop.body.statements.push_back(std::move(append));
  block.statements.push_back(std::move(loop));
  if (!fine) return broken(span);
  block.result = variable_value(cx, built, span);
  return make_expr(typed::BlockExpr{std::move(block)}, span, list);
}

ExprPtr map_list(Context& cx, ExprPtr list, const Type& element, const std::function<ExprPtr(ExprPtr)>& f, Span span) {
  typed::Block block;
  ExprPtr held = shared(cx, std::move(list), block);
  Size count = bound_size(cx, list_length(copy_simple(*held), span), "len", block);
  return build_list(
      cx, list_of(cx, element), count, std::move(block),
      [&](ExprPtr position) { return f(list_get(cx, copy_simple(*held), std::move(position), true, span)); }, span);
}

// The rows of a tensor as a tuple.
static ExprPtr unpacked_rows(Context& cx, ExprPtr tensor, size_t count, Span span) {
  typed::Block block;
  auto checked = make_expr(typed::RecastExpr{}, span, tensor->type);
  std::string message = "this pattern takes {1} values, and the first axis has {0}";
  if (!require_equal(cx, tensor->type.shape[0], static_cast<int64_t>(count), false, message, span, checked->checks))
    return tensor;
  checked->operands.push_back(std::move(tensor));
  Iteration rows = iterate_value(cx, std::move(checked), block);
  auto tuple = make_expr(typed::TupleExpr{}, span, Type::tuple({}));
  for (size_t k = 0; k < count; ++k) {
    tuple->operands.push_back(rows.element(Size(static_cast<int64_t>(k)), span));
    tuple->type.elements.push_back(tuple->operands.back()->type);
  }
  return in_block(std::move(block), std::move(tuple), span);
}

static ExprPtr unpacked(Context& cx, ExprPtr list, size_t count, Span span) {
  typed::Block block;
  cx.open.settle(list->type);
  ExprPtr held = shared(cx, std::move(list), block);
  Size length = bound_size(cx, list_length(copy_simple(*held), span), "", block);
  auto checked = make_expr(typed::RecastExpr{}, span, held->type);
  std::string message = "this pattern takes {1} values, and the list has {0}";
  (void)require_equal(cx, length, static_cast<int64_t>(count), false, message, span, checked->checks);
  checked->operands.push_back(std::move(held));
  ExprPtr whole = shared(cx, std::move(checked), block);
  auto tuple = make_expr(typed::TupleExpr{}, span, Type::tuple({}));
  for (size_t k = 0; k < count; ++k) {
    tuple->operands.push_back(list_get(cx, copy_simple(*whole), int_value(static_cast<int64_t>(k), span), true, span));
    if (tuple->operands.back()->type.is_error()) return broken(span);
    tuple->type.elements.push_back(tuple->operands.back()->type);
  }
  return in_block(std::move(block), std::move(tuple), span);
}

ExprPtr taken_apart(Context& cx, ExprPtr value, size_t count, Span span) {
  const Type type = refresh(cx, *value);
  if (type.is_list()) return unpacked(cx, std::move(value), count, span);
  if (type.is_tensor() && type.rank() > 0) return unpacked_rows(cx, std::move(value), count, span);
  return value;
}

// Does a pattern take a list or a tensor apart, somewhere in a value of this type?
static bool takes_rows(const ast::Pattern& pattern, const Type& type) {
  if (pattern.kind != ast::Pattern::Kind::Tuple) return false;
  if (!type.is_tuple()) return type.is_list() || (type.is_tensor() && type.rank() > 0);
  for (size_t k = 0; k < pattern.elements.size() && k < type.elements.size(); ++k)
    if (takes_rows(*pattern.elements[k], type.elements[k])) return true;
  return false;
}

// A tuple as the tuple of its elements.
static ExprPtr in_elements(Context& cx, ExprPtr value, Span span) {
  typed::Block block;
  ExprPtr held = shared(cx, std::move(value), block);
  auto tuple = make_expr(typed::TupleExpr{}, span, held->type);
  for (size_t k = 0; k < held->type.elements.size(); ++k) {
    auto get = make_expr(typed::TupleGetExpr{static_cast<uint32_t>(k)}, span, held->type.elements[k]);
    get->operands.push_back(copy_simple(*held));
    tuple->operands.push_back(std::move(get));
  }
  return in_block(std::move(block), std::move(tuple), span);
}

ExprPtr taken_apart(Context& cx, ExprPtr value, const ast::Pattern& pattern, Span span) {
  if (pattern.kind != ast::Pattern::Kind::Tuple) return value;
  value = taken_apart(cx, std::move(value), pattern.elements.size(), span);
  auto whole = [&] {
    auto* block = value->get_if<typed::BlockExpr>();
    return block && block->block.result ? block->block.result.get() : value.get();
  };
  if (const Type type = refresh(cx, *value);
      type.is_tuple() && !whole()->is<typed::TupleExpr>() && takes_rows(pattern, type))
    value = in_elements(cx, std::move(value), span);
  typed::Expr* tuple = whole();
  if (!tuple->is<typed::TupleExpr>() || tuple->type.elements.size() != pattern.elements.size()) return value;
  for (size_t k = 0; k < pattern.elements.size(); ++k) {
    tuple->operands[k] = taken_apart(cx, std::move(tuple->operands[k]), *pattern.elements[k], span);
    tuple->type.elements[k] = tuple->operands[k]->type;
  }
  value->type = tuple->type;
  return value;
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
    auto node = make_expr(typed::RecastExpr{}, e->span, type);
    node->operands.push_back(std::move(e));
    return node;
  };
  if (from.elements.empty()) return retyped(target);
  if (target.elements.empty()) return e;
  // Is every size that the target names the same, whatever the element?
  bool free = true;
  std::map<Size, Size> shared_sizes; // an Element of the target stands for one size
  SizeChecks checks;
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

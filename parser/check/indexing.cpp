// x[i, 1:3, ..., new, idx, mask] and t[0].
#include "parser/check/indexing.h"
#include "parser/check/assignments.h"
#include "parser/check/builtins/devices.h"
#include "parser/check/calls.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/leaves.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/structs.h"
#include "parser/check/tables.h"
#include "parser/check/text.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

static ExprPtr index_node(Context& cx, ExprPtr base, const std::vector<ast::SubscriptItem>& items, Span span);
static void check_slice_by(Context& cx, const SizeFacts& facts, typed::Subscript& s, const Size& axis,
                           std::optional<Size> first, std::optional<Size> last, int64_t step);

using Kind = typed::Subscript::Kind;

namespace {
bool is_full(const ast::SubscriptItem& item) {
  return item.kind == ast::SubscriptItem::Kind::Slice && !item.first && !item.last && !item.step;
}
} // namespace

// Have its tensors, outside of lists, one first axis? `rows`: its size, where one of them has been met.
static bool has_rows(const Type& type, std::optional<Size>& rows) {
  if (type.is_aggregate())
    return std::all_of(type.elements.begin(), type.elements.end(), [&](const Type& t) { return has_rows(t, rows); });
  if (type.is_list()) return true;
  if (!type.is_tensor() || is_device(type) || type.rank() == 0) return false;
  if (!rows) rows = type.shape[0];
  return *rows == type.shape[0];
}
static bool has_rows(const Type& type) {
  std::optional<Size> rows;
  return has_rows(type, rows) && rows;
}

// A mask takes as many rows of each tensor: the positions are found once.
static ast::Expr* held_rows(Context& cx, ast::Expr* e, typed::Block& before) {
  ast::Expr* held = held_subscript(cx, e, before);
  ExprPtr value = check_value(cx, held);
  if (!value->type.is_tensor() || value->type.dtype != DType::Bool || value->type.rank() != 1) return held;
  auto positions = make_expr(typed::BuiltinExpr{Builtin::Arange}, e->span, Type::tensor(DType::I64, value->type.shape));
  positions->operands.push_back(int_value(0, e->span));
  positions->operands.push_back(int_value(1, e->span));
  ast::SubscriptItem mask;
  mask.span = e->span;
  mask.index = held;
  return hold(cx, index_node(cx, std::move(positions), {mask}, e->span), before);
}

static ExprPtr take_rows(Context& cx, ExprPtr part, const ast::SubscriptItem& item, Span span) {
  const Type type = refresh(cx, *part);
  if (type.is_tensor()) return index_node(cx, std::move(part), {item}, span);
  if (!type.is_aggregate()) return part;
  auto node = make_expr(typed::TupleExpr{}, span, type);
  for (size_t i = 0; i < type.elements.size(); ++i) {
    node->operands.push_back(
        take_rows(cx, get_field(copy_part(cx, *part), static_cast<uint32_t>(i), part->span), item, span));
    node->type.elements[i] = node->operands.back()->type;
    if (node->type.elements[i].is_error()) return broken(span);
  }
  return node;
}

// Rows of a struct whose fields are columns: every tensor in it takes the subscript.
static ExprPtr rows_of(Context& cx, ExprPtr base, const ast::Subscript& s, Span span) {
  if (s.items.size() != 1 || s.items[0].kind == ast::SubscriptItem::Kind::Ellipsis ||
      s.items[0].kind == ast::SubscriptItem::Kind::NewAxis) {
    error(cx, "TypeMismatch", span, "a struct takes one subscript, for the rows of its fields", "",
          {label_of(cx, *base)});
    return broken(span);
  }
  SaveAndRestore scope(cx.names.scope);
  push_scope(cx);
  typed::Block before;
  ExprPtr held = shared(cx, std::move(base), before);
  ast::SubscriptItem item = s.items[0];
  if (is_field_by_text(cx, held->type, item.index, source_text(cx, s.object->span))) return broken(span);
  if (item.index) item.index = held_rows(cx, item.index, before);
  for (ast::Expr** part : {&item.first, &item.last, &item.step})
    *part = held_subscript(cx, *part, before);
  return in_block(std::move(before), take_rows(cx, std::move(held), item, span), span);
}

ExprPtr check_subscript(Context& cx, const ast::Expr& e, const ast::Subscript& s) {
  ExprPtr base = check_value(cx, s.object);
  refresh(cx, *base);
  if (base->type.is_error()) {
    for (const auto& item : s.items)
      if (item.index) (void)check_value(cx, item.index);
    return broken(e.span);
  }
  if (base->type.is_tuple()) {
    auto index = s.items.size() == 1 && s.items[0].index ? static_of(cx, s.items[0].index) : std::nullopt;
    auto count = static_cast<int64_t>(base->type.elements.size());
    if (!index || index->kind != Static::Kind::Int) {
      error(cx, "TypeMismatch", e.span, "a tuple takes one constant index", "", {label_of(cx, *base)});
      return broken(e.span);
    }
    int64_t k = index->number < 0 ? index->number + count : index->number;
    if (k < 0 || k >= count) {
      error(cx, "IndexOutOfRange", s.items[0].span,
            fmt::format("index {} is out of range: the tuple has {} elements", index->number, count), "",
            {label_of(cx, *base)});
      return broken(e.span);
    }
    auto position = static_cast<size_t>(k);
    // The other elements are evaluated too: what they do is not lost.
    if (base->is<typed::TupleExpr>() && std::all_of(base->operands.begin(), base->operands.end(),
                                                    [&](const ExprPtr& operand) { return is_simple(*operand); })) {
      ExprPtr element = std::move(base->operands[position]);
      if (element->is<typed::SizeExpr>()) element->span = e.span; // `x.shape[0]`, of which `x.shape` made all
      return element;
    }
    auto node = make_expr(typed::TupleGetExpr{static_cast<uint32_t>(position)}, e.span, base->type.elements[position]);
    node->operands.push_back(std::move(base));
    return node;
  }
  if (base->type.is_list()) return list_subscript(cx, std::move(base), s, e.span);
  if (base->type.is_str()) return text_subscript(cx, std::move(base), s, e.span);
  if (base->type.is_struct() && has_rows(base->type)) return rows_of(cx, std::move(base), s, e.span);
  if (!base->type.is_tensor()) {
    error(cx, "TypeMismatch", e.span, fmt::format("{} has no elements to take", show(cx, base->type)),
          base->type.is_struct() && !base->type.record->fields.empty()
              ? fmt::format("a field is read by its name: `{}.{}`", source_text(cx, base->span),
                            base->type.record->fields[0].name)
              : "",
          {label_of(cx, *base)});
    return broken(e.span);
  }
  return index_node(cx, std::move(base), s.items, e.span);
}

static ExprPtr index_node(Context& cx, ExprPtr base, const std::vector<ast::SubscriptItem>& items, Span span) {
  auto node = make_expr(typed::IndexExpr{}, span, Type::error());
  auto shape = subscripts(cx, base->type, source_text(cx, base->span), items, span, *node,
                          node->as<typed::IndexExpr>().subscripts);
  if (!shape) return broken(span);
  node->type = cx.open.resolved(base->type);
  node->type.shape = std::move(*shape);
  // Where an axis of the result is as long as a mask has true elements, that count is known with the result.
  for (auto& fresh : node->fresh)
    for (size_t k = 0; k < node->type.shape.size(); ++k)
      if (node->type.shape[k] == Size::of(fresh.atom)) fresh.axis = static_cast<uint32_t>(k);
  node->operands.push_back(std::move(base));
  return node;
}

static void check_slice(Context& cx, typed::Subscript& s, const Size& n, std::optional<Size> first,
                        std::optional<Size> last, int64_t step) {
  check_slice_by(cx, cx.function->facts, s, n, first, last, step);
  typed::Subscript sure;
  check_slice_by(cx, sure_facts(cx), sure, n, first, last, step);
  s.claimed = s.start != sure.start || s.length != sure.length;
}

// NumPy's slices: bounds wrap, then clip.
static void check_slice_by(Context& cx, const SizeFacts& facts, typed::Subscript& s, const Size& n,
                           std::optional<Size> first, std::optional<Size> last, int64_t step) {
  SizeAtoms& atoms = cx.program.atoms;
  if (first) first = atoms.near_axis(*first, facts);
  if (last) last = atoms.near_axis(*last, facts);
  s.kind = Kind::Slice;
  s.step = step;
  Size distance;
  if (step > 0) {
    const Size from = first ? atoms.wrap(*first, n, facts) : Size(0), to = last ? atoms.wrap(*last, n, facts) : n;
    s.start = atoms.clip(from, 0, n, facts);
    // x[1:-1] has max(n - 2, 0) elements: where `from` is not negative and `to` at most n, clipping them changes
    // nothing.
    if (atoms.proves_not_negative(from, facts) && atoms.proves_not_negative(n - to, facts))
      distance = atoms.positive(to - from, facts);
    else
      distance = atoms.positive(atoms.clip(to, 0, n, facts) - s.start, facts);
    // x[a::step] with 0 <= a < step has (n - a + step - 1) // step elements, also where a > n: no clip is needed.
    if (first && !last && first->is_constant() && first->constant() >= 0 && first->constant() < step)
      distance = n - *first;
  } else {
    s.start = first ? atoms.clip(atoms.wrap(*first, n, facts), -1, n - Size(1), facts) : n - Size(1);
    Size end = last ? atoms.clip(atoms.wrap(*last, n, facts), -1, n - Size(1), facts) : Size(-1);
    distance = atoms.positive(s.start - end, facts);
  }
  s.length = steps_within(cx, distance, step);
  if (step == 1 && s.start.is(0) && s.length == n) s.kind = Kind::Full;
}

// The same for a step that only the run tells: forward and backward are both written down, and its sign chooses.
static void check_slice(Context& cx, typed::Subscript& s, const Size& n, std::optional<Size> first,
                        std::optional<Size> last, const Size& any_step, typed::Expr& node) {
  SizeAtoms& atoms = cx.program.atoms;
  const SizeFacts facts = sure_facts(cx);
  typed::Subscript forward, backward;
  check_slice_by(cx, facts, forward, n, first, last, 1);
  auto start = [](const typed::Subscript& part) { return part.kind == Kind::Full ? Size(0) : part.start; };
  s.kind = Kind::Slice;
  s.step = 0;
  auto at_least = [&](const Size& a) {
    SizeCheck check = size_check(cx, a, 1, "the step of a slice cannot be {0}", s.span);
    check.relation = SizeCheck::Relation::AtLeast;
    check.kind = "WrongIndex";
    node.checks.push_back(std::move(check));
  };
  if (atoms.proves_not_negative(any_step - Size(1), cx.function->facts)) {
    if (!atoms.proves_not_negative(any_step - Size(1), facts)) at_least(any_step);
    s.start = start(forward);
    const Size distance = forward.kind == Kind::Full ? n : forward.length;
    s.length = atoms.floor_div(distance - Size(1), any_step) + Size(1);
    s.value = size_expr(any_step, s.span);
    return;
  }
  check_slice_by(cx, facts, backward, n, first, last, -1);
  const Size step = atoms.near_axis(any_step, facts); // longer ones have the same effect
  // 1 for steps upwards, else 0; one atom, so that products with it are seen to be no larger than their other factor.
  const Size up = atoms.floor_div(atoms.clip(step, -1, 1, facts) + Size(1), 2);
  const Size magnitude = Size(2) * atoms.positive(step, facts) - step;
  auto both = [&](const Size& a, const Size& b) { return b + up * (a - b); };
  s.start = both(start(forward), backward.start);
  Size distance = both(forward.kind == Kind::Full ? n : forward.length, backward.length);
  Size stride = atoms.max(magnitude, 1, facts);
  s.length = atoms.floor_div(distance - Size(1), stride) + Size(1);
  s.value = size_expr(step, s.span);
  if (atoms.proves_not_negative(Size(-1) - step, facts)) return;
  at_least(magnitude);
}

namespace {

// Checks the subscripts of one tensor from left to right. With index tensors, they pair up as in NumPy (lang/typed.h).
struct SubscriptChecker {
  using Item = ast::SubscriptItem;
  Context& cx;
  const Type& base;
  const std::string& base_text;
  const std::vector<Item>& items;
  Span span;         // of all
  typed::Expr& node; // takes binds, checks and fresh sizes
  std::vector<typed::Subscript>& out;

  std::vector<ExprPtr> values = {}; // of those items that are an index, by item
  size_t used = 0;                  // axes that the items cover
  bool has_ellipsis = false;        //
  bool pairs_up = false;            // there are index tensors, or masks that stand for some
  size_t axis = 0;                  // the first that the items so far do not cover
  std::vector<Size> shape = {};     // of the result, without the axes of index tensors
  std::vector<Size> paired = {};    // of the index tensors, broadcast; from the last axis
  size_t place = 0;                 // where these axes go
  int groups = 0;                   // runs of adjacent index tensors (and scalars beside them)
  bool in_group = false;            //
  const typed::Expr* first_mask = nullptr;

  // The shape of the part; nothing (and reported) if they are wrong.
  std::optional<std::vector<Size>> check() {
    if (!evaluate() || !counts_fit()) return std::nullopt;
    pairs_up = has_index_tensors();
    for (size_t i = 0; i < items.size(); ++i)
      if (!check_item(i)) return std::nullopt;
    if (!has_ellipsis) whole_axes(base.rank() - axis);
    if (pairs_up) insert_paired_axes();
    return std::move(shape);
  }

  bool evaluate();
  bool counts_fit();
  bool has_index_tensors() const;
  bool check_item(size_t i);
  bool check_index(ExprPtr v, typed::Subscript s);
  void whole_axes(size_t count);
  void new_axis(typed::Subscript s);
  bool slice(const Item& item, typed::Subscript s);
  void range(typed::Expr& v, typed::Subscript s);
  void add_slice(typed::Subscript s, const std::optional<Size>& first, const std::optional<Size>& last,
                 const Size& step);
  bool scalar(ExprPtr v, typed::Subscript s);
  bool mask(ExprPtr v, typed::Subscript s);
  bool index_tensor(ExprPtr v, typed::Subscript s);
  void enter_group();
  Size count_of_true();
  void insert_paired_axes();
  bool names_new_axis(const ast::Expr* index) const;
};

// As other languages write it.
bool SubscriptChecker::names_new_axis(const ast::Expr* index) const {
  if (ast::as<ast::NoneLiteral>(index)) return true;
  if (const auto* field = ast::as<ast::Field>(index)) return field->name.text == "newaxis";
  const auto* name = ast::as<ast::Name>(index);
  return name && (name->name == "None" || name->name == "newaxis") && !find(cx, name->name);
}

// The values of the items; false if one has an error.
bool SubscriptChecker::evaluate() {
  bool fine = true;
  values.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    switch (items[i].kind) {
    case Item::Kind::NewAxis:
    case Item::Kind::Ellipsis: continue;
    case Item::Kind::Slice: ++used; continue;
    case Item::Kind::Index: break;
    }
    if (names_new_axis(items[i].index)) {
      error(cx, "WrongIndex", items[i].span, fmt::format("`{}` is no subscript", source_text(cx, items[i].span)),
            "a new axis is written `new`: `x[new, :]`");
      fine = false;
      continue;
    }
    values[i] = check_value(cx, items[i].index);
    typed::Expr& v = *values[i];
    cx.open.settle(v.type);
    used += v.type.is_tensor() && v.type.dtype == DType::Bool && v.type.rank() > 0 ? v.type.rank() : 1;
    fine = fine && !v.type.is_error();
  }
  return fine;
}

bool SubscriptChecker::counts_fit() {
  auto ellipses =
      std::count_if(items.begin(), items.end(), [](const Item& item) { return item.kind == Item::Kind::Ellipsis; });
  has_ellipsis = ellipses > 0;
  if (ellipses > 1) {
    error(cx, "WrongIndex", span, "`...` may appear only once in a subscript");
    return false;
  }
  const size_t rank = base.rank();
  if (used <= rank) return true;
  error(cx, "WrongIndex", span,
        fmt::format("`{}` has {} ax{}, and here are {} indices", base_text, rank, rank == 1 ? "is" : "es", used), "",
        {{span, show(cx, base)}});
  return false;
}

// A mask stands for its positions along each of its axes: index tensors. In front of whole axes only it is simpler.
bool SubscriptChecker::has_index_tensors() const {
  bool any_mask = false;
  for (const ExprPtr& v : values) {
    if (!v || !v->type.is_tensor() || v->type.rank() == 0) continue;
    if (v->type.dtype != DType::Bool) return true;
    any_mask = true;
  }
  if (!any_mask) return false;
  if (!values[0] || !values[0]->type.is_tensor() || values[0]->type.dtype != DType::Bool) return true;
  return std::any_of(items.begin() + 1, items.end(),
                     [](const Item& item) { return item.kind != Item::Kind::Ellipsis && !is_full(item); });
}

bool SubscriptChecker::check_item(size_t i) {
  typed::Subscript s;
  s.span = items[i].span;
  switch (items[i].kind) {
  case Item::Kind::Ellipsis:
    whole_axes(base.rank() - used);
    in_group = false;
    return true;
  case Item::Kind::NewAxis: new_axis(std::move(s)); return true;
  case Item::Kind::Slice: return slice(items[i], std::move(s));
  case Item::Kind::Index: break;
  }
  return check_index(std::move(values[i]), std::move(s));
}

bool SubscriptChecker::check_index(ExprPtr v, typed::Subscript s) {
  if (v->type.is_range()) {
    range(*v, std::move(s));
    return true;
  }
  if (!v->type.is_tensor() || !(is_int(v->type.dtype) || (v->type.dtype == DType::Bool && v->type.rank() > 0))) {
    std::vector<Label> labels{label_of(cx, *v)};
    std::string hint = integer_hint(cx, *v, labels);
    if (v->type.is_tuple() && !v->type.elements.empty()) { // `z[unravel_index(k, dims)]`
      std::vector<std::string> parts;
      const std::string text = source_text(cx, v->span);
      for (size_t k = 0; k < v->type.elements.size(); ++k)
        parts.push_back(fmt::format("{}[{}]", v->is<typed::VariableExpr>() ? text : "i", k));
      hint = text.starts_with("(") ? fmt::format("without parentheses: `[{}]`", text.substr(1, text.size() - 2))
             : v->is<typed::VariableExpr>()
                 ? fmt::format("write `[{}]`", fmt::join(parts, ", "))
                 : fmt::format("write `let i = {}`, then `[{}]`", text, fmt::join(parts, ", "));
    }
    error(cx, "TypeMismatch", v->span,
          fmt::format("a subscript is an integer, a slice, a range, or a tensor of integers or bools, not {}",
                      show(cx, v->type)),
          hint, std::move(labels));
    return false;
  }
  if (v->type.rank() == 0) return scalar(std::move(v), std::move(s));
  if (v->type.dtype == DType::Bool) return mask(std::move(v), std::move(s));
  return index_tensor(std::move(v), std::move(s));
}

void SubscriptChecker::whole_axes(size_t count) {
  for (size_t k = 0; k < count; ++k) {
    typed::Subscript s;
    s.kind = Kind::Full;
    s.span = span;
    shape.push_back(base.shape[axis++]);
    out.push_back(std::move(s));
  }
  if (count) in_group = false;
}

void SubscriptChecker::new_axis(typed::Subscript s) {
  s.kind = Kind::NewAxis;
  shape.push_back(1);
  in_group = false;
  out.push_back(std::move(s));
}

bool SubscriptChecker::slice(const Item& item, typed::Subscript s) {
  size_t errors = cx.function->reports.size();
  std::optional<Size> first, last;
  Size step = 1;
  if (item.first) first = size_argument(cx, check_value(cx, item.first), node, false, "a bound of a slice");
  if (item.last) last = size_argument(cx, check_value(cx, item.last), node, false, "a bound of a slice");
  if (item.step) step = size_argument(cx, check_value(cx, item.step), node, false, "the step of a slice");
  if (cx.function->reports.size() != errors) return false;
  if (step.is(0)) {
    error(cx, "WrongIndex", item.step->span, "the step of a slice cannot be 0");
    return false;
  }
  add_slice(std::move(s), first, last, step);
  return true;
}

void SubscriptChecker::range(typed::Expr& v, typed::Subscript s) {
  add_slice(std::move(s), v.type.shape[0], v.type.shape[1], v.type.shape[2]);
  for (auto& bind : v.binds)
    node.binds.push_back(std::move(bind));
}

void SubscriptChecker::add_slice(typed::Subscript s, const std::optional<Size>& first, const std::optional<Size>& last,
                                 const Size& step) {
  const Size n = base.shape[axis++];
  if (step.is_constant())
    check_slice(cx, s, n, first, last, step.constant());
  else
    check_slice(cx, s, n, first, last, step, node);
  shape.push_back(s.kind == Kind::Full ? n : s.length);
  in_group = false;
  out.push_back(std::move(s));
}

bool SubscriptChecker::scalar(ExprPtr v, typed::Subscript s) {
  const Size n = base.shape[axis];
  s.kind = Kind::At;
  s.value = to_i64(cx, std::move(v), "a subscript");
  if (auto index = number_of(cx, *s.value)) {
    const SizeFacts sure = sure_facts(cx);
    s.in_range = cx.program.atoms.proves_not_negative(*index, sure) &&
                 cx.program.atoms.proves_not_negative(n - *index - Size(1), sure);
    bool above = cx.program.atoms.proves_not_negative(*index - n, cx.function->facts);
    bool below = cx.program.atoms.proves_not_negative(Size(-1) - *index - n, cx.function->facts);
    // A size may be 0 only where nothing else is known; constants are certain.
    if ((above || below) && index->is_constant() && n.is_constant()) {
      error(cx, "IndexOutOfRange", s.span,
            fmt::format("index {} is out of range: axis {} of `{}` has size {}", show(cx, *index), axis, base_text,
                        show(cx, n)),
            "", {{span, show(cx, base)}});
      return false;
    }
  }
  if (pairs_up) enter_group();
  ++axis;
  out.push_back(std::move(s));
  return true;
}

bool SubscriptChecker::mask(ExprPtr v, typed::Subscript s) {
  if (pairs_up) enter_group();
  for (size_t k = 0; k < v->type.rank(); ++k)
    if (!require_equal(cx, v->type.shape[k], base.shape[axis + k], true,
                       fmt::format("axis {} of the mask is {{0}} and axis {} of `{}` is {{1}}", k, axis + k, base_text),
                       s.span, node.checks)) {
      error(cx, "ShapeMismatch", s.span,
            fmt::format("the mask does not fit `{}`: {}", base_text,
                        different(cx, v->type.shape[k], base.shape[axis + k])),
            "", {{span, show(cx, base)}, label_of(cx, *v)});
      return false;
    }
  axis += v->type.rank();
  if (!first_mask) first_mask = v.get();
  if (!pairs_up) shape.push_back(count_of_true());
  s.kind = Kind::Mask;
  s.value = std::move(v);
  out.push_back(std::move(s));
  return true;
}

// Converted to i64, and broadcast with the others.
bool SubscriptChecker::index_tensor(ExprPtr v, typed::Subscript s) {
  s.kind = Kind::Tensor;
  v = positions(cx, std::move(v));
  enter_group();
  ++axis;
  for (size_t k = 0; k < v->type.rank(); ++k) {
    const Size& size = v->type.shape[v->type.rank() - 1 - k];
    if (k >= paired.size()) {
      paired.push_back(size);
      continue;
    }
    if (size.is(1) || paired[k] == size) continue;
    if (paired[k].is(1))
      paired[k] = size;
    else if (!require_equal(cx, paired[k], size, true, "the index tensors need equal sizes, but have {0} and {1}",
                            s.span, node.checks)) {
      error(cx, "ShapeMismatch", s.span,
            fmt::format("the index tensors need equal sizes, but have {}", different(cx, paired[k], size)),
            equality_hint(cx, paired[k], size), {label_of(cx, *v)});
      return false;
    }
  }
  s.value = std::move(v);
  out.push_back(std::move(s));
  return true;
}

void SubscriptChecker::enter_group() {
  if (!in_group && ++groups == 1) place = shape.size();
  in_group = true;
}

// In the first mask, where an axis of the result has that size.
Size SubscriptChecker::count_of_true() {
  AtomId id = size_atom(cx, AtomKind::Fresh, fmt::format("the number of true in {}", source_text(cx, first_mask->span)),
                        first_mask->span);
  node.fresh.push_back({id, {}, 0});
  return Size::of(id);
}

void SubscriptChecker::insert_paired_axes() {
  // That the counts fit each other and the index tensors shows when it runs; what an index tensor has, says more.
  if (first_mask && paired.empty()) paired.push_back(1);
  if (first_mask && paired[0].is(1)) paired[0] = count_of_true();
  auto at = shape.begin() + static_cast<ptrdiff_t>(groups > 1 ? 0 : place);
  shape.insert(at, paired.rbegin(), paired.rend());
}

} // namespace

std::optional<std::vector<Size>> subscripts(Context& cx, const Type& base, const std::string& base_text,
                                            const std::vector<ast::SubscriptItem>& items, Span span, typed::Expr& node,
                                            std::vector<typed::Subscript>& out) {
  return SubscriptChecker{cx, base, base_text, items, span, node, out}.check();
}

} // namespace tl::checker

// Joining and splitting: concat, stack and split of tensors, lists and text.
#include "parser/check/builtins/join.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/tables.h"
#include "parser/check/text.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

static ExprPtr join_list(Context& cx, ExprPtr list, bool stack, Rule& r);

// The tensors of concat((a, b)) or stack([a, b]).
// (a, b) or [a, b] of tensors
static std::vector<ExprPtr> sequence(Context& cx, Arg& arg, const std::string& function) {
  const ast::Expr* e = arg.source;
  std::vector<ExprPtr> result;
  const std::vector<ast::Expr*>* elements = nullptr;
  if (auto* tuple = ast::as<ast::Tuple>(e)) elements = &tuple->elements;
  if (auto* list = ast::as<ast::ListLiteral>(e)) elements = &list->elements;
  if (elements) {
    for (const ast::Expr* element : *elements)
      result.push_back(check_value(cx, element));
    if (result.empty()) error(cx, "WrongArguments", e->span, fmt::format("`{}` needs at least one tensor", function));
    return result;
  }
  ExprPtr v = arg.value ? std::move(arg.value) : check_value(cx, e);
  refresh(cx, *v);
  if (v->type.is_error()) return result;
  if (v->is<typed::TupleExpr>()) {
    for (auto& operand : v->operands)
      result.push_back(std::move(operand));
  } else if (v->type.is_tuple() && is_simple(*v)) {
    for (size_t i = 0; i < v->type.elements.size(); ++i) {
      auto get = make_expr(typed::TupleGetExpr{static_cast<uint32_t>(i)}, e->span, v->type.elements[i]);
      get->operands.push_back(copy_simple(*v));
      result.push_back(std::move(get));
    }
  } else {
    error(cx, "TypeMismatch", e->span,
          fmt::format("`{}` takes a tuple of tensors, not {}", function, show(cx, v->type)),
          fmt::format("write `{}((a, b))`", function));
  }
  return result;
}

ExprPtr join_tensors(Context& cx, Builtin builtin, Rule& r) {
  bool stack = builtin == Builtin::Stack;
  if (!r.bind()) return nullptr;
  typed::Block before; // holds a tuple that a call gives
  bool written = ast::as<ast::Tuple>(r.by[0]->source) || ast::as<ast::ListLiteral>(r.by[0]->source);
  if (!written || r.by[0]->value) {
    ExprPtr xs = r.value(0);
    if (!r.ok) return nullptr;
    if (xs->type.is_list()) return join_list(cx, std::move(xs), stack, r);
    if (xs->type.is_tuple() && !xs->is<typed::TupleExpr>()) xs = shared(cx, std::move(xs), before);
    r.by[0]->value = std::move(xs);
  }
  auto node = make_expr(typed::BuiltinExpr{builtin, typed::AxisAttrs{}}, r.span, Type::error());
  node->operands = sequence(cx, *r.by[0], r.name);
  if (node->operands.empty()) r.ok = false;
  for (auto& operand : node->operands) {
    refresh(cx, *operand);
    if (operand->type.is_error())
      r.ok = false;
    else if (!operand->type.is_tensor())
      r.fail("TypeMismatch", operand->span, fmt::format("`{}` joins tensors, not {}", r.name, show(cx, operand->type)),
             column_hint(cx, operand->type, operand->span).empty()
                 ? ""
                 : "tables of one struct, and columns, are joined by `table.append(a, b)`");
  }
  if (!r.ok || !same_element(cx, node->operands, 0, fmt::format("`{}`", r.name), r.span)) return nullptr;
  const Type first = node->operands[0]->type;
  if (!stack && first.rank() == 0) {
    r.fail("TypeMismatch", node->operands[0]->span, "scalars have no axis to join along",
           "write `stack`, or brackets: `[a, b]`");
    return nullptr;
  }
  int64_t axis = r.axis(1, first.rank() + (stack ? 1 : 0), 0);
  if (!r.ok) return nullptr;
  Type type = first;
  Size total = stack ? Size(static_cast<int64_t>(node->operands.size())) : first.shape[static_cast<size_t>(axis)];
  for (size_t i = 1; i < node->operands.size(); ++i) {
    const typed::Expr& x = *node->operands[i];
    bool fits = x.type.rank() == first.rank();
    for (size_t k = 0; fits && k < first.rank(); ++k) {
      if (!stack && static_cast<int64_t>(k) == axis) {
        total = total + x.type.shape[k];
        continue;
      }
      fits = require_equal(cx, first.shape[k], x.type.shape[k], true,
                           fmt::format("`{}` needs equal sizes, but along axis {} they are {{0}} and {{1}}", r.name, k),
                           r.span, node->checks);
      if (!fits) {
        std::vector<Label> labels{label_of(cx, *node->operands[0]), label_of(cx, x)};
        add_origins(cx, first.shape[k], x.type.shape[k], labels);
        error(cx, "ShapeMismatch", r.span,
              fmt::format("`{}` needs equal sizes, but along axis {} has {}", r.name, k,
                          different(cx, first.shape[k], x.type.shape[k])),
              equality_hint(cx, first.shape[k], x.type.shape[k]), std::move(labels));
        return nullptr;
      }
    }
    if (!fits) {
      error(cx, "ShapeMismatch", r.span, fmt::format("`{}` needs tensors of equal rank", r.name), "",
            {label_of(cx, *node->operands[0]), label_of(cx, x)});
      return nullptr;
    }
  }
  type = node->operands[0]->type;
  if (stack)
    type.shape.insert(type.shape.begin() + axis, total);
  else
    type.shape[static_cast<size_t>(axis)] = total;
  node->type = cx.open.resolved(type);
  node->attrs<typed::AxisAttrs>().axis = axis;
  return in_block(std::move(before), std::move(node), r.span);
}

// One tensor of a list's elements.
static ExprPtr join_list(Context& cx, ExprPtr list, bool stack, Rule& r) {
  if (list->type.elements.empty()) {
    r.fail("TypeMismatch", list->span, "nothing tells what the elements of this list are");
    return nullptr;
  }
  cx.open.settle(list->type);
  auto node = list_node(typed::ListOp::Join, r.span, list->type.elements[0]);
  Type& type = node->type;
  if (!type.is_tensor() || (!stack && type.rank() == 0)) {
    r.fail("TypeMismatch", list->span, fmt::format("`{}` joins tensors, and this is {}", r.name, show(cx, list->type)),
           type.is_scalar() ? "`stack` makes a tensor of numbers" : "");
    return nullptr;
  }
  int64_t axis = r.axis(1, type.rank() + (stack ? 1 : 0), 0);
  if (!r.ok) return nullptr;
  auto& join = node->as<typed::ListExpr>();
  join.axis = axis;
  join.stack = stack;
  if (stack) type.shape.insert(type.shape.begin() + axis, Size(0));
  for (size_t k = 0; k < type.rank(); ++k) {
    std::vector<AtomId> atoms;
    cx.program.atoms.collect(type.shape[k], atoms);
    bool own = static_cast<int64_t>(k) == axis;
    for (AtomId atom : atoms)
      own = own || cx.program.atoms[atom].kind == AtomKind::Element;
    if (!own) continue;
    AtomId id = size_atom(cx, AtomKind::Fresh, fmt::format("axis {} of `{}`", k, source_text(cx, r.span)), r.span);
    type.shape[k] = Size::of(id);
    node->fresh.push_back({id, {}, static_cast<uint32_t>(k)});
  }
  node->operands.push_back(std::move(list));
  return node;
}

// split(s, separator), and without one at white space.
ExprPtr split_text(Context& cx, Rule& r) {
  if (!r.bind(3)) return nullptr;
  std::vector<ExprPtr> operands;
  for (size_t i = 0; i < 2 && r.has(i); ++i) {
    operands.push_back(r.value(i));
    if (!r.ok) return nullptr;
    if (operands[i]->type.is_str()) continue;
    r.fail("TypeMismatch", operands[i]->span,
           fmt::format("a text is split at a text, not {}", show(cx, operands[i]->type)));
    return nullptr;
  }
  return text_node(cx, TextOp::Split, std::move(operands), r.span);
}

namespace {

// split(x, [2, 3], axis = 0) and split(x, n, axis = 0): a list of parts.
struct TensorSplit {
  Context& cx;
  Rule& r;
  ExprPtr x = nullptr;
  size_t axis = 0;
  Size whole = {};
  typed::Block block = {}; // what comes before the list

  ExprPtr run();
  ExprPtr by_sizes(const ast::ListLiteral& written, Span sizes_span);
  ExprPtr evenly();
  ExprPtr part(const typed::Expr& held, const Size& start, const Size& length) const;
  std::shared_ptr<typed::Expr> held(ExprPtr checked);
  ExprPtr finish(std::vector<ExprPtr> parts);
};

ExprPtr TensorSplit::part(const typed::Expr& held, const Size& start, const Size& length) const {
  auto node = make_expr(typed::IndexExpr{}, r.span, held.type);
  node->type.shape[axis] = length;
  for (size_t k = 0; k < held.type.rank(); ++k) {
    typed::Subscript s;
    s.span = r.span;
    if (k == axis) {
      s.kind = typed::Subscript::Kind::Slice;
      s.start = start;
      s.length = length;
    }
    node->as<typed::IndexExpr>().subscripts.push_back(std::move(s));
  }
  node->operands.push_back(copy_simple(held));
  return node;
}

// x, once the checks have passed.
std::shared_ptr<typed::Expr> TensorSplit::held(ExprPtr checked) {
  if (!checked->checks.empty() || !checked->binds.empty()) {
    checked->operands.push_back(std::move(x));
    x = std::move(checked);
  }
  return shared(cx, std::move(x), block);
}

ExprPtr TensorSplit::finish(std::vector<ExprPtr> parts) {
  ExprPtr list = list_make(cx, std::move(parts), r.span, nullptr);
  return list->type.is_error() ? std::move(list) : in_block(std::move(block), std::move(list), r.span);
}

ExprPtr TensorSplit::by_sizes(const ast::ListLiteral& written, Span sizes_span) {
  auto checked = make_expr(typed::RecastExpr{}, x->span, x->type);
  std::vector<Size> lengths;
  Size total = 0;
  size_t errors = cx.function->reports.size();
  for (const ast::Expr* element : written.elements) {
    lengths.push_back(size_argument(cx, check_value(cx, element), *checked, true, "the size of a part"));
    total = total + lengths.back();
  }
  if (cx.function->reports.size() != errors) return nullptr;
  std::string message = fmt::format("the parts of `split` are {{1}} long together, but axis {} of `{}` is {{0}}", axis,
                                    source_text(cx, x->span));
  if (!require_equal(cx, whole, total, false, message, sizes_span, checked->checks)) {
    std::vector<Label> labels{label_of(cx, *x)};
    add_origins(cx, whole, total, labels);
    error(cx, "ShapeMismatch", sizes_span,
          fmt::format("the parts of `split` are {} long together, but axis {} of `{}` is {}", show(cx, total), axis,
                      source_text(cx, x->span), show(cx, whole)),
          "", std::move(labels));
    return nullptr;
  }
  std::shared_ptr<typed::Expr> from = held(std::move(checked));
  std::vector<ExprPtr> parts;
  Size start = 0;
  for (const Size& length : lengths) {
    parts.push_back(part(*from, start, length));
    start = start + length;
  }
  if (parts.empty()) {
    r.fail("WrongArguments", sizes_span, "`split` makes at least one part");
    return nullptr;
  }
  return finish(std::move(parts));
}

// So many parts of an axis, the first ones longer by one, as they are written; of sizes that are not known, an example.
static std::string sizes_of_parts(const Size& whole, const Size& parts) {
  if (!whole.is_constant() || !parts.is_constant() || parts.constant() > 8) return "2, 3";
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < parts.constant(); ++i)
    sizes.push_back(whole.constant() / parts.constant() + (i < whole.constant() % parts.constant() ? 1 : 0));
  return fmt::format("{}", fmt::join(sizes, ", "));
}

ExprPtr TensorSplit::evenly() {
  auto checked = make_expr(typed::RecastExpr{}, x->span, x->type);
  size_t errors = cx.function->reports.size();
  ExprPtr count = r.value(1);
  if (!r.ok) return nullptr;
  if (count->type.is_tuple()) {
    r.fail("WrongArguments", r.by[1]->span, "the sizes of the parts are written in brackets",
           "like `split(x, [2, 3])`");
    return nullptr;
  }
  Size n = size_argument(cx, std::move(count), *checked, false, "the number of parts");
  if (cx.function->reports.size() != errors) return nullptr;
  if (n.is_constant() && n.constant() < 1) {
    r.fail("WrongArguments", r.by[1]->span, "`split` makes at least one part");
    return nullptr;
  }
  require_size(cx, n, 1, "`split` makes at least one part, not {0}", r.by[1]->span, checked->checks);
  Size length = cx.program.atoms.floor_div(whole, n);
  const std::string message = fmt::format(
      "axis {} of `{}`, which is {{0}}, cannot be split into {} equal parts", axis, source_text(cx, x->span),
      n.is_constant() ? show(cx, n) : fmt::format("`{}`", source_text(cx, r.by[1]->span)));
  if (!require_equal(cx, whole, length * n, false, message, r.span, checked->checks)) {
    error(cx, "ShapeMismatch", r.span,
          fmt::format("axis {} of `{}` is {}, which cannot be split into {} equal parts", axis,
                      source_text(cx, x->span), show(cx, whole), show(cx, n)),
          fmt::format("give the sizes: `split({}, [{}])`", source_text(cx, x->span), sizes_of_parts(whole, n)),
          {label_of(cx, *x)});
    return nullptr;
  }
  std::shared_ptr<typed::Expr> from = held(std::move(checked));
  if (n.is_constant() && n.constant() <= 64) {
    std::vector<ExprPtr> parts;
    for (int64_t k = 0; k < n.constant(); ++k)
      parts.push_back(part(*from, Size(k) * length, length));
    return finish(std::move(parts));
  }
  Type element = from->type;
  element.shape[axis] = length;
  return build_list(
      cx, list_of(cx, element), n, std::move(block),
      [&](ExprPtr position) { return part(*from, *size_of(cx, *position) * length, length); }, r.span);
}

ExprPtr TensorSplit::run() {
  if (!r.bind(2)) return nullptr;
  x = r.tensor(0);
  if (!r.ok) return nullptr;
  axis = static_cast<size_t>(r.axis(2, x->type.rank(), 0));
  if (!r.ok) return nullptr;
  cx.open.settle(x->type);
  whole = x->type.shape[axis];
  const ast::Expr* sizes = r.by[1]->source;
  auto* written = ast::as<ast::ListLiteral>(sizes);
  return written ? by_sizes(*written, sizes->span) : evenly();
}

} // namespace

ExprPtr split_tensor(Context& cx, Rule& r) { return TensorSplit{cx, r}.run(); }

} // namespace tl::checker

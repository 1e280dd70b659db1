// The rules of built-in functions that make tensors, rearrange them, or draw random ones.
#include "parser/check/builtins/shape.h"
#include "parser/check/builtins/join.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/calls.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/iteration.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/tables.h"
#include "parser/check/text.h"
#include "parser/check/values.h"
#include <fmt/format.h>
#include <numeric>

namespace tl::checker {

namespace {
Size product(const std::vector<Size>& shape) {
  Size result = 1;
  for (const Size& size : shape)
    result = result * size;
  return result;
}
} // namespace

// The sizes in zeros([n, 2*m]), reshape(x, [..s, -1]), zeros(x.shape). Those that are not known go to node.binds.
std::optional<std::vector<Size>> dims(Context& cx, const ast::Expr* e, typed::Expr& node, const std::string& function,
                                      int* minus_one) {
  std::vector<Size> result;
  size_t errors = cx.function->reports.size();
  if (auto* list = ast::as<ast::ListLiteral>(e)) {
    for (const ast::Expr* element : list->elements) {
      if (auto* spread = ast::as<ast::Spread>(element)) {
        const Entity* axes = find(cx, spread->name.text);
        if (!axes || axes->kind != Entity::Kind::Spread)
          error(cx, "UnboundSize", element->span, fmt::format("the axes `..{}` are not bound here", spread->name.text));
        else
          result.insert(result.end(), axes->sizes.begin(), axes->sizes.end());
        continue;
      }
      if (auto known = static_of(cx, element);
          minus_one && known && known->kind == Static::Kind::Int && known->number == -1) {
        if (*minus_one >= 0) error(cx, "WrongArguments", element->span, "only one size can be -1");
        *minus_one = static_cast<int>(result.size());
        result.push_back(1);
        continue;
      }
      result.push_back(size_argument(cx, check_value(cx, element), node, true, "a size"));
    }
  } else {
    ExprPtr v = check_value(cx, e);
    refresh(cx, *v);
    if (v->type.is_error()) return std::nullopt;
    if (v->is<typed::TupleExpr>()) {
      if (ast::as<ast::Tuple>(e)) {
        std::string inside = source_text(cx, e->span);
        error(cx, "TypeMismatch", e->span, fmt::format("the sizes of `{}` are written in brackets", function),
              inside.size() > 2 ? fmt::format("write `[{}]`", inside.substr(1, inside.size() - 2)) : "");
        return std::nullopt;
      }
      for (auto& element : v->operands)
        result.push_back(size_argument(cx, std::move(element), node, true, "a size"));
    } else if (v->type.is_tuple()) {
      typed::Block block;
      for (size_t i = 0; i < v->type.elements.size(); ++i) {
        if (!is_simple(*v)) break;
        auto get = make_expr(typed::TupleGetExpr{static_cast<uint32_t>(i)}, e->span, v->type.elements[i]);
        get->operands.push_back(copy_simple(*v));
        result.push_back(size_argument(cx, std::move(get), node, true, "a size"));
      }
      if (result.size() != v->type.elements.size())
        error(cx, "NotSupported", e->span, "name this tuple by `let` first");
    } else {
      error(cx, "TypeMismatch", e->span,
            fmt::format("the sizes of `{}` are a list, not {}", function, show(cx, v->type)),
            fmt::format("write `[{}]`", source_text(cx, e->span)));
      return std::nullopt;
    }
  }
  if (cx.function->reports.size() != errors) return std::nullopt;
  Size total = product(result);
  if (!minus_one &&
      !cx.program.atoms.fits(total, cx.function->facts)) { // else it has the elements of a tensor that there is
    SizeCheck check = size_check(cx, total, INT64_MAX, "a tensor of {0} elements is too large", e->span);
    check.relation = SizeCheck::Relation::AtMost;
    check.kind = "SizeOverflow";
    node.checks.push_back(std::move(check));
  }
  return result;
}

ExprPtr reshape_to(Context& cx, ExprPtr x, std::vector<Size> shape, Span span) {
  if (x->type.shape == shape) return x;
  auto node = make_expr(typed::BuiltinExpr{Builtin::Reshape}, span, cx.open.resolved(x->type));
  node->type.shape = std::move(shape);
  node->operands.push_back(std::move(x));
  return node;
}

ExprPtr permute_to(Context& cx, ExprPtr x, std::vector<int64_t> axes, Span span) {
  if (axes.size() < 2) return x;
  auto node = make_expr(typed::BuiltinExpr{Builtin::Permute, typed::AxesAttrs{axes}}, span, cx.open.resolved(x->type));
  node->type.shape.clear();
  for (int64_t axis : axes)
    node->type.shape.push_back(x->type.shape[static_cast<size_t>(axis)]);
  node->operands.push_back(std::move(x));
  return node;
}

// matmul(a, b, acc = f64): sums are at least as wide as the operands, and in f32 at least; the result is rounded once.
static ExprPtr matmul_in(Context& cx, Rule& r, ExprPtr a, ExprPtr b) {
  auto acc = r.element(2);
  if (!r.ok) return nullptr;
  std::vector<ExprPtr> both;
  both.push_back(std::move(a));
  both.push_back(std::move(b));
  if (!same_element(cx, both, 0, "`matmul`", r.span)) return nullptr;
  for (auto& operand : both)
    cx.open.settle(operand->type);
  DType type = both[0]->type.dtype;
  if (!is_float(type)) {
    r.fail("TypeMismatch", r.by[2]->span, fmt::format("`acc` is for products of floats, not {}", name_of(type)),
           "products of integers wrap in their own type: convert the operands");
    return nullptr;
  }
  DType least = type == DType::F64 ? DType::F64 : DType::F32;
  if (*acc != DType::F64 && *acc != least) {
    r.fail(
        "TypeMismatch", r.by[2]->span,
        fmt::format("products of {} are summed in {} at least, not {}", name_of(type), name_of(least), name_of(*acc)));
    return nullptr;
  }
  bool wider = *acc != least;
  for (auto& operand : both)
    if (wider) operand = convert(cx, std::move(operand), *acc);
  ExprPtr product = check_matmul(cx, std::move(both[0]), std::move(both[1]), r.span, "`matmul`");
  return wider && !product->type.is_error() ? convert(cx, std::move(product), type, r.span) : std::move(product);
}

// matmul and dot.
static ExprPtr product_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  if (!r.bind()) return nullptr;
  ExprPtr a = r.tensor(0), b = r.tensor(1);
  if (!r.ok) return nullptr;
  if (builtin == Builtin::Matmul && r.has(2)) return matmul_in(cx, r, std::move(a), std::move(b));
  if (builtin == Builtin::Dot)
    for (const auto* side : {&a, &b})
      if ((*side)->type.rank() != 1) {
        r.fail("TypeMismatch", (*side)->span, fmt::format("`dot` takes two vectors, not {}", show(cx, (*side)->type)),
               "write `a @ b` for matrices");
        return nullptr;
      }
  return check_matmul(cx, std::move(a), std::move(b), r.span, fmt::format("`{}`", r.name));
}

// A number that the type of x tells; x is evaluated all the same.
static ExprPtr known_number(Context& cx, ExprPtr x, size_t number, Span span) {
  typed::Block before;
  (void)shared(cx, std::move(x), before);
  return in_block(std::move(before), int_value(static_cast<int64_t>(number), span), span);
}

// How many elements a tuple, a list, a string or a range has; nothing for other values, and x stays.
static ExprPtr length_of_sequence(Context& cx, ExprPtr& x, Span span) {
  if (x->type.is_tuple()) {
    size_t count = x->type.elements.size();
    return known_number(cx, std::move(x), count, span);
  }
  if (x->type.is_list()) return list_length(std::move(x), span);
  if (x->type.is_str()) {
    std::vector<ExprPtr> operands;
    operands.push_back(std::move(x));
    return text_node(cx, TextOp::Length, std::move(operands), span);
  }
  if (!x->type.is_range()) return nullptr;
  typed::Block before;
  Size count = iterate_value(cx, std::move(x), before, false).count;
  before.result = size_expr(count, span);
  return make_expr(typed::BlockExpr{std::move(before)}, span, Type::scalar(DType::I64));
}

// x.shape as a tuple.
static ExprPtr shape_tuple(const std::vector<Size>& shape, Span span) {
  auto result = make_expr(typed::TupleExpr{}, span, Type::tuple({}));
  for (const Size& size : shape) {
    result->operands.push_back(size_expr(size, span));
    result->type.elements.push_back(Type::scalar(DType::I64));
  }
  return result;
}

// shape, rank and len.
static ExprPtr extent_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  if (!r.bind()) return nullptr;
  ExprPtr x = r.value(0);
  if (!r.ok) return nullptr;
  if (builtin == Builtin::Len)
    if (ExprPtr length = length_of_sequence(cx, x, r.span)) return length;
  if (!x->type.is_tensor() || (builtin == Builtin::Len && x->type.rank() == 0)) {
    const bool is_column = !column_hint(cx, x->type, x->span).empty();
    r.fail("TypeMismatch", x->span, fmt::format("`{}` takes a tensor, not {}", r.name, show(cx, x->type)),
           is_column ? fmt::format("the number of rows is `table.row_count({})`", source_text(cx, x->span)) : "");
    return nullptr;
  }
  if (builtin == Builtin::Rank) {
    size_t rank = x->type.rank();
    return known_number(cx, std::move(x), rank, r.span);
  }
  typed::Block before;
  x = shared(cx, std::move(x), before);
  ExprPtr result = builtin == Builtin::Len ? size_expr(x->type.shape[0], r.span) : shape_tuple(x->type.shape, r.span);
  return in_block(std::move(before), std::move(result), r.span);
}

// A node of x's type, which its rule completes.
static ExprPtr rearranged(typed::BuiltinExpr how, const typed::Expr& x, Span span) {
  return make_expr(std::move(how), span, x.type);
}

static ExprPtr reshape_rule(Context& cx, Rule& r, ExprPtr x) {
  auto node = rearranged({Builtin::Reshape}, *x, r.span);
  int minus_one = -1;
  auto wanted = dims(cx, r.by[1]->source, *node, r.name, &minus_one);
  if (!wanted) return nullptr;
  Size total = product(x->type.shape), others = product(*wanted);
  if (minus_one >= 0) {
    auto exact = divide_exactly(total, others);
    if (others.is(0)) {
      r.fail("ShapeMismatch", r.by[1]->span, "-1 beside a size 0 could be any size");
      return nullptr;
    }
    (*wanted)[static_cast<size_t>(minus_one)] = exact ? *exact : cx.program.atoms.floor_div(total, others);
    others = product(*wanted);
  }
  if (!require_equal(cx, total, others, false,
                     fmt::format("`reshape` keeps the number of elements, but {{0}} elements do not fill {{1}}"),
                     r.span, node->checks)) {
    error(cx, "ShapeMismatch", r.span,
          fmt::format("`reshape` keeps the number of elements: {} has {}, and the new sizes {}", show(cx, x->type),
                      show(cx, total), show(cx, others)),
          "", {label_of(cx, *x), {r.by[1]->span, fmt::format("{} elements", show(cx, others))}});
    return nullptr;
  }
  node->type.shape = std::move(*wanted);
  node->operands.push_back(std::move(x));
  return node;
}

static ExprPtr flatten_rule(Context& cx, Rule& r, ExprPtr x) {
  const std::vector<Size> shape = x->type.shape;
  const auto rank = static_cast<int64_t>(shape.size());
  // From behind the last axis on there are no axes: their product is 1.
  int64_t from = rank == 0 || r.number(1, 0) == rank ? rank : r.axis(1, shape.size(), 0);
  if (!r.ok) return nullptr;
  std::vector<Size> flat(shape.begin(), shape.begin() + from);
  flat.push_back(product(std::vector<Size>(shape.begin() + from, shape.end())));
  return reshape_to(cx, std::move(x), std::move(flat), r.span);
}

// The axes in [1, 0] or in a constant tuple, as far as they are constant integers; counted from the front.
static std::vector<int64_t> order_of_axes(Context& cx, Rule& r, size_t i, size_t rank) {
  std::vector<Static> list;
  if (auto* written = ast::as<ast::ListLiteral>(r.by[i]->source)) {
    for (const ast::Expr* element : written->elements)
      if (auto one = static_of(cx, element)) list.push_back(*one);
  } else if (auto known = r.constant(i); known && known->kind == Static::Kind::Tuple) {
    list = known->elements;
  }
  std::vector<int64_t> order;
  for (const Static& one : list)
    if (one.kind == Static::Kind::Int)
      order.push_back(one.number < 0 ? one.number + static_cast<int64_t>(rank) : one.number);
  return order;
}

static ExprPtr permute_rule(Context& cx, Rule& r, ExprPtr x) {
  const size_t rank = x->type.rank();
  std::vector<int64_t> order = order_of_axes(cx, r, 1, rank), sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool fits = order.size() == rank;
  for (size_t k = 0; fits && k < rank; ++k)
    fits = sorted[k] == static_cast<int64_t>(k);
  if (!fits) {
    r.fail("WrongAxis", r.by[1]->span, fmt::format("`permute` takes each of the {} axes once, as constants", rank),
           "like `permute(x, [1, 0])`");
    return nullptr;
  }
  return permute_to(cx, std::move(x), std::move(order), r.span);
}

static ExprPtr transpose_rule(Context& cx, Builtin builtin, Rule& r, ExprPtr x) {
  const size_t rank = x->type.rank();
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (builtin == Builtin::Transpose && r.has(1)) {
    if (!r.has(2)) {
      r.fail("WrongArguments", r.span, "`transpose` takes two axes, or none for all in reverse");
      return nullptr;
    }
    int64_t i = r.axis(1, rank, 0), j = r.axis(2, rank, 0);
    if (!r.ok) return nullptr;
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(j)]);
  } else
    std::reverse(order.begin(), order.end());
  return permute_to(cx, std::move(x), std::move(order), r.span);
}

static ExprPtr expand_dims_rule(Context& cx, Rule& r, ExprPtr x) {
  int64_t axis = r.axis(1, x->type.rank() + 1, 0);
  if (!r.ok) return nullptr;
  std::vector<Size> wide = x->type.shape;
  wide.insert(wide.begin() + axis, Size(1));
  return reshape_to(cx, std::move(x), std::move(wide), r.span);
}

// The axes that `squeeze` removes: those given, else all of size 1.
static std::vector<int64_t> squeezed_axes(Context& cx, Rule& r, const std::vector<Size>& shape) {
  if (r.has(1)) return r.axes(1, shape.size());
  std::vector<int64_t> axes;
  for (size_t k = 0; k < shape.size(); ++k) {
    if (shape[k].is(1)) axes.push_back(static_cast<int64_t>(k));
    if (r.ok && compare(cx, shape[k], 1) == Compare::Unknown)
      r.fail("WrongArguments", r.span,
             fmt::format("`squeeze` needs to know which axes: whether axis {} has size 1 is seen when it runs", k),
             "write `axis = …`");
  }
  return axes;
}

static ExprPtr squeeze_rule(Context& cx, Rule& r, ExprPtr x) {
  const std::vector<Size> shape = x->type.shape;
  const std::vector<int64_t> axes = squeezed_axes(cx, r, shape);
  if (!r.ok) return nullptr;
  auto node = rearranged({Builtin::Reshape}, *x, r.span);
  node->type.shape.clear();
  for (size_t k = 0; k < shape.size(); ++k) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(k)) == axes.end()) {
      node->type.shape.push_back(shape[k]);
      continue;
    }
    if (!require_equal(cx, shape[k], 1, false,
                       fmt::format("`squeeze` removes axes of size 1, but axis {} has size {{0}}", k), r.span,
                       node->checks)) {
      error(cx, "ShapeMismatch", r.span,
            fmt::format("`squeeze` removes axes of size 1, but axis {} has size {}", k, show(cx, shape[k])), "",
            {label_of(cx, *x)});
      return nullptr;
    }
  }
  node->operands.push_back(std::move(x));
  return node;
}

static ExprPtr broadcast_to_rule(Context& cx, Rule& r, ExprPtr x) {
  const std::vector<Size>& shape = x->type.shape;
  const size_t rank = shape.size();
  auto node = rearranged({Builtin::BroadcastTo}, *x, r.span);
  auto wanted = dims(cx, r.by[1]->source, *node, r.name);
  if (!wanted) return nullptr;
  bool fits = wanted->size() >= rank;
  for (size_t k = 0; fits && k < rank; ++k) {
    const Size &from = shape[rank - 1 - k], &to = (*wanted)[wanted->size() - 1 - k];
    fits = stretches(cx, *x, rank - 1 - k, to, "`broadcast_to`", r.span, node->checks) ||
           require_equal(cx, from, to, false,
                         fmt::format("`broadcast_to` cannot stretch axis {} from {{0}} to {{1}}", rank - 1 - k), r.span,
                         node->checks);
  }
  if (!fits) {
    error(cx, "ShapeMismatch", r.span,
          fmt::format("`broadcast_to` cannot stretch {} to these sizes", show(cx, x->type)),
          "only what is known to be 1 stretches", {label_of(cx, *x)});
    return nullptr;
  }
  node->type.shape = std::move(*wanted);
  node->operands.push_back(std::move(x));
  return node;
}

// Margins that are known: a tuple of pairs of numbers that are not negative, for each axis of x.
static bool read_known_margins(const Static& known, const std::vector<Size>& shape, typed::Expr& node) {
  if (known.kind != Static::Kind::Tuple || known.elements.size() != shape.size()) return false;
  for (const Static& pair : known.elements) {
    if (pair.kind != Static::Kind::Tuple || pair.elements.size() != 2) return false;
    for (const Static& margin : pair.elements)
      if (margin.kind != Static::Kind::Int || margin.number < 0) return false;
  }
  node.type.shape.clear();
  for (size_t k = 0; k < shape.size(); ++k) {
    const Size before(known.elements[k].elements[0].number), after(known.elements[k].elements[1].number);
    node.attrs<typed::PadAttrs>().margins.push_back({before, after});
    node.type.shape.push_back(before + shape[k] + after);
  }
  return true;
}

// The margins of `pad`, [(before, after), …] or a tuple that is known, and the sizes with them, go to node. False (and
// reported) if they are not that.
static bool read_margins(Context& cx, Rule& r, const std::vector<Size>& shape, typed::Expr& node) {
  if (auto known = r.constant(1); known && read_known_margins(*known, shape, node)) return true;
  auto* list = ast::as<ast::ListLiteral>(r.by[1]->source);
  if (!list || list->elements.size() != shape.size()) {
    r.fail("WrongArguments", r.by[1]->span,
           fmt::format("`pad` takes a pair (before, after) for each of the {} axes", shape.size()),
           "like `pad(x, [(1, 1), (0, 2)])`");
    return false;
  }
  node.type.shape.clear();
  for (size_t k = 0; k < shape.size(); ++k) {
    auto* pair = ast::as<ast::Tuple>(list->elements[k]);
    if (!pair || pair->elements.size() != 2) {
      r.fail("WrongArguments", list->elements[k]->span, "this is not a pair (before, after)");
      return false;
    }
    size_t errors = cx.function->reports.size();
    Size before = size_argument(cx, check_value(cx, pair->elements[0]), node, true, "a margin"),
         after = size_argument(cx, check_value(cx, pair->elements[1]), node, true, "a margin");
    if (cx.function->reports.size() != errors) return false;
    node.attrs<typed::PadAttrs>().margins.push_back({before, after});
    node.type.shape.push_back(before + shape[k] + after);
  }
  return true;
}

static ExprPtr pad_rule(Context& cx, Rule& r, ExprPtr x) {
  auto node = rearranged({Builtin::Pad, typed::PadAttrs{}}, *x, r.span);
  if (!read_margins(cx, r, x->type.shape, *node)) return nullptr;
  ExprPtr fill;
  if (r.has(2))
    fill = r.value(2);
  else {
    fill = int_literal(cx, 0, false, r.span);
    fill->type = cx.open.element_of(x->type);
    fill->as<typed::LiteralExpr>().is_fill = true;
  }
  if (!r.ok) return nullptr;
  if (!fill->type.is_scalar() || !cx.open.unify(fill->type, x->type)) {
    mixed_types(cx, *x, *fill, "`pad`", r.span);
    return nullptr;
  }
  node->type = cx.open.resolved(node->type);
  node->operands.push_back(std::move(x));
  node->operands.push_back(std::move(fill));
  return node;
}

static ExprPtr flip_rule(Rule& r, ExprPtr x) {
  auto node = rearranged({Builtin::Flip, typed::AxesAttrs{r.axes(1, x->type.rank())}}, *x, r.span);
  node->operands.push_back(std::move(x));
  return node;
}

static ExprPtr take_rule(Rule& r, ExprPtr x) {
  ExprPtr index = r.indices(1);
  if (!r.ok) return nullptr;
  int64_t axis = r.axis(2, x->type.rank(), 0);
  if (!r.ok) return nullptr;
  auto node = rearranged({Builtin::Take, typed::AxisAttrs{axis}}, *x, r.span);
  auto& result = node->type.shape;
  result.erase(result.begin() + axis);
  result.insert(result.begin() + axis, index->type.shape.begin(), index->type.shape.end());
  node->operands.push_back(std::move(x));
  node->operands.push_back(std::move(index));
  return node;
}

ExprPtr shape_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  switch (builtin) {
  case Builtin::Concat:
  case Builtin::Stack: return join_tensors(cx, builtin, r);
  case Builtin::Matmul:
  case Builtin::Dot: return product_rule(cx, r);
  case Builtin::Shape:
  case Builtin::Rank:
  case Builtin::Len: return extent_rule(cx, r);
  default: break;
  }
  if (!r.bind()) return nullptr;
  ExprPtr x = r.tensor(0);
  if (!r.ok) return nullptr;
  switch (builtin) {
  case Builtin::Reshape: return reshape_rule(cx, r, std::move(x));
  case Builtin::Flatten: return flatten_rule(cx, r, std::move(x));
  case Builtin::Permute: return permute_rule(cx, r, std::move(x));
  case Builtin::Transpose:
  case Builtin::TransposeAll: return transpose_rule(cx, builtin, r, std::move(x));
  case Builtin::ExpandDims: return expand_dims_rule(cx, r, std::move(x));
  case Builtin::Squeeze: return squeeze_rule(cx, r, std::move(x));
  case Builtin::BroadcastTo: return broadcast_to_rule(cx, r, std::move(x));
  case Builtin::Pad: return pad_rule(cx, r, std::move(x));
  case Builtin::Flip: return flip_rule(r, std::move(x));
  case Builtin::Take: return take_rule(r, std::move(x));
  default: return nullptr;
  }
}

} // namespace tl::checker

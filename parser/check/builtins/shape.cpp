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
#include "parser/check/text.h"
#include "parser/check/values.h"
#include <fmt/format.h>

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
    if (v->kind == ExprKind::Tuple) {
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
        auto get = make_expr(ExprKind::TupleGet, e->span, v->type.elements[i]);
        get->index = static_cast<uint32_t>(i);
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
  Size total = 1;
  for (const Size& size : result)
    total = total * size;
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
  auto node = make_expr(ExprKind::Builtin, span, cx.open.resolved(x->type));
  node->builtin = Builtin::Reshape;
  node->type.shape = std::move(shape);
  node->operands.push_back(std::move(x));
  return node;
}

ExprPtr permute_to(Context& cx, ExprPtr x, std::vector<int64_t> axes, Span span) {
  if (axes.size() < 2) return x;
  auto node = make_expr(ExprKind::Builtin, span, cx.open.resolved(x->type));
  node->builtin = Builtin::Permute;
  node->type.shape.clear();
  for (int64_t axis : axes)
    node->type.shape.push_back(x->type.shape[static_cast<size_t>(axis)]);
  node->ints = std::move(axes);
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

ExprPtr shape_rule(Context& cx, Builtin builtin, Rule& r) {
  if (builtin == Builtin::Concat || builtin == Builtin::Stack) return join_tensors(cx, builtin, r);
  auto node = make_expr(ExprKind::Builtin, r.span, Type::error());
  node->builtin = builtin;
  if (builtin == Builtin::Matmul || builtin == Builtin::Dot) {
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
  if (builtin == Builtin::Shape || builtin == Builtin::Rank || builtin == Builtin::Len) {
    if (!r.bind()) return nullptr;
    ExprPtr x = r.value(0);
    if (!r.ok) return nullptr;
    auto known = [&](size_t number) { // x is evaluated all the same
      typed::Block before;
      (void)shared(cx, std::move(x), before);
      return in_block(std::move(before), int_value(static_cast<int64_t>(number), r.span), r.span);
    };
    if (builtin == Builtin::Len && x->type.is_tuple()) return known(x->type.elements.size());
    if (builtin == Builtin::Len && x->type.is_list()) return list_length(std::move(x), r.span);
    if (builtin == Builtin::Len && x->type.is_str()) {
      std::vector<ExprPtr> operands;
      operands.push_back(std::move(x));
      return text_node(cx, TextOp::Length, std::move(operands), r.span);
    }
    if (builtin == Builtin::Len && x->type.is_range()) {
      auto whole = make_expr(ExprKind::Block, r.span, Type::scalar(DType::I64));
      typed::Block before;
      Size count = iterate_value(cx, std::move(x), before, false).count;
      before.result = size_expr(count, r.span);
      whole->blocks.push_back(std::move(before));
      return whole;
    }
    if (!x->type.is_tensor() || (builtin == Builtin::Len && x->type.rank() == 0)) {
      r.fail("TypeMismatch", x->span, fmt::format("`{}` takes a tensor, not {}", r.name, show(cx, x->type)));
      return nullptr;
    }
    if (builtin == Builtin::Rank) return known(x->type.rank());
    typed::Block block;
    x = shared(cx, std::move(x), block);
    ExprPtr result;
    if (builtin == Builtin::Len)
      result = size_expr(x->type.shape[0], r.span);
    else {
      result = make_expr(ExprKind::Tuple, r.span, Type::tuple({}));
      for (const Size& size : x->type.shape) {
        result->operands.push_back(size_expr(size, r.span));
        result->type.elements.push_back(Type::scalar(DType::I64));
      }
    }
    if (block.statements.empty()) return result;
    auto wrapped = make_expr(ExprKind::Block, r.span, result->type);
    block.result = std::move(result);
    wrapped->blocks.push_back(std::move(block));
    return wrapped;
  }
  if (!r.bind()) return nullptr;
  ExprPtr x = r.tensor(0);
  if (!r.ok) return nullptr;
  const std::vector<Size> shape = x->type.shape;
  const size_t rank = shape.size();
  node->type = x->type;
  switch (builtin) {
  case Builtin::Reshape: {
    int minus_one = -1;
    auto wanted = dims(cx, r.by[1]->source, *node, r.name, &minus_one);
    if (!wanted) return nullptr;
    Size total = product(shape), others = product(*wanted);
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
    break;
  }
  case Builtin::Flatten: {
    // From behind the last axis on there are no axes: their product is 1.
    int64_t from =
        rank == 0 || r.number(1, 0) == static_cast<int64_t>(rank) ? static_cast<int64_t>(rank) : r.axis(1, rank, 0);
    if (!r.ok) return nullptr;
    std::vector<Size> flat(shape.begin(), shape.begin() + from);
    flat.push_back(product(std::vector<Size>(shape.begin() + from, shape.end())));
    return reshape_to(cx, std::move(x), std::move(flat), r.span);
  }
  case Builtin::Permute: {
    auto known = ast::as<ast::ListLiteral>(r.by[1]->source) ? std::nullopt : r.constant(1);
    std::vector<int64_t> order;
    std::vector<Static> list;
    if (auto* literal_list = ast::as<ast::ListLiteral>(r.by[1]->source)) {
      for (const ast::Expr* element : literal_list->elements)
        if (auto one = static_of(cx, element)) list.push_back(*one);
    } else if (known && known->kind == Static::Kind::Tuple)
      list = known->elements;
    for (const Static& one : list)
      if (one.kind == Static::Kind::Int)
        order.push_back(one.number < 0 ? one.number + static_cast<int64_t>(rank) : one.number);
    std::vector<int64_t> sorted = order;
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
  case Builtin::Transpose:
  case Builtin::TransposeAll: {
    std::vector<int64_t> order;
    for (size_t k = 0; k < rank; ++k)
      order.push_back(static_cast<int64_t>(k));
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
  case Builtin::ExpandDims: {
    int64_t axis = r.axis(1, rank + 1, 0);
    if (!r.ok) return nullptr;
    std::vector<Size> wide = shape;
    wide.insert(wide.begin() + axis, Size(1));
    return reshape_to(cx, std::move(x), std::move(wide), r.span);
  }
  case Builtin::Squeeze: {
    std::vector<int64_t> axes;
    if (r.has(1)) axes = r.axes(1, rank);
    for (size_t k = 0; !r.has(1) && k < rank; ++k) {
      if (shape[k].is(1)) axes.push_back(static_cast<int64_t>(k));
      if (r.ok && compare(cx, shape[k], 1) == Compare::Unknown)
        r.fail("WrongArguments", r.span,
               fmt::format("`squeeze` needs to know which axes: whether axis {} has size 1 is seen when it runs", k),
               "write `axis = …`");
    }
    if (!r.ok) return nullptr;
    node->type.shape.clear();
    node->builtin = Builtin::Reshape;
    for (size_t k = 0; k < rank; ++k) {
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
    break;
  }
  case Builtin::BroadcastTo: {
    auto wanted = dims(cx, r.by[1]->source, *node, r.name);
    if (!wanted) return nullptr;
    bool fits = wanted->size() >= rank;
    for (size_t k = 0; fits && k < rank; ++k) {
      const Size &from = shape[rank - 1 - k], &to = (*wanted)[wanted->size() - 1 - k];
      fits = from.is(1) ||
             require_equal(cx, from, to, false,
                           fmt::format("`broadcast_to` cannot stretch axis {} from {{0}} to {{1}}", rank - 1 - k),
                           r.span, node->checks);
    }
    if (!fits) {
      error(cx, "ShapeMismatch", r.span,
            fmt::format("`broadcast_to` cannot stretch {} to these sizes", show(cx, x->type)),
            "only a literal 1 stretches", {label_of(cx, *x)});
      return nullptr;
    }
    node->type.shape = std::move(*wanted);
    break;
  }
  case Builtin::Pad: {
    auto* list = ast::as<ast::ListLiteral>(r.by[1]->source);
    if (!list || list->elements.size() != rank) {
      r.fail("WrongArguments", r.by[1]->span,
             fmt::format("`pad` takes a pair (before, after) for each of the {} axes", rank),
             "like `pad(x, [(1, 1), (0, 2)])`");
      return nullptr;
    }
    node->type.shape.clear();
    for (size_t k = 0; k < rank; ++k) {
      auto* pair = ast::as<ast::Tuple>(list->elements[k]);
      if (!pair || pair->elements.size() != 2) {
        r.fail("WrongArguments", list->elements[k]->span, "this is not a pair (before, after)");
        return nullptr;
      }
      size_t errors = cx.function->reports.size();
      Size before = size_argument(cx, check_value(cx, pair->elements[0]), *node, true, "a margin"),
           after = size_argument(cx, check_value(cx, pair->elements[1]), *node, true, "a margin");
      if (cx.function->reports.size() != errors) return nullptr;
      node->sizes.push_back(before);
      node->sizes.push_back(after);
      node->type.shape.push_back(before + shape[k] + after);
    }
    ExprPtr fill;
    if (r.has(2))
      fill = r.value(2);
    else {
      fill = int_literal(cx, 0, false, r.span);
      fill->type = cx.open.element_of(x->type);
      fill->text = "builder";
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
  case Builtin::Flip: node->ints = r.axes(1, rank); break;
  case Builtin::Take: {
    ExprPtr index = r.tensor(1);
    if (!r.ok) return nullptr;
    cx.open.settle(index->type);
    if (!is_int(index->type.dtype)) {
      r.fail("TypeMismatch", index->span, fmt::format("`take` takes integers, not {}", show(cx, index->type)));
      return nullptr;
    }
    if (index->type.dtype != DType::I64) index = convert(cx, std::move(index), DType::I64);
    int64_t axis = r.axis(2, rank, 0);
    if (!r.ok) return nullptr;
    node->ints = {axis};
    auto& result = node->type.shape;
    result.erase(result.begin() + axis);
    result.insert(result.begin() + axis, index->type.shape.begin(), index->type.shape.end());
    node->operands.push_back(std::move(x));
    node->operands.push_back(std::move(index));
    return node;
  }
  default: return nullptr;
  }
  node->operands.push_back(std::move(x));
  return node;
}

} // namespace tl::checker

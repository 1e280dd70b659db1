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

ExprPtr builder_rule(Context& cx, Builtin builtin, Rule& r, const Type*) {
  auto node = make_expr(ExprKind::Builtin, r.span, Type::error());
  node->builtin = Builtin::Full;
  auto number = [&](uint64_t value, const Type& type) { // 0 or 1 of that element type, even bool
    auto e = int_literal(cx, value, false, r.span);
    e->type = cx.open.element_of(type);
    e->text = "builder";
    return e;
  };
  switch (builtin) {
  case Builtin::Zeros:
  case Builtin::Ones: {
    if (r.args.size() > 1 && r.args[1].name.empty() && r.args[1].source && ast::as<ast::IntLiteral>(r.args[1].source)) {
      r.fail("TypeMismatch", r.span, fmt::format("the sizes of `{}` are written in brackets", r.name),
             fmt::format("like `{}([2, 3])`", r.name));
      return nullptr;
    }
    if (!r.bind()) return nullptr;
    auto sizes = dims(cx, r.by[0]->source, *node, r.name);
    if (!sizes) return nullptr;
    auto element = r.element(1);
    if (!r.ok) return nullptr;
    if (element == DType::Key) {
      r.fail("TypeMismatch", r.by[1]->span, "keys are made by `key` and `split`");
      return nullptr;
    }
    node->type = element ? Type::scalar(*element) : cx.open.new_open(LiteralKind::Builder);
    node->operands.push_back(number(builtin == Builtin::Ones, node->type));
    node->type.shape = std::move(*sizes);
    return node;
  }
  case Builtin::ZerosLike:
  case Builtin::OnesLike: {
    if (!r.bind()) return nullptr;
    ExprPtr x = r.tensor(0);
    if (!r.ok) return nullptr;
    node->type = x->type;
    node->operands.push_back(number(builtin == Builtin::OnesLike, node->type));
    if (is_simple(*x)) {
      node->operands.push_back(std::move(x));
      return node;
    }
    // The sizes may be known only with the value.
    typed::Block block;
    node->operands.push_back(shared(cx, std::move(x), block));
    auto wrapped = make_expr(ExprKind::Block, r.span, node->type);
    block.result = std::move(node);
    wrapped->blocks.push_back(std::move(block));
    return wrapped;
  }
  case Builtin::Full: {
    if (!r.bind()) return nullptr;
    auto sizes = dims(cx, r.by[0]->source, *node, r.name);
    ExprPtr fill = r.value(1);
    auto element = r.element(2);
    if (!sizes || !r.ok) return nullptr;
    if (!fill->type.is_scalar()) {
      r.fail("TypeMismatch", fill->span, fmt::format("`full` repeats one number, not {}", show(cx, fill->type)));
      return nullptr;
    }
    if (element && !cx.open.unify(fill->type, Type::scalar(*element))) fill = convert(cx, std::move(fill), *element);
    node->type = refresh(cx, *fill);
    node->type.shape = std::move(*sizes);
    node->operands.push_back(std::move(fill));
    return node;
  }
  case Builtin::Eye: {
    if (!r.bind()) return nullptr;
    node->builtin = Builtin::Eye;
    ExprPtr count = r.value(0);
    auto element = r.element(1);
    if (!r.ok) return nullptr;
    size_t errors = cx.function->reports.size();
    Size n = size_argument(cx, std::move(count), *node, true, "a size");
    if (cx.function->reports.size() != errors) return nullptr;
    node->type = element ? Type::scalar(*element) : cx.open.new_open(LiteralKind::Builder);
    node->type.shape = {n, n};
    return node;
  }
  case Builtin::Linspace: {
    if (!r.bind()) return nullptr;
    node->builtin = Builtin::Linspace;
    ExprPtr lo = r.value(0), hi = r.value(1), count = r.value(2);
    auto element = r.element(3);
    if (!r.ok) return nullptr;
    Type type = element ? Type::scalar(*element) : cx.open.new_open(LiteralKind::Float);
    for (auto* end : {&lo, &hi})
      if (!(*end)->type.is_scalar() || !cx.open.unify(type, (*end)->type) || !cx.open.constrain_float(type)) {
        r.fail("TypeMismatch", (*end)->span,
               fmt::format("`linspace` goes between floats, not {}", show(cx, (*end)->type)),
               fmt::format("write `f32({})`", source_text(cx, (*end)->span)));
        return nullptr;
      }
    size_t errors = cx.function->reports.size();
    Size n = size_argument(cx, std::move(count), *node, true, "a size");
    if (cx.function->reports.size() != errors) return nullptr;
    node->type = cx.open.resolved(type);
    node->type.shape = {n};
    node->operands.push_back(std::move(lo));
    node->operands.push_back(std::move(hi));
    return node;
  }
  case Builtin::Range: {
    if (!r.bind()) return nullptr;
    node->kind = ExprKind::Range;
    size_t errors = cx.function->reports.size();
    std::vector<Size> ends;
    for (size_t i = 0; i < 3; ++i)
      if (r.has(i))
        ends.push_back(size_argument(cx, r.value(i), *node, false, i == 2 ? "a step" : "the end of a range"));
    if (cx.function->reports.size() != errors || !r.ok) return nullptr;
    if (ends.size() == 1) ends.insert(ends.begin(), Size(0));
    if (ends.size() == 2) ends.push_back(1);
    if (ends[2].is(0)) {
      r.fail("WrongArguments", r.by[2]->span, "the step of a range cannot be 0");
      return nullptr;
    }
    node->type = Type::range(ends[0], ends[1], ends[2]);
    return node;
  }
  case Builtin::Arange: break;
  default: return nullptr;
  }
  // arange(stop), arange(start, stop), arange(start, stop, step)
  if (!r.bind()) return nullptr;
  if (r.overload == 0) r.by.insert(r.by.begin() + 1, 2, nullptr); // arange(stop): as if `stop` stood first
  node->builtin = Builtin::Arange;
  auto element = r.element(3);
  if (!r.ok) return nullptr;
  std::vector<ExprPtr> ends;
  for (size_t i = 0; i < 3; ++i)
    if (r.has(i)) ends.push_back(r.value(i));
  if (!r.ok) return nullptr;
  if (ends.size() == 1) ends.insert(ends.begin(), int_literal(cx, 0, false, r.span));
  if (ends.size() == 2) ends.push_back(int_literal(cx, 1, false, r.span));
  bool whole = true;
  for (auto& end : ends) {
    if (!end->type.is_scalar() || (!end->type.open && !is_num(end->type.dtype))) {
      r.fail("TypeMismatch", end->span, fmt::format("`arange` goes between numbers, not {}", show(cx, end->type)));
      return nullptr;
    }
    whole = whole && is_int(cx.open.resolved(end->type).dtype);
    // Of the type of its arguments; what is computed from sizes, which are i64, is of the type that the context wants.
    Type type = cx.open.resolved(end->type);
    if (!r.has(3) && !type.open && is_int(type.dtype) && type.dtype != DType::I64) element = type.dtype;
  }
  if (whole) {
    // The count is a size; start and step are literals of whatever type the context wants, unless they are values.
    Type type = element ? Type::scalar(*element) : cx.open.new_open(LiteralKind::Int);
    size_t errors = cx.function->reports.size();
    ExprPtr start = ends[0]->kind == ExprKind::Literal ? copy_simple(*ends[0]) : nullptr;
    ExprPtr step = ends[2]->kind == ExprKind::Literal ? copy_simple(*ends[2]) : nullptr;
    Size lo = size_argument(cx, std::move(ends[0]), *node, false, "the start"),
         hi = size_argument(cx, std::move(ends[1]), *node, false, "the end");
    Size stride = size_argument(cx, std::move(ends[2]), *node, false, "the step");
    if (cx.function->reports.size() != errors) return nullptr;
    if (stride.is(0)) {
      r.fail("WrongArguments", r.span, "the step of `arange` cannot be 0");
      return nullptr;
    }
    Size count;
    if (stride.is_constant()) {
      int64_t by = stride.constant();
      Size distance = cx.program.atoms.positive(by > 0 ? hi - lo : lo - hi, sure_facts(cx));
      count = steps_within(cx, distance, by);
    } else
      count = cx.program.atoms.positive(Size(0) - cx.program.atoms.floor_div(lo - hi, stride), sure_facts(cx));
    if (!start || !step) (void)cx.open.unify(type, Type::scalar(DType::I64));
    auto as_operand = [&](ExprPtr value, const Size& size) {
      if (!value) return size_expr(size, r.span);
      value->type = cx.open.element_of(type);
      value->index = 1;
      return value;
    };
    node->operands.push_back(as_operand(std::move(start), lo));
    node->operands.push_back(as_operand(std::move(step), stride));
    node->type = cx.open.resolved(type);
    node->type.shape = {count};
    return node;
  }
  if (!same_element(cx, ends, 0, "`arange`", r.span)) return nullptr;
  if (element && !cx.open.unify(ends[0]->type, Type::scalar(*element))) {
    r.fail("TypeMismatch", r.by[3]->span,
           fmt::format("`arange` of {} does not make {}", show(cx, ends[0]->type), name_of(*element)));
    return nullptr;
  }
  // Floats: the count is ceil((stop - start) / step), which only the run tells.
  typed::Block block;
  for (auto& end : ends) {
    if (!cx.open.constrain_float(end->type)) return nullptr;
    end = shared(cx, std::move(end), block);
  }
  const std::string no_count = "the step of `arange` cannot be 0, and its ends are finite";
  if (ends[2]->kind == ExprKind::Literal &&
      (ends[2]->index == 1 ? ends[2]->literal.bits == 0 : ends[2]->literal.as<double>() == 0)) {
    r.fail("WrongArguments", r.span, "the step of `arange` cannot be 0");
    return nullptr;
  }
  auto operation = [&](ScalarOp op, std::vector<ExprPtr> operands) {
    return scalar_node(cx, op, std::move(operands), r.span, "`arange`");
  };
  auto of = [](auto... values) {
    std::vector<ExprPtr> list;
    (list.push_back(std::move(values)), ...);
    return list;
  };
  ExprPtr quotient =
      operation(ScalarOp::Div,
                of(operation(ScalarOp::Sub, of(copy_simple(*ends[1]), copy_simple(*ends[0]))), copy_simple(*ends[2])));
  quotient = shared(cx, operation(ScalarOp::Ceil, of(std::move(quotient))), block);
  auto to_integer = [&](ExprPtr value) {
    auto count = make_expr(ExprKind::Convert, r.span, Type::scalar(DType::I64));
    count->operands.push_back(std::move(value));
    return count;
  };
  ExprPtr finite = shared(cx, operation(ScalarOp::IsFinite, of(copy_simple(*quotient))), block);
  ExprPtr count = operation(ScalarOp::Max, of(copy_simple(*quotient), float_literal(cx, 0, "0.0", false, r.span)));
  count = operation(ScalarOp::Where,
                    of(copy_simple(*finite), std::move(count), float_literal(cx, 0, "0.0", false, r.span)));
  Size n = size_argument(cx, to_integer(std::move(count)), *node, true, "a size");
  node->checks.clear(); // not negative by construction
  SizeCheck check =
      size_check(cx, size_argument(cx, to_integer(std::move(finite)), *node, false, ""), 1, no_count, r.span);
  check.relation = SizeCheck::Relation::AtLeast;
  check.kind = "WrongArguments";
  check.notes.clear();
  node->checks.push_back(std::move(check));
  node->type = cx.open.resolved(ends[0]->type);
  node->type.shape = {n};
  node->operands.push_back(std::move(ends[0]));
  node->operands.push_back(std::move(ends[2]));
  if (block.statements.empty()) return node;
  auto wrapped = make_expr(ExprKind::Block, r.span, node->type);
  block.result = std::move(node);
  wrapped->blocks.push_back(std::move(block));
  return wrapped;
}

ExprPtr random_rule(Context& cx, Builtin builtin, Rule& r, const Type* expected) {
  auto node = make_expr(ExprKind::Builtin, r.span, Type::scalar(DType::Key));
  node->builtin = builtin;
  if (builtin == Builtin::Key) {
    if (!r.bind()) return nullptr;
    ExprPtr seed = to_i64(cx, r.value(0), "a seed");
    if (seed->type.is_error()) r.ok = false;
    node->operands.push_back(std::move(seed));
    return node;
  }
  if (builtin == Builtin::SplitKey) {
    if (!r.args.empty() && r.args[0].source && r.args.size() >= 1) {
      r.args[0].value = check_value(cx, r.args[0].source);
      Type type = refresh(cx, *r.args[0].value);
      if (type.is_error()) return nullptr;
      if (type.is_str()) return split_text(cx, r);
      if (type.is_tensor() && type.dtype != DType::Key) return split_tensor(cx, r);
    }
    if (!r.bind(r.args.size() > 1 ? 1 : 0)) return nullptr;
    ExprPtr k = r.key(0);
    if (!r.ok) return nullptr;
    if (!r.has(1))
      node->type = Type::tuple({Type::scalar(DType::Key), Type::scalar(DType::Key)});
    else {
      size_t errors = cx.function->reports.size();
      Size n = size_argument(cx, r.value(1), *node, true, "a size");
      if (cx.function->reports.size() != errors) return nullptr;
      node->type.shape = {n};
    }
    node->operands.push_back(std::move(k));
    return node;
  }
  bool range = builtin == Builtin::RandInt, bernoulli = builtin == Builtin::Bernoulli;
  if (!r.bind()) return nullptr;
  ExprPtr k = r.key(0);
  if (!r.ok) return nullptr;
  node->operands.push_back(std::move(k));
  if (bernoulli) {
    ExprPtr p = r.value(1);
    if (!r.ok) return nullptr;
    if (!p->type.is_scalar() || !cx.open.constrain_float(p->type)) {
      r.fail("TypeMismatch", p->span, fmt::format("a probability is a float, not {}", show(cx, p->type)));
      return nullptr;
    }
    node->operands.push_back(std::move(p));
  }
  auto sizes = dims(cx, r.by[bernoulli ? 2 : 1]->source, *node, r.name);
  if (!sizes) return nullptr;
  if (bernoulli) {
    node->type = Type::scalar(DType::Bool);
  } else if (builtin == Builtin::Bits || range) {
    bool wanted = range && expected && expected->is_tensor() && !expected->open && is_int(expected->dtype);
    node->type = Type::scalar(wanted ? expected->dtype : DType::I64);
    for (size_t i = 2; range && i < 4; ++i) {
      ExprPtr end = to_i64(cx, r.value(i), "an end of the range");
      if (end->type.is_error()) r.ok = false;
      node->operands.push_back(std::move(end));
    }
  } else {
    auto element = r.element(builtin == Builtin::Normal ? 2 : 4);
    if (!r.ok) return nullptr;
    Type type = element ? Type::scalar(*element) : cx.open.new_open(LiteralKind::Float);
    if (!cx.open.constrain_float(type)) {
      r.fail("TypeMismatch", r.span, fmt::format("`{}` makes floats", r.name));
      return nullptr;
    }
    for (size_t i = 2; builtin == Builtin::Uniform && i < 4; ++i) {
      ExprPtr end =
          r.has(i) ? r.value(i) : float_literal(cx, i == 2 ? 0.0 : 1.0, i == 2 ? "0.0" : "1.0", false, r.span);
      if (!r.ok) return nullptr;
      if (!end->type.is_scalar() || !cx.open.unify(type, end->type)) {
        r.fail("TypeMismatch", end->span,
               fmt::format("an end of `uniform` is {}, not {}", show(cx, type), show(cx, end->type)));
        return nullptr;
      }
      node->operands.push_back(std::move(end));
    }
    node->type = cx.open.resolved(type);
  }
  node->type.shape = std::move(*sizes);
  return node;
}

} // namespace tl::checker

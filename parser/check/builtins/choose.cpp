// The rules of built-in functions that repeat elements or choose them by index tensors: tile, repeat, gather,
// scatter_add.
#include "parser/check/builtins/choose.h"
#include "parser/check/arguments.h"
#include "parser/check/builtins/devices.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/builtins/shape.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

// x under the sizes `from`, stretched to `wide`, under the sizes `to`. `node` is an empty node with the binds and
// checks of the sizes; it becomes the stretching.
static ExprPtr broadcast_reshaped(Context& cx, ExprPtr node, ExprPtr x, std::vector<Size> from, std::vector<Size> wide,
                                  std::vector<Size> to) {
  node->builtin = Builtin::BroadcastTo;
  node->type = cx.open.resolved(x->type);
  node->type.shape = std::move(wide);
  Span span = node->span;
  node->operands.push_back(reshape_to(cx, std::move(x), std::move(from), span));
  return reshape_to(cx, std::move(node), std::move(to), span);
}

ExprPtr choosing_rule(Context& cx, Builtin builtin, Rule& r) {
  if (builtin == Builtin::Gather && r.args.size() == 1) { // of parts on several devices
    check_arg(cx, r.args[0]);
    if (r.args[0].value && refresh(cx, *r.args[0].value).is_list())
      return prelude_call(cx, "gather_parts", std::move(r.args), r.span);
  }
  bool adds = builtin == Builtin::ScatterAdd;
  if (!r.bind()) return nullptr;
  ExprPtr x = r.tensor(0);
  if (!r.ok) return nullptr;
  const std::vector<Size> shape = x->type.shape;
  const size_t rank = shape.size();
  auto node = make_expr(ExprKind::Builtin, r.span, Type::error());
  node->builtin = builtin;

  if (builtin == Builtin::Tile) {
    auto counts = dims(cx, r.by[1]->source, *node, r.name);
    if (!counts) return nullptr;
    std::vector<Size> own = shape;
    own.insert(own.begin(), counts->size() > rank ? counts->size() - rank : 0, Size(1));
    counts->insert(counts->begin(), own.size() - counts->size(), Size(1));
    std::vector<Size> from, wide, to;
    for (size_t k = 0; k < own.size(); ++k) {
      from.insert(from.end(), {Size(1), own[k]});
      wide.insert(wide.end(), {(*counts)[k], own[k]});
      to.push_back((*counts)[k] * own[k]);
    }
    return broadcast_reshaped(cx, std::move(node), std::move(x), from, wide, to);
  }
  if (builtin == Builtin::Repeat) {
    int64_t axis = r.axis(2, rank, 0);
    if (!r.ok) return nullptr;
    size_t errors = cx.function->reports.size();
    Size count = size_argument(cx, r.value(1), *node, true, "a number of repeats");
    if (cx.function->reports.size() != errors) return nullptr;
    std::vector<Size> from = shape, to = shape;
    from.insert(from.begin() + axis + 1, Size(1));
    std::vector<Size> wide = from;
    wide[static_cast<size_t>(axis) + 1] = count;
    to[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)] * count;
    return broadcast_reshaped(cx, std::move(node), std::move(x), from, wide, to);
  }

  ExprPtr index = r.tensor(1);
  if (!r.ok) return nullptr;
  cx.open.settle(index->type);
  if (!is_int(index->type.dtype)) {
    r.fail("TypeMismatch", index->span, fmt::format("`{}` takes integers, not {}", r.name, show(cx, index->type)));
    return nullptr;
  }
  if (index->type.dtype != DType::I64) index = convert(cx, std::move(index), DType::I64);
  const std::vector<Size> places = index->type.shape;
  size_t axis_argument = adds ? 3 : 2;
  if (!adds && !r.has(axis_argument) && rank > 1) {
    r.fail("WrongArguments", r.span, "`gather` needs to know along which axis", "write `axis = -1`");
    return nullptr;
  }
  auto axis = static_cast<size_t>(r.axis(axis_argument, rank, 0));
  if (!r.ok) return nullptr;
  node->ints = {static_cast<int64_t>(axis)};
  node->type = x->type;
  auto mismatch = [&](const char* what, const typed::Expr& other, size_t k, const Size& a, const Size& b) {
    std::vector<Label> labels{label_of(cx, *x), label_of(cx, other)};
    add_origins(cx, a, b, labels);
    error(cx, "ShapeMismatch", r.span,
          fmt::format("`{}` needs {}: along axis {} they are {}", r.name, what, k, different(cx, a, b)),
          equality_hint(cx, a, b), std::move(labels));
    return nullptr;
  };

  if (!adds) {
    if (places.size() != rank) {
      r.fail("ShapeMismatch", index->span,
             fmt::format("`gather` takes positions with as many axes as the tensor, {}, not {}", rank, places.size()),
             "`take(x, idx, axis = …)` takes whole slices");
      return nullptr;
    }
    for (size_t k = 0; k < rank; ++k) {
      Size& size = node->type.shape[k];
      if (k == axis || size.is(1))
        size = places[k];
      else if (!places[k].is(1) &&
               !require_equal(cx, size, places[k], true,
                              fmt::format("`gather` needs equal sizes except along its axis: along axis {} they are "
                                          "{{0}} and {{1}}",
                                          k),
                              r.span, node->checks))
        return mismatch("equal sizes except along its axis", *index, k, size, places[k]);
    }
    node->operands.push_back(std::move(x));
    node->operands.push_back(std::move(index));
    return node;
  }

  // v has an axis for each of idx in place of the chosen one: x[idx] += v. Or all three have the same number of axes,
  // and only positions along the chosen one change: the reverse of `gather`.
  ExprPtr v = r.value(2);
  if (!r.ok) return nullptr;
  if (!v->type.is_tensor() || !cx.open.unify(x->type, v->type)) {
    mixed_types(cx, *x, *v, "`scatter_add`", r.span);
    return nullptr;
  }
  node->type = refresh(cx, *x);
  refresh(cx, *v);
  if (!node->type.open && !is_num(node->type.dtype)) {
    r.fail("TypeMismatch", r.span, fmt::format("`scatter_add` adds numbers, not {}", show(cx, x->type)));
    return nullptr;
  }
  bool along = rank > 1 && v->type.rank() == rank && places.size() == rank;
  std::vector<Size> wanted = shape;
  if (along) {
    wanted[axis] = places[axis];
    for (size_t k = 0; k < rank; ++k)
      if (k != axis && !require_equal(cx, shape[k], places[k], true,
                                      fmt::format("`scatter_add` needs equal sizes except along its axis: along axis "
                                                  "{} they are {{0}} and {{1}}",
                                                  k),
                                      r.span, node->checks))
        return mismatch("equal sizes except along its axis", *index, k, shape[k], places[k]);
  } else {
    wanted.erase(wanted.begin() + static_cast<ptrdiff_t>(axis));
    wanted.insert(wanted.begin() + static_cast<ptrdiff_t>(axis), places.begin(), places.end());
  }
  const std::vector<Size> given = v->type.shape;
  if (!given.empty() && given.size() != wanted.size()) {
    Type like = node->type;
    like.shape = wanted;
    r.fail("ShapeMismatch", v->span,
           fmt::format("`scatter_add` needs values of {} here, not {}", show(cx, like), show(cx, v->type)));
    return nullptr;
  }
  for (size_t k = 0; k < given.size(); ++k)
    if (!given[k].is(1) &&
        !require_equal(cx, wanted[k], given[k], true,
                       fmt::format("`scatter_add` needs a value for each position: along axis {} there are {{0}} "
                                   "positions and {{1}} values",
                                   k),
                       r.span, node->checks))
      return mismatch("a value for each position", *v, k, wanted[k], given[k]);
  node->flag = along;
  node->sizes = std::move(wanted);
  node->operands.push_back(std::move(x));
  node->operands.push_back(std::move(index));
  node->operands.push_back(std::move(v));
  return node;
}

} // namespace tl::checker

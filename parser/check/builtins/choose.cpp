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
  node->type = cx.open.resolved(x->type);
  node->type.shape = std::move(wide);
  Span span = node->span;
  node->operands.push_back(reshape_to(cx, std::move(x), std::move(from), span));
  return reshape_to(cx, std::move(node), std::move(to), span);
}

static ExprPtr tile_rule(Context& cx, Rule& r, ExprPtr x) {
  auto node = make_expr(typed::BuiltinExpr{Builtin::BroadcastTo}, r.span, Type::error());
  auto counts = dims(cx, r.by[1]->source, *node, r.name);
  if (!counts) return nullptr;
  std::vector<Size> own = x->type.shape;
  own.insert(own.begin(), counts->size() > own.size() ? counts->size() - own.size() : 0, Size(1));
  counts->insert(counts->begin(), own.size() - counts->size(), Size(1));
  std::vector<Size> from, wide, to;
  for (size_t k = 0; k < own.size(); ++k) {
    from.insert(from.end(), {Size(1), own[k]});
    wide.insert(wide.end(), {(*counts)[k], own[k]});
    to.push_back((*counts)[k] * own[k]);
  }
  return broadcast_reshaped(cx, std::move(node), std::move(x), from, wide, to);
}

static ExprPtr repeat_rule(Context& cx, Rule& r, ExprPtr x) {
  const std::vector<Size> shape = x->type.shape;
  auto axis = static_cast<size_t>(r.axis(2, shape.size(), 0));
  if (!r.ok) return nullptr;
  auto node = make_expr(typed::BuiltinExpr{Builtin::BroadcastTo}, r.span, Type::error());
  size_t errors = cx.function->reports.size();
  Size count = size_argument(cx, r.value(1), *node, true, "a number of repeats");
  if (cx.function->reports.size() != errors) return nullptr;
  std::vector<Size> from = shape, to = shape;
  from.insert(from.begin() + static_cast<ptrdiff_t>(axis) + 1, Size(1));
  std::vector<Size> wide = from;
  wide[axis + 1] = count;
  to[axis] = shape[axis] * count;
  return broadcast_reshaped(cx, std::move(node), std::move(x), from, wide, to);
}

// The sizes that two operands of `gather` or `scatter_add` have to have in common.
namespace {
struct CommonSizes {
  Context& cx;
  Rule& r;
  const typed::Expr &x, &other;
  SizeChecks& checks;

  // False (and reported) if a and b differ along axis k. `what` the function needs; `run` says it where it shows when
  // the program runs, after "along axis k".
  bool require(const std::string& what, const std::string& run, size_t k, const Size& a, const Size& b) {
    if (require_equal(cx, a, b, true, fmt::format("`{}` needs {}: along axis {} {}", r.name, what, k, run), r.span,
                      checks))
      return true;
    std::vector<Label> labels{label_of(cx, x), label_of(cx, other)};
    add_origins(cx, a, b, labels);
    error(cx, "ShapeMismatch", r.span,
          fmt::format("`{}` needs {}: along axis {} they are {}", r.name, what, k, different(cx, a, b)),
          equality_hint(cx, a, b), std::move(labels));
    return false;
  }
  bool require_equal_along(size_t k, const Size& a, const Size& b) {
    return require("equal sizes except along its axis", "they are {0} and {1}", k, a, b);
  }
};
} // namespace

static ExprPtr gather_rule(Context& cx, Rule& r, ExprPtr x) {
  const size_t rank = x->type.rank();
  ExprPtr index = r.indices(1);
  if (!r.ok) return nullptr;
  if (!r.has(2) && rank > 1) {
    r.fail("WrongArguments", r.span, "`gather` needs to know along which axis", "write `axis = -1`");
    return nullptr;
  }
  auto axis = static_cast<size_t>(r.axis(2, rank, 0));
  if (!r.ok) return nullptr;
  const std::vector<Size> places = index->type.shape;
  if (places.size() != rank) {
    r.fail("ShapeMismatch", index->span,
           fmt::format("`gather` takes positions with as many axes as the tensor, {}, not {}", rank, places.size()),
           "`take(x, idx, axis = …)` takes whole slices");
    return nullptr;
  }
  auto node =
      make_expr(typed::BuiltinExpr{Builtin::Gather, typed::AxisAttrs{static_cast<int64_t>(axis)}}, r.span, x->type);
  CommonSizes sizes{cx, r, *x, *index, node->checks};
  for (size_t k = 0; k < rank; ++k) {
    Size& size = node->type.shape[k];
    if (k == axis || size.is(1))
      size = places[k];
    else if (!places[k].is(1) && !sizes.require_equal_along(k, size, places[k]))
      return nullptr;
  }
  node->operands.push_back(std::move(x));
  node->operands.push_back(std::move(index));
  return node;
}

// The values that `scatter_add` adds; null (and reported) if they are not of x's element type.
static ExprPtr added_values(Context& cx, Rule& r, typed::Expr& x) {
  ExprPtr v = r.value(2);
  if (!r.ok) return nullptr;
  if (!v->type.is_tensor() || !cx.open.unify(x.type, v->type)) {
    mixed_types(cx, x, *v, "`scatter_add`", r.span);
    return nullptr;
  }
  refresh(cx, x);
  refresh(cx, *v);
  if (!x.type.open && !is_num(x.type.dtype)) {
    r.fail("TypeMismatch", r.span, fmt::format("`scatter_add` adds numbers, not {}", show(cx, x.type)));
    return nullptr;
  }
  return v;
}

// v has an axis for each of idx in place of the chosen one: x[idx] += v. Or all three have the same number of axes,
// and only positions along the chosen one change: the reverse of `gather`.
static ExprPtr scatter_add_rule(Context& cx, Rule& r, ExprPtr x) {
  const std::vector<Size> shape = x->type.shape;
  const size_t rank = shape.size();
  ExprPtr index = r.indices(1);
  if (!r.ok) return nullptr;
  auto axis = static_cast<size_t>(r.axis(3, rank, 0));
  if (!r.ok) return nullptr;
  ExprPtr v = added_values(cx, r, *x);
  if (!v) return nullptr;
  auto node = make_expr(typed::BuiltinExpr{Builtin::ScatterAdd, typed::ScatterAddAttrs{static_cast<int64_t>(axis)}},
                        r.span, x->type);
  const std::vector<Size> places = index->type.shape, given = v->type.shape;
  const bool along_axis = rank > 1 && given.size() == rank && places.size() == rank;
  std::vector<Size> wanted = shape;
  if (along_axis) {
    wanted[axis] = places[axis];
    CommonSizes sizes{cx, r, *x, *index, node->checks};
    for (size_t k = 0; k < rank; ++k)
      if (k != axis && !sizes.require_equal_along(k, shape[k], places[k])) return nullptr;
  } else {
    wanted.erase(wanted.begin() + static_cast<ptrdiff_t>(axis));
    wanted.insert(wanted.begin() + static_cast<ptrdiff_t>(axis), places.begin(), places.end());
  }
  if (!given.empty() && given.size() != wanted.size()) {
    Type like = node->type;
    like.shape = wanted;
    r.fail("ShapeMismatch", v->span,
           fmt::format("`scatter_add` needs values of {} here, not {}", show(cx, like), show(cx, v->type)));
    return nullptr;
  }
  CommonSizes sizes{cx, r, *x, *v, node->checks};
  for (size_t k = 0; k < given.size(); ++k)
    if (!given[k].is(1) &&
        !sizes.require("a value for each position", "there are {0} positions and {1} values", k, wanted[k], given[k]))
      return nullptr;
  auto& attrs = node->attrs<typed::ScatterAddAttrs>();
  attrs.along_axis = along_axis;
  attrs.places = std::move(wanted);
  node->operands.push_back(std::move(x));
  node->operands.push_back(std::move(index));
  node->operands.push_back(std::move(v));
  return node;
}

ExprPtr choosing_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  if (builtin == Builtin::Gather && r.args.size() == 1) { // of parts on several devices
    check_arg(cx, r.args[0]);
    if (r.args[0].value && refresh(cx, *r.args[0].value).is_list())
      return prelude_call(cx, "gather_parts", std::move(r.args), r.span);
  }
  if (!r.bind()) return nullptr;
  ExprPtr x = r.tensor(0);
  if (!r.ok) return nullptr;
  switch (builtin) {
  case Builtin::Tile: return tile_rule(cx, r, std::move(x));
  case Builtin::Repeat: return repeat_rule(cx, r, std::move(x));
  case Builtin::Gather: return gather_rule(cx, r, std::move(x));
  default: return scatter_add_rule(cx, r, std::move(x));
  }
}

} // namespace tl::checker

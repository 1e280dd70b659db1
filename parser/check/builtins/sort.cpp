// The rule of the built-in functions that sort rows: the prelude's `sort`, `argsort` and `topk` are made of them.
#include "parser/check/builtins/sort.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

ExprPtr sort_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  if (!r.bind()) return nullptr;
  auto node = make_expr(typed::BuiltinExpr{builtin}, r.span, Type::error());
  ExprPtr x = r.tensor(0), count = builtin == Builtin::ArgTopRows ? r.value(1) : nullptr;
  if (!r.ok) return nullptr;
  node->type = refresh(cx, *x);
  if (node->type.is_scalar() || node->type.dtype == DType::Key) {
    r.fail("TypeMismatch", x->span, fmt::format("`{}` sorts rows of numbers, not {}", r.name, show(cx, node->type)));
    return nullptr;
  }
  if (builtin != Builtin::SortRows) node->type = Type::tensor(DType::I64, node->type.shape);
  if (count) {
    const size_t errors = cx.function->reports.size();
    const Size k = size_argument(cx, std::move(count), *node, true, "a number of elements");
    if (cx.function->reports.size() != errors) return nullptr;
    require_at_most(cx, k, node->type.shape.back(), "ShapeMismatch",
                    "there are no {0} greatest elements in rows of {1}", r.span, node->checks);
    node->type.shape.back() = k;
  }
  node->operands.push_back(std::move(x));
  return node;
}

} // namespace tl::checker

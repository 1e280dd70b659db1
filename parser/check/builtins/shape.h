// The rules of built-in functions that make and reshape tensors.
#pragma once
#include "parser/check/builtins/rules.h"
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr shape_rule(Context& cx, Rule& r);
ExprPtr reshape_to(Context& cx, ExprPtr x, std::vector<Size> shape, Span span);
ExprPtr permute_to(Context& cx, ExprPtr x, std::vector<int64_t> axes, Span span);
std::optional<std::vector<Size>> dims(Context& cx, const ast::Expr* e, typed::Expr& node, const std::string& function,
                                      int* minus_one = nullptr);

} // namespace tl::checker

// Operations on text.
#pragma once
#include "parser/check/builtins/rules.h"
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr text_node(Context& cx, TextOp op, std::vector<ExprPtr> operands, Span span);
ExprPtr text_compare(Context& cx, ast::BinaryOp op, ExprPtr a, ExprPtr b, Span span);
ExprPtr text_subscript(Context& cx, ExprPtr text, const ast::Subscript& s, Span span);
ExprPtr text_rule(Context& cx, Rule& r);

} // namespace tl::checker

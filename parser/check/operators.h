// Operators.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr check_unary(Context& cx, const ast::Expr& e, const ast::Unary& u, const Type* expected);
ExprPtr check_binary(Context& cx, const ast::Expr& e, const ast::Binary& b, const Type* expected);
// Does lowering know this operation on complex numbers? The prelude has others: complex_exp, complex_abs, …
bool takes_complex(ScalarOp op);
// The elementwise operation of an operator; nothing for `@`.
std::optional<ScalarOp> scalar_op_of(ast::BinaryOp op);
ExprPtr binary_op(Context& cx, ast::BinaryOp op, ExprPtr a, ExprPtr b, Span span, Span op_span);
ExprPtr check_power(Context& cx, ExprPtr base, const ast::Expr* exponent, Span span, Span op_span);
ExprPtr check_matmul(Context& cx, ExprPtr a, ExprPtr b, Span span, const std::string& what);
ExprPtr scalar_node(Context& cx, ScalarOp op, std::vector<ExprPtr> operands, Span span, const std::string& what);
bool same_element(Context& cx, std::vector<ExprPtr>& operands, size_t first, const std::string& what, Span span);
void mixed_types(Context& cx, const typed::Expr& a, const typed::Expr& b, const std::string& what, Span span);
// The float type that what is written here is probably of, for a hint: that of the `let`, of the function's parameters
// and result, or of the variables that there are. f32 if these do not say, or say both.
std::string_view usual_float(const Context& cx);
std::string conversion_hint(Context& cx, const typed::Expr& from, const Type& to, const typed::Expr* target = nullptr);

} // namespace tl::checker

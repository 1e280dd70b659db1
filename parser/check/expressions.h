// Expressions.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr make_expr(ExprKind kind, Span span, Type type);
inline ExprPtr broken(Span span) { return make_expr(ExprKind::Unit, span, Type::error()); }
ExprPtr check_expr(Context& cx, const ast::Expr* e, const Type* expected = nullptr, bool want = true);
// an error if it has no run-time value
ExprPtr check_value(Context& cx, const ast::Expr* e, const Type* expected = nullptr);
ExprPtr int_value(int64_t value, Span span);
ExprPtr bool_value(bool value, Span span);
ExprPtr int_literal(Context& cx, uint64_t magnitude, bool negative, Span span);
ExprPtr float_literal(Context& cx, double value, const std::string& text, bool negative, Span span);
ExprPtr size_expr(const Size& size, Span span);
ExprPtr variable_value(Context& cx, VarId var, Span span);
ExprPtr check_name(Context& cx, const ast::Expr& e, const std::string& name);
ExprPtr const_value(Context& cx, ConstInfo& info, const std::string& name, Span span);
ExprPtr check_condition(Context& cx, const ast::Expr* e);
ExprPtr convert(Context& cx, ExprPtr value, DType target, Span span);
// at the value's own place
ExprPtr convert(Context& cx, ExprPtr value, DType target);
ExprPtr to_i64(Context& cx, ExprPtr value, const std::string& what);
// of a variable, literal or size
ExprPtr copy_simple(const typed::Expr& e);
bool is_simple(const typed::Expr& e);
// a variable that holds it, or itself when simple
ExprPtr shared(Context& cx, ExprPtr value, typed::Block& block);
// The same, and it stays what it is now: a `var` may be assigned before it is looked at.
ExprPtr kept(Context& cx, ExprPtr value, typed::Block& block);

} // namespace tl::checker

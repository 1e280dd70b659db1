// Expressions.
#pragma once
#include "parser/check/context.h"
#include "parser/check/values.h"

namespace tl::checker {

inline ExprPtr broken(Span span) { return make_expr(typed::UnitExpr{}, span, Type::error()); }
ExprPtr check_expr(Context& cx, const ast::Expr* e, const Type* expected = nullptr, bool want = true);
// an error if it has no run-time value
ExprPtr check_value(Context& cx, const ast::Expr* e, const Type* expected = nullptr);
ExprPtr check_name(Context& cx, const ast::Expr& e, const std::string& name);
ExprPtr const_value(Context& cx, ConstInfo& info, const std::string& name, Span span);
ExprPtr check_condition(Context& cx, const ast::Expr* e);

} // namespace tl::checker

// Nodes of the typed AST.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr make_expr(typed::ExprData data, Span span, Type type);
ExprPtr int_value(int64_t value, Span span);
ExprPtr bool_value(bool value, Span span);
ExprPtr int_literal(Context& cx, uint64_t magnitude, bool negative, Span span);
ExprPtr float_literal(Context& cx, double value, const std::string& text, bool negative, Span span);
ExprPtr number_literal(Context& cx, const ast::FloatLiteral& written, bool negative, Span span);
ExprPtr size_expr(const Size& size, Span span);
ExprPtr variable_value(Context& cx, VarId var, Span span);
bool is_simple(const typed::Expr& e);
// of a variable, literal or size
ExprPtr copy_simple(const typed::Expr& e);
// a variable that holds it, or itself when simple
ExprPtr shared(Context& cx, ExprPtr value, typed::Block& block);
// The same, and it stays what it is now: a `var` may be assigned before it is looked at.
ExprPtr kept(Context& cx, ExprPtr value, typed::Block& block);
// For a float where an integer is wanted: what to write. The labels take the place where an integer became one.
std::string integer_hint(Context& cx, const typed::Expr& value, std::vector<Label>& labels);
ExprPtr to_i64(Context& cx, ExprPtr value, const std::string& what);
// Integers as i64; none of u64 becomes negative.
ExprPtr positions(Context& cx, ExprPtr value);
ExprPtr convert(Context& cx, ExprPtr value, DType target, Span span);
// at the value's own place
ExprPtr convert(Context& cx, ExprPtr value, DType target);

} // namespace tl::checker

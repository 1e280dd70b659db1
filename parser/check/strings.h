// String literals and their formats.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// Is a Python format specification fit for a value of this type? An empty string, or what is wrong.
std::string check_format(const std::string& spec, const Type& type);

ExprPtr check_string(Context& cx, const ast::Expr& e, const ast::StringLiteral& s);
void append_value(Context& cx, typed::Expr& interp, ExprPtr value, const std::string& spec, Span span);
// of values whose types were open before
void check_formats(Context& cx, typed::Expr& interp);
void append_text(typed::Expr& interp, std::string_view text);
ExprPtr new_interp(Span span);
ExprPtr finish_interp(ExprPtr interp);

} // namespace tl::checker

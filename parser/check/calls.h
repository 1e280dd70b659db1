// Calls as written: which function, which arguments.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr check_call(Context& cx, const ast::Expr& e, const ast::Call& c, const Type* expected);
ExprPtr check_method_call(Context& cx, const ast::Expr& e, const ast::MethodCall& c, const Type* expected);
ExprPtr call_named(Context& cx, const Callable& callable, const std::string& name, Span name_span,
                   std::vector<Arg> args, Span span, bool is_method, const Type* expected);
std::optional<Static> static_of(Context& cx, const ast::Expr* e);
bool infer(Context& cx, FunctionInfo& info, const std::vector<Arg*>& args, Bindings& bindings, Span span);

} // namespace tl::checker

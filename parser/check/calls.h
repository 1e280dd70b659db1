// Calls as written: which function, which arguments.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr check_call(Context& cx, const ast::Expr& e, const ast::Call& c, const Type* expected);
ExprPtr check_method_call(Context& cx, const ast::Expr& e, const ast::MethodCall& c, const Type* expected);
ExprPtr call_named(Context& cx, const Callable& callable, const std::string& name, Span name_span,
                   std::vector<Arg> args, Span span, bool is_method, const Type* expected);
std::optional<Static> static_of(Context& cx, const ast::Expr* e);
void check_arg(Context& cx, Arg& arg, const Type* expected = nullptr);
void evaluate_as_written(Context& cx, const std::vector<std::string>& names, std::vector<Arg>& args,
                         typed::Block& before);
// its value
ExprPtr take(Context& cx, Arg& arg, const Type* expected = nullptr);
std::vector<Arg*> arrange(Context& cx, FunctionInfo& info, std::vector<Arg>& args, Span span, bool& ok);
bool infer(Context& cx, FunctionInfo& info, const std::vector<Arg*>& args, Bindings& bindings, Span span);
bool infer_type(Context& cx, const ast::TypeExpr* type, const Type& actual, FunctionInfo& info, Bindings& bindings,
                const Arg& arg, const std::string& param);
std::optional<Type> list_type(Context& cx, const ast::TypeExpr* written, Scope* scope);
ExprPtr default_value(Context& cx, FunctionInfo& info, size_t param, std::vector<Arg*>& args, const Bindings& bindings,
                      typed::Block& before);

} // namespace tl::checker

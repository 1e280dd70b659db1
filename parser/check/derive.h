// Derivatives and other transforms of functions.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// grad(f), vjp(f, x) … as written
ExprPtr transform_call(Context& cx, Builtin builtin, std::vector<Arg> args, Span span);
void take_elements(Context& cx, typed::Expr& value, const Type& wanted);
ExprPtr seed_for(Context& cx, ExprPtr seed, const Type& type, const std::string& what);
std::optional<Static> function_argument(Context& cx, Arg& arg, const std::string& name);
Type wanted_elements(const FunctionInfo& info, size_t parameter);
Type wanted_elements(const Static& function, size_t parameter);

} // namespace tl::checker

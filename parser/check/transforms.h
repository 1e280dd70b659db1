// Calls of functions under a transform.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// What the parameters of vmap(f) have that a call does not give: the function takes its defaults, which are not mapped.
Static not_given();
ExprPtr call_transformed(Context& cx, const Transformed& what, std::vector<Arg> args, Span span);
ExprPtr vjp_call(Context& cx, std::vector<Arg> args, Span span);
ExprPtr jvp_call(Context& cx, std::vector<Arg> args, Span span);

} // namespace tl::checker

// Literals that are given to functions whose parameters have no types.
#pragma once
#include "parser/check/context.h"
#include <functional>

namespace tl::checker {

// The call of `callable` with these arguments, which `call` makes. Where a parameter has no type, a literal is i64 or
// f32, as it is alone; if the function's body is wrong with that, `call` is asked again: with the literals as of the
// element types of the other arguments, as f32, as f64. What is right first is taken; else the first failure is told.
ExprPtr with_literals(Context& cx, const Callable& callable, std::vector<Arg> args,
                      const std::function<ExprPtr(std::vector<Arg>)>& call);

} // namespace tl::checker

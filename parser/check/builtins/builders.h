// The rules of built-in functions that make tensors.
#pragma once
#include "parser/check/builtins/rules.h"
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr builder_rule(Context& cx, Rule& r);
ExprPtr random_rule(Context& cx, Rule& r);

} // namespace tl::checker

// The rule of `einsum`.
#pragma once
#include "parser/check/builtins/rules.h"
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr einsum_rule(Context& cx, Rule& r);

} // namespace tl::checker

// The rule of linear algebra.
#pragma once
#include "parser/check/builtins/rules.h"
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr linalg_rule(Context& cx, Rule& r);

} // namespace tl::checker

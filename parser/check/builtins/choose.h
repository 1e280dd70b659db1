// The rule of `where`, `take`, `gather` and others that choose elements.
#pragma once
#include "parser/check/builtins/rules.h"
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr choosing_rule(Context& cx, Rule& r);

} // namespace tl::checker

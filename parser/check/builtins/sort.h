// The rule of sort_rows, argsort_rows and argtop_rows.
#pragma once
#include "parser/check/builtins/rules.h"
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr sort_rule(Context& cx, Rule& r);

} // namespace tl::checker

// The rules of plots and stopwatches.
#pragma once
#include "parser/check/builtins/rules.h"
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr plot_rule(Context& cx, Rule& r);
ExprPtr stopwatch_rule(Context& cx, Rule& r);

} // namespace tl::checker

// The rules of `concat`, `stack` and `split`.
#pragma once
#include "parser/check/builtins/rules.h"
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr join_tensors(Context& cx, Builtin builtin, Rule& r);
ExprPtr split_tensor(Context& cx, Rule& r);
ExprPtr split_text(Context& cx, Rule& r);

} // namespace tl::checker

// The rules of built-in functions that read and write files.
#pragma once
#include "parser/check/builtins/rules.h"
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr file_rule(Context& cx, Rule& r);
bool has_only_tensors(const Type& type);

} // namespace tl::checker

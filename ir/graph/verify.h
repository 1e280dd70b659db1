// Checks a module: every value defined before it is used and in scope, region structure, result types as the ops say,
// token chains linear. Run after lowering and after every pass in tests.
#pragma once
#include "ir/graph/graph.h"
#include <string>
#include <vector>

namespace tl::ir {

std::vector<std::string>
verify(const Module& module); // empty: fine; else one message per fault, with the function's name

} // namespace tl::ir

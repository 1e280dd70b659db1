// Which consts are computed when the program is compiled.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// The value of a const with what has to be computed of it in a BlockExpr that says so (typed::ConstPart), or as it is
// where the expression says the value itself: literals and arithmetic on them, sizes, files, and tensors that are no
// numbers to keep (zeros, a range). The parts of a tuple are looked at one by one, so that the others stay what they
// are.
ExprPtr computed_const(Context& cx, ExprPtr value, Span name);

} // namespace tl::checker

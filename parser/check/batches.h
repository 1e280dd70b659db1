// batches(x…, size).
#pragma once
#include "parser/check/iteration.h"

namespace tl::checker {

Iteration iterate_batches(Context& cx, std::vector<Arg>& args, Span span, typed::Block& before);

} // namespace tl::checker

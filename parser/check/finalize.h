// The last walk over a finished function.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// Closes element types that are still open, gives literals their values and makes the instances of generic calls.
void finalize(Context& cx, typed::Block& block);
void finalize(Context& cx, typed::Stmt& s);

} // namespace tl::checker

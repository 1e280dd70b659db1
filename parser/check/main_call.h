// The call of `fn main` with what the command line gives.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

FunctionInfo* main_function(Context& cx); // null: the file has none
// Where the file has a `main`: its parameters are those of the program.
void check_main(Context& cx, const ast::File& file);

} // namespace tl::checker

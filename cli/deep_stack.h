// A stack for the walks of a deeply nested program: a syntax tree has thousands of levels, and every stage up to the
// bytecode recurses over them.
#pragma once
#include <functional>

namespace tl::cli {

// Calls f on a thread with such a stack and gives what it gives or throws. Where the system grants no such stack, on
// this thread.
int on_deep_stack(const std::function<int()>& f);

} // namespace tl::cli

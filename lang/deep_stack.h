// A stack for deep recursion: a syntax tree has thousands of levels, every stage up to the bytecode recurses over them,
// and in the reference interpreter the recursion of programs is recursion too.
#pragma once
#include <functional>

namespace tl {

// Calls f on a thread with a stack of 1 GiB (of addresses: only what is touched becomes memory) and throws what it
// throws. Where the system grants no such stack, on this thread.
void on_deep_stack(const std::function<void()>& f);

// Did the system ever refuse it? Then less deep programs are taken.
bool deep_stack_refused();

} // namespace tl

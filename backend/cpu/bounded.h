// Work that can be left behind where it takes too long.
//
// LLVM cannot be interrupted: some of its searches take time that grows exponentially with a kernel, without ever
// looking up. Three ways lead out. A child process for each kernel could be killed, but a fork of a process with
// threads holds whatever locks these held, and a fresh process costs more than most kernels. A signal that leaves LLVM
// by a jump leaves its locks, and those of malloc, taken. So the work has a thread of its own which owns all that it
// touches; where that thread has had its time it goes on at the lowest priority, unheard, and ends with the process.
#pragma once
#include <functional>
#include <optional>
#include <string>

namespace tl::cpu {

// What the work returns or throws. Nothing: after so many seconds of the processor's time, which a busy machine does
// not shorten, it is not done. The work, and what it has captured, then live on: it must own what it uses.
std::optional<std::string> run_bounded(std::function<std::string()> work, double seconds);

// How often work was left behind in this process.
int left_behind();

// At the end of `main`, with its exit code: work that was left behind uses LLVM's globals, so a process that has some
// ends here, and takes none of them apart.
int end_of_left_behind(int code);

} // namespace tl::cpu

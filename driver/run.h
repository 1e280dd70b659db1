// A program from its arguments to an exit code: what `tl run` and built executables have in common.
#pragma once
#include "driver/arguments.h"
#include "driver/flags.h"
#include "driver/messages.h"
#include <functional>

namespace tl::driver {

// Runs the program, prints or saves its results or reports its failure, and shows what the flags ask for; the exit
// code. `main` is the program's own file; `more_stats` makes further lines for --stats.
int run_program(const Program& program, KernelProvider& kernels, const ProgramArguments& arguments,
                const RunSetup& setup, const SourceManager& sources, FileId main,
                const std::function<std::string()>& more_stats = {});

// The end of a run alone: results to their files or to `out`, or the failure reported; the exit code.
int deliver(const Outcome& outcome, const ProgramInterface& interface, const std::vector<Location>& locations,
            const ProgramArguments& arguments, StandardOutput& out, const SourceManager& sources, FileId main);

// What main() of a process does around `body`: a closed pipe is a failing write, wrong command lines and internal
// errors become messages, a process among several ends with the others. The exit code.
int guarded(const std::function<int()>& body);

} // namespace tl::driver

// The tl command.
#pragma once

namespace tl::cli {

// Runs the command that the words after the first name; gives the exit code. For a process that does nothing else: it
// may end it, and sets signal handlers.
int run_command(int argc, char** argv);

} // namespace tl::cli

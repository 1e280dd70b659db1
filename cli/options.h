// The flags of the compiler and of runs as options of commands.
#pragma once
#include "command_line.h"
#include "compiler/model.h"
#include "compiler/run_flags.h"

namespace tl::cli {

using namespace compiler; // its flags and stages; exit codes, messages and results, which a built executable has too

// What the options fill must outlive the command line.
void add_run_flag(Command app, const RunFlag& flag, RunSetup& setup); // one of the table
void add_run_options(Command app, RunFlags& flags);
void add_compiling_options(Command app, RunFlags& flags); // of these only those that are about compiling
void add_const_seconds(Command app, RunFlags& flags);
void add_looking_options(Command app, RunFlags& flags); // --profile, --trace, --explain-idle, --audit
void add_model_options(Command app, ImportFlags& flags);
// --message-format (TL_MESSAGE_FORMAT), which every command has. What it says holds for the whole process.
void add_message_format(Command app);

} // namespace tl::cli

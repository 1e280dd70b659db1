// One function per command: adds it to the command line; when chosen it runs during parsing and leaves its exit code.
#pragma once
#include "command_line.h"
#include <string>

namespace tl::cli {

void add_run(Command app, int& exit_code);
void add_build(Command app, int& exit_code);
void add_import(Command app, int& exit_code);
void add_check(Command app, int& exit_code);
void add_dump(Command app, int& exit_code);
void add_fmt(Command app, int& exit_code);
void add_test(Command app, int& exit_code);
void add_doc(Command app, int& exit_code);
void add_explain(Command app, int& exit_code);
void add_version(Command app, int& exit_code);
void add_devices(Command app, int& exit_code);
void add_repl(Command app, int& exit_code);
void add_kernel(Command app);
void add_lsp(Command app, int& exit_code);
void add_completions(Command app);
void add_help(Command app); // after all others

std::string version_text();
// A line for each device; where there is no GPU, or no NVRTC, one that says what to do about it.
std::string devices_text(int cpu_devices);

} // namespace tl::cli

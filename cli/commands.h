// One function per command: adds it to the command line; when chosen it runs during parsing and leaves its exit code.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace tl::cli {

void add_run(CLI::App& app, int& exit_code);
void add_build(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_dump(CLI::App& app, int& exit_code);
void add_fmt(CLI::App& app, int& exit_code);
void add_test(CLI::App& app, int& exit_code);
void add_doc(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_version(CLI::App& app, int& exit_code);
void add_devices(CLI::App& app, int& exit_code);
void add_repl(CLI::App& app, int& exit_code);

// Of a function of the prelude, or with an empty name of all; false where there is none of this name.
bool show_documentation(const std::string& name);

std::string version_text();
// A line for each device; where there is no GPU, or no NVRTC, one that says what to do about it.
std::string devices_text(int cpu_devices);

} // namespace tl::cli

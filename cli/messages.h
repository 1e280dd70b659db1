// How diagnostics, run-time failures and wrong command lines are shown on stderr: for people, or
// (--message-format=json) one JSON object a line.
#pragma once
#include "lang/diagnostics.h"
#include "lang/source.h"
#include <CLI/CLI.hpp>

namespace tl::cli {

// Adds --message-format (TL_MESSAGE_FORMAT) to a command. What it says holds for the whole process.
void add_message_format(CLI::App& app);

void show(const Diagnostic& diagnostic, const SourceManager& sources);
void show(const Diagnostics& diagnostics, const SourceManager& sources);
// A message that has no place in a program: `tl: message`, or an object of this kind without file and line.
void show(const std::string& kind, const std::string& message);

} // namespace tl::cli

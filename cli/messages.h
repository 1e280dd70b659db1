// --message-format, which every command has.
#pragma once
#include <CLI/CLI.hpp>

namespace tl::cli {

// Adds --message-format (TL_MESSAGE_FORMAT) to a command. What it says holds for the whole process.
void add_message_format(CLI::App& app);

} // namespace tl::cli

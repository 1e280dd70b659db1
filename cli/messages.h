// --message-format, which every command has.
#pragma once
#include "command_line.h"

namespace tl::cli {

// Adds --message-format (TL_MESSAGE_FORMAT) to a command. What it says holds for the whole process.
void add_message_format(Command app);

} // namespace tl::cli

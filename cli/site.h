// tl doc --html: the manual, the reference of the library, the catalogue of errors and the command line as HTML pages
// that need no network.
#pragma once
#include "command_line.h"
#include <string>

namespace tl::cli {

// Writes all pages into this folder, which is created if it is not there (its parent must be); files of these names in
// it are replaced, others left alone. `app` is the tl command with all its subcommands. Gives the exit code; says what
// went wrong on stderr.
int write_site(const std::string& folder, Command app);

} // namespace tl::cli

// The .tl files that a command line names.
#pragma once
#include <string>
#include <vector>

namespace tl::compiler {

// The text of a program; "-" is standard input. Throws UsageError if it cannot be read.
std::string read_program(const std::string& path);

// Folders replaced by the .tl files anywhere below them, in order of their names; other paths as they are. Throws
// UsageError for a folder that cannot be read.
std::vector<std::string> programs_under(const std::vector<std::string>& paths);

} // namespace tl::compiler

// The .tl files that a command line names.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tl::compiler {

// The text of a program; "-" is standard input. Throws UsageError if it cannot be read.
std::string read_program(const std::string& path);

// Folders replaced by the .tl files anywhere below them, in order of their names; other paths as they are. Throws
// UsageError for a folder that cannot be read.
std::vector<std::string> programs_under(const std::vector<std::string>& paths);

// The files and folders (with a "/" behind them) whose paths begin with this text, as it writes them: "data/tr" gives
// "data/train.npy". `only_programs`: of the files only those. Paths are relative to `base`, or the working directory.
std::vector<std::string> files_beginning(std::string_view typed, bool only_programs, const std::string& base = {});

} // namespace tl::compiler

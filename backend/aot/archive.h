// One object file to a static library, whose other symbols nobody sees: two of them go into one program, and beside
// another libstdc++.
#pragma once
#include <string>
#include <vector>

namespace tl {

// object: path of a relocatable file; output: path of the archive; exports: symbols that stay global. Throws
// BuildError.
void write_archive(const std::string& object, const std::string& output, const std::string& member,
                   const std::vector<std::string>& exports);

} // namespace tl

// What the system says of itself in files under /proc and /sys.
#pragma once
#include <string>

namespace tl {

std::string system_file(const std::string& path); // its text; empty where it cannot be read

} // namespace tl

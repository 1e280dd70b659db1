// A library's Python package as a file that pip installs.
#pragma once
#include "backend/aot/library.h"
#include <string>

namespace tl {

// Where it runs: tests/packaging.sh checks that what tl builds needs no newer glibc.
inline constexpr const char* kWheelPlatform = "manylinux_2_36_x86_64";

// "mlp-0.1.0-cp39-abi3-manylinux_2_36_x86_64.whl"
std::string wheel_name(const Library& library, const std::string& version);

// The package with the extension module at this path. Throws BuildError where that cannot be read, IoError where the
// wheel cannot be written.
void write_wheel(const std::string& path, const Library& library, const std::string& version,
                 const std::string& module);

} // namespace tl

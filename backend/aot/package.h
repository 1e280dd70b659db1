// The Python package of a library: its files, but for the extension module.
#pragma once
#include "backend/aot/library.h"
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tl {

// Names inside the package's folder, and texts. Throws BuildError where this tl was built without Python's headers.
std::vector<std::pair<std::string, std::string>> package_files(const Library& library);
// The name of the extension module there, which every Python from 3.9 on can load.
inline constexpr const char* kExtensionModule = "_tl.abi3.so";
std::string_view extension_object(); // what makes a library one: an object file

} // namespace tl

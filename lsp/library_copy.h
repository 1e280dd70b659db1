// Files of the standard library where an editor can open them: copies in the cache's folder, which nobody may write.
#pragma once
#include <string>
#include <string_view>

namespace tl::lsp {

// Its path, once it is there and has this text; without such a place, the file's own name ("std:linalg.tl").
std::string library_copy(const std::string& name, std::string_view text);
bool is_library_copy(const std::string& path);

} // namespace tl::lsp

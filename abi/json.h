// Text as a JSON string.
#pragma once
#include <string>
#include <string_view>

namespace tl {

// In quotes; what is not UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

} // namespace tl

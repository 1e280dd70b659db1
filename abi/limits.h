// What no program may exceed, whatever memory there is.
#pragma once
#include <cstdint>

namespace tl {

inline constexpr int64_t kLongestAxis = int64_t{1}
                                        << 47; // elements along one axis: more bytes than a process addresses

} // namespace tl

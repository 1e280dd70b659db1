// How wide characters are on a terminal.
#pragma once
#include <cstdint>

namespace tl {

// 0, 1 or 2, of the character of this number (widths.def).
int columns_of(uint32_t code);

} // namespace tl

// How wide the lines of printed tensors may be.
#pragma once
#include <cstddef>

namespace tl {

// Of the whole process from here on; 75 columns, as in NumPy, unless told. For what prints to a terminal.
void set_line_width(size_t columns);

} // namespace tl

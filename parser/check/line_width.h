// How wide a table may be that a program prints: `line_width()` of the library.
#pragma once
#include <cstdint>

namespace tl {

constexpr int64_t kUsualLineWidth = 80;

// Of the programs that are checked from now on. Not thread-safe: a command sets it once, by its terminal.
void set_table_width(int64_t columns);
int64_t table_width();

} // namespace tl

// Lines of equal height through a grid of numbers.
#pragma once
#include "vm/plot/figure.h"
#include <span>

namespace tl::plot {

struct Grid {
  std::span<const double> numbers; // row-major
  int64_t wide = 0, high = 0;
  Box places; // left and right: of the first and the last column; bottom and top: of the first and the last row
};

// Where the numbers, linear along the edges of the grid's cells, pass the level. Cells with NaN have none.
std::vector<std::array<Point, 2>> contour(const Grid& grid, double level);

} // namespace tl::plot

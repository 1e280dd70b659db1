// What of lines and polygons lies in a frame.
#pragma once
#include "vm/plot/picture.h"

namespace tl::plot {

// The parts of the line through the spots that are inside, in order.
std::vector<std::vector<Spot>> clipped_line(const std::vector<Spot>& spots, const Frame& frame);
std::vector<Spot> clipped_polygon(std::vector<Spot> spots, const Frame& frame);

} // namespace tl::plot

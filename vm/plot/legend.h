// Where a panel's legend goes: where it covers no data.
#pragma once
#include "vm/plot/picture.h"

namespace tl::plot {

constexpr double kLegendFont = 12, kLegendRow = 18;

struct LegendSize {
  double width = 0, height = 0;
};
LegendSize legend_size(const Panel& panel);

// Its top left corner, in the first corner of the frame, or middle of a side, where none of the spots is; nothing: none
// is free.
std::optional<Spot> legend_place(const LegendSize& size, const Frame& frame, const std::vector<Spot>& occupied);

} // namespace tl::plot

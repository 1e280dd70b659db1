// The shapes of markers.
#pragma once
#include "vm/plot/picture.h"

namespace tl::plot {

struct MarkOutline { // of a circle there is none
  std::vector<Spot> corners;
  std::vector<std::pair<Spot, Spot>> strokes;
  double width = 0; // of the strokes
};
MarkOutline mark_outline(Marker marker, const Spot& at, double radius);

} // namespace tl::plot

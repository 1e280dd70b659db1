#include "vm/plot/legend.h"
#include "vm/plot/font.h"
#include <algorithm>

namespace tl::plot {

LegendSize legend_size(const Panel& panel) {
  LegendSize size{0, 8};
  for (const Layer& layer : panel.layers) {
    if (layer.name.empty()) continue;
    size.width = std::max(size.width, 44 + kLegendFont * text_width(layer.name));
    size.height += kLegendRow;
  }
  return size;
}

std::optional<Spot> legend_place(const LegendSize& size, const Frame& f, const std::vector<Spot>& occupied) {
  constexpr double gap = 8;
  const double left = f.left + gap, right = f.right - gap - size.width, top = f.top + gap,
               bottom = f.bottom - gap - size.height;
  if (left > right || top > bottom) return std::nullopt;
  const double centre = (left + right) / 2, middle = (top + bottom) / 2;
  for (const Spot& place : {Spot{right, top}, Spot{left, top}, Spot{right, bottom}, Spot{left, bottom},
                            Spot{right, middle}, Spot{left, middle}, Spot{centre, top}, Spot{centre, bottom}}) {
    const auto covers = [&](const Spot& s) {
      return s.x >= place.x && s.x <= place.x + size.width && s.y >= place.y && s.y <= place.y + size.height;
    };
    if (std::none_of(occupied.begin(), occupied.end(), covers)) return place;
  }
  return std::nullopt;
}

} // namespace tl::plot

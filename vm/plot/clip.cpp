#include "vm/plot/clip.h"
#include <algorithm>
#include <optional>
#include <utility>

namespace tl::plot {
namespace {

// Liang and Barsky: of a segment the parts from 0 to 1 between which it is inside.
std::optional<std::pair<double, double>> inside(const Spot& a, const Spot& b, const Frame& f) {
  double from = 0, to = 1;
  const double moves[4] = {a.x - b.x, b.x - a.x, a.y - b.y, b.y - a.y};
  const double rooms[4] = {a.x - f.left, f.right - a.x, a.y - f.top, f.bottom - a.y};
  for (int i = 0; i < 4; ++i) {
    if (moves[i] == 0) {
      if (rooms[i] < 0) return std::nullopt;
      continue;
    }
    const double at = rooms[i] / moves[i];
    if (moves[i] < 0)
      from = std::max(from, at);
    else
      to = std::min(to, at);
  }
  if (from > to) return std::nullopt;
  return std::pair(from, to);
}

Spot between(const Spot& a, const Spot& b, double part) { return {a.x + (b.x - a.x) * part, a.y + (b.y - a.y) * part}; }

// Sutherland and Hodgman: the part of a polygon on one side of a line, where `depth` is not negative.
std::vector<Spot> half(const std::vector<Spot>& spots, const auto& depth) {
  std::vector<Spot> result;
  for (size_t i = 0; i < spots.size(); ++i) {
    const Spot &a = spots[i], &b = spots[(i + 1) % spots.size()];
    const double at_a = depth(a), at_b = depth(b);
    if (at_a >= 0) result.push_back(a);
    if ((at_a >= 0) != (at_b >= 0)) result.push_back(between(a, b, at_a / (at_a - at_b)));
  }
  return result;
}

} // namespace

std::vector<std::vector<Spot>> clipped_line(const std::vector<Spot>& spots, const Frame& frame) {
  std::vector<std::vector<Spot>> parts;
  bool continues = false;
  for (size_t i = 0; i + 1 < spots.size(); ++i) {
    const auto part = inside(spots[i], spots[i + 1], frame);
    if (!part) {
      continues = false;
      continue;
    }
    if (!continues) parts.push_back({between(spots[i], spots[i + 1], part->first)});
    parts.back().push_back(between(spots[i], spots[i + 1], part->second));
    continues = part->second == 1;
  }
  return parts;
}

std::vector<Spot> clipped_polygon(std::vector<Spot> spots, const Frame& f) {
  spots = half(spots, [&](const Spot& s) { return s.x - f.left; });
  spots = half(spots, [&](const Spot& s) { return f.right - s.x; });
  spots = half(spots, [&](const Spot& s) { return s.y - f.top; });
  return half(spots, [&](const Spot& s) { return f.bottom - s.y; });
}

} // namespace tl::plot

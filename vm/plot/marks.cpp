#include "vm/plot/marks.h"

namespace tl::plot {

MarkOutline mark_outline(Marker marker, const Spot& at, double radius) {
  const auto corner = [&](double x, double y) { return Spot{at.x + x * radius, at.y + y * radius}; };
  const auto stroke = [&](double x, double y) { return std::pair(corner(-x, -y), corner(x, y)); };
  switch (marker) {
  case Marker::Square: return {{corner(-0.9, -0.9), corner(0.9, -0.9), corner(0.9, 0.9), corner(-0.9, 0.9)}, {}, 0};
  case Marker::Triangle: return {{corner(0, -1.2), corner(1.1, 0.8), corner(-1.1, 0.8)}, {}, 0};
  case Marker::Diamond: return {{corner(0, -1.3), corner(1.3, 0), corner(0, 1.3), corner(-1.3, 0)}, {}, 0};
  case Marker::Plus: return {{}, {stroke(1.2, 0), stroke(0, 1.2)}, radius / 2};
  case Marker::Cross: return {{}, {stroke(1, 1), stroke(1, -1)}, radius / 2};
  case Marker::None:
  case Marker::Circle: return {};
  }
  return {};
}

} // namespace tl::plot

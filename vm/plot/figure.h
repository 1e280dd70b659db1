// A plot in the coordinates of its data: ranges, ticks, lines, bars. Every output is drawn from this.
#pragma once
#include "vm/plot/plot.h"
#include <array>
#include <cstdint>

namespace tl::plot {

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Colour&) const = default;
};
Colour line_colour(size_t i); // of the i-th line; they repeat

struct Axis {
  double lo = 0, hi = 1;
  std::vector<double> ticks; // within lo and hi, ascending
  std::vector<std::string> labels;
  // 0 at lo, 1 at hi; also where hi - lo is beyond the greatest number.
  double position(double value) const;
};

// A range with ticks at 1, 2 or 5 times a power of ten, about `count` of them. `whole`: the range grows to end at
// ticks. Without a range (lo > hi) it is 0 to 1; one of a single number grows to both sides.
Axis make_axis(double lo, double hi, int count, bool whole);

struct Point {
  double x = 0, y = 0; // NaN: a gap
};
struct Line {
  std::string label;
  std::vector<Point> points;
};
struct Pixels { // row-major from the top, opaque or not
  int64_t width = 0, height = 0;
  std::vector<std::array<uint8_t, 4>> rgba;
};

struct Figure {
  PlotKind kind = PlotKind::Line;
  std::string title;
  std::vector<Line> lines;           // Line, Scatter
  std::vector<double> edges, counts; // Hist: one more edge than counts, ascending
  Pixels pixels;                     // Image; its y axis points down
  Axis x, y;
  bool has_legend() const { return lines.size() > 1; }
};

Figure make_figure(const PlotRequest& request);

} // namespace tl::plot

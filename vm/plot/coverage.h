// How much of each pixel a shape covers: strokes and polygons, united, with edges that are smooth.
#pragma once
#include "vm/plot/picture.h"
#include <algorithm>
#include <cmath>

namespace tl::plot {

class Coverage {
public:
  Coverage(int64_t width, int64_t height)
      : width_(width), height_(height), parts_(static_cast<size_t>(width * height)),
        turns_(static_cast<size_t>((width + 2) * height)) {}

  // What is nearer than `radius` to the segment.
  void stroke(const Spot& a, const Spot& b, double radius);
  // A side of a polygon, in order; several closed ones are one polygon with holes.
  void edge(const Spot& a, const Spot& b);
  void end_polygon();

  // Calls paint(x, y, part) for each pixel that is covered, and forgets them.
  template <class Paint> void take(const Paint& paint) {
    for (int64_t at : touched_) {
      float& part = parts_[static_cast<size_t>(at)];
      if (part > 0) paint(at % width_, at / width_, static_cast<double>(part));
      part = 0;
    }
    touched_.clear();
  }

private:
  void cover(int64_t x, int64_t y, double part);
  void add_turn(double x0, double x1, int64_t row, double height);

  int64_t width_, height_;
  std::vector<float> parts_;
  std::vector<int64_t> touched_;
  // Of the polygon so far: along a row their sums are the parts covered. Of each row the pixels that it has reached.
  std::vector<float> turns_;
  int64_t top_ = INT64_MAX, bottom_ = -1, left_ = INT64_MAX, right_ = -1;
};

} // namespace tl::plot

#include "vm/plot/coverage.h"

namespace tl::plot {

void Coverage::cover(int64_t x, int64_t y, double part) {
  float& before = parts_[static_cast<size_t>(y * width_ + x)];
  if (before == 0) touched_.push_back(y * width_ + x);
  before = std::max(before, static_cast<float>(part));
}

void Coverage::stroke(const Spot& a, const Spot& b, double radius) {
  const double reach = radius + 1;
  const auto pixel = [](double at, int64_t most) {
    return static_cast<int64_t>(std::clamp(at, 0.0, static_cast<double>(most)));
  };
  const int64_t left = pixel(std::min(a.x, b.x) - reach, width_), right = pixel(std::max(a.x, b.x) + reach + 1, width_);
  const int64_t top = pixel(std::min(a.y, b.y) - reach, height_),
                bottom = pixel(std::max(a.y, b.y) + reach + 1, height_);
  const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  for (int64_t y = top; y < bottom; ++y)
    for (int64_t x = left; x < right; ++x) {
      const double px = static_cast<double>(x) + 0.5 - a.x, py = static_cast<double>(y) + 0.5 - a.y;
      const double along = length > 0 ? std::clamp((px * dx + py * dy) / length, 0.0, 1.0) : 0;
      const double distance = std::hypot(px - along * dx, py - along * dy);
      if (const double part = std::clamp(radius + 0.5 - distance, 0.0, 1.0); part > 0) cover(x, y, part);
    }
}

// In one row of pixels, from x0 to x1, over a part `height` of the row (its sign: up or down).
void Coverage::add_turn(double x0, double x1, int64_t row, double height) {
  const double most = static_cast<double>(width_);
  x0 = std::clamp(x0, 0.0, most);
  x1 = std::clamp(x1, 0.0, most);
  if (x0 > x1) std::swap(x0, x1);
  float* turns = turns_.data() + row * (width_ + 2);
  const auto first = static_cast<int64_t>(x0), last = static_cast<int64_t>(x1);
  left_ = std::min(left_, first);
  right_ = std::max(right_, last + 1);
  double before = 0; // the part of the turn that the pixels so far have
  for (int64_t x = first; x <= last; ++x) {
    const double begin = std::max(x0, static_cast<double>(x)), end = std::min(x1, static_cast<double>(x + 1));
    const double share = x1 > x0 ? (end - begin) / (x1 - x0) : 1;
    const double here =
        share * (static_cast<double>(x + 1) - (begin + end) / 2); // in this pixel; the rest is in the next
    turns[x] += static_cast<float>(height * (here + before));
    before = share - here;
    if (x == last) turns[x + 1] += static_cast<float>(height * before);
  }
}

void Coverage::edge(const Spot& a, const Spot& b) {
  if (a.y == b.y) return;
  const bool falls = a.y < b.y;
  const Spot &from = falls ? a : b, &to = falls ? b : a;
  const double top = std::max(0.0, from.y), bottom = std::min(static_cast<double>(height_), to.y);
  const double slope = (to.x - from.x) / (to.y - from.y);
  for (auto row = static_cast<int64_t>(top); static_cast<double>(row) < bottom; ++row) {
    const double y0 = std::max(top, static_cast<double>(row)), y1 = std::min(bottom, static_cast<double>(row + 1));
    if (y1 <= y0) continue;
    add_turn(from.x + (y0 - from.y) * slope, from.x + (y1 - from.y) * slope, row, falls ? y1 - y0 : y0 - y1);
    top_ = std::min(top_, row);
    bottom_ = std::max(bottom_, row);
  }
}

void Coverage::end_polygon() {
  for (int64_t y = top_; y <= bottom_; ++y) {
    float* turns = turns_.data() + y * (width_ + 2);
    float sum = 0;
    for (int64_t x = left_; x <= std::min(right_, width_ + 1); ++x) {
      sum += turns[x];
      turns[x] = 0;
      const double part = std::min(1.0, static_cast<double>(std::abs(sum)));
      if (x < width_ && part > 1e-3) cover(x, y, part);
    }
  }
  top_ = left_ = INT64_MAX;
  bottom_ = right_ = -1;
}

} // namespace tl::plot

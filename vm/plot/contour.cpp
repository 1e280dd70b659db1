// Marching squares: the corners of a cell that lie above the level say which of its edges the line crosses.
#include "vm/plot/contour.h"
#include <cmath>

namespace tl::plot {
namespace {

constexpr int kNone = -1;
// Edge k leads from corner k to corner k + 1 around the cell. By the corners above (bit k for corner k), the edges that
// are joined; of the two saddles this is how it is where the middle lies below.
constexpr int kJoined[16][4] = {
    {kNone, kNone, kNone, kNone}, {3, 0, kNone, kNone}, {0, 1, kNone, kNone}, {3, 1, kNone, kNone},
    {1, 2, kNone, kNone},         {3, 0, 1, 2},         {0, 2, kNone, kNone}, {3, 2, kNone, kNone},
    {2, 3, kNone, kNone},         {2, 0, kNone, kNone}, {0, 1, 2, 3},         {2, 1, kNone, kNone},
    {1, 3, kNone, kNone},         {1, 0, kNone, kNone}, {0, 3, kNone, kNone}, {kNone, kNone, kNone, kNone},
};

class Marcher {
public:
  Marcher(const Grid& grid, double level) : grid_(grid), level_(level) {}

  std::vector<std::array<Point, 2>> run() {
    for (int64_t row = 0; row + 1 < grid_.high; ++row)
      for (int64_t column = 0; column + 1 < grid_.wide; ++column)
        cell(row, column);
    return std::move(segments_);
  }

private:
  double at(int64_t row, int64_t column) const { return grid_.numbers[static_cast<size_t>(row * grid_.wide + column)]; }

  void cell(int64_t row, int64_t column) {
    const double heights[4] = {at(row, column), at(row, column + 1), at(row + 1, column + 1), at(row + 1, column)};
    int above = 0;
    double middle = 0;
    for (int k = 0; k < 4; ++k) {
      if (!std::isfinite(heights[k])) return;
      if (heights[k] > level_) above |= 1 << k;
      middle += heights[k] / 4;
    }
    const bool is_saddle = above == 5 || above == 10;
    const int* joined = kJoined[is_saddle && middle > level_ ? 15 - above : above];
    for (int k = 0; k < 4 && joined[k] != kNone; k += 2)
      segments_.push_back({crossing(row, column, heights, joined[k]), crossing(row, column, heights, joined[k + 1])});
  }

  Point crossing(int64_t row, int64_t column, const double* heights, int edge) const {
    const int end = (edge + 1) % 4;
    const double part = (level_ - heights[edge]) / (heights[end] - heights[edge]);
    auto across = [](int k) { return k == 1 || k == 2 ? 1.0 : 0.0; };
    auto down = [](int k) { return k >= 2 ? 1.0 : 0.0; };
    const double x = static_cast<double>(column) + across(edge) + part * (across(end) - across(edge));
    const double y = static_cast<double>(row) + down(edge) + part * (down(end) - down(edge));
    const Box& p = grid_.places;
    return {p.left + (p.right - p.left) * x / static_cast<double>(grid_.wide - 1),
            p.bottom + (p.top - p.bottom) * y / static_cast<double>(grid_.high - 1)};
  }

  const Grid& grid_;
  double level_;
  std::vector<std::array<Point, 2>> segments_;
};

} // namespace

std::vector<std::array<Point, 2>> contour(const Grid& grid, double level) { return Marcher(grid, level).run(); }

} // namespace tl::plot

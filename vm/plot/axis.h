// Axes: ranges of numbers, powers, moments and categories, and their ticks.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tl::plot {

enum class Scale : uint8_t { Linear, Log, Time, Categories };

struct Range { // of the finite numbers; empty at first
  double lo = std::numeric_limits<double>::infinity(), hi = -std::numeric_limits<double>::infinity();
  void add(double v);
  bool empty() const { return lo > hi; }
};

struct Axis {
  Scale scale = Scale::Linear;
  double lo = 0, hi = 1;     // at the start and the end of the axis; the end may be less
  std::vector<double> ticks; // between them, ascending
  std::vector<std::string> labels;
  // 0 at lo, 1 at hi; also where hi - lo is beyond the greatest number. NaN: it has no place (0 on a logarithmic axis).
  double position(double value) const;
};

// Ticks are at 1, 2 or 5 times a power of ten, about `count` of them. `whole`: the range grows to end at ticks. Without
// a range (lo > hi) it is 0 to 1; one of a single number grows to both sides.
Axis linear_axis(Range range, int count, bool whole);
// Ticks are powers of ten, or also their multiples where the range has few. The range is of positive numbers.
Axis log_axis(Range range, int count, bool whole);
// Of seconds since 1970 in UTC. Ticks are whole seconds, minutes, hours, days, months or years.
Axis time_axis(Range range, int count);
// 0, 1, 2 … in the middle of a place each.
Axis category_axis(const std::vector<std::string>& names);
// The ticks of an axis whose lo and hi are given; lo may be greater.
Axis axis_between(Scale scale, double lo, double hi, int count);

} // namespace tl::plot

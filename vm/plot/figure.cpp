#include "vm/plot/figure.h"
#include "vm/io/io.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace tl::plot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Range {
  double lo = kInfinity, hi = -kInfinity;
  void add(double v) {
    if (!std::isfinite(v)) return;
    lo = std::min(lo, v);
    hi = std::max(hi, v);
  }
};

double at(const HostTensor& x, int64_t i) { return x.get(i).as<double>(); }

// Of a power of ten: 1, 2 or 5 of them, so that about `count` fit into the span.
long double nice_step(long double span, int count) {
  const long double rough = span / count, power = std::pow(10.0L, std::floor(std::log10(rough)));
  for (long double factor : {1.0L, 2.0L, 5.0L})
    if (rough <= factor * power * 1.0000001L) return factor * power;
  return 10 * power;
}

std::string tick_label(double value, double step, double largest) {
  if (value == 0) return "0";
  if (largest < 1e6 && step >= 1e-4 * 0.999) {
    int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
    return fmt::format("{:.{}f}", value, decimals);
  }
  int digits = std::clamp(static_cast<int>(std::ceil(std::log10(largest / step) - 1e-9)) + 1, 1, 17);
  return fmt::format("{:.{}g}", value, digits);
}

void lines_of(const PlotRequest& request, Figure& figure) {
  const bool own_x = request.has_x || request.kind == PlotKind::Scatter;
  size_t label = 0;
  for (size_t k = own_x ? 1 : 0; k < request.tensors.size(); ++k) {
    Line& line = figure.lines.emplace_back();
    size_t end = std::min(request.labels.find('\n', label), request.labels.size());
    if (label <= request.labels.size()) line.label = request.labels.substr(label, end - label);
    label = end + 1;
    const HostTensor& y = request.tensors[k];
    for (int64_t i = 0; i < y.count(); ++i) {
      Point p{own_x ? at(request.tensors[0], i) : static_cast<double>(i), at(y, i)};
      if (!std::isfinite(p.x) || !std::isfinite(p.y)) p = {NAN, NAN};
      line.points.push_back(p);
    }
  }
  Range x, y;
  for (const Line& line : figure.lines)
    for (const Point& p : line.points) {
      x.add(p.x);
      y.add(p.y);
    }
  // Positions are whole numbers.
  const int count = own_x || x.hi >= 6 ? 6 : std::max(1, static_cast<int>(x.hi));
  figure.x = make_axis(x.lo, x.hi, count, request.kind == PlotKind::Scatter);
  figure.y = make_axis(y.lo, y.hi, 5, true);
}

void bars_of(const PlotRequest& request, Figure& figure) {
  const HostTensor& values = request.tensors.at(0);
  const int64_t bins = request.tensors.at(1).get(0).as<int64_t>();
  if (bins < 1 || bins > 100000)
    throw IoError(fmt::format("a histogram has 1 to 100000 bins, not {}", bins), "InvalidRange");
  Range range;
  for (int64_t i = 0; i < values.count(); ++i)
    range.add(at(values, i));
  if (range.lo > range.hi) range = {0, 1};
  if (range.lo == range.hi) {
    const double half = std::max(0.5, std::abs(range.lo) * 1e-3);
    range = {range.lo - half, range.hi + half};
  }
  const long double lo = range.lo, span = static_cast<long double>(range.hi) - lo;
  for (int64_t k = 0; k <= bins; ++k)
    figure.edges.push_back(
        static_cast<double>(lo + span * static_cast<long double>(k) / static_cast<long double>(bins)));
  figure.counts.assign(static_cast<size_t>(bins), 0);
  for (int64_t i = 0; i < values.count(); ++i) {
    const double v = at(values, i);
    if (!std::isfinite(v)) continue;
    auto above = std::upper_bound(figure.edges.begin(), figure.edges.end(), v); // the last bin includes its end
    auto bin = std::clamp<int64_t>(above - figure.edges.begin() - 1, 0, bins - 1);
    ++figure.counts[static_cast<size_t>(bin)];
  }
  figure.x = make_axis(figure.edges.front(), figure.edges.back(), 6, false);
  const double top = *std::max_element(figure.counts.begin(), figure.counts.end());
  figure.y = make_axis(0, std::max(top, 1.0), 5, true);
}

void pixels_of(const PlotRequest& request, Figure& figure) {
  const HostTensor& x = request.tensors.at(0);
  const int64_t channels = x.dims.size() > 2 ? x.dims[2] : 1;
  if (channels != 1 && channels != 3 && channels != 4)
    throw IoError(fmt::format("a picture has 3 or 4 channels, not {}", channels), "ShapeMismatch");
  Pixels& pixels = figure.pixels;
  pixels.height = x.dims[0];
  pixels.width = x.dims[1];
  const bool bytes = x.dtype == DType::U8;
  Range range;
  if (!bytes)
    for (int64_t i = 0; i < x.count(); ++i)
      range.add(at(x, i));
  const long double span = static_cast<long double>(range.hi) - range.lo;
  auto level = [&](int64_t i) -> uint8_t {
    if (bytes) return static_cast<uint8_t>(x.data()[i]);
    const double v = at(x, i);
    if (!std::isfinite(v)) return v > 0 ? 255 : 0;
    return span > 0 ? static_cast<uint8_t>(std::lround(255 * ((v - static_cast<long double>(range.lo)) / span))) : 128;
  };
  const int64_t count = pixels.height * pixels.width;
  for (int64_t i = 0; i < count; ++i) {
    std::array<uint8_t, 4> p{0, 0, 0, 255};
    for (size_t c = 0; c < 3; ++c)
      p[c] = level(channels == 1 ? i : i * channels + static_cast<int64_t>(c));
    if (channels == 4) p[3] = level(i * 4 + 3);
    pixels.rgba.push_back(p);
  }
  auto axis = [](int64_t size, int64_t count) {
    size = std::max<int64_t>(1, size);
    return make_axis(0, static_cast<double>(size), static_cast<int>(std::min(size, count)), false);
  };
  figure.x = axis(pixels.width, 6);
  figure.y = axis(pixels.height, 5);
}

} // namespace

Colour line_colour(size_t i) {
  static constexpr Colour colours[] = {{31, 119, 180},  {214, 39, 40}, {44, 160, 44},   {255, 127, 14},
                                       {148, 103, 189}, {140, 86, 75}, {227, 119, 194}, {23, 190, 207}};
  return colours[i % std::size(colours)];
}

double Axis::position(double value) const {
  const long double from = lo;
  return static_cast<double>((value - from) / (hi - from));
}

Axis make_axis(double lo, double hi, int count, bool whole) {
  if (lo > hi) lo = 0, hi = 1;
  if (lo == hi) {
    const double half = lo == 0 ? 0.5 : std::abs(lo) * 0.1;
    lo = std::max(lo - half, std::numeric_limits<double>::lowest());
    hi = std::min(hi + half, std::numeric_limits<double>::max());
  }
  const long double step = nice_step(static_cast<long double>(hi) - lo, count);
  long double first = std::ceil(lo / step - 1e-9L), last = std::floor(hi / step + 1e-9L);
  Axis axis;
  axis.lo = lo;
  axis.hi = hi;
  if (whole) {
    const long double outer_first = std::floor(lo / step + 1e-9L), outer_last = std::ceil(hi / step - 1e-9L);
    if (std::isfinite(static_cast<double>(outer_first * step)) &&
        std::isfinite(static_cast<double>(outer_last * step))) {
      first = outer_first;
      last = outer_last;
      axis.lo = std::min(lo, static_cast<double>(first * step));
      axis.hi = std::max(hi, static_cast<double>(last * step));
    }
  }
  const double largest = std::max(std::abs(axis.lo), std::abs(axis.hi));
  for (long double k = first; k <= last && axis.ticks.size() < 50; ++k) {
    const auto tick = static_cast<double>(k * step);
    if (!axis.ticks.empty() && tick == axis.ticks.back()) continue; // finer than numbers are
    axis.ticks.push_back(tick);
    axis.labels.push_back(tick_label(tick, static_cast<double>(step), largest));
  }
  return axis;
}

Figure make_figure(const PlotRequest& request) {
  Figure figure;
  figure.kind = request.kind;
  figure.title = request.title;
  switch (request.kind) {
  case PlotKind::Line:
  case PlotKind::Scatter: lines_of(request, figure); break;
  case PlotKind::Hist: bars_of(request, figure); break;
  case PlotKind::Image: pixels_of(request, figure); break;
  }
  return figure;
}

} // namespace tl::plot

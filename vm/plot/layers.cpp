#include "vm/plot/layers.h"
#include "vm/io/io.h"
#include "vm/plot/contour.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tl::plot {
namespace {

constexpr std::string_view kMarkers[] = {"none", "circle", "square", "triangle", "diamond", "plus", "cross"};
constexpr std::string_view kDashes[] = {"none", "solid", "dashed", "dotted", "dashdot"};
constexpr int64_t kMostBins = 100000;
constexpr double kGroupWidth = 0.8; // of the bars at one place

std::vector<Point> points_of(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<Point> points;
  for (size_t i = 0; i < x.size(); ++i)
    points.push_back(std::isfinite(x[i]) && std::isfinite(y[i]) ? Point{x[i], y[i]} : Point{NAN, NAN});
  return points;
}

void style(Layer& layer, const Properties& properties, Dash dash, Marker marker) {
  layer.dash = static_cast<Dash>(properties.choice("line", kDashes, static_cast<size_t>(dash)));
  layer.marker = static_cast<Marker>(properties.choice("marker", kMarkers, static_cast<size_t>(marker)));
  layer.size = properties.number("size", 0);
  layer.opacity = properties.number("opacity", layer.opacity);
  if (!(layer.opacity >= 0 && layer.opacity <= 1) || !(layer.size >= 0 && layer.size <= 1000))
    throw IoError("the size of a plot's marks is 0 to 1000, their opacity 0 to 1", "InvalidRange");
}

// The places of bars by name, in the order in which the names come first.
double place_of(const std::string& name, std::vector<std::string>& categories) {
  const auto found = std::find(categories.begin(), categories.end(), name);
  if (found == categories.end()) categories.push_back(name);
  return static_cast<double>(std::find(categories.begin(), categories.end(), name) - categories.begin());
}

double least_distance(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  double least = INFINITY;
  for (size_t i = 1; i < x.size(); ++i)
    if (x[i] > x[i - 1]) least = std::min(least, x[i] - x[i - 1]);
  return std::isfinite(least) ? least : 1;
}

void bars(Layer& layer, const Properties& properties, Numbers& numbers, Shared& shared) {
  style(layer, properties, Dash::None, Marker::None);
  const int64_t count = properties.count("count", 0, 0, INT64_MAX);
  std::vector<double> places = numbers.take(properties.has("labels") ? 0 : count);
  const std::vector<double> heights = numbers.take(count);
  if (properties.has("labels")) {
    const std::vector<std::string> names = properties.lines("labels");
    for (int64_t i = 0; i < count; ++i)
      places.push_back(place_of(i < std::ssize(names) ? names[static_cast<size_t>(i)] : "", shared.categories));
  }
  const double width = kGroupWidth * (properties.has("labels") ? 1 : least_distance(places));
  const double each = width / static_cast<double>(std::max<size_t>(1, shared.bars));
  const double offset = -width / 2 + each * static_cast<double>(shared.bar++);
  for (size_t i = 0; i < heights.size(); ++i)
    if (std::isfinite(places[i]) && std::isfinite(heights[i])) {
      const double left = places[i] + offset;
      layer.boxes.push_back({left, left + each, std::min(0.0, heights[i]), std::max(0.0, heights[i])});
    }
}

void spread(Layer& layer, const Properties& properties, Numbers& numbers, bool has_middle) {
  const int64_t count = properties.count("count", 0, 0, INT64_MAX);
  const std::vector<double> x = numbers.take(count);
  std::vector<double> middle = numbers.take(has_middle ? count : 0);
  layer.low = numbers.take(count);
  layer.high = numbers.take(count);
  layer.points = points_of(x, has_middle ? middle : layer.high);
  for (size_t i = 0; i < layer.points.size(); ++i)
    if (!std::isfinite(layer.low[i]) || !std::isfinite(layer.high[i])) layer.points[i] = {NAN, NAN};
}

// The numbers [rows, wide] at these places: those of the first and the last column and row.
struct Field {
  int64_t wide = 0, high = 0;
  std::vector<double> numbers;
  Box places;
  Range range;
};

Field field(const Properties& properties, Numbers& numbers, Shared& shared) {
  Field result;
  result.wide = properties.count("wide", 0, 0, INT32_MAX);
  result.high = properties.count("high", 0, 0, INT32_MAX);
  result.numbers = numbers.take(result.wide * result.high);
  const auto x = properties.range("x"), y = properties.range("y");
  const auto last = [](int64_t count) { return static_cast<double>(std::max<int64_t>(1, count) - 1); };
  const std::pair<double, double> across = x.value_or(std::pair(0.0, last(result.wide)));
  const std::pair<double, double> down = y.value_or(std::pair(0.0, last(result.high)));
  result.places = {across.first, across.second, down.first, down.second};
  shared.goes_down = shared.goes_down || !y;
  for (double v : result.numbers)
    result.range.add(v);
  if (const auto limits = properties.range("limits")) {
    if (std::isfinite(limits->first)) result.range.lo = limits->first;
    if (std::isfinite(limits->second)) result.range.hi = limits->second;
  }
  if (result.range.empty()) result.range = {0, 1};
  shared.numbers.add(result.range.lo);
  shared.numbers.add(result.range.hi);
  return result;
}

double part_of(double v, const Range& range) {
  const long double span = static_cast<long double>(range.hi) - range.lo;
  return span > 0 ? static_cast<double>((v - static_cast<long double>(range.lo)) / span) : 0.5;
}

void heat(Layer& layer, const Properties& properties, Numbers& numbers, Shared& shared) {
  const Field f = field(properties, numbers, shared);
  const ColourMap map = colour_map_of(properties);
  layer.pixels.width = f.wide;
  layer.pixels.height = f.high;
  for (double v : f.numbers) {
    if (!std::isfinite(v)) {
      layer.pixels.rgba.push_back({255, 255, 255, 0});
      continue;
    }
    const Colour c = colour_at(map, part_of(v, f.range));
    layer.pixels.rgba.push_back({c.red, c.green, c.blue, 255});
  }
  const auto half = [](double from, double to, int64_t count) {
    return count > 1 ? (to - from) / static_cast<double>(count - 1) / 2 : 0.5;
  };
  const double across = half(f.places.left, f.places.right, f.wide), down = half(f.places.bottom, f.places.top, f.high);
  layer.extent = {f.places.left - across, f.places.right + across, f.places.top + down, f.places.bottom - down};
}

void contours(Layer& layer, const Properties& properties, Numbers& numbers, Shared& shared) {
  const Field f = field(properties, numbers, shared);
  const ColourMap map = colour_map_of(properties);
  layer.size = properties.number("size", 0);
  const Axis levels = linear_axis(f.range, static_cast<int>(properties.count("levels", 8, 1, 100)), false);
  for (double level : levels.ticks)
    layer.contours.push_back(
        {colour_at(map, part_of(level, f.range)), contour({f.numbers, f.wide, f.high, f.places}, level)});
}

std::vector<double> take_counted(const Properties& properties, Numbers& numbers) {
  return numbers.take(properties.count("count", 0, 0, INT64_MAX));
}

void curve(Layer& layer, const Properties& properties, Numbers& numbers, Shared&) {
  style(layer, properties, Dash::Solid, Marker::None);
  const std::vector<double> x = take_counted(properties, numbers);
  layer.points = points_of(x, take_counted(properties, numbers));
}

void points(Layer& layer, const Properties& properties, Numbers& numbers, Shared&) {
  style(layer, properties, Dash::None, Marker::Circle);
  const std::vector<double> x = take_counted(properties, numbers);
  layer.points = points_of(x, take_counted(properties, numbers));
}

void histogram_bars(Layer& layer, const Properties& properties, Numbers& numbers, Shared& shared) {
  layer.opacity = shared.histograms > 1 ? 0.6 : 1;
  style(layer, properties, Dash::None, Marker::None);
  layer.boxes = histogram(take_counted(properties, numbers), properties.count("bins", 30, INT64_MIN, INT64_MAX),
                          properties.range("limits"), properties.text("density") == "true");
}

void errors(Layer& layer, const Properties& properties, Numbers& numbers, Shared&) {
  style(layer, properties, Dash::None, Marker::Circle);
  spread(layer, properties, numbers, true);
}

void area(Layer& layer, const Properties& properties, Numbers& numbers, Shared&) {
  layer.is_area = true;
  layer.opacity = 0.3;
  style(layer, properties, Dash::None, Marker::None);
  spread(layer, properties, numbers, false);
}

struct Kind {
  std::string_view name;
  void (*make)(Layer&, const Properties&, Numbers&, Shared&);
};
constexpr Kind kKinds[] = {{"curve", curve},   {"points", points}, {"bars", bars}, {"histogram", histogram_bars},
                           {"errors", errors}, {"area", area},     {"heat", heat}, {"contours", contours}};

Colour colour_of(const Properties& properties, size_t index) {
  if (!properties.has("colour")) return line_colour(index);
  const std::string name = properties.text("colour");
  if (const auto colour = colour_named(name)) return *colour;
  throw IoError(fmt::format("no colour of a plot: \"{}\" (red, or #d62728, would be one)", name), "InvalidRange");
}

} // namespace

std::vector<double> Numbers::take(int64_t count) {
  if (count < 0 || count > all_.count() - next_)
    throw IoError("the description of a plot asks for more numbers than there are", "InvalidRange");
  std::vector<double> result;
  result.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    result.push_back(all_.get(next_ + i).as<double>());
  next_ += count;
  return result;
}

std::vector<Box> histogram(const std::vector<double>& values, int64_t bins,
                           std::optional<std::pair<double, double>> range, bool density) {
  if (bins < 1 || bins > kMostBins)
    throw IoError(fmt::format("a histogram has 1 to {} bins, not {}", kMostBins, bins), "InvalidRange");
  Range all;
  for (double v : values)
    all.add(v);
  if (range) {
    if (!(range->first < range->second) || !std::isfinite(range->first) || !std::isfinite(range->second))
      throw IoError(fmt::format("the range of a histogram ascends, not {} to {}", range->first, range->second),
                    "InvalidRange");
    all = {range->first, range->second};
  }
  if (all.empty()) all = {0, 1};
  if (all.lo == all.hi) {
    const double half = std::max(0.5, std::abs(all.lo) * 1e-3);
    all = {all.lo - half, all.hi + half};
  }
  const long double lo = all.lo, span = static_cast<long double>(all.hi) - lo;
  std::vector<double> edges;
  for (int64_t k = 0; k <= bins; ++k)
    edges.push_back(static_cast<double>(lo + span * static_cast<long double>(k) / static_cast<long double>(bins)));
  std::vector<double> counts(static_cast<size_t>(bins));
  double total = 0;
  for (double v : values) {
    if (!std::isfinite(v) || v < all.lo || v > all.hi) continue;
    auto above = std::upper_bound(edges.begin(), edges.end(), v); // the last bin includes its end
    ++counts[static_cast<size_t>(std::clamp<int64_t>(above - edges.begin() - 1, 0, bins - 1))];
    ++total;
  }
  std::vector<Box> boxes;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double scale = density && total > 0 ? 1 / (total * (edges[i + 1] - edges[i])) : 1;
    boxes.push_back({edges[i], edges[i + 1], 0, counts[i] * scale});
  }
  return boxes;
}

ColourMap colour_map_of(const Properties& properties) {
  static constexpr std::string_view names[] = {name_of(ColourMap::Viridis), name_of(ColourMap::Grey),
                                               name_of(ColourMap::Blues), name_of(ColourMap::Diverging)};
  static_assert(std::size(names) == kColourMapCount);
  return static_cast<ColourMap>(properties.choice("colours", names, 0));
}

Layer make_layer(const LayerText& text, Numbers& numbers, size_t index, Shared& shared) {
  const auto kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.name == text.kind; });
  if (kind == std::end(kKinds))
    throw IoError(fmt::format("a plot has no layers of the kind \"{}\"", text.kind), "InvalidRange");
  Layer layer;
  layer.name = text.properties.text("name");
  layer.colour = colour_of(text.properties, index);
  shared.has_time = shared.has_time || text.properties.has("time");
  kind->make(layer, text.properties, numbers, shared);
  return layer;
}

} // namespace tl::plot

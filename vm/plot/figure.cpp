#include "vm/plot/figure.h"
#include "vm/io/io.h"
#include "vm/plot/layers.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tl::plot {
namespace {

constexpr int kXTicks = 6, kYTicks = 5;
constexpr double kPanelWidth = 640, kPanelHeight = 400; // of one alone
constexpr double kLeastSize = 100, kGreatestSize = 4000;
constexpr double kGridWidth = 440, kGridHeight = 320; // of one among others

double at(const HostTensor& x, int64_t i) { return x.get(i).as<double>(); }

Scale scale_of(const Properties& properties, std::string_view key) {
  static constexpr std::string_view names[] = {"linear", "log"};
  return static_cast<Scale>(properties.choice(key, names, 0));
}

// A point without a place on a logarithmic axis is left out.
void leave_out(Panel& panel, Scale x, Scale y) {
  for (Layer& layer : panel.layers)
    for (size_t i = 0; i < layer.points.size(); ++i) {
      Point& p = layer.points[i];
      if ((x == Scale::Log && p.x <= 0) || (y == Scale::Log && p.y <= 0)) p = {NAN, NAN};
      if (y == Scale::Log && !layer.low.empty() && layer.high[i] <= 0) p = {NAN, NAN};
    }
}

struct Extent {
  Range x, y;
};

void add_points(Extent& all, const Layer& layer, bool positive) {
  for (size_t i = 0; i < layer.points.size(); ++i) {
    const Point& p = layer.points[i];
    if (std::isnan(p.x)) continue;
    all.x.add(p.x);
    all.y.add(p.y);
    if (layer.low.empty()) continue;
    if (!positive || layer.low[i] > 0) all.y.add(layer.low[i]);
    all.y.add(layer.high[i]);
  }
}

// The numbers that the axes have to reach. Bars of a logarithmic axis start somewhat below the lowest.
Extent extent_of(const Panel& panel, bool positive_y) {
  Extent all;
  for (const Layer& layer : panel.layers) {
    add_points(all, layer, positive_y);
    for (const Box& box : layer.boxes) {
      all.x.add(box.left);
      all.x.add(box.right);
      if (!positive_y || box.bottom > 0) all.y.add(box.bottom);
      if (!positive_y || box.top > 0) all.y.add(positive_y ? box.top / 2 : box.top);
      if (positive_y && box.top > 0) all.y.add(box.top);
    }
    if (!layer.pixels.rgba.empty()) {
      for (double x : {layer.extent.left, layer.extent.right})
        all.x.add(x);
      for (double y : {layer.extent.bottom, layer.extent.top})
        all.y.add(y);
    }
    for (const Contour& c : layer.contours)
      for (const auto& segment : c.segments)
        for (const Point& p : segment) {
          all.x.add(p.x);
          all.y.add(p.y);
        }
    if (!layer.boxes.empty() && all.y.lo == 0 && all.y.hi == 0) all.y.hi = 1;
  }
  return all;
}

bool draws_numbers(const Layer& layer) { return !layer.points.empty() || !layer.low.empty(); }

bool any_number(const Panel& panel) {
  return std::any_of(panel.layers.begin(), panel.layers.end(), [](const Layer& layer) {
    return draws_numbers(layer) || !layer.boxes.empty() || !layer.pixels.rgba.empty();
  });
}

// Limits that are given replace those of the data; NaN stands for the data's.
void limit(Axis& axis, const Properties& properties, std::string_view key, int count) {
  const auto limits = properties.range(key);
  if (!limits) return;
  const double lo = std::isnan(limits->first) ? axis.lo : limits->first;
  const double hi = std::isnan(limits->second) ? axis.hi : limits->second;
  if (!std::isfinite(lo) || !std::isfinite(hi) || lo == hi)
    throw IoError(fmt::format("{} of a plot is a pair of two numbers, not {} and {}", key, lo, hi), "InvalidRange");
  if (axis.scale == Scale::Log && (lo <= 0 || hi <= 0))
    throw IoError(fmt::format("{} of a logarithmic axis is a pair of positive numbers, not {} and {}", key, lo, hi),
                  "InvalidRange");
  if (axis.scale == Scale::Categories) {
    axis.lo = lo;
    axis.hi = hi;
    return;
  }
  axis = axis_between(axis.scale, lo, hi, count);
}

void refuse_without_positive(const Range& range, const Panel& panel, std::string_view axis) {
  if (range.empty() && any_number(panel))
    throw IoError(fmt::format("the {} axis of a plot is logarithmic and there is no positive number on it", axis),
                  "InvalidRange");
}

bool all_layers(const Panel& panel, bool (*holds)(const Layer&)) {
  return !panel.layers.empty() && std::all_of(panel.layers.begin(), panel.layers.end(), holds);
}
bool only_points(const Layer& l) { return l.dash == Dash::None && l.marker != Marker::None; }
bool has_marks(const Layer& l) { return l.marker != Marker::None || (!l.low.empty() && !l.is_area); }
bool is_field(const Layer& l) { return !l.pixels.rgba.empty() || !l.contours.empty(); }

// Room for marks at the ends of an axis.
Range with_margin(Range range, bool is_log) {
  constexpr double part = 0.03;
  if (range.empty() || range.lo == range.hi) return range;
  const double a = is_log ? std::log10(range.lo) : range.lo, b = is_log ? std::log10(range.hi) : range.hi;
  const double margin = (b - a) * part; // infinite where the range is beyond the greatest number
  if (!std::isfinite(margin) || !std::isfinite(a - margin) || !std::isfinite(b + margin)) return range;
  if (is_log) return {std::pow(10.0, a - margin), std::pow(10.0, b + margin)};
  return {a - margin, b + margin};
}

void make_axes(Panel& panel, const Properties& properties, const Shared& shared, int x_ticks, int y_ticks) {
  const Scale x = scale_of(properties, "xscale"), y = scale_of(properties, "yscale");
  leave_out(panel, x, y);
  Extent all = extent_of(panel, y == Scale::Log);
  const bool whole_x = all_layers(panel, only_points), whole_y = !all_layers(panel, is_field);
  if (!whole_x && std::any_of(panel.layers.begin(), panel.layers.end(), has_marks))
    all.x = with_margin(all.x, x == Scale::Log);
  if (x == Scale::Log) {
    refuse_without_positive(all.x.lo > 0 ? all.x : Range(), panel, "x");
    panel.x = log_axis(all.x, x_ticks, whole_x);
  } else if (!shared.categories.empty()) {
    panel.x = category_axis(shared.categories);
  } else {
    panel.x = shared.has_time ? time_axis(all.x, x_ticks) : linear_axis(all.x, x_ticks, whole_x);
  }
  if (y == Scale::Log) refuse_without_positive(all.y, panel, "y");
  panel.y = y == Scale::Log ? log_axis(all.y, y_ticks, whole_y) : linear_axis(all.y, y_ticks, whole_y);
  if (shared.goes_down && whole_y == false) panel.y = axis_between(panel.y.scale, panel.y.hi, panel.y.lo, y_ticks);
  limit(panel.x, properties, "xlim", x_ticks);
  limit(panel.y, properties, "ylim", y_ticks);
}

void read_labels(Panel& panel, const Properties& properties) {
  panel.title = properties.text("title");
  panel.x_label = properties.text("xlabel");
  panel.y_label = properties.text("ylabel");
  panel.grid = properties.text("grid") != "false";
  panel.legend = properties.text("legend") != "false";
  panel.square = properties.text("square") == "true";
}

// ---- Lines

// Without x, positions: whole numbers.
int ticks_of_positions(const Panel& panel) {
  size_t last = 0;
  for (const Layer& layer : panel.layers)
    last = std::max(last, layer.points.size());
  return std::clamp(static_cast<int>(std::min<size_t>(last, kXTicks + 1)) - 1, 1, kXTicks);
}

void lines_of(const PlotRequest& request, Panel& panel) {
  Properties labels;
  labels.add("labels", request.labels);
  const std::vector<std::string> names = labels.lines("labels");
  for (size_t k = request.has_x ? 1 : 0; k < request.tensors.size(); ++k) {
    Layer& layer = panel.layers.emplace_back();
    const size_t i = panel.layers.size() - 1;
    layer.colour = line_colour(i);
    layer.dash = Dash::Solid;
    if (i < names.size() && request.tensors.size() > (request.has_x ? 2u : 1u)) layer.name = names[i];
    const HostTensor& y = request.tensors[k];
    for (int64_t j = 0; j < y.count(); ++j) {
      const Point p{request.has_x ? at(request.tensors[0], j) : static_cast<double>(j), at(y, j)};
      layer.points.push_back(std::isfinite(p.x) && std::isfinite(p.y) ? p : Point{NAN, NAN});
    }
  }
}

// ---- Pictures

// Of each element a byte: bytes as they are, numbers from the least (0) to the greatest (255).
class Levels {
public:
  explicit Levels(const HostTensor& x) : x_(x) {
    if (x.dtype == DType::U8) return;
    for (int64_t i = 0; i < x.count(); ++i)
      range_.add(at(x, i));
  }
  uint8_t operator()(int64_t i) const {
    if (x_.dtype == DType::U8) return static_cast<uint8_t>(x_.data()[i]);
    const double v = at(x_, i);
    if (!std::isfinite(v)) return v > 0 ? 255 : 0;
    const long double lo = range_.lo, span = range_.hi - lo;
    return span > 0 ? static_cast<uint8_t>(std::lround(255 * ((v - lo) / span))) : 128;
  }

private:
  const HostTensor& x_;
  Range range_;
};

void picture_of(const HostTensor& x, Panel& panel) {
  const int64_t channels = x.dims.size() > 2 ? x.dims[2] : 1;
  if (channels != 1 && channels != 3 && channels != 4)
    throw IoError(fmt::format("a picture has 3 or 4 channels, not {}", channels), "ShapeMismatch");
  Layer& layer = panel.layers.emplace_back();
  Pixels& pixels = layer.pixels;
  pixels.height = x.dims[0];
  pixels.width = x.dims[1];
  const Levels level(x);
  const int64_t count = pixels.height * pixels.width;
  for (int64_t i = 0; i < count; ++i) {
    std::array<uint8_t, 4> p{0, 0, 0, 255};
    for (size_t c = 0; c < 3; ++c)
      p[c] = level(channels == 1 ? i : i * channels + static_cast<int64_t>(c));
    if (channels == 4) p[3] = level(i * 4 + 3);
    pixels.rgba.push_back(p);
  }
  const auto size = [](int64_t n) { return static_cast<double>(std::max<int64_t>(1, n)); };
  const auto ticks = [](int64_t n, int most) { return static_cast<int>(std::clamp<int64_t>(n, 1, most)); };
  layer.extent = {0, size(pixels.width), size(pixels.height), 0};
  panel.x = axis_between(Scale::Linear, 0, size(pixels.width), ticks(pixels.width, kXTicks));
  panel.y = axis_between(Scale::Linear, size(pixels.height), 0, ticks(pixels.height, kYTicks));
  panel.grid = false;
  panel.square = true;
}

// ---- Descriptions

void add_bar(Panel& panel, const PanelText& text, const Shared& shared) {
  for (const LayerText& layer : text.layers)
    if (layer.kind == "heat" || layer.kind == "contours") {
      panel.bar = ColourBar{colour_map_of(layer.properties), linear_axis(shared.numbers, kXTicks, false)};
      return;
    }
}

Panel panel_of(const PanelText& text, Numbers& numbers, bool alone) {
  Panel panel;
  read_labels(panel, text.properties);
  Shared shared;
  for (const LayerText& layer : text.layers) {
    shared.bars += layer.kind == "bars";
    shared.histograms += layer.kind == "histogram";
  }
  for (const LayerText& layer : text.layers)
    panel.layers.push_back(make_layer(layer, numbers, panel.layers.size(), shared));
  add_bar(panel, text, shared);
  panel.grid = panel.grid && std::none_of(panel.layers.begin(), panel.layers.end(), is_field);
  make_axes(panel, text.properties, shared, alone ? kXTicks : kXTicks - 1, kYTicks);
  return panel;
}

void described(const PlotRequest& request, const FigureText& text, Figure& figure) {
  Numbers numbers(request.tensors.at(0));
  const auto panels = std::ssize(text.panels);
  const auto columns = text.properties.count("columns", std::min<int64_t>(panels, 2), 1, 100);
  figure.columns = static_cast<int>(std::min<int64_t>(columns, panels));
  const int64_t rows = (panels + figure.columns - 1) / figure.columns;
  figure.title = text.properties.text("heading");
  const double width = panels == 1 ? kPanelWidth : kGridWidth * figure.columns;
  const double height = panels == 1 ? kPanelHeight : kGridHeight * static_cast<double>(rows);
  const Properties& sized = panels == 1 && !text.properties.has("width") ? text.panels[0].properties : text.properties;
  figure.width = sized.number("width", width);
  figure.height = sized.number("height", height);
  const auto fits = [](double size) { return size >= kLeastSize && size <= kGreatestSize; };
  if (!fits(figure.width) || !fits(figure.height))
    throw IoError(fmt::format("a plot is {} to {} points wide and high, not {} by {}", kLeastSize, kGreatestSize,
                              figure.width, figure.height),
                  "InvalidRange");
  for (const PanelText& panel : text.panels)
    figure.panels.push_back(panel_of(panel, numbers, panels == 1));
}

} // namespace

bool Panel::has_legend() const {
  return legend && std::any_of(layers.begin(), layers.end(), [](const Layer& layer) { return !layer.name.empty(); });
}

Figure make_figure(const PlotRequest& request) {
  Figure figure;
  const FigureText text = read_description(request.description);
  if (request.kind == PlotKind::Described) {
    described(request, text, figure);
    return figure;
  }
  Panel& panel = figure.panels.emplace_back();
  read_labels(panel, text.properties);
  if (request.kind == PlotKind::Image) {
    picture_of(request.tensors.at(0), panel);
    return figure;
  }
  lines_of(request, panel);
  make_axes(panel, text.properties, {}, request.has_x ? kXTicks : ticks_of_positions(panel), kYTicks);
  return figure;
}

} // namespace tl::plot

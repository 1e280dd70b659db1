#include "vm/plot/picture.h"
#include "vm/plot/clip.h"
#include "vm/plot/font.h"
#include "vm/plot/legend.h"
#include <algorithm>
#include <cmath>

namespace tl::plot {
namespace {

constexpr Colour kInk{40, 40, 40}, kGrid{221, 221, 221}, kPaper{250, 250, 250};
constexpr double kTickFont = 12, kLabelFont = 13, kTitleFont = 15, kHeadingFont = 17;
constexpr double kBarGap = 16, kBarWidth = 14; // of the bar of colours
constexpr double kLineWidth = 2;
constexpr double kLeastRoom = 40; // of a category, for a part of its name
constexpr double kFarthest = 1e7; // what lies farther off the page is as good as there

Frame grown(const Frame& f, double by) { return {f.left - by, f.right + by, f.top - by, f.bottom + by}; }

class PanelComposer {
public:
  PanelComposer(const Panel& panel, const Frame& cell, std::vector<Shape>& shapes)
      : panel_(panel), cell_(cell), shapes_(shapes) {}

  void run() {
    lay_out();
    std::optional<Spot> legend;
    if (panel_.has_legend()) {
      const LegendSize size = legend_size(panel_);
      legend = legend_place(size, frame_, occupied());
      if (!legend) { // beside the panel
        frame_.right = std::max(frame_.left + 20, frame_.right - size.width - 10);
        legend = Spot{frame_.right + 10 + bar_room(), frame_.top};
      }
    }
    grid();
    for (const Layer& layer : panel_.layers)
      draw(layer);
    border(frame_);
    if (panel_.bar) colour_bar();
    if (legend) draw_legend(*legend);
    labels();
  }

private:
  // ---- Layout

  static double widest(const std::vector<std::string>& labels) {
    double width = 0;
    for (const std::string& label : labels)
      width = std::max(width, text_width(label) * kTickFont);
    return width;
  }
  double bar_room() const { return panel_.bar ? kBarGap + kBarWidth + 8 + widest(panel_.bar->axis.labels) : 0; }

  void lay_out() {
    frame_.left = cell_.left + 22 + widest(panel_.y.labels) + (panel_.y_label.empty() ? 0 : 20);
    frame_.right = std::max(frame_.left + 20, cell_.right - 20 - bar_room());
    frame_.top = cell_.top + (panel_.title.empty() ? 20 : 40);
    frame_.bottom = std::max(frame_.top + 20, cell_.bottom - (panel_.x_label.empty() ? 32 : 52));
    if (panel_.square) make_square();
  }

  // A unit is as long across as it is down.
  void make_square() {
    const double wide = frame_.right - frame_.left, high = frame_.bottom - frame_.top;
    const double ratio = std::abs(panel_.x.hi - panel_.x.lo) / std::abs(panel_.y.hi - panel_.y.lo);
    if (!std::isfinite(ratio) || ratio <= 0) return; // the axes are beyond the greatest number
    const double width = std::clamp(high * ratio, 20.0, wide), height = std::clamp(width / ratio, 20.0, high);
    frame_.left += (wide - width) / 2;
    frame_.right = frame_.left + width;
    frame_.bottom = frame_.top + height;
  }

  double across(double x) const { return frame_.left + (frame_.right - frame_.left) * placed(panel_.x, x); }
  double down(double y) const { return frame_.bottom - (frame_.bottom - frame_.top) * placed(panel_.y, y); }
  static double placed(const Axis& axis, double v) {
    const double part = axis.position(v);
    return std::isnan(part) ? 0 : std::clamp(part, -kFarthest, kFarthest);
  }
  Spot spot(const Point& p) const { return {across(p.x), down(p.y)}; }

  // ---- Shapes

  Shape& add(Shape::Kind kind, Colour colour, double size, std::vector<Spot> spots) {
    Shape& shape = shapes_.emplace_back();
    shape.kind = kind;
    shape.colour = colour;
    shape.size = size;
    shape.spots = std::move(spots);
    return shape;
  }
  // Of the data: what lies outside of the frame is not seen.
  Shape& add_data(Shape::Kind kind, Colour colour, double size, std::vector<Spot> spots) {
    Shape& shape = add(kind, colour, size, std::move(spots));
    const Frame wider = grown(frame_, 0.01);
    for (const Spot& s : shape.spots)
      if (s.x < wider.left || s.x > wider.right || s.y < wider.top || s.y > wider.bottom) shape.clip = frame_;
    return shape;
  }
  void text(const std::string& what, Spot at, Shape::Anchor anchor, double size, bool upwards = false) {
    if (what.empty()) return;
    Shape& shape = add(Shape::Kind::Text, kInk, size, {at});
    shape.text = what;
    shape.anchor = anchor;
    shape.upwards = upwards;
  }
  void border(const Frame& f) {
    add(Shape::Kind::Curve, kInk, 1,
        {{f.left, f.top}, {f.right, f.top}, {f.right, f.bottom}, {f.left, f.bottom}, {f.left, f.top}});
  }

  // ---- Axes

  double room_of_tick() const {
    return (frame_.right - frame_.left) / static_cast<double>(std::max<size_t>(1, panel_.x.ticks.size()));
  }

  // Of the ticks every so many, so that their labels do not touch.
  size_t stride(const std::vector<std::string>& labels) const {
    return static_cast<size_t>(std::max(1.0, std::ceil((widest(labels) + 8) / std::max(1.0, room_of_tick()))));
  }

  // Names of categories are cut where there is room for a part of each.
  std::vector<std::string> x_labels() const {
    std::vector<std::string> labels = panel_.x.labels;
    if (panel_.x.scale != Scale::Categories || room_of_tick() < kLeastRoom) return labels;
    for (std::string& label : labels)
      if (const double room = room_of_tick() - 8; text_width(label) * kTickFont > room) {
        while (!label.empty() && text_width(label + "…") * kTickFont > room) {
          while ((static_cast<unsigned char>(label.back()) & 0xC0) == 0x80)
            label.pop_back();
          label.pop_back();
        }
        label += "…";
      }
    return labels;
  }

  void grid() {
    std::vector<Spot> lines;
    const std::vector<std::string> labels = x_labels();
    const size_t step = stride(labels);
    for (size_t i = 0; i < panel_.x.ticks.size(); ++i) {
      const double x = across(panel_.x.ticks[i]);
      if (panel_.x.scale != Scale::Categories) lines.insert(lines.end(), {{x, frame_.top}, {x, frame_.bottom}});
      if (i % step == 0) text(labels[i], {x, frame_.bottom + 18}, Shape::Anchor::Middle, kTickFont);
    }
    for (size_t i = 0; i < panel_.y.ticks.size(); ++i) {
      const double y = down(panel_.y.ticks[i]);
      lines.insert(lines.end(), {{frame_.left, y}, {frame_.right, y}});
      text(panel_.y.labels[i], {frame_.left - 8, y + 4}, Shape::Anchor::End, kTickFont);
    }
    if (panel_.grid && !lines.empty()) add(Shape::Kind::Segments, kGrid, 1, std::move(lines));
  }

  void labels() {
    const double middle = (frame_.left + frame_.right) / 2;
    text(panel_.title, {middle, frame_.top - 14}, Shape::Anchor::Middle, kTitleFont);
    text(panel_.x_label, {middle, frame_.bottom + 40}, Shape::Anchor::Middle, kLabelFont);
    text(panel_.y_label, {frame_.left - 16 - widest(panel_.y.labels), (frame_.top + frame_.bottom) / 2},
         Shape::Anchor::Middle, kLabelFont, true);
  }

  void colour_bar() {
    const Frame f{frame_.right + kBarGap, frame_.right + kBarGap + kBarWidth, frame_.top, frame_.bottom};
    Shape& strip = add(Shape::Kind::Pixels, kInk, 1, {{f.left, f.top}, {f.right, f.bottom}});
    strip.pixels.width = 1;
    strip.pixels.height = 256;
    for (int i = 255; i >= 0; --i) {
      const Colour c = colour_at(panel_.bar->map, i / 255.0);
      strip.pixels.rgba.push_back({c.red, c.green, c.blue, 255});
    }
    border(f);
    const Axis& axis = panel_.bar->axis;
    for (size_t i = 0; i < axis.ticks.size(); ++i)
      text(axis.labels[i], {f.right + 6, f.bottom - (f.bottom - f.top) * axis.position(axis.ticks[i]) + 4},
           Shape::Anchor::Start, kTickFont);
  }

  // ---- Layers

  void draw(const Layer& layer) {
    if (!layer.pixels.rgba.empty()) pixels(layer);
    if (layer.is_area) area(layer);
    boxes(layer);
    for (const Contour& c : layer.contours)
      segments(c);
    if (!layer.low.empty() && !layer.is_area) whiskers(layer);
    if (layer.dash != Dash::None) line(layer);
    if (layer.marker != Marker::None) marks(layer);
  }

  void pixels(const Layer& layer) {
    const Box& e = layer.extent;
    Spot a{across(e.left), down(e.top)}, b{across(e.right), down(e.bottom)};
    Pixels shown = layer.pixels;
    if (b.x < a.x) flip_columns(shown), std::swap(a.x, b.x);
    if (b.y < a.y) flip_rows(shown), std::swap(a.y, b.y);
    add_data(Shape::Kind::Pixels, kInk, 1, {a, b}).pixels = std::move(shown);
  }
  static void flip_rows(Pixels& p) {
    for (int64_t row = 0; row < p.height / 2; ++row)
      std::swap_ranges(p.rgba.begin() + row * p.width, p.rgba.begin() + (row + 1) * p.width,
                       p.rgba.begin() + (p.height - 1 - row) * p.width);
  }
  static void flip_columns(Pixels& p) {
    for (int64_t row = 0; row < p.height; ++row)
      std::reverse(p.rgba.begin() + row * p.width, p.rgba.begin() + (row + 1) * p.width);
  }

  void boxes(const Layer& layer) {
    if (layer.boxes.empty()) return;
    const double width = std::abs(across(layer.boxes[0].right) - across(layer.boxes[0].left));
    const double gap = width > 6 ? 1 : 0;
    for (const Box& box : layer.boxes) {
      if (box.top == box.bottom) continue;
      const Spot a{across(box.left), down(box.top)}, b{across(box.right), down(box.bottom)};
      const Spot low{std::min(a.x, b.x), std::min(a.y, b.y)}, high{std::max(a.x, b.x) - gap, std::max(a.y, b.y)};
      const Frame& f = frame_; // a rectangle is cut by cutting its corners
      const Spot from{std::max(low.x, f.left), std::max(low.y, f.top)},
          to{std::min(high.x, f.right), std::min(high.y, f.bottom)};
      if (from.x < to.x && from.y <= to.y) add(Shape::Kind::Bar, layer.colour, 1, {from, to}).opacity = layer.opacity;
    }
  }

  // Runs of points without a gap.
  static std::vector<std::pair<size_t, size_t>> runs(const std::vector<Point>& points) {
    std::vector<std::pair<size_t, size_t>> result;
    for (size_t i = 0; i < points.size(); ++i) {
      if (std::isnan(points[i].x)) continue;
      if (!i || std::isnan(points[i - 1].x)) result.emplace_back(i, i);
      result.back().second = i + 1;
    }
    return result;
  }

  void area(const Layer& layer) {
    for (const auto& [begin, end] : runs(layer.points)) {
      std::vector<Spot> spots;
      for (size_t i = begin; i < end; ++i)
        spots.push_back({across(layer.points[i].x), down(layer.high[i])});
      for (size_t i = end; i-- > begin;)
        spots.push_back({across(layer.points[i].x), down(layer.low[i])});
      spots = clipped_polygon(std::move(spots), frame_);
      if (spots.size() > 2) add(Shape::Kind::Area, layer.colour, 1, std::move(spots)).opacity = layer.opacity;
    }
  }

  void segments(const Contour& contour) {
    std::vector<Spot> spots;
    for (const auto& [a, b] : contour.segments)
      for (const auto& part : clipped_line({spot(a), spot(b)}, frame_))
        spots.insert(spots.end(), {part[0], part[1]});
    if (!spots.empty()) add(Shape::Kind::Segments, contour.colour, 1.5, std::move(spots));
  }

  void whiskers(const Layer& layer) {
    constexpr double half = 4; // of a cap
    std::vector<Spot> spots;
    for (size_t i = 0; i < layer.points.size(); ++i) {
      if (std::isnan(layer.points[i].x)) continue;
      const double x = across(layer.points[i].x), low = down(layer.low[i]), high = down(layer.high[i]);
      for (const auto& [a, b] :
           {std::pair(Spot{x, low}, Spot{x, high}), std::pair(Spot{x - half, low}, Spot{x + half, low}),
            std::pair(Spot{x - half, high}, Spot{x + half, high})})
        for (const auto& part : clipped_line({a, b}, grown(frame_, half)))
          spots.insert(spots.end(), {part[0], part[1]});
    }
    if (!spots.empty()) add_data(Shape::Kind::Segments, layer.colour, 1.5, std::move(spots));
  }

  // Of the spots in one column of a fine raster the first, the lowest, the highest and the last are as good as all.
  static std::vector<Spot> thinned(const std::vector<Spot>& spots) {
    std::vector<Spot> result;
    for (size_t i = 0; i < spots.size();) {
      const double column = std::floor(spots[i].x * 4);
      size_t end = i;
      while (end < spots.size() && std::floor(spots[end].x * 4) == column)
        ++end;
      if (end - i <= 4) {
        result.insert(result.end(), spots.begin() + static_cast<ptrdiff_t>(i),
                      spots.begin() + static_cast<ptrdiff_t>(end));
      } else {
        const auto higher = [](const Spot& a, const Spot& b) { return a.y < b.y; };
        auto [top, bottom] = std::minmax_element(spots.begin() + static_cast<ptrdiff_t>(i),
                                                 spots.begin() + static_cast<ptrdiff_t>(end), higher);
        if (bottom < top) std::swap(top, bottom);
        result.insert(result.end(), {spots[i], *top, *bottom, spots[end - 1]});
      }
      i = end;
    }
    return result;
  }

  void line(const Layer& layer) {
    const double width = layer.size > 0 ? layer.size : kLineWidth;
    for (const auto& [begin, end] : runs(layer.points)) {
      std::vector<Spot> spots;
      for (size_t i = begin; i < end; ++i)
        spots.push_back(spot(layer.points[i]));
      if (spots.size() == 1) {
        if (layer.marker == Marker::None)
          add_data(Shape::Kind::Marks, layer.colour, width * 1.25, std::move(spots)); // no line leads to it
        continue;
      }
      for (std::vector<Spot>& part : clipped_line(thinned(spots), grown(frame_, width)))
        add_data(Shape::Kind::Curve, layer.colour, width, std::move(part)).dash = layer.dash;
    }
  }

  double radius(const Layer& layer) const {
    if (layer.size > 0) return layer.dash == Dash::None ? layer.size : layer.size * 1.75;
    return layer.points.size() > 2000 ? 1 : layer.points.size() > 300 ? 2 : 3;
  }

  void marks(const Layer& layer) {
    std::vector<Spot> spots;
    const Frame seen = grown(frame_, radius(layer));
    for (const Point& p : layer.points) {
      if (std::isnan(p.x)) continue;
      const Spot s = spot(p);
      if (s.x >= seen.left && s.x <= seen.right && s.y >= seen.top && s.y <= seen.bottom) spots.push_back(s);
    }
    if (spots.empty()) return;
    Shape& shape = add_data(Shape::Kind::Marks, layer.colour, radius(layer), std::move(spots));
    shape.marker = layer.marker;
    shape.opacity = layer.opacity;
  }

  // ---- Legend

  // Spots all over the data, close enough to each other that no legend fits between them.
  std::vector<Spot> occupied() const {
    std::vector<Spot> spots;
    for (const Layer& layer : panel_.layers) {
      for (size_t i = 0; i < layer.points.size(); ++i)
        if (!std::isnan(layer.points[i].x)) occupy(spots, layer, i);
      for (const Box& box : layer.boxes)
        add_filled(spots, {across(box.left), down(box.top)}, {across(box.right), down(box.top)}, down(box.bottom),
                   down(box.bottom));
      if (is_filled(layer))
        add_filled(spots, {frame_.left, frame_.top}, {frame_.right, frame_.top}, frame_.bottom, frame_.bottom);
    }
    return spots;
  }
  void occupy(std::vector<Spot>& spots, const Layer& layer, size_t i) const {
    const Spot here = spot(layer.points[i]);
    const bool joined = i && !std::isnan(layer.points[i - 1].x);
    if (layer.is_area && joined) {
      const double before = across(layer.points[i - 1].x);
      add_filled(spots, {before, down(layer.high[i - 1])}, {here.x, down(layer.high[i])}, down(layer.low[i - 1]),
                 down(layer.low[i]));
      return;
    }
    add_between(spots, layer.dash != Dash::None && joined ? spot(layer.points[i - 1]) : here, here);
    if (!layer.low.empty()) add_between(spots, {here.x, down(layer.low[i])}, {here.x, down(layer.high[i])});
  }
  // What lies below a line, down to another from `left` to `right`.
  void add_filled(std::vector<Spot>& spots, const Spot& a, const Spot& b, double left, double right) const {
    const int steps = std::max(1, static_cast<int>(std::min(std::abs(b.x - a.x), frame_.right - frame_.left) / 8));
    for (int i = 0; i <= steps; ++i) {
      const double part = static_cast<double>(i) / steps, x = a.x + (b.x - a.x) * part;
      add_between(spots, {x, a.y + (b.y - a.y) * part}, {x, left + (right - left) * part});
    }
  }
  static bool is_filled(const Layer& layer) { return !layer.pixels.rgba.empty() || !layer.contours.empty(); }
  void add_between(std::vector<Spot>& spots, Spot a, Spot b) const {
    const auto parts = clipped_line({a, b}, frame_);
    if (parts.empty()) return;
    a = parts[0][0];
    b = parts[0][1];
    const int steps = std::max(1, static_cast<int>(std::hypot(b.x - a.x, b.y - a.y) / 8));
    for (int i = 0; i <= steps; ++i)
      spots.push_back({a.x + (b.x - a.x) * i / steps, a.y + (b.y - a.y) * i / steps});
  }

  void draw_legend(const Spot& at) {
    const LegendSize size = legend_size(panel_);
    add(Shape::Kind::Bar, kPaper, 1, {at, {at.x + size.width, at.y + size.height}}).opacity = 0.9;
    double y = at.y + 16;
    for (const Layer& layer : panel_.layers) {
      if (layer.name.empty()) continue;
      sample(layer, {at.x + 8, y - 4});
      text(layer.name, {at.x + 36, y}, Shape::Anchor::Start, kLegendFont);
      y += kLegendRow;
    }
  }

  void sample(const Layer& layer, const Spot& at) {
    constexpr double length = 22;
    const std::vector<Spot> ends{at, {at.x + length, at.y}};
    if (!layer.boxes.empty() || layer.is_area)
      add(Shape::Kind::Bar, layer.colour, 1, {{at.x + 3, at.y - 5}, {at.x + length - 3, at.y + 5}}).opacity =
          layer.opacity;
    if (layer.dash != Dash::None)
      add(Shape::Kind::Curve, layer.colour, layer.size > 0 ? layer.size : kLineWidth, ends).dash = layer.dash;
    if (layer.marker != Marker::None)
      add(Shape::Kind::Marks, layer.colour, std::clamp(radius(layer), 2.5, 5.0), {{at.x + length / 2, at.y}}).marker =
          layer.marker;
  }

  const Panel& panel_;
  const Frame& cell_;
  std::vector<Shape>& shapes_;
  Frame frame_;
};

} // namespace

std::vector<double> dash_pattern(Dash dash, double width) {
  switch (dash) {
  case Dash::Dashed: return {width * 4, width * 2.5};
  case Dash::Dotted: return {width, width * 2};
  case Dash::DashDot: return {width * 4, width * 2, width, width * 2};
  case Dash::None:
  case Dash::Solid: return {};
  }
  return {};
}

Picture compose(const Figure& figure) {
  Picture picture{figure.width, figure.height, {}};
  const auto columns = static_cast<size_t>(figure.columns), rows = (figure.panels.size() + columns - 1) / columns;
  const double top = figure.title.empty() ? 0 : 34;
  const double width = figure.width / static_cast<double>(columns),
               height = (figure.height - top) / static_cast<double>(rows);
  for (size_t i = 0; i < figure.panels.size(); ++i) {
    const double x = static_cast<double>(i % columns) * width, y = top + static_cast<double>(i / columns) * height;
    const Frame cell{x, x + width, y, y + height};
    PanelComposer(figure.panels[i], cell, picture.shapes).run();
  }
  if (figure.title.empty()) return picture;
  Shape& title = picture.shapes.emplace_back();
  title.kind = Shape::Kind::Text;
  title.anchor = Shape::Anchor::Middle;
  title.colour = kInk;
  title.size = kHeadingFont;
  title.spots = {{figure.width / 2, 26}};
  title.text = figure.title;
  return picture;
}

} // namespace tl::plot

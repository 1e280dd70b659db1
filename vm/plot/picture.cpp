#include "vm/plot/picture.h"
#include <algorithm>
#include <cmath>

namespace tl::plot {
namespace {

constexpr Colour kInk{40, 40, 40}, kGrid{221, 221, 221};

struct Frame {
  double left = 70, right = 620, top = 40, bottom = 355;
};

class Composer {
public:
  explicit Composer(const Figure& figure) : figure_(figure) {}

  Picture run() {
    size_t widest = 1;
    for (const std::string& label : figure_.y.labels)
      widest = std::max(widest, label.size());
    frame_.left = 24 + 7 * static_cast<double>(widest);
    if (figure_.kind == PlotKind::Image) fit_frame();
    grid();
    switch (figure_.kind) {
    case PlotKind::Line:
      for (size_t i = 0; i < figure_.lines.size(); ++i)
        curve(figure_.lines[i], line_colour(i));
      break;
    case PlotKind::Scatter: dots(); break;
    case PlotKind::Hist: bars(); break;
    case PlotKind::Image:
      add(Shape::Kind::Pixels, kInk, 1, {{frame_.left, frame_.top}, {frame_.right, frame_.bottom}});
      break;
    }
    add(Shape::Kind::Curve, kInk, 1,
        {{frame_.left, frame_.top},
         {frame_.right, frame_.top},
         {frame_.right, frame_.bottom},
         {frame_.left, frame_.bottom},
         {frame_.left, frame_.top}});
    if (figure_.has_legend()) legend();
    text(figure_.title, {(frame_.left + frame_.right) / 2, 24}, Shape::Anchor::Middle, 15);
    return std::move(picture_);
  }

private:
  void add(Shape::Kind kind, Colour colour, double size, std::vector<Spot> spots) {
    if (spots.empty()) return;
    Shape shape;
    shape.kind = kind;
    shape.colour = colour;
    shape.size = size;
    shape.spots = std::move(spots);
    picture_.shapes.push_back(std::move(shape));
  }
  void text(const std::string& what, Spot at, Shape::Anchor anchor, double size, Colour colour = kInk) {
    if (what.empty()) return;
    add(Shape::Kind::Text, colour, size, {at});
    picture_.shapes.back().text = what;
    picture_.shapes.back().anchor = anchor;
  }

  double across(double x) const { return frame_.left + (frame_.right - frame_.left) * figure_.x.position(x); }
  double down(double y) const {
    const double part = figure_.y.position(y);
    return frame_.top + (frame_.bottom - frame_.top) * (figure_.kind == PlotKind::Image ? part : 1 - part);
  }
  Spot spot(const Point& p) const { return {across(p.x), down(p.y)}; }

  // A picture keeps the proportions of its pixels.
  void fit_frame() {
    const double wide = frame_.right - frame_.left, high = frame_.bottom - frame_.top;
    const double ratio = static_cast<double>(std::max<int64_t>(1, figure_.pixels.width)) /
                         static_cast<double>(std::max<int64_t>(1, figure_.pixels.height));
    const double width = std::clamp(high * ratio, 20.0, wide), height = std::clamp(width / ratio, 20.0, high);
    frame_.left += (wide - width) / 2;
    frame_.right = frame_.left + width;
    frame_.bottom = frame_.top + height;
  }

  void grid() {
    const bool lines = figure_.kind != PlotKind::Image;
    for (size_t i = 0; i < figure_.x.ticks.size(); ++i) {
      const double x = across(figure_.x.ticks[i]);
      if (lines) add(Shape::Kind::Curve, kGrid, 1, {{x, frame_.top}, {x, frame_.bottom}});
      text(figure_.x.labels[i], {x, frame_.bottom + 18}, Shape::Anchor::Middle, 12);
    }
    for (size_t i = 0; i < figure_.y.ticks.size(); ++i) {
      const double y = down(figure_.y.ticks[i]);
      if (lines) add(Shape::Kind::Curve, kGrid, 1, {{frame_.left, y}, {frame_.right, y}});
      text(figure_.y.labels[i], {frame_.left - 8, y + 4}, Shape::Anchor::End, 12);
    }
  }

  // Of the points in one column of a fine raster the first, the lowest, the highest and the last are as good as all.
  void curve(const Line& line, Colour colour) {
    std::vector<Spot> spots, column;
    double column_at = NAN;
    auto flush = [&] {
      if (column.size() > 4) {
        auto higher = [](const Spot& a, const Spot& b) { return a.y < b.y; };
        auto [top, bottom] = std::minmax_element(column.begin(), column.end(), higher);
        if (bottom < top) std::swap(top, bottom);
        column = {column.front(), *top, *bottom, column.back()};
      }
      spots.insert(spots.end(), column.begin(), column.end());
      column.clear();
    };
    auto end = [&] {
      flush();
      if (spots.size() == 1)
        add(Shape::Kind::Dots, colour, 2.5, std::move(spots)); // no line leads to it
      else
        add(Shape::Kind::Curve, colour, 2, std::move(spots));
      spots.clear();
      column_at = NAN;
    };
    for (const Point& p : line.points) {
      if (std::isnan(p.x)) {
        end();
        continue;
      }
      const Spot s = spot(p);
      if (const double at = std::floor(s.x * 4); at != column_at) {
        flush();
        column_at = at;
      }
      column.push_back(s);
    }
    end();
  }

  void dots() {
    std::vector<Spot> spots;
    for (const Point& p : figure_.lines.at(0).points)
      if (!std::isnan(p.x)) spots.push_back(spot(p));
    const double radius = spots.size() > 2000 ? 1 : spots.size() > 300 ? 2 : 3;
    add(Shape::Kind::Dots, line_colour(0), radius, std::move(spots));
  }

  void bars() {
    const double width = (frame_.right - frame_.left) / static_cast<double>(figure_.counts.size());
    const double gap = width > 6 ? 1 : 0;
    for (size_t i = 0; i < figure_.counts.size(); ++i)
      if (figure_.counts[i] > 0)
        add(Shape::Kind::Bar, line_colour(0), 1,
            {{across(figure_.edges[i]), down(figure_.counts[i])}, {across(figure_.edges[i + 1]) - gap, down(0)}});
  }

  // In the corner that the lines leave emptiest.
  void legend() {
    size_t widest = 0;
    for (const Line& line : figure_.lines)
      widest = std::max(widest, line.label.size());
    const double width = std::min(44 + 7 * static_cast<double>(widest), frame_.right - frame_.left - 16);
    const double height = 8 + 18 * static_cast<double>(figure_.lines.size());
    Spot best{};
    size_t least = SIZE_MAX;
    for (double y : {frame_.top + 8, frame_.bottom - 8 - height})
      for (double x : {frame_.right - 8 - width, frame_.left + 8}) {
        size_t covered = 0;
        for (const Line& line : figure_.lines)
          for (const Point& p : line.points) {
            const Spot s = spot(p);
            covered += s.x >= x && s.x <= x + width && s.y >= y && s.y <= y + height;
          }
        if (covered < least) least = covered, best = {x, y};
      }
    add(Shape::Kind::Bar, {250, 250, 250}, 1, {best, {best.x + width, best.y + height}});
    for (size_t i = 0; i < figure_.lines.size(); ++i) {
      const double y = best.y + 16 + 18 * static_cast<double>(i);
      add(Shape::Kind::Curve, line_colour(i), 2, {{best.x + 8, y - 4}, {best.x + 30, y - 4}});
      text(figure_.lines[i].label, {best.x + 36, y}, Shape::Anchor::Start, 12);
    }
  }

  const Figure& figure_;
  Frame frame_;
  Picture picture_;
};

} // namespace

Picture compose(const Figure& figure) { return Composer(figure).run(); }

} // namespace tl::plot

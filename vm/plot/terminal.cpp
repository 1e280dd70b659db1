// Figures as text. Without colours the same everywhere; several lines are told apart by their characters then.
#include "vm/plot/font.h"
#include "vm/plot/picture.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tl::plot {
namespace {

constexpr int kRows = 18; // of the plot itself
constexpr const char* kMarks[] = {"*", "+", "o", "x", "#", "@", "%", "&"};

int width_of(const std::string& text) { return static_cast<int>(code_points(text).size()); }

std::string utf8(uint32_t code) { // of the three-byte range
  return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

constexpr int kLeastRoom = 5; // columns of a category, for a part of its name

// A part of the text, at most so many characters.
std::string shortened(const std::string& text, int most) {
  if (width_of(text) <= most) return text;
  std::string result;
  int count = 0;
  for (char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80 && ++count >= most) break;
    result += c;
  }
  return result + "…";
}

struct Cell {
  std::string text = " ";
  std::optional<Colour> colour;
};

class Text {
public:
  Text(const Panel& panel, const Terminal& terminal) : panel_(panel), terminal_(terminal) {}

  std::string run() {
    for (const std::string& label : panel_.y.labels)
      gutter_ = std::max(gutter_, width_of(label));
    columns_ = std::max(10, std::min(terminal_.columns, 400) - gutter_ - 3);
    rows_ = kRows;
    if (panel_.square && shows_pixels()) fit_image(panel_.layers[0].pixels);
    cells_.assign(static_cast<size_t>(columns_ * rows_), {});
    for (size_t i = 0; i < panel_.layers.size(); ++i)
      fill(i);
    if (has_marks())
      marks();
    else
      dots();
    return assemble();
  }

private:
  Cell& cell(int row, int column) { return cells_[static_cast<size_t>(row * columns_ + column)]; }
  static int clamped(double part, int count) {
    return std::clamp(static_cast<int>(std::floor(std::clamp(part, -1.0, 2.0) * count)), 0, count - 1);
  }
  static bool is_seen(double part) { return part >= 0 && part <= 1; }

  void fill(size_t i) {
    const Layer& layer = panel_.layers[i];
    if (!layer.pixels.rgba.empty()) image(layer);
    if (layer.is_area) area(layer);
    for (const Box& box : layer.boxes)
      bar(box, layer, shade(i));
  }

  // ---- Lines and points

  // Visits the cells of a raster that a line goes through.
  template <class Visit> void trace(const Layer& layer, int width, int height, const Visit& visit) const {
    bool has_last = false;
    int last_x = 0, last_y = 0;
    for (const Point& p : layer.points) {
      const double across = panel_.x.position(p.x), up = panel_.y.position(p.y);
      if (!is_seen(across) || !is_seen(up)) { // or a gap: NaN
        has_last = false;
        continue;
      }
      const int x = clamped(across, width), y = height - 1 - clamped(up, height);
      const int steps = layer.dash != Dash::None && has_last ? std::max(std::abs(x - last_x), std::abs(y - last_y)) : 0;
      for (int s = 0; s < steps; ++s)
        visit(last_x + rounded(s * (x - last_x), steps), last_y + rounded(s * (y - last_y), steps));
      visit(x, y);
      last_x = x;
      last_y = y;
      has_last = true;
    }
  }
  static int rounded(int a, int b) { return static_cast<int>(std::lround(static_cast<double>(a) / b)); }

  // The error bars of a layer and its contours, as lines.
  static std::vector<Layer> strokes(const Layer& layer) {
    std::vector<Layer> result;
    auto add = [&](std::vector<Point> points, Colour colour) {
      Layer& stroke = result.emplace_back();
      stroke.points = std::move(points);
      stroke.colour = colour;
      stroke.dash = Dash::Solid;
    };
    for (size_t i = 0; i < layer.points.size() && !layer.low.empty() && !layer.is_area; ++i)
      add({{layer.points[i].x, layer.low[i]}, {layer.points[i].x, layer.high[i]}}, layer.colour);
    for (const Contour& c : layer.contours)
      for (const auto& [a, b] : c.segments)
        add({a, b}, c.colour);
    return result;
  }

  // Braille: 2 by 4 dots in a cell.
  void dots() {
    std::vector<int> patterns(cells_.size());
    for (const Layer& layer : panel_.layers) {
      for (const Layer& stroke : strokes(layer))
        add_dots(stroke, patterns);
      if (layer.dash != Dash::None || layer.marker != Marker::None) add_dots(layer, patterns);
    }
    for (size_t at = 0; at < cells_.size(); ++at)
      if (patterns[at]) cells_[at].text = utf8(static_cast<uint32_t>(0x2800 + patterns[at]));
  }
  void add_dots(const Layer& layer, std::vector<int>& patterns) {
    static constexpr int bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    trace(layer, columns_ * 2, rows_ * 4, [&](int x, int y) {
      const auto at = static_cast<size_t>(y / 4 * columns_ + x / 2);
      patterns[at] |= bits[y % 4][x % 2];
      cells_[at].colour = layer.colour;
    });
  }

  void marks() {
    for (size_t i = 0; i < panel_.layers.size(); ++i) {
      const Layer& layer = panel_.layers[i];
      for (const Layer& stroke : strokes(layer))
        trace(stroke, columns_, rows_, [&](int x, int y) { cell(y, x) = {"│", layer.colour}; });
      if (layer.dash != Dash::None || layer.marker != Marker::None)
        trace(layer, columns_, rows_, [&](int x, int y) { cell(y, x) = {mark(i), layer.colour}; });
    }
  }
  std::string mark(size_t i) const {
    if (!panel_.layers[i].boxes.empty()) return shade(i);
    if (panel_.layers[i].is_area) return "░";
    return is_alone() ? "•" : kMarks[i % std::size(kMarks)];
  }

  static bool is_drawn_with_marks(const Layer& layer) { return !layer.points.empty() && !layer.is_area; }
  bool is_alone() const { return std::count_if(panel_.layers.begin(), panel_.layers.end(), is_drawn_with_marks) <= 1; }
  // Single points would be hard to see as dots, and lines of dots to tell apart without colours.
  bool has_marks() const {
    const auto few = [](const Layer& layer) {
      return is_drawn_with_marks(layer) && layer.dash == Dash::None && layer.points.size() <= 300;
    };
    const auto only_contours = [](const Layer& layer) { return layer.contours.empty(); };
    if (!std::all_of(panel_.layers.begin(), panel_.layers.end(), only_contours)) return false;
    return std::any_of(panel_.layers.begin(), panel_.layers.end(), few) || (!is_alone() && !terminal_.colours);
  }

  // ---- What is filled

  // Of several layers of bars the first is solid; without colours the others are told apart by how dark they are.
  std::string shade(size_t i) const {
    static constexpr const char* shades[] = {"█", "▒", "░", "▓"};
    size_t before = 0;
    for (size_t k = 0; k < i; ++k)
      before += !panel_.layers[k].boxes.empty();
    return terminal_.colours ? shades[0] : shades[before % std::size(shades)];
  }

  void bar(const Box& box, const Layer& layer, const std::string& full) {
    const double a = panel_.x.position(box.left) * columns_, b = panel_.x.position(box.right) * columns_;
    const double from = std::clamp(std::min(a, b), 0.0, static_cast<double>(columns_));
    const double to = std::clamp(std::max(a, b), 0.0, static_cast<double>(columns_));
    auto first = static_cast<int>(std::ceil(from - 0.5)), end = static_cast<int>(std::ceil(to - 0.5));
    if (first >= end && to > from && layer.boxes.size() <= static_cast<size_t>(columns_)) end = first + 1;
    const double low = panel_.y.position(box.bottom);
    const auto eighths = [&](double part) {
      return static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * rows_ * 8));
    };
    const int bottom = std::isnan(low) ? 0 : eighths(low), top = eighths(panel_.y.position(box.top));
    for (int column = first; column < std::min(end, columns_); ++column)
      for (int row = 0; row < rows_; ++row) {
        const int base = (rows_ - 1 - row) * 8, filled = std::clamp(top - base, 0, 8);
        if (!filled || bottom - base >= 4) continue;
        const bool is_part = filled < 8 && full == "█";
        cell(row, column) = {is_part ? utf8(static_cast<uint32_t>(0x2580 + filled)) : full, layer.colour};
      }
  }

  void area(const Layer& layer) {
    for (int column = 0; column < columns_; ++column) {
      const double part = (column + 0.5) / columns_;
      for (size_t i = 1; i < layer.points.size(); ++i) {
        const double a = panel_.x.position(layer.points[i - 1].x), b = panel_.x.position(layer.points[i].x);
        if (!(part >= std::min(a, b) && part <= std::max(a, b))) continue;
        const double share = a == b ? 0 : (part - a) / (b - a);
        const auto up = [&](const std::vector<double>& edge) {
          const double from = panel_.y.position(edge[i - 1]), to = panel_.y.position(edge[i]);
          return clamped(from + (to - from) * share, rows_);
        };
        const auto [low, high] = std::minmax({up(layer.low), up(layer.high)});
        for (int k = low; k <= high; ++k)
          cell(rows_ - 1 - k, column) = {"░", layer.colour};
      }
    }
  }

  bool shows_pixels() const {
    return !panel_.layers.empty() && panel_.layers[0].extent.left != panel_.layers[0].extent.right;
  }
  // A cell is about twice as high as it is wide.
  void fit_image(const Pixels& pixels) {
    const double wide = static_cast<double>(std::max<int64_t>(1, pixels.width));
    const double high = static_cast<double>(std::max<int64_t>(1, pixels.height));
    columns_ = std::max(1, std::min(columns_, static_cast<int>(std::lround(2 * 20 * wide / high))));
    rows_ = std::clamp(static_cast<int>(std::lround(columns_ * high / wide / 2)), 1, 60);
  }

  // The pixel at a part of an axis, from 0 (its lo) to 1.
  static int64_t pixel_at(const Axis& axis, double part, double first, double last, int64_t count) {
    const double value = axis.lo + part * (axis.hi - axis.lo);
    return static_cast<int64_t>(std::floor((value - first) / (last - first) * static_cast<double>(count) + 1e-9));
  }

  // The mean of the pixels under a part of a cell, on white.
  std::array<int, 3> mean(const Layer& layer, int row, int rows, int column) const {
    const Pixels& p = layer.pixels;
    const Box& e = layer.extent;
    const auto x_at = [&](int i) {
      return pixel_at(panel_.x, static_cast<double>(i) / columns_, e.left, e.right, p.width);
    };
    const auto y_at = [&](int i) {
      return pixel_at(panel_.y, 1 - static_cast<double>(i) / rows, e.top, e.bottom, p.height);
    };
    const auto [left, right] = std::minmax({x_at(column), x_at(column + 1)});
    const auto [top, bottom] = std::minmax({y_at(row), y_at(row + 1)});
    std::array<int64_t, 3> sum{};
    int64_t count = 0;
    for (int64_t y = std::max<int64_t>(0, top); y < std::min(p.height, std::max(top + 1, bottom)); ++y)
      for (int64_t x = std::max<int64_t>(0, left); x < std::min(p.width, std::max(left + 1, right)); ++x) {
        const auto& pixel = p.rgba[static_cast<size_t>(y * p.width + x)];
        ++count;
        for (size_t c = 0; c < 3; ++c)
          sum[c] += (pixel[c] * pixel[3] + 255 * (255 - pixel[3])) / 255;
      }
    if (!count) return {255, 255, 255};
    return {static_cast<int>(sum[0] / count), static_cast<int>(sum[1] / count), static_cast<int>(sum[2] / count)};
  }

  void image(const Layer& layer) {
    static constexpr const char* shades[] = {" ", "░", "▒", "▓", "█"};
    for (int row = 0; row < rows_; ++row)
      for (int column = 0; column < columns_; ++column) {
        if (terminal_.colours) { // the upper half in the foreground's colour, the lower one in the background's
          const auto upper = mean(layer, 2 * row, 2 * rows_, column),
                     lower = mean(layer, 2 * row + 1, 2 * rows_, column);
          cell(row, column).text = fmt::format("\x1b[38;2;{};{};{};48;2;{};{};{}m▀\x1b[0m", upper[0], upper[1],
                                               upper[2], lower[0], lower[1], lower[2]);
        } else {
          const auto m = mean(layer, row, rows_, column);
          const int light = (299 * m[0] + 587 * m[1] + 114 * m[2]) / 1000;
          cell(row, column).text = shades[std::min(4, light * 5 / 256)];
        }
      }
  }

  // ---- Text

  std::string shown(const Cell& c) const {
    return terminal_.colours && c.colour ? coloured(*c.colour, c.text) : c.text;
  }
  static std::string coloured(Colour c, const std::string& text) {
    return fmt::format("\x1b[38;2;{};{};{}m{}\x1b[0m", c.red, c.green, c.blue, text);
  }

  static std::string centred(const std::string& text, int width) {
    return std::string(static_cast<size_t>(std::max(0, (width - width_of(text)) / 2)), ' ') + text;
  }
  static void end_line(std::string& out, std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }

  std::string assemble() {
    const std::string margin(static_cast<size_t>(gutter_ + 2), ' ');
    std::string out;
    if (!panel_.title.empty()) end_line(out, margin + centred(shortened(panel_.title, columns_), columns_));
    if (panel_.has_legend()) end_line(out, margin + legend());
    if (!panel_.y_label.empty()) end_line(out, shortened(panel_.y_label, columns_));
    const std::vector<std::string> labels = row_labels();
    for (int row = 0; row < rows_; ++row) {
      const std::string& label = labels[static_cast<size_t>(row)];
      std::string line = std::string(static_cast<size_t>(gutter_ - width_of(label)), ' ') + label;
      line += label.empty() ? " │" : " ┤";
      for (int column = 0; column < columns_; ++column)
        line += shown(cell(row, column));
      end_line(out, line);
    }
    x_axis(out, margin);
    if (!panel_.x_label.empty()) end_line(out, margin + centred(shortened(panel_.x_label, columns_), columns_));
    if (panel_.bar) end_line(out, margin + colours());
    return out;
  }

  std::vector<std::string> row_labels() const {
    std::vector<std::string> labels(static_cast<size_t>(rows_));
    for (size_t i = 0; i < panel_.y.ticks.size(); ++i) {
      const double part = panel_.y.position(panel_.y.ticks[i]);
      // Of a picture that is drawn downwards the tick is at the start of a pixel.
      const int row = panel_.square ? clamped(1 - part, rows_) : rows_ - 1 - clamped(part, rows_);
      labels[static_cast<size_t>(row)] = panel_.y.labels[i];
    }
    return labels;
  }

  void x_axis(std::string& out, const std::string& margin) const {
    std::vector<bool> has_tick(static_cast<size_t>(columns_));
    std::string rule, below;
    // A category that has a place has a name there.
    const int count = static_cast<int>(panel_.x.ticks.size());
    const bool cuts = panel_.x.scale == Scale::Categories && count > 0 && columns_ / count >= kLeastRoom;
    const int room = cuts ? columns_ / count - 1 : columns_;
    for (size_t i = 0; i < panel_.x.ticks.size(); ++i) {
      const int at = clamped(panel_.x.position(panel_.x.ticks[i]), columns_);
      const std::string label = shortened(panel_.x.labels[i], room);
      const int begin = std::max(0, at - width_of(label) / 2);
      if (has_tick[static_cast<size_t>(at)] || (!below.empty() && begin < width_of(below) + 1)) continue;
      has_tick[static_cast<size_t>(at)] = true;
      below += std::string(static_cast<size_t>(begin - width_of(below)), ' ') + label;
    }
    for (bool tick : has_tick)
      rule += tick ? "┬" : "─";
    end_line(out, std::string(static_cast<size_t>(gutter_ + 1), ' ') + "└" + rule);
    end_line(out, margin + below);
  }

  std::string legend() const {
    std::string text;
    for (size_t i = 0; i < panel_.layers.size(); ++i) {
      const Layer& layer = panel_.layers[i];
      if (layer.name.empty()) continue;
      if (!text.empty()) text += "   ";
      text += terminal_.colours ? coloured(layer.colour, "━━") : mark(i);
      text += " " + layer.name;
    }
    return text;
  }

  // The least and the greatest of the numbers that are shown as colours.
  std::string colours() const {
    const Axis& axis = panel_.bar->axis;
    std::string strip;
    constexpr int steps = 20;
    static constexpr const char* shades[] = {" ", "░", "▒", "▓", "█"};
    for (int i = 0; i < steps; ++i) {
      const Colour c = colour_at(panel_.bar->map, (i + 0.5) / steps);
      strip +=
          terminal_.colours ? coloured(c, "█") : shades[(299 * c.red + 587 * c.green + 114 * c.blue) / 1000 * 5 / 256];
    }
    return fmt::format("{:.4g} {} {:.4g}", axis.lo, strip, axis.hi);
  }

  const Panel& panel_;
  const Terminal& terminal_;
  int gutter_ = 1, columns_ = 0, rows_ = 0;
  std::vector<Cell> cells_;
};

} // namespace

std::string to_text(const Figure& figure, const Terminal& terminal) {
  std::string text = figure.title.empty() ? "" : figure.title + "\n\n";
  for (const Panel& panel : figure.panels)
    text += (&panel == figure.panels.data() ? "" : "\n") + Text(panel, terminal).run();
  return text;
}

} // namespace tl::plot

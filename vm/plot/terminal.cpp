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
  size_t line = SIZE_MAX; // its colour; SIZE_MAX: none
};

class Text {
public:
  Text(const Figure& figure, const Terminal& terminal) : figure_(figure), terminal_(terminal) {}

  std::string run() {
    for (const std::string& label : figure_.y.labels)
      gutter_ = std::max(gutter_, width_of(label));
    columns_ = std::max(10, std::min(terminal_.columns, 400) - gutter_ - 3);
    rows_ = kRows;
    if (figure_.kind == PlotKind::Image) fit_image();
    cells_.assign(static_cast<size_t>(columns_ * rows_), {});
    switch (figure_.kind) {
    case PlotKind::Line:
    case PlotKind::Scatter:
      if (few_points() || (figure_.has_legend() && !terminal_.colours))
        marks();
      else
        dots();
      break;
    case PlotKind::Hist: bars(); break;
    case PlotKind::Image: image(); break;
    }
    return assemble();
  }

private:
  Cell& cell(int row, int column) { return cells_[static_cast<size_t>(row * columns_ + column)]; }
  static int clamped(double part, int count) {
    return std::clamp(static_cast<int>(std::floor(part * count)), 0, count - 1);
  }

  // Visits the cells of a raster that a line goes through.
  template <class Visit> void trace(const Line& line, int width, int height, const Visit& visit) {
    const bool joined = figure_.kind == PlotKind::Line;
    bool has_last = false;
    int last_x = 0, last_y = 0;
    for (const Point& p : line.points) {
      if (std::isnan(p.x)) {
        has_last = false;
        continue;
      }
      const int x = clamped(figure_.x.position(p.x), width);
      const int y = height - 1 - clamped(figure_.y.position(p.y), height);
      const int steps = joined && has_last ? std::max(std::abs(x - last_x), std::abs(y - last_y)) : 0;
      for (int s = 0; s < steps; ++s)
        visit(last_x + rounded(s * (x - last_x), steps), last_y + rounded(s * (y - last_y), steps));
      visit(x, y);
      last_x = x;
      last_y = y;
      has_last = true;
    }
  }
  static int rounded(int a, int b) { return static_cast<int>(std::lround(static_cast<double>(a) / b)); }

  // Braille: 2 by 4 dots in a cell.
  void dots() {
    static constexpr int bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    std::vector<int> patterns(cells_.size());
    for (size_t i = 0; i < figure_.lines.size(); ++i)
      trace(figure_.lines[i], columns_ * 2, rows_ * 4, [&](int x, int y) {
        const auto at = static_cast<size_t>(y / 4 * columns_ + x / 2);
        patterns[at] |= bits[y % 4][x % 2];
        cells_[at].line = i;
      });
    for (size_t at = 0; at < cells_.size(); ++at)
      if (patterns[at]) cells_[at].text = utf8(static_cast<uint32_t>(0x2800 + patterns[at]));
  }

  void marks() {
    for (size_t i = 0; i < figure_.lines.size(); ++i)
      trace(figure_.lines[i], columns_, rows_, [&](int x, int y) { cell(y, x) = {mark(i), i}; });
  }
  std::string mark(size_t i) const { return few_points() ? "•" : kMarks[i % std::size(kMarks)]; }

  // Single points would be hard to see as dots.
  bool few_points() const { return figure_.kind == PlotKind::Scatter && figure_.lines[0].points.size() <= 300; }

  void bars() {
    for (int column = 0; column < columns_; ++column) {
      const double middle = (column + 0.5) / columns_;
      const auto bin = static_cast<size_t>(clamped(middle, static_cast<int>(figure_.counts.size())));
      const auto eighths = static_cast<int>(std::lround(figure_.y.position(figure_.counts[bin]) * rows_ * 8));
      for (int row = 0; row < rows_; ++row) {
        const int filled = std::clamp(eighths - (rows_ - 1 - row) * 8, 0, 8);
        if (filled) cell(row, column) = {utf8(static_cast<uint32_t>(0x2580 + filled)), 0};
      }
    }
  }

  // A cell is about twice as high as it is wide.
  void fit_image() {
    const double wide = static_cast<double>(std::max<int64_t>(1, figure_.pixels.width));
    const double high = static_cast<double>(std::max<int64_t>(1, figure_.pixels.height));
    columns_ = std::max(1, std::min(columns_, static_cast<int>(std::lround(2 * 20 * wide / high))));
    rows_ = std::clamp(static_cast<int>(std::lround(columns_ * high / wide / 2)), 1, 60);
  }

  // The mean of the pixels under a part of a cell, on white.
  std::array<int, 3> mean(int row, int rows, int column) const {
    const Pixels& p = figure_.pixels;
    auto begin = [](int i, int count, int64_t size) { return static_cast<int64_t>(i) * size / count; };
    const int64_t top = begin(row, rows, p.height), left = begin(column, columns_, p.width);
    const int64_t bottom = std::max(top + 1, begin(row + 1, rows, p.height));
    const int64_t right = std::max(left + 1, begin(column + 1, columns_, p.width));
    std::array<int64_t, 3> sum{};
    for (int64_t y = top; y < bottom; ++y)
      for (int64_t x = left; x < right; ++x) {
        const auto& pixel = p.rgba[static_cast<size_t>(y * p.width + x)];
        for (size_t c = 0; c < 3; ++c)
          sum[c] += (pixel[c] * pixel[3] + 255 * (255 - pixel[3])) / 255;
      }
    const int64_t count = (bottom - top) * (right - left);
    return {static_cast<int>(sum[0] / count), static_cast<int>(sum[1] / count), static_cast<int>(sum[2] / count)};
  }

  void image() {
    static constexpr const char* shades[] = {" ", "░", "▒", "▓", "█"};
    if (figure_.pixels.rgba.empty()) return;
    for (int row = 0; row < rows_; ++row)
      for (int column = 0; column < columns_; ++column) {
        if (terminal_.colours) { // the upper half in the foreground's colour, the lower one in the background's
          const auto upper = mean(2 * row, 2 * rows_, column), lower = mean(2 * row + 1, 2 * rows_, column);
          cell(row, column).text = fmt::format("\x1b[38;2;{};{};{};48;2;{};{};{}m▀\x1b[0m", upper[0], upper[1],
                                               upper[2], lower[0], lower[1], lower[2]);
        } else {
          const auto m = mean(row, rows_, column);
          const int light = (299 * m[0] + 587 * m[1] + 114 * m[2]) / 1000;
          cell(row, column).text = shades[std::min(4, light * 5 / 256)];
        }
      }
  }

  std::string shown(const Cell& c) const {
    if (!terminal_.colours || c.line == SIZE_MAX) return c.text;
    return coloured(c.line, c.text);
  }
  static std::string coloured(size_t line, const std::string& text) {
    const Colour c = line_colour(line);
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
    if (!figure_.title.empty()) end_line(out, margin + centred(shortened(figure_.title, columns_), columns_));
    if (figure_.has_legend()) end_line(out, margin + legend());
    std::vector<std::string> labels(static_cast<size_t>(rows_));
    for (size_t i = 0; i < figure_.y.ticks.size(); ++i) {
      const double part = figure_.y.position(figure_.y.ticks[i]);
      const int row = figure_.kind == PlotKind::Image ? clamped(part, rows_) : rows_ - 1 - clamped(part, rows_);
      labels[static_cast<size_t>(row)] = figure_.y.labels[i];
    }
    for (int row = 0; row < rows_; ++row) {
      const std::string& label = labels[static_cast<size_t>(row)];
      std::string line = std::string(static_cast<size_t>(gutter_ - width_of(label)), ' ') + label;
      line += label.empty() ? " │" : " ┤";
      for (int column = 0; column < columns_; ++column)
        line += shown(cell(row, column));
      end_line(out, line);
    }
    std::string rule, below;
    int next = 0;
    for (size_t i = 0; i < figure_.x.ticks.size(); ++i) {
      const int at = clamped(figure_.x.position(figure_.x.ticks[i]), columns_);
      const std::string& label = figure_.x.labels[i];
      const int begin = std::max(0, at - width_of(label) / 2);
      if (at < next || (!below.empty() && begin < width_of(below) + 1)) continue;
      for (; next < at; ++next)
        rule += "─";
      rule += "┬";
      ++next;
      below += std::string(static_cast<size_t>(begin - width_of(below)), ' ') + label;
    }
    for (; next < columns_; ++next)
      rule += "─";
    end_line(out, std::string(static_cast<size_t>(gutter_ + 1), ' ') + "└" + rule);
    end_line(out, margin + below);
    return out;
  }

  std::string legend() const {
    std::string text;
    for (size_t i = 0; i < figure_.lines.size(); ++i) {
      if (i) text += "   ";
      text += terminal_.colours ? coloured(i, "━━") : mark(i);
      text += " " + figure_.lines[i].label;
    }
    return text;
  }

  const Figure& figure_;
  const Terminal& terminal_;
  int gutter_ = 1, columns_ = 0, rows_ = 0;
  std::vector<Cell> cells_;
};

} // namespace

std::string to_text(const Figure& figure, const Terminal& terminal) { return Text(figure, terminal).run(); }

} // namespace tl::plot

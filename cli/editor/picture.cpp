#include "cli/editor/picture.h"
#include "cli/editor/characters.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::editor {
namespace {

class Painter {
public:
  explicit Painter(size_t columns) : columns_(columns) { result_.rows.emplace_back(); }

  size_t column() const { return column_; }

  // Where a wide character does not fit, the row ends before it.
  void make_room(size_t width) {
    if (column_ + width <= columns_) return;
    result_.rows.back().text.append(columns_ - column_, ' ');
    wrap();
  }

  void put(std::string_view cluster, size_t width) {
    make_room(width);
    result_.rows.back().text += shown(cluster);
    column_ += width;
    if (column_ >= columns_) wrap();
  }

  void put_all(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
      const Cluster cluster = cluster_at(text, i);
      put(text.substr(i, cluster.length), static_cast<size_t>(cluster.columns));
      i += cluster.length;
    }
  }

  void colour(std::string_view escape) { result_.rows.back().text += escape; }

  void next_line() {
    result_.rows.emplace_back();
    column_ = 0;
  }

  void mark_cursor() {
    result_.cursor_row = result_.rows.size() - 1;
    result_.cursor_column = column_;
  }

  Picture take() { return std::move(result_); }

private:
  void wrap() {
    result_.rows.back().goes_on = true;
    next_line();
  }

  size_t columns_, column_ = 0;
  Picture result_;
};

constexpr std::string_view kPlain = "\x1b[0m";

std::string cut(std::string_view line, size_t columns) {
  std::string result;
  size_t column = 0;
  for (size_t i = 0; i < line.size();) {
    const Cluster cluster = cluster_at(line, i);
    column += static_cast<size_t>(cluster.columns);
    if (column >= columns) break;
    result += shown(line.substr(i, cluster.length));
    i += cluster.length;
  }
  return result;
}

} // namespace

Picture picture(const View& view, size_t columns) {
  columns = std::max<size_t>(columns, 2);
  Painter painter(columns);
  auto prompt = [&](const std::string& text) {
    if (!view.colour.empty()) painter.colour(view.colour);
    painter.put_all(text);
    if (!view.colour.empty()) painter.colour(kPlain);
  };
  prompt(view.prompt);
  for (size_t i = 0;;) {
    const bool is_end = i >= view.text.size();
    const Cluster cluster = is_end ? Cluster{0, 0} : cluster_at(view.text, i);
    if (!is_end && view.text[i] != '\n') painter.make_room(static_cast<size_t>(cluster.columns));
    if (i == view.cursor) painter.mark_cursor();
    if (is_end) break;
    if (view.text[i] == '\n') {
      painter.next_line();
      prompt(view.continuation);
    } else {
      painter.put(view.text.substr(i, cluster.length), static_cast<size_t>(cluster.columns));
    }
    i += cluster.length;
  }
  for (const std::string& line : view.below) {
    painter.next_line();
    painter.put_all(cut(line, columns));
  }
  return painter.take();
}

std::vector<std::string> in_columns(const std::vector<std::string>& names, size_t columns, size_t most_rows) {
  size_t widest = 0;
  for (const std::string& name : names)
    widest = std::max(widest, static_cast<size_t>(columns_of(name)));
  const size_t across = std::max<size_t>(1, columns / (widest + 2));
  size_t down = (names.size() + across - 1) / across;
  most_rows = std::max<size_t>(most_rows, 2);
  const bool is_cut = down > most_rows;
  if (is_cut) down = most_rows - 1;
  const size_t count = is_cut ? down * across : names.size();
  std::vector<std::string> rows(down);
  for (size_t i = 0; i < count; ++i) {
    std::string& row = rows[i % down];
    row += names[i];
    row.append(widest + 2 - static_cast<size_t>(columns_of(names[i])), ' ');
  }
  for (std::string& row : rows)
    row.erase(row.find_last_not_of(' ') + 1);
  if (is_cut) rows.push_back(fmt::format("… and {} more", names.size() - count));
  return rows;
}

} // namespace tl::editor

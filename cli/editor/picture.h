// What an edited text looks like on a terminal of some width: rows, and where the cursor is.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tl::editor {

struct Row {
  std::string text;     // with colours
  bool goes_on = false; // into the next row, because it is full: nothing is written between them
};

struct Picture {
  std::vector<Row> rows; // at least one
  size_t cursor_row = 0, cursor_column = 0;
};

struct View {
  std::string prompt;       // before the first line
  std::string continuation; // before the others
  std::string colour;       // of both: what switches it on; empty: none
  std::string_view text;
  size_t cursor = 0;
  std::vector<std::string> below; // lines under the text, cut at the width
};

// A line that fills its last row to the end has an empty one after it, where the cursor behind it is.
Picture picture(const View& view, size_t columns);

// Names in columns as `ls` has them, in so many rows at most; what is left out is counted in the last.
std::vector<std::string> in_columns(const std::vector<std::string>& names, size_t columns, size_t most_rows);

} // namespace tl::editor

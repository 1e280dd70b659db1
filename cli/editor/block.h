// A text of one or more lines with a cursor, as it is edited: movements, changes, and undoing them.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tl::editor {

class Block {
public:
  const std::string& text() const { return text_; }
  size_t cursor() const { return cursor_; } // in bytes, at the beginning of a cluster or at the end
  size_t line_begin() const;
  size_t line_end() const;
  std::string_view line() const { return std::string_view(text_).substr(line_begin(), line_end() - line_begin()); }
  bool is_on_first_line() const { return line_begin() == 0; }
  bool is_on_last_line() const { return line_end() == text_.size(); }

  // Movements. False: there is nothing further there.
  bool left();
  bool right();
  bool word_left();
  bool word_right();
  bool up();   // to the column that the first of a row of ups and downs was in, or the line's end
  bool down(); // likewise
  void move_to(size_t cursor);

  // Changes. Characters that are typed one after the other are undone together, as are those that are erased.
  void type(std::string_view character);
  void insert(std::string_view text);
  bool erase_left();
  bool erase_right();
  // What is between the cursor and there, which is cut out.
  std::string cut_to(size_t other);
  void replace(size_t begin, size_t end, std::string_view text); // the cursor is behind it then
  bool transpose();           // the cluster before the cursor and the one at it (at a line's end: the two before it)
  void set(std::string text); // all of it; the cursor is at its end
  void clear();               // also of what could be undone

  size_t word_left_of_cursor() const;
  size_t word_right_of_cursor() const;

  bool undo();
  bool redo();

private:
  enum class Change { None, Typing, Erasing, Other };
  struct State {
    std::string text;
    size_t cursor;
  };
  void before(Change change);
  void settle(); // marks behind the cursor may be those of what is before it now
  bool restore(std::vector<State>& from, std::vector<State>& to);
  bool vertical(size_t line, bool is_there);

  std::string text_;
  size_t cursor_ = 0;
  int goal_ = -1; // the column of vertical movements
  Change last_ = Change::None;
  std::vector<State> undo_, redo_;
};

} // namespace tl::editor

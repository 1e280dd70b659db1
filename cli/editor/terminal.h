// The terminal that a text is edited on: its mode, its size, and what stands on it.
#pragma once
#include "cli/editor/picture.h"
#include <cstddef>
#include <string>

namespace tl::editor {

struct TerminalSize {
  size_t columns = 80, rows = 24;
  bool operator==(const TerminalSize&) const = default;
};
TerminalSize terminal_size(); // of standard output

// May escape sequences be written to standard output? Only a terminal that is not dumb takes them.
bool has_escapes();
// The same, and nobody has asked for output without colours (NO_COLOR).
bool has_colours(int descriptor);

class Terminal {
public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;

  // Keys come one by one from here on, and pasted text between marks, until `leave`. A signal that ends or stops the
  // process gives the terminal back as it was. False: it is no terminal.
  bool enter();
  void leave();

  void draw(const Picture& picture); // over the one before it
  void forget(); // what stands there is not known any more: the next picture begins where the cursor is
  void redraw_from(size_t cursor_row) {
    cursor_row_ = cursor_row;
  } // the terminal has moved it to this row of the picture
  void finish(const Picture& picture); // draws all of it, and begins a line behind it
  void clear_screen();
  void beep();
  void stop();         // the process, until it is continued
  bool take_resized(); // has the size changed since this was asked last?

private:
  void write(const std::string& text);
  std::string back_to_begin() const;
  std::string rows_text(const Picture& picture, size_t first, size_t last) const;

  size_t cursor_row_ = 0; // of the picture that stands there, from its first row that is visible
  size_t first_ = 0;      // that row
  bool entered_ = false;
};

} // namespace tl::editor

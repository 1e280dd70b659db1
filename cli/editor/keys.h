// What a terminal sends as keys: letters, control characters, escape sequences of all terminals, pasted text.
#pragma once
#include <functional>
#include <optional>
#include <string>

namespace tl::editor {

enum class KeyName {
  Text,  // a character
  Paste, // text that the terminal says was pasted
  Enter,
  NewLine, // a line's end that does not ask for an answer (Alt-Enter)
  Tab,
  Backspace,
  Delete,
  DeleteOrEnd, // Ctrl-D
  Left,
  Right,
  WordLeft,
  WordRight,
  LineBegin,
  LineEnd,
  TextBegin,
  TextEnd,
  Up,
  Down,
  Older, // in the history, wherever the cursor is
  Newer,
  KillWordLeft,
  KillWordRight,
  KillToBegin,
  KillToEnd,
  Yank,
  Transpose,
  Undo,
  Redo,
  SearchOlder, // Ctrl-R
  SearchNewer, // Ctrl-S
  Cancel,      // Ctrl-G, Escape
  Clear,       // Ctrl-L
  Interrupt,   // Ctrl-C
  Suspend,     // Ctrl-Z
  Nothing,     // a key that means nothing here
  Wake,        // no key: the wait was ended (a signal)
  End,         // the terminal is gone
};

struct Key {
  KeyName name = KeyName::Nothing;
  std::string text; // of Text and Paste
};

// The next byte. Waits so many milliseconds, or without an end for a negative number.
struct Byte {
  enum class Kind { Value, Late, Wake, End };
  Kind kind = Kind::Value;
  unsigned char value = 0;
};
using ByteSource = std::function<Byte(int milliseconds)>;

// Puts bytes together. A sequence that is known is its key, one that is not is Nothing as a whole: its letters are
// never text. Invalid UTF-8 is Nothing.
class KeyReader {
public:
  explicit KeyReader(ByteSource source) : source_(std::move(source)) {}
  Key next();

private:
  Byte byte(int milliseconds);
  Key control(unsigned char code);
  Key character(unsigned char first);
  Key escape();
  Key sequence(bool is_meta);
  Key single_shift(bool is_meta);
  Key paste();
  void skip_string();

  ByteSource source_;
  std::optional<unsigned char> back_; // read, and to be read again
};

} // namespace tl::editor

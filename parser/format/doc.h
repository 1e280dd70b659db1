// Documents that choose their own line breaks (Wadler, "A prettier printer"; the algorithm is that of Prettier), for
// the formatter. A group is printed on one line if it fits, else all its own lines break; inner groups decide for
// themselves.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace tl::syntax {

struct Doc {
  enum class Kind : uint8_t {
    Text,      // as it is; may hold newlines (a string in `"""`)
    Concat,    // its parts
    Nest,      // its part, with two more columns after each newline
    Group,     // its part on one line if that fits and nothing in it is `hard`
    Fill,      // parts and lines by turns: each line breaks only where what follows it does not fit
    Line,      // a space, or in a broken group a newline
    SoftLine,  // nothing, or in a broken group a newline
    HardLine,  // a newline in any case
    BlankLine, // two newlines
    FreshLine, // a newline unless the line is still empty
    Suffix,    // a comment that goes to the end of the line it is on
    IfBroken,  // its text only in a broken group
    IfFlat,    // its text only in one that is not
    Lines,     // its part as if it stood outside of all groups: a block
    Value      // what follows a `=`: behind it, on a line of its own, or broken
  };
  Kind kind;
  bool hard = false;   // a newline in it breaks the groups around it
  bool open = false;   // ends with a comment to the end of the line: whatever follows needs a newline
  bool empty = false;  // prints nothing on a line
  bool hugs = false;   // Value: breaks well where it follows the `=`
  uint32_t column = 0; // Suffix: where it stood in its line
  std::string text;
  std::vector<const Doc*> parts;
};

// Makes documents and owns them.
class DocArena {
public:
  const Doc* text(std::string text);
  const Doc* concat(std::vector<const Doc*> parts);
  const Doc* nest(const Doc* part) { return wrap(Doc::Kind::Nest, part); }
  const Doc* group(const Doc* part, bool broken = false);
  const Doc* fill(std::vector<const Doc*> parts);
  const Doc* line() { return mark(Doc::Kind::Line, false); }
  const Doc* soft_line() { return mark(Doc::Kind::SoftLine, false); }
  const Doc* hard_line() { return mark(Doc::Kind::HardLine, true); }
  const Doc* blank_line() { return mark(Doc::Kind::BlankLine, true); }
  const Doc* fresh_line() { return mark(Doc::Kind::FreshLine, true); }
  const Doc* suffix(std::string text, uint32_t column);
  const Doc* if_broken(std::string text) { return choice(Doc::Kind::IfBroken, std::move(text)); }
  const Doc* if_flat(std::string text) { return choice(Doc::Kind::IfFlat, std::move(text)); }
  const Doc* lines(const Doc* part) { return wrap(Doc::Kind::Lines, part); }
  // `part`, whose newlines do not break the groups around it: `f(x, |y| {` … `})`.
  const Doc* hugged(const Doc* part);
  const Doc* value(const Doc* part, bool hugs, bool on_new_line);

private:
  Doc& make(Doc::Kind kind);
  const Doc* wrap(Doc::Kind kind, const Doc* part);
  const Doc* mark(Doc::Kind kind, bool hard);
  const Doc* choice(Doc::Kind kind, std::string text);
  std::deque<Doc> docs_;
};

// The text, lines ending in \n, no trailing blanks. Comments at the ends of adjacent lines that stood in one column
// are in one column again. Lines are at most `width` characters wide where there is a place to break.
std::string print(const Doc* doc, size_t width);

} // namespace tl::syntax

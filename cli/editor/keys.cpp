// ECMA-48 (control sequences), xterm's ctlseqs (modifiers, bracketed paste), rxvt, the Linux console, and the keyboard
// protocol of kitty where a terminal was left in it.
#include "cli/editor/keys.h"
#include "cli/editor/characters.h"
#include <cctype>
#include <charconv>
#include <string_view>
#include <vector>

namespace tl::editor {
namespace {

// How long an Escape is that of a sequence, and the bytes of one keep each other company (they may cross a network).
constexpr int kAfterEscape = 50, kInSequence = 500;
constexpr unsigned char kEscape = 0x1b;

struct Sequence {
  std::vector<int> numbers; // -1: left out
  char prefix = 0;          // '?', '<', '=' or '>'
  std::string between;      // intermediate bytes
  char last = 0;
};

int number(const Sequence& s, size_t i, int otherwise) {
  return i < s.numbers.size() && s.numbers[i] >= 0 ? s.numbers[i] : otherwise;
}

constexpr int kShift = 1, kAlt = 2, kCtrl = 4;

Key of(KeyName name) { return {name, {}}; }

Key control_key(char letter) {
  switch (letter) {
  case ' ':
  case '@': return of(KeyName::Nothing);
  case 'a': return of(KeyName::LineBegin);
  case 'b': return of(KeyName::Left);
  case 'c': return of(KeyName::Interrupt);
  case 'd': return of(KeyName::DeleteOrEnd);
  case 'e': return of(KeyName::LineEnd);
  case 'f': return of(KeyName::Right);
  case 'g': return of(KeyName::Cancel);
  case 'h': return of(KeyName::Backspace);
  case 'i': return of(KeyName::Tab);
  case 'j':
  case 'm': return of(KeyName::Enter);
  case 'k': return of(KeyName::KillToEnd);
  case 'l': return of(KeyName::Clear);
  case 'n': return of(KeyName::Down);
  case 'p': return of(KeyName::Up);
  case 'r': return of(KeyName::SearchOlder);
  case 's': return of(KeyName::SearchNewer);
  case 't': return of(KeyName::Transpose);
  case 'u': return of(KeyName::KillToBegin);
  case 'w': return of(KeyName::KillWordLeft);
  case 'y': return of(KeyName::Yank);
  case 'z': return of(KeyName::Suspend);
  case '_':
  case '/': return of(KeyName::Undo);
  default: return of(KeyName::Nothing);
  }
}

Key meta_key(char letter) {
  switch (std::tolower(static_cast<unsigned char>(letter))) {
  case 'b': return of(KeyName::WordLeft);
  case 'f': return of(KeyName::WordRight);
  case 'd': return of(KeyName::KillWordRight);
  case 'p': return of(KeyName::Older);
  case 'n': return of(KeyName::Newer);
  case '<': return of(KeyName::TextBegin);
  case '>': return of(KeyName::TextEnd);
  case '/': return of(KeyName::Redo);
  case 0x7f:
  case 0x08: return of(KeyName::KillWordLeft);
  case '\n':
  case '\r': return of(KeyName::NewLine);
  default: return of(KeyName::Nothing);
  }
}

// Arrows, Home and End by their letter, with the modifiers that are held.
Key arrow_key(char letter, int modifiers) {
  const bool by_words = (modifiers & (kAlt | kCtrl)) != 0;
  switch (letter) {
  case 'A': return of(by_words ? KeyName::Older : KeyName::Up);
  case 'B': return of(by_words ? KeyName::Newer : KeyName::Down);
  case 'C': return of(by_words ? KeyName::WordRight : KeyName::Right);
  case 'D': return of(by_words ? KeyName::WordLeft : KeyName::Left);
  case 'H': return of(modifiers & kCtrl ? KeyName::TextBegin : KeyName::LineBegin);
  case 'F': return of(modifiers & kCtrl ? KeyName::TextEnd : KeyName::LineEnd);
  default: return of(KeyName::Nothing);
  }
}

// `CSI number ~`
Key numbered_key(int code, int modifiers) {
  switch (code) {
  case 1:
  case 7: return arrow_key('H', modifiers);
  case 4:
  case 8: return arrow_key('F', modifiers);
  case 3: return of(modifiers & (kAlt | kCtrl) ? KeyName::KillWordRight : KeyName::Delete);
  case 5: return of(KeyName::Older);
  case 6: return of(KeyName::Newer);
  default: return of(KeyName::Nothing); // Insert, the function keys
  }
}

// `CSI code ; modifiers u`, and `CSI 27 ; modifiers ; code ~`
Key coded_key(int code, int modifiers) {
  const bool plain = (modifiers & ~kShift) == 0;
  switch (code) {
  case 27: return of(KeyName::Cancel);
  case 13: return of(plain && !(modifiers & kShift) ? KeyName::Enter : KeyName::NewLine);
  case 9: return of(plain ? KeyName::Tab : KeyName::Nothing);
  case 8:
  case 127: return of(plain ? KeyName::Backspace : KeyName::KillWordLeft);
  default: break;
  }
  if (code < 0x20 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return of(KeyName::Nothing);
  if (modifiers & kCtrl) return code < 0x7f ? control_key(static_cast<char>(std::tolower(code))) : of(KeyName::Nothing);
  if (modifiers & kAlt) return code < 0x7f ? meta_key(static_cast<char>(code)) : of(KeyName::Nothing);
  if (code >= 0xe000 && code <= 0xf8ff) return of(KeyName::Nothing); // kitty's own keys
  std::string text;
  const auto c = static_cast<uint32_t>(code);
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xc0 | c >> 6);
  } else if (c < 0x10000) {
    text += static_cast<char>(0xe0 | c >> 12);
  } else {
    text += static_cast<char>(0xf0 | c >> 18);
  }
  if (c >= 0x10000) text += static_cast<char>(0x80 | (c >> 12 & 63));
  if (c >= 0x800) text += static_cast<char>(0x80 | (c >> 6 & 63));
  if (c >= 0x80) text += static_cast<char>(0x80 | (c & 63));
  if (cleaned(text).empty()) return of(KeyName::Nothing);
  return {KeyName::Text, text};
}

Key key_of(const Sequence& s, bool is_meta) {
  if (s.prefix != 0 || !s.between.empty()) {
    // rxvt: `CSI number $` with Shift
    if (s.prefix == 0 && s.between == "$") return numbered_key(number(s, 0, 0), kShift);
    return of(KeyName::Nothing); // an answer of the terminal
  }
  int modifiers = std::max(number(s, 1, 1) - 1, 0) | (is_meta ? kAlt : 0);
  switch (s.last) {
  case '~':
    if (number(s, 0, 0) == 27 && s.numbers.size() > 2) return coded_key(number(s, 2, 0), modifiers);
    return numbered_key(number(s, 0, 0), modifiers);
  case '^': return numbered_key(number(s, 0, 0), modifiers | kCtrl);          // rxvt with Ctrl
  case '@': return numbered_key(number(s, 0, 0), modifiers | kCtrl | kShift); // and Shift
  case 'u': return coded_key(number(s, 0, 0), modifiers);
  case 'A':
  case 'B':
  case 'C':
  case 'D':
  case 'F':
  case 'H': return arrow_key(s.last, s.numbers.size() == 1 ? std::max(number(s, 0, 1) - 1, 0) : modifiers);
  case 'a':
  case 'b':
  case 'c':
  case 'd': // rxvt with Shift
    return arrow_key(static_cast<char>(std::toupper(s.last)), kShift);
  default: return of(KeyName::Nothing); // Shift-Tab, the focus, where the cursor is, …
  }
}

} // namespace

Byte KeyReader::byte(int milliseconds) {
  if (back_) {
    const unsigned char value = *back_;
    back_.reset();
    return {Byte::Kind::Value, value};
  }
  return source_(milliseconds);
}

Key KeyReader::next() {
  const Byte first = byte(-1);
  if (first.kind == Byte::Kind::End) return of(KeyName::End);
  if (first.kind != Byte::Kind::Value) return of(KeyName::Wake);
  if (first.value == kEscape) return escape();
  if (first.value < 0x20 || first.value == 0x7f) return control(first.value);
  return character(first.value);
}

Key KeyReader::control(unsigned char code) {
  if (code == 0x7f) return of(KeyName::Backspace);
  if (code == 0x18) { // Ctrl-X begins a pair: Ctrl-X Ctrl-U undoes
    const Byte second = byte(kInSequence);
    if (second.kind != Byte::Kind::Value) return of(KeyName::Nothing);
    if (second.value == 0x15) return of(KeyName::Undo);
    if (second.value == kEscape) back_ = second.value;
    return of(KeyName::Nothing);
  }
  if (code == 0x1f) return of(KeyName::Undo);
  return control_key(code == 0 || code > 26 ? ' ' : static_cast<char>('a' + code - 1));
}

Key KeyReader::character(unsigned char first) {
  if (first == 0x9b) return sequence(false); // CSI and SS3 in one byte, which no character begins with
  if (first == 0x8f) return single_shift(false);
  const int more = first < 0x80 ? 0 : first >= 0xf0 && first < 0xf5 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : -1;
  if (more < 0 || first >= 0xf5) return of(KeyName::Nothing);
  std::string text(1, static_cast<char>(first));
  for (int i = 0; i < more; ++i) {
    const Byte next = byte(kInSequence);
    if (next.kind != Byte::Kind::Value) return of(KeyName::Nothing);
    if ((next.value & 0xc0) != 0x80) {
      back_ = next.value;
      return of(KeyName::Nothing);
    }
    text += static_cast<char>(next.value);
  }
  if (cleaned(text) != text) return of(KeyName::Nothing);
  return {KeyName::Text, std::move(text)};
}

Key KeyReader::escape() {
  bool is_meta = false;
  while (true) {
    const Byte next = byte(kAfterEscape);
    if (next.kind != Byte::Kind::Value) return of(is_meta ? KeyName::Nothing : KeyName::Cancel);
    switch (next.value) {
    case kEscape: is_meta = true; continue; // of rxvt: Escape before the sequence
    case '[': return sequence(is_meta);
    case 'O': return single_shift(is_meta);
    case 'P':
    case ']':
    case 'X':
    case '^':
    case '_': skip_string(); return of(KeyName::Nothing);
    default: break;
    }
    if (next.value >= 0x80) {
      back_ = next.value;
      (void)this->next();
      return of(KeyName::Nothing);
    }
    if (next.value >= 0x20 && next.value < 0x30 && next.value != '/') { // ESC, intermediate bytes, a final one
      for (Byte more = byte(kAfterEscape); more.kind == Byte::Kind::Value; more = byte(kAfterEscape))
        if (more.value < 0x20 || more.value >= 0x30) {
          if (more.value < 0x20) back_ = more.value;
          break;
        }
      return of(KeyName::Nothing);
    }
    return meta_key(static_cast<char>(next.value));
  }
}

// After `ESC [`.
Key KeyReader::sequence(bool is_meta) {
  Sequence s;
  std::string digits;
  bool any = false, is_sub = false; // `1:3`: what is behind a colon only tells more
  auto end_number = [&] {
    int value = -1;
    if (!digits.empty() && std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc())
      value = -1;
    s.numbers.push_back(value);
    digits.clear();
    is_sub = false;
  };
  constexpr int kLongest = 256;
  for (int length = 0; length < kLongest; ++length) {
    const Byte next = byte(kInSequence);
    if (next.kind != Byte::Kind::Value) return of(KeyName::Nothing);
    const unsigned char c = next.value;
    if (c == kEscape || c >= 0x80) { // it was broken off
      back_ = c;
      return of(KeyName::Nothing);
    }
    if (c < 0x20 || c == 0x7f) {
      if (c == 0x18 || c == 0x1a) return of(KeyName::Nothing); // CAN, SUB
      back_ = c;
      return of(KeyName::Nothing);
    }
    if (c == '[' && length == 0) { // the function keys of the Linux console: `ESC [ [ A`
      (void)byte(kInSequence);
      return of(KeyName::Nothing);
    }
    if (std::isdigit(c)) {
      if (!is_sub && digits.size() < 9) digits += static_cast<char>(c);
      any = true;
    } else if (c == ';') {
      end_number();
      any = true;
    } else if (c == ':') {
      is_sub = true;
      any = true;
    } else if (c >= 0x3c && c <= 0x3f) {
      s.prefix = static_cast<char>(c);
    } else if (c >= 0x20 && c < 0x30) {
      s.between += static_cast<char>(c);
      if (c == '$' && any) { // rxvt ends with it; else one more byte follows
        const Byte after = byte(kAfterEscape);
        if (after.kind == Byte::Kind::Value) {
          if (after.value < 0x40 || after.value == 0x7f || after.value >= 0x80)
            back_ = after.value;
          else
            return of(KeyName::Nothing);
        }
        end_number();
        return key_of(s, is_meta);
      }
    } else {
      s.last = static_cast<char>(c);
      if (any) end_number();
      if (s.last == 'M' && !any && s.prefix == 0) { // X10's mouse: three bytes follow
        for (int i = 0; i < 3; ++i)
          (void)byte(kInSequence);
        return of(KeyName::Nothing);
      }
      if (s.last == '~' && number(s, 0, 0) == 200) return paste();
      return key_of(s, is_meta);
    }
  }
  return of(KeyName::Nothing);
}

// After `ESC O`: keys of the keypad, and arrows; VT100's own modifiers come as `ESC O 5 C`.
Key KeyReader::single_shift(bool is_meta) {
  int modifiers = is_meta ? kAlt : 0;
  while (true) {
    const Byte next = byte(kInSequence);
    if (next.kind != Byte::Kind::Value) return of(KeyName::Nothing);
    const char c = static_cast<char>(next.value);
    if (next.value < 0x20 || next.value >= 0x7f) {
      back_ = next.value;
      return of(KeyName::Nothing);
    }
    if (std::isdigit(next.value)) {
      modifiers |= std::max(c - '1', 0);
      continue;
    }
    if (c == ';') continue;
    if (c == 'M') return of(KeyName::Enter);
    if (c >= 'a' && c <= 'd') return arrow_key(static_cast<char>(std::toupper(c)), modifiers | kCtrl); // rxvt
    if (c >= 'j' && c <= 'y') { // the keypad in application mode
      static constexpr std::string_view kKeypad = "*+,-./0123456789";
      return {KeyName::Text, std::string(1, kKeypad[static_cast<size_t>(c - 'j')])};
    }
    return arrow_key(c, modifiers);
  }
}

// Up to `CSI 201 ~`. A terminal that goes silent in the middle has pasted what came.
Key KeyReader::paste() {
  static constexpr std::string_view kEnd = "\x1b[201~";
  constexpr int kSilence = 2000;
  std::string text;
  while (true) {
    const Byte next = byte(kSilence);
    if (next.kind == Byte::Kind::Wake) continue;
    if (next.kind != Byte::Kind::Value) break;
    text += static_cast<char>(next.value);
    if (text.ends_with(kEnd)) {
      text.resize(text.size() - kEnd.size());
      break;
    }
  }
  return {KeyName::Paste, cleaned(text)};
}

// Of an operating system command and its like: up to BEL or `ESC \`.
void KeyReader::skip_string() {
  bool after_escape = false;
  while (true) {
    const Byte next = byte(kInSequence);
    if (next.kind != Byte::Kind::Value || next.value == 0x07 || (after_escape && next.value == '\\')) return;
    after_escape = next.value == kEscape;
  }
}

} // namespace tl::editor

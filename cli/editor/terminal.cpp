#include "cli/editor/terminal.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace tl::editor {
namespace {

constexpr std::string_view kPasteOn = "\x1b[?2004h", kPasteOff = "\x1b[?2004l";

termios before;                   // how the terminal was
std::atomic<bool> is_raw{false};  // is it another now?
std::atomic<bool> resized{false}; // or continued
constexpr int kEnding[] = {SIGTERM, SIGHUP};

void on_resize(int) { resized = true; }

// Gives the terminal back and lets the signal do what it does.
void on_end(int signal) {
  if (is_raw) {
    (void)!::write(STDOUT_FILENO, kPasteOff.data(), kPasteOff.size());
    ::tcsetattr(STDIN_FILENO, TCSANOW, &before);
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  ::sigaction(signal, &action, nullptr); // without SA_RESTART: waiting for a key ends
}

} // namespace

TerminalSize terminal_size() {
  TerminalSize size;
  winsize known{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &known) == 0) {
    if (known.ws_col > 0) size.columns = known.ws_col;
    if (known.ws_row > 0) size.rows = known.ws_row;
  }
  return size;
}

bool has_escapes() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) && term && *term && std::strcmp(term, "dumb") != 0;
}

bool has_colours(int descriptor) {
  const char* none = std::getenv("NO_COLOR");
  return has_escapes() && ::isatty(descriptor) && !(none && *none);
}

Terminal::Terminal() {
  handle(SIGWINCH, on_resize);
  handle(SIGCONT, on_resize);
  for (int signal : kEnding)
    handle(signal, on_end);
}

Terminal::~Terminal() {
  leave();
  for (int signal : {SIGWINCH, SIGCONT, SIGTERM, SIGHUP})
    ::signal(signal, SIG_DFL);
}

bool Terminal::enter() {
  if (entered_) return true;
  termios mode{};
  if (::tcgetattr(STDIN_FILENO, &mode) != 0) return false;
  before = mode;
  // \r stays \n: so type-ahead and pasted text are the same lines for whoever reads them.
  mode.c_iflag &= ~static_cast<tcflag_t>(BRKINT | INLCR | IGNCR | ISTRIP | IXON);
  mode.c_iflag |= ICRNL;
  mode.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
  mode.c_cc[VMIN] = 1;
  mode.c_cc[VTIME] = 0;
  std::fflush(stdout);
  if (::tcsetattr(STDIN_FILENO, TCSADRAIN, &mode) != 0) return false;
  is_raw = entered_ = true;
  write(std::string(kPasteOn));
  return true;
}

void Terminal::leave() {
  if (!entered_) return;
  write(std::string(kPasteOff));
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
  is_raw = entered_ = false;
}

void Terminal::write(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (count < 0 && errno == EAGAIN) { // standard output is not to be waited for, says another process
      pollfd output{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&output, 1, -1);
    } else if (count < 0 && errno != EINTR) {
      return; // it is gone: reading says so
    }
    if (count > 0) at += static_cast<size_t>(count);
  }
}

std::string Terminal::back_to_begin() const {
  return cursor_row_ > 0 ? fmt::format("\r\x1b[{}A\x1b[J", cursor_row_) : "\r\x1b[J";
}

// A row that goes on in the next one is filled to its end: the terminal's own wrapping joins them, so that it knows
// what is one line when its size changes.
std::string Terminal::rows_text(const Picture& picture, size_t first, size_t last) const {
  std::string text;
  for (size_t i = first; i < last; ++i) {
    const Row& row = picture.rows[i];
    if (i > first) {
      const bool joined = picture.rows[i - 1].goes_on;
      text += !joined ? "\r\n" : row.text.empty() ? " \r" : "";
    }
    text += row.text;
  }
  return text;
}

void Terminal::draw(const Picture& picture) {
  const size_t height = std::max<size_t>(terminal_size().rows, 1), count = picture.rows.size();
  std::string text = back_to_begin();
  first_ = std::min(first_, count - std::min(count, height));
  if (picture.cursor_row < first_) first_ = picture.cursor_row;
  if (picture.cursor_row >= first_ + height) first_ = picture.cursor_row - height + 1;
  const size_t last = std::min(count, first_ + height);
  text += rows_text(picture, first_, last);
  if (const size_t up = last - 1 - picture.cursor_row; up > 0) text += fmt::format("\x1b[{}A", up);
  text += "\r";
  if (picture.cursor_column > 0) text += fmt::format("\x1b[{}C", picture.cursor_column);
  cursor_row_ = picture.cursor_row - first_;
  write(text);
}

void Terminal::forget() { cursor_row_ = first_ = 0; }

void Terminal::finish(const Picture& picture) {
  const size_t count = picture.rows.size();
  std::string text = back_to_begin() + rows_text(picture, 0, count);
  const bool is_at_begin = picture.rows.back().text.empty() && count > 1 && picture.rows[count - 2].goes_on;
  if (!is_at_begin) text += "\r\n";
  write(text);
  forget();
}

void Terminal::clear_screen() {
  write("\x1b[H\x1b[2J");
  forget();
}

void Terminal::beep() { write("\a"); }

void Terminal::stop() {
  leave();
  ::kill(0, SIGTSTP); // of the whole job
  enter();
  forget();
}

bool Terminal::take_resized() { return resized.exchange(false); }

} // namespace tl::editor

// What a program prints, gathered and handed on at flushes.
#pragma once
#include "abi/outcome.h"
#include <chrono>
#include <map>
#include <mutex>

namespace tl {

class Console {
public:
  Console(OutputSink out, OutputSink err, bool flush_each)
      : out_(std::move(out)), err_(std::move(err)), each_(flush_each) {}

  // Thread-safe. May throw what the sink throws.
  void print(std::string_view text) {
    std::lock_guard lock(mutex_);
    clear_bar();
    buffer_ += text;
    if (each_ || buffer_.size() > kMost || is_seldom()) flush_locked();
  }
  void print_error(std::string_view text) { // after what was printed before it
    std::lock_guard lock(mutex_);
    clear_bar();
    flush_locked();
    if (err_) err_(text);
  }
  // A bar that the next output on a terminal overwrites, unless it ends its line: what `text_of` makes of the seconds
  // since the bar of this number began, and since it was drawn.
  template <class TextOf> void draw_bar(uint32_t number, bool begins, TextOf text_of) {
    std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    auto [at, fresh] = bars_.try_emplace(number, Bar{now, now});
    if (begins) at->second = {now, now};
    auto since = [&](auto then) { return std::chrono::duration<double>(now - then).count(); };
    const std::string text = text_of(since(at->second.begun), since(at->second.drawn));
    if (text.empty()) return;
    at->second.drawn = now;
    flush_locked();
    if (err_) err_(text);
    has_bar_ = text.back() != '\n';
  }
  void flush() {
    std::lock_guard lock(mutex_);
    flush_locked();
  }
  // What `write` gives, which writes to the output after what was printed before it.
  template <class Write> bool write_directly(Write write) {
    std::lock_guard lock(mutex_);
    flush_locked();
    return write(out_);
  }

private:
  void clear_bar() {
    if (has_bar_ && err_) err_("\r\x1b[K");
    has_bar_ = false;
  }
  // Whoever follows a program through a pipe sees each line when it is printed, and one that is killed loses none: only
  // what prints many hundred lines a second gathers them.
  bool is_seldom() {
    const auto now = std::chrono::steady_clock::now();
    if (now - window_ > kWindow) {
      window_ = now;
      in_window_ = 0;
    }
    return ++in_window_ <= kEach;
  }
  static constexpr size_t kMost = 1 << 16;
  static constexpr std::chrono::milliseconds kWindow{100};
  static constexpr int kEach = 64;
  void flush_locked() {
    if (buffer_.empty()) return;
    std::string text;
    text.swap(buffer_); // once, also if the sink throws
    if (out_) out_(text);
  }
  struct Bar {
    std::chrono::steady_clock::time_point begun, drawn;
  };
  std::map<uint32_t, Bar> bars_;
  std::mutex mutex_;
  std::string buffer_;
  OutputSink out_, err_;
  bool each_, has_bar_ = false;
  std::chrono::steady_clock::time_point window_; // its beginning, and how often something was printed in it
  int in_window_ = 0;
};

} // namespace tl

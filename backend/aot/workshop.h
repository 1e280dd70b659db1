// Where files are while they are linked, and what happens to them when the process is told to end. Internal to
// backend/aot.
#pragma once
#include <array>
#include <csignal>
#include <string>
#include <string_view>

namespace tl {

// The signals by which users and systems end a process.
constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP};

// A folder of its own for files that are linked, gone with this object or with the process. One at a time. All throw
// BuildError.
class Workshop {
public:
  Workshop();
  ~Workshop();
  Workshop(const Workshop&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string put(const std::string& name, std::string_view bytes) const; // its path

private:
  std::string path_;
  std::array<struct sigaction, kEndingSignals.size()> before_{};
};

// Holds back the signals that would leave half a file at this path. Not while a pipe waits for its reader.
class Undisturbed {
public:
  explicit Undisturbed(const std::string& path);
  ~Undisturbed() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Undisturbed(const Undisturbed&) = delete;

private:
  sigset_t before_{};
};

} // namespace tl

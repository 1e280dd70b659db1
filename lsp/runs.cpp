#include "lsp/runs.h"
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

extern "C" char** environ;

namespace tl::lsp {
namespace {

// A file without a name that holds the text. Throws std::system_error.
int file_of(const std::string& text) {
  const int file = ::memfd_create("program", MFD_CLOEXEC);
  for (size_t at = 0; file >= 0 && at < text.size();) {
    const ssize_t count = ::write(file, text.data() + at, text.size() - at);
    if (count < 0 && errno != EINTR) {
      const int error = errno;
      ::close(file);
      throw std::system_error(error, std::generic_category());
    }
    at += static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
  if (file < 0 || ::lseek(file, 0, SEEK_SET) < 0) throw std::system_error(errno, std::generic_category());
  return file;
}

// In a group of its own, which can be ended with all that it starts. Reads `input`; both outputs go to `output`.
pid_t spawn(const std::vector<std::string>& command, const std::string& folder, int input, int output) {
  std::vector<char*> words;
  for (const std::string& word : command)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t process = 0;
  const int error = posix_spawn(&process, words[0], &actions, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category());
  return process;
}

} // namespace

void Runs::start(const std::vector<std::string>& command, const std::string& folder, const std::string& input) {
  stop();
  const int file = file_of(input);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    const int error = errno;
    ::close(file);
    throw std::system_error(error, std::generic_category());
  }
  const std::lock_guard lock(mutex_);
  try {
    process_ = spawn(command, folder, file, ends[1]);
    ::close(file);
  } catch (const std::system_error&) {
    ::close(file);
    ::close(ends[0]);
    ::close(ends[1]);
    throw;
  }
  ::close(ends[1]);
  is_stopped_ = false;
  thread_ = std::thread([this, output = ends[0]] { follow(output); });
}

bool Runs::stop() {
  bool ran = false;
  {
    const std::lock_guard lock(mutex_);
    ran = process_ != 0;
    is_stopped_ = ran;
    if (ran) ::kill(-process_, SIGKILL);
  }
  if (thread_.joinable()) thread_.join();
  return ran;
}

void Runs::follow(int output) {
  const auto end = std::chrono::steady_clock::now() + patience_;
  std::string line;
  std::array<char, 4096> part{};
  bool took_too_long = false;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd wanted{output, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&wanted, 1, static_cast<int>(left.count())) == 0) {
      took_too_long = true;
      break;
    }
    const ssize_t count = ::read(output, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    line.append(part.data(), static_cast<size_t>(count));
    for (size_t at = line.find('\n'); at != std::string::npos; at = line.find('\n')) {
      listener_.on_line(line.substr(0, at));
      line.erase(0, at + 1);
    }
  }
  ::close(output);
  if (!line.empty()) listener_.on_line(line);
  int status = 0;
  bool was_stopped = false;
  if (took_too_long) ::kill(-process_, SIGKILL);
  siginfo_t ended{};
  while (::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  {
    const std::lock_guard lock(mutex_);
    ::waitpid(process_, &status, 0); // from here on its number may be another's
    process_ = 0;
    was_stopped = is_stopped_;
  }
  if (took_too_long)
    listener_.on_end(fmt::format("stopped after {} s", patience_.count()));
  else if (was_stopped)
    listener_.on_end("stopped");
  else if (WIFEXITED(status))
    listener_.on_end(WEXITSTATUS(status) == 0 ? "done" : fmt::format("exit code {}", WEXITSTATUS(status)));
  else
    listener_.on_end(fmt::format("ended by signal {}", WTERMSIG(status)));
}

} // namespace tl::lsp

#include "process.h"
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

extern char** environ;

namespace tl::golden {
namespace {

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    close_end(read);
    close_end(write);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
};

} // namespace

Ran run_process(const std::vector<std::string>& command, const std::string& folder, double seconds) {
  Pipe out, err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write, 1);
  posix_spawn_file_actions_adddup2(&actions, err.write, 2);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  // A group of its own, so that what it starts ends with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<char*> words;
  for (const std::string& word : command)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  int problem = posix_spawn(&child, words[0], &actions, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (problem != 0) throw std::system_error(problem, std::generic_category(), command[0]);
  Pipe::close_end(out.write);
  Pipe::close_end(err.write);

  Ran ran;
  using Clock = std::chrono::steady_clock;
  auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::array<char, 65536> buffer;
  while (out.read >= 0 || err.read >= 0) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      ran.timed_out = true;
      break;
    }
    pollfd waiting[2] = {{out.read, POLLIN, 0}, {err.read, POLLIN, 0}};
    if (poll(waiting, 2, static_cast<int>(left) + 1) < 0 && errno != EINTR) break;
    auto drain = [&](const pollfd& ready, int& end, std::string& into) {
      if (end < 0 || ready.revents == 0) return;
      ssize_t count = read(end, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) return;
      if (count <= 0) return Pipe::close_end(end);
      size_t room = most_output - into.size();
      ran.cut = ran.cut || static_cast<size_t>(count) > room;
      into.append(buffer.data(), std::min(static_cast<size_t>(count), room));
    };
    drain(waiting[0], out.read, ran.out);
    drain(waiting[1], err.read, ran.err);
  }
  int status = 0;
  // It may have closed its output and go on: then it has until the deadline too.
  while (!ran.timed_out && waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() >= deadline)
      ran.timed_out = true;
    else
      usleep(1000);
  }
  if (ran.timed_out) {
    kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

} // namespace tl::golden

// How long a command takes from its start, and how much memory: spawned [--first FILE] REPEATS COMMAND…
// A line for each repeat: milliseconds until it ended, and its peak resident memory in KiB. With --first the command
// reads FILE from a pipe that stays open, and the time is until the first byte that it prints. A minute is the limit.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "spawned: %s: %s\n", what, std::strerror(errno));
  std::exit(2);
}

volatile pid_t running = 0;

void too_late(int) { ::kill(running, SIGKILL); }

struct Measured {
  double ms;
  long peak;
};

Measured measure(char** command, const std::string* input) {
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) || ::pipe2(out, O_CLOEXEC)) fail("pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  if (input && ::write(in[1], input->data(), input->size()) != static_cast<ssize_t>(input->size())) fail("write");
  if (!input) ::close(in[1]);

  const auto start = std::chrono::steady_clock::now();
  auto passed = [&] {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  };
  pid_t child;
  if ((errno = ::posix_spawnp(&child, command[0], &actions, nullptr, command, environ))) fail(command[0]);
  ::close(in[0]);
  ::close(out[1]);
  running = child;
  ::alarm(60);
  double first = -1;
  char buffer[4096];
  while (::read(out[0], buffer, sizeof buffer) > 0) {
    if (input && first < 0) {
      first = passed();
      ::close(in[1]); // the end of its input
    }
  }
  int status;
  rusage used;
  if (::wait4(child, &status, 0, &used) < 0) fail("wait4");
  const double end = passed();
  ::close(out[0]);
  posix_spawn_file_actions_destroy(&actions);
  ::alarm(0);
  if (status != 0 || (input && first < 0)) {
    std::fprintf(stderr, "spawned: %s failed, or printed nothing, or took a minute\n", command[0]);
    std::exit(1);
  }
  return {input ? first : end, used.ru_maxrss};
}

} // namespace

int main(int argc, char** argv) {
  std::signal(SIGALRM, too_late);
  int at = 1;
  std::string text;
  const bool first = argc > 2 && std::strcmp(argv[1], "--first") == 0;
  if (first) {
    std::ifstream file(argv[2]);
    if (!file) fail(argv[2]);
    text.assign(std::istreambuf_iterator<char>(file), {});
    at = 3;
  }
  if (argc < at + 2) return std::fputs("usage: spawned [--first FILE] REPEATS COMMAND…\n", stderr), 2;
  for (int repeat = std::atoi(argv[at]); repeat > 0; --repeat) {
    const Measured m = measure(argv + at + 1, first ? &text : nullptr);
    std::printf("%.3f %ld\n", m.ms, m.peak);
  }
}

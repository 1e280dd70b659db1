#include "vm/gpu/emulator/compile.h"
#include "vm/gpu/emulator/emulator.h"
#include "vm/gpu/emulator/hash.h"
#include "vm/gpu/emulator/modules.h"
#include "vm/gpu/emulator/report.h"
#include "vm/gpu/emulator/shim.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern char** environ;

namespace tl::emulator {
namespace {

namespace fs = std::filesystem;

// No library but libm and libc; hidden names, so that modules do not see each other's. What is written is what is
// computed: no contraction, integers wrap.
const std::vector<std::string> kOptions = {"-std=c++17",
                                           "-march=x86-64-v3",
                                           "-ffp-contract=off",
                                           "-fwrapv",
                                           "-fno-math-errno",
                                           "-fno-strict-aliasing",
                                           "-fno-exceptions",
                                           "-fno-rtti",
                                           "-fno-asynchronous-unwind-tables",
                                           "-fvisibility=hidden",
                                           "-fPIC",
                                           "-shared",
                                           "-nostdlib",
                                           "-s",
                                           "-w"};
const std::vector<std::string> kLibraries = {"-Wl,--as-needed", "-lm", "-lc", "-lgcc"};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

bool write(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  return static_cast<bool>(file.flush());
}

// A folder that goes with the process that made it (not with its children).
struct Temporary {
  std::string path, why;
  pid_t maker = getpid();
  Temporary() {
    const char* base = std::getenv("TMPDIR");
    std::string name = std::string(base && *base ? base : "/tmp") + "/tl-emulator-XXXXXX";
    if (mkdtemp(name.data()))
      path = name;
    else
      why = fmt::format("{}: {}", name, std::strerror(errno));
  }
  ~Temporary() {
    std::error_code ignored;
    if (!path.empty() && maker == getpid()) fs::remove_all(path, ignored);
  }
};

const Temporary& temporary() {
  static const Temporary folder;
  return folder;
}

constexpr int kTooLong = -2;         // of run()
constexpr double kMostSeconds = 300; // for the kernels of a program, dozens at a time

// Runs the program, whose own temporary files go into our folder; what it prints goes to `log`. Its exit status, or -1:
// it did not run, or kTooLong: it was ended after so many seconds.
int run(const std::vector<std::string>& words, const fs::path& log, double seconds) {
  std::vector<char*> arguments, environment;
  for (const std::string& word : words)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::string folder = "TMPDIR=" + temporary().path;
  environment.push_back(folder.data());
  for (char** variable = environ; *variable; ++variable)
    if (std::strncmp(*variable, "TMPDIR=", 7) != 0) environment.push_back(*variable);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP); // what it starts ends with it
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  int failed = posix_spawn(&child, words[0].c_str(), &actions, &attributes, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed) return -1;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  bool ended = false;
  int status = 0;
  for (int pause = 1;; pause = std::min(pause * 2, 20)) {
    const pid_t done = waitpid(child, &status, ended ? 0 : WNOHANG);
    if (done == child) break;
    if (done < 0 && errno != EINTR) return -1;
    if (ended) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    if (std::chrono::steady_clock::now() < end) continue;
    kill(-child, SIGKILL);
    ended = true;
  }
  if (ended) return kTooLong;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool is_program(const std::string& path) {
  struct stat about{};
  return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::string on_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string full = (folder.empty() ? "." : folder) + "/" + name;
    if (is_program(full)) return full;
  }
  return "";
}

// The name that a text's image has in a cache: another compiler of the same path makes another.
std::string key_of(const std::string& text, const std::string& compiler, const std::string& level) {
  struct stat about{};
  stat(compiler.c_str(), &about);
  std::string all =
      fmt::format("{} {}\n{}\n{}.{}\n", compiler, level, about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
  for (const auto* words : {&kOptions, &kLibraries})
    for (const std::string& word : *words)
      all += word + "\n";
  all += shim() + text;
  return fmt::format("{:016x}{:016x}.emu", hash(all, 1), hash(all, 2));
}

} // namespace

std::string find_compiler(const CompileOptions& options) {
  if (!options.compiler.empty()) return on_path(options.compiler);
  std::vector<std::string> names = {"clang++-19", "c++", "g++", "clang++"}; // clang takes half the time of g++
  if (options.racecheck) names = {"c++", "g++"};                            // clang calls what races.cpp has not
  for (const std::string& name : names)
    if (std::string found = on_path(name); !found.empty()) return found;
  return "";
}

static std::string level_of(const CompileOptions& options) {
  return fmt::format("-O{}{}", options.optimize, options.racecheck ? " with races" : "");
}

std::string description(const CompileOptions& options) { return key_of("", find_compiler(options), level_of(options)); }

std::string temporary_folder() { return temporary().path; }

Compiled compile(const std::string& text, const CompileOptions& options) {
  const auto& [wanted, cache, optimize, racecheck] = options;
  const std::string level = level_of(options);
  Compiled result;
  std::string compiler = find_compiler(options);
  if (compiler.empty()) {
    result.log = wanted.empty()
                     ? "the emulated card compiles kernels for the host, and there is no C++ compiler: none of "
                       "clang++-19, c++, g++, clang++ is on the PATH"
                     : fmt::format("the emulated card compiles kernels for the host with {}, which is no "
                                   "program that can be run",
                                   wanted);
    return result;
  }
  if (temporary().path.empty()) {
    result.log = "no temporary folder for compiling kernels: " + temporary().why;
    return result;
  }
  std::error_code ignored;
  if (!cache.empty()) fs::create_directories(cache, ignored);
  fs::path kept = fs::path(cache.empty() ? temporary().path : cache) / key_of(text, compiler, level);
  std::string image = read(kept);
  if (is_image(image.data(), image.size())) {
    result.ok = true;
    result.image = std::move(image);
    return result;
  }

  static std::atomic<unsigned> count{0};
  fs::path stem = fs::path(temporary().path) / fmt::format("{}-{}", getpid(), count++);
  fs::path source = stem, object = stem, log = stem;
  source += ".cpp", object += ".so", log += ".log";
  auto compiled = [&](int how) {
    std::vector<std::string> words = {compiler, fmt::format("-O{}", how)};
    if (racecheck) words.insert(words.end(), {"-fsanitize=thread", "-DTL_RACECHECK"});
    words.insert(words.end(), kOptions.begin(), kOptions.end());
    words.insert(words.end(), {source.string(), "-o", object.string()});
    words.insert(words.end(), kLibraries.begin(), kLibraries.end());
    return run(words, log, kMostSeconds);
  };
  int status = write(source, shim() + text) ? compiled(optimize) : -1;
  if (status == kTooLong && optimize > 0) status = compiled(0);
  result.log = read(log);
  std::string made = status == 0 ? read(object) : "";
  if (status == kTooLong) {
    result.log += fmt::format("{} was ended, as it took longer than {} seconds\n", compiler, kMostSeconds);
  } else if (status == -1) {
    result.log += fmt::format("{} could not be run\n", compiler);
  } else if (made.empty()) {
    result.log += fmt::format("{} has failed with exit status {}\n", compiler, status);
  } else {
    result.ok = true;
    result.image = image_of(made);
    // Beside its place, then moved: others see all of it or nothing. A cache that cannot be written is none.
    fs::path fresh = kept;
    fresh += fmt::format(".{}-{}", getpid(), count++);
    if (write(fresh, result.image)) fs::rename(fresh, kept, ignored);
    fs::remove(fresh, ignored);
  }
  for (const fs::path& path : {source, object, log})
    fs::remove(path, ignored);
  return result;
}

} // namespace tl::emulator

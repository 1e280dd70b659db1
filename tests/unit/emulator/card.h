// An emulated card for a test: its functions, one context, one stream; all is to be given back at the end.
#pragma once
#include "vm/gpu/emulator/compile.h"
#include "vm/gpu/emulator/emulator.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace tl::test {

struct Card {
  cuda::Driver d;
  cuda::Nvrtc nvrtc;
  cuda::Context context = nullptr;
  cuda::Stream stream = nullptr;

  explicit Card(uint64_t seed = 0, int devices = 1, uint64_t memory = 64 << 20, bool racecheck = false) {
    emulator::Options options;
    options.seed = seed;
    options.devices = devices;
    options.memory = memory;
    options.racecheck = racecheck;
    emulator::configure(options);
    REQUIRE(cuda::fill(d, emulator::symbol) == "");
    REQUIRE(cuda::fill(nvrtc, emulator::symbol) == "");
    REQUIRE(d.init(0) == 0);
    REQUIRE(d.retain_context(&context, 0) == 0);
    REQUIRE(d.set_context(context) == 0);
    REQUIRE(d.create_stream(&stream, cuda::kStreamNonBlocking) == 0);
  }
  ~Card() {
    CHECK(d.set_context(context) == 0);
    CHECK(d.destroy_stream(stream) == 0);
    CHECK(d.release_context(0) == 0);
  }

  cuda::Pointer allocate(size_t bytes) {
    cuda::Pointer address = 0;
    REQUIRE(d.allocate(&address, bytes) == 0);
    return address;
  }
  cuda::Stream another_stream() {
    cuda::Stream s = nullptr;
    REQUIRE(d.create_stream(&s, cuda::kStreamNonBlocking) == 0);
    return s;
  }
  void wait() { REQUIRE(d.synchronize_stream(stream) == 0); }
  template <class T> cuda::Pointer put(const std::vector<T>& values) {
    cuda::Pointer address = allocate(values.size() * sizeof(T));
    REQUIRE(d.copy_to_device(address, values.data(), values.size() * sizeof(T), stream) == 0);
    wait();
    return address;
  }
  template <class T> std::vector<T> get(cuda::Pointer address, size_t count) {
    std::vector<T> values(count);
    REQUIRE(d.copy_to_host(values.data(), address, count * sizeof(T), stream) == 0);
    wait();
    return values;
  }

  // The image of a text; a text that is not compiled fails the test.
  std::string compile(const std::string& text, std::string* log = nullptr) {
    cuda::NvrtcProgram program = nullptr;
    REQUIRE(nvrtc.create(&program, text.c_str(), "test.cu", 0, nullptr, nullptr) == 0);
    const char* options[] = {"-arch=sm_90", "-std=c++17"};
    int status = nvrtc.compile(program, 2, options);
    size_t size = 0;
    REQUIRE(nvrtc.log_size(program, &size) == 0);
    std::string said(size, '\0');
    REQUIRE(nvrtc.log(program, said.data()) == 0);
    said.resize(size - 1);
    if (log) *log = said;
    if (!log && status != 0) FAIL(said);
    REQUIRE(nvrtc.cubin_size(program, &size) == 0);
    std::string image(size, '\0');
    REQUIRE(nvrtc.cubin(program, image.data()) == 0);
    REQUIRE(nvrtc.destroy(&program) == 0);
    return image;
  }
};

// A module with one kernel `f`.
struct Kernel {
  Card& card;
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  Kernel(Card& c, const std::string& text) : card(c) {
    std::string image = card.compile(text);
    REQUIRE(card.d.load_module(&module, image.data()) == 0);
    REQUIRE(card.d.function(&function, module, "f") == 0);
  }
  ~Kernel() { CHECK(card.d.unload_module(module) == 0); }
  template <class Arguments>
  cuda::Result launch(Arguments arguments, unsigned blocks, unsigned threads, cuda::Stream stream = nullptr) {
    void* parameters[] = {&arguments};
    return card.d.launch(function, blocks, 1, 1, threads, 1, 1, 0, stream ? stream : card.stream, parameters, nullptr);
  }
};

struct Ended {
  int signal = 0; // that it died of
  int status = 0;
  std::string said; // on stderr
};

// What a child process comes to that does this; 0 where it comes to its end.
template <class F> Ended in_child(F&& f) {
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  std::fflush(nullptr);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    for (int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE})
      std::signal(signal, SIG_DFL); // not doctest's
    dup2(pipe_ends[1], 2);
    close(pipe_ends[0]);
    f();
    _exit(0);
  }
  close(pipe_ends[1]);
  Ended ended;
  char buffer[4096];
  for (ssize_t n; (n = read(pipe_ends[0], buffer, sizeof buffer)) > 0;)
    ended.said.append(buffer, static_cast<size_t>(n));
  close(pipe_ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
  return ended;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Tests of kernels begin with it.
#define TL_NEEDS_COMPILER()                                                                                            \
  if (emulator::find_compiler({}).empty()) {                                                                           \
    MESSAGE("skipped: this machine has no C++ compiler");                                                              \
    return;                                                                                                            \
  }

} // namespace tl::test

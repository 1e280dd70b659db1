// Threads that outlive what they do: used again, shared by several, awaited, and not those of a process that forked.
#include "machine.h"
#include "vm/crew.h"
#include <atomic>
#include <csignal>
#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tl;
using namespace tl::test;

namespace {

#ifdef __SANITIZE_THREAD__
constexpr bool kCannotFork = true; // and start threads then
#else
constexpr bool kCannotFork = false;
#endif

// Runs `job` on a thread of the crew and waits for it.
void on_crew(Crew& crew, std::function<void()> job) {
  std::atomic<bool> done{false};
  REQUIRE(crew.call(&done, [&] {
    job();
    done = true;
    done.notify_one();
  }));
  done.wait(false);
}

// Until all of its threads sleep, or have ended.
void settle() { ::usleep(20'000); }

void program(Machine& m) {
  Slot n = m.i64(300'000), one = m.i64(1);
  Slot x = m.launch(kIota, {one, n}, {n});
  for (int k = 0; k < 4; ++k)
    x = m.launch(kScale, {x, n}, {n});
  m.print(m.launch(kSum, {x, n}, {}));
  m.ret();
}

} // namespace

TEST_CASE("a thread of the crew does one job after the other, and leaves signals to the program") {
  Crew& crew = *new Crew; // its threads may outlast this
  pthread_t first{}, second{};
  sigset_t blocked;
  on_crew(crew, [&] {
    first = ::pthread_self();
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  });
  settle();
  on_crew(crew, [&] { second = ::pthread_self(); });
  CHECK(first == second);
  CHECK(crew.threads() == 1);
  CHECK(sigismember(&blocked, SIGINT) == 1);
  CHECK(sigismember(&blocked, SIGSEGV) == 0);
  sigset_t own;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &own);
  CHECK(sigismember(&own, SIGINT) == 0);
  for (int k = 0; k < 1000 && crew.threads() > 0; ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(crew.threads() == 0); // a thread without work ends
}

TEST_CASE("runs share the threads that there are") {
  Machine m;
  program(m);
  m.run(threads(3));
  const std::string out = m.out;
  for (int k = 0; k < 200; ++k) {
    m.run(threads(3));
    REQUIRE(m.out == out);
  }
  CHECK(crew().threads() < 50); // of 600: a run may call before those that the one before it called sleep
}

TEST_CASE("a process that forks has threads of its own, and so has its parent" * doctest::skip(kCannotFork)) {
  Machine m;
  program(m);
  m.run(threads(3));
  const std::string out = m.out;
  settle();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (crew().threads() != 0) ::_exit(2);
    m.run(threads(3));
    ::_exit(m.out == out ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  m.run(threads(3));
  CHECK(m.out == out);
}

TEST_CASE("several runs at once share the crew") {
  std::atomic<int> same{0};
  Machine alone;
  program(alone);
  alone.run(threads(2));
  std::vector<std::thread> callers;
  for (int k = 0; k < 4; ++k)
    callers.emplace_back([&] {
      Machine m;
      program(m);
      for (int i = 0; i < 50; ++i) {
        m.run(threads(2));
        same += m.out == alone.out;
      }
    });
  for (std::thread& caller : callers)
    caller.join();
  CHECK(same == 200);
}

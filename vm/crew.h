// The threads that compute for the runs of this process. They outlive a run, so that a call of a library starts none: a
// thread without work sleeps, and ends after a second. Engines call them in and are left as soon as there is nothing to
// do (vm/engine.h), so several runs share them.
//
// A process may fork: the child has a crew of its own. When the process ends nobody waits for them: what they use is
// never destroyed (vm/lasting.cpp), and libraries that hold this code stay in memory until then. They leave signals to
// the threads of the program.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace tl {

class Crew {
public:
  // All thread-safe. `job` begins soon, on a thread of its own. False: the system grants none.
  bool call(const void* owner, std::function<void()> job);
  // Jobs of `owner` that have not begun do not begin any more; returns their number.
  size_t recall(const void* owner);
  size_t threads() const; // that there are

private:
  static constexpr std::chrono::seconds kPatience{1};
  struct Job {
    const void* owner;
    std::function<void()> run;
  };

  void live();

  mutable std::mutex mutex_;
  std::condition_variable there_is_work_;
  std::deque<Job> jobs_;
  size_t threads_ = 0, asleep_ = 0;
};

Crew& crew(); // of this process

} // namespace tl

// The threads that compute for the runs of this process. They outlive a run, so that a call of a library starts none: a
// thread without work sleeps, and ends after a second. Engines call them in and are left as soon as there is nothing to
// do (vm/engine.h), so several runs share them.
//
// A process may fork: the child has a crew of its own. When the process ends, or the library that holds this code is
// unloaded, threads that sleep are awaited. They leave signals to the threads of the program.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace tl {

class Crew {
public:
  // All thread-safe. `job` begins soon, on a thread of its own. False: the system grants none.
  bool call(const void* owner, std::function<void()> job);
  // Jobs of `owner` that have not begun do not begin any more; returns their number.
  size_t recall(const void* owner);
  size_t threads() const; // that there are
  void dismiss();         // threads that sleep have ended on return, and no job is taken any more

private:
  static constexpr std::chrono::seconds kPatience{1};
  struct Job {
    const void* owner;
    std::function<void()> run;
  };
  struct Member {
    std::thread thread;
    bool at_work = true;
  };
  using Members = std::list<Member>;

  void live(Members::iterator self);
  void bury(); // joins those that have ended: under mutex_, which they need no more

  mutable std::mutex mutex_;
  std::condition_variable there_is_work_;
  std::deque<Job> jobs_;
  Members members_, ended_;
  size_t asleep_ = 0;
  bool dismissed_ = false;
};

Crew& crew(); // of this process

} // namespace tl

#include "vm/crew.h"
#include <algorithm>
#include <atomic>
#include <csignal>
#include <pthread.h>
#include <system_error>
#include <vector>

namespace tl {

namespace {

// Signals to the process are the program's. What a thread does to itself stays its own, profilers' clocks do, and what
// leaves a kernel (vm/interrupt.h).
class SignalsOfProgram {
public:
  SignalsOfProgram() {
    sigset_t blocked;
    ::sigfillset(&blocked);
    for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF, SIGUSR2})
      ::sigdelset(&blocked, own);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~SignalsOfProgram() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
  sigset_t before_;
};

std::atomic<Crew*> current{nullptr}; // never deleted: threads that are at work may outlast everything else

struct Farewell {
  ~Farewell() {
    if (Crew* crew = current) crew->dismiss();
  }
} farewell;

} // namespace

Crew& crew() {
  static std::atomic<bool> watched{false};
  if (!watched.exchange(true)) ::pthread_atfork(nullptr, nullptr, [] { current = nullptr; });
  Crew* found = current;
  if (found) return *found;
  Crew* made = new Crew;
  if (current.compare_exchange_strong(found, made)) return *made;
  delete made; // somebody was faster
  return *found;
}

bool Crew::call(const void* owner, std::function<void()> job) {
  std::unique_lock lock(mutex_);
  if (dismissed_) return false;
  if (!ended_.empty()) bury();
  jobs_.push_back({owner, std::move(job)});
  if (asleep_ >= jobs_.size()) {
    lock.unlock(); // it would wait for it
    there_is_work_.notify_one();
    return true;
  }
  const auto member = members_.emplace(members_.end());
  try {
    SignalsOfProgram left_alone;
    member->thread = std::thread([this, member] { live(member); });
  } catch (const std::system_error&) {
    members_.erase(member);
    jobs_.pop_back();
    return false;
  }
  return true;
}

size_t Crew::recall(const void* owner) {
  std::lock_guard lock(mutex_);
  return std::erase_if(jobs_, [&](const Job& job) { return job.owner == owner; });
}

size_t Crew::threads() const {
  std::lock_guard lock(mutex_);
  return members_.size();
}

void Crew::live(Members::iterator self) {
  std::unique_lock lock(mutex_);
  while (true) {
    self->at_work = false;
    ++asleep_;
    const bool woken = there_is_work_.wait_for(lock, kPatience, [&] { return dismissed_ || !jobs_.empty(); });
    --asleep_;
    if (dismissed_) return;
    if (!woken) break;
    self->at_work = true;
    const std::function<void()> job = std::move(jobs_.front().run);
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
  ended_.splice(ended_.end(), members_, self);
}

void Crew::bury() {
  for (Member& member : ended_)
    member.thread.join();
  ended_.clear();
}

void Crew::dismiss() {
  std::vector<std::thread> leaving;
  {
    std::lock_guard lock(mutex_);
    dismissed_ = true;
    for (Members* members : {&members_, &ended_})
      for (Member& member : *members)
        if (!member.at_work && member.thread.joinable()) leaving.push_back(std::move(member.thread));
  }
  there_is_work_.notify_all();
  for (std::thread& thread : leaving)
    thread.join();
}

} // namespace tl

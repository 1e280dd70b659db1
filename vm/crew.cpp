#include "vm/crew.h"
#include <atomic>
#include <csignal>
#include <pthread.h>
#include <system_error>
#include <thread>

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
  jobs_.push_back({owner, std::move(job)});
  if (asleep_ >= jobs_.size()) {
    lock.unlock(); // it would wait for it
    there_is_work_.notify_one();
    return true;
  }
  try {
    SignalsOfProgram left_alone;
    std::thread([this] { live(); }).detach();
  } catch (const std::system_error&) {
    jobs_.pop_back();
    return false;
  }
  ++threads_;
  return true;
}

size_t Crew::recall(const void* owner) {
  std::lock_guard lock(mutex_);
  return std::erase_if(jobs_, [&](const Job& job) { return job.owner == owner; });
}

size_t Crew::threads() const {
  std::lock_guard lock(mutex_);
  return threads_;
}

void Crew::live() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++asleep_;
    const bool woken = there_is_work_.wait_for(lock, kPatience, [&] { return !jobs_.empty(); });
    --asleep_;
    if (!woken) break;
    const std::function<void()> job = std::move(jobs_.front().run);
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
  --threads_;
}

} // namespace tl

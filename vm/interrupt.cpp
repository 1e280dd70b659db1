#include "vm/interrupt.h"
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <pthread.h>

namespace tl {
namespace interrupt_detail {

thread_local sigjmp_buf* escape = nullptr;
thread_local const std::atomic<bool>* ends = nullptr;

namespace {

constexpr int kSignal = SIGUSR2;

struct Slot {
  std::atomic<bool> used{false}, in_kernel{false};
  pthread_t thread{};
};
std::array<Slot, 1024> slots; // threads beyond them cannot be interrupted

struct sigaction before{};

void jump(int signal, siginfo_t* info, void* context) {
  if (sigjmp_buf* target = escape) {
    if (!ends->load(std::memory_order_relaxed)) return; // another's kernel was meant
    escape = nullptr;
    siglongjmp(*target, 1);
  }
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(signal, info, context);
  else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    before.sa_handler(signal);
}

// The signal stays unblocked when its handler is left by a jump.
bool install() {
  static std::atomic<bool> done{false};
  if (done.exchange(true)) return true;
  struct sigaction action{};
  action.sa_sigaction = jump;
  action.sa_flags = SA_NODEFER | SA_RESTART | SA_SIGINFO;
  return ::sigaction(kSignal, nullptr, &before) == 0 && ::sigaction(kSignal, &action, nullptr) == 0;
}

struct Registration {
  Slot* slot = nullptr;
  Registration() {
    for (Slot& candidate : slots) {
      bool free = false;
      if (!candidate.used.compare_exchange_strong(free, true)) continue;
      slot = &candidate;
      slot->thread = ::pthread_self();
      return;
    }
  }
  ~Registration() {
    if (slot) slot->used = false;
  }
};
thread_local Registration registration;

} // namespace

void enter() {
  if (registration.slot) registration.slot->in_kernel.store(true, std::memory_order_relaxed);
}
void leave() {
  if (registration.slot) registration.slot->in_kernel.store(false, std::memory_order_relaxed);
}

} // namespace interrupt_detail

void interrupt_kernels() {
  int saved = errno;
  if (!interrupt_detail::install()) return;
  if (interrupt_detail::escape) { // a signal handler, above a kernel: that is left when the handler has returned
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, interrupt_detail::kSignal);
    ::pthread_sigmask(SIG_BLOCK, &own, nullptr); // as long as it runs
  }
  for (auto& slot : interrupt_detail::slots)
    if (slot.in_kernel) ::pthread_kill(slot.thread, interrupt_detail::kSignal);
  errno = saved;
}

} // namespace tl

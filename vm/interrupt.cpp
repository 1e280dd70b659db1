#include "vm/interrupt.h"
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <pthread.h>

namespace tl {
namespace interrupt_detail {

thread_local sigjmp_buf* escape = nullptr;

namespace {

constexpr int kSignal = SIGUSR2;

struct Slot {
  std::atomic<bool> used{false}, in_kernel{false};
  pthread_t thread{};
};
std::array<Slot, 1024> slots; // threads beyond them cannot be interrupted

void jump(int) {
  if (sigjmp_buf* target = escape) {
    escape = nullptr;
    siglongjmp(*target, 1);
  }
}

// The signal stays unblocked when its handler is left by a jump.
bool install() {
  struct sigaction action{};
  action.sa_handler = jump;
  action.sa_flags = SA_NODEFER | SA_RESTART;
  return ::sigaction(kSignal, &action, nullptr) == 0;
}

struct Registration {
  Slot* slot = nullptr;
  Registration() {
    static const bool installed = install();
    if (!installed) return;
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
  for (auto& slot : interrupt_detail::slots)
    if (slot.in_kernel) ::pthread_kill(slot.thread, interrupt_detail::kSignal);
  errno = saved;
}

} // namespace tl

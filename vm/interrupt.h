// Leaving a kernel that runs: for Ctrl-C, where the program is to go on (in a REPL). Kernels hold no locks and own
// nothing, so a signal handler can jump out of one.
#pragma once
#include <atomic>
#include <csetjmp>

namespace tl {

namespace interrupt_detail {
extern thread_local sigjmp_buf* escape;            // set while this thread is in a kernel
extern thread_local const std::atomic<bool>* ends; // says whether that kernel is to be left
void enter();                                      // the thread is in a kernel from now on
void leave();                                      // and no longer

// What a kernel calls outside of itself is not left half done.
struct Stay {
  sigjmp_buf* saved = escape;
  Stay() { escape = nullptr; }
  ~Stay() { escape = saved; }
};
} // namespace interrupt_detail

// Calls f, which must be such that it can be left at any instruction. False if `interrupted` was true before, or
// interrupt_kernels() ended f while it was.
template <class F> bool run_interruptibly(const std::atomic<bool>& interrupted, F&& f) {
  interrupt_detail::ends = &interrupted;
  interrupt_detail::enter();
  sigjmp_buf here;
  bool left = sigsetjmp(here, 0) != 0;
  if (!left) {
    interrupt_detail::escape = &here;
    // A signal that came before it could be left has been preceded by `interrupted`.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (interrupted.load(std::memory_order_relaxed))
      left = true;
    else
      f();
    interrupt_detail::escape = nullptr;
  }
  interrupt_detail::leave();
  return !left;
}

// All threads that are inside run_interruptibly, and are to be interrupted, leave it. May be called from a signal
// handler. From the first call on SIGUSR2 is handled here; what is no kernel's goes to the handler that it had.
void interrupt_kernels();

} // namespace tl

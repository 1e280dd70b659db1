// Leaving a kernel that runs: for Ctrl-C, where the program is to go on (in a REPL). Kernels hold no locks and own
// nothing, so a signal handler can jump out of one.
#pragma once
#include <csetjmp>

namespace tl {

namespace interrupt_detail {
extern thread_local sigjmp_buf* escape; // set while this thread is in a kernel
void enter();                           // the thread is in a kernel from now on
void leave();                           // and no longer

// What a kernel calls outside of itself is not left half done.
struct Stay {
  sigjmp_buf* saved = escape;
  Stay() { escape = nullptr; }
  ~Stay() { escape = saved; }
};
} // namespace interrupt_detail

// Calls f, which must be such that it can be left at any instruction. False if interrupt_kernels() ended it.
template <class F> bool run_interruptibly(F&& f) {
  interrupt_detail::enter();
  sigjmp_buf here;
  bool interrupted = sigsetjmp(here, 0) != 0;
  if (!interrupted) {
    interrupt_detail::escape = &here;
    f();
    interrupt_detail::escape = nullptr;
  }
  interrupt_detail::leave();
  return !interrupted;
}

// All threads that are inside run_interruptibly leave it. May be called from a signal handler.
void interrupt_kernels();

} // namespace tl

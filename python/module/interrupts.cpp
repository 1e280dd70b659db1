// Ctrl-C in a call. The handler of the process, Python's as a rule, stays in charge: during a call in the main thread
// it is called by one that then tells the session to stop.
#include "session.h"
#include <atomic>
#include <csignal>
#include <pthread.h>

namespace tl::python {
namespace {

std::atomic<Interruptible*> innermost{nullptr}; // only the main thread has any
struct sigaction before = {};                   // the handler of the process
pthread_t main_thread;
bool known = false;

} // namespace

struct Interrupts {
  static void tell_all() {
    for (Interruptible* i = innermost.load(std::memory_order_acquire); i; i = i->outer)
      tl_session_interrupt(i->session);
  }
};

namespace {

// To tell a session may leave this handler, for good: a kernel that this thread runs is left by a jump. So it comes
// last, and the signal is not blocked meanwhile.
void on_interrupt(int signal, siginfo_t* info, void* context) {
  if (before.sa_flags & SA_SIGINFO) {
    if (before.sa_sigaction) before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  }
  Interrupts::tell_all();
}

bool is_default(const struct sigaction& action) {
  return !(action.sa_flags & SA_SIGINFO) && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
}

struct sigaction ours() {
  struct sigaction action = {};
  action.sa_sigaction = on_interrupt;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  return action;
}

} // namespace

Interruptible::Interruptible(tl_session* session) : session(session) {
  if (!known) { // the module is imported by some thread; the main one is whose id is the process's
    known = true;
    Ref threading(PyImport_ImportModule("threading"));
    Ref thread(threading ? PyObject_CallMethod(threading.get(), "main_thread", nullptr) : nullptr);
    Ref ident(thread ? PyObject_GetAttrString(thread.get(), "ident") : nullptr);
    if (ident) main_thread = static_cast<pthread_t>(PyLong_AsUnsignedLong(ident.get()));
    PyErr_Clear();
    pthread_atfork(nullptr, nullptr, [] {
      innermost = nullptr;
      main_thread = pthread_self(); // of the child
    });
  }
  is_main = pthread_equal(pthread_self(), main_thread);
  if (!is_main) return;
  outer = innermost.load(std::memory_order_relaxed);
  innermost.store(this, std::memory_order_release);
  if (outer) return; // Python code that a call has called calls again
  static const struct sigaction action = ours();
  if (!before.sa_handler) sigaction(SIGINT, nullptr, &before); // so that it is never unknown to the handler
  sigaction(SIGINT, &action, &before);
  if (is_default(before)) { // the process is to be ended by the signal, or to ignore it
    sigaction(SIGINT, &before, nullptr);
    is_main = false;
    innermost.store(nullptr, std::memory_order_release);
  }
}

Interruptible::~Interruptible() {
  if (!is_main) return;
  if (!outer) {
    struct sigaction now;
    sigaction(SIGINT, &before, &now);
    if (now.sa_sigaction != on_interrupt) sigaction(SIGINT, &now, nullptr); // what was printed to has set another one
  }
  innermost.store(outer, std::memory_order_release);
}

} // namespace tl::python

// A session of the library, its calls, and what they fail with.
#pragma once
#include "api/tl.h"
#include "python.h"
#include <unordered_set>

namespace tl::python {

// `_tl.Session`, from which the class Program is derived.
struct Session {
  PyObject_HEAD;
  tl_session* session;
  PyObject* display;                    // what pieces show goes there; null: it is printed
  PyObject* output_error;               // what sys.stdout.write or `display` raised, until a call raises it
  int calls;                            // that use it at this moment
  int process;                          // that opened it
  bool closed;                          // freed once no call uses it
  std::unordered_set<tl_value*>* begun; // by tl_start, and not known to be done; each has an owner
  size_t many;                          // of these, when it is worth while to look which are done
};
extern PyTypeObject* session_type;
bool make_session_type(PyObject* module);

// Notes that a call has begun.
void begin(Session* session, tl_value* value);
// The call is known to be done, or its value has an owner no longer.
void end(Session* session, tl_value* value);

// What pieces show is passed on to `function` from now on (tl_session_set_display). False: an error is set.
bool set_display(Session* session, PyObject* function);

// Sets an error where the session is closed.
bool is_open(Session* session);

// The exception for what this thread's last call of the library failed with. `session` may be null.
void raise_failure(Session* session, int status);

// While this lives, the first Ctrl-C in the main thread interrupts the session, beside what it does anyway.
class Interruptible {
public:
  explicit Interruptible(tl_session* session);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;

private:
  tl_session* session;
  Interruptible* outer = nullptr;
  bool is_main;
  friend struct Interrupts;
};

// Keeps a session from being freed.
class InUse {
public:
  explicit InUse(Session* session) : session(session) {
    Py_INCREF(session);
    ++session->calls;
  }
  ~InUse();
  InUse(const InUse&) = delete;

private:
  Session* session;
};

// Calls the library without the GIL. True: it succeeded, and so did what was printed meanwhile.
bool finished(Session* session, int status);
template <class Call> bool run(Session* session, Call call) {
  int status;
  InUse use(session);
  {
    Interruptible interruptible(session->session);
    WithoutGil free;
    status = call();
  }
  return finished(session, status);
}

// The end of the process: programs that still run are told to stop, until they have, and print no more through Python.
void finish_sessions();

} // namespace tl::python

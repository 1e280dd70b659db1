#include "session.h"
#include "function.h"
#include "names.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace tl::python {

PyTypeObject* session_type = nullptr;

namespace {

std::atomic<bool> at_end{false};
std::atomic<int> outputs{0};    // that write at this moment
std::vector<Session*> sessions; // that are open

// Hands output to Python, with the GIL held: `write` gives a new reference, or null. What goes wrong is raised by the
// call that ends next.
template <class Write> void pass_to_python(Session* session, Write write) {
  PyObject *type, *value, *traceback; // of the thread that called, if it is this one: there is none as a rule
  PyErr_Fetch(&type, &value, &traceback);
  Ref done(write());
  if (!done) {
    PyObject *error, *what, *where;
    PyErr_Fetch(&error, &what, &where);
    PyErr_NormalizeException(&error, &what, &where);
    if (where) PyException_SetTraceback(what, where);
    Py_XDECREF(error);
    Py_XDECREF(where);
    if (session->output_error)
      Py_XDECREF(what); // the first one counts
    else
      session->output_error = what;
  }
  PyErr_Restore(type, value, traceback);
}

PyObject* write_to_stream(int is_error, const char* text, size_t length) {
  Ref stream = Ref::to(PySys_GetObject(is_error ? "stderr" : "stdout")); // None where there is no terminal
  if (!stream || stream.get() == Py_None) return Ref::to(Py_None).release();
  Ref string(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(length), "replace"));
  return string ? PyObject_CallMethodObjArgs(stream.get(), names.write, string.get(), nullptr) : nullptr;
}

void output(void* context, int is_error, const char* text, size_t length) {
  ++outputs;
  if (at_end) {
    std::fwrite(text, 1, length, is_error ? stderr : stdout);
  } else {
    WithGil held;
    pass_to_python(static_cast<Session*>(context), [&] { return write_to_stream(is_error, text, length); });
  }
  --outputs;
}

void display(void* context, const char* kind, const char* content, const char* type) {
  ++outputs;
  auto* session = static_cast<Session*>(context);
  if (!at_end) {
    WithGil held;
    pass_to_python(session, [&] { return PyObject_CallFunction(session->display, "sss", kind, content, type); });
  }
  --outputs;
}

void close(Session* self) {
  tl_session* session = std::exchange(self->session, nullptr);
  if (!session) return;
  sessions.erase(std::remove(sessions.begin(), sessions.end(), self), sessions.end());
  if (at_end || self->process != getpid())
    return;        // it would wait for calls that have begun, whose threads a child lacks
  WithoutGil free; // a program that still runs may print
  tl_session_close(session);
}

// ---- the type

PyObject* session_new(PyTypeObject* type, PyObject*, PyObject*) {
  auto* self = allocate<Session>(type);
  if (!self) return nullptr;
  Ref owner(reinterpret_cast<PyObject*>(self));
  self->begun = new std::unordered_set<tl_value*>;
  int status = tl_session_open(&self->session);
  if (!status) status = tl_session_set_output(self->session, output, self);
  if (status) {
    raise_failure(nullptr, status);
    return nullptr;
  }
  self->process = getpid();
  sessions.push_back(self);
  return owner.release();
}

void session_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<Session*>(object);
  close(self);
  delete self->begun;
  Py_CLEAR(self->display);
  Py_CLEAR(self->output_error);
  free_object(object);
}

PyObject* none_if(bool good) {
  if (!good) return nullptr;
  Py_RETURN_NONE;
}

// A call that has begun and is not done, with a reference to it; or null.
tl_value* pending(Session* self) {
  for (auto it = self->begun->begin(); it != self->begun->end();) {
    if (tl_value_is_pending(*it)) {
      tl_value_retain(*it);
      return *it;
    }
    it = self->begun->erase(it);
  }
  return nullptr;
}

// Are there calls that run or wait?
bool is_busy(Session* self) {
  tl_value* value = pending(self);
  tl_value_release(value);
  return value || self->calls;
}

void pause_without_gil() {
  const timespec pause = {0, 1'000'000};
  WithoutGil free;
  nanosleep(&pause, nullptr);
}

// (wait): calls that have begun are waited for, since their values stay valid, or interrupted.
PyObject* session_close(PyObject* object, PyObject* waits) {
  auto* self = reinterpret_cast<Session*>(object);
  const int wait = PyObject_IsTrue(waits);
  if (wait < 0) return nullptr;
  self->closed = true;
  if (!wait && self->process == getpid()) {
    constexpr int kPatience = 5000; // what this thread prints to may be what closes, and its call cannot end before
    for (int i = 0; i < kPatience && is_busy(self); ++i)
      tl_session_interrupt(self->session), pause_without_gil();
  }
  if (wait && self->process == getpid()) {
    while (tl_value* value = pending(self)) {
      int status;
      {
        InUse use(self);
        Interruptible interruptible(self->session);
        WithoutGil free;
        status = tl_value_wait(value);
        tl_value_release(value);
      }
      if (status != TL_INTERRUPTED) continue; // its owner will see what it failed with
      raise_failure(nullptr, status);
      return nullptr;
    }
  }
  if (!self->calls) close(self);
  Py_RETURN_NONE;
}

PyObject* session_closed(PyObject* object, void*) {
  return PyBool_FromLong(reinterpret_cast<Session*>(object)->closed);
}

PyObject* session_set(PyObject* object, PyObject* arguments) {
  auto* self = reinterpret_cast<Session*>(object);
  const char *flag, *value;
  if (!PyArg_ParseTuple(arguments, "ss", &flag, &value) || !is_open(self)) return nullptr;
  return none_if(run(self, [&] { return tl_session_set(self->session, flag, value); }));
}

PyObject* session_add_source(PyObject* object, PyObject* arguments) {
  auto* self = reinterpret_cast<Session*>(object);
  const char *name, *text;
  if (!PyArg_ParseTuple(arguments, "ss", &name, &text) || !is_open(self)) return nullptr;
  return none_if(run(self, [&] { return tl_session_add_source(self->session, name, text); }));
}

PyObject* session_add_file(PyObject* object, PyObject* arguments) {
  auto* self = reinterpret_cast<Session*>(object);
  const char* path;
  if (!PyArg_ParseTuple(arguments, "s", &path) || !is_open(self)) return nullptr;
  return none_if(run(self, [&] { return tl_session_add_file(self->session, path); }));
}

PyObject* session_interrupt(PyObject* object, PyObject*) {
  auto* self = reinterpret_cast<Session*>(object);
  if (self->session) tl_session_interrupt(self->session);
  Py_RETURN_NONE;
}

// (name, text, result, doc, source, is_generic, is_struct, ((name, type, default, doc), …))
PyObject* declaration_of(const tl_signature& s) {
  Ref parameters(PyTuple_New(static_cast<Py_ssize_t>(s.parameter_count)));
  if (!parameters) return nullptr;
  for (size_t p = 0; p < s.parameter_count; ++p) {
    const tl_parameter& one = s.parameters[p];
    PyObject* parameter = Py_BuildValue("(szzs)", one.name, one.type, one.default_value, one.doc ? one.doc : "");
    if (!parameter || PyTuple_SetItem(parameters.get(), static_cast<Py_ssize_t>(p), parameter)) return nullptr;
  }
  return Py_BuildValue("(sszssiiO)", s.name, s.text, s.result, s.doc ? s.doc : "", s.source ? s.source : "",
                       s.is_generic, s.is_struct, parameters.get());
}

PyObject* session_declarations(PyObject* object, PyObject*) {
  auto* self = reinterpret_cast<Session*>(object);
  if (!is_open(self)) return nullptr;
  const tl_signature* first = nullptr;
  size_t count = 0;
  if (!run(self, [&] { return tl_session_declarations(self->session, &first, &count); })) return nullptr;
  Ref list(PyList_New(0));
  if (!list) return nullptr;
  for (size_t i = 0; i < count; ++i) {
    Ref entry(declaration_of(first[i]));
    if (!entry || PyList_Append(list.get(), entry.get())) return nullptr;
  }
  return list.release();
}

// name -> the declaration of a struct, also of a module; None where there is none of that name
PyObject* session_struct(PyObject* object, PyObject* arguments) {
  auto* self = reinterpret_cast<Session*>(object);
  const char* name;
  if (!PyArg_ParseTuple(arguments, "s", &name)) return nullptr;
  const tl_signature* signature = nullptr;
  if (self->closed || !self->session || tl_session_struct(self->session, nullptr, name, &signature)) Py_RETURN_NONE;
  return declaration_of(*signature);
}

// (source or None, expression, like or None, declaration or None) -> Function
PyObject* session_function(PyObject* object, PyObject* arguments) {
  auto* self = reinterpret_cast<Session*>(object);
  const char *source, *expression, *like;
  PyObject* declaration;
  if (!PyArg_ParseTuple(arguments, "zszO", &source, &expression, &like, &declaration) || !is_open(self)) return nullptr;
  tl_function* function = nullptr;
  if (!run(self, [&] { return tl_function_get(self->session, source, expression, like, &function); })) return nullptr;
  return make_function(self, function, source, expression, like, declaration);
}

} // namespace

bool is_open(Session* session) {
  if (!session->closed && session->session && !at_end) return true;
  PyErr_SetString(PyExc_ValueError, at_end ? "the process ends" : "the program is closed");
  return false;
}

void begin(Session* session, tl_value* value) {
  session->begun->insert(value);
  if (session->begun->size() >= session->many) {
    std::erase_if(*session->begun, [](tl_value* one) { return !tl_value_is_pending(one); });
    session->many = 2 * session->begun->size() + 64;
  }
}

void end(Session* session, tl_value* value) { session->begun->erase(value); }

InUse::~InUse() {
  if (!--session->calls && session->closed) close(session);
  Py_DECREF(session);
}

void raise_failure(Session* session, int status) {
  if (session && session->output_error) {
    Ref error(std::exchange(session->output_error, nullptr));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
    return;
  }
  if (status == TL_INTERRUPTED && session && session->closed) {
    PyErr_SetString(PyExc_ValueError, "the program was closed before this call was done");
    return;
  }
  if (status == TL_INTERRUPTED) {
    if (!PyErr_CheckSignals()) PyErr_SetNone(PyExc_KeyboardInterrupt);
    return;
  }
  const tl_error* e = tl_last_error();
  PyObject* make = support("make_error");
  if (!make) return;
  Ref error(PyObject_CallFunction(make, "issssLLs", e->status, e->kind, e->message, e->hint, e->file ? e->file : "",
                                  static_cast<long long>(e->line), static_cast<long long>(e->column),
                                  e->text ? e->text : e->message));
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  (void)status;
}

bool set_display(Session* session, PyObject* function) {
  if (!run(session, [&] { return tl_session_set_display(session->session, display, session); })) return false;
  Py_INCREF(function);
  Py_XDECREF(std::exchange(session->display, function));
  return true;
}

bool finished(Session* session, int status) {
  if (!status && !session->output_error) return true;
  raise_failure(session, status);
  return false;
}

void finish_sessions() {
  at_end = true;
  for (int i = 0; i < 10000; ++i) {
    bool busy = outputs != 0;
    for (Session* session : sessions)
      if (session->process == getpid() && is_busy(session)) {
        busy = true;
        tl_session_interrupt(session->session); // what begins after this is ended by the next one
      }
    if (!busy) return;
    pause_without_gil();
  }
}

bool make_session_type(PyObject* module) {
  static PyMethodDef methods[] = {
      {"_close", session_close, METH_O, nullptr},
      {"_set", session_set, METH_VARARGS, nullptr},
      {"_add_source", session_add_source, METH_VARARGS, nullptr},
      {"_add_file", session_add_file, METH_VARARGS, nullptr},
      {"_interrupt", session_interrupt, METH_NOARGS, nullptr},
      {"_declarations", session_declarations, METH_NOARGS, nullptr},
      {"_struct", session_struct, METH_VARARGS, nullptr},
      {"_function", session_function, METH_VARARGS, nullptr},
      {},
  };
  static PyGetSetDef fields[] = {{"_closed", session_closed, nullptr, nullptr, nullptr}, {}};
  PyType_Slot slots[] = {{Py_tp_new, slot(session_new)},
                         {Py_tp_dealloc, slot(session_dealloc)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, fields},
                         {}};
  PyType_Spec spec = {"tl._tl.Session", sizeof(Session), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  session_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!session_type) return false;
  Py_INCREF(session_type);
  return !PyModule_AddObject(module, "Session", reinterpret_cast<PyObject*>(session_type));
}

} // namespace tl::python

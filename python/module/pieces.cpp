#include "pieces.h"
#include "arguments.h"
#include "session.h"
#include "values.h"
#include <cstring>

namespace tl::python {
namespace {

Session* open_session(PyObject* object) {
  auto* session = reinterpret_cast<Session*>(object);
  return is_open(session) ? session : nullptr;
}

} // namespace

PyObject* run_piece(PyObject*, PyObject* arguments) {
  PyObject* object;
  const char *name, *text;
  if (!PyArg_ParseTuple(arguments, "O!ss", session_type, &object, &name, &text)) return nullptr;
  Session* session = open_session(object);
  if (!session || !run(session, [&] { return tl_session_run(session->session, name, text); })) return nullptr;
  Py_RETURN_NONE;
}

PyObject* bind_piece(PyObject*, PyObject* arguments) {
  PyObject *object, *value;
  const char* name;
  if (!PyArg_ParseTuple(arguments, "O!sO", session_type, &object, &name, &value)) return nullptr;
  Session* session = open_session(object);
  if (!session) return nullptr;
  Arguments one(1);
  if (!one.add(session, nullptr, value, nullptr, nullptr)) return nullptr;
  if (!run(session, [&] { return tl_session_bind(session->session, name, one.data()); })) return nullptr;
  Py_RETURN_NONE;
}

PyObject* lookup_piece(PyObject*, PyObject* arguments) {
  PyObject* object;
  const char* name;
  if (!PyArg_ParseTuple(arguments, "O!s", session_type, &object, &name)) return nullptr;
  Session* session = open_session(object);
  tl_value* value = nullptr;
  if (!session || !run(session, [&] { return tl_session_lookup(session->session, name, &value); })) return nullptr;
  return to_python(session, value, Family::Numpy, true);
}

PyObject* piece_names(PyObject*, PyObject* arguments) {
  PyObject* object;
  if (!PyArg_ParseTuple(arguments, "O!", session_type, &object)) return nullptr;
  Session* session = open_session(object);
  const char* text = nullptr; // of this thread's last call
  if (!session || !run(session, [&] { return tl_session_names(session->session, &text); })) return nullptr;
  Ref list(PyList_New(0));
  for (const char* end; list && (end = std::strchr(text, '\n')) != nullptr; text = end + 1) {
    Ref name(PyUnicode_FromStringAndSize(text, end - text));
    if (!name || PyList_Append(list.get(), name.get())) return nullptr;
  }
  return list.release();
}

} // namespace tl::python

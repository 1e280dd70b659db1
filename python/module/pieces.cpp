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

PyObject* list_of_lines(const char* text) {
  Ref list(PyList_New(0));
  for (const char* end; list && (end = std::strchr(text, '\n')) != nullptr; text = end + 1) {
    Ref line(PyUnicode_FromStringAndSize(text, end - text));
    if (!line || PyList_Append(list.get(), line.get())) return nullptr;
  }
  return list.release();
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
  return list_of_lines(text);
}

PyObject* display_pieces(PyObject*, PyObject* arguments) {
  PyObject *object, *function;
  if (!PyArg_ParseTuple(arguments, "O!O", session_type, &object, &function)) return nullptr;
  Session* session = open_session(object);
  if (!session || !set_display(session, function)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* complete_piece(PyObject*, PyObject* arguments) {
  PyObject* object;
  const char* text;
  Py_ssize_t cursor;
  if (!PyArg_ParseTuple(arguments, "O!sn", session_type, &object, &text, &cursor)) return nullptr;
  Session* session = open_session(object);
  size_t begin = 0;
  const char* found = nullptr; // of this thread's last call
  if (!session || !run(session, [&] {
        return tl_session_complete(session->session, text, static_cast<size_t>(cursor), &begin, &found);
      }))
    return nullptr;
  Ref list(list_of_lines(found));
  return list ? Py_BuildValue("nO", static_cast<Py_ssize_t>(begin), list.get()) : nullptr;
}

PyObject* help_piece(PyObject*, PyObject* arguments) {
  PyObject* object;
  const char* name;
  if (!PyArg_ParseTuple(arguments, "O!s", session_type, &object, &name)) return nullptr;
  Session* session = open_session(object);
  const char* text = nullptr;
  if (!session || !run(session, [&] { return tl_session_help(session->session, name, &text); })) return nullptr;
  return PyUnicode_FromString(text);
}

PyObject* is_incomplete(PyObject*, PyObject* arguments) {
  const char* text;
  if (!PyArg_ParseTuple(arguments, "s", &text)) return nullptr;
  size_t blanks = 0;
  if (!tl_is_incomplete(text, &blanks)) Py_RETURN_NONE;
  return PyLong_FromSize_t(blanks);
}

} // namespace tl::python

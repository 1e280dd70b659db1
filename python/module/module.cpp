// The extension module tl._tl: what the package tl needs of the library, and nothing that Python can do as fast.
#include "function.h"
#include "memory.h"
#include "names.h"
#include "pieces.h"
#include "structs.h"
#include "tensor.h"

namespace tl::python {
namespace {

// What is known once for the process belongs to the first interpreter: its types, its Ctrl-C, its end.
bool is_main_interpreter() {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return true;
  PyErr_SetString(PyExc_ImportError, "tl cannot be used in sub-interpreters, but in the main one alone");
  return false;
}

// _support(module): where the functions are that this module calls.
PyObject* support_from(PyObject*, PyObject* module) {
  if (!is_main_interpreter()) return nullptr; // a second import does not initialise the module
  if (!set_support(module)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* finish(PyObject*, PyObject*) {
  finish_sessions();
  Py_RETURN_NONE;
}

// _tensor(session, array) -> Tensor: a copy of the array as a value of tl.
PyObject* tensor_from(PyObject*, PyObject* arguments) {
  PyObject *object, *array;
  const char* type;
  if (!PyArg_ParseTuple(arguments, "O!Os", session_type, &object, &array, &type)) return nullptr;
  auto* session = reinterpret_cast<Session*>(object);
  if (!is_open(session)) return nullptr;
  Parameter parameter = parse_parameter("tensor", type);
  parameter.rounds = true;
  Arguments one(1);
  const bool is_number = PyFloat_Check(array) || PyLong_Check(array);
  if (!(is_number && parameter.dtype ? one.add_number(session, array, parameter)
                                     : one.add(session, nullptr, array, &parameter, nullptr)))
    return nullptr;
  tl_function* function = nullptr;
  tl_value *value = nullptr, *tuple = nullptr;
  const bool good = run(session, [&] {
    if (is_key(parameter.dtype)) { // a function of the session's source (_tensor.py)
      const int status = tl_function_get(session->session, nullptr, "keys", nullptr, &function);
      return status ? status : tl_call(function, one.data(), one.size(), &value);
    }
    const int status = tl_tuple(session->session, one.data(), one.size(), &tuple);
    return status ? status : tl_value_at(tuple, 0, &value);
  });
  tl_value_release(tuple);
  if (good) return make_tensor(session, value, nullptr, is_key(parameter.dtype));
  if (value) tl_value_release(value);
  return nullptr;
}

PyMethodDef functions[] = {
    {"_support", support_from, METH_O, nullptr},
    {"_finish", finish, METH_NOARGS, nullptr},
    {"_tensor", tensor_from, METH_VARARGS, nullptr},
    {"_run_piece", run_piece, METH_VARARGS, nullptr},
    {"_bind_piece", bind_piece, METH_VARARGS, nullptr},
    {"_lookup_piece", lookup_piece, METH_VARARGS, nullptr},
    {"_piece_names", piece_names, METH_VARARGS, nullptr},
    {"_display_pieces", display_pieces, METH_VARARGS, nullptr},
    {"_complete_piece", complete_piece, METH_VARARGS, nullptr},
    {"_help_piece", help_piece, METH_VARARGS, nullptr},
    {"_is_incomplete", is_incomplete, METH_VARARGS, nullptr},
    {},
};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "tl._tl", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

} // namespace
} // namespace tl::python

PyMODINIT_FUNC PyInit__tl() { // NOLINT(bugprone-reserved-identifier,readability-identifier-naming): Python's
  using namespace tl::python;
  if (!is_main_interpreter()) return nullptr;
  Ref module(PyModule_Create(&definition));
  if (!module || !make_names() || !make_session_type(module.get()) || !make_function_types(module.get()) ||
      !make_memory_type(module.get()) || !make_tensor_type(module.get()) || !make_struct_type(module.get()) ||
      PyModule_AddStringConstant(module.get(), "__version__", tl_version()))
    return nullptr;
  return module.release();
}

#include "names.h"
#include "dtype.h"

namespace tl::python {

Names names;

bool make_names() {
  const std::pair<PyObject**, const char*> all[] = {
      {&names.array_struct, "__array_struct__"},
      {&names.dlpack, "__dlpack__"},
      {&names.max_version, "max_version"},
      {&names.dtype, "dtype"},
      {&names.boolean, "bool"},
      {&names.name, "name"},
      {&names.requires_grad, "requires_grad"},
      {&names.is_neg, "is_neg"},
      {&names.is_conj, "is_conj"},
      {&names.view, "view"},
      {&names.write, "write"},
  };
  for (const auto& [place, text] : all) {
    *place = PyUnicode_InternFromString(text);
    if (!*place) return false;
  }
  names.max_version_tuple = Py_BuildValue("(ii)", 1, 1);
  return names.max_version_tuple;
}

namespace {
bool fill(Numpy& out) {
  Ref module(PyImport_ImportModule("numpy"));
  if (!module) return false;
  const std::pair<PyObject**, const char*> all[] = {{&out.asarray, "asarray"},
                                                    {&out.ascontiguousarray, "ascontiguousarray"},
                                                    {&out.ndarray, "ndarray"},
                                                    {&out.generic, "generic"}};
  for (const auto& [place, text] : all) {
    *place = PyObject_GetAttrString(module.get(), text);
    if (!*place) return false;
  }
  for (const Dtype& dtype : kDtypes) {
    PyObject*& scalar = out.scalars[&dtype - kDtypes];
    scalar = dtype.numpy ? PyObject_GetAttrString(module.get(), dtype.numpy) : nullptr;
    if (dtype.numpy && !scalar) return false;
  }
  return true;
}
} // namespace

const Numpy* numpy() {
  static enum { Unknown, There, Absent } state = Unknown;
  static Numpy module;
  if (state == Unknown) {
    state = fill(module) ? There : Absent;
    if (state == Absent) PyErr_Clear();
  }
  return state == There ? &module : nullptr;
}

PyObject* bfloat16() {
  static bool known = false;
  static PyObject* type = nullptr;
  if (!known) {
    known = true;
    Ref module(PyImport_ImportModule("ml_dtypes"));
    if (module) type = PyObject_GetAttrString(module.get(), "bfloat16");
    if (!type) PyErr_Clear();
  }
  return type;
}

PyObject* imported(const char* module) {
  PyObject* modules = PyImport_GetModuleDict();
  return modules ? PyDict_GetItemString(modules, module) : nullptr;
}

namespace {
PyObject* support_module = nullptr;
}
bool set_support(PyObject* module) {
  Py_INCREF(module);
  Py_XDECREF(std::exchange(support_module, module));
  return true;
}
PyObject* support(const char* function) {
  if (!support_module) {
    PyErr_SetString(PyExc_ImportError, "tl._tl is a part of the package tl, and not to be imported alone");
    return nullptr;
  }
  return PyDict_GetItemString(PyModule_GetDict(support_module), function); // borrowed
}

} // namespace tl::python

#include "structs.h"
#include "names.h"
#include "values.h"

namespace tl::python {

PyTypeObject* struct_type = nullptr;

namespace {

Struct* as_struct(PyObject* object) { return reinterpret_cast<Struct*>(object); }

void dealloc(PyObject* object) {
  tl_value_release(as_struct(object)->value);
  free_object(object);
}

// The session is the class's attribute `_program`.
Ref session_of(PyObject* object) {
  Ref session(PyObject_GetAttrString(object, "_program"));
  if (session && !PyType_IsSubtype(Py_TYPE(session.get()), session_type)) {
    PyErr_SetString(PyExc_TypeError, "a struct of no program");
    return Ref();
  }
  return session;
}

PyObject* get(PyObject* object, PyObject* name) {
  Ref session(session_of(object));
  Ref bytes(session ? PyUnicode_AsUTF8String(name) : nullptr);
  if (!bytes) return nullptr;
  tl_value* field = nullptr;
  const int status = tl_value_field(as_struct(object)->value, PyBytes_AsString(bytes.get()), &field);
  auto* owner = reinterpret_cast<Session*>(session.get());
  if (status) {
    raise_failure(owner, status);
    return nullptr;
  }
  return to_python(owner, field, as_struct(object)->family, true);
}

PyObject* take_family(PyObject* object, PyObject* of) {
  if (!PyType_IsSubtype(Py_TYPE(of), struct_type)) {
    PyErr_BadArgument();
    return nullptr;
  }
  as_struct(object)->family = as_struct(of)->family;
  Py_RETURN_NONE;
}

PyObject* same_value(PyObject* object, PyObject*) { // nothing can change it
  Py_INCREF(object);
  return object;
}

} // namespace

namespace {

// The names of the fields, a tuple.
Ref names_of(tl_value* value) {
  size_t count = 0;
  if (const int status = tl_value_count(value, &count)) {
    raise_failure(nullptr, status);
    return Ref();
  }
  Ref names(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; names && i < count; ++i) {
    const char* text = "";
    tl_value_name(value, i, &text);
    PyObject* name = PyUnicode_FromString(text);
    if (!name || PyTuple_SetItem(names.get(), static_cast<Py_ssize_t>(i), name)) return Ref();
  }
  return names;
}

} // namespace

PyObject* make_struct(Session* session, const char* type, tl_value* value, Family family) {
  auto* owner = reinterpret_cast<PyObject*>(session);
  Ref kind(PyObject_CallMethod(owner, "_struct_class", "s", type));
  if (kind && kind.get() == Py_None) { // what the program cannot name
    Ref names = names_of(value);
    kind = Ref(names ? PyObject_CallMethod(owner, "_struct_class", "sO", type, names.get()) : nullptr);
  }
  if (!kind || !PyType_Check(kind.get()) ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(kind.get()), struct_type)) {
    tl_value_release(value);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "_struct_class gave no class of structs");
    return nullptr;
  }
  auto* self = allocate<Struct>(reinterpret_cast<PyTypeObject*>(kind.get()));
  if (!self) {
    tl_value_release(value);
    return nullptr;
  }
  self->value = value;
  self->family = family;
  return reinterpret_cast<PyObject*>(self);
}

bool make_struct_type(PyObject* module) {
  static PyMethodDef methods[] = {
      {"_get", get, METH_O, nullptr},
      {"_take_family", take_family, METH_O, nullptr},
      {"__copy__", same_value, METH_NOARGS, nullptr},
      {"__deepcopy__", same_value, METH_O, nullptr},
      {},
  };
  PyType_Slot slots[] = {{Py_tp_new, slot(refuse_new)}, {Py_tp_dealloc, slot(dealloc)}, {Py_tp_methods, methods}, {}};
  PyType_Spec spec = {"tl._tl.Struct", sizeof(Struct), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  struct_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!struct_type) return false;
  Py_INCREF(struct_type);
  return !PyModule_AddObject(module, "Struct", reinterpret_cast<PyObject*>(struct_type));
}

} // namespace tl::python

// What the classes of a program's structs are derived from.
#pragma once
#include "arguments.h"

namespace tl::python {

struct Struct {
  PyObject_HEAD;
  tl_value* value;
  Family family; // of its fields
};
extern PyTypeObject* struct_type;
bool make_struct_type(PyObject* module);
// An object of the session's class for that type; takes the value.
PyObject* make_struct(Session* session, const char* type, tl_value* value, Family family);

} // namespace tl::python

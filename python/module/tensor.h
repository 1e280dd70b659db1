// `tl.Tensor`: an array of tl, which may still be computed.
#pragma once
#include "arguments.h"
#include "memory.h"

namespace tl::python {

struct Tensor {
  PyObject_HEAD;
  tl_value* value;
  Session* session; // whose call computes it
  Arguments* keep;  // of the call, until it is done
  Memory* memory;   // once it has been looked at
  bool is_key;      // random keys, for which there is no array
};
extern PyTypeObject* tensor_type;
bool make_tensor_type(PyObject* module);
// Takes the value and what to keep.
PyObject* make_tensor(Session* session, tl_value* value, Arguments* keep, bool is_key = false);
inline bool is_array(PyObject* object) { // a tl.Tensor that takes the place of an array
  return Py_TYPE(object) == tensor_type && !reinterpret_cast<Tensor*>(object)->is_key;
}

} // namespace tl::python

// Names and modules that calls look up, once for the process.
#pragma once
#include "dtype.h"

namespace tl::python {

// Interned, and never freed.
struct Names {
  PyObject *array_struct, *dlpack, *max_version, *dtype, *name, *requires_grad, *is_neg, *is_conj, *view, *write,
      *boolean;
  PyObject* max_version_tuple; // (1, 1)
};
extern Names names;
bool make_names();

// numpy: nullptr (without an error) where it cannot be imported.
struct Numpy {
  PyObject *asarray, *ascontiguousarray, *ndarray, *generic;
  PyObject* scalars[std::size(kDtypes)];
};
const Numpy* numpy();
PyObject* bfloat16(); // ml_dtypes.bfloat16, borrowed, or nullptr without an error
// A module that the program has imported already, borrowed, or nullptr without an error.
PyObject* imported(const char* module);

// What the Python part of the package does for this one (tl/_support.py), borrowed.
PyObject* support(const char* function);
bool set_support(PyObject* module);

} // namespace tl::python

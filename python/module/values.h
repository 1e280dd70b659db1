// Values of the library as Python's objects.
#pragma once
#include "arguments.h"

namespace tl::python {

// Takes the value, which is computed, or waits for it. Tensors are of that family (None: Python's numbers for those of
// rank 0, else NumPy's arrays, or tl.Tensor without NumPy). `shared`: others use the value too; what arrays can be
// read-only is.
PyObject* to_python(Session* session, tl_value* value, Family family, bool shared = false);

// A tensor as an array of that family; takes it. Rank 0: as for to_python.
PyObject* array_of(tl_managed_tensor* tensor, Family family, bool writable);

// A call that has begun and that nobody waits for: what it uses lives until it is done. Takes value and arguments,
// which may be null.
void outlive(Session* session, tl_value* value, Arguments* keep);
void forget_the_done();

} // namespace tl::python

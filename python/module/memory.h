// Tensors of the library as objects that NumPy, PyTorch, JAX and others take without a copy.
#pragma once
#include "dlpack.h"
#include "dtype.h"

namespace tl::python {

// A tensor that several own, with or without the GIL.
class SharedTensor;

// `_tl.Memory`: a tensor with __array_struct__ and __dlpack__.
struct Memory {
  PyObject_HEAD;
  SharedTensor* shared;
  const tl_tensor* tensor;
  const Dtype* dtype;
  bool writable;
  ArrayInterface interface;
  Py_ssize_t inline_strides[8];
  Py_ssize_t* strides; // in bytes
};
bool make_memory_type(PyObject* module);
// Takes the tensor, also if it fails.
Memory* make_memory(tl_managed_tensor* tensor, bool writable);

PyObject* memory_array_struct(Memory* memory);
// A capsule, as __dlpack__ gives it. What is not writable is marked so, or copied where the consumer is too old to
// know.
PyObject* memory_dlpack(Memory* memory, bool versioned, bool copy);
// The same by the keywords of __dlpack__.
PyObject* memory_dlpack(Memory* memory, PyObject* keywords);
// As an argument of DlExchange::to_object, which takes it.
DlVersioned* memory_versioned(Memory* memory);

} // namespace tl::python

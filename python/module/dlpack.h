// The C structs of DLPack 1.x that the API of tl does not have, and what NumPy's __array_struct__ points to.
// https://dmlc.github.io/dlpack/latest/c_api.html, https://numpy.org/doc/stable/reference/arrays.interface.html
#pragma once
#include "api/tl.h"
#include "python.h"

namespace tl::python {

struct DlVersion {
  uint32_t major, minor;
};
struct DlVersioned { // DLManagedTensorVersioned
  DlVersion version;
  void* context;
  void (*deleter)(DlVersioned*);
  uint64_t flags; // kReadOnly, kCopied
  tl_tensor tensor;
};
inline constexpr uint64_t kReadOnly = 1, kCopied = 2;

struct DlExchange { // DLPackExchangeAPI; each gives 0, or sets a Python error
  DlVersion version;
  DlExchange* previous; // of an older version
  int (*allocate)(tl_tensor*, DlVersioned**, void*, void (*)(void*, const char*, const char*));
  int (*from_object)(void* object, DlVersioned** out);
  int (*to_object)(DlVersioned* tensor, void** object); // takes the tensor, if it succeeds
  int (*view_object)(void* object, tl_tensor* out);     // may be missing; valid while the object lives
  int (*stream)(int32_t device_type, int32_t device_id, void** out);
};

struct ArrayInterface { // PyArrayInterface
  int two, rank;
  char letter;
  int size, flags;
  Py_ssize_t *shape, *strides; // in bytes
  void* data;
  PyObject* descr;
};
inline constexpr int kDense = 1, kAligned = 0x100, kNative = 0x200, kWritable = 0x400;

} // namespace tl::python

#include "memory.h"
#include "names.h"
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace tl::python {

class SharedTensor {
public:
  explicit SharedTensor(tl_managed_tensor* owned) : tensor(owned) {}
  void retain() { owners.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (tensor->deleter) tensor->deleter(tensor);
    delete this;
  }
  tl_managed_tensor* const tensor;

private:
  std::atomic<int> owners{1};
};

namespace {

PyTypeObject* memory_type = nullptr;

void copy_elements(const unsigned char* from, unsigned char*& to, const tl_tensor& t, int axis, size_t size) {
  if (axis == t.rank) {
    std::memcpy(to, from, size);
    to += size;
    return;
  }
  for (int64_t i = 0; i < t.shape[axis]; ++i)
    copy_elements(from + i * t.strides[axis] * static_cast<int64_t>(size), to, t, axis + 1, size);
}

// A dense copy, in one piece of memory: it, its shape, its elements.
tl_managed_tensor* copied(const tl_tensor& t) {
  const size_t size = t.dtype.bits / 8;
  size_t bytes = size;
  for (int i = 0; i < t.rank; ++i)
    bytes *= static_cast<size_t>(t.shape[i]);
  const size_t before = (sizeof(tl_managed_tensor) + static_cast<size_t>(t.rank) * 8 + 63) / 64 * 64;
  auto* place = static_cast<unsigned char*>(std::aligned_alloc(64, (before + bytes + 63) / 64 * 64));
  if (!place) return nullptr;
  auto* out = new (place) tl_managed_tensor;
  auto* shape = reinterpret_cast<int64_t*>(out + 1);
  if (t.rank) std::memcpy(shape, t.shape, static_cast<size_t>(t.rank) * 8);
  out->tensor = {place + before, 1, 0, t.rank, t.dtype, shape, nullptr, 0};
  out->context = nullptr;
  out->deleter = [](tl_managed_tensor* self) { std::free(self); };
  const auto* from = static_cast<const unsigned char*>(t.data) + t.byte_offset;
  unsigned char* to = place + before;
  if (!bytes) return out;
  if (t.strides)
    copy_elements(from, to, t, 0, size);
  else
    std::memcpy(to, from, bytes);
  return out;
}

void memory_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<Memory*>(object);
  if (self->shared) self->shared->release();
  if (self->strides != self->inline_strides) delete[] self->strides;
  free_object(object);
}

PyObject* get_array_struct(PyObject* self, void*) { return memory_array_struct(reinterpret_cast<Memory*>(self)); }
PyObject* dlpack(PyObject* self, PyObject*, PyObject* keywords) {
  return memory_dlpack(reinterpret_cast<Memory*>(self), keywords);
}
PyObject* dlpack_device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", 1, 0); }

void destroy_versioned(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor_versioned")) return; // taken
  auto* managed = static_cast<DlVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
  managed->deleter(managed);
}
void destroy_unversioned(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;
  auto* managed = static_cast<tl_managed_tensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  managed->deleter(managed);
}

DlVersioned* versioned_of(SharedTensor* shared, uint64_t flags) {
  shared->retain();
  auto* out = new DlVersioned{{1, 1}, shared, nullptr, flags, shared->tensor->tensor};
  out->deleter = [](DlVersioned* self) {
    static_cast<SharedTensor*>(self->context)->release();
    delete self;
  };
  return out;
}

} // namespace

Memory* make_memory(tl_managed_tensor* tensor, bool writable) {
  auto* self = allocate<Memory>(memory_type);
  if (!self) {
    tensor->deleter(tensor);
    return nullptr;
  }
  self->shared = new SharedTensor(tensor);
  self->tensor = &tensor->tensor;
  self->dtype = find_dtype(tensor->tensor.dtype);
  self->writable = writable;
  const tl_tensor& t = *self->tensor;
  const int64_t size = t.dtype.bits / 8;
  self->strides = t.rank <= 8 ? self->inline_strides : new Py_ssize_t[static_cast<size_t>(t.rank)];
  int64_t stride = size;
  bool dense = true;
  for (int i = t.rank - 1; i >= 0; --i) {
    self->strides[i] = t.strides ? t.strides[i] * size : stride;
    if (self->strides[i] != stride && t.shape[i] != 1) dense = false;
    stride *= t.shape[i];
  }
  self->interface = {2,
                     t.rank,
                     self->dtype ? self->dtype->letter : 'V',
                     static_cast<int>(size),
                     kAligned | kNative | (dense || !stride ? kDense : 0) | (writable ? kWritable : 0),
                     t.shape,
                     self->strides,
                     static_cast<char*>(t.data) + t.byte_offset,
                     nullptr};
  return self;
}

PyObject* memory_array_struct(Memory* memory) {
  PyObject* capsule = PyCapsule_New(&memory->interface, nullptr, [](PyObject* self) {
    Py_XDECREF(static_cast<PyObject*>(PyCapsule_GetContext(self)));
  });
  if (!capsule) return nullptr;
  Py_INCREF(memory);
  PyCapsule_SetContext(capsule, memory);
  return capsule;
}

DlVersioned* memory_versioned(Memory* memory) { return versioned_of(memory->shared, memory->writable ? 0 : kReadOnly); }

PyObject* memory_dlpack(Memory* memory, bool versioned, bool copy) {
  SharedTensor* shared = memory->shared;
  copy = copy || (!versioned && !memory->writable);
  if (copy) {
    tl_managed_tensor* own = copied(*memory->tensor);
    if (!own) return PyErr_NoMemory();
    shared = new SharedTensor(own);
  }
  PyObject* capsule;
  if (versioned) {
    DlVersioned* managed = versioned_of(shared, copy ? kCopied : memory->writable ? 0 : kReadOnly);
    capsule = PyCapsule_New(managed, "dltensor_versioned", destroy_versioned);
    if (!capsule) managed->deleter(managed);
  } else {
    shared->retain();
    auto* managed = new tl_managed_tensor{shared->tensor->tensor, shared, nullptr};
    managed->deleter = [](tl_managed_tensor* self) {
      static_cast<SharedTensor*>(self->context)->release();
      delete self;
    };
    capsule = PyCapsule_New(managed, "dltensor", destroy_unversioned);
    if (!capsule) managed->deleter(managed);
  }
  if (copy) shared->release();
  return capsule;
}

PyObject* memory_dlpack(Memory* memory, PyObject* keywords) {
  bool versioned = false, copy = false;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; keywords && PyDict_Next(keywords, &at, &key, &value);) {
    if (value == Py_None) continue;
    if (!PyUnicode_CompareWithASCIIString(key, "max_version")) {
      int major, minor;
      if (!PyTuple_Check(value) || !PyArg_ParseTuple(value, "ii", &major, &minor)) return nullptr;
      versioned = major >= 1;
    } else if (!PyUnicode_CompareWithASCIIString(key, "copy")) {
      copy = PyObject_IsTrue(value) == 1;
    } else if (!PyUnicode_CompareWithASCIIString(key, "dl_device")) {
      int type, id;
      if (!PyTuple_Check(value) || !PyArg_ParseTuple(value, "ii", &type, &id)) return nullptr;
      if (type != 1 || id) {
        PyErr_SetString(PyExc_BufferError, "a tensor of tl is memory of the CPU");
        return nullptr;
      }
    } else if (PyUnicode_CompareWithASCIIString(key, "stream")) {
      PyErr_Format(PyExc_TypeError, "__dlpack__() has no parameter %R", key);
      return nullptr;
    }
  }
  return memory_dlpack(memory, versioned, copy);
}

bool make_memory_type(PyObject* module) {
  static PyMethodDef methods[] = {
      {"__dlpack__", method(dlpack), METH_VARARGS | METH_KEYWORDS, nullptr},
      {"__dlpack_device__", dlpack_device, METH_NOARGS, nullptr},
      {},
  };
  static PyGetSetDef fields[] = {{"__array_struct__", get_array_struct, nullptr, nullptr, nullptr}, {}};
  PyType_Slot slots[] = {{Py_tp_new, slot(refuse_new)},
                         {Py_tp_dealloc, slot(memory_dealloc)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, fields},
                         {}};
  PyType_Spec spec = {"tl._tl.Memory", sizeof(Memory), 0, Py_TPFLAGS_DEFAULT, slots};
  memory_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return memory_type && module;
}

} // namespace tl::python

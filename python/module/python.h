// Python's C API, limited to what all versions from 3.9 have: one module serves them all.
#pragma once
#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <utility>

namespace tl::python {

// Owns a reference, or nothing.
class Ref {
public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object(owned) {}
  Ref(Ref&& other) noexcept : object(std::exchange(other.object, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    PyObject* old = std::exchange(object, std::exchange(other.object, nullptr));
    Py_XDECREF(old);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() { Py_XDECREF(object); }
  static Ref to(PyObject* borrowed) {
    Py_XINCREF(borrowed);
    return Ref(borrowed);
  }
  PyObject* get() const { return object; }
  PyObject* release() { return std::exchange(object, nullptr); }
  explicit operator bool() const { return object; }

private:
  PyObject* object = nullptr;
};

// The GIL is free while this lives.
class WithoutGil {
public:
  WithoutGil() : state(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state); }
  WithoutGil(const WithoutGil&) = delete;

private:
  PyThreadState* state;
};

// The GIL is held while this lives, by any thread.
class WithGil {
public:
  WithGil() : state(PyGILState_Ensure()) {}
  ~WithGil() { PyGILState_Release(state); }
  WithGil(const WithGil&) = delete;

private:
  PyGILState_STATE state;
};

// Slots of a type's specification.
template <class F> void* slot(F* function) { return reinterpret_cast<void*>(function); }
// A method that takes keyword arguments.
template <class F> PyCFunction method(F* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}
// Frees an object whose type was made by PyType_FromSpec.
inline void free_object(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  auto release = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
  release(self);
  Py_DECREF(type);
}
// The slot Py_tp_new of types whose objects the library alone makes.
inline PyObject* refuse_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError, "%R cannot be called", reinterpret_cast<PyObject*>(type));
  return nullptr;
}
template <class T> T* allocate(PyTypeObject* type) {
  return reinterpret_cast<T*>(PyType_GenericAlloc(type, 0)); // all zero
}

} // namespace tl::python

#include "tensor.h"
#include "names.h"
#include "values.h"

namespace tl::python {

PyTypeObject* tensor_type = nullptr;

namespace {

Tensor* as_tensor(PyObject* object) { return reinterpret_cast<Tensor*>(object); }

bool wait(Tensor* self) {
  if (tl_value_is_pending(self->value)) {
    if (!run(self->session, [&] { return tl_value_wait(self->value); })) return false;
  } else if (const int status = tl_value_wait(self->value)) {
    raise_failure(self->session, status);
    return false;
  }
  end(self->session, self->value);
  delete std::exchange(self->keep, nullptr);
  return true;
}

// Waits for the elements. Null: an error is set.
Memory* look(Tensor* self) {
  if (self->memory) return self->memory;
  if (!wait(self)) return nullptr;
  tl_managed_tensor* tensor = nullptr;
  if (const int status = tl_value_view_tensor(self->value, &tensor)) {
    raise_failure(self->session, status);
    return nullptr;
  }
  Memory* memory = make_memory(tensor, false);
  if (self->memory)
    Py_XDECREF(memory); // another thread was here
  else
    self->memory = memory;
  return self->memory;
}

PyObject* array(Tensor* self) {
  Memory* memory = look(self);
  if (!memory) return nullptr;
  if (!numpy()) {
    PyErr_SetString(PyExc_ImportError, "there is no NumPy here");
    return nullptr;
  }
  if (memory->dtype->code == 4 && !bfloat16()) {
    PyErr_SetString(PyExc_ImportError, "NumPy knows bf16 by the package ml_dtypes, which is not here");
    return nullptr;
  }
  Ref out(PyObject_CallFunctionObjArgs(numpy()->asarray, reinterpret_cast<PyObject*>(memory), nullptr));
  if (!out || memory->dtype->code != 4) return out.release();
  return PyObject_CallMethodObjArgs(out.get(), names.view, bfloat16(), nullptr);
}

PyObject* list(const Dtype& dtype, const char* at, const tl_tensor& t, const Py_ssize_t* strides, int axis) {
  if (axis == t.rank) return element(dtype, at);
  Ref out(PyList_New(t.shape[axis]));
  for (int64_t i = 0; out && i < t.shape[axis]; ++i) {
    PyObject* one = list(dtype, at + i * strides[axis], t, strides, axis + 1);
    if (!one || PyList_SetItem(out.get(), i, one)) return nullptr;
  }
  return out.release();
}

// ---- the type

void dealloc(PyObject* object) {
  Tensor* self = as_tensor(object);
  if (tl_value_is_pending(self->value)) {
    outlive(self->session, self->value, self->keep);
  } else {
    end(self->session, self->value);
    delete self->keep;
    tl_value_release(self->value);
  }
  Py_CLEAR(self->memory);
  Py_CLEAR(self->session);
  free_object(object);
}

PyObject* get_shape(PyObject* self, void*) {
  Memory* memory = look(as_tensor(self));
  if (!memory) return nullptr;
  Ref shape(PyTuple_New(memory->tensor->rank));
  for (int i = 0; shape && i < memory->tensor->rank; ++i) {
    PyObject* size = PyLong_FromLongLong(memory->tensor->shape[i]);
    if (!size || PyTuple_SetItem(shape.get(), i, size)) return nullptr;
  }
  return shape.release();
}
PyObject* get_ndim(PyObject* self, void*) {
  Memory* memory = look(as_tensor(self));
  return memory ? PyLong_FromLong(memory->tensor->rank) : nullptr;
}
PyObject* get_dtype(PyObject* self, void*) {
  Memory* memory = look(as_tensor(self));
  return memory ? PyUnicode_FromString(as_tensor(self)->is_key ? "key" : memory->dtype->name) : nullptr;
}
PyObject* get_array_struct(PyObject* self, void*) {
  Memory* memory = look(as_tensor(self));
  if (!memory) return nullptr;
  if (memory->dtype->code == 4) { // NumPy takes __array__ then
    PyErr_SetString(PyExc_AttributeError, "__array_struct__ has no bf16");
    return nullptr;
  }
  return memory_array_struct(memory);
}

PyObject* to_numpy(PyObject* self, PyObject*) { return array(as_tensor(self)); }
PyObject* to_list(PyObject* self, PyObject*) {
  Memory* memory = look(as_tensor(self));
  if (!memory) return nullptr;
  return list(*memory->dtype, static_cast<const char*>(memory->interface.data), *memory->tensor, memory->strides, 0);
}
PyObject* item(PyObject* self, PyObject*) {
  Memory* memory = look(as_tensor(self));
  if (!memory) return nullptr;
  for (int i = 0; i < memory->tensor->rank; ++i)
    if (memory->tensor->shape[i] != 1) {
      PyErr_SetString(PyExc_ValueError, "only a tensor of one element is a number");
      return nullptr;
    }
  return element(*memory->dtype, memory->interface.data);
}
PyObject* array_method(PyObject* self, PyObject* arguments, PyObject* keywords) {
  PyObject *dtype = Py_None, *copy = Py_None;
  static const char* words[] = {"dtype", "copy", nullptr};
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO", const_cast<char**>(words), &dtype, &copy))
    return nullptr;
  Ref out(array(as_tensor(self)));
  if (!out || (dtype == Py_None && copy != Py_True)) return out.release();
  if (dtype == Py_None) return PyObject_CallMethod(out.get(), "copy", nullptr);
  return PyObject_CallMethod(out.get(), "astype", "O", dtype);
}
PyObject* dlpack(PyObject* self, PyObject*, PyObject* keywords) {
  Memory* memory = look(as_tensor(self));
  return memory ? memory_dlpack(memory, keywords) : nullptr;
}
PyObject* dlpack_device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", 1, 0); }
PyObject* ready(PyObject* self, PyObject*) { return PyBool_FromLong(!tl_value_is_pending(as_tensor(self)->value)); }
PyObject* wait_method(PyObject* self, PyObject*) {
  if (!wait(as_tensor(self))) return nullptr;
  Py_INCREF(self);
  return self;
}
PyObject* reduce(PyObject* self, PyObject*) {
  PyObject* function = support("reduce_tensor");
  return function ? PyObject_CallFunctionObjArgs(function, self, nullptr) : nullptr;
}
PyObject* copy(PyObject* self, PyObject*) { // nothing can change it
  Py_INCREF(self);
  return self;
}

PyObject* repr(PyObject* self) {
  PyObject* function = support("tensor_repr");
  return function ? PyObject_CallFunctionObjArgs(function, self, nullptr) : nullptr;
}
Py_ssize_t len(PyObject* self) {
  Memory* memory = look(as_tensor(self));
  if (!memory) return -1;
  if (memory->tensor->rank) return memory->tensor->shape[0];
  PyErr_SetString(PyExc_TypeError, "a tensor of rank 0 has no length");
  return -1;
}
PyObject* to_float(PyObject* self) {
  Ref number(item(self, nullptr));
  return number ? PyNumber_Float(number.get()) : nullptr;
}
PyObject* to_int(PyObject* self) {
  Ref number(item(self, nullptr));
  return number ? PyNumber_Long(number.get()) : nullptr;
}
PyObject* to_index(PyObject* self) {
  Ref number(item(self, nullptr));
  return number ? PyNumber_Index(number.get()) : nullptr;
}
int to_bool(PyObject* self) {
  Ref number(item(self, nullptr));
  return number ? PyObject_IsTrue(number.get()) : -1;
}

// ---- what arrays can do: NumPy does it, and gives arrays

Ref as_array(PyObject* object) {
  return Py_TYPE(object) == tensor_type ? Ref(array(as_tensor(object))) : Ref::to(object);
}

template <PyObject* (*operation)(PyObject*)> PyObject* by_numpy(PyObject* self) {
  const Ref x = as_array(self);
  return x ? operation(x.get()) : nullptr;
}
template <PyObject* (*operation)(PyObject*, PyObject*)> PyObject* by_numpy(PyObject* a, PyObject* b) {
  const Ref x = as_array(a);
  const Ref y = x ? as_array(b) : Ref();
  return y ? operation(x.get(), y.get()) : nullptr;
}
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  const Ref x = as_array(a);
  const Ref y = x ? as_array(b) : Ref();
  return y ? PyNumber_Power(x.get(), y.get(), modulus) : nullptr;
}
PyObject* compare(PyObject* a, PyObject* b, int how) {
  const Ref x = as_array(a);
  const Ref y = x ? as_array(b) : Ref();
  return y ? PyObject_RichCompare(x.get(), y.get(), how) : nullptr;
}
Py_hash_t identity_hash(PyObject* self) { // as PyTorch's; comparing gives an array
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self) >> 4);
}

} // namespace

PyObject* make_tensor(Session* session, tl_value* value, Arguments* keep, bool is_key) {
  auto* self = allocate<Tensor>(tensor_type);
  if (!self) {
    outlive(session, value, keep);
    return nullptr;
  }
  self->value = value;
  self->keep = keep;
  self->is_key = is_key;
  self->session = session;
  Py_INCREF(session);
  return reinterpret_cast<PyObject*>(self);
}

bool make_tensor_type(PyObject* module) {
  static PyMethodDef methods[] = {
      {"numpy", to_numpy, METH_NOARGS, "A read-only NumPy array on this memory."},
      {"tolist", to_list, METH_NOARGS, "Nested lists of numbers."},
      {"item", item, METH_NOARGS, "The number of a tensor of one element."},
      {"ready", ready, METH_NOARGS, "Whether it is computed, or its call has failed."},
      {"wait", wait_method, METH_NOARGS, "Waits until it is computed, and gives the tensor itself."},
      {"__array__", method(array_method), METH_VARARGS | METH_KEYWORDS, nullptr},
      {"__dlpack__", method(dlpack), METH_VARARGS | METH_KEYWORDS, nullptr},
      {"__dlpack_device__", dlpack_device, METH_NOARGS, nullptr},
      {"__reduce__", reduce, METH_NOARGS, nullptr},
      {"__copy__", copy, METH_NOARGS, nullptr},
      {"__deepcopy__", copy, METH_O, nullptr},
      {},
  };
  static PyGetSetDef fields[] = {
      {"shape", get_shape, nullptr, "Its sizes, a tuple.", nullptr},
      {"ndim", get_ndim, nullptr, "Its rank.", nullptr},
      {"dtype", get_dtype, nullptr, "The name of its element type in tl: 'f32'.", nullptr},
      {"__array_struct__", get_array_struct, nullptr, nullptr, nullptr},
      {},
  };
  static const char doc[] =
      "An array of tl. A call of a function with tensors gives one at once, and computes it meanwhile;\n"
      "to look at it waits. tl.tensor(x) makes one. Its elements cannot be changed; operators and subscripts give\n"
      "arrays of NumPy.";
  PyType_Slot slots[] = {{Py_tp_new, slot(refuse_new)},
                         {Py_tp_dealloc, slot(dealloc)},
                         {Py_tp_doc, const_cast<char*>(doc)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, fields},
                         {Py_tp_repr, slot(repr)},
                         {Py_sq_length, slot(len)},
                         {Py_nb_float, slot(to_float)},
                         {Py_nb_int, slot(to_int)},
                         {Py_nb_index, slot(to_index)},
                         {Py_nb_bool, slot(to_bool)},
                         {Py_mp_subscript, slot(by_numpy<PyObject_GetItem>)},
                         {Py_tp_iter, slot(by_numpy<PyObject_GetIter>)},
                         {Py_tp_richcompare, slot(compare)},
                         {Py_tp_hash, slot(identity_hash)},
                         {Py_nb_add, slot(by_numpy<PyNumber_Add>)},
                         {Py_nb_subtract, slot(by_numpy<PyNumber_Subtract>)},
                         {Py_nb_multiply, slot(by_numpy<PyNumber_Multiply>)},
                         {Py_nb_true_divide, slot(by_numpy<PyNumber_TrueDivide>)},
                         {Py_nb_floor_divide, slot(by_numpy<PyNumber_FloorDivide>)},
                         {Py_nb_remainder, slot(by_numpy<PyNumber_Remainder>)},
                         {Py_nb_matrix_multiply, slot(by_numpy<PyNumber_MatrixMultiply>)},
                         {Py_nb_power, slot(power)},
                         {Py_nb_negative, slot(by_numpy<PyNumber_Negative>)},
                         {Py_nb_absolute, slot(by_numpy<PyNumber_Absolute>)},
                         {Py_nb_invert, slot(by_numpy<PyNumber_Invert>)},
                         {Py_nb_and, slot(by_numpy<PyNumber_And>)},
                         {Py_nb_or, slot(by_numpy<PyNumber_Or>)},
                         {Py_nb_xor, slot(by_numpy<PyNumber_Xor>)},
                         {}};
  PyType_Spec spec = {"tl.Tensor", sizeof(Tensor), 0, Py_TPFLAGS_DEFAULT, slots};
  tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!tensor_type) return false;
  Py_INCREF(tensor_type);
  return !PyModule_AddObject(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type));
}

} // namespace tl::python

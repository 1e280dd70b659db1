#include "values.h"
#include "memory.h"
#include "names.h"
#include "structs.h"
#include "tensor.h"
#include <deque>

namespace tl::python {
namespace {

class Value { // owned
public:
  explicit Value(tl_value* owned) : value(owned) {}
  Value(Value&& other) noexcept : value(std::exchange(other.value, nullptr)) {}
  ~Value() {
    if (value) tl_value_release(value);
  }
  tl_value* get() const { return value; }
  tl_value* release() { return std::exchange(value, nullptr); }

private:
  tl_value* value;
};

PyObject* failed(Session* session, int status) {
  raise_failure(session, status);
  return nullptr;
}

PyObject* elements(Session* session, Value value, bool is_list, Family family, bool shared) {
  size_t count = 0;
  int status = tl_value_count(value.get(), &count);
  if (status) return failed(session, status);
  std::vector<Value> all;
  all.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    tl_value* one = nullptr;
    status = tl_value_at(value.get(), i, &one);
    if (status) return failed(session, status);
    all.emplace_back(one);
  }
  if (!shared) tl_value_release(value.release()); // so that each tensor is its element's alone
  const auto size = static_cast<Py_ssize_t>(count);
  Ref out(is_list ? PyList_New(size) : PyTuple_New(size));
  for (Py_ssize_t i = 0; out && i < size; ++i) {
    PyObject* one = to_python(session, all[static_cast<size_t>(i)].release(), family, shared);
    if (!one) return nullptr;
    if (is_list ? PyList_SetItem(out.get(), i, one) : PyTuple_SetItem(out.get(), i, one)) return nullptr;
  }
  return out.release();
}

PyObject* numpy_array(const Numpy& numpy, Ref memory, const Dtype& dtype) {
  Ref array(PyObject_CallFunctionObjArgs(numpy.asarray, memory.get(), nullptr));
  if (!array || dtype.code != 4) return array.release();
  return PyObject_CallMethodObjArgs(array.get(), names.view, bfloat16(), nullptr);
}

PyObject* torch_tensor(Memory* memory) {
  const DlExchange* api = torch_exchange();
  if (api && api->to_object && memory->writable) {
    DlVersioned* managed = memory_versioned(memory);
    void* out = nullptr;
    if (!api->to_object(managed, &out)) return static_cast<PyObject*>(out);
    managed->deleter(managed);
    return nullptr;
  }
  static PyObject* from_dlpack = nullptr;
  if (!from_dlpack) {
    Ref module(PyImport_ImportModule("torch.utils.dlpack"));
    if (module) from_dlpack = PyObject_GetAttrString(module.get(), "from_dlpack");
    if (!from_dlpack) return nullptr;
  }
  Ref capsule(memory_dlpack(memory, false, false));
  return capsule ? PyObject_CallFunctionObjArgs(from_dlpack, capsule.get(), nullptr) : nullptr;
}

PyObject* jax_array(Memory* memory) {
  static PyObject* from_dlpack = nullptr;
  if (!from_dlpack) {
    Ref module(PyImport_ImportModule("jax.dlpack"));
    if (module) from_dlpack = PyObject_GetAttrString(module.get(), "from_dlpack");
    if (!from_dlpack) return nullptr;
  }
  return PyObject_CallFunctionObjArgs(from_dlpack, reinterpret_cast<PyObject*>(memory), nullptr);
}

bool keeps_tensors(Family family, const Dtype& dtype) { // as tl.Tensor: there is no array for them
  if (family == Family::Own) return true;
  if (family != Family::None && family != Family::Numpy) return false;
  return !numpy() || (dtype.code == 4 && !bfloat16());
}

struct Unwaited {
  Session* session; // a reference
  tl_value* value;
  Arguments* keep;
};
std::deque<Unwaited> unwaited;

} // namespace

PyObject* array_of(tl_managed_tensor* tensor, Family family, bool writable) {
  const Dtype* dtype = find_dtype(tensor->tensor.dtype);
  if (!dtype) {
    tensor->deleter(tensor);
    PyErr_SetString(PyExc_TypeError, "a tensor of an element type that is not known");
    return nullptr;
  }
  if (!tensor->tensor.rank && (family == Family::None || family == Family::Numpy)) {
    Ref number(element(*dtype, static_cast<char*>(tensor->tensor.data) + tensor->tensor.byte_offset));
    tensor->deleter(tensor);
    if (family == Family::None || !numpy()) return number.release();
    PyObject* scalar = dtype->code == 4 ? bfloat16() : numpy()->scalars[dtype - kDtypes];
    return scalar && number ? PyObject_CallFunctionObjArgs(scalar, number.get(), nullptr) : number.release();
  }
  Memory* memory = make_memory(tensor, writable);
  if (!memory) return nullptr;
  Ref owner(reinterpret_cast<PyObject*>(memory));
  if (family == Family::Torch) return torch_tensor(memory);
  if (family == Family::Jax) return jax_array(memory);
  return numpy_array(*numpy(), std::move(owner), *dtype);
}

PyObject* to_python(Session* session, tl_value* owned, Family family, bool shared) {
  Value value(owned);
  int kind = TL_NOTHING;
  int status;
  if (tl_value_is_pending(value.get())) {
    if (!run(session, [&] { return tl_value_kind(value.get(), &kind); })) return nullptr;
  } else {
    status = tl_value_kind(value.get(), &kind);
    if (status) return failed(session, status);
  }
  switch (kind) {
  case TL_TENSOR: {
    const char* type = "";
    status = tl_value_type(value.get(), &type);
    if (status) return failed(session, status);
    if (family == Family::Own || is_key(type)) return make_tensor(session, value.release(), nullptr, is_key(type));
    tl_managed_tensor* tensor = nullptr;
    if (family == Family::None || family == Family::Numpy) {
      // What NumPy cannot hold stays what it is; to see the type costs a view.
      if (!numpy() || !bfloat16()) {
        status = tl_value_view_tensor(value.get(), &tensor);
        if (status) return failed(session, status);
        const Dtype* dtype = find_dtype(tensor->tensor.dtype);
        const bool stays = dtype && tensor->tensor.rank && keeps_tensors(family, *dtype);
        tensor->deleter(tensor);
        if (stays) return make_tensor(session, value.release(), nullptr);
      }
    }
    const bool view = shared && family != Family::Torch; // which knows no read-only tensors
    status = view ? tl_value_view_tensor(value.get(), &tensor) : tl_value_take_tensor(value.get(), &tensor);
    return status ? failed(session, status) : array_of(tensor, family, !view);
  }
  case TL_TEXT: {
    const char* text;
    status = tl_value_text(value.get(), &text);
    if (status) return failed(session, status);
    return PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::char_traits<char>::length(text)), "replace");
  }
  case TL_STRUCT: {
    const char* type;
    status = tl_value_type(value.get(), &type);
    if (status) return failed(session, status);
    return make_struct(session, type, value.release(), family);
  }
  case TL_LIST:
  case TL_TUPLE: return elements(session, std::move(value), kind == TL_LIST, family, shared);
  default: Py_RETURN_NONE;
  }
}

void outlive(Session* session, tl_value* value, Arguments* keep) {
  Py_INCREF(session);
  unwaited.push_back({session, value, keep});
}

void forget_the_done() {
  while (!unwaited.empty() && !tl_value_is_pending(unwaited.front().value)) {
    const Unwaited done = unwaited.front();
    unwaited.pop_front();
    end(done.session, done.value);
    tl_value_release(done.value);
    delete done.keep;
    Py_DECREF(done.session);
  }
}

} // namespace tl::python

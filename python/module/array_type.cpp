// What the arrays of other packages are, by their types.
#include "arguments.h"
#include "names.h"
#include <cstring>

namespace tl::python {
namespace {

// DLPack's functions that a type offers, of a version that is known here; null where it offers none.
const DlExchange* find_exchange(PyObject* type) {
  const DlExchange* api = nullptr;
  for (const char* name : {"__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"}) {
    Ref attribute(PyObject_GetAttrString(type, name));
    if (attribute && PyLong_Check(attribute.get())) // as before DLPack 1.3
      api = static_cast<const DlExchange*>(PyLong_AsVoidPtr(attribute.get()));
    else if (attribute)
      api = static_cast<const DlExchange*>(PyCapsule_GetPointer(attribute.get(), "dlpack_exchange_api"));
    PyErr_Clear();
    if (api) break;
  }
  while (api && api->version.major != 1)
    api = api->previous;
  return api;
}

bool is_a(PyTypeObject* type, const char* module_name, const char* name) {
  PyObject* module = imported(module_name);
  if (!module) return false;
  Ref base(PyObject_GetAttrString(module, name));
  if (!base) PyErr_Clear();
  return base && PyType_Check(base.get()) && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(base.get()));
}

bool is_of_jax(PyObject* type) {
  Ref module(PyObject_GetAttrString(type, "__module__"));
  Ref bytes(module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8String(module.get()) : nullptr);
  PyErr_Clear();
  const char* text = bytes ? PyBytes_AsString(bytes.get()) : "";
  return !std::strncmp(text, "jax.", 4) || !std::strncmp(text, "jaxlib.", 7) || !std::strcmp(text, "jaxlib");
}

bool has(PyObject* type, const char* name) {
  Ref attribute(PyObject_GetAttrString(type, name));
  PyErr_Clear();
  return static_cast<bool>(attribute);
}

ArrayType classify(PyTypeObject* type) {
  auto* object = reinterpret_cast<PyObject*>(type);
  if (is_a(type, "numpy.ma", "MaskedArray"))
    return {type, Family::Numpy, ArrayType::None, nullptr}; // refused, as its mask would be lost
  if (is_a(type, "numpy", "ndarray") || is_a(type, "numpy", "generic"))
    return {type,
            Family::Numpy,
            ArrayType::Interface,
            nullptr,
            is_a(type, "numpy", "floating"),
            is_a(type, "numpy", "complexfloating")};
  const DlExchange* exchange = find_exchange(object);
  const Family family = is_a(type, "torch", "Tensor") ? Family::Torch : is_of_jax(object) ? Family::Jax : Family::Numpy;
  if (exchange) return {type, family, ArrayType::Exchange, exchange};
  if (family == Family::Numpy && has(object, "__array_struct__")) return {type, family, ArrayType::Interface, nullptr};
  return {type, family, has(object, "__dlpack__") ? ArrayType::Dlpack : ArrayType::None, nullptr};
}

} // namespace

const ArrayType& array_type(PyTypeObject* type) {
  static ArrayType known[64]; // each keeps its type, whose address is then no other's
  ArrayType& place = known[reinterpret_cast<uintptr_t>(type) / 64 % 64];
  if (place.type == type) return place;
  const ArrayType found = classify(type);
  Py_INCREF(type);
  PyTypeObject* old = place.type;
  place = found;
  Py_XDECREF(old);
  return place;
}

const DlExchange* torch_exchange() {
  PyObject* torch = imported("torch");
  if (!torch) return nullptr;
  static const DlExchange* found = [torch]() -> const DlExchange* {
    Ref type(PyObject_GetAttrString(torch, "Tensor"));
    const DlExchange* api = type ? find_exchange(type.get()) : nullptr;
    PyErr_Clear();
    return api;
  }();
  return found;
}

} // namespace tl::python

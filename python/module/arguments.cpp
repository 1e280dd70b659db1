#include "arguments.h"
#include "names.h"
#include "structs.h"
#include "tensor.h"
#include <cstring>
#include <new>

namespace tl::python {

Slot::~Slot() {
  if (managed && managed->deleter) managed->deleter(managed);
  if (value) tl_value_release(value);
}

int64_t* Slot::room(int count) {
  if (count <= 2 * kRank) return inline_numbers;
  numbers.reset(new int64_t[count]);
  return numbers.get();
}

Arguments::Arguments(size_t wanted) : capacity(wanted) {
  if (wanted <= kInline) {
    slots = reinterpret_cast<Slot*>(inline_slots);
    arguments = inline_arguments;
    return;
  }
  more_slots.reset(new Slot[wanted]);
  more_arguments.reset(new tl_argument[wanted]);
  slots = more_slots.get();
  arguments = more_arguments.get();
}

Arguments::~Arguments() {
  if (!more_slots)
    for (size_t i = 0; i < count; ++i)
      slots[i].~Slot();
}

bool Arguments::add(Session* session, const char* source, PyObject* object, const Parameter* parameter,
                    const char* name) {
  auto [slot, out] = next(name);
  return convert({session, source, parameter, slot, out}, object);
}

bool Arguments::add_number(Session* session, PyObject* object, const Parameter& parameter) {
  auto [slot, out] = next(nullptr);
  return numbers({session, nullptr, &parameter, slot, out}, object, parameter.dtype);
}

std::pair<Slot&, tl_argument&> Arguments::next(const char* name) {
  Slot* slot = &slots[count];
  if (!more_slots) new (slot) Slot;
  tl_argument& out = arguments[count++];
  out.name = name;
  out.kind = TL_NOTHING;
  return {*slot, out};
}

namespace {

// "x: what is wrong", or "argument: what is wrong".
bool refuse(PyObject* error, const Parameter* parameter, const char* format, PyObject* object) {
  Ref what(PyUnicode_FromFormat(format, object));
  if (!what) return false;
  const bool named = parameter && !parameter->name.empty();
  PyErr_Format(error, "%s: %U", named ? parameter->name.c_str() : "argument", what.get());
  return false;
}

bool refuse_type(const Parameter* parameter, PyObject* object) {
  if (object == Py_None) return refuse(PyExc_TypeError, parameter, "%R is no value in tl", object);
  Ref name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
  return name &&
         refuse(PyExc_TypeError, parameter,
                "a '%U' cannot be passed; arrays of NumPy, PyTorch, JAX and whatever has __dlpack__, numbers, lists "
                "of them, texts and structs can",
                name.get());
}

bool is_list(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }
Py_ssize_t length(PyObject* list) { return PyList_Check(list) ? PyList_Size(list) : PyTuple_Size(list); }
PyObject* item(PyObject* list, Py_ssize_t i) { // borrowed; null with an error where the list has become shorter
  return PyList_Check(list) ? PyList_GetItem(list, i) : PyTuple_GetItem(list, i);
}

// Would a number as the element that a scalar of a certain type wants not be that number? Only such an element says so.
bool takes_number(const Parameter* parameter) { // a tensor may be of rank 0
  return parameter && (parameter->kind == Parameter::Scalar || parameter->kind == Parameter::Tensor) &&
         parameter->dtype;
}
bool is_too_large(const Parameter* parameter, double value) {
  return takes_number(parameter) && !fits(*parameter->dtype, value);
}
bool is_too_large(const Parameter* parameter, long long value) {
  if (!takes_number(parameter) || is_key(parameter->dtype)) return false;
  const Dtype& type = *parameter->dtype;
  if (type.code > 1) return !fits(type, static_cast<double>(value));
  if (type.code == 1) return value < 0 || (type.bits < 64 && value >> type.bits != 0);
  return type.bits < 64 && (value >> (type.bits - 1)) != (value < 0 ? -1 : 0);
}

bool is_number(PyObject* object) { // bool too
  return PyFloat_Check(object) || PyLong_Check(object) || PyComplex_Check(object);
}

// Where a scalar of a certain type is wanted, NumPy's floats are converted as Python's are, and so is whatever is an
// integer to Python (also a seed): Python's number. Null, without an error, where it is none.
Ref as_number(const Parameter* parameter, PyObject* object) {
  if (!parameter || parameter->kind != Parameter::Scalar || !parameter->dtype) return {};
  Ref number;
  if (array_type(Py_TYPE(object)).way != ArrayType::None) { // a bool is an integer to older versions of NumPy
    const Ref type(PyObject_GetAttr(object, names.dtype));
    const Ref name(type ? PyObject_Str(type.get()) : nullptr);
    const bool is_bool = name && PyUnicode_Tailmatch(name.get(), names.boolean, 0, PY_SSIZE_T_MAX, 1) == 1;
    PyErr_Clear();
    if (is_bool) return {};
  }
  if (PyIndex_Check(object))
    number = Ref(PyNumber_Index(object));
  else if (parameter->dtype->code == 5 && array_type(Py_TYPE(object)).is_complex_scalar)
    number = Ref(PyObject_CallMethod(object, "__complex__", nullptr));
  else if (!is_key(parameter->dtype) && (PyFloat_Check(object) || array_type(Py_TYPE(object)).is_float_scalar))
    number = Ref(PyNumber_Float(object));
  PyErr_Clear(); // an array, as of a key's words
  return number;
}

void dense(const Dtype& dtype, tl_tensor& tensor, void* data, int32_t rank, int64_t* shape) {
  tensor = {data, 1, 0, rank, dtype_of(dtype), shape, nullptr, 0};
}

} // namespace

bool Arguments::convert(const Place& place, PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyFloat_Type) return real(place, object);
  if (type == &PyLong_Type) return integer(place, object);
  if (type == &PyBool_Type) {
    place.out.kind = TL_BOOL;
    place.out.as.integer = object == Py_True;
    return true;
  }
  if (type == tensor_type) {
    place.out.kind = TL_VALUE;
    place.out.as.value = reinterpret_cast<Tensor*>(object)->value;
    place.slot.keep = Ref::to(object);
    if (is_array(object)) note(Family::Own);
    return true;
  }
  if (PyComplex_CheckExact(object)) {
    const Dtype* wanted = place.parameter ? place.parameter->dtype : nullptr;
    return numbers(place, object, wanted ? wanted : find_dtype("c64"));
  }
  if (is_list(object)) return sequence(place, object);
  if (PyUnicode_Check(object)) return text(place, object);
  if (PyType_IsSubtype(type, struct_type)) {
    auto* value = reinterpret_cast<Struct*>(object);
    place.out.kind = TL_VALUE;
    place.out.as.value = value->value;
    place.slot.keep = Ref::to(object);
    if (struct_family == Family::None) struct_family = value->family;
    return true;
  }
  if (Ref number = as_number(place.parameter, object); number) {
    if (!PyFloat_Check(object)) note(array_type(type).family); // a numpy.float64 is a float
    return convert(place, number.get());
  }
  const ArrayType& array = array_type(type);
  if (array.way != ArrayType::None) {
    borrows = true;
    place.slot.keep = Ref::to(object);
    note(array.family);
    if (array.way == ArrayType::Interface) return interface(place, object);
    if (array.family == Family::Torch) {
      Ref graph(PyObject_GetAttr(object, names.requires_grad));
      if (!graph) return false;
      if (graph.get() == Py_True) {
        PyObject* check = support("torch_detached");
        Ref detached(check ? PyObject_CallFunctionObjArgs(check, object, nullptr) : nullptr);
        if (!detached) return false;
        place.slot.keep = std::move(detached);
        object = place.slot.keep.get();
      }
      // A conjugate, and its imaginary part, are views that DLPack does not say what is to be done to.
      for (const auto& [is_lazy, resolve] : {std::pair{names.is_neg, "resolve_neg"}, {names.is_conj, "resolve_conj"}}) {
        Ref lazy(PyObject_CallMethodObjArgs(object, is_lazy, nullptr));
        if (!lazy) return false;
        if (lazy.get() != Py_True) continue;
        Ref resolved(PyObject_CallMethod(object, resolve, nullptr));
        if (!resolved) return false;
        place.slot.keep = std::move(resolved);
        object = place.slot.keep.get();
      }
    }
    return array.way == ArrayType::Exchange ? exchange(place, object, *array.exchange) : dlpack(place, object);
  }
  if (PyLong_Check(object)) return integer(place, object);
  return buffer(place, object);
}

bool Arguments::real(const Place& place, PyObject* object) {
  const double value = PyFloat_AsDouble(object);
  if (is_too_large(place.parameter, value)) return numbers(place, object, place.parameter->dtype);
  place.out.kind = TL_FLOAT;
  place.out.as.real = value;
  return true;
}

bool Arguments::integer(const Place& place, PyObject* object) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (!overflow) {
    if (is_too_large(place.parameter, value)) return numbers(place, object, place.parameter->dtype);
    place.out.kind = TL_INT;
    place.out.as.integer = value;
    return value != -1 || !PyErr_Occurred();
  }
  const Dtype* wanted = place.parameter && place.parameter->dtype ? place.parameter->dtype : find_dtype("i64");
  return numbers(place, object, wanted);
}

bool Arguments::text(const Place& place, PyObject* object) {
  place.slot.keep = Ref(PyUnicode_AsUTF8String(object));
  if (!place.slot.keep) return false;
  char* bytes;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(place.slot.keep.get(), &bytes, &size)) return false;
  if (std::memchr(bytes, 0, static_cast<size_t>(size)))
    return refuse(PyExc_ValueError, place.parameter, "the text %R has a character 0, where texts end", object);
  place.out.kind = TL_TEXT;
  place.out.as.text = bytes;
  return true;
}

// ---- arrays

bool Arguments::interface(const Place& place, PyObject* object) {
  Slot& slot = place.slot;
  for (int attempt = 0;; ++attempt) {
    Ref capsule(PyObject_GetAttr(object, names.array_struct));
    if (!capsule) return false;
    if (!PyCapsule_IsValid(capsule.get(), nullptr))
      return refuse(PyExc_TypeError, place.parameter, "the __array_struct__ of %R is no capsule", object);
    auto* array = static_cast<const ArrayInterface*>(PyCapsule_GetPointer(capsule.get(), nullptr));
    const Dtype* dtype = nullptr;
    for (const Dtype& one : kDtypes)
      if (!dtype && one.letter == array->letter && one.bits == 8 * array->size) dtype = &one;
    if (!dtype && array->letter == 'V' && array->size == 2) {
      Ref type(PyObject_GetAttr(object, names.dtype));
      Ref name(type ? PyObject_GetAttr(type.get(), names.name) : nullptr);
      if (!name) return false;
      if (!PyUnicode_CompareWithASCIIString(name.get(), "bfloat16")) dtype = find_dtype("bf16");
    }
    if (!dtype) {
      Ref type(PyObject_GetAttr(object, names.dtype));
      return type && refuse(PyExc_TypeError, place.parameter, "tl has no element type for %R", type.get());
    }
    const int rank = array->rank;
    bool fits = array->flags & kNative || array->size == 1;
    dense(*dtype, slot.tensor, array->data, rank, nullptr);
    slot.tensor.shape = slot.room(2 * rank);
    int64_t* strides = slot.tensor.shape + rank;
    for (int i = 0; i < rank; ++i) {
      slot.tensor.shape[i] = array->shape[i];
      strides[i] = array->strides[i] / array->size;
      if (array->strides[i] % array->size) fits = false;
    }
    if (fits || attempt) {
      if (!(array->flags & kDense)) slot.tensor.strides = strides;
      if (attempt) slot.keep = Ref::to(object);
      // The array keeps the memory, which may be a scalar's: those give an array that only the capsule keeps.
      if (rank == 0) slot.keep = std::move(capsule);
      break;
    }
    // Bytes in the other order, or strides that are no multiples of an element.
    PyObject* make = support("native_array");
    if (!make) return false;
    slot.keep = Ref(PyObject_CallFunctionObjArgs(make, object, nullptr));
    if (!slot.keep) return false;
    object = slot.keep.get();
  }
  place.out.kind = TL_TENSOR;
  place.out.as.tensor = &slot.tensor;
  return true;
}

// What PyTorch says of a sparse tensor, which has no elements one beside the other, or of one on the device meta, which
// has none at all, is a trace of its own.
bool Arguments::refuse_layout(const Place& place, PyObject* object) {
  if (!PyErr_ExceptionMatches(PyExc_RuntimeError)) return false;
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  const Ref is_meta(PyObject_GetAttrString(object, "is_meta"));
  PyErr_Clear();
  const Ref layout(PyObject_GetAttrString(object, "layout"));
  const Ref written(layout ? PyObject_Str(layout.get()) : nullptr);
  PyErr_Clear();
  const bool is_strided = written && !PyUnicode_CompareWithASCIIString(written.get(), "torch.strided");
  if (!written || (is_strided && is_meta.get() != Py_True)) {
    PyErr_Restore(type, error, traceback);
    return false;
  }
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(traceback);
  const char* why = is_strided ? "this, of the layout %S, is on the device meta and has no elements"
                               : "this has the layout %S: make it dense first, `.to_dense()`";
  return refuse(PyExc_TypeError, place.parameter, why, written.get());
}

bool Arguments::exchange(const Place& place, PyObject* object, const DlExchange& api) {
  Slot& slot = place.slot;
  if (api.view_object) {
    if (api.view_object(object, &slot.tensor)) return refuse_layout(place, object);
  } else {
    if (api.from_object(object, &slot.managed)) return refuse_layout(place, object);
    slot.tensor = slot.managed->tensor;
  }
  place.out.kind = TL_TENSOR;
  place.out.as.tensor = &slot.tensor;
  return true;
}

bool Arguments::dlpack(const Place& place, PyObject* object) {
  Ref method(PyObject_GetAttr(object, names.dlpack));
  Ref nothing(PyTuple_New(0)), keywords(PyDict_New());
  if (!method || !nothing || !keywords) return false;
  if (PyDict_SetItem(keywords.get(), names.max_version, names.max_version_tuple)) return false;
  Ref capsule(PyObject_Call(method.get(), nothing.get(), keywords.get()));
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) { // of before DLPack 1.0
    PyErr_Clear();
    capsule = Ref(PyObject_CallFunctionObjArgs(method.get(), nullptr));
  }
  if (!capsule) return refuse_layout(place, object);
  if (PyCapsule_IsValid(capsule.get(), "dltensor_versioned")) {
    auto* managed = static_cast<DlVersioned*>(PyCapsule_GetPointer(capsule.get(), "dltensor_versioned"));
    if (managed->version.major != 1)
      return refuse(PyExc_BufferError, place.parameter, "%R has a version of DLPack that is not known", object);
    place.slot.tensor = managed->tensor;
  } else {
    if (!PyCapsule_IsValid(capsule.get(), "dltensor"))
      return refuse(PyExc_TypeError, place.parameter, "__dlpack__ of %R gives no capsule with a tensor", object);
    auto* managed = static_cast<tl_managed_tensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
    place.slot.tensor = managed->tensor;
  }
  place.slot.keep = std::move(capsule); // frees the tensor, since nobody takes it
  place.out.kind = TL_TENSOR;
  place.out.as.tensor = &place.slot.tensor;
  return true;
}

// Whatever NumPy makes an array of (buffers, __array__), and without NumPy buffers; paths where a text is wanted.
bool Arguments::buffer(const Place& place, PyObject* object) {
  if (place.parameter && place.parameter->kind == Parameter::Text) {
    Ref path(PyOS_FSPath(object));
    if (path && PyUnicode_Check(path.get())) return text(place, path.get());
    PyErr_Clear();
    return refuse_type(place.parameter, object);
  }
  Ref array;
  PyObject* make = support("foreign_array");
  if (make) array = Ref(PyObject_CallFunctionObjArgs(make, object, nullptr));
  if (!array) return false;
  if (array.get() == Py_None) return refuse_type(place.parameter, object);
  if (PyTuple_Check(array.get())) { // (list, element type) of a buffer, without NumPy
    const char* name;
    PyObject* list;
    if (!PyArg_ParseTuple(array.get(), "Os", &list, &name)) return false;
    return numbers(place, list, find_dtype(name));
  }
  borrows = true;
  note(Family::Numpy);
  place.slot.keep = Ref::to(array.get());
  return interface(place, array.get());
}

// ---- lists

namespace {

enum class Leaf { None, Bool, Int, Float, Complex, Array, Struct, Text, Other };

// What the lists hold: the strongest of their numbers, or the first that is no number.
Leaf leaf_of(PyObject* object, int depth = 0) {
  if (PyBool_Check(object)) return Leaf::Bool;
  if (PyLong_Check(object)) return Leaf::Int;
  if (Py_TYPE(object) == &PyFloat_Type) return Leaf::Float;
  if (PyComplex_CheckExact(object)) return Leaf::Complex;
  if (PyUnicode_Check(object)) return Leaf::Text;
  if (PyType_IsSubtype(Py_TYPE(object), struct_type)) return Leaf::Struct;
  if (!is_list(object)) return array_type(Py_TYPE(object)).way != ArrayType::None ? Leaf::Array : Leaf::Other;
  Leaf strongest = Leaf::None;
  if (depth > 64) return Leaf::Other; // a list that holds itself
  for (Py_ssize_t i = 0, n = length(object); i < n; ++i) {
    PyObject* one = item(object, i);
    const Leaf leaf = one ? leaf_of(one, depth + 1) : Leaf::Other;
    if (leaf > Leaf::Complex) return leaf;
    if (leaf > strongest) strongest = leaf;
  }
  return strongest;
}

// `rounds`: numbers that are too large are infinite, else an OverflowError.
bool fill(const Dtype& dtype, PyObject* object, const int64_t* shape, int rank, bool rounds, unsigned char*& at) {
  if (!rank) {
    if (is_list(object)) {
      PyErr_SetString(PyExc_ValueError, "the lists are not of one length");
      return false;
    }
    if (!rounds && (dtype.code == 2 || dtype.code == 4)) {
      const double value = PyFloat_AsDouble(object);
      if (value == -1 && PyErr_Occurred()) return false;
      if (!fits(dtype, value)) {
        PyErr_Format(PyExc_OverflowError, "%R does not fit into %s", object, dtype.name);
        return false;
      }
    }
    if (!set_element(dtype, at, object)) return false;
    at += dtype.bits / 8;
    return true;
  }
  if (!is_list(object) || length(object) != *shape) {
    PyErr_SetString(PyExc_ValueError, "the lists are not of one length");
    return false;
  }
  for (int64_t i = 0; i < *shape; ++i) {
    Ref one = Ref::to(item(object, i)); // __index__ may change the list
    if (!one || !fill(dtype, one.get(), shape + 1, rank - 1, rounds, at)) return false;
  }
  return true;
}

} // namespace

bool Arguments::sequence(const Place& place, PyObject* object) {
  const Parameter* parameter = place.parameter;
  if (parameter && parameter->kind == Parameter::List) return list(place, object, parameter);
  const bool is_open = !parameter || parameter->type.empty();
  if ((parameter && parameter->kind == Parameter::Tuple) || (is_open && PyTuple_Check(object)))
    return tuple(place, object);
  const Leaf leaf = leaf_of(object);
  const bool is_tensor = parameter && (parameter->kind == Parameter::Tensor || parameter->kind == Parameter::Scalar);
  if (!is_tensor && (leaf == Leaf::Struct || leaf == Leaf::Text)) return list(place, object, nullptr);
  if (leaf == Leaf::Array) { // of arrays: as NumPy stacks them
    PyObject* make = support("stacked_array");
    place.slot.keep = Ref(make ? PyObject_CallFunctionObjArgs(make, object, nullptr) : nullptr);
    if (!place.slot.keep) return false;
    borrows = true;
    note(Family::Numpy);
    return interface(place, place.slot.keep.get());
  }
  if (leaf == Leaf::Text || leaf == Leaf::Struct) return refuse_type(parameter, object);
  const Dtype* dtype = parameter ? parameter->dtype : nullptr;
  if (!dtype)
    dtype = find_dtype(leaf == Leaf::Bool ? "bool" : leaf == Leaf::Int ? "i64" : leaf == Leaf::Complex ? "c64" : "f32");
  return numbers(place, object, dtype);
}

bool Arguments::numbers(const Place& place, PyObject* object, const Dtype* dtype) {
  int64_t shape[64];
  int rank = 0;
  for (PyObject* inner = object; inner && is_list(inner) && rank < 64;) {
    shape[rank] = length(inner);
    inner = shape[rank++] ? item(inner, 0) : nullptr;
  }
  int64_t count = 1;
  for (int i = 0; i < rank; ++i)
    if (__builtin_mul_overflow(count, shape[i], &count)) return refuse_type(place.parameter, object);
  borrows = true;
  Slot& slot = place.slot;
  slot.memory.reset(new unsigned char[static_cast<size_t>(count ? count : 1) * (dtype->bits / 8)]);
  unsigned char* at = slot.memory.get();
  if (!fill(*dtype, object, shape, rank, place.parameter && place.parameter->rounds, at)) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    Py_XDECREF(traceback);
    const bool known = type == PyExc_TypeError || type == PyExc_ValueError || type == PyExc_OverflowError;
    if (known && error) {
      refuse(type, place.parameter, "%S", error);
      Py_DECREF(type);
      Py_DECREF(error);
    } else {
      PyErr_Restore(type, error, nullptr);
    }
    return false;
  }
  int64_t* own = slot.room(rank);
  for (int i = 0; i < rank; ++i)
    own[i] = shape[i];
  dense(*dtype, slot.tensor, slot.memory.get(), rank, own);
  place.out.kind = TL_TENSOR;
  place.out.as.tensor = &slot.tensor;
  return true;
}

namespace {

// Calls an expression with arguments, for a value that belongs to the caller; null: an error is set.
tl_value* evaluate(Session* session, const char* source, const std::string& expression, const Arguments& arguments) {
  tl_function* function = nullptr;
  tl_value* value = nullptr;
  const bool good = run(session, [&] {
    const int status = tl_function_get(session->session, source, expression.c_str(), nullptr, &function);
    return status ? status : tl_call(function, arguments.data(), arguments.size(), &value);
  });
  if (!good && value) tl_value_release(std::exchange(value, nullptr));
  return value;
}

// A type with the sizes that a `let` leaves open: "f32[n, 3]" -> "f32[_, _]".
std::string open_type(const std::string& type) {
  std::string out;
  for (size_t i = 0; i < type.size(); ++i) {
    out += type[i];
    if (type[i] != '[') continue;
    int depth = 1;
    std::string sizes = "_";
    while (++i < type.size() && depth) {
      depth += type[i] == '[' || type[i] == '(';
      depth -= type[i] == ']' || type[i] == ')';
      if (depth == 1 && type[i] == ',') sizes += ", _";
    }
    --i;
    out += sizes + "]";
  }
  return out;
}

} // namespace

// `parameter`: null where the list's type is not known.
bool Arguments::list(const Place& place, PyObject* object, const Parameter* parameter) {
  const Py_ssize_t count = length(object);
  tl_value* value = nullptr;
  if (!count) {
    const std::string type = parameter ? parameter->type : "";
    if (type.empty()) return refuse(PyExc_TypeError, place.parameter, "what %R would hold is not known", object);
    value = evaluate(place.session, place.source, "|| { let xs: " + open_type(type) + " = list(); xs }", Arguments(0));
    if (!value) return false;
    take(place, value);
    return true;
  }
  Arguments elements(static_cast<size_t>(count));
  if (!nest(place, elements)) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Ref one = Ref::to(item(object, i));
    if (!one || !elements.add_element(place, one.get(), parameter ? &parameter->inside[0] : nullptr)) return false;
  }
  note(elements.family);
  if (struct_family == Family::None) struct_family = elements.struct_family;
  if (!run(place.session, [&] { return tl_list(place.session->session, elements.data(), elements.size(), &value); }))
    return false;
  take(place, value);
  return true;
}

bool Arguments::nest(const Place& place, Arguments& elements) const {
  constexpr int kDeepest = 64;
  elements.depth = depth + 1;
  if (depth < kDeepest) return true;
  PyErr_Format(PyExc_ValueError, "%s: lists and tuples are nested too deeply",
               place.parameter && !place.parameter->name.empty() ? place.parameter->name.c_str() : "argument");
  return false;
}

void Arguments::take(const Place& place, tl_value* value) {
  place.slot.value = value;
  place.out.kind = TL_VALUE;
  place.out.as.value = value;
}

bool Arguments::add_element(const Place& place, PyObject* object, const Parameter* inside) {
  const Ref number = is_number(object) ? Ref::to(object) : as_number(inside, object);
  if (!inside || inside->kind != Parameter::Scalar || !number)
    return add(place.session, place.source, object, inside, nullptr);
  if (number.get() != object) note(array_type(Py_TYPE(object)).family);
  object = number.get();
  if (!is_key(inside->dtype)) return add_number(place.session, object, *inside);
  Arguments seed(1);
  if (!seed.add(place.session, place.source, object, inside, nullptr)) return false;
  tl_value* value = evaluate(place.session, place.source, "key", seed);
  if (!value) return false;
  auto [slot, out] = next(nullptr);
  take({place.session, place.source, inside, slot, out}, value);
  return true;
}

bool Arguments::tuple(const Place& place, PyObject* object) {
  const Parameter* parameter = place.parameter && place.parameter->kind == Parameter::Tuple ? place.parameter : nullptr;
  const Py_ssize_t count = length(object);
  if (parameter && count != static_cast<Py_ssize_t>(parameter->inside.size())) {
    PyErr_Format(PyExc_TypeError, "%s: %s is wanted, and this has %zd elements",
                 parameter->name.empty() ? "argument" : parameter->name.c_str(), parameter->type.c_str(), count);
    return false;
  }
  Arguments elements(static_cast<size_t>(count));
  if (!nest(place, elements)) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Ref one = Ref::to(item(object, i));
    if (!one ||
        !elements.add_element(place, one.get(), parameter ? &parameter->inside[static_cast<size_t>(i)] : nullptr))
      return false;
  }
  note(elements.family);
  if (struct_family == Family::None) struct_family = elements.struct_family;
  tl_value* value = nullptr;
  if (!run(place.session, [&] { return tl_tuple(place.session->session, elements.data(), elements.size(), &value); }))
    return false;
  take(place, value);
  return true;
}

} // namespace tl::python

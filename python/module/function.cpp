#include "function.h"
#include "names.h"
#include "tensor.h"
#include "values.h"
#include <cstring>

namespace tl::python {
namespace {

// What a function keeps that is no Python object.
struct Known {
  std::vector<Parameter> parameters; // of its declaration
  std::string source;
  bool has_source = false, has_declaration = false;
  bool gives_tensor = false, gives_key = false; // for all arguments
  const char* place() const { return has_source ? source.c_str() : nullptr; }
};

struct Function {
  PyObject_HEAD;
  Session* session;
  tl_function* function;
  Known* known;
  PyObject *expression, *like, *declaration; // as Session._function got them
};

struct Pending {
  PyObject_HEAD;
  Session* session;
  tl_value* value;
  Arguments* keep;
  PyObject* result; // once it was asked for
  Family family;
};

PyTypeObject *function_type = nullptr, *pending_type = nullptr;

Function* as_function(PyObject* object) { return reinterpret_cast<Function*>(object); }
Pending* as_pending(PyObject* object) { return reinterpret_cast<Pending*>(object); }

bool is_tensor(const Parameter& type) { return type.kind == Parameter::Scalar || type.kind == Parameter::Tensor; }

// ---- calls

// None for a parameter whose default is `none`: it has no value in tl, and is what the parameter has of itself.
bool is_left_out(PyObject* object, const Parameter* parameter) {
  return object == Py_None && parameter && parameter->is_none_without;
}

bool add_keywords(Function* self, Arguments& arguments, PyObject* keywords, std::vector<Ref>& texts) {
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(keywords, &at, &key, &value);) {
    if (!PyUnicode_Check(key)) {
      PyErr_SetString(PyExc_TypeError, "keywords must be strings");
      return false;
    }
    Ref bytes(PyUnicode_AsUTF8String(key));
    if (!bytes) return false;
    const char* name = PyBytes_AsString(bytes.get());
    if (std::strlen(name) != static_cast<size_t>(PyBytes_Size(bytes.get()))) {
      PyErr_Format(PyExc_TypeError, "%U() has no parameter %R", self->expression, key);
      return false;
    }
    const Parameter* parameter = nullptr;
    for (const Parameter& one : self->known->parameters)
      if (one.name == name) parameter = &one;
    if (!parameter && self->known->has_declaration) {
      PyErr_Format(PyExc_TypeError, "%U() has no parameter '%s'", self->expression, name);
      return false;
    }
    if (is_left_out(value, parameter)) continue;
    if (!arguments.add(self->session, self->known->place(), value, parameter, name)) return false;
    texts.push_back(std::move(bytes));
  }
  return true;
}

bool add_all(Function* self, Arguments& arguments, PyObject* positional, PyObject* keywords, std::vector<Ref>& texts) {
  const std::vector<Parameter>& parameters = self->known->parameters;
  const Py_ssize_t count = PyTuple_Size(positional);
  bool by_name = false; // behind one that is left out
  for (Py_ssize_t i = 0; i < count; ++i) {
    const auto index = static_cast<size_t>(i);
    const Parameter* parameter = index < parameters.size() ? &parameters[index] : nullptr;
    PyObject* object = PyTuple_GetItem(positional, i);
    if (is_left_out(object, parameter)) {
      by_name = true;
      continue;
    }
    const char* name = by_name && parameter ? parameter->name.c_str() : nullptr;
    if (!arguments.add(self->session, self->known->place(), object, parameter, name)) return false;
  }
  return !keywords || add_keywords(self, arguments, keywords, texts);
}

size_t count_of(PyObject* positional, PyObject* keywords) {
  return static_cast<size_t>(PyTuple_Size(positional) + (keywords ? PyDict_Size(keywords) : 0));
}

Family family_of(const Arguments& arguments) {
  return arguments.family != Family::None ? arguments.family : arguments.struct_family;
}

bool has_tensors(PyObject* positional, PyObject* keywords) {
  const Py_ssize_t count = PyTuple_Size(positional);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (is_array(PyTuple_GetItem(positional, i))) return true;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; keywords && PyDict_Next(keywords, &at, &key, &value);)
    if (is_array(value)) return true;
  return false;
}

tl_value* start(Function* self, const Arguments& arguments) {
  tl_value* value = nullptr;
  const bool good =
      run(self->session, [&] { return tl_start(self->function, arguments.data(), arguments.size(), &value); });
  if (!good && value) tl_value_release(std::exchange(value, nullptr));
  if (value) begin(self->session, value);
  return value;
}

// A call with tensors of tl, which gives one at once. Of another result it waits for what kind it is.
PyObject* call_ahead(Function* self, PyObject* positional, PyObject* keywords) {
  auto arguments = std::make_unique<Arguments>(count_of(positional, keywords));
  std::vector<Ref> texts;
  if (!add_all(self, *arguments, positional, keywords, texts)) return nullptr;
  bool ahead = self->known->gives_tensor, gives_key = self->known->gives_key;
  if (!ahead) {
    const char* type = nullptr;
    if (!run(self->session,
             [&] { return tl_result_type(self->function, arguments->data(), arguments->size(), &type); }))
      return nullptr;
    const Parameter result = parse_parameter("", type ? type : "");
    ahead = is_tensor(result);
    gives_key = is_key(result.dtype);
  }
  tl_value* value = start(self, *arguments);
  if (!value) return nullptr;
  const Family family = family_of(*arguments);
  if (ahead && family == Family::Own)
    return make_tensor(self->session, value, arguments->borrows ? arguments.release() : nullptr, gives_key);
  if (!run(self->session, [&] { return tl_value_wait(value); })) {
    outlive(self->session, value, arguments.release());
    return nullptr;
  }
  end(self->session, value);
  return to_python(self->session, value, family);
}

PyObject* call(PyObject* object, PyObject* positional, PyObject* keywords) {
  Function* self = as_function(object);
  if (!is_open(self->session)) return nullptr;
  forget_the_done();
  if (has_tensors(positional, keywords)) return call_ahead(self, positional, keywords);
  Arguments arguments(count_of(positional, keywords));
  std::vector<Ref> texts;
  if (!add_all(self, arguments, positional, keywords, texts)) return nullptr;
  tl_value* value = nullptr;
  const bool good =
      run(self->session, [&] { return tl_call(self->function, arguments.data(), arguments.size(), &value); });
  if (!good) {
    if (value) tl_value_release(value);
    return nullptr;
  }
  return to_python(self->session, value, family_of(arguments));
}

PyObject* start_method(PyObject* object, PyObject* positional, PyObject* keywords) {
  Function* self = as_function(object);
  if (!is_open(self->session)) return nullptr;
  forget_the_done();
  auto arguments = std::make_unique<Arguments>(count_of(positional, keywords));
  std::vector<Ref> texts;
  if (!add_all(self, *arguments, positional, keywords, texts)) return nullptr;
  auto* pending = allocate<Pending>(pending_type);
  if (!pending) return nullptr;
  Ref owner(reinterpret_cast<PyObject*>(pending));
  pending->value = start(self, *arguments);
  if (!pending->value) return nullptr;
  pending->session = self->session;
  Py_INCREF(self->session);
  pending->family = family_of(*arguments);
  pending->keep = arguments.release();
  return owner.release();
}

PyObject* result_type(PyObject* object, PyObject* positional, PyObject* keywords) {
  Function* self = as_function(object);
  if (!is_open(self->session)) return nullptr;
  Arguments arguments(count_of(positional, keywords));
  std::vector<Ref> texts;
  if (!add_all(self, arguments, positional, keywords, texts)) return nullptr;
  const char* type = nullptr;
  if (!run(self->session, [&] { return tl_result_type(self->function, arguments.data(), arguments.size(), &type); }))
    return nullptr;
  return PyUnicode_FromString(type);
}

// ---- the type Function

int traverse(PyObject* object, visitproc visit, void* arg) {
  Function* self = as_function(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->session);
  Py_VISIT(self->declaration);
  return 0;
}
int clear(PyObject* object) {
  Function* self = as_function(object);
  Py_CLEAR(self->session);
  Py_CLEAR(self->declaration);
  return 0;
}
void dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  Function* self = as_function(object);
  clear(object);
  Py_CLEAR(self->expression);
  Py_CLEAR(self->like);
  delete self->known;
  free_object(object);
}

PyObject* by_support(const char* name, PyObject* object) {
  PyObject* function = support(name);
  return function ? PyObject_CallFunctionObjArgs(function, object, nullptr) : nullptr;
}
PyObject* get_signature(PyObject* object, void*) { return by_support("function_signature", object); }
PyObject* get_doc(PyObject* object, void*) { return by_support("function_doc", object); }
PyObject* repr(PyObject* object) { return by_support("function_repr", object); }
PyObject* reduce(PyObject* object, PyObject*) { return by_support("reduce_function", object); }
PyObject* same(PyObject* object, PyObject*) {
  Py_INCREF(object);
  return object;
}

PyObject* given(PyObject* object) { return Py_INCREF(object), object; }
PyObject* get_expression(PyObject* object, void*) { return given(as_function(object)->expression); }
PyObject* get_like(PyObject* object, void*) { return given(as_function(object)->like); }
PyObject* get_declaration(PyObject* object, void*) {
  PyObject* declaration = as_function(object)->declaration;
  return given(declaration ? declaration : Py_None);
}
PyObject* get_program(PyObject* object, void*) {
  auto* session = reinterpret_cast<PyObject*>(as_function(object)->session);
  return given(session ? session : Py_None);
}

// ---- the type Pending

bool wait(Pending* self) {
  if (!self->value) return true; // it was taken for the result
  if (!run(self->session, [&] { return tl_value_wait(self->value); })) return false;
  end(self->session, self->value);
  delete std::exchange(self->keep, nullptr);
  return true;
}
PyObject* pending_wait(PyObject* object, PyObject*) {
  if (!wait(as_pending(object))) return nullptr;
  Py_RETURN_NONE;
}
PyObject* pending_ready(PyObject* object, PyObject*) {
  Pending* self = as_pending(object);
  return PyBool_FromLong(!self->value || !tl_value_is_pending(self->value));
}
PyObject* pending_result(PyObject* object, PyObject*) {
  Pending* self = as_pending(object);
  if (!wait(self)) return nullptr;
  if (!self->result) {
    tl_value* value = std::exchange(self->value, nullptr);
    if (!value) {
      PyErr_SetString(PyExc_RuntimeError, "the result could not be converted, or another thread converts it now");
      return nullptr;
    }
    self->result = to_python(self->session, value, self->family);
    if (!self->result) return nullptr;
  }
  return given(self->result);
}
void pending_dealloc(PyObject* object) {
  Pending* self = as_pending(object);
  if (self->value && tl_value_is_pending(self->value)) {
    outlive(self->session, self->value, self->keep);
  } else if (self->value) {
    end(self->session, self->value);
    delete self->keep;
    tl_value_release(self->value);
  }
  Py_CLEAR(self->result);
  Py_CLEAR(self->session);
  free_object(object);
}

bool make_type(PyObject* module, const char* name, PyType_Spec& spec, PyTypeObject*& type) {
  type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!type) return false;
  Py_INCREF(type);
  return !PyModule_AddObject(module, name, reinterpret_cast<PyObject*>(type));
}

} // namespace

PyObject* make_function(Session* session, tl_function* function, const char* source, const char* expression,
                        const char* like, PyObject* declaration) {
  auto* self = allocate<Function>(function_type); // tracked from here on
  if (!self) return nullptr;
  Ref owner(reinterpret_cast<PyObject*>(self));
  self->session = session;
  Py_INCREF(session);
  self->function = function;
  self->known = new Known;
  if (source) self->known->source = source;
  self->known->has_source = source;
  self->expression = PyUnicode_FromString(expression);
  self->like = like ? PyUnicode_FromString(like) : given(Py_None);
  if (!self->expression || !self->like) return nullptr;
  if (declaration == Py_None) {
    self->known->parameters = parameters_of_lambda(expression);
    return owner.release();
  }
  self->declaration = given(declaration);
  const char *name, *text, *result, *doc, *from;
  int is_generic, is_struct;
  PyObject* parameters;
  if (!PyArg_ParseTuple(declaration, "sszssiiO!", &name, &text, &result, &doc, &from, &is_generic, &is_struct,
                        &PyTuple_Type, &parameters))
    return nullptr;
  self->known->has_declaration = true;
  if (result && !std::strcmp(name, expression)) {
    const Parameter gives = parse_parameter("", result);
    self->known->gives_tensor = is_tensor(gives);
    self->known->gives_key = is_key(gives.dtype);
  }
  for (Py_ssize_t i = 0; i < PyTuple_Size(parameters); ++i) {
    const char *own, *type, *value, *words;
    if (!PyArg_ParseTuple(PyTuple_GetItem(parameters, i), "szzs", &own, &type, &value, &words)) return nullptr;
    self->known->parameters.push_back(parse_parameter(own, type ? type : ""));
    self->known->parameters.back().is_none_without = value && std::string_view(value) == "none";
  }
  return owner.release();
}

bool make_function_types(PyObject* module) {
  static PyMethodDef methods[] = {
      {"start", method(start_method), METH_VARARGS | METH_KEYWORDS,
       "Begins a call and gives a Pending. Arrays must not be changed until it is done."},
      {"result_type", method(result_type), METH_VARARGS | METH_KEYWORDS,
       "The type of the result for such arguments, as tl writes it."},
      {"__reduce__", reduce, METH_NOARGS, nullptr},
      {"__copy__", same, METH_NOARGS, nullptr},
      {"__deepcopy__", same, METH_O, nullptr},
      {},
  };
  static PyGetSetDef fields[] = {
      {"__name__", get_expression, nullptr, nullptr, nullptr},
      {"__qualname__", get_expression, nullptr, nullptr, nullptr},
      {"__doc__", get_doc, nullptr, nullptr, nullptr},
      {"__signature__", get_signature, nullptr, nullptr, nullptr},
      {"program", get_program, nullptr, "The Program that it belongs to.", nullptr},
      {"_expression", get_expression, nullptr, nullptr, nullptr},
      {"_like", get_like, nullptr, nullptr, nullptr},
      {"_declaration", get_declaration, nullptr, nullptr, nullptr},
      {},
  };
  PyType_Slot slots[] = {
      {Py_tp_new, slot(refuse_new)}, {Py_tp_dealloc, slot(dealloc)}, {Py_tp_traverse, slot(traverse)},
      {Py_tp_clear, slot(clear)},    {Py_tp_call, slot(call)},       {Py_tp_repr, slot(repr)},
      {Py_tp_methods, methods},      {Py_tp_getset, fields},         {}};
  PyType_Spec spec = {"tl.Function", sizeof(Function), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  static PyMethodDef pending_methods[] = {
      {"wait", pending_wait, METH_NOARGS, "Waits for the call, and raises what it failed with."},
      {"ready", pending_ready, METH_NOARGS, "Whether the call is done, well or not."},
      {"result", pending_result, METH_NOARGS, "Waits for the call, and gives what it would have given."},
      {},
  };
  static const char doc[] = "A call that has begun: Function.start gives it.";
  PyType_Slot pending_slots[] = {{Py_tp_new, slot(refuse_new)},
                                 {Py_tp_dealloc, slot(pending_dealloc)},
                                 {Py_tp_doc, const_cast<char*>(doc)},
                                 {Py_tp_methods, pending_methods},
                                 {}};
  PyType_Spec pending = {"tl.Pending", sizeof(Pending), 0, Py_TPFLAGS_DEFAULT, pending_slots};
  return make_type(module, "Function", spec, function_type) && make_type(module, "Pending", pending, pending_type);
}

} // namespace tl::python

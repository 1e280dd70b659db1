// The Python module of a library: ctypes and the buffer and DLPack protocols, nothing to compile.
#include "backend/aot/library.h"
#include "backend/aot/signature.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl {
namespace {

constexpr const char* kHead = R"PY(
import ctypes as _c
import functools as _functools
import operator as _operator
import os as _os
import struct as _struct

_here = _os.path.dirname(_os.path.abspath(__file__))
_inside = _os.path.join(_here, "@NAME@.so")
_lib = _c.CDLL(_inside if _os.path.exists(_inside) else _os.path.join(_os.path.dirname(_here), "@NAME@.so"))
_api = _c.PyDLL(None)  # not ctypes.pythonapi, whose types all modules would share


class Error(RuntimeError):
    """A call that failed; `status` is 2 for a wrong argument, 3 for a failure of the program."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class _Type(_c.Structure):
    _fields_ = [("code", _c.c_uint8), ("bits", _c.c_uint8), ("lanes", _c.c_uint16)]


class _Tensor(_c.Structure):
    _fields_ = [("data", _c.c_void_p), ("device_type", _c.c_int32), ("device_id", _c.c_int32), ("rank", _c.c_int32),
                ("type", _Type), ("shape", _c.POINTER(_c.c_int64)), ("strides", _c.POINTER(_c.c_int64)),
                ("byte_offset", _c.c_uint64)]


class _Managed(_c.Structure):
    pass


_Deleter = _c.CFUNCTYPE(None, _c.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", _c.c_void_p), ("deleter", _Deleter)]


class _Buffer(_c.Structure):
    _fields_ = [("buf", _c.c_void_p), ("obj", _c.py_object), ("len", _c.c_ssize_t), ("itemsize", _c.c_ssize_t),
                ("readonly", _c.c_int), ("ndim", _c.c_int), ("format", _c.c_char_p),
                ("shape", _c.POINTER(_c.c_ssize_t)), ("strides", _c.POINTER(_c.c_ssize_t)),
                ("suboffsets", _c.POINTER(_c.c_ssize_t)), ("internal", _c.c_void_p)]


_api.PyObject_GetBuffer.argtypes = [_c.py_object, _c.POINTER(_Buffer), _c.c_int]
_api.PyBuffer_Release.argtypes = [_c.POINTER(_Buffer)]
_api.PyBuffer_Release.restype = None
_api.PyCapsule_GetPointer.argtypes = [_c.py_object, _c.c_char_p]
_api.PyCapsule_GetPointer.restype = _c.c_void_p
_Drop = _c.PYFUNCTYPE(None, _c.c_void_p)
_api.PyCapsule_New.argtypes = [_c.c_void_p, _c.c_char_p, _Drop]
_api.PyCapsule_New.restype = _c.py_object
_capsule_is = _c.PYFUNCTYPE(_c.c_int, _c.c_void_p, _c.c_char_p)(("PyCapsule_IsValid", _api))
_capsule_pointer = _c.PYFUNCTYPE(_c.c_void_p, _c.c_void_p, _c.c_char_p)(("PyCapsule_GetPointer", _api))
_lib.@NAME@_error.restype = _c.c_char_p
_lib.@NAME@_configure.argtypes = [_c.c_char_p, _c.c_char_p]
_free = _c.CDLL(None).free
_free.argtypes = [_c.c_void_p]

_names = {(0, 8): "int8", (0, 16): "int16", (0, 32): "int32", (0, 64): "int64", (1, 8): "uint8", (1, 16): "uint16",
          (1, 32): "uint32", (1, 64): "uint64", (2, 16): "float16", (2, 32): "float32", (2, 64): "float64",
          (4, 16): "bfloat16", (6, 8): "bool"}
_formats = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
            "uint64": "Q", "float16": "e", "float32": "f", "float64": "d", "bool": "?"}


@_Drop
def _drop(capsule):
    if _capsule_is(capsule, b"dltensor"):  # nobody took it
        managed = _c.cast(_capsule_pointer(capsule, b"dltensor"), _c.POINTER(_Managed))
        managed.contents.deleter(managed)


@_functools.lru_cache(None)  # to look for what is not there takes long
def _numpy():
    try:
        import numpy
        return numpy
    except ImportError:
        return None


def _check(status):
    if status:
        raise Error(status, _lib.@NAME@_error().decode("utf-8", "replace"))


def configure(flag, value="true"):
    """Sets a flag of `tl run` for the calls from now on: configure("threads", 4)."""
    _check(_lib.@NAME@_configure(flag.encode(), str(value).encode()))


class Tensor:
    """A result, with its memory. NumPy, PyTorch and others take it by `from_dlpack`, without a copy."""

    def __init__(self, managed):
        self._managed = managed
        tensor = managed.contents.tensor
        self.shape = tuple(tensor.shape[i] for i in range(tensor.rank))
        self.dtype = _names[tensor.type.code, tensor.type.bits]
        self._data, self._bytes = tensor.data, tensor.type.bits // 8
        for size in self.shape:
            self._bytes *= size

    def __del__(self):
        managed, self._managed = getattr(self, "_managed", None), None
        if managed:
            managed.contents.deleter(managed)

    def __reduce_ex__(self, _):  # copy and pickle ask for it
        raise TypeError("a Tensor owns its memory: copy what numpy() or tolist() gives")

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        """Gives the memory away: once."""
        if not self._managed:
            raise BufferError("this tensor was given away")
        managed, self._managed = self._managed, None
        return _api.PyCapsule_New(_c.cast(managed, _c.c_void_p), b"dltensor", _drop)

    def _buffer(self):
        if not self._managed:
            raise BufferError("this tensor was given away")
        buffer = (_c.c_char * self._bytes).from_address(self._data or 0) if self._bytes else (_c.c_char * 0)()
        buffer._owner = self
        return buffer

    def numpy(self):
        """A NumPy array on this memory."""
        return _numpy().frombuffer(self._buffer(), self.dtype).reshape(self.shape)

    def tolist(self):
        """Nested lists of numbers."""
        items = memoryview(self._buffer()).cast("B").cast(_formats[self.dtype]).tolist()
        for size in reversed(self.shape[1:]):
            items = [items[i:i + size] for i in range(0, len(items), size)] if size else []
        return items if self.shape else items[0]


def _give(managed):
    tensor = Tensor(managed)
    return tensor.numpy() if _numpy() and tensor.dtype != "bfloat16" else tensor


def _integer(name, value, bits, signed):
    value = _operator.index(value)
    least = -(1 << (bits - 1)) if signed else 0
    if not least <= value < least + (1 << bits):
        raise OverflowError("%s: %d does not fit into %d bits" % (name, value, bits))
    return value


def _half(value):
    return int.from_bytes(_struct.pack("<e", value), "little")


def _from_half(bits):
    return _struct.unpack("<e", bits.to_bytes(2, "little"))[0]


def _bfloat(value):
    if value != value:
        return 0x7FC0
    bits = int.from_bytes(_struct.pack("<f", value), "little")
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _from_bfloat(bits):
    return _struct.unpack("<f", (bits << 16).to_bytes(4, "little"))[0]


def _chars(name, text):
    if not isinstance(text, str):
        raise TypeError("%s: a str is wanted, not a %s" % (name, type(text).__name__))
    if "\0" in text:
        raise ValueError("%s: a text with a character 0 cannot cross" % name)
    return text.encode()


def _text(pointer):
    text = _c.string_at(pointer.value).decode("utf-8", "replace")
    _free(pointer)
    return text


def _from_buffer(x, keep):
    view = _Buffer()
    _api.PyObject_GetBuffer(x, _c.byref(view), 0x1c)  # with format, shape and strides
    keep.append(_Held(view))
    letter = (view.format or b"B").decode().lstrip("@=<")
    if letter not in tuple("?bhilqBHILQefd"):
        raise Error(2, "elements of the format '%s' are no tl type" % letter)
    code = 6 if letter == "?" else 2 if letter in "efd" else 0 if letter.islower() else 1
    if view.itemsize and any(view.strides[i] % view.itemsize for i in range(view.ndim)):
        raise Error(2, "the strides are not multiples of an element's size")
    shape = (_c.c_int64 * view.ndim)(*(view.shape[i] for i in range(view.ndim)))
    strides = (_c.c_int64 * view.ndim)(*(view.strides[i] // view.itemsize for i in range(view.ndim)))
    keep.append((shape, strides))
    return _Tensor(view.buf, 1, 0, view.ndim, _Type(code, 8 * view.itemsize, 1), shape, strides, 0)


class _Held:
    def __init__(self, view):
        self.view = view

    def __del__(self):
        _api.PyBuffer_Release(_c.byref(self.view))


def _tensor(x, dtype, keep):
    numpy = _numpy()
    if isinstance(x, (list, tuple, int, float, bool)):
        if not numpy:
            raise TypeError("without NumPy a tensor comes from an object with __dlpack__ or a buffer")
        x = numpy.asarray(x, dtype)
    try:
        memoryview(x)
    except (TypeError, BufferError, ValueError):
        if not hasattr(x, "__dlpack__"):
            raise TypeError("%s has neither a buffer nor __dlpack__" % type(x).__name__) from None
        capsule = x.__dlpack__()
        keep.append((x, capsule))
        return _Tensor.from_address(_api.PyCapsule_GetPointer(capsule, b"dltensor"))
    return _from_buffer(x, keep)


class _Memory:
    def __init__(self, pointer, close):
        self.pointer, self.close = pointer, close

    def __del__(self):
        self.close(self.pointer)


class _Handle:
    def __init__(self, pointer):
        self._memory = _Memory(pointer, self._close) if pointer else None

    @property
    def _pointer(self):
        return self._memory.pointer if self._memory else None

    def close(self):
        """Gives its memory back, once no copy needs it; afterwards it cannot be used."""
        self._memory = None

    def __copy__(self):
        """The same value: nothing can change it."""
        other = type(self)(None)
        other._memory = self._memory
        return other

    def __deepcopy__(self, _):
        return self.__copy__()

    def __reduce_ex__(self, _):
        raise TypeError("a %s is memory of this process and cannot be pickled" % type(self).__name__)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _pointer(x, kind):
    if not isinstance(x, kind):
        raise TypeError("a %s is wanted, not a %s" % (kind.__name__, type(x).__name__))
    if not x._pointer:
        raise ValueError("this %s was closed" % kind.__name__)
    return x._pointer
)PY";

std::string with_name(std::string text, const std::string& name) {
  for (size_t at = text.find("@NAME@"); at != std::string::npos; at = text.find("@NAME@", at))
    text.replace(at, 6, name);
  return text;
}

const char* python_dtype(DType type) { // as NumPy calls it
  switch (type) {
  case DType::Bool: return "bool";
  case DType::I8: return "int8";
  case DType::I16: return "int16";
  case DType::I32: return "int32";
  case DType::I64: return "int64";
  case DType::U8: return "uint8";
  case DType::U16: return "uint16";
  case DType::U32: return "uint32";
  case DType::F16: return "float16";
  case DType::BF16: return "bfloat16";
  case DType::F32: return "float32";
  case DType::F64: return "float64";
  default: return "uint64";
  }
}

const char* ctypes_scalar(DType type) {
  switch (type) {
  case DType::Bool: return "bool";
  case DType::F32: return "float";
  case DType::F64: return "double";
  case DType::F16:
  case DType::BF16: return "uint16";
  default: return python_dtype(type);
  }
}

// What goes through ctypes for a Python number, which would itself cut integers to their bits.
std::string to_scalar(const std::string& name, DType type) {
  switch (type) {
  case DType::Bool: return fmt::format("bool({})", name);
  case DType::F32:
  case DType::F64: return fmt::format("float({})", name);
  case DType::F16: return fmt::format("_half({})", name);
  case DType::BF16: return fmt::format("_bfloat({})", name);
  default: {
    const bool is_signed = type == DType::I8 || type == DType::I16 || type == DType::I32 || type == DType::I64;
    return fmt::format("_integer(\"{0}\", {0}, {1}, {2})", name, 8 * size_of(type), is_signed ? "True" : "False");
  }
  }
}
std::string from_scalar(const std::string& value, DType type) {
  if (type == DType::F16) return fmt::format("_from_half({})", value);
  return type == DType::BF16 ? fmt::format("_from_bfloat({})", value) : value;
}

std::string python_name(std::string name) {
  static const char* const words[] = {"False", "None",   "True",     "and",   "as",     "assert",  "async", "await",
                                      "class", "def",    "del",      "elif",  "except", "finally", "from",  "global",
                                      "is",    "lambda", "nonlocal", "not",   "or",     "pass",    "raise", "try",
                                      "with",  "yield",  "import",   "print", "keep"};
  if (std::any_of(std::begin(words), std::end(words), [&](const char* word) { return name == word; })) name += "_";
  return name;
}

// A default as Python writes it, or nothing.
std::string python_default(const std::string& text) {
  if (text == "true") return "True";
  if (text == "false") return "False";
  const bool number = !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string::npos &&
                      text.find_first_of("0123456789") != std::string::npos && text.back() != '.';
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"' &&
                      text.find_first_of("{}\\\n") == std::string::npos;
  return number || quoted ? text : "";
}

std::string docstring(const std::string& text, const std::string& indent) {
  std::string out;
  for (char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
    if (c == '\n') out += indent;
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '\n'))
    out.pop_back();
  return out;
}

} // namespace

std::string python_module(const Library& library) {
  const std::string& name = library.name;
  std::string text = fmt::format("\"\"\"{}: made by `tl build --lib --python`.{}{}\n\"\"\"", name,
                                 library.doc.empty() ? "" : "\n\n", docstring(library.doc, ""));
  text += with_name(kHead, name);
  for (const std::string& record : records_of(library))
    text += fmt::format("\n\nclass {1}(_Handle):\n    _close = _lib.{0}_{1}_close\n\n\n"
                        "_lib.{0}_{1}_close.argtypes = [_c.c_void_p]\n_lib.{0}_{1}_close.restype = None\n",
                        name, record);
  for (const LibraryFunction& function : library.functions) {
    const Signature signature = signature_of(function.interface);
    std::vector<std::string> params, types, words;
    std::string about = function.doc;
    for (size_t i = 0; i < signature.params.size(); ++i) {
      const Item& p = signature.params[i];
      bool rest = true;
      for (size_t k = i; k < signature.params.size(); ++k)
        rest = rest && !python_default(signature.params[k].default_text).empty();
      const std::string own = python_name(p.name);
      params.push_back(rest ? own + "=" + python_default(p.default_text) : own);
      about +=
          fmt::format("{}{}: {}{}{}", about.empty() ? "" : "\n", own, p.type_text, p.doc.empty() ? "" : ", ", p.doc);
      switch (p.kind) {
      case Item::Kind::Scalar:
        types.push_back(fmt::format("_c.c_{}", ctypes_scalar(p.dtype)));
        words.push_back(to_scalar(own, p.dtype));
        break;
      case Item::Kind::Text:
        types.emplace_back("_c.c_char_p");
        words.push_back(fmt::format("_chars(\"{0}\", {0})", own));
        break;
      case Item::Kind::Tensor:
        types.emplace_back("_c.POINTER(_Tensor)");
        words.push_back(fmt::format("_c.byref(_tensor({}, \"{}\", keep))", own, python_dtype(p.dtype)));
        break;
      case Item::Kind::Handle:
        types.emplace_back("_c.c_void_p");
        words.push_back(fmt::format("_pointer({}, {})", own, p.record));
      }
    }
    std::string before, after;
    for (size_t i = 0; i < signature.results.size(); ++i) {
      const Item& r = signature.results[i];
      const std::string own = fmt::format("_r{}", i);
      std::string type = "_c.c_void_p", value;
      switch (r.kind) {
      case Item::Kind::Scalar:
        type = fmt::format("_c.c_{}", ctypes_scalar(r.dtype));
        value = from_scalar(own + ".value", r.dtype);
        break;
      case Item::Kind::Text: value = fmt::format("_text({})", own); break;
      case Item::Kind::Tensor:
        type = "_c.POINTER(_Managed)";
        value = fmt::format("_give({})", own);
        break;
      case Item::Kind::Handle: value = fmt::format("{}({}.value)", r.record, own);
      }
      before += fmt::format("    {} = {}()\n", own, type);
      types.push_back(fmt::format("_c.POINTER({})", type));
      words.push_back(fmt::format("_c.byref({})", own));
      after += (i ? ", " : "") + value;
      about += fmt::format("\nresult{}: {}", signature.results.size() == 1 ? "" : fmt::format(" {}", i), r.type_text);
    }
    if (signature.results.size() > 1) after = "(" + after + ")";
    text += fmt::format(
        "\n\ndef {1}({2}):\n    \"\"\"{3}\"\"\"\n    keep = []\n{4}    _check(_lib.{0}_{5}({6}))\n    return {7}\n"
        "\n\n_lib.{0}_{5}.argtypes = [{8}]\n",
        name, python_name(function.name), fmt::join(params, ", "), docstring(about, "    "), before, function.name,
        fmt::join(words, ", "), after.empty() ? "None" : after, fmt::join(types, ", "));
  }
  return text;
}

} // namespace tl

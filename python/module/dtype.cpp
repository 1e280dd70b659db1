#include "dtype.h"
#include <array>
#include <cmath>
#include <cstring>

namespace tl::python {

const Dtype* find_dtype(uint8_t code, uint8_t bits) {
  for (const Dtype& dtype : kDtypes)
    if (dtype.code == code && dtype.bits == bits) return &dtype;
  return nullptr;
}
const Dtype* find_dtype(std::string_view name) {
  for (const Dtype& dtype : kDtypes)
    if (dtype.name == name) return &dtype;
  return nullptr;
}

namespace {

template <class T> T read(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T> bool write(void* at, T value) {
  std::memcpy(at, &value, sizeof value);
  return true;
}

double from_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  double value = exponent == 31  ? (fraction != 0 ? std::nan("") : HUGE_VAL)
                 : exponent == 0 ? std::ldexp(fraction, -24)
                                 : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -value : value;
}

// Rounded to nearest, ties to even: the value in units of the last place is a small integer.
uint16_t to_half(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(size)) return sign | 0x7E00;
  if (size >= 65520) return sign | 0x7C00;
  if (size < 0x1p-14) return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(size, 24)));
  int exponent;
  std::frexp(size, &exponent); // size = 0.5 … 1 times 2^exponent
  const auto digits = static_cast<uint16_t>(std::nearbyint(std::ldexp(size, 11 - exponent))); // 1024 … 2048
  return sign | static_cast<uint16_t>(((exponent + 13) << 10) + digits);
}

uint16_t to_bfloat(double value) {
  if (std::isnan(value)) return 0x7FC0;
  // To odd first, so that rounding twice is rounding once.
  auto single = static_cast<float>(value);
  auto bits = read<uint32_t>(&single);
  if (static_cast<double>(single) != value && std::isfinite(single)) {
    if (std::fabs(static_cast<double>(single)) > std::fabs(value)) bits -= 1;
    bits |= 1;
  }
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

bool set_integer(const Dtype& dtype, void* at, PyObject* number) {
  Ref index(PyNumber_Index(number));
  if (!index) {
    if (PyErr_ExceptionMatches(PyExc_TypeError))
      PyErr_Format(PyExc_TypeError, "%s is wanted, and %R is none", dtype.name, number);
    return false;
  }
  if (dtype.code == 1 && dtype.bits == 64) {
    const unsigned long long value = PyLong_AsUnsignedLongLong(index.get());
    if (value == ~0ULL && PyErr_Occurred()) return false;
    return write<uint64_t>(at, value);
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (value == -1 && !overflow && PyErr_Occurred()) return false;
  const long long least = dtype.code == 1 ? 0 : dtype.bits == 64 ? INT64_MIN : -(1LL << (dtype.bits - 1));
  const long long most = dtype.bits == 64 ? INT64_MAX : (1LL << (dtype.code == 1 ? dtype.bits : dtype.bits - 1)) - 1;
  if (overflow || value < least || value > most) {
    PyErr_Format(PyExc_OverflowError, "%R does not fit into %s", number, dtype.name);
    return false;
  }
  std::memcpy(at, &value, dtype.bits / 8); // the low bytes come first
  return true;
}

} // namespace

bool fits(const Dtype& dtype, double value) {
  switch (dtype.code << 8 | dtype.bits) {
  case 2 << 8 | 16: return !std::isfinite(value) || (to_half(value) & 0x7FFF) != 0x7C00;
  case 2 << 8 | 32: return !std::isfinite(value) || std::isfinite(static_cast<float>(value));
  case 4 << 8 | 16: return !std::isfinite(value) || (to_bfloat(value) & 0x7FFF) != 0x7F80;
  default: return true;
  }
}

PyObject* element(const Dtype& dtype, const void* at) {
  switch (dtype.code << 8 | dtype.bits) {
  case 6 << 8 | 8: return PyBool_FromLong(read<uint8_t>(at));
  case 0 << 8 | 8: return PyLong_FromLong(read<int8_t>(at));
  case 0 << 8 | 16: return PyLong_FromLong(read<int16_t>(at));
  case 0 << 8 | 32: return PyLong_FromLong(read<int32_t>(at));
  case 0 << 8 | 64: return PyLong_FromLongLong(read<int64_t>(at));
  case 1 << 8 | 8: return PyLong_FromLong(read<uint8_t>(at));
  case 1 << 8 | 16: return PyLong_FromLong(read<uint16_t>(at));
  case 1 << 8 | 32: return PyLong_FromUnsignedLong(read<uint32_t>(at));
  case 1 << 8 | 64: return PyLong_FromUnsignedLongLong(read<uint64_t>(at));
  case 2 << 8 | 16: return PyFloat_FromDouble(from_half(read<uint16_t>(at)));
  case 2 << 8 | 32: return PyFloat_FromDouble(read<float>(at));
  case 2 << 8 | 64: return PyFloat_FromDouble(read<double>(at));
  case 5 << 8 | 64: {
    const auto parts = read<std::array<float, 2>>(at);
    return PyComplex_FromDoubles(parts[0], parts[1]);
  }
  case 5 << 8 | 128: {
    const auto parts = read<std::array<double, 2>>(at);
    return PyComplex_FromDoubles(parts[0], parts[1]);
  }
  default: { // bf16: the upper half of an f32
    const uint32_t bits = static_cast<uint32_t>(read<uint16_t>(at)) << 16;
    return PyFloat_FromDouble(read<float>(&bits));
  }
  }
}

bool set_element(const Dtype& dtype, void* at, PyObject* number) {
  if (dtype.code == 0 || dtype.code == 1) return set_integer(dtype, at, number);
  if (dtype.code == 6) {
    const bool from_numpy = !PyBool_Check(number) && !PyLong_Check(number) && !PyFloat_Check(number); // numpy.bool
    if (!PyBool_Check(number) && !from_numpy) {
      PyErr_Format(PyExc_TypeError, "a bool is wanted, not %R", number);
      return false;
    }
    const int truth = PyObject_IsTrue(number);
    return truth >= 0 && write<uint8_t>(at, truth != 0);
  }
  if (dtype.code == 5) {
    const double re = PyComplex_RealAsDouble(number), im = PyComplex_ImagAsDouble(number);
    if (PyErr_Occurred()) return false;
    if (dtype.bits == 128) return write<std::array<double, 2>>(at, {re, im});
    return write<std::array<float, 2>>(at, {static_cast<float>(re), static_cast<float>(im)});
  }
  const double value = PyFloat_AsDouble(number);
  if (value == -1 && PyErr_Occurred()) return false;
  if (dtype.bits == 64) return write<double>(at, value);
  if (dtype.bits == 32) return write<float>(at, static_cast<float>(value));
  return write<uint16_t>(at, dtype.code == 4 ? to_bfloat(value) : to_half(value));
}

} // namespace tl::python

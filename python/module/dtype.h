// tl's element types, and single elements of them as Python's numbers.
#pragma once
#include "api/tl.h"
#include "python.h"
#include <cstdint>
#include <iterator>
#include <string_view>

namespace tl::python {

struct Dtype {
  const char* name;
  const char* numpy; // nullptr: NumPy has none of its own
  uint8_t code, bits;
  char letter; // of __array_struct__
};
inline constexpr Dtype kDtypes[] = {
    {"bool", "bool_", 6, 8, 'b'},   {"u8", "uint8", 1, 8, 'u'},       {"u16", "uint16", 1, 16, 'u'},
    {"u32", "uint32", 1, 32, 'u'},  {"u64", "uint64", 1, 64, 'u'},    {"i8", "int8", 0, 8, 'i'},
    {"i16", "int16", 0, 16, 'i'},   {"i32", "int32", 0, 32, 'i'},     {"i64", "int64", 0, 64, 'i'},
    {"f16", "float16", 2, 16, 'f'}, {"bf16", nullptr, 4, 16, 'u'},    {"f32", "float32", 2, 32, 'f'},
    {"f64", "float64", 2, 64, 'f'}, {"c64", "complex64", 5, 64, 'c'}, {"c128", "complex128", 5, 128, 'c'},
    {"key", "uint64", 1, 64, 'u'}, // elsewhere a key is a u64, which is found before
};
inline bool is_key(const Dtype* dtype) { return dtype == std::end(kDtypes) - 1; }
inline bool is_key(std::string_view type) {
  return type.substr(0, 3) == "key" && type.find_first_not_of("[_, ]", 3) == type.npos;
}

const Dtype* find_dtype(uint8_t code, uint8_t bits);
const Dtype* find_dtype(std::string_view name);
inline const Dtype* find_dtype(tl_dtype dtype) { return find_dtype(dtype.code, dtype.bits); }
inline tl_dtype dtype_of(const Dtype& dtype) { return {dtype.code, dtype.bits, 1}; }

// A new reference.
PyObject* element(const Dtype& dtype, const void* at);
// Converts a number, as strictly as the element type asks: integers must fit, and a float is none. False: an error is
// set.
bool set_element(const Dtype& dtype, void* at, PyObject* number);
// Is a number that is not infinite none as an element, either?
bool fits(const Dtype& dtype, double value);

} // namespace tl::python

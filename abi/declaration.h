// What a program declares, as it is written: for those who call its functions by name.
#pragma once
#include "abi/dtype.h"
#include <optional>
#include <string>
#include <vector>

namespace tl {

// A parameter of a function, or a field of a struct.
struct Declared {
  std::string name, type, default_value, doc;
  bool has_type = false, has_default = false;
  bool is_closed = false;   // its type names no type parameter, function or `..s`: a parameter elsewhere may have it
  std::string element_type; // the type parameter that is its element type, or nothing
  std::optional<DType> of;  // what its elements are, where that is written: `f32[..s]`
};
struct Declaration {
  std::string name, text, result, doc, source;
  bool has_result = false, is_struct = false, is_generic = false;
  std::vector<Declared> parameters;
};

} // namespace tl

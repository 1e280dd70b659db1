// What the types of parameters, as they are written, say about Python's arguments.
#pragma once
#include "dtype.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tl::python {

struct Parameter {
  enum Kind { Any, Scalar, Tensor, Text, List, Tuple } kind = Any;
  std::string name;
  std::string type;              // "" where there is none
  const Dtype* dtype = nullptr;  // of Scalar and Tensor; nullptr: generic
  bool rounds = false;           // numbers that are too large for it become infinite, as NumPy's conversions have it
  bool is_none_without = false;  // its default is `none`, which Python calls None
  std::vector<Parameter> inside; // the element of a List, those of a Tuple
};

Parameter parse_parameter(std::string_view name, std::string_view type);
// Those of an expression that is a lambda, `|x: f64, y| …`; none of any other.
std::vector<Parameter> parameters_of_lambda(std::string_view expression);

} // namespace tl::python

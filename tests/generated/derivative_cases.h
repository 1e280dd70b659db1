// What the derivatives of the structured operations are tested with: a row for each builtin of the op table, and rows
// for what else is made of them (subscripts, updates, products, windows, the library).
#pragma once
#include "lang/typed.h"
#include <span>
#include <string_view>
#include <vector>

namespace tl::generated {

// Tensors that are ready for the cases, cut out of the vector x: f64[24] that derivatives are taken in.
constexpr const char* kReady = R"(
  let s = x[5]
  let v = x[0:6]
  let u = x[6:12]
  let m = x[0:12].reshape([3, 4])
  let q = x[12:24].reshape([2, 3, 2])
  let one = [x[3]]
  let none_of_it = x[0:0]
  let no_rows = x[0:0].reshape([0, 3])
)";

// A case is the end of a function's body: statements, one a line, and the value that is differentiated.
using DerivativeCases = std::vector<std::string_view>;

// Nothing: no float goes in and comes out, or the derivatives are taken by it themselves (`grad` and the like).
DerivativeCases derivative_cases(Builtin op);

struct NamedCases {
  std::string_view name; // of an expression or a function of the library
  DerivativeCases cases;
  std::string_view imports = {};
};
std::span<const NamedCases> other_derivative_cases();

} // namespace tl::generated

// Scalars as decimal digits: the part of formatting that does not depend on layout. Internal to vm/io.
#pragma once
#include "abi/scalar_op.h"
#include <string>

namespace tl {

// 0.d1d2d3… × 10^point, without trailing zeros; zero has the digit "0" and point 1. Not finite: `special` is set.
struct Decimal {
  bool negative = false;
  const char* special = nullptr; // "inf" or "nan"
  std::string digits;
  int point = 1;
};

double float_value(DType type, Scalar value); // of any float type, exactly

// The shortest digits that read back to the same value of this type.
Decimal shortest_decimal(DType type, Scalar value);
// The value rounded to this many significant digits (at least 1), or to this many digits after the point.
Decimal significant_decimal(double value, int digits);
Decimal fixed_decimal(double value, int decimals);

struct Integer {
  bool negative = false;
  uint64_t magnitude = 0;
};
Integer integer_value(DType type, Scalar value); // of bool, integers and keys

size_t code_points(std::string_view utf8); // how many characters a text shows

} // namespace tl

// Element types of the factors of a product: integers of at most 16 bits may be widened as they are read, and need not
// be converted in memory before.
#pragma once
#include "abi/dtype.h"

namespace tl {

// Is `memory` the product's type, or one of at most 16 bits whose every number the product's type holds?
constexpr bool is_factor_type(DType memory, DType product) {
  if (memory == product) return true;
  if (!is_int(product) || size_of(product) < 4 || size_of(memory) > 2) return false;
  return memory == DType::Bool || (is_int(memory) && (is_unsigned(memory) || !is_unsigned(product)));
}

// Are products of the two made in pairs, each an addend of 32 bits? Both are then numbers of 16 bits with a sign.
constexpr bool are_paired(DType a, DType b, DType product) {
  auto fits = [](DType t) { return size_of(t) == 1 || t == DType::I16; };
  return size_of(product) == 4 && is_int(product) && fits(a) && fits(b);
}

} // namespace tl

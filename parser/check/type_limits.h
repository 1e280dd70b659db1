// How large a type may be: each expression has one of its own, so what doubles with every line would soon fill the
// memory.
#pragma once
#include "lang/type.h"
#include <string>

namespace tl::checker {

constexpr size_t kMostParts = 4096; // of a value: tensors, texts, lists, and the tuples and structs that hold them
constexpr size_t kMostAxes = 64;    // of a tensor, as in files (vm/io/formats.h)

std::string too_large(const Type& type); // why; empty: it is not

} // namespace tl::checker

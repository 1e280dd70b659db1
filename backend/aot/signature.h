// The functions of a library as C and Python call them. Internal to backend/aot.
#pragma once
#include "backend/aot/library.h"

namespace tl {

// A parameter or a result as C has it; the leaves of a struct are one.
struct Item {
  enum class Kind : uint8_t { Scalar, Text, Tensor, Handle } kind = Kind::Scalar;
  std::string name, type_text, doc, record, default_text;
  DType dtype = DType::F32;
};

struct Signature {
  std::vector<Item> params, results;
};

Signature signature_of(const ProgramInterface& interface);
std::vector<std::string> records_of(const Library& library); // structs and lists that cross, each once

} // namespace tl

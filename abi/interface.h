// What a program or an exported function takes and gives: the same for the compiler that checks a command line, for the
// runtime that reads it, and for a library's header.
#pragma once
#include "abi/dtype.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tl {

// What a file holds of an element of a list, one after the other: a tensor "0.w", or a list's own elements "0.ws.0",
// "0.ws.1", …; behind the list's name and a dot, where it has one.
struct FileLeaf {
  std::string name; // "w"; empty: the element itself
  DType dtype = DType::F32;
  uint32_t rank = 0;
  bool is_list = false;
  std::vector<FileLeaf> element; // of a list
};

// The command line of a program: `main`'s parameters.
struct ParamInfo {
  // List: from a file, or part of an exported function's struct
  enum class Kind : uint8_t { Scalar, Str, Tensor, List };
  Kind kind = Kind::Scalar;
  std::string name, doc, type_text; // type as the user wrote it
  DType dtype = DType::F32;
  uint32_t rank = 0;
  bool has_default = false;
  std::string default_text; // as the user wrote it, for --help
  std::string leaf;         // of a struct, one after the other: the name of this leaf, "layer.w", in the struct's file
  bool is_list = false;     // a Str: each value that was given, and "\0" after it; dtype: of the values, unless is_text
  bool is_text = false;
  std::string record;            // of an exported function's struct: its name, with the types that it was made for
  std::vector<FileLeaf> element; // of a List
};
struct ResultInfo {
  bool is_str = false, is_scalar = false, is_list = false;
  DType dtype = DType::F32;
  uint32_t rank = 0;
  uint32_t value = 0;            // which value of the result: each takes an -o
  std::string leaf;              // of a struct: this leaf's name in a file
  bool is_printed = false;       // a Str: what is printed of that struct or list where no file takes it
  std::string record;            // of an exported function's struct: as with ParamInfo
  std::string type_text;         // of an exported function, for messages
  std::vector<FileLeaf> element; // of a list
};
// What a value of an exported function is made of: its leaves (tensors, texts, lists) are those of its parts, in order.
struct ValueInfo {
  enum class Kind : uint8_t { Tensor, Str, Struct, Tuple, List };
  Kind kind = Kind::Tuple;
  DType dtype = DType::F32; // of a Tensor
  uint32_t rank = 0;
  std::string type;               // with `_` for its sizes, as its file names it: "f32[_, _]", "nn.Linear<f32>[_, _]"
  std::string record;             // of a Struct, Tuple or List: as with ParamInfo
  std::vector<std::string> names; // of a Struct's fields
  std::vector<ValueInfo> parts;   // the fields, the elements; of a List the one of all its elements
};
struct ProgramInterface {
  std::string doc;
  std::vector<ParamInfo> params;
  std::vector<ResultInfo> results; // leaves of main's result
  std::optional<ValueInfo> value;  // of one that is called in this process: what it gives; nothing: an empty Tuple
};

} // namespace tl

// Types of values. Sizes are symbolic (lang/size.h). A plain value: compare with ==, copy freely.
#pragma once
#include "lang/size.h"
#include "vm/abi/dtype.h"

namespace tl {

enum class TypeKind : uint8_t {
  Error,    // something was wrong and has been reported: absorbs everything
  Unit,     // ()
  Tensor,   // dtype and shape; rank 0 is a scalar; `key` is an element type
  Str,      //
  Tuple,    // elements
  Range,    // lo..hi by step: shape holds these three sizes, so the type says the value
  Element,  // an element type as a value, as in zeros([n], f64): dtype
  None,     // `none`
  Function, // known when compiling, never at run time
  List,     // reserved
  Struct,   // reserved
};

struct Type {
  TypeKind kind = TypeKind::Error;
  DType dtype = DType::F32;
  uint32_t open = 0; // while checking: the element type is still this variable; 0 in a typed program
  std::vector<Size> shape;
  std::vector<Type> elements;

  static Type error() { return {}; }
  static Type unit() { return make(TypeKind::Unit); }
  static Type str() { return make(TypeKind::Str); }
  static Type none() { return make(TypeKind::None); }
  static Type scalar(DType t) { return tensor(t, {}); }
  static Type tensor(DType t, std::vector<Size> shape) {
    Type r = make(TypeKind::Tensor);
    r.dtype = t;
    r.shape = std::move(shape);
    return r;
  }
  static Type element(DType t) {
    Type r = make(TypeKind::Element);
    r.dtype = t;
    return r;
  }
  static Type range(Size lo, Size hi, Size step) {
    Type r = make(TypeKind::Range);
    r.dtype = DType::I64;
    r.shape = {std::move(lo), std::move(hi), std::move(step)};
    return r;
  }
  static Type tuple(std::vector<Type> elements) {
    Type r = make(TypeKind::Tuple);
    r.elements = std::move(elements);
    return r;
  }
  static Type make(TypeKind kind) {
    Type r;
    r.kind = kind;
    return r;
  }

  bool is_error() const { return kind == TypeKind::Error; }
  bool is_unit() const { return kind == TypeKind::Unit; }
  bool is_tensor() const { return kind == TypeKind::Tensor; }
  bool is_scalar() const { return kind == TypeKind::Tensor && shape.empty(); }
  bool is_str() const { return kind == TypeKind::Str; }
  bool is_tuple() const { return kind == TypeKind::Tuple; }
  bool is_range() const { return kind == TypeKind::Range; }
  size_t rank() const { return shape.size(); }
  bool operator==(const Type&) const = default;
};

// As the user writes it: "f32[n, 784]", "(i64, str)", "range".
std::string to_string(const Type& type, const SizeAtoms& atoms);

} // namespace tl

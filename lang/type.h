// Types of values. Sizes are symbolic (lang/size.h). A plain value: compare with ==, copy freely.
#pragma once
#include "abi/dtype.h"
#include "lang/size.h"
#include <memory>
#include <optional>
#include <string_view>

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
  Function, // known when compiling, never at run time: `function` says which
  List,     // elements[0]; sizes that differ between the elements are atoms of kind Element
  Struct,   // elements: the types of its fields; record: its name and theirs
};

// What a declaration of a struct says of all types that it makes. Types of one struct share it, and differ in their
// elements.
struct Record {
  // A part of a value: element path[0] of element path[1] …, and of a tensor there this axis.
  struct Place {
    std::vector<uint32_t> path;
    uint32_t axis = 0;
    bool is_whole = false; // of a type parameter: the part itself is of that type; else its element type is
  };
  struct Field {
    std::string name;
    bool is_state = false;        // `state`: not trained
    std::vector<Place> free_axes; // of the field: their sizes are `_`, so that an update may change them
  };
  std::string name;
  std::vector<Field> fields;
  std::vector<std::optional<Place>> types; // where each type parameter is the type of a part, if anywhere
  std::vector<std::optional<Place>> sizes; // where each size parameter stands alone as an axis, if anywhere
  // The field's position, or nothing.
  std::optional<uint32_t> find(std::string_view field) const;
};

struct Type {
  TypeKind kind = TypeKind::Error;
  DType dtype = DType::F32;
  uint32_t open = 0;     // while checking: the element type is still this variable; 0 in a typed program
  uint32_t function = 0; // which function: an id of the checker; 0 in a type as written, fn(A) -> B
  std::vector<Size> shape;
  std::vector<Type> elements;
  std::shared_ptr<const Record> record;

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
  static Type structure(std::shared_ptr<const Record> record, std::vector<Type> fields) {
    Type r = make(TypeKind::Struct);
    r.record = std::move(record);
    r.elements = std::move(fields);
    return r;
  }
  static Type list(Type element) {
    Type r = make(TypeKind::List);
    r.elements.push_back(std::move(element));
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
  bool is_struct() const { return kind == TypeKind::Struct; }
  bool is_function() const { return kind == TypeKind::Function; }
  bool is_aggregate() const {
    return is_tuple() || is_struct();
  } // a value of parts: its leaves are those of its elements
  bool is_list() const { return kind == TypeKind::List; }
  bool is_range() const { return kind == TypeKind::Range; }
  size_t rank() const { return shape.size(); }
  bool operator==(const Type&) const = default;
};

// For each leaf of a type, in order, whether derivatives see it: floats (of complex numbers both parts, which are two
// leaves), and lists that hold some, but no fields marked `state`.
std::vector<bool> trained_leaves(const Type& type);
inline bool has_trained_leaf(const Type& type) {
  for (bool leaf : trained_leaves(type))
    if (leaf) return true;
  return false;
}

// As the user writes it: "f32[n, 784]", "(i64, str)", "range".
std::string to_string(const Type& type, const SizeAtoms& atoms);

// Does an optimizer change this leaf, if it is in no field marked `state`? Floats and complex numbers are trained.
inline bool is_trainable(const Type& leaf) { return leaf.is_tensor() && is_float(part_of(leaf.dtype)); }

// The part of a type at this path; null if the path leads out of it.
const Type* part_of(const Type& type, const std::vector<uint32_t>& path);
Type* part_of(Type& type, const std::vector<uint32_t>& path);

} // namespace tl

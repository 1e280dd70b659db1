// What is known of a tensor while a model is imported.
#pragma once
#include "abi/scalar_op.h"
#include "abi/tensor.h"
#include "importers/onnx/model.h"
#include "lang/size.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tl::onnx {

using Dims = std::vector<Size>;

// An element that is known when the model is imported: a ratio of sizes, which an integer is too, or a real number.
// Bools are 0 and 1.
struct Number {
  Size top, bottom = 1;
  double real = 0;
  bool is_real = false;

  static Number of(Size size) { return {std::move(size), 1, 0, false}; }
  static Number of_real(double value) { return {0, 1, value, true}; }
  bool is_integer() const { return !is_real && bottom.is(1); }
  bool is_constant() const { return is_real || (top.is_constant() && bottom.is_constant()); }
  std::optional<int64_t> integer() const { // where it is one and constant
    if (!is_integer() || !top.is_constant()) return std::nullopt;
    return top.constant();
  }
  // Of a constant, as an element of this type.
  Scalar scalar(DType dtype) const {
    if (is_integer()) return convert_scalar(DType::I64, dtype, Scalar::of(top.constant()));
    return convert_scalar(DType::F64, dtype, Scalar::of(value()));
  }
  double value() const { // of a constant
    return is_real ? real : static_cast<double>(top.constant()) / static_cast<double>(bottom.constant());
  }
};

// A small tensor whose elements are known: what shapes are computed of.
struct Contents {
  std::vector<int64_t> dims;
  std::vector<Number> items;
  bool is_constant() const {
    for (const Number& item : items)
      if (!item.is_constant()) return false;
    return true;
  }
};

inline constexpr int64_t kLargestContents = 128;

inline constexpr int64_t kSmallFile = 1 << 20;     // bytes of weights that may be made of fewer
int64_t byte_count(DType dtype, const Dims& dims); // of its elements; INT64_MAX where that is not known

// Of a result's axis whose size only a look at the result tells: Op::define puts its name.shape[i] there.
inline Size unknown_size() { return Size::too_large(); }
inline Dims unknown_dims(size_t rank) { return Dims(rank, unknown_size()); }

struct Value;
using ValuePtr = std::shared_ptr<Value>;

// Tensors of one type, a list in tl.
struct Sequence {
  DType dtype = DType::F32;
  std::optional<Dims> element; // its elements' sizes, unknown_size() where they differ; nothing: not known
  std::optional<std::vector<ValuePtr>> items; // where they are known one by one
};

struct Value : std::enable_shared_from_this<Value> {
  std::string name; // in the model
  DType dtype = DType::F32;
  Dims dims;
  std::string text; // how the program writes it; empty until it is wanted
  std::shared_ptr<const Contents> contents;
  const TensorData* data = nullptr;           // of an initializer
  std::shared_ptr<const HostTensor> constant; // its elements, or those of what was computed when importing
  bool is_constant = false; // made of the model's own tensors alone, whether it has been computed or not
  std::shared_ptr<const Sequence> sequence; // it is no tensor; `text` is a list, or empty where its items are known
  bool is_unseen = false;                   // its sizes, or what it is made of, by the checker
  bool is_none = false;                     // an optional value that is not there. One that is there is what it holds

  size_t rank() const { return dims.size(); }
};

} // namespace tl::onnx

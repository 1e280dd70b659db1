// Tensor operations of the reference interpreter: functions from values to values, one element after the other.
// Everything is in range and of fitting types (the graph has been verified, its Guards hold).
#pragma once
#include "abi/sort_op.h"
#include "abi/tensor.h"
#include "ir/graph/graph.h"
#include "vm/linalg/linalg.h"

namespace tl::ir {

using Dims = std::vector<int64_t>;

// A tensor of any rank; one of rank 0 has its element in `scalar` and no bytes.
struct Data {
  DType dtype = DType::F32;
  Scalar scalar;
  HostTensor tensor; // rank > 0
  bool is_scalar() const { return !tensor.bytes; }
  Scalar get(int64_t index) const { return is_scalar() ? scalar : tensor.get(index); }
  const Dims& dims() const { return tensor.dims; }

  static Data of(DType type, Scalar value) {
    Data d;
    d.dtype = type;
    d.scalar = value;
    return d;
  }
  static Data of(HostTensor tensor);
  static Data of(int64_t value) { return of(DType::I64, Scalar::of(value)); }
  static Data make(DType type, Dims dims); // zeroed
  void set(int64_t index, Scalar value) {
    if (is_scalar())
      scalar = value;
    else
      tensor.set(index, value);
  }
  HostTensor host() const; // rank 0 as a tensor of one element
  int64_t count() const { return is_scalar() ? 1 : tensor.count(); }
  int64_t i64() const { return scalar.as<int64_t>(); }
  bool truth() const { return scalar.as<uint8_t>() != 0; }
};

Data iota(int64_t count);
Data elementwise(ScalarOp op, DType operand_type, const std::vector<const Data*>& operands, DType result,
                 const Dims& dims);
Data convert(const Data& x, DType to);
Data broadcast(const Data& x, const std::vector<int64_t>& axes, const Dims& dims);
Data reshape(const Data& x, const Dims& dims); // shares the bytes
Data transpose(const Data& x, const std::vector<int64_t>& axes);
Data slice(const Data& x, const Dims& starts, const std::vector<int64_t>& steps, const Dims& dims);
Data pad(const Data& x, Scalar value, const Dims& before, const Dims& dims);
Data concat(const std::vector<const Data*>& parts, int64_t axis, const Dims& dims);
Data index(const Data& x, const Dims& at);
Data gather(const Data& x, const Data& idx, int64_t axis);
// In place where x's bytes are not shared.
Data update(Data x, const Data& value, const Dims& starts, const std::vector<int64_t>& steps, UpdateMode mode);
Data scatter(Data x, const Data& idx, const Data& value, UpdateMode mode);
Data reduce(ReduceOp op, const Data& x, const Data* mask, const std::vector<int64_t>& axes);
Data scan(ReduceOp op, const Data& x, int64_t axis);
Data sort(SortOp op, const Data& x, const Dims& dims);
Data contract(const Data& a, const Data& b, const ContractAttrs& labels);
// The results have these types and sizes. Gives the first matrix that has no such decomposition.
std::optional<LinalgFailure> decompose(LinalgOp op, const std::vector<const Data*>& operands,
                                       std::vector<Data>& results);

} // namespace tl::ir

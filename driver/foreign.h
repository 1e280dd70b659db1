// Values that cross the boundary to C: tensors as DLPack has them, structs and lists as handles.
#pragma once
#include "abi/interface.h"
#include "abi/outcome.h"
#include <optional>
#include <string>
#include <vector>

namespace tl::driver {

// As DLPack has them (DLTensor and DLManagedTensor of its version 0.x), so that every library that knows DLPack takes
// and gives them.
struct TensorType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct Tensor {
  void* data;
  int32_t device_type, device_id; // 1, 0: the CPU
  int32_t rank;
  TensorType type;
  int64_t* shape;
  int64_t* strides; // in elements; null: rows behind each other
  uint64_t byte_offset;
};
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

// A struct outside of the library.
struct Handle {
  std::string record;
  std::vector<Argument> leaves;
};

TensorType type_of(DType type);
// Nothing: tl has no such elements.
std::optional<DType> dtype_of(TensorType type);
std::string name_of_type(TensorType type); // for messages

// The tensor that `x` points at, for this parameter. It is read where it lies, which it must do as long as the result
// is used, if its rows are dense and its address is aligned; then the result is `mapped`; else it is copied. Throws
// UsageError: null, another element type or rank, impossible sizes, another device. Complex numbers are a tensor of
// their parts, with one axis more, of size 2.
HostTensor tensor_argument(const Tensor* x, const ParamInfo& param);

HostTensor copy_of(const HostTensor& x); // with memory of its own

// A part of a handle must not be what the caller has lent (`mapped` tensors): such parts are copied. It may be a part
// of another handle, or a constant: nobody writes to those.
void own(Argument& value, const std::vector<HostTensor>& lent);

// A tensor that belongs to the caller alone: he may write to it. It is copied where others hold its memory.
ManagedTensor* give(HostTensor tensor);
// One that shares the memory, only to be read.
ManagedTensor* lend(HostTensor tensor);

} // namespace tl::driver

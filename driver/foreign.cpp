#include "driver/foreign.h"
#include "driver/usage.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <memory>

namespace tl::driver {

constexpr uint8_t kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6;

TensorType type_of(DType type) {
  const auto bits = static_cast<uint8_t>(8 * size_of(type));
  switch (type) {
  case DType::Bool: return {kBool, 8, 1};
  case DType::I8:
  case DType::I16:
  case DType::I32:
  case DType::I64: return {kInt, bits, 1};
  case DType::BF16: return {kBfloat, bits, 1};
  case DType::F16:
  case DType::F32:
  case DType::F64: return {kFloat, bits, 1};
  case DType::C64:
  case DType::C128: return {kComplex, bits, 1};
  default: return {kUint, bits, 1};
  }
}

std::optional<DType> dtype_of(TensorType type) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const TensorType other = type_of(dtype);
    if (has_zero(dtype) && other.code == type.code && other.bits == type.bits && type.lanes == 1) return dtype;
  }
  return std::nullopt;
}

std::string name_of_type(TensorType type) {
  if (const auto dtype = dtype_of(type)) return std::string(name_of(*dtype));
  if (type.code == kComplex && type.lanes == 1) return fmt::format("complex{}", type.bits);
  return fmt::format("elements of DLPack's type {}, {} bits, {} lanes", type.code, type.bits, type.lanes);
}

// Elements of any strides, one behind the other.
static void copy_dense(const std::byte* from, const Tensor& x, int axis, size_t width, std::byte*& to) {
  if (axis == x.rank) {
    std::memcpy(to, from, width);
    to += width;
    return;
  }
  for (int64_t i = 0; i < x.shape[axis]; ++i)
    copy_dense(from + i * x.strides[axis] * static_cast<int64_t>(width), x, axis + 1, width, to);
}

static HostTensor tensor_of(const Tensor* x, const ParamInfo& param) {
  const TensorType wanted = type_of(param.dtype);
  if (!x) throw UsageError(fmt::format("{}: {} is wanted, and this is null", param.name, param.type_text));
  if (x->type.code != wanted.code || x->type.bits != wanted.bits || x->type.lanes != 1 ||
      x->rank != static_cast<int32_t>(param.rank))
    throw UsageError(fmt::format("{}: {} is wanted, and this has rank {} and elements of type {}", param.name,
                                 param.type_text, x->rank, name_of_type(x->type)));
  if (x->device_type != 1) throw UsageError(fmt::format("{}: the tensor is not in the memory of the CPU", param.name));
  if (!x->shape && x->rank > 0) throw UsageError(fmt::format("{}: the tensor has no shape", param.name));
  HostTensor result;
  result.dtype = param.dtype;
  for (int k = 0; k < x->rank; ++k) {
    if (x->shape[k] < 0) throw UsageError(fmt::format("{}: axis {} has a negative size", param.name, k));
    result.dims.push_back(x->shape[k]);
  }
  const auto width = static_cast<size_t>(size_of(param.dtype));
  int64_t count = 1;
  bool empty = false, overflow = false;
  for (int64_t size : result.dims) {
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count);
  }
  if (overflow || count > INT64_MAX / 8) throw UsageError(fmt::format("{}: the sizes are too large", param.name));
  if (empty) count = 0;
  auto* data = static_cast<std::byte*>(x->data) + x->byte_offset;
  if (!x->data && count > 0) throw UsageError(fmt::format("{}: the tensor has no data", param.name));
  bool dense = true;
  if (x->strides) {
    int64_t stride = 1;
    for (int k = x->rank - 1; k >= 0; --k) {
      if (x->shape[k] != 1 && x->strides[k] != stride) dense = false;
      stride *= x->shape[k];
    }
  }
  if (count == 0 ||
      (dense && reinterpret_cast<uintptr_t>(data) % static_cast<size_t>(size_of(part_of(param.dtype))) == 0)) {
    result.bytes = std::shared_ptr<std::byte[]>(data, [](std::byte*) {}); // the caller's, as long as the call lasts
    result.mapped = true;                                                 // it takes no memory of ours
    if (!data) result = HostTensor::make(param.dtype, result.dims);
    return result;
  }
  result = HostTensor::make(param.dtype, result.dims);
  std::byte* to = result.data();
  if (dense)
    std::memcpy(to, data, static_cast<size_t>(result.byte_count()));
  else
    copy_dense(data, *x, 0, width, to);
  return result;
}

HostTensor tensor_argument(const Tensor* x, const ParamInfo& param) {
  HostTensor result = tensor_of(x, param);
  if (is_complex(param.dtype)) {
    result.dtype = part_of(param.dtype);
    result.dims.push_back(2);
  }
  return result;
}

HostTensor copy_of(const HostTensor& x) {
  HostTensor copy = HostTensor::make(x.dtype, x.dims);
  std::memcpy(copy.data(), x.data(), static_cast<size_t>(x.byte_count()));
  return copy;
}

// A part of a handle must not be what the caller has lent. It may be a part of another handle, or a constant: nobody
// writes to those.
void own(Argument& value, const std::vector<HostTensor>& lent) {
  if (auto* list = std::get_if<std::shared_ptr<const ListArgument>>(&value)) {
    auto copy = std::make_shared<ListArgument>(**list);
    for (Argument& element : copy->values)
      own(element, lent);
    *list = std::move(copy);
  }
  auto* x = std::get_if<HostTensor>(&value);
  if (!x) return;
  for (const HostTensor& from : lent)
    if (std::less_equal<>()(from.data(), x->data()) && std::less<>()(x->data(), from.data() + from.byte_count())) {
      *x = copy_of(*x);
      return;
    }
}

namespace {
// A tensor with what holds its memory.
struct Given {
  ManagedTensor managed;
  HostTensor tensor;
};
} // namespace

ManagedTensor* lend(HostTensor tensor) {
  auto given = std::make_unique<Given>(Given{{}, std::move(tensor)});
  HostTensor& x = given->tensor;
  given->managed.tensor = {x.data(),      1,       0, static_cast<int32_t>(x.dims.size()), type_of(x.dtype),
                           x.dims.data(), nullptr, 0};
  given->managed.context = given.get();
  given->managed.deleter = [](ManagedTensor* self) { delete static_cast<Given*>(self->context); };
  return &given.release()->managed;
}

ManagedTensor* give(HostTensor tensor) {
  if (tensor.bytes.use_count() != 1) tensor = copy_of(tensor); // an argument's, a constant's, another result's
  return lend(std::move(tensor));
}

} // namespace tl::driver

#include "abi/tensor.h"
#include <cstdlib>
#include <new>

namespace tl {

HostTensor HostTensor::make(DType dtype, std::vector<int64_t> dims) {
  constexpr size_t alignment = 64;
  size_t bytes = static_cast<size_t>(size_of(dtype));
  bool empty = false;
  for (int64_t d : dims)
    empty |= d == 0;
  for (int64_t d : dims)
    if (!empty && (d < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(d), &bytes))) throw std::bad_alloc();
  if (empty) bytes = 0;
  if (bytes > static_cast<size_t>(INT64_MAX) - 2 * alignment) throw std::bad_alloc();
  // calloc, as large blocks of it come from the system as zero pages: not touched until they are used. Never empty, as
  // kernels read scalars as whole 8-byte slots.
  void* block = std::calloc(bytes + 2 * alignment, 1);
  if (!block) throw std::bad_alloc();
  std::shared_ptr<void> owner(block, [](void* p) { std::free(p); });
  auto address = (reinterpret_cast<uintptr_t>(block) + alignment - 1) / alignment * alignment;
  HostTensor result;
  result.dtype = dtype;
  result.dims = std::move(dims);
  result.bytes = std::shared_ptr<std::byte[]>(owner, reinterpret_cast<std::byte*>(address));
  return result;
}

} // namespace tl

// A tensor in host memory: what files are read into, constants are kept in, and the interpreter computes on.
#pragma once
#include "abi/device.h"
#include "abi/dtype.h"
#include <cstddef>
#include <memory>
#include <vector>

namespace tl {

// Product of the sizes; 1 for rank 0. The sizes are not negative and their product fits.
inline int64_t element_count(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t d : dims)
    n *= d;
  return n;
}

// Dense, row-major. Copies share the bytes: treat a shared one as immutable.
struct HostTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  std::shared_ptr<std::byte[]> bytes;
  int16_t device = kNoDevice; // that a program saw it on
  bool mapped = false;        // a file's pages, read as they are touched: they take no memory of ours

  static HostTensor make(DType dtype, std::vector<int64_t> dims); // zeroed
  int64_t count() const { return element_count(dims); }
  int64_t byte_count() const { return count() * size_of(dtype); }
  const std::byte* data() const { return bytes.get(); }
  std::byte* data() { return bytes.get(); }
  Scalar get(int64_t index) const {
    Scalar s;
    std::memcpy(&s.bits, data() + index * size_of(dtype), static_cast<size_t>(size_of(dtype)));
    return s;
  }
  void set(int64_t index, Scalar value) {
    std::memcpy(data() + index * size_of(dtype), &value.bits, static_cast<size_t>(size_of(dtype)));
  }
};

} // namespace tl

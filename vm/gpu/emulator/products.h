// What the stand-in of cuBLASLt computes: one product, when its turn on the stream has come.
#pragma once
#include "vm/gpu/cuda_api.h"

namespace tl::emulator {

// A matrix, column-major: rows and columns as they lie.
struct Matrix {
  int type = cuda::kReal32;
  int64_t rows = 0, columns = 0, leading = 0, batch = 1, stride = 0;
  int64_t bytes_of_element() const { return type == cuda::kReal64 ? 8 : type == cuda::kReal32 ? 4 : 2; }
  int64_t bytes() const { // from its first element to its last, of the whole batch
    return ((batch - 1) * stride + (columns - 1) * leading + rows) * bytes_of_element();
  }
};

// d = alpha * op(a) op(b) + beta * c, at addresses of the host. The sum over the inner index is that of several which
// take every other element each: not the order of tl's kernels, as it will not be on a card.
struct Product {
  int compute = cuda::kCompute32;
  bool transpose_a = false, transpose_b = false;
  Matrix a, b, d; // c is as d
  double alpha = 1, beta = 0;
  int64_t rows() const { return transpose_a ? a.columns : a.rows; }
  int64_t columns() const { return transpose_b ? b.rows : b.columns; }
  int64_t inner() const { return transpose_a ? a.rows : a.columns; }
};
void multiply(const Product& product, const void* a, const void* b, const void* c, void* d);

} // namespace tl::emulator

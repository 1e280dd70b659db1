// Matrix products of one card by cuBLASLt.
//
// A row-major C = A B is the column-major C' = B' A', so nothing is moved: a factor is a matrix of cuBLASLt as it lies,
// or transposed, where one of its strides is 1. Which algorithm computes a product is cuBLASLt's first choice for its
// sizes, strides, types and alignment, without measuring: so the same program gives the same bits in each run.
#pragma once
#include "abi/gpu_kernel.h"
#include "vm/gpu/cuda_api.h"
#include "vm/operation.h"
#include <array>
#include <map>
#include <optional>
#include <string>

namespace tl {

// Of a matrix of rows by columns at strides of elements: as cuBLASLt takes it, column-major.
struct CublasMatrix {
  bool transposed = false; // what lies there is columns by rows
  int64_t leading = 0;     // from one column of what lies there to the next
};
// Nothing: neither stride is 1, or elements share memory.
std::optional<CublasMatrix> cublas_matrix(int64_t rows, int64_t columns, int64_t row, int64_t column);

// One thread at a time, with the card's context current; destroyed when all that it has launched is done.
class GpuProducts {
public:
  GpuProducts(const cuda::Driver& driver, std::string card) : cuda_(driver), card_(std::move(card)) {}
  ~GpuProducts();
  GpuProducts(const GpuProducts&) = delete;
  GpuProducts& operator=(const GpuProducts&) = delete;

  // Puts the operation's product on the stream, without its epilogue. False: it is none that the library computes.
  // Throws RuntimeError.
  bool launch(const Operation& op, cuda::Stream stream);

private:
  // The workspace is the same for all products, so that the choice of algorithms is. It is beyond --memory-limit, in
  // the tenth of a card's memory that tensors leave.
  static constexpr size_t kWorkspace = size_t{32} << 20;
  static constexpr size_t kPlans = 4096; // that are kept

  using Key = std::array<int64_t, 16>;
  struct Plan {
    cuda::CublasDesc desc = nullptr;
    cuda::CublasLayout a = nullptr, b = nullptr, d = nullptr;
    cuda::CublasAlgorithm algorithm{};
    bool usable = false; // else the library has no algorithm for it
  };

  bool start();
  void check(cuda::CublasStatus status, const char* function) const; // throws
  void make(Plan& plan, const Key& key);
  void drop(Plan& plan);

  const cuda::Driver& cuda_;
  const std::string card_;
  const cuda::Cublas* cublas_ = nullptr; // null: not started
  cuda::CublasHandle handle_ = nullptr;
  cuda::Pointer workspace_ = 0;
  bool refused_ = false; // there is no room for the workspace, or the library does not start
  std::map<Key, Plan> plans_;
};

} // namespace tl

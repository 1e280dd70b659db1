// What a kernel for a card looks like to the engine: machine code, and how to launch it. Beside abi/kernel.h.
//
// A launch passes one struct by value, of 8-byte members: the first tile and the last, the addresses of shared and
// local workspaces, the bytes of a block's local one, the addresses of the failure records and of a word that is set
// with the first failure of a site, the threads that share a tile (GpuPhase::by_group); then by argument of the kernel
// its address, or for one of rank 0 its address or null, and its bits (backend/cuda/print.h).
#pragma once
#include "abi/kernel.h"
#include <memory>
#include <optional>

namespace tl {

constexpr int kGpuThreads = 256; // of a block

// Machine code of one or several kernels, as NVRTC gives it. A card loads it once.
struct GpuImage {
  std::vector<char> code;
};

constexpr int64_t kShortRow = 32, kLongRow = 1024;

struct GpuPhase {
  std::string function; // its name in the image
  SizeFormula tiles;
  bool by_thread = false; // each thread takes tiles of its own, else each block
  // A tile is a row of so many elements: of at most kShortRow, each thread takes one by `by_row`, if there is that.
  // Without steps: it is none.
  SizeFormula row;
  std::string by_row;
  std::string by_warp;         // in which each warp takes tiles of its own; empty: there is none
  SizeFormula first = {};      // the first tile's number
  int64_t longest_by_warp = 0; // the most elements of a row for `by_warp`
  bool by_group = false; // the elements of a row are independent: so many threads as have four of them each take it
};

// A matrix product C[l, i, j] = sum over k of A[l, i, k] * B[l, k, j], as a library may compute it (kir::Gemm). It
// writes the sums to C, or in `sum_type` to the shared workspace; then `epilogue`, if any, makes C of them.
struct GpuProduct {
  DType type = DType::F32, sum_type = DType::F32; // of A and B; of what the library writes
  bool tf32 = false;                              // f32 factors may lose digits
  uint32_t a = 0, b = 0, c = 0;                   // arguments
  SizeFormula batch, m, n, k, a_batch, a_row, a_column, b_batch, b_row, b_column, a_base, b_base;
  bool to_workspace = false;
  std::optional<GpuPhase> epilogue;
};

struct GpuKernel {
  std::string name;
  std::shared_ptr<const GpuImage> image;
  std::vector<uint8_t> rank_0; // by argument: outputs are not, whatever their rank
  std::vector<uint8_t> sizes;  // by argument: formulas read it, so the host has to know it
  std::vector<GpuPhase> phases;
  bool multiplies = false;               // it is a matrix product:
  std::optional<GpuProduct> product;     // in place of the phases, where there is a library and it can
  SizeFormula shared_bytes, local_bytes; // local: of each block
  std::vector<int32_t> sites;            // at which it may fail: a record for each, in this order
};

// A failure record as kernels write it: of the least element that failed at a site. Zeros: none did.
struct GpuRecord {
  uint32_t lock = 0, there = 0;
  int64_t element = 0, a = 0, b = 0;
};

} // namespace tl

// How a matrix product is cut up: tile sizes for the processor, workspace and tile counts as formulas. No LLVM here.
//
// Phase 0 packs B into panels of `nr` columns (chunk after chunk of kContractChunk rows, panel after panel, row after
// row), where that pays; where B is read once (few rows) a panel is packed where it is used, and for one row nothing is.
// Phase 1 computes
// tiles of C of up to block_rows x block_columns; a tile goes through the chunks of k, and for each through register
// tiles of mr x nr.
#pragma once
#include "backend/cpu/workspace.h"

namespace tl::cpu {

// B is packed if it is at least so large and so many rows of C are made from it.
constexpr int64_t kPackBytes = 256 * 1024, kPackRows = 32;
// Columns of A further apart than so many bytes are packed.
constexpr int64_t kPackStride = 2048;

struct GemmPlan {
  DType acc;             // type of accumulation
  int64_t lanes, mr, nr; // elements of a vector, rows and columns of a register tile
  int64_t block_rows;    // of a tile of C
  int64_t inner_columns; // columns of a tile that are done before the next ones, so that their part of B stays in cache
  SizeFormula block_columns; // of a tile of C: several times inner_columns
  // How A is read: where it lies, its rows contiguous (rows) or its columns (columns, packed if they are far apart); or
  // always packed.
  enum class ReadA { Rows, Columns, Packed } a;
  bool b_contiguous, b_transposed; // known strides: columns side by side, or rows side by side
  bool panel_here; // where phase 0 packs nothing, a tile packs each panel of B for itself, just before its use
  // One row of C, and B's rows or columns contiguous: no phase 0; a tile reads its columns of B as they lie.
  static constexpr int64_t kStreamedVectors = 2; // of columns, where these are contiguous
  bool streams;
  bool in_c; // sums gather in C itself: it has their type, and nothing is done to them
  SizeFormula batch, m, n, k;
  std::vector<bool> b_moves; // with the axes of the batch (a plain product has one)
  SizeFormula b_batches;     // how many different B there are
  SizeFormula pack;          // 1: phase 0 packs B; 0: B is read where it lies
  bool has_pack_phase;
  SizeFormula pack_tiles, pack_grain, tiles, grain;
  SizeFormula sums_row; // distance of the rows of sums, where they do not gather in C
  SizeFormula shared_bytes, a_bytes, panel_bytes, local_bytes; // local: packed A, a panel of B, then sums
};

GemmPlan plan_gemm(const kir::Kernel& kernel, bool avx512);

} // namespace tl::cpu

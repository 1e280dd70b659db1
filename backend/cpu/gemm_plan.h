// How a matrix product is cut up: tile sizes for the processor, workspace and tile counts as formulas. No LLVM here.
//
// A tile of C, of up to block_rows x block_columns, goes through the chunks of k, through panels of nr columns, and for
// each through register tiles of mr x nr. Where B is large, the tile packs each panel for itself, just before its use
// (row after row); of very many rows phase 0 does, once for all tiles (chunk after chunk of kContractChunk rows, panel
// after panel). Few rows or a small B are multiplied as B lies, and for one row B is streamed. Where C is small and k
// long, a tile is one chunk (split), whose sums go to workspace, and phase 2 adds them from left to right.
#pragma once
#include "backend/cpu/workspace.h"

namespace tl::cpu {

// B is packed if it is at least so large and so many rows of C are made from it; by phase 0 from so many blocks of rows
// on.
constexpr int64_t kPackBytes = 256 * 1024, kPackRows = 32, kPackBlocks = 4;
// A product is cut into about so many tiles of C, if these are of so many multiply-adds (50 us), so that all cores end
// together. Tiles that read A where it lies have so many columns at least: each reads it again.
constexpr int64_t kTiles = 16, kTileWork = 2'000'000, kLeastColumns = 48;
// Phase 2: rows of a tile. Products are split from so many elements of k on, up to so many rows and tiles of C.
constexpr int64_t kCombinedRows = 8, kSplitLength = 4 * kContractChunk, kSplitRows = 256, kSplitTiles = 8;
// Columns of A further apart than so many bytes are packed.
constexpr int64_t kPackStride = 2048;

struct GemmPlan {
  DType acc;            // type of accumulation
  DType a_type, b_type; // of A and B in memory
  // So many products are one step of the sum: packed factors are pairs of integers of 16 bits, each in an i32, if 2.
  int64_t group;
  int64_t lanes, mr, nr; // elements of a vector, rows and columns of a register tile
  int64_t block_rows;    // of a tile of C
  int64_t inner_columns; // columns of a tile that are done before the next ones, so that their part of B stays in cache
  SizeFormula block_columns; // of a tile of C (columns_of_tile)
  // So many columns more are no tile of their own: a panel of three vectors and one of one are two of two instead.
  int64_t joined_columns;
  SizeFormula column_blocks; // tiles beside each other
  // How A is read: where it lies, its rows contiguous (rows) or its columns (columns, packed if they are far apart); or
  // always packed.
  enum class ReadA { Rows, Columns, Packed } a;
  bool a_contiguous;               // known strides: columns of A side by side
  bool b_contiguous, b_transposed; // known strides: columns side by side, or rows side by side
  // Columns of B are a number over several axes: phase 0 makes tables of where each column and row of B is (and each
  // column of A, if that is a number over several axes, too), and a tile packs its panels by them.
  bool tables;
  bool dots; // dot products; a tile is so many chunks of as many as a vector has lanes
  static constexpr int64_t kDotChunks = 64, kCombinedDots = 1024; // of phase 2: dot products of a tile
  SizeFormula few_dots;                                           // 1: of one
  bool by_tables;                                                 // columns of B are at no even distance
  bool scattered;    // rows and columns of C lie anywhere: tables of where each is, and where each row of A is
  SizeFormula split; // 1: a tile is a chunk
  bool may_split;
  bool has_combine_phase;
  bool in_place; // may B be read where it lies?
  // One row of C, and B's rows or columns contiguous: no phase 0; a tile reads its columns of B as they lie.
  bool streams;
  bool may_stream; // the same in tiles, where there turns out to be one row
  bool in_c;       // sums gather in C itself: it has their type, and nothing is done to them
  SizeFormula batch, m, n, k;
  std::vector<bool> b_moves;                   // with the axes of the batch (a plain product has one)
  SizeFormula b_batches;                       // how many different B there are
  static constexpr int64_t kTableBlock = 4096; // entries of each table that one tile of phase 0 makes
  SizeFormula pack;                            // 1: phase 0 packs B
  SizeFormula pack_here;                       // 1: a tile packs each panel; both 0: B is read where it lies
  bool has_pack_phase;
  SizeFormula pack_tiles, pack_grain, tiles, grain, combine_tiles, combine_grain;
  SizeFormula sums_row;    // distance of the rows of sums, where they do not gather in C
  SizeFormula table_bytes; // at the start of shared memory; packed B or the sums of chunks follow
  SizeFormula shared_bytes, a_bytes, panel_bytes, local_bytes; // local: packed A, a panel of B, then sums
};

GemmPlan plan_gemm(const kir::Kernel& kernel, bool avx512);

} // namespace tl::cpu

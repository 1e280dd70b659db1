// Kernel IR: the loop nests that both targets share. backend/kernel makes it from Kernel nodes of the graph,
// backend/cpu prints it as LLVM IR with explicit vectors, backend/cuda as CUDA C++. Structured SSA over scalars with
// explicit offsets.
//
// One phase is the body of "for tile in [tile_begin, tile_end)"; the tile index is the phase block's only parameter.
// Loops inside say how they may run:
//   For Serial   one iteration after the other, with carried values
//   For Vector   iterations are independent (no carried values): the CPU runs W at a time with a masked tail, the GPU
//   one
//                per thread. Vector loops do not nest. Values that do not depend on its index stay scalar; a load whose
//                offset moves by 1 with the index is a vector load, by 0 a splat, else a gather
//   Reduce       an index k in [0, n) folded in the order of sums (abi/orders.h). Outside a Vector loop the CPU runs
//   its
//                32 lanes as a vector along k; inside one, each lane is a vector along the Vector loop's index
//   Contract     sum of a(k) * b(k) in the order of contractions
// Inside a Vector loop there may be Reduce, Contract and serial For whose bounds are the same for all lanes, If
// (masked), While (runs until no lane goes on; lanes that are done keep their values) and Check. A Reduce's block may
// Store: each k is visited once, and outside a Vector loop it is vectorised along k just as a Vector loop is. Memory:
// loads and stores of one iteration happen in order. Lowering hoists loads itself where that is allowed, so a target
// need not move loads across stores. An Output may overlap an Input (updates in place): no `noalias` between them.
//
// Bool is i1 as a value and one byte in memory. A key is u64 as a value. f16 and bf16 are loaded and stored in 2 bytes
// and are f32 as values: lowering rounds after every operation with Round16 (attribute dtype).
//
// Text: to_text prints it (`tl dump --stage kernel`). All but its first line (the name) is the key by which equal
// kernels are shared and cached.
#pragma once
#include "abi/kernel.h"
#include "abi/orders.h"
#include "ir/graph/graph.h"

namespace tl::kir {

struct ValueId {
  uint32_t index = UINT32_MAX;
  bool valid() const { return index != UINT32_MAX; }
  auto operator<=>(const ValueId&) const = default;
};

enum class ParamKind : uint8_t {
  Input,  // tensor in memory, or a rank-0 value in an 8-byte slot: read by Load (offset 0 for scalars)
  Size,   // host i64 in an 8-byte slot: its value is Instr Arg
  Output, // tensor written by Store; may share memory with an input where the graph said so
  Shared, // workspace shared by tiles and phases; not a kernel argument
  Local,  // workspace of one worker; not a kernel argument
};

struct Param {
  ParamKind kind;
  DType dtype;            // memory type
  std::string name;       // for dumps
  SizeFormula count;      // Shared, Local: how many elements
  bool rank_0 = false;    // Input: one element, in memory or in a slot
  bool of_block = false;  // Local: few bytes, whose number is a constant: on GPUs in the shared memory of a block
  bool exclusive = false; // Output: no other parameter shares its memory (so that its stores and other loads may move)
  // Input and Output: the address of kernel argument number = position among non-workspace params.
};

enum class KOp : uint8_t {
  // leaves
  Const, // {imm, type}
  Arg,   // {param} value of a Size parameter, i64
  Load,  // {param} (offset i64) -> param's dtype (f16, bf16 as f32)
  Store, // {param} (offset, value)
  // arithmetic on one type (ints wrap). Total for every input.
  Add,
  Sub,
  Mul,
  Neg, // ints and floats
  Div, // floats
  FloorDivInt,
  ModInt, // floor semantics; by zero: 0; INT_MIN // -1 wraps
  UDiv,
  URem, // i64 known to be non-negative, divisor positive (index arithmetic)
  Fma,
  Sqrt,
  Abs,
  Floor,
  Ceil,
  RoundEven,
  Trunc,
  CopySign, // floats
  And,
  Or,
  Xor,
  Not,
  Shl,
  LShr,
  AShr,     // ints and bool; shift counts are in range
  MulHiU32, // i32/u32 operands: high 32 bits of the unsigned product
  Eq,
  Ne,
  Lt,
  Le,      // -> bool; ints by the type's signedness, floats ordered (Ne: unordered); Gt, Ge by swapping
  Select,  // (c, a, b)
  Convert, // between types as the language defines (saturating float -> int, wrapping int -> int, bool = != 0)
  Bitcast, // same width: f32 <-> i32/u32, f64 <-> i64/u64
  Round16, // f32 -> f32, rounded to {dtype} F16 or BF16
  // control
  For,    // {vector} (lo, hi, step, init…) block(i, carried…) yields carried… ; Vector: step 1, no carried
  While,  // (init…) blocks: cond(carried…) yields bool; body(carried…) yields carried…
  If,     // (c) two blocks; yields are the results. In a Vector loop both run under masks: loads of masked-off lanes do
          // not happen
  Reduce, // {reduce, dtype: accumulator} (n) block(k) yields value, or value and mask (bool). ArgMin, ArgMax: results
  // are (best value, i64 index); otherwise one result of the accumulator's type. Empty: sum +0.0, others identity
  ReduceChunk, // like Reduce, but one chunk: (begin, end) with end - begin <= kSumChunk, block(k) for k in it; result:
               // the chunk's value, widened to the total type (for sums that several tiles share; a later phase folds
               // those)
  Contract,    // {dtype: accumulator} (n) block(k) yields a, b
  CopyTransposed, // {param, source} (offset, stride, rows, columns, pitch): param[c * pitch + r] =
                  // source[offset + r * stride + c] for r < rows, c < columns, as they are in memory. What is between
                  // the rows or up to kTransposeSlack elements after the last one may be overwritten. CPU only
  Scatter, // {param, stage, source} (n, lo, hi, width, part) block(j) yields a row, i64; block(j, c) yields a value;
           // where they add up: block(old, value) yields what is stored. Stage Write: for each j < n in ascending order
           // whose row is in [lo, hi), param[row * width + c] becomes the value for all c < width. The stages before
           // make lists of the j of each bucket of kScatterParts * part rows, in order, if n > kScatterFew: the
           // workspaces `source` (the lists, i64[n]), source + 1 (by bucket and chunk of kSumChunk j how many, then how
           // many before) and source + 2 (by bucket how many). Count and Move: of chunk lo, of hi; Add: of bucket lo,
           // of hi chunks. GPUs only
  Check,   // {site} (ok: bool, element i64, a i64, b i64): records a failure where ok is false
};

constexpr int64_t kTransposeSlack = 16;

enum class ScatterStage : uint8_t { Count, Add, Move, Write };
constexpr int64_t kScatterBuckets = 256, kScatterParts = 4, kScatterFew = 8192;

struct Instr;
struct Block {
  std::vector<ValueId> params;
  std::vector<Instr> instrs;
  std::vector<ValueId> yields;
};

struct Instr {
  KOp op;
  DType dtype{}; // type of the result (for Load the value's type; for Reduce the accumulator; for Convert the target)
  bool vector = false; // For
  ReduceOp reduce{};
  ScatterStage stage{};
  uint32_t param = 0;
  uint32_t source = 0; // a parameter
  int32_t site = -1;
  int64_t at_most = 0; // Reduce: its extent is known to be no more, where that is few; 0: nothing is known
  Scalar imm;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<Block> blocks;
  LocId loc; // for debuggers only: no part of the text; what several places share says one of them
};

struct Phase {
  Block body; // params: (tile)
  SizeFormula tiles, grain;
  SizeFormula row; // for GPUs: elements of the row that a tile is; without steps: it is none
  // For GPUs: vector loops run over so few columns that the threads of a block share what is folded of each.
  bool shares_columns = false;
};

// A matrix product C[b, i, j] = epilogue(sum over k of A[b, i, k] * B[b, k, j]) in the order of contractions. Element
// (b, i, k) of A is at b*batch + i*row + k*col of its parameter; strides are i64 values of the header block. Batches
// and the summed k may be numbers over several axes, each with strides of its own.
struct Gemm {
  uint32_t a = 0, b = 0, c = 0; // parameters
  // Of the factors as they are multiplied, and of the sums (f16, bf16: f32 sums). C has its parameter's type, and so
  // have A and B, which is this one or a narrower one that it holds exactly.
  DType type = DType::F32;
  // Batches, sums and columns are one axis each, and C is dense: (batch*m + i)*n + j.
  bool is_plain = true;
  uint32_t batch_axes = 0, sum_axes = 0; // of others
  uint32_t column_axes = 0;              // of others, if the columns of B are a number over several axes, else 0
  // Of others, if rows and columns of C lie anywhere (the result's labels in any order), else 0; then at least 1, and
  // there are column_axes, too.
  uint32_t row_axes = 0;
  // With row_axes: C lies closer along a batch than along rows or columns, so that tiles that differ in their batch
  // only write to the same lines of the cache.
  bool close_batches = false;
  // No factor has an axis of its own: the elements of C, side by side, are the columns, and A moves with them, too.
  bool dots = false;
  bool b_columns_evenly = true; // B moves with the number of a column by b_col
  bool a_sums_evenly = true;    // A moves with the number of a product by a_col, whatever the summed axes are
  // No parameters; yields, i64: batch, m, n, k, a_batch, a_row, a_col, b_batch, b_row, b_col, a_base, b_base (offset of
  // element (0, 0, 0)). Not plain: then c_row; of each batch axis, the slowest first: count and strides of A, B and C
  // (its columns are side by side); of each summed axis: count and strides of A and B; of each axis of columns: count
  // and stride of B, of dots count and strides of A and B. With row_axes: of these also the stride of C; then of each
  // axis of rows count and strides of A and C. A stride of 0: that does not move.
  Block header;
  Block epilogue; // params: (batch, i, j, accumulated value); yields the value to store at C[batch, i, j]; may Load
                  // other inputs
};

struct Kernel {
  std::string name; // "softmax_3": from the function and line it came from
  LocId loc;
  std::vector<Param> params;
  std::vector<DType> types; // by ValueId
  bool is_gemm = false;
  Gemm gemm;                 // is_gemm
  std::vector<Phase> phases; // otherwise
};

std::string to_text(const Kernel& kernel);
// Structure: operands defined before use, types as the ops say, Vector loops not nested. Empty if fine, else what is
// wrong.
std::string verify(const Kernel& kernel);

} // namespace tl::kir

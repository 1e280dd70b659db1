// The LLVM code of one matrix product. emit_gemm.cpp: register tiles and how they cover C; emit_gemm_pack.cpp and
// emit_gemm_tables.cpp: packing; emit_gemm_stream.cpp: one row of C; emit_gemm_dots.cpp: no rows and columns.
#pragma once
#include "backend/cpu/emit.h"
#include "backend/cpu/gemm_plan.h"
#include <map>

namespace tl::cpu {
using llvm::Value;
namespace in = llvm::Intrinsic;

class GemmEmitter {
public:
  GemmEmitter(Emitter& emitter)
      : e(emitter), b(emitter.b), gemm(emitter.kernel_.gemm), plan(plan_gemm(emitter.kernel_, emitter.machine_.avx512)),
        a_memory(emitter.memory_type(plan.a_type)), b_memory(emitter.memory_type(plan.b_type)) {}

  void emit(const std::string& symbol);

private:
  Value* number(int64_t value) { return b.getInt64(static_cast<uint64_t>(value)); }
  Value* minimum(Value* x, Value* y) { return b.CreateBinaryIntrinsic(in::smin, x, y); }
  Value* maximum(Value* x, Value* y) { return b.CreateBinaryIntrinsic(in::smax, x, y); }
  Value* multiply(Value* x, Value* y) { return b.CreateMul(x, y); }
  Value* at(Value* base, Value* offset) { return b.CreateInBoundsGEP(element, base, offset); }
  Value* ceiling(Value* x, int64_t divisor) {
    return b.CreateUDiv(b.CreateAdd(x, number(divisor - 1)), number(divisor));
  }
  void lanes(int64_t width, Value* mask = nullptr) { e.lanes_ = {static_cast<unsigned>(width), mask}; }
  void repeat(Value* lo, Value* hi, int64_t step, const std::function<void(Value*)>& body) {
    e.loop(lo, hi, step, {}, [&](Value* i, const Values&) {
      body(i);
      return Values{};
    });
  }

  void only_if(Value* condition, const std::function<void()>& body) {
    e.branch(condition,
             [&] {
               body();
               return Values{};
             },
             {});
  }

  // The header's values, in a function's first block.
  void begin(const std::string& symbol);

  // An axis of a batch or of a sum: how many, and the strides of A, B and C (that of a sum has none).
  struct Axis {
    Value* count;
    Values strides;
  };
  enum Tensor : uint8_t { A, B, C };

  // The position on each axis of a number over all of them.
  Values positions(const std::vector<Axis>& axes, Value* number);
  Value* offset(const std::vector<Axis>& axes, const Values& positions, Tensor tensor);
  // How far row `kk` of a chunk is from where the chunk's offset points to.
  Value* sum_offset(Value* kk, Tensor tensor, Value* stride);
  bool is_even(Tensor tensor) const { return sum_axes.empty() || (tensor == A && gemm.a_sums_evenly); }
  Value* chunk_offset(Tensor tensor, Value* stride) {
    return is_even(tensor) ? multiply(chunk_start, stride) : number(0);
  }

  // The batch axes with which B moves, and the number of its matrix among those that differ.
  std::vector<Axis> axes_of_b() const;
  Value* which_b(const Values& position);

  // Where panel `panel` of chunk `chunk` starts among the packed elements.
  Value* panel_offset(Value* which_batch, Value* k0, Value* length, Value* panel) {
    Value* row = b.CreateAdd(multiply(which_batch, k), k0);
    return multiply(b.CreateAdd(multiply(row, panels), multiply(panel, length)), number(plan.nr));
  }

  // --- factors as they are multiplied

  // What was read from memory, a scalar or a vector.
  Value* factor(DType memory, Value* raw);
  // Of pairs: that of an element and of the one after it along the sum.
  Value* pair(DType memory, Value* first, Value* second);
  // What is packed for the elements from kk on, before `end`: one, or a pair.
  Value* packed_factor(DType memory, Value* kk, Value* end, const std::function<Value*(Value* kk)>& raw);
  // A block of `count` rows, transposed, of elements that lie side by side from `places` on.
  Values transposed_block(DType memory, const Values& places);
  // Can blocks be transposed in registers?
  bool transposes(DType memory) const { return size_of(memory) >= 4 || plan.group == 2; }
  // So many elements along the sum are a block of so many columns that are transposed.
  int64_t along_sum(int64_t columns) const { return columns * plan.group; }
  // The number of a packed row for an element of the sum.
  Value* packed_row(Value* kk) { return plan.group == 1 ? kk : b.CreateUDiv(kk, number(plan.group)); }

  // --- phase 0

  void emit_pack(const std::string& symbol);

  // A panel of `columns` columns and `length` rows.
  void pack_panel(Value* source, Value* target, Value* length, Value* columns);

  // Rows [from, to) of so many vectors of the panel; `columns` null: all of it is there.
  Values pack_rows(Value* source, Value* target, Value* from, Value* to, Value* columns, int64_t vectors);

  // `lanes` rows from row kk on, which begin at `source`, of a vector of the panel, where each column of B is
  // contiguous: vectors along k are loaded and transposed in registers. What is beyond the `columns` is as the last.
  void pack_transposed(Value* source, Value* target, Value* kk, Value* columns);

  // Rows [0, length) of a panel, with tables: as many as a vector has lanes that lie side by side are transposed.
  void pack_blocks(Value* length, const std::function<void(Value* kk)>& transposed,
                   const std::function<void(Value* from, Value* to)>& rows_between);
  // Are `count` entries of a table of a sum side by side, from kk of the chunk on?
  Value* is_run(Value* table, Value* kk, int64_t count);

  // --- tables of offsets (emit_gemm_tables.cpp)

  void emit_tables(const std::string& symbol);
  // The entries [from, to) of a table: where number i over the axes is; those from `count` on are as the last.
  void fill_table(Value* table, std::vector<Axis> axes, Tensor tensor, Value* count, Value* from, Value* to);
  Value* from_table(Value* table, Value* i) {
    return b.CreateAlignedLoad(b.getInt64Ty(), b.CreateInBoundsGEP(b.getInt64Ty(), table, i), llvm::Align(8));
  }
  // Where a vector of C's columns goes, as their table tells: the offset of each lane, and the runs of lanes whose
  // elements lie side by side: where a run's lane 0 would be, its lanes, and whether there are more after it.
  struct Places {
    static constexpr int kRuns = 4;
    Value *j, *mask, *offsets; // mask: null where there are all lanes
    Values start, lanes, are_more;
  };
  Places places_of(Value* j, Value* mask);
  void store_at(const Places& places, Value* result, Value* row); // row: where column 0 is
  // How far apart columns along the last axis are, where that is known and little; else 1.
  int64_t step_of_columns() const {
    constexpr int64_t near = 4;
    auto* apart = llvm::dyn_cast<llvm::ConstantInt>(column_axes.back().strides[B]);
    return apart && apart->getSExtValue() >= 2 && apart->getSExtValue() <= near ? apart->getSExtValue() : 1;
  }
  // A panel of the `columns` columns from `column` on, for the chunk at chunk_start.
  void pack_by_tables(Value* matrix, Value* column, Value* target, Value* length, Value* columns);

  // --- register tiles

  // void tile(a, a_step, b, b_row, c, c_row, length, columns, before): `rows` x `vectors` elements of one chunk. With
  // `edge` only the first `columns` columns are touched. before: all ones if the chunk's sums are added to what c
  // holds, 0 if they replace it.
  llvm::Function* register_tile(const std::string& symbol, int64_t rows, int64_t vectors, bool edge);

  // --- phase 1

  void emit_tiles(const std::string& symbol, const std::string& phase_symbol);

  // --- one row of C: B is read once, as it lies, and nothing is packed

  void emit_stream(const std::string& symbol);

  Value* factor_of(Value* a, Value* kk) {
    Value* place = is_even(A) ? multiply(kk, a_col) : from_table(a_table, kk);
    return e.splat(b.CreateAlignedLoad(element, at(a, place), align));
  }
  // sum + x * y, or of pairs sum + x0 * y0 + x1 * y1.
  Value* add_product(Value* x, Value* y, Value* sum);
  // Sums of chunks, from left to right; what is before the first is -0.0, exact to add.
  Value* add_chunk(Value* before, Value* sum) {
    return is_float(plan.acc) ? b.CreateFAdd(before, sum) : b.CreateAdd(before, sum);
  }
  Value* nothing_before() {
    return is_float(plan.acc) ? llvm::ConstantFP::getNegativeZero(vector) : llvm::Constant::getNullValue(vector);
  }

  // B's columns lie one after the other: vectors of them run along k, side by side, so that memory is read in a few
  // long streams. scratch: of local memory, for few columns.
  void stream_columns(Value* a, Value* source, Value* c, Value* scratch);
  // The sums of two chunks of each lane, which are read from `places` on, blocks transposed in registers. Each is in
  // parts of 16 bytes, so that registers hold them, and there are two, as a chain waits for itself.
  using FactorAt = std::function<Value*(size_t chain, Value* kk)>;
  Values two_chains(const std::vector<Values>& places, const FactorAt& factor);
  // Few columns leave lanes over: each 16 bytes of a vector are then chunks of one column. So many are two vectors.
  int64_t chunks_at_once() const { return 2 * 16 / size_of(plan.acc); }
  // How many elements of the sum go that way, which are whole chunks.
  Value* chunks_by_lanes(Value* columns);
  // The sum of these, up to `end`, for the columns from `column` on, up to number `last`.
  Value* long_columns(Value* a, Value* column, Value* last, Value* end, Value* scratch);

  // B's rows lie one after the other: several of them at a time are added to the sums of the tile's columns, which stay
  // in the nearest cache.
  void stream_rows(Value* a, Value* source, Value* c, Value* chunk_sums);

  // Does a number of rows known at compile time never leave `height` rows over?
  bool needless(const SizeFormula& extent, int64_t height) const;
  // All register tiles of the tile's rows and the `width` columns from j on, and with is_last, a chunk's, what the
  // epilogue makes of each row of them.
  void multiply_panels(const std::string& symbol, Value* j, Value* width, Value* a_start, Value* b_base, Value* length,
                       Value* add, Value* is_last);
  // All register tiles of the rows [i, i + height) and `width` columns of the tile from j on.
  void row_of_tiles(const std::string& symbol, int64_t height, Value* i, Value* j, Value* width, Value* a_start,
                    Value* b_base, Value* length, Value* add);

  // By how many columns the last panel of the tile begins earlier than a multiple of nr: one vector, or none.
  Value* joins(Value* packed_here, Value* columns);

  // Columns of the last panel, if known at compile time (0: there is none that is not whole).
  std::optional<int64_t> known_columns() const;

  // The tile's rows of A for one chunk: panels of mr rows, in each the rows side by side.
  Values pack_a(Value* a_start, Value* length);

  // C = epilogue(sum_at(i, j)), row by row along j, for a part of the tile; sum_at gives the vector from column j of
  // the tile's row i on.
  struct Part {
    Value *row, *row_end, *column, *column_end;
  };
  Part whole_tile() { return {number(0), rows, number(0), columns}; }
  using SumAt = std::function<Value*(Value* i, Value* j)>;
  void epilogue(const Part& part, const SumAt& sum_at);
  // Where the sums of row i are: those of the only chunk are done with after a row of register tiles.
  Value* sums_of(Value* i) {
    return at(sums, multiply(b.CreateSelect(one_chunk, b.CreateURem(i, number(plan.mr)), i), sums_row));
  }
  Value* sum_of_tile(Value* i, Value* j) { return b.CreateAlignedLoad(vector, at(sums_of(i), j), align); }

  // --- dot products (emit_gemm_dots.cpp)

  void emit_dots(const std::string& symbol);
  void combine_dots(const std::string& symbol);
  void dot_by_chunks(Value* which, Value* from, Value* to);
  void dots_side_by_side(Value* first, Value* from, Value* to);
  Value* add_transposed(const Values& x, const Values& y, Value* from_x, Value* from_y, Value* sum);
  Value* dot_place(Value* table, Value* start, Value* which);
  Value* chunk_sum_at(Value* chunk, Value* which);

  // --- phase 2

  void emit_combine(const std::string& symbol);
  Value* part_row() { return multiply(panels, number(plan.nr)); } // elements of a row of a chunk's sums

  Emitter& e;
  llvm::IRBuilder<>& b;
  const kir::Gemm& gemm;
  GemmPlan plan;
  llvm::Type *a_memory, *b_memory; // elements of A and B
  llvm::Type* element = nullptr;   // of sums and of packed factors
  llvm::FixedVectorType* vector = nullptr;
  llvm::Align align;
  std::map<std::tuple<int64_t, int64_t, bool>, llvm::Function*> tiles;

  // of the function being emitted
  Value *batch, *m, *n, *k, *a_batch, *a_row, *a_col, *b_batch, *b_row, *b_col;
  Value *a_start_of_all, *b_start_of_all, *c_row;
  // sum_axes: none where the strides a_col and b_row tell all
  std::vector<Axis> batch_axes, sum_axes, column_axes, row_axes;
  Value *column_table, *b_table, *a_table;         // with plan.tables
  Value* a_column_table;                           // with plan.dots
  Value *c_column_table, *c_row_table, *row_table; // with plan.scattered; row_table: of A
  Value *panels, *chunks, *one_chunk, *packed, *local, *sums, *sums_row;
  Value* split = nullptr;   // whether a tile is a chunk
  Value *a_packed, *a_step; // whether A is packed, and the distance that register tiles are told
  // of the tile being emitted
  Value *i0, *j0, *rows, *columns, *which_batch, *c_start, *b_step, *panel_step, *chunk_start;
  Value* part = nullptr; // where the chunk's sums go, if it is split
};

} // namespace tl::cpu

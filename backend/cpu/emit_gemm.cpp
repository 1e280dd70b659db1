// Matrix products: packing, register tiles, and the epilogue as a vector loop along j.
//
// The order of contractions fixes every bit: for each chunk of kContractChunk products one chain of fused
// multiply-adds from zero, the chunks added left to right. A register tile runs one chunk; what lies around it only
// chooses which elements of C come when. Padding is never stored.
#include "backend/cpu/emit.h"
#include "backend/cpu/gemm_plan.h"
#include <fmt/format.h>
#include <map>

namespace tl::cpu {
using llvm::Value;
namespace in = llvm::Intrinsic;

class GemmEmitter {
public:
  GemmEmitter(Emitter& emitter)
      : e(emitter), b(emitter.b), gemm(emitter.kernel_.gemm),
        plan(plan_gemm(emitter.kernel_, emitter.machine_.avx512)) {}

  void emit(const std::string& symbol) {
    element = e.value_type(plan.acc);
    vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(plan.lanes));
    align = llvm::Align(static_cast<uint64_t>(size_of(plan.acc)));
    int phase = 0;
    if (plan.has_pack_phase) emit_pack(fmt::format("{}_{}", symbol, phase++));
    emit_tiles(symbol, fmt::format("{}_{}", symbol, phase));
  }

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

  // The header's values, in a function's first block.
  void begin(const std::string& symbol) {
    e.begin_function(symbol);
    e.block(gemm.header);
    Value *a_base = nullptr, *b_base = nullptr;
    Value** place[] = {&batch, &m, &n, &k, &a_batch, &a_row, &a_col, &b_batch, &b_row, &b_col, &a_base, &b_base};
    for (size_t i = 0; i < 12; ++i)
      *place[i] = e.scalar(gemm.header.yields[i]);
    a_start_of_all = b.CreateInBoundsGEP(e.memory_type(gemm.type), e.pointer(gemm.a), a_base, "a");
    b_start_of_all = b.CreateInBoundsGEP(e.memory_type(gemm.type), e.pointer(gemm.b), b_base, "b");
    auto read_axis = [&](size_t from, size_t strides) {
      Axis axis{e.scalar(gemm.header.yields[from]), {}};
      for (size_t i = 1; i <= strides; ++i)
        axis.strides.push_back(e.scalar(gemm.header.yields[from + i]));
      return axis;
    };
    batch_axes.clear();
    sum_axes.clear();
    if (gemm.is_plain) {
      c_row = n;
      batch_axes.push_back({batch, {a_batch, b_batch, multiply(m, n)}});
    } else {
      c_row = e.scalar(gemm.header.yields[12]);
      for (size_t i = 0; i < gemm.batch_axes; ++i)
        batch_axes.push_back(read_axis(13 + 4 * i, 3));
      for (size_t i = 0; i < gemm.sum_axes && gemm.sum_axes > 1; ++i)
        sum_axes.push_back(read_axis(13 + 4 * gemm.batch_axes + 3 * i, 2));
    }
    panels = ceiling(n, plan.nr);
    chunks = ceiling(k, kContractChunk);
    Value* workspace = e.function_->getArg(3);
    packed = b.CreateLoad(b.getPtrTy(), workspace, "packed_b");
    local = b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), workspace, 1), "local");
  }

  // An axis of a batch or of a sum: how many, and the strides of A, B and C (that of a sum has none).
  struct Axis {
    Value* count;
    Values strides;
  };
  enum Tensor : uint8_t { A, B, C };

  // The position on each axis of a number over all of them.
  Values positions(const std::vector<Axis>& axes, Value* number) {
    Values result(axes.size());
    for (size_t i = axes.size(); i-- > 0;) {
      result[i] = i == 0 ? number : b.CreateURem(number, axes[i].count);
      if (i > 0) number = b.CreateUDiv(number, axes[i].count);
    }
    return result;
  }
  Value* offset(const std::vector<Axis>& axes, const Values& positions, Tensor tensor) {
    Value* sum = number(0);
    for (size_t i = 0; i < axes.size(); ++i)
      sum = b.CreateAdd(sum, multiply(positions[i], axes[i].strides[tensor]));
    return sum;
  }
  // How far row `kk` of a chunk is from where the chunk's offset points to.
  Value* sum_offset(Value* kk, Tensor tensor, Value* stride) {
    if (sum_axes.empty()) return multiply(kk, stride);
    return offset(sum_axes, positions(sum_axes, b.CreateAdd(chunk_start, kk)), tensor);
  }
  Value* chunk_offset(Value* stride) { return sum_axes.empty() ? multiply(chunk_start, stride) : number(0); }

  // The batch axes with which B moves, and the number of its matrix among those that differ.
  std::vector<Axis> axes_of_b() const {
    std::vector<Axis> result;
    for (size_t i = 0; i < batch_axes.size(); ++i)
      if (plan.b_moves[i]) result.push_back(batch_axes[i]);
    return result;
  }
  Value* which_b(const Values& position) {
    Value* which = number(0);
    for (size_t i = 0; i < batch_axes.size(); ++i)
      if (plan.b_moves[i]) which = b.CreateAdd(multiply(which, batch_axes[i].count), position[i]);
    return which;
  }

  // Where panel `panel` of chunk `chunk` starts among the packed elements.
  Value* panel_offset(Value* which_batch, Value* k0, Value* length, Value* panel) {
    Value* row = b.CreateAdd(multiply(which_batch, k), k0);
    return multiply(b.CreateAdd(multiply(row, panels), multiply(panel, length)), number(plan.nr));
  }

  // --- phase 0

  void emit_pack(const std::string& symbol) {
    begin(symbol);
    repeat(e.function_->getArg(1), e.function_->getArg(2), 1, [&](Value* tile) {
      Value* panel = b.CreateURem(tile, panels);
      Value* rest = b.CreateUDiv(tile, panels);
      Value *chunk = b.CreateURem(rest, chunks), *which = b.CreateUDiv(rest, chunks);
      chunk_start = multiply(chunk, number(kContractChunk));
      Value* length = minimum(number(kContractChunk), b.CreateSub(k, chunk_start));
      Value* column = multiply(panel, number(plan.nr));
      Value* columns = minimum(number(plan.nr), b.CreateSub(n, column));
      const std::vector<Axis> axes = axes_of_b();
      Value* source = b.CreateAdd(offset(axes, positions(axes, which), B),
                                  b.CreateAdd(chunk_offset(b_row), multiply(column, b_col)));
      Value* target = at(packed, panel_offset(which, chunk_start, length, panel));
      pack_panel(source, target, length, columns);
    });
    e.end_function();
  }

  // A panel of `columns` columns and `length` rows.
  void pack_panel(Value* source, Value* target, Value* length, Value* columns) {
    int64_t vectors = plan.nr / plan.lanes;
    if (plan.b_contiguous) {
      Value* full = b.CreateICmpEQ(columns, number(plan.nr));
      e.branch(full, [&] { return pack_rows(source, target, number(0), length, nullptr, 0, vectors); }, {});
      e.branch(b.CreateNot(full), [&] { return pack_rows(source, target, number(0), length, columns, 0, vectors); },
               {});
    } else if (plan.b_transposed && size_of(gemm.type) >= 4) {
      for (int64_t v = 0; v < vectors; ++v) {
        Value* full = b.CreateICmpSGE(columns, number((v + 1) * plan.lanes));
        Value* blocks = b.CreateSelect(full, b.CreateAnd(length, number(-plan.lanes)), number(0));
        repeat(number(0), blocks, plan.lanes, [&](Value* kk) { pack_transposed(source, target, kk, v); });
        pack_rows(source, target, blocks, length, columns, v, v + 1);
      }
    } else {
      pack_rows(source, target, number(0), length, columns, 0, vectors);
    }
  }

  // Rows [from, to) of the panel's vectors [first, last); `columns` null: all of it is there.
  Values pack_rows(Value* source, Value* target, Value* from, Value* to, Value* columns, int64_t first, int64_t last) {
    llvm::Type* memory = e.memory_type(gemm.type);
    llvm::Align memory_align(static_cast<uint64_t>(size_of(gemm.type)));
    auto* raw_type = llvm::FixedVectorType::get(memory, static_cast<unsigned>(plan.lanes));
    repeat(from, to, 1, [&](Value* row) {
      Value* from_row = sum_offset(row, B, b_row);
      for (int64_t v = first; v < last; ++v) {
        lanes(plan.lanes);
        if (columns) e.lanes_.mask = e.tail_mask(maximum(b.CreateSub(columns, number(v * plan.lanes)), number(0)));
        Value* start = b.CreateAdd(source, b.CreateAdd(from_row, multiply(number(v * plan.lanes), b_col)));
        Value* base = b.CreateGEP(memory, b_start_of_all, start);
        Value* mask = e.lanes_.mask ? e.lanes_.mask : e.splat(b.getTrue());
        Value *zero = llvm::Constant::getNullValue(raw_type), *raw = nullptr;
        if (plan.b_contiguous && !columns)
          raw = b.CreateAlignedLoad(raw_type, base, memory_align);
        else if (plan.b_contiguous)
          raw = b.CreateMaskedLoad(raw_type, base, memory_align, mask, zero);
        else
          raw = b.CreateMaskedGather(raw_type, b.CreateGEP(memory, base, e.in_lanes(Val::line(number(0), b_col))),
                                     memory_align, mask, zero);
        Value* place = b.CreateAdd(multiply(row, number(plan.nr)), number(v * plan.lanes));
        b.CreateAlignedStore(e.from_memory(gemm.type, raw), at(target, place), align);
        lanes(0);
      }
    });
    return {};
  }

  // `lanes` rows from row kk on, of vector v of the panel, where each column of B is contiguous: vectors along k are
  // loaded and transposed in registers, log2(lanes) times interleaving vector i with vector i + lanes / 2.
  void pack_transposed(Value* source, Value* target, Value* kk, int64_t v) {
    auto count = static_cast<size_t>(plan.lanes);
    std::vector<int> low, high;
    for (int i = 0; i < plan.lanes / 2; ++i) {
      low.insert(low.end(), {i, i + static_cast<int>(plan.lanes)});
      int j = i + static_cast<int>(plan.lanes) / 2;
      high.insert(high.end(), {j, j + static_cast<int>(plan.lanes)});
    }
    Values x;
    for (int64_t c = 0; c < plan.lanes; ++c) {
      Value* offset = b.CreateAdd(b.CreateAdd(source, kk), multiply(number(v * plan.lanes + c), b_col));
      x.push_back(b.CreateAlignedLoad(vector, at(b_start_of_all, offset), align));
    }
    for (size_t stage = 1; stage < count; stage *= 2) {
      Values y;
      for (size_t i = 0; i < count / 2; ++i) {
        y.push_back(b.CreateShuffleVector(x[i], x[i + count / 2], low));
        y.push_back(b.CreateShuffleVector(x[i], x[i + count / 2], high));
      }
      x = std::move(y);
    }
    for (int64_t r = 0; r < plan.lanes; ++r) {
      Value* place = b.CreateAdd(multiply(b.CreateAdd(kk, number(r)), number(plan.nr)), number(v * plan.lanes));
      b.CreateAlignedStore(x[static_cast<size_t>(r)], at(target, place), align);
    }
  }

  // --- register tiles

  // void tile(a, a_step, b, b_row, c, c_row, length, columns, before): `rows` x `vectors` elements of one chunk. With
  // `edge` only the first `columns` columns are touched. before: all ones if the chunk's sums are added to what c
  // holds, 0 if they replace it.
  llvm::Function* register_tile(const std::string& symbol, int64_t rows, int64_t vectors, bool edge) {
    llvm::Function*& function = tiles[{rows, vectors, edge}];
    if (function) return function;
    llvm::Type *pointer = b.getPtrTy(), *i64 = b.getInt64Ty();
    auto* type = llvm::FunctionType::get(b.getVoidTy(),
                                         {pointer, i64, pointer, i64, pointer, i64, i64, i64, b.getInt1Ty()}, false);
    function = llvm::Function::Create(type, llvm::Function::InternalLinkage,
                                      fmt::format("{}_tile{}x{}{}", symbol, rows, vectors, edge ? "e" : ""), e.module_);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr(llvm::Attribute::NoInline);

    llvm::IRBuilderBase::InsertPointGuard guard(b);
    llvm::Function* outer = std::exchange(e.function_, function);
    Lanes outer_lanes = std::exchange(e.lanes_, {static_cast<unsigned>(plan.lanes), nullptr});
    e.begin_lines(function);
    b.SetInsertPoint(e.new_block("entry"));
    Value *a = function->getArg(0), *a_step = function->getArg(1), *b_step = function->getArg(3),
          *c = function->getArg(4), *c_row = function->getArg(5), *length = function->getArg(6),
          *columns_here = function->getArg(7), *before = function->getArg(8);
    Values masks; // by vector
    for (int64_t v = 0; edge && v < vectors; ++v)
      masks.push_back(e.tail_mask(maximum(b.CreateSub(columns_here, number(v * plan.lanes)), number(0))));
    // The narrow tiles know that only their last vector is not whole.
    for (int64_t v = 0; edge && rows == plan.mr && v + 1 < vectors; ++v)
      masks[static_cast<size_t>(v)] = nullptr;
    if (!edge) masks.assign(static_cast<size_t>(vectors), nullptr);
    Value* zero = llvm::Constant::getNullValue(vector);
    auto load = [&](Value* place, Value* mask) -> Value* {
      if (mask) return b.CreateMaskedLoad(vector, place, align, mask, zero);
      return b.CreateAlignedLoad(vector, place, align);
    };
    // Rows of A: one pointer each where A lies as it is; else they are side by side, and one pointer goes from column
    // to column.
    bool by_rows = plan.a == GemmPlan::ReadA::Rows;
    Values row_base;
    for (int64_t r = 0; by_rows && r < rows; ++r)
      row_base.push_back(at(a, multiply(number(r), a_step)));
    bool real = is_float(plan.acc);
    Values carried(static_cast<size_t>(rows * vectors), zero);
    carried.push_back(function->getArg(2));
    if (!by_rows) carried.push_back(a);
    carried = e.loop(number(0), length, 1, carried, [&](Value* index, const Values& now) {
      Values next = now;
      Value*& row_of_b = next[static_cast<size_t>(rows * vectors)];
      Values y;
      for (int64_t v = 0; v < vectors; ++v)
        y.push_back(load(at(row_of_b, number(v * plan.lanes)), masks[static_cast<size_t>(v)]));
      for (int64_t r = 0; r < rows; ++r) {
        Value* place = by_rows ? at(row_base[static_cast<size_t>(r)], index) : at(next.back(), number(r));
        Value* x = e.splat(b.CreateAlignedLoad(element, place, align));
        for (int64_t v = 0; v < vectors; ++v) {
          Value*& sum = next[static_cast<size_t>(r * vectors + v)];
          Value* factor = y[static_cast<size_t>(v)];
          sum =
              real ? b.CreateIntrinsic(in::fma, {vector}, {x, factor, sum}) : b.CreateAdd(b.CreateMul(x, factor), sum);
        }
      }
      row_of_b = at(row_of_b, b_step);
      if (!by_rows) next.back() = at(next.back(), a_step);
      return next;
    });

    // Without sums before, nothing is loaded but -0.0, exact to add.
    Value* nothing = real ? llvm::ConstantFP::getNegativeZero(vector) : zero;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v) {
        Value* place = at(c, b.CreateAdd(multiply(number(r), c_row), number(v * plan.lanes)));
        Value* mask = masks[static_cast<size_t>(v)];
        Value* loads = e.splat(before);
        if (mask) loads = b.CreateAnd(loads, mask);
        Value* old = b.CreateMaskedLoad(vector, place, align, loads, nothing);
        Value* sum = carried[static_cast<size_t>(r * vectors + v)];
        sum = real ? b.CreateFAdd(old, sum) : b.CreateAdd(old, sum);
        if (mask)
          b.CreateMaskedStore(sum, place, align, mask);
        else
          b.CreateAlignedStore(sum, place, align);
      }
    b.CreateRetVoid();
    e.function_ = outer;
    e.lanes_ = outer_lanes;
    return function;
  }

  // --- phase 1

  void emit_tiles(const std::string& symbol, const std::string& phase_symbol) {
    begin(phase_symbol);
    Value* row_blocks = ceiling(m, plan.block_rows);
    Value* block_columns = e.formula(plan.block_columns);
    sums_row = e.formula(plan.sums_row);
    Value* column_blocks = b.CreateUDiv(b.CreateAdd(n, b.CreateSub(block_columns, number(1))), block_columns);
    Value* far = b.CreateICmpSGT(a_col, number(kPackStride / size_of(plan.acc)));
    a_packed = plan.a == GemmPlan::ReadA::Rows ? b.getFalse() : plan.a == GemmPlan::ReadA::Packed ? b.getTrue() : far;
    a_step = plan.a == GemmPlan::ReadA::Rows ? a_row : b.CreateSelect(a_packed, number(plan.mr), a_col);
    Value* packs = b.CreateICmpNE(e.formula(plan.pack), number(0));
    Value* panel_here = b.CreateInBoundsGEP(b.getInt8Ty(), local, e.formula(plan.a_bytes), "panel");
    sums = b.CreateInBoundsGEP(b.getInt8Ty(), panel_here, e.formula(plan.panel_bytes), "sums");
    repeat(e.function_->getArg(1), e.function_->getArg(2), 1, [&](Value* tile) {
      Value* column_block = b.CreateURem(tile, column_blocks);
      Value* rest = b.CreateUDiv(tile, column_blocks);
      Value *row_block = b.CreateURem(rest, row_blocks), *which = b.CreateUDiv(rest, row_blocks);
      i0 = multiply(row_block, number(plan.block_rows));
      j0 = multiply(column_block, block_columns);
      rows = minimum(number(plan.block_rows), b.CreateSub(m, i0));
      columns = minimum(block_columns, b.CreateSub(n, j0));
      which_batch = which;
      const Values position = positions(batch_axes, which);
      c_start = b.CreateAdd(offset(batch_axes, position, C), b.CreateAdd(multiply(i0, c_row), j0));
      Value* b_which = which_b(position);
      Value *a_matrix = offset(batch_axes, position, A), *b_matrix = offset(batch_axes, position, B);
      // One chunk at least: a product over no elements is zero.
      repeat(number(0), maximum(k, number(1)), kContractChunk, [&](Value* k0) {
        Value* length = minimum(number(kContractChunk), b.CreateSub(k, k0));
        chunk_start = k0;
        Value* a_start = b.CreateAdd(a_matrix, b.CreateAdd(multiply(i0, a_row), chunk_offset(a_col)));
        e.branch(a_packed, [&] { return pack_a(a_start, length); }, {});
        // Where panel p of the tile's part of B starts, and the distance of its rows.
        Value* column = multiply(j0, b_col);
        Value* plain = b.CreateAdd(b_matrix, b.CreateAdd(chunk_offset(b_row), column));
        Value* from_packed = panel_offset(b_which, k0, length, b.CreateUDiv(j0, number(plan.nr)));
        bool maybe_plain = !is_number(plan.pack, 1);
        Value* b_base = at(packed, from_packed);
        b_step = number(plan.nr);
        panel_step = multiply(length, number(plan.nr));
        if (maybe_plain && !plan.panel_here) {
          b_base = b.CreateSelect(packs, b_base, at(b_start_of_all, plain));
          b_step = b.CreateSelect(packs, b_step, b_row);
          panel_step = b.CreateSelect(packs, panel_step, number(plan.nr));
        }
        Value* add = b.CreateICmpNE(k0, number(0));
        repeat(number(0), columns, plan.inner_columns, [&](Value* j) {
          Value* inner = minimum(number(plan.inner_columns), b.CreateSub(columns, j));
          Value* b_here = at(b_base, multiply(b.CreateUDiv(j, number(plan.nr)), panel_step));
          if (plan.panel_here) {
            pack_panel(b.CreateAdd(plain, multiply(j, b_col)), panel_here, length, inner);
            b_here = panel_here;
          }
          Value* first = number(0);
          for (int64_t height : {plan.mr, int64_t{4}, int64_t{1}}) {
            Value* last = b.CreateSub(rows, b.CreateURem(b.CreateSub(rows, first), number(height)));
            if (needless(plan.m, height)) continue;
            repeat(first, last, height,
                   [&](Value* i) { row_of_tiles(symbol, height, i, j, inner, a_start, b_here, length, add); });
            first = last;
          }
        });
      });
      if (!plan.in_c) epilogue();
    });
    e.end_function();
  }

  // Does a number of rows known at compile time never leave `height` rows over?
  bool needless(const SizeFormula& extent, int64_t height) const {
    if (extent.steps.size() != 1 || extent.steps[0].op != SizeFormula::Op::Const) return false;
    if (height == plan.mr) return extent.steps[0].value < height;
    int64_t rest = extent.steps[0].value % plan.mr;
    for (int64_t h : {int64_t{4}, int64_t{1}}) {
      if (h == height) return rest < h;
      rest %= h;
    }
    return false;
  }
  // All register tiles of the rows [i, i + height) and `width` columns of the tile from j on.
  void row_of_tiles(const std::string& symbol, int64_t height, Value* i, Value* j, Value* width, Value* a_start,
                    Value* b_base, Value* length, Value* add) {
    Value* in_place = at(a_start_of_all, b.CreateAdd(a_start, multiply(i, a_row)));
    // Packed: panels of mr rows.
    Value *panel = b.CreateUDiv(i, number(plan.mr)), *within = b.CreateURem(i, number(plan.mr));
    Value* in_panel = at(local, b.CreateAdd(multiply(multiply(panel, number(plan.mr)), length), within));
    Value* a = b.CreateSelect(a_packed, in_panel, in_place);
    Value* tile_row = plan.in_c ? c_row : sums_row;
    Value* c =
        plan.in_c ? at(e.pointer(gemm.c), b.CreateAdd(c_start, multiply(i, c_row))) : at(sums, multiply(i, sums_row));
    c = at(c, j);
    auto call = [&](Value* at_column, int64_t vectors, Value* columns_here) {
      Value* from = at(b_base, multiply(b.CreateUDiv(at_column, number(plan.nr)), panel_step));
      b.CreateCall(register_tile(symbol, height, vectors, columns_here != nullptr),
                   {a, a_step, from, b_step, at(c, at_column), tile_row, length,
                    columns_here ? columns_here : number(plan.nr), add});
      return Values{};
    };
    int64_t most = plan.nr / plan.lanes;
    if (height != plan.mr) { // few rows: one tile for all widths
      repeat(number(0), width, plan.nr,
             [&](Value* at_column) { call(at_column, most, minimum(number(plan.nr), b.CreateSub(width, at_column))); });
      return;
    }
    Value* whole = b.CreateSub(width, b.CreateURem(width, number(plan.nr)));
    repeat(number(0), whole, plan.nr, [&](Value* at_column) { call(at_column, most, nullptr); });
    Value* left = b.CreateSub(width, whole);
    for (int64_t v = 1; v <= most; ++v) {
      if (known_columns() && *known_columns() / plan.lanes + (*known_columns() % plan.lanes != 0) != v) continue;
      Value* fits = b.CreateAnd(b.CreateICmpSGT(left, number((v - 1) * plan.lanes)),
                                b.CreateICmpSLE(left, number(v * plan.lanes)));
      e.branch(fits, [&] { return call(whole, v, left); }, {});
    }
  }

  // Columns of the last panel, if known at compile time (0: there is none that is not whole).
  std::optional<int64_t> known_columns() const {
    if (plan.n.steps.size() != 1 || plan.n.steps[0].op != SizeFormula::Op::Const) return std::nullopt;
    return plan.n.steps[0].value % plan.nr;
  }

  // The tile's rows of A for one chunk: panels of mr rows, in each the rows side by side.
  Values pack_a(Value* a_start, Value* length) {
    llvm::Type* memory = e.memory_type(gemm.type);
    llvm::Align memory_align(static_cast<uint64_t>(size_of(gemm.type)));
    auto source = [&](Value* i, Value* from_kk) {
      Value* offset = b.CreateAdd(b.CreateAdd(a_start, multiply(i, a_row)), from_kk);
      return b.CreateGEP(memory, a_start_of_all, offset);
    };
    auto target = [&](Value* panel, Value* kk) {
      return at(local, b.CreateAdd(multiply(panel, length), multiply(kk, number(plan.mr))));
    };
    if (plan.a == GemmPlan::ReadA::Columns) { // column by column, as they lie
      auto* type = llvm::FixedVectorType::get(memory, static_cast<unsigned>(plan.mr));
      Value* whole = b.CreateSub(rows, b.CreateURem(rows, number(plan.mr)));
      repeat(number(0), length, 1, [&](Value* kk) {
        repeat(number(0), whole, plan.mr, [&](Value* i) {
          Value* x = b.CreateAlignedLoad(type, source(i, multiply(kk, a_col)), memory_align);
          b.CreateAlignedStore(x, target(i, kk), align);
        });
        repeat(whole, rows, 1, [&](Value* i) {
          Value* x = b.CreateAlignedLoad(memory, source(i, multiply(kk, a_col)), memory_align);
          b.CreateAlignedStore(x, at(target(whole, kk), b.CreateSub(i, whole)), align);
        });
      });
      return {};
    }
    auto copy = [&](Value* i, Value* within, Value* kk, Value* from_kk) {
      Value* value = e.from_memory(gemm.type, b.CreateAlignedLoad(memory, source(i, from_kk), memory_align));
      b.CreateAlignedStore(value, at(target(b.CreateSub(i, within), kk), within), align);
    };
    if (sum_axes.empty())
      repeat(number(0), rows, 1, [&](Value* i) {
        Value* within = b.CreateURem(i, number(plan.mr));
        repeat(number(0), length, 1, [&](Value* kk) { copy(i, within, kk, multiply(kk, a_col)); });
      });
    else // where a column is takes divisions: once for all rows
      repeat(number(0), length, 1, [&](Value* kk) {
        Value* from_kk = sum_offset(kk, A, a_col);
        repeat(number(0), rows, 1, [&](Value* i) { copy(i, b.CreateURem(i, number(plan.mr)), kk, from_kk); });
      });
    return {};
  }

  // C = epilogue(sums), row by row along j.
  void epilogue() {
    const kir::Block& body = gemm.epilogue;
    DType memory = e.kernel_.params[gemm.c].dtype;
    llvm::Type* c_element = e.memory_type(memory);
    llvm::Align c_align(static_cast<uint64_t>(size_of(memory)));
    repeat(number(0), rows, 1, [&](Value* i) {
      auto run = [&](Value* j, bool tail) {
        lanes(plan.lanes);
        if (tail) e.lanes_.mask = e.tail_mask(b.CreateSub(columns, j));
        // What the tile's edge leaves unwritten in `sums` is read and thrown away.
        Value* sum = b.CreateAlignedLoad(vector, at(sums, b.CreateAdd(multiply(i, sums_row), j)), align);
        e.set(body.params[0], Val::uniform(which_batch));
        e.set(body.params[1], Val::uniform(b.CreateAdd(i0, i)));
        e.set(body.params[2], Val::line(b.CreateAdd(j0, j), number(1)));
        e.set(body.params[3], Val::vector(sum));
        e.block(body);
        Value* result = e.to_memory(memory, e.in_lanes(body.yields[0]));
        Value* place =
            b.CreateInBoundsGEP(c_element, e.pointer(gemm.c), b.CreateAdd(c_start, b.CreateAdd(multiply(i, c_row), j)));
        if (tail)
          b.CreateMaskedStore(result, place, c_align, e.lanes_.mask);
        else
          b.CreateAlignedStore(result, place, c_align);
        lanes(0);
      };
      Value* whole = b.CreateAnd(columns, number(-plan.lanes));
      repeat(number(0), whole, plan.lanes, [&](Value* j) { run(j, false); });
      repeat(whole, columns, plan.lanes, [&](Value* j) { run(j, true); });
    });
  }

  Emitter& e;
  llvm::IRBuilder<>& b;
  const kir::Gemm& gemm;
  GemmPlan plan;
  llvm::Type* element = nullptr;
  llvm::FixedVectorType* vector = nullptr;
  llvm::Align align;
  std::map<std::tuple<int64_t, int64_t, bool>, llvm::Function*> tiles;

  // of the function being emitted
  Value *batch, *m, *n, *k, *a_batch, *a_row, *a_col, *b_batch, *b_row, *b_col;
  Value *a_start_of_all, *b_start_of_all, *c_row;
  std::vector<Axis> batch_axes, sum_axes; // sum_axes: none where the strides a_col and b_row tell all
  Value *panels, *chunks, *packed, *local, *sums, *sums_row;
  Value *a_packed, *a_step; // whether A is packed, and the distance that register tiles are told
  // of the tile being emitted
  Value *i0, *j0, *rows, *columns, *which_batch, *c_start, *b_step, *panel_step, *chunk_start;
};

void Emitter::emit_gemm(const std::string& symbol) { GemmEmitter(*this).emit(symbol); }

} // namespace tl::cpu

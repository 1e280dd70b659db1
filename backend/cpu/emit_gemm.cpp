// Matrix products: packing, register tiles, and the epilogue as a vector loop along j.
//
// The order of contractions fixes every bit: for each chunk of kContractChunk products one chain of fused
// multiply-adds from zero, the chunks added left to right. A register tile runs one chunk; what lies around it only
// chooses which elements of C come when. Padding is never stored.
#include "backend/cpu/gemm_emitter.h"
#include <fmt/format.h>
#include <llvm/IR/IntrinsicsX86.h>

namespace tl::cpu {

void GemmEmitter::emit(const std::string& symbol) {
  element = e.value_type(plan.acc);
  vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(plan.lanes));
  align = llvm::Align(static_cast<uint64_t>(size_of(plan.acc)));
  int phase = 0;
  if (plan.tables)
    emit_tables(fmt::format("{}_{}", symbol, phase++));
  else if (plan.has_pack_phase)
    emit_pack(fmt::format("{}_{}", symbol, phase++));
  if (plan.dots) {
    emit_dots(fmt::format("{}_{}", symbol, phase++));
    return combine_dots(fmt::format("{}_{}", symbol, phase));
  }
  if (plan.streams) return emit_stream(fmt::format("{}_{}", symbol, phase));
  emit_tiles(symbol, fmt::format("{}_{}", symbol, phase++));
  if (plan.may_split) emit_combine(fmt::format("{}_{}", symbol, phase));
}

void GemmEmitter::begin(const std::string& symbol) {
  e.begin_function(symbol);
  e.block(gemm.header);
  Value *a_base = nullptr, *b_base = nullptr;
  Value** place[] = {&batch, &m, &n, &k, &a_batch, &a_row, &a_col, &b_batch, &b_row, &b_col, &a_base, &b_base};
  for (size_t i = 0; i < 12; ++i)
    *place[i] = e.scalar(gemm.header.yields[i]);
  a_start_of_all = b.CreateInBoundsGEP(a_memory, e.pointer(gemm.a), a_base, "a");
  b_start_of_all = b.CreateInBoundsGEP(b_memory, e.pointer(gemm.b), b_base, "b");
  auto read_axis = [&](size_t from, size_t strides) {
    Axis axis{e.scalar(gemm.header.yields[from]), {}};
    for (size_t i = 1; i <= strides; ++i)
      axis.strides.push_back(e.scalar(gemm.header.yields[from + i]));
    return axis;
  };
  batch_axes.clear();
  sum_axes.clear();
  column_axes.clear();
  row_axes.clear();
  if (gemm.is_plain) {
    c_row = n;
    batch_axes.push_back({batch, {a_batch, b_batch, multiply(m, n)}});
  } else {
    c_row = e.scalar(gemm.header.yields[12]);
    for (size_t i = 0; i < gemm.batch_axes; ++i)
      batch_axes.push_back(read_axis(13 + 4 * i, 3));
    for (size_t i = 0; i < gemm.sum_axes && gemm.sum_axes > 1; ++i)
      sum_axes.push_back(read_axis(13 + 4 * gemm.batch_axes + 3 * i, 2));
    const size_t columns_from = 13 + 4 * gemm.batch_axes + 3 * gemm.sum_axes,
                 of_column = plan.scattered || plan.dots ? 3 : 2;
    for (size_t i = 0; i < gemm.column_axes; ++i) {
      column_axes.push_back(read_axis(columns_from + of_column * i, of_column - 1));
      if (!plan.dots) column_axes.back().strides.insert(column_axes.back().strides.begin() + A, number(0));
    }
    for (size_t i = 0; i < gemm.row_axes; ++i) {
      row_axes.push_back(read_axis(columns_from + of_column * gemm.column_axes + 3 * i, 2));
      row_axes.back().strides.insert(row_axes.back().strides.begin() + B, number(0));
    }
  }
  panels = ceiling(n, plan.nr);
  chunks = ceiling(k, kContractChunk);
  one_chunk = b.CreateICmpSLE(k, number(kContractChunk));
  Value* workspace = e.function_->getArg(3);
  packed = b.CreateLoad(b.getPtrTy(), workspace, "packed_b");
  local = b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), workspace, 1), "local");
  if (!plan.tables) return;
  column_table = packed;
  b_table = b.CreateInBoundsGEP(b.getInt64Ty(), column_table, b.CreateAdd(n, number(plan.nr)), "rows");
  a_table = b.CreateInBoundsGEP(b.getInt64Ty(), b_table, k, "a_columns");
  if (plan.dots) {
    a_column_table = b.CreateInBoundsGEP(b.getInt64Ty(), column_table, b.CreateAdd(n, number(plan.lanes)), "a_columns");
    b_table = b.CreateInBoundsGEP(b.getInt64Ty(), a_column_table, b.CreateAdd(n, number(plan.lanes)), "rows");
    a_table = b.CreateInBoundsGEP(b.getInt64Ty(), b_table, k, "a_sums");
  }
  if (plan.scattered) {
    c_column_table = b.CreateInBoundsGEP(b.getInt64Ty(), a_table, k, "c_columns");
    c_row_table = b.CreateInBoundsGEP(b.getInt64Ty(), c_column_table, b.CreateAdd(n, number(plan.lanes)), "c_rows");
    row_table = b.CreateInBoundsGEP(b.getInt64Ty(), c_row_table, m, "a_rows");
  }
  packed = b.CreateInBoundsGEP(b.getInt8Ty(), packed, e.formula(plan.table_bytes));
}

Values GemmEmitter::positions(const std::vector<Axis>& axes, Value* number) {
  Values result(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    result[i] = i == 0 ? number : b.CreateURem(number, axes[i].count);
    if (i > 0) number = b.CreateUDiv(number, axes[i].count);
  }
  return result;
}

Value* GemmEmitter::offset(const std::vector<Axis>& axes, const Values& positions, Tensor tensor) {
  Value* sum = number(0);
  for (size_t i = 0; i < axes.size(); ++i)
    sum = b.CreateAdd(sum, multiply(positions[i], axes[i].strides[tensor]));
  return sum;
}

Value* GemmEmitter::sum_offset(Value* kk, Tensor tensor, Value* stride) {
  if (is_even(tensor)) return multiply(kk, stride);
  return from_table(tensor == A ? a_table : b_table, b.CreateAdd(chunk_start, kk));
}

std::vector<GemmEmitter::Axis> GemmEmitter::axes_of_b() const {
  std::vector<Axis> result;
  for (size_t i = 0; i < batch_axes.size(); ++i)
    if (plan.b_moves[i]) result.push_back(batch_axes[i]);
  return result;
}

Value* GemmEmitter::which_b(const Values& position) {
  Value* which = number(0);
  for (size_t i = 0; i < batch_axes.size(); ++i)
    if (plan.b_moves[i]) which = b.CreateAdd(multiply(which, batch_axes[i].count), position[i]);
  return which;
}

llvm::Function* GemmEmitter::register_tile(const std::string& symbol, int64_t rows, int64_t vectors, bool edge) {
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
  Values carried(static_cast<size_t>(rows * vectors), zero);
  carried.push_back(function->getArg(2));
  if (!by_rows) carried.push_back(a);
  // The rows of the next tile are asked of memory while these are used, one in each step: they are far apart, no stream
  // that the machine would see. Smaller vectors leave no room for it between their multiply-adds.
  constexpr int64_t rows_asked = 8;
  const bool asks = by_rows && rows == plan.mr && e.machine_.avx512;
  Value* next_rows = b.CreateGEP(element, a, multiply(number(rows), a_step));
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
        sum = add_product(x, y[static_cast<size_t>(v)], sum);
      }
    }
    if (asks) {
      Value* row = b.CreateAnd(index, number(rows_asked - 1));
      e.prefetch(b.CreateGEP(element, next_rows, b.CreateAdd(multiply(row, a_step), index)));
    }
    row_of_b = at(row_of_b, b_step);
    if (!by_rows) next.back() = at(next.back(), a_step);
    return next;
  });

  // Where there are sums before, all are loaded before any is stored: rows of few columns are closer than a vector is
  // wide, and a load would wait for the store to the row before.
  auto place_of = [&](int64_t r, int64_t v) {
    return at(c, b.CreateAdd(multiply(number(r), c_row), number(v * plan.lanes)));
  };
  carried.resize(static_cast<size_t>(rows * vectors));
  auto added = [&] {
    Values sums;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        sums.push_back(add_chunk(load(place_of(r, v), masks[static_cast<size_t>(v)]), carried[sums.size()]));
    return sums;
  };
  carried = e.branch(before, added, carried);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      Value *mask = masks[static_cast<size_t>(v)], *sum = carried[static_cast<size_t>(r * vectors + v)];
      if (mask)
        b.CreateMaskedStore(sum, place_of(r, v), align, mask);
      else
        b.CreateAlignedStore(sum, place_of(r, v), align);
    }
  b.CreateRetVoid();
  e.function_ = outer;
  e.lanes_ = outer_lanes;
  return function;
}

Value* GemmEmitter::add_product(Value* x, Value* y, Value* sum) {
  if (is_float(plan.acc)) return b.CreateIntrinsic(in::fma, {vector}, {x, y, sum});
  if (plan.group == 1) return b.CreateAdd(b.CreateMul(x, y), sum);
  if (e.machine_.vnni) return b.CreateIntrinsic(in::x86_avx512_vpdpwssd_512, {}, {sum, x, y});
  auto* halves = llvm::FixedVectorType::get(b.getInt16Ty(), static_cast<unsigned>(2 * plan.lanes));
  if (e.machine_.x86) {
    const auto id = e.machine_.avx512 ? in::x86_avx512_pmaddw_d_512 : in::x86_avx2_pmadd_wd;
    return b.CreateAdd(sum, b.CreateIntrinsic(id, {}, {b.CreateBitCast(x, halves), b.CreateBitCast(y, halves)}));
  }
  auto low = [&](Value* v) { return b.CreateAShr(b.CreateShl(v, 16), 16); };
  Value* first = b.CreateMul(low(x), low(y));
  return b.CreateAdd(sum, b.CreateAdd(first, b.CreateMul(b.CreateAShr(x, 16), b.CreateAShr(y, 16))));
}

void GemmEmitter::emit_tiles(const std::string& symbol, const std::string& phase_symbol) {
  begin(phase_symbol);
  Value* row_blocks = ceiling(m, plan.block_rows);
  Value* block_columns = e.formula(plan.block_columns);
  sums_row = e.formula(plan.sums_row);
  Value* column_blocks = e.formula(plan.column_blocks);
  split = b.CreateICmpNE(e.formula(plan.split), number(0));
  Value* far = b.CreateICmpSGT(a_col, number(kPackStride / size_of(plan.acc)));
  // A chunk's factors are packed if the rows of A or the columns of B are more than the ones of two register tiles.
  auto more_than = [&](Value* x, int64_t two) { return b.CreateAnd(split, b.CreateICmpSGT(x, number(2 * two))); };
  if (plan.may_split) far = b.CreateOr(far, more_than(m, plan.mr));
  a_packed = plan.a == GemmPlan::ReadA::Rows ? b.getFalse() : plan.a == GemmPlan::ReadA::Packed ? b.getTrue() : far;
  a_step = plan.a == GemmPlan::ReadA::Rows ? a_row : b.CreateSelect(a_packed, number(plan.mr), a_col);
  Value* packs = b.CreateICmpNE(e.formula(plan.pack), number(0));
  Value* packs_here = b.CreateICmpNE(e.formula(plan.pack_here), number(0));
  Value* panel_here = b.CreateInBoundsGEP(b.getInt8Ty(), local, e.formula(plan.a_bytes), "panel");
  sums = b.CreateInBoundsGEP(b.getInt8Ty(), panel_here, e.formula(plan.panel_bytes), "sums");
  repeat(e.function_->getArg(1), e.function_->getArg(2), 1, [&](Value* tile) {
    Value *first = number(0), *end = maximum(k, number(1)); // one chunk at least: a product over no elements is zero
    if (plan.may_split) {
      Value* count = b.CreateSelect(split, chunks, number(1));
      first = multiply(b.CreateURem(tile, count), number(kContractChunk));
      end = b.CreateSelect(split, minimum(b.CreateAdd(first, number(kContractChunk)), k), end);
      tile = b.CreateUDiv(tile, count);
    }
    auto next_part = [&](Value* count) { // the fastest first
      Value* part = b.CreateURem(tile, count);
      tile = b.CreateUDiv(tile, count);
      return part;
    };
    Value* which = gemm.close_batches ? next_part(batch) : nullptr;
    Value* column_block = next_part(column_blocks);
    Value* row_block = next_part(row_blocks);
    if (!which) which = tile;
    i0 = multiply(row_block, number(plan.block_rows));
    j0 = multiply(column_block, block_columns);
    rows = minimum(number(plan.block_rows), b.CreateSub(m, i0));
    Value *last = b.CreateICmpEQ(column_block, b.CreateSub(column_blocks, number(1))), *left = b.CreateSub(n, j0);
    columns = b.CreateSelect(last, left, minimum(block_columns, left));
    which_batch = which;
    const Values position = positions(batch_axes, which);
    c_start = offset(batch_axes, position, C);
    if (!plan.scattered) c_start = b.CreateAdd(c_start, b.CreateAdd(multiply(i0, c_row), j0));
    Value* b_which = which_b(position);
    Value *a_matrix = offset(batch_axes, position, A), *b_matrix = offset(batch_axes, position, B);
    if (plan.may_split) {
      Value* row = b.CreateAdd(
          multiply(b.CreateAdd(multiply(b.CreateUDiv(first, number(kContractChunk)), batch), which), m), i0);
      part = at(packed, b.CreateAdd(multiply(row, part_row()), j0));
    }
    auto chunk = [&](Value* k0) {
      Value* length = minimum(number(kContractChunk), b.CreateSub(k, k0));
      chunk_start = k0;
      Value* a_start = b.CreateAdd(a_matrix, b.CreateAdd(multiply(i0, a_row), chunk_offset(A, a_col)));
      e.branch(a_packed, [&] { return pack_a(a_start, length); }, {});
      // Where panel p of the tile's part of B starts, and the distance of its rows.
      Value* column = multiply(j0, b_col);
      Value* plain = b.CreateAdd(b_matrix, b.CreateAdd(chunk_offset(B, b_row), column));
      Value* from_packed = panel_offset(b_which, k0, length, b.CreateUDiv(j0, number(plan.nr)));
      bool maybe_plain = !is_number(plan.pack, 1);
      Value* b_base = at(packed, from_packed);
      b_step = number(plan.nr);
      panel_step = multiply(length, number(plan.nr));
      Value* here = b.CreateSelect(split, plan.in_place ? more_than(n, plan.nr) : b.getTrue(), packs_here);
      if (maybe_plain && plan.in_place) { // read where it lies
        b_base = b.CreateSelect(packs, b_base, at(b_start_of_all, plain));
        Value* panels_here = b.CreateOr(packs, here);
        b_step = b.CreateSelect(panels_here, b_step, b_row);
        panel_step = b.CreateSelect(panels_here, panel_step, number(plan.nr));
      }
      Value* add = b.CreateICmpNE(k0, first);
      Value* is_last = b.CreateICmpSGE(b.CreateAdd(k0, number(kContractChunk)), k);
      is_last = b.CreateAnd(is_last, b.CreateNot(split));
      // By panels that are packed here; else as many columns at a time as stay in cache.
      Value* width = b.CreateSelect(here, number(plan.nr), number(plan.inner_columns));
      Value* steps = b.CreateUDiv(b.CreateAdd(columns, b.CreateSub(width, number(1))), width);
      Value* early = joins(here, columns);
      repeat(number(0), steps, 1, [&](Value* step) {
        auto start_of = [&](Value* step) {
          Value* ends = b.CreateICmpEQ(step, b.CreateSub(steps, number(1)));
          return b.CreateSub(multiply(step, width), b.CreateSelect(ends, early, number(0)));
        };
        Value *next = b.CreateAdd(step, number(1)), *j = start_of(step);
        Value* inner = b.CreateSub(minimum(columns, start_of(next)), j);
        only_if(here, [&] {
          if (plan.by_tables)
            pack_by_tables(b_matrix, b.CreateAdd(j0, j), panel_here, length, inner);
          else
            pack_panel(b.CreateAdd(plain, multiply(j, b_col)), panel_here, length, inner);
        });
        Value* in_panels = at(b_base, multiply(b.CreateUDiv(j, number(plan.nr)), panel_step));
        multiply_panels(symbol, j, inner, a_start, b.CreateSelect(here, panel_here, in_panels), length, add, is_last);
      });
    };
    if (plan.may_stream) {
      Value* one_row = b.CreateAnd(b.CreateICmpEQ(m, number(1)), b.CreateNot(b.CreateOr(split, packs)));
      only_if(one_row, [&] {
        Value *a = at(a_start_of_all, a_matrix), *c = plan.in_c ? at(e.pointer(gemm.c), c_start) : sums;
        Value* source = b.CreateAdd(b_matrix, multiply(j0, b_col));
        if (plan.b_contiguous)
          stream_rows(a, source, c, panel_here);
        else
          stream_columns(a, source, c, panel_here);
        if (!plan.in_c) epilogue(whole_tile(), [&](Value* i, Value* j) { return sum_of_tile(i, j); });
      });
      end = b.CreateSelect(one_row, first, end);
    }
    repeat(first, end, kContractChunk, chunk);
  });
  e.end_function();
}

bool GemmEmitter::needless(const SizeFormula& extent, int64_t height) const {
  const std::optional<int64_t> known = constant_of(extent);
  if (!known) return false;
  if (height == plan.mr) return *known < height;
  int64_t rest = *known % plan.mr;
  for (int64_t h : {int64_t{4}, int64_t{2}, int64_t{1}}) {
    if (h == height) return rest < h;
    rest %= h;
  }
  return false;
}

void GemmEmitter::multiply_panels(const std::string& symbol, Value* j, Value* width, Value* a_start, Value* b_base,
                                  Value* length, Value* add, Value* is_last) {
  repeat(number(0), rows, plan.mr, [&](Value* i) {
    Value* end = minimum(b.CreateAdd(i, number(plan.mr)), rows);
    auto of_height = [&](int64_t height, Value* row) {
      row_of_tiles(symbol, height, row, j, width, a_start, b_base, length, add);
    };
    Value* whole = b.CreateICmpEQ(b.CreateSub(end, i), number(plan.mr));
    if (!needless(plan.m, plan.mr)) only_if(whole, [&] { of_height(plan.mr, i); });
    only_if(b.CreateNot(whole), [&] {
      Value* from = i;
      for (int64_t height : {int64_t{4}, int64_t{2}, int64_t{1}}) {
        if (needless(plan.m, height)) continue;
        Value* last = b.CreateSub(end, b.CreateURem(b.CreateSub(end, from), number(height)));
        repeat(from, last, height, [&](Value* row) { of_height(height, row); });
        from = last;
      }
    });
    if (plan.in_c) return;
    only_if(is_last, [&] {
      epilogue({i, end, j, b.CreateAdd(j, width)}, [&](Value* row, Value* column) { return sum_of_tile(row, column); });
    });
  });
}

void GemmEmitter::row_of_tiles(const std::string& symbol, int64_t height, Value* i, Value* j, Value* width,
                               Value* a_start, Value* b_base, Value* length, Value* add) {
  Value* in_place = at(a_start_of_all, b.CreateAdd(a_start, multiply(i, a_row)));
  // Packed: panels of mr rows.
  Value *panel = b.CreateUDiv(i, number(plan.mr)), *within = b.CreateURem(i, number(plan.mr));
  Value* in_panel = at(local, b.CreateAdd(multiply(multiply(panel, number(plan.mr)), length), within));
  Value* a = b.CreateSelect(a_packed, in_panel, in_place);
  Value* tile_row = plan.in_c ? c_row : sums_row;
  Value* c = plan.in_c ? at(e.pointer(gemm.c), b.CreateAdd(c_start, multiply(i, c_row))) : sums_of(i);
  if (plan.may_split) {
    c = b.CreateSelect(split, at(part, multiply(i, part_row())), c);
    tile_row = b.CreateSelect(split, part_row(), tile_row);
  }
  c = at(c, j);
  length = b.CreateUDiv(b.CreateAdd(length, number(plan.group - 1)), number(plan.group));
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
  const std::optional<int64_t> known = known_columns();
  for (int64_t v = 1; v <= most; ++v) {
    const bool joined = known && plan.joined_columns > 0 && *known > 0 && *known <= plan.joined_columns && v == 2;
    if (known && *known / plan.lanes + (*known % plan.lanes != 0) != v && !joined) continue;
    Value* fits =
        b.CreateAnd(b.CreateICmpSGT(left, number((v - 1) * plan.lanes)), b.CreateICmpSLE(left, number(v * plan.lanes)));
    e.branch(fits, [&] { return call(whole, v, left); }, {});
  }
}

Value* GemmEmitter::joins(Value* packed_here, Value* columns) {
  if (plan.joined_columns == 0) return number(0);
  Value *rest = b.CreateURem(columns, number(plan.nr)), *several = b.CreateICmpSGT(columns, number(plan.nr));
  Value* few = b.CreateAnd(b.CreateICmpSGT(rest, number(0)), b.CreateICmpSLE(rest, number(plan.joined_columns)));
  return b.CreateSelect(b.CreateAnd(packed_here, b.CreateAnd(several, few)), number(plan.lanes), number(0));
}

std::optional<int64_t> GemmEmitter::known_columns() const {
  const std::optional<int64_t> known = constant_of(plan.n);
  return known ? std::optional(*known % plan.nr) : std::nullopt;
}

// Adds the chunks of a split product from left to right, a few rows of C each tile.
void GemmEmitter::emit_combine(const std::string& symbol) {
  begin(symbol);
  Value* row_blocks = ceiling(m, kCombinedRows);
  repeat(e.function_->getArg(1), e.function_->getArg(2), 1, [&](Value* tile) {
    which_batch = b.CreateUDiv(tile, row_blocks);
    i0 = multiply(b.CreateURem(tile, row_blocks), number(kCombinedRows));
    j0 = number(0);
    rows = minimum(number(kCombinedRows), b.CreateSub(m, i0));
    columns = n;
    c_start = offset(batch_axes, positions(batch_axes, which_batch), C);
    if (!plan.scattered) c_start = b.CreateAdd(c_start, multiply(i0, c_row));
    Value *first = b.CreateAdd(multiply(which_batch, m), i0), *chunk = multiply(multiply(batch, m), part_row());
    epilogue(whole_tile(), [&](Value* i, Value* j) {
      Value* place = at(packed, b.CreateAdd(multiply(b.CreateAdd(first, i), part_row()), j));
      auto load = [&](Value* c) { return b.CreateAlignedLoad(vector, at(place, multiply(c, chunk)), align); };
      return e.loop(number(1), chunks, 1, {load(number(0))},
                    [&](Value* c, const Values& sum) -> Values { return {add_chunk(sum[0], load(c))}; })[0];
    });
  });
  e.end_function();
}

void GemmEmitter::epilogue(const Part& part, const SumAt& sum_at) {
  const kir::Block& body = gemm.epilogue;
  DType memory = e.kernel_.params[gemm.c].dtype;
  llvm::Type* c_element = e.memory_type(memory);
  llvm::Align c_align(static_cast<uint64_t>(size_of(memory)));
  auto result_at = [&](Value* i, Value* j) {
    // What the tile's edge leaves unwritten in `sums` is read and thrown away.
    Value* sum = sum_at(i, j);
    e.set(body.params[0], Val::uniform(which_batch));
    e.set(body.params[1], Val::uniform(b.CreateAdd(i0, i)));
    e.set(body.params[2], Val::line(b.CreateAdd(j0, j), number(1)));
    e.set(body.params[3], Val::vector(sum));
    e.block(body);
    return e.to_memory(memory, e.in_lanes(body.yields[0]));
  };
  auto by_vectors = [&](const std::function<void(Value * j, bool tail)>& run) {
    auto masked = [&](Value* j, bool tail) {
      lanes(plan.lanes);
      if (tail) e.lanes_.mask = e.tail_mask(b.CreateSub(part.column_end, j));
      run(j, tail);
      lanes(0);
    };
    Value* length = b.CreateSub(part.column_end, part.column);
    Value* whole = b.CreateAdd(part.column, b.CreateAnd(length, number(-plan.lanes)));
    repeat(part.column, whole, plan.lanes, [&](Value* j) { masked(j, false); });
    repeat(whole, part.column_end, plan.lanes, [&](Value* j) { masked(j, true); });
  };
  if (plan.scattered) { // where a vector of columns goes is the same in all rows; they may be far apart
    constexpr int64_t rows_at_once = 8;
    return repeat(part.row, part.row_end, rows_at_once, [&](Value* first) {
      Value* end = minimum(b.CreateAdd(first, number(rows_at_once)), part.row_end);
      by_vectors([&](Value* j, bool) {
        const Places places = places_of(b.CreateAdd(j0, j), e.lanes_.mask);
        Value* mask = e.lanes_.mask;
        repeat(first, end, 1, [&](Value* i) {
          lanes(plan.lanes, mask);
          Value* row = b.CreateAdd(c_start, from_table(c_row_table, b.CreateAdd(i0, i)));
          store_at(places, result_at(i, j), row);
        });
        lanes(plan.lanes, mask);
      });
    });
  }
  repeat(part.row, part.row_end, 1, [&](Value* i) {
    by_vectors([&](Value* j, bool tail) {
      Value* result = result_at(i, j);
      Value* place =
          b.CreateInBoundsGEP(c_element, e.pointer(gemm.c), b.CreateAdd(c_start, b.CreateAdd(multiply(i, c_row), j)));
      if (tail)
        b.CreateMaskedStore(result, place, c_align, e.lanes_.mask);
      else
        b.CreateAlignedStore(result, place, c_align);
    });
  });
}

void Emitter::emit_gemm(const std::string& symbol) { GemmEmitter(*this).emit(symbol); }

} // namespace tl::cpu

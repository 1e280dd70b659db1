// Packing: panels of B and of A as register tiles read them.
#include "backend/cpu/gemm_emitter.h"
#include "backend/cpu/transpose.h"
#include <algorithm>
#include <bit>

namespace tl::cpu {

// Runs that are short and far apart are no stream that the machine would see: they are asked of memory so many rows
// early, about the time that it takes. What is beyond the factor is not read for that.
constexpr int64_t kRowsAhead = 16;

void GemmEmitter::emit_pack(const std::string& symbol) {
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
                                b.CreateAdd(chunk_offset(B, b_row), multiply(column, b_col)));
    Value* target = at(packed, panel_offset(which, chunk_start, length, panel));
    pack_panel(source, target, length, columns);
  });
  e.end_function();
}

void GemmEmitter::pack_panel(Value* source, Value* target, Value* length, Value* columns) {
  int64_t vectors = plan.nr / plan.lanes;
  if (plan.b_contiguous) {
    Value* full = b.CreateICmpEQ(columns, number(plan.nr));
    e.branch(full, [&] { return pack_rows(source, target, number(0), length, nullptr, vectors); }, {});
    e.branch(b.CreateNot(full), [&] { return pack_rows(source, target, number(0), length, columns, vectors); }, {});
  } else if ((plan.b_transposed || plan.tables) && size_of(gemm.type) >= 4) {
    repeat(number(0), columns, plan.lanes, [&](Value* j) { // tiles read no vector without columns
      Value *here = b.CreateAdd(source, multiply(j, b_col)), *to_here = at(target, j), *left = b.CreateSub(columns, j);
      auto block = [&](Value* kk) { pack_transposed(b.CreateAdd(here, sum_offset(kk, B, b_row)), to_here, kk, left); };
      auto rows_between = [&](Value* from, Value* to) { pack_rows(here, to_here, from, to, left, 1); };
      if (!plan.b_transposed) return pack_blocks(length, block, rows_between);
      Value* blocks = b.CreateAnd(length, number(-plan.lanes));
      repeat(number(0), blocks, plan.lanes, block);
      rows_between(blocks, length);
    });
  } else {
    pack_rows(source, target, number(0), length, columns, vectors);
  }
}

void GemmEmitter::pack_blocks(Value* length, const std::function<void(Value* kk)>& transposed,
                              const std::function<void(Value* from, Value* to)>& rows_between) {
  Value* blocks = b.CreateAnd(length, number(-plan.lanes));
  repeat(number(0), blocks, plan.lanes, [&](Value* kk) {
    Value* run = is_run(b_table, kk, plan.lanes);
    only_if(run, [&] { transposed(kk); });
    rows_between(kk, b.CreateSelect(run, kk, b.CreateAdd(kk, number(plan.lanes))));
  });
  rows_between(blocks, length);
}

Values GemmEmitter::pack_rows(Value* source, Value* target, Value* from, Value* to, Value* columns, int64_t vectors) {
  llvm::Type* memory = e.memory_type(gemm.type);
  llvm::Align memory_align(static_cast<uint64_t>(size_of(gemm.type)));
  auto* raw_type = llvm::FixedVectorType::get(memory, static_cast<unsigned>(plan.lanes));
  repeat(from, to, 1, [&](Value* row) {
    Value* from_row = sum_offset(row, B, b_row);
    for (int64_t v = 0; v < vectors; ++v) {
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
      if (plan.b_contiguous) e.prefetch(b.CreateGEP(memory, base, multiply(b_row, number(kRowsAhead))));
      Value* place = b.CreateAdd(multiply(row, number(plan.nr)), number(v * plan.lanes));
      b.CreateAlignedStore(e.from_memory(gemm.type, raw), at(target, place), align);
      lanes(0);
    }
  });
  return {};
}

void GemmEmitter::pack_transposed(Value* source, Value* target, Value* kk, Value* columns) {
  Values places;
  for (int64_t c = 0; c < plan.lanes; ++c) {
    Value* column = minimum(number(c), b.CreateSub(columns, number(1)));
    places.push_back(at(b_start_of_all, b.CreateAdd(source, multiply(column, b_col))));
  }
  const Values x = load_transposed(b, element, places, [](llvm::Instruction*) {});
  for (int64_t r = 0; r < plan.lanes; ++r) {
    Value* place = multiply(b.CreateAdd(kk, number(r)), number(plan.nr));
    b.CreateAlignedStore(x[static_cast<size_t>(r)], at(target, place), align);
  }
}

// Blocks of mr columns of A, and in each all panels: so memory is read in stretches as long as they are. A block whose
// rows lie along the sum is transposed in registers; rows side by side are a load for each column.
Values GemmEmitter::pack_a(Value* a_start, Value* length) {
  llvm::Type* memory = e.memory_type(gemm.type);
  const llvm::Align memory_align(static_cast<uint64_t>(size_of(gemm.type)));
  auto* side_by_side = llvm::FixedVectorType::get(memory, static_cast<unsigned>(plan.mr));
  const bool may_transpose = size_of(gemm.type) >= 4 && std::has_single_bit(static_cast<uint64_t>(plan.mr));
  auto columns_at = [&](Value* kk, int64_t count, Value* along_sum) { // count of them; along_sum: or nothing
    Values from_kk;
    for (int64_t c = 0; c < count; ++c)
      from_kk.push_back(sum_offset(b.CreateAdd(kk, number(c)), A, a_col));
    repeat(number(0), rows, plan.mr, [&](Value* i) {
      Value *left = b.CreateSub(rows, i), *last = b.CreateSub(minimum(left, number(plan.mr)), number(1));
      Values row; // where each begins; beyond the last as the last
      for (int64_t r = 0; r < plan.mr; ++r) {
        Value* from = b.CreateAdd(i, minimum(number(r), last));
        from = plan.scattered ? from_table(row_table, b.CreateAdd(i0, from)) : multiply(from, a_row);
        row.push_back(b.CreateGEP(memory, a_start_of_all, b.CreateAdd(a_start, from)));
      }
      auto target = [&](int64_t c) {
        return at(local, b.CreateAdd(multiply(i, length), multiply(b.CreateAdd(kk, number(c)), number(plan.mr))));
      };
      if (along_sum)
        only_if(along_sum, [&] {
          Values places;
          for (Value* place : row)
            places.push_back(b.CreateGEP(memory, place, from_kk[0]));
          const Values block = load_transposed(b, element, places, [](llvm::Instruction*) {});
          for (int64_t c = 0; c < count; ++c)
            b.CreateAlignedStore(block[static_cast<size_t>(c)], target(c), align);
        });
      Value* along_rows = b.CreateICmpSGE(left, number(plan.mr));
      for (int64_t r = 1; r < plan.mr; ++r) {
        Value* next = b.CreateGEP(memory, row[0], number(r));
        along_rows = b.CreateAnd(along_rows, b.CreateICmpEQ(row[static_cast<size_t>(r)], next));
      }
      Value* neither = b.CreateNot(along_rows);
      if (along_sum) {
        along_rows = b.CreateAnd(along_rows, b.CreateNot(along_sum));
        neither = b.CreateAnd(neither, b.CreateNot(along_sum));
      }
      only_if(along_rows, [&] {
        for (int64_t c = 0; c < count; ++c) {
          Value* place = b.CreateGEP(memory, row[0], from_kk[static_cast<size_t>(c)]);
          Value* raw = b.CreateAlignedLoad(side_by_side, place, memory_align);
          if (is_even(A)) e.prefetch(b.CreateGEP(memory, place, multiply(a_col, number(kRowsAhead))));
          b.CreateAlignedStore(e.from_memory(gemm.type, raw), target(c), align);
        }
      });
      only_if(neither, [&] {
        repeat(number(0), number(count), 1, [&](Value* c) {
          Value* from = sum_offset(b.CreateAdd(kk, c), A, a_col);
          Value* to = at(target(0), multiply(c, number(plan.mr)));
          for (int64_t r = 0; r < plan.mr; ++r) {
            Value* place = b.CreateGEP(memory, row[static_cast<size_t>(r)], from);
            Value* value = e.from_memory(gemm.type, b.CreateAlignedLoad(memory, place, memory_align));
            b.CreateAlignedStore(value, at(to, number(r)), align);
          }
        });
      });
    });
  };
  Value* whole = number(0);
  if (may_transpose) {
    whole = b.CreateSub(length, b.CreateURem(length, number(plan.mr)));
    repeat(number(0), whole, plan.mr, [&](Value* kk) {
      columns_at(kk, plan.mr, is_even(A) ? b.CreateICmpEQ(a_col, number(1)) : is_run(a_table, kk, plan.mr));
    });
  }
  repeat(whole, length, 1, [&](Value* kk) { columns_at(kk, 1, nullptr); });
  return {};
}

Value* GemmEmitter::is_run(Value* table, Value* kk, int64_t count) {
  auto* type = llvm::FixedVectorType::get(b.getInt64Ty(), static_cast<unsigned>(count));
  Value* place = b.CreateInBoundsGEP(b.getInt64Ty(), table, b.CreateAdd(chunk_start, kk));
  Value* offsets = b.CreateAlignedLoad(type, place, llvm::Align(8));
  std::vector<llvm::Constant*> ids;
  for (int64_t i = 0; i < count; ++i)
    ids.push_back(b.getInt64(static_cast<uint64_t>(i)));
  Value* first = b.CreateVectorSplat(static_cast<unsigned>(count), b.CreateExtractElement(offsets, number(0)));
  Value* run = b.CreateAdd(first, llvm::ConstantVector::get(ids));
  return b.CreateAndReduce(b.CreateICmpEQ(offsets, run));
}

} // namespace tl::cpu

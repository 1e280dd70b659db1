// Packing: panels of B and of A as register tiles read them.
#include "backend/cpu/gemm_emitter.h"
#include "backend/cpu/transpose.h"
#include <algorithm>
#include <bit>

namespace tl::cpu {

// Runs that are short and far apart are no stream that the machine would see: they are asked of memory so many rows
// early, about the time that it takes. What is beyond the factor is not read for that.
constexpr int64_t kRowsAhead = 16;

Value* GemmEmitter::factor(DType memory, Value* raw) {
  Value* value = e.from_memory(memory, raw);
  if (!is_int(plan.acc) || memory == plan.acc) return value;
  llvm::Type* wide = e.like(value, element);
  return is_unsigned(memory) || memory == DType::Bool ? b.CreateZExt(value, wide) : b.CreateSExt(value, wide);
}

Value* GemmEmitter::pair(DType memory, Value* first, Value* second) {
  auto half = [&](Value* raw) {
    llvm::Type* type = e.like(raw, b.getInt16Ty());
    Value* value = memory == DType::I8 ? b.CreateSExt(raw, type) : b.CreateZExtOrTrunc(raw, type);
    return b.CreateZExt(value, e.like(raw, element));
  };
  return b.CreateOr(half(first), b.CreateShl(half(second), 16));
}

Value* GemmEmitter::packed_factor(DType memory, Value* kk, Value* end, const std::function<Value*(Value* kk)>& raw) {
  if (plan.group == 1) return factor(memory, raw(kk));
  Value *next = b.CreateAdd(kk, number(1)), *first = raw(kk);
  Value *there = b.CreateICmpSLT(next, end), *second = raw(b.CreateSelect(there, next, kk));
  return pair(memory, first, b.CreateSelect(there, second, llvm::Constant::getNullValue(second->getType())));
}

Values GemmEmitter::transposed_block(DType memory, const Values& places) {
  if (plan.group == 1) return load_transposed(b, element, places, [](llvm::Instruction*) {});
  constexpr unsigned halves = 8; // in 16 bytes
  llvm::Type *type = e.memory_type(memory), *wide = llvm::FixedVectorType::get(b.getInt16Ty(), halves);
  auto* pairs = llvm::FixedVectorType::get(element, halves / 2);
  const llvm::Align memory_align(static_cast<uint64_t>(size_of(memory)));
  return transposed(b, element, places.size(), [&](size_t row, size_t q) {
    Value* place = b.CreateConstInBoundsGEP1_64(type, places[row], halves * q);
    Value* raw = b.CreateAlignedLoad(llvm::FixedVectorType::get(type, halves), place, memory_align);
    return b.CreateBitCast(memory == DType::I8 ? b.CreateSExt(raw, wide) : b.CreateZExtOrTrunc(raw, wide), pairs);
  });
}

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
  } else if ((plan.b_transposed || plan.tables) && transposes(plan.b_type)) {
    repeat(number(0), columns, plan.lanes, [&](Value* j) { // tiles read no vector without columns
      Value *here = b.CreateAdd(source, multiply(j, b_col)), *to_here = at(target, j), *left = b.CreateSub(columns, j);
      auto block = [&](Value* kk) { pack_transposed(b.CreateAdd(here, sum_offset(kk, B, b_row)), to_here, kk, left); };
      auto rows_between = [&](Value* from, Value* to) { pack_rows(here, to_here, from, to, left, 1); };
      if (!plan.b_transposed) return pack_blocks(length, block, rows_between);
      Value* blocks = b.CreateAnd(length, number(-along_sum(plan.lanes)));
      repeat(number(0), blocks, along_sum(plan.lanes), block);
      rows_between(blocks, length);
    });
  } else {
    pack_rows(source, target, number(0), length, columns, vectors);
  }
}

void GemmEmitter::pack_blocks(Value* length, const std::function<void(Value* kk)>& transposed,
                              const std::function<void(Value* from, Value* to)>& rows_between) {
  const int64_t depth = along_sum(plan.lanes);
  Value* blocks = b.CreateAnd(length, number(-depth));
  repeat(number(0), blocks, depth, [&](Value* kk) {
    Value* run = is_run(b_table, kk, depth);
    only_if(run, [&] { transposed(kk); });
    rows_between(kk, b.CreateSelect(run, kk, b.CreateAdd(kk, number(depth))));
  });
  rows_between(blocks, length);
}

Values GemmEmitter::pack_rows(Value* source, Value* target, Value* from, Value* to, Value* columns, int64_t vectors) {
  llvm::Align memory_align(static_cast<uint64_t>(size_of(plan.b_type)));
  auto* raw_type = llvm::FixedVectorType::get(b_memory, static_cast<unsigned>(plan.lanes));
  repeat(from, to, plan.group, [&](Value* kk) {
    for (int64_t v = 0; v < vectors; ++v) {
      lanes(plan.lanes);
      if (columns) e.lanes_.mask = e.tail_mask(maximum(b.CreateSub(columns, number(v * plan.lanes)), number(0)));
      Value* mask = e.lanes_.mask ? e.lanes_.mask : e.splat(b.getTrue());
      Value *zero = llvm::Constant::getNullValue(raw_type), *column = multiply(number(v * plan.lanes), b_col);
      auto raw = [&](Value* row) -> Value* {
        Value* base =
            b.CreateGEP(b_memory, b_start_of_all, b.CreateAdd(source, b.CreateAdd(sum_offset(row, B, b_row), column)));
        if (plan.b_contiguous) e.prefetch(b.CreateGEP(b_memory, base, multiply(b_row, number(kRowsAhead))));
        if (plan.b_contiguous && !columns) return b.CreateAlignedLoad(raw_type, base, memory_align);
        if (plan.b_contiguous) return b.CreateMaskedLoad(raw_type, base, memory_align, mask, zero);
        Value* places = b.CreateGEP(b_memory, base, e.in_lanes(Val::line(number(0), b_col)));
        return e.gather(raw_type, places, mask, [](llvm::Instruction*) {});
      };
      Value* place = b.CreateAdd(multiply(packed_row(kk), number(plan.nr)), number(v * plan.lanes));
      b.CreateAlignedStore(packed_factor(plan.b_type, kk, to, raw), at(target, place), align);
      lanes(0);
    }
  });
  return {};
}

void GemmEmitter::pack_transposed(Value* source, Value* target, Value* kk, Value* columns) {
  Values places;
  for (int64_t c = 0; c < plan.lanes; ++c) {
    Value* column = minimum(number(c), b.CreateSub(columns, number(1)));
    places.push_back(b.CreateGEP(b_memory, b_start_of_all, b.CreateAdd(source, multiply(column, b_col))));
  }
  const Values x = transposed_block(plan.b_type, places);
  for (int64_t r = 0; r < plan.lanes; ++r) {
    Value* place = multiply(b.CreateAdd(packed_row(kk), number(r)), number(plan.nr));
    b.CreateAlignedStore(x[static_cast<size_t>(r)], at(target, place), align);
  }
}

// Blocks of mr columns of A, and in each all panels: so memory is read in stretches as long as they are. A block whose
// rows lie along the sum is transposed in registers; rows side by side are a load for each column.
Values GemmEmitter::pack_a(Value* a_start, Value* length) {
  llvm::Type* memory = a_memory;
  const llvm::Align memory_align(static_cast<uint64_t>(size_of(plan.a_type)));
  auto* side_by_side = llvm::FixedVectorType::get(memory, static_cast<unsigned>(plan.mr));
  const bool may_transpose = transposes(plan.a_type) && std::has_single_bit(static_cast<uint64_t>(plan.mr));
  // `count` packed columns; at_once: whether they lie along the sum, or nothing
  auto columns_at = [&](Value* kk, int64_t count, Value* at_once) {
    auto column = [&](int64_t c) { return b.CreateAdd(kk, number(along_sum(c))); };
    Values from_kk;
    for (int64_t c = 0; c < count; ++c)
      from_kk.push_back(sum_offset(column(c), A, a_col));
    repeat(number(0), rows, plan.mr, [&](Value* i) {
      Value *left = b.CreateSub(rows, i), *last = b.CreateSub(minimum(left, number(plan.mr)), number(1));
      Values row; // where each begins; beyond the last as the last
      for (int64_t r = 0; r < plan.mr; ++r) {
        Value* from = b.CreateAdd(i, minimum(number(r), last));
        from = plan.scattered ? from_table(row_table, b.CreateAdd(i0, from)) : multiply(from, a_row);
        row.push_back(b.CreateGEP(memory, a_start_of_all, b.CreateAdd(a_start, from)));
      }
      auto target = [&](int64_t c) {
        return at(local, b.CreateAdd(multiply(i, length), multiply(packed_row(column(c)), number(plan.mr))));
      };
      if (at_once)
        only_if(at_once, [&] {
          Values places;
          for (Value* place : row)
            places.push_back(b.CreateGEP(memory, place, from_kk[0]));
          const Values block = transposed_block(plan.a_type, places);
          for (int64_t c = 0; c < count; ++c)
            b.CreateAlignedStore(block[static_cast<size_t>(c)], target(c), align);
        });
      Value* along_rows = b.CreateICmpSGE(left, number(plan.mr));
      for (int64_t r = 1; r < plan.mr; ++r) {
        Value* next = b.CreateGEP(memory, row[0], number(r));
        along_rows = b.CreateAnd(along_rows, b.CreateICmpEQ(row[static_cast<size_t>(r)], next));
      }
      Value* neither = b.CreateNot(along_rows);
      if (at_once) {
        along_rows = b.CreateAnd(along_rows, b.CreateNot(at_once));
        neither = b.CreateAnd(neither, b.CreateNot(at_once));
      }
      only_if(along_rows, [&] {
        for (int64_t c = 0; c < count; ++c) {
          auto raw = [&](Value* here) -> Value* {
            Value* from = plan.group == 1 ? from_kk[static_cast<size_t>(c)] : sum_offset(here, A, a_col);
            Value* place = b.CreateGEP(memory, row[0], from);
            if (is_even(A)) e.prefetch(b.CreateGEP(memory, place, multiply(a_col, number(kRowsAhead))));
            return b.CreateAlignedLoad(side_by_side, place, memory_align);
          };
          b.CreateAlignedStore(packed_factor(plan.a_type, column(c), length, raw), target(c), align);
        }
      });
      only_if(neither, [&] {
        repeat(number(0), number(count), 1, [&](Value* c) {
          Value* at_column = b.CreateAdd(kk, multiply(c, number(plan.group)));
          Value* to = at(target(0), multiply(c, number(plan.mr)));
          for (int64_t r = 0; r < plan.mr; ++r) {
            auto raw = [&](Value* here) {
              Value* place = b.CreateGEP(memory, row[static_cast<size_t>(r)], sum_offset(here, A, a_col));
              return b.CreateAlignedLoad(memory, place, memory_align);
            };
            b.CreateAlignedStore(packed_factor(plan.a_type, at_column, length, raw), at(to, number(r)), align);
          }
        });
      });
    });
  };
  Value* whole = number(0);
  if (may_transpose) {
    const int64_t depth = along_sum(plan.mr);
    whole = b.CreateSub(length, b.CreateURem(length, number(depth)));
    repeat(number(0), whole, depth, [&](Value* kk) {
      columns_at(kk, plan.mr, is_even(A) ? b.CreateICmpEQ(a_col, number(1)) : is_run(a_table, kk, depth));
    });
  }
  repeat(whole, length, plan.group, [&](Value* kk) { columns_at(kk, 1, nullptr); });
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

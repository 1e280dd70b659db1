// Packing: panels of B and of A as register tiles read them.
#include "backend/cpu/gemm_emitter.h"
#include "backend/cpu/transpose.h"
#include <algorithm>

namespace tl::cpu {

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
    e.branch(full, [&] { return pack_rows(source, target, number(0), length, nullptr, 0, vectors); }, {});
    e.branch(b.CreateNot(full), [&] { return pack_rows(source, target, number(0), length, columns, 0, vectors); }, {});
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

Values GemmEmitter::pack_rows(Value* source, Value* target, Value* from, Value* to, Value* columns, int64_t first,
                              int64_t last) {
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

void GemmEmitter::pack_transposed(Value* source, Value* target, Value* kk, int64_t v) {
  Values x;
  for (int64_t c = 0; c < plan.lanes; ++c) {
    Value* offset = b.CreateAdd(b.CreateAdd(source, kk), multiply(number(v * plan.lanes + c), b_col));
    x.push_back(b.CreateAlignedLoad(vector, at(b_start_of_all, offset), align));
  }
  x = transposed(b, std::move(x), size_of(plan.acc));
  for (int64_t r = 0; r < plan.lanes; ++r) {
    Value* place = b.CreateAdd(multiply(b.CreateAdd(kk, number(r)), number(plan.nr)), number(v * plan.lanes));
    b.CreateAlignedStore(x[static_cast<size_t>(r)], at(target, place), align);
  }
}

Values GemmEmitter::pack_a(Value* a_start, Value* length) {
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
  if (is_even(A))
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

} // namespace tl::cpu

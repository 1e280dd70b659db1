// Columns of B that are a number over several axes, as those of a convolution: tables tell where each is.
#include "backend/cpu/gemm_emitter.h"

namespace tl::cpu {

void GemmEmitter::emit_tables(const std::string& symbol) {
  begin(symbol);
  repeat(e.function_->getArg(1), e.function_->getArg(2), 1, [&](Value* tile) {
    Value* from = multiply(tile, number(GemmPlan::kTableBlock));
    Value* to = b.CreateAdd(from, number(GemmPlan::kTableBlock));
    Value* has_columns = b.CreateICmpSLT(from, n); // the last part has those of its last panel
    Value* last = b.CreateICmpSLE(n, to);
    Value* end = b.CreateSelect(last, b.CreateAdd(n, number(plan.nr)), to);
    fill_table(column_table, column_axes, B, n, from, b.CreateSelect(has_columns, end, from));
    const std::vector<Axis> one{{k, {a_col, b_row}}};
    const std::vector<Axis>& axes = sum_axes.empty() ? one : sum_axes;
    fill_table(b_table, axes, B, k, from, minimum(to, k));
    if (!gemm.a_sums_evenly) fill_table(a_table, axes, A, k, from, minimum(to, k));
  });
  e.end_function();
}

void GemmEmitter::fill_table(Value* table, const std::vector<Axis>& axes, Tensor tensor, Value* count, Value* from,
                             Value* to) {
  e.loop(from, to, 1, positions(axes, from), [&](Value* i, const Values& position) {
    b.CreateStore(offset(axes, position, tensor), b.CreateInBoundsGEP(b.getInt64Ty(), table, i));
    Values next = position;
    Value* carry = b.CreateICmpSLT(b.CreateAdd(i, number(1)), count);
    for (size_t axis = axes.size(); axis-- > 0;) {
      Value* moved = b.CreateAdd(position[axis], b.CreateZExt(carry, b.getInt64Ty()));
      carry = b.CreateICmpEQ(moved, axes[axis].count);
      next[axis] = axis == 0 ? moved : b.CreateSelect(carry, number(0), moved);
    }
    return next;
  });
}

// A vector of columns is mostly one run or two of elements side by side: then each is a load, for two with masks. What
// else there is is gathered.
void GemmEmitter::pack_by_tables(Value* matrix, Value* column, Value* target, Value* length, Value* columns) {
  const int64_t vectors = plan.nr / plan.lanes;
  llvm::Type* memory = e.memory_type(gemm.type);
  llvm::Align memory_align(static_cast<uint64_t>(size_of(gemm.type)));
  auto* raw_type = llvm::FixedVectorType::get(memory, static_cast<unsigned>(plan.lanes));
  Value* none = llvm::Constant::getNullValue(raw_type);
  lanes(plan.lanes);
  struct Vector {
    Value *offsets, *valid, *first, *last, *in_first, *in_last;
  };
  std::vector<Vector> parts;
  Value *are_one = b.getTrue(), *are_two = b.getTrue();
  for (int64_t v = 0; v < vectors; ++v) {
    Vector x{};
    auto* type = llvm::FixedVectorType::get(b.getInt64Ty(), static_cast<unsigned>(plan.lanes));
    Value* from = b.CreateInBoundsGEP(b.getInt64Ty(), column_table, b.CreateAdd(column, number(v * plan.lanes)));
    Value* left = b.CreateSub(columns, number(v * plan.lanes));
    left = maximum(minimum(left, number(plan.lanes)), number(0));
    x.valid = e.tail_mask(left);
    // Of a vector beyond the last column, what its first lane is, is not looked at.
    x.offsets = b.CreateMaskedLoad(type, from, llvm::Align(8), x.valid, llvm::Constant::getNullValue(type));
    Value* runs = b.CreateSub(x.offsets, e.lane_ids(b.getInt64Ty()));
    x.first = b.CreateExtractElement(runs, number(0));
    x.last = b.CreateExtractElement(runs, maximum(b.CreateSub(left, number(1)), number(0)));
    x.in_first = b.CreateAnd(x.valid, b.CreateICmpEQ(runs, e.splat(x.first)));
    x.in_last = b.CreateAnd(b.CreateAnd(x.valid, b.CreateNot(x.in_first)), b.CreateICmpEQ(runs, e.splat(x.last)));
    are_one = b.CreateAnd(are_one, b.CreateAndReduce(x.in_first));
    Value* in_any = b.CreateOr(b.CreateOr(x.in_first, x.in_last), b.CreateNot(x.valid));
    are_two = b.CreateAnd(are_two, b.CreateAndReduce(in_any));
    parts.push_back(x);
  }
  lanes(0);
  using Read = std::function<Value*(Value * row, const Vector& x)>;
  auto rows_by = [&](Value* condition, const Read& read) {
    e.branch(condition,
             [&] {
               repeat(number(0), length, 1, [&](Value* kk) {
                 Value* place = b.CreateInBoundsGEP(b.getInt64Ty(), b_table, b.CreateAdd(chunk_start, kk));
                 Value* row =
                     b.CreateGEP(memory, b_start_of_all, b.CreateAdd(matrix, b.CreateLoad(b.getInt64Ty(), place)));
                 lanes(plan.lanes);
                 for (int64_t v = 0; v < vectors; ++v) {
                   Value* raw = read(row, parts[static_cast<size_t>(v)]);
                   Value* to = b.CreateAdd(multiply(kk, number(plan.nr)), number(v * plan.lanes));
                   b.CreateAlignedStore(e.from_memory(gemm.type, raw), at(target, to), align);
                 }
                 lanes(0);
               });
               return Values{};
             },
             {});
  };
  auto run = [&](Value* row, Value* start, Value* mask) -> Value* {
    return b.CreateMaskedLoad(raw_type, b.CreateGEP(memory, row, start), memory_align, mask, none);
  };
  rows_by(are_one, [&](Value* row, const Vector& x) -> Value* {
    return b.CreateAlignedLoad(raw_type, b.CreateGEP(memory, row, x.first), memory_align);
  });
  rows_by(b.CreateAnd(are_two, b.CreateNot(are_one)), [&](Value* row, const Vector& x) {
    return b.CreateSelect(x.in_first, run(row, x.first, x.in_first), run(row, x.last, x.in_last));
  });
  rows_by(b.CreateNot(are_two), [&](Value* row, const Vector& x) -> Value* {
    return b.CreateMaskedGather(raw_type, b.CreateGEP(memory, row, x.offsets), memory_align, x.valid, none);
  });
}

} // namespace tl::cpu

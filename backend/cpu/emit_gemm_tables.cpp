// Columns of B that are a number over several axes, as those of a convolution: tables tell where each is.
#include "backend/cpu/gemm_emitter.h"
#include "backend/cpu/transpose.h"
#include <algorithm>

namespace tl::cpu {

void GemmEmitter::emit_tables(const std::string& symbol) {
  begin(symbol);
  repeat(e.function_->getArg(1), e.function_->getArg(2), 1, [&](Value* tile) {
    Value* from = multiply(tile, number(GemmPlan::kTableBlock));
    Value* to = b.CreateAdd(from, number(GemmPlan::kTableBlock));
    if (plan.dots) {
      fill_table(column_table, column_axes, B, n, from, minimum(to, n));
      fill_table(a_column_table, column_axes, A, n, from, minimum(to, n));
      if (sum_axes.empty()) return;
      fill_table(b_table, sum_axes, B, k, from, minimum(to, k));
      fill_table(a_table, sum_axes, A, k, from, minimum(to, k));
      return;
    }
    Value* has_columns = b.CreateICmpSLT(from, n); // the last part has those of its last panel
    Value* last = b.CreateICmpSLE(n, to);
    Value* end = b.CreateSelect(last, b.CreateAdd(n, number(plan.nr)), to);
    if (plan.by_tables) fill_table(column_table, column_axes, B, n, from, b.CreateSelect(has_columns, end, from));
    const std::vector<Axis> one{{k, {a_col, b_row}}};
    const std::vector<Axis>& axes = sum_axes.empty() ? one : sum_axes;
    fill_table(b_table, axes, B, k, from, minimum(to, k));
    if (!gemm.a_sums_evenly) fill_table(a_table, axes, A, k, from, minimum(to, k));
    if (!plan.scattered) return;
    fill_table(c_column_table, column_axes, C, n, from, minimum(to, n));
    fill_table(c_row_table, row_axes, C, m, from, minimum(to, m));
    fill_table(row_table, row_axes, A, m, from, minimum(to, m));
  });
  e.end_function();
}

void GemmEmitter::fill_table(Value* table, std::vector<Axis> axes, Tensor tensor, Value* count, Value* from,
                             Value* to) {
  for (Axis& axis : axes) // of nothing there are no entries, but it is divided by
    axis.count = maximum(axis.count, number(1));
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

// A vector of columns is mostly one run or two of elements side by side, or a few apart: then each is one load or some,
// for two with masks. Where it is several short runs, as of a small image, all between them is loaded and permuted.
// What else there is is gathered.
void GemmEmitter::pack_by_tables(Value* matrix, Value* column, Value* target, Value* length, Value* columns) {
  const int64_t vectors = plan.nr / plan.lanes;
  llvm::Type* memory = b_memory;
  llvm::Align memory_align(static_cast<uint64_t>(size_of(plan.b_type)));
  auto* raw_type = llvm::FixedVectorType::get(memory, static_cast<unsigned>(plan.lanes));
  Value* none = llvm::Constant::getNullValue(raw_type);
  lanes(plan.lanes);
  struct Vector {
    Value *offsets, *valid, *first, *last, *in_first, *in_last;
    Value *places = nullptr, *span = nullptr; // of `near`: the distance from the first, and that of the furthest
  };
  // Narrow elements are permuted as integers of 32 bits.
  const bool narrow = size_of(plan.b_type) < 4;
  const unsigned bits = narrow ? 32 : static_cast<unsigned>(8 * size_of(plan.b_type));
  const bool permutes = step_of_columns() == 1 && e.can_permute(bits) && (!narrow || e.machine_.avx512) &&
                        plan.lanes * bits == 8 * e.machine_.vector_bytes();
  llvm::Type* number_type = b.getIntNTy(bits);
  auto* numbers = llvm::FixedVectorType::get(number_type, static_cast<unsigned>(plan.lanes));
  auto* in_memory = llvm::FixedVectorType::get(b.getIntNTy(static_cast<unsigned>(8 * size_of(plan.b_type))),
                                               static_cast<unsigned>(plan.lanes));
  const int64_t step = step_of_columns();
  std::vector<Vector> parts;
  Value *are_one = b.getTrue(), *are_two = b.getTrue(), *are_near = b.getTrue();
  for (int64_t v = 0; v < vectors; ++v) {
    Vector x{};
    auto* type = llvm::FixedVectorType::get(b.getInt64Ty(), static_cast<unsigned>(plan.lanes));
    Value* from = b.CreateInBoundsGEP(b.getInt64Ty(), column_table, b.CreateAdd(column, number(v * plan.lanes)));
    Value* left = b.CreateSub(columns, number(v * plan.lanes));
    left = maximum(minimum(left, number(plan.lanes)), number(0));
    x.valid = e.tail_mask(left);
    // Of a vector beyond the last column, what its first lane is, is not looked at.
    x.offsets = b.CreateMaskedLoad(type, from, llvm::Align(8), x.valid, llvm::Constant::getNullValue(type));
    Value* runs = b.CreateSub(x.offsets, b.CreateMul(e.lane_ids(b.getInt64Ty()), e.splat(number(step))));
    x.first = b.CreateExtractElement(runs, number(0));
    x.last = b.CreateExtractElement(runs, maximum(b.CreateSub(left, number(1)), number(0)));
    x.in_first = b.CreateAnd(x.valid, b.CreateICmpEQ(runs, e.splat(x.first)));
    x.in_last = b.CreateAnd(b.CreateAnd(x.valid, b.CreateNot(x.in_first)), b.CreateICmpEQ(runs, e.splat(x.last)));
    are_one = b.CreateAnd(are_one, b.CreateAndReduce(x.in_first));
    Value* in_any = b.CreateOr(b.CreateOr(x.in_first, x.in_last), b.CreateNot(x.valid));
    are_two = b.CreateAnd(are_two, b.CreateAndReduce(in_any));
    if (permutes) {
      Value* distance = b.CreateSub(x.offsets, e.splat(x.first));
      distance = b.CreateSelect(x.valid, distance, llvm::Constant::getNullValue(type));
      are_near = b.CreateAnd(are_near, b.CreateAndReduce(b.CreateICmpULT(distance, e.splat(number(2 * plan.lanes)))));
      x.places = b.CreateTrunc(distance, numbers);
      x.span = b.CreateIntMaxReduce(x.places, false);
      x.span =
          b.CreateSelect(b.CreateICmpEQ(left, number(0)), b.getIntN(bits, 0), b.CreateAdd(x.span, b.getIntN(bits, 1)));
    }
    parts.push_back(x);
  }
  lanes(0);
  using Read = std::function<Value*(Value * row, const Vector& x)>;
  auto place_of = [&](Value* kk, int64_t v) {
    return at(target, b.CreateAdd(multiply(packed_row(kk), number(plan.nr)), number(v * plan.lanes)));
  };
  auto row_at = [&](Value* kk) {
    return b.CreateGEP(memory, b_start_of_all, b.CreateAdd(matrix, from_table(b_table, b.CreateAdd(chunk_start, kk))));
  };
  auto rows_between = [&](Value* from, Value* to, const Read& read) {
    repeat(from, to, plan.group, [&](Value* kk) {
      lanes(plan.lanes);
      for (int64_t v = 0; v < vectors; ++v) {
        auto raw = [&](Value* kk) { return read(row_at(kk), parts[static_cast<size_t>(v)]); };
        b.CreateAlignedStore(packed_factor(plan.b_type, kk, to, raw), place_of(kk, v), align);
      }
      lanes(0);
    });
  };
  auto rows_by = [&](Value* condition, const Read& read) {
    only_if(condition, [&] { rows_between(number(0), length, read); });
  };
  // Every `step`-th element from `start` on, of the lanes in `mask` or of all.
  auto run = [&](Value* row, Value* start, Value* mask) -> Value* {
    Value* result = none;
    for (int64_t part = 0; part < step; ++part) {
      const int64_t begin = std::min(part * plan.lanes, step * (plan.lanes - 1) + 1 - plan.lanes);
      std::vector<int> wanted,
          picks; // for which lane each element is; of what came before and these, what each lane has
      for (int64_t i = 0; i < plan.lanes; ++i) {
        wanted.push_back(static_cast<int>((begin + i) % step == 0 ? (begin + i) / step : plan.lanes));
        picks.push_back(static_cast<int>(i * step / plan.lanes == part ? plan.lanes + i * step - begin : i));
      }
      Value* place = b.CreateGEP(memory, row, b.CreateAdd(start, number(begin)));
      Value* loaded = nullptr;
      if (mask) {
        Value* here = b.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), wanted);
        loaded = b.CreateMaskedLoad(raw_type, place, memory_align, here, none);
      } else {
        loaded = b.CreateAlignedLoad(raw_type, place, memory_align);
      }
      result = b.CreateShuffleVector(result, loaded, picks);
    }
    return result;
  };
  rows_by(are_one, [&](Value* row, const Vector& x) { return run(row, x.first, nullptr); });
  rows_by(b.CreateAnd(are_two, b.CreateNot(are_one)), [&](Value* row, const Vector& x) {
    return b.CreateSelect(x.in_first, run(row, x.first, x.in_first), run(row, x.last, x.in_last));
  });
  if (permutes)
    rows_by(b.CreateAnd(are_near, b.CreateNot(are_two)), [&](Value* row, const Vector& x) {
      Values parts;
      for (int64_t part = 0; part < 2; ++part) {
        auto* from = number(part * plan.lanes);
        Value* wanted = b.CreateAdd(e.lane_ids(number_type), e.splat(b.CreateTrunc(from, number_type)));
        Value* mask = b.CreateICmpULT(wanted, e.splat(x.span));
        Value* place = b.CreateGEP(memory, row, b.CreateAdd(x.first, from));
        Value* loaded =
            b.CreateMaskedLoad(in_memory, place, memory_align, mask, llvm::Constant::getNullValue(in_memory));
        parts.push_back(b.CreateZExt(loaded, numbers));
      }
      return b.CreateBitCast(b.CreateTrunc(e.permute(parts, x.places), in_memory), raw_type);
    });
  const Read gather = [&](Value* row, const Vector& x) -> Value* {
    return e.gather(raw_type, b.CreateGEP(memory, row, x.offsets), x.valid, [](llvm::Instruction*) {});
  };
  are_two = permutes ? b.CreateOr(are_two, are_near) : are_two;
  only_if(b.CreateNot(are_two), [&] {
    if (!transposes(plan.b_type)) return rows_between(number(0), length, gather);
    auto transposed = [&](Value* kk) {
      Value *row = row_at(kk), *last = b.CreateSub(columns, number(1));
      repeat(number(0), columns, plan.lanes, [&](Value* j) {
        Values places; // beyond the last column as that
        for (int64_t i = 0; i < plan.lanes; ++i) {
          Value* at_column = b.CreateAdd(column, minimum(b.CreateAdd(j, number(i)), last));
          places.push_back(b.CreateGEP(memory, row, from_table(column_table, at_column)));
        }
        const Values block = transposed_block(plan.b_type, places);
        for (int64_t r = 0; r < plan.lanes; ++r)
          b.CreateAlignedStore(block[static_cast<size_t>(r)], at(place_of(b.CreateAdd(kk, number(along_sum(r))), 0), j),
                               align);
      });
    };
    pack_blocks(length, transposed, [&](Value* from, Value* to) { rows_between(from, to, gather); });
  });
}

GemmEmitter::Places GemmEmitter::places_of(Value* j, Value* mask) {
  auto* type = llvm::FixedVectorType::get(b.getInt64Ty(), static_cast<unsigned>(plan.lanes));
  auto* bits = b.getIntNTy(static_cast<unsigned>(plan.lanes));
  Places x{};
  x.j = j, x.mask = mask;
  Value* all = mask ? mask : e.splat(b.getTrue());
  Value* from = b.CreateInBoundsGEP(b.getInt64Ty(), c_column_table, j);
  x.offsets = b.CreateMaskedLoad(type, from, llvm::Align(8), all, llvm::Constant::getNullValue(type), "columns_of_c");
  Value* runs = b.CreateSub(x.offsets, e.lane_ids(b.getInt64Ty()));
  // From the left, each with the lanes that are of it.
  Value* left = all;
  for (int i = 0; i < Places::kRuns; ++i) {
    Value* lane = b.CreateBinaryIntrinsic(in::cttz, b.CreateBitCast(left, bits), b.getFalse());
    lane = minimum(b.CreateZExtOrTrunc(lane, b.getInt64Ty()), number(plan.lanes - 1));
    x.start.push_back(b.CreateSub(from_table(c_column_table, b.CreateAdd(j, lane)), lane));
    x.lanes.push_back(b.CreateAnd(left, b.CreateICmpEQ(runs, e.splat(x.start.back()))));
    left = b.CreateAnd(left, b.CreateNot(x.lanes.back()));
    x.are_more.push_back(e.any(left));
  }
  return x;
}

// A few runs of elements side by side are stored as vectors, one after the other from the left.
void GemmEmitter::store_at(const Places& x, Value* result, Value* row) {
  const DType memory = e.kernel_.params[gemm.c].dtype;
  llvm::Type* c_element = e.memory_type(memory);
  const llvm::Align c_align(static_cast<uint64_t>(size_of(memory)));
  Value* place = b.CreateInBoundsGEP(c_element, e.pointer(gemm.c), row);
  only_if(b.CreateNot(x.are_more.back()), [&] {
    std::function<void(size_t)> store = [&](size_t i) {
      b.CreateMaskedStore(result, b.CreateGEP(c_element, place, x.start[i]), c_align, x.lanes[i]);
      if (i + 1 < x.start.size()) only_if(x.are_more[i], [&] { store(i + 1); });
    };
    store(0);
  });
  // One by one: that is no slower than a scatter is on any processor, and on most much faster.
  only_if(x.are_more.back(), [&] {
    auto one = [&](int64_t lane) {
      Value* offset = from_table(c_column_table, b.CreateAdd(x.j, number(lane)));
      b.CreateAlignedStore(b.CreateExtractElement(result, number(lane)), b.CreateGEP(c_element, place, offset),
                           c_align);
    };
    if (!x.mask) {
      for (int64_t lane = 0; lane < plan.lanes; ++lane)
        one(lane);
      return;
    }
    b.CreateMaskedScatter(result, b.CreateInBoundsGEP(c_element, place, x.offsets), c_align, x.mask);
  });
}

} // namespace tl::cpu

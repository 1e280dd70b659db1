// Sums of products of which no factor has an axis of its own: as many dot products as C has elements.
//
// Each is chunks of kContractChunk products, and each chunk a chain, so lanes are different dot products, or, where
// these are few, different chunks of one; where both factors lie along the sum, blocks are transposed in registers.
// The sums of chunks go to workspace, [chunk][dot product], and phase 2 adds them from left to right.
#include "backend/cpu/gemm_emitter.h"
#include "backend/cpu/transpose.h"

namespace tl::cpu {

void GemmEmitter::emit_dots(const std::string& symbol) {
  begin(symbol);
  Value* ranges = ceiling(chunks, GemmPlan::kDotChunks);
  Value* few = b.CreateICmpNE(e.formula(plan.few_dots), number(0));
  repeat(e.function_->getArg(1), e.function_->getArg(2), 1, [&](Value* tile) {
    Value* from = multiply(b.CreateURem(tile, ranges), number(GemmPlan::kDotChunks));
    Value* to = minimum(b.CreateAdd(from, number(GemmPlan::kDotChunks)), chunks);
    Value* block = b.CreateUDiv(tile, ranges);
    if (sum_axes.empty()) only_if(few, [&] { dot_by_chunks(block, from, to); });
    only_if(b.CreateNot(few), [&] { dots_side_by_side(multiply(block, number(plan.lanes)), from, to); });
  });
  e.end_function();
}

Value* GemmEmitter::dot_place(Value* table, Value* start, Value* which) { return at(start, from_table(table, which)); }

Value* GemmEmitter::chunk_sum_at(Value* chunk, Value* which) {
  return at(packed, b.CreateAdd(multiply(chunk, n), which));
}

// `lanes` elements of each lane's row from kk on, transposed: what they add to the lanes' chains.
Value* GemmEmitter::add_transposed(const Values& x, const Values& y, Value* from_x, Value* from_y, Value* sum) {
  Values left, right;
  for (size_t lane = 0; lane < x.size(); ++lane) {
    left.push_back(at(x[lane], from_x));
    right.push_back(at(y[lane], from_y));
  }
  const Values columns = load_transposed(b, element, left, [](llvm::Instruction*) {});
  const Values others = load_transposed(b, element, right, [](llvm::Instruction*) {});
  for (size_t k = 0; k < columns.size(); ++k)
    sum = add_product(columns[k], others[k], sum);
  return sum;
}

// Chunks [from, to) of one dot product, whose factors lie along the sum. The last, if it is not whole, by itself.
void GemmEmitter::dot_by_chunks(Value* which, Value* from, Value* to) {
  Value *x = dot_place(a_column_table, a_start_of_all, which), *y = dot_place(column_table, b_start_of_all, which);
  Value *whole = minimum(to, b.CreateUDiv(k, number(kContractChunk))), *last = b.CreateSub(whole, number(1));
  lanes(plan.lanes);
  repeat(from, whole, plan.lanes, [&](Value* first) {
    Values left, right;
    for (int64_t lane = 0; lane < plan.lanes; ++lane) {
      Value* begin = multiply(minimum(b.CreateAdd(first, number(lane)), last), number(kContractChunk));
      left.push_back(at(x, begin));
      right.push_back(at(y, begin));
    }
    Value* sum = e.loop(
        number(0), number(kContractChunk), plan.lanes, {llvm::Constant::getNullValue(vector)},
        [&](Value* kk, const Values& now) -> Values { return {add_transposed(left, right, kk, kk, now[0])}; })[0];
    repeat(number(0), minimum(number(plan.lanes), b.CreateSub(whole, first)), 1, [&](Value* lane) {
      b.CreateAlignedStore(b.CreateExtractElement(sum, lane), chunk_sum_at(b.CreateAdd(first, lane), which), align);
    });
  });
  lanes(0);
  repeat(maximum(whole, from), to, 1, [&](Value* chunk) {
    Value* begin = multiply(chunk, number(kContractChunk));
    Value* sum = e.loop(begin, k, 1, {llvm::Constant::getNullValue(element)}, [&](Value* kk, const Values& now) {
      auto factor = [&](Value* start) { return b.CreateAlignedLoad(element, at(start, kk), align); };
      return Values{b.CreateIntrinsic(in::fma, {element}, {factor(x), factor(y), now[0]})};
    })[0];
    b.CreateAlignedStore(sum, chunk_sum_at(chunk, which), align);
  });
}

// Chunks [from, to) of the dot products from `first` on, one a lane; lanes beyond the last are as that.
void GemmEmitter::dots_side_by_side(Value* first, Value* from, Value* to) {
  Value* left = minimum(number(plan.lanes), b.CreateSub(n, first));
  Values x, y;
  for (int64_t lane = 0; lane < plan.lanes; ++lane) {
    Value* which = b.CreateAdd(first, minimum(number(lane), b.CreateSub(left, number(1))));
    x.push_back(dot_place(a_column_table, a_start_of_all, which));
    y.push_back(dot_place(column_table, b_start_of_all, which));
  }
  lanes(plan.lanes);
  Value* stored = e.tail_mask(left);
  repeat(from, to, 1, [&](Value* chunk) {
    chunk_start = multiply(chunk, number(kContractChunk));
    Value* length = minimum(number(kContractChunk), b.CreateSub(k, chunk_start));
    auto from_kk = [&](Value* kk, Tensor tensor, Value* stride) {
      return b.CreateAdd(chunk_offset(tensor, stride), sum_offset(kk, tensor, stride));
    };
    auto one_by_one = [&](Value* begin, Value* end, Value* sum) {
      return e.loop(begin, end, 1, {sum}, [&](Value* kk, const Values& now) -> Values {
        Value *in_x = from_kk(kk, A, a_col), *in_y = from_kk(kk, B, b_row);
        Value *factor = llvm::PoisonValue::get(vector), *other = factor;
        for (size_t lane = 0; lane < x.size(); ++lane) {
          factor = b.CreateInsertElement(factor, b.CreateAlignedLoad(element, at(x[lane], in_x), align), lane);
          other = b.CreateInsertElement(other, b.CreateAlignedLoad(element, at(y[lane], in_y), align), lane);
        }
        return {add_product(factor, other, now[0])};
      })[0];
    };
    Value* whole = b.CreateAnd(length, number(-plan.lanes));
    auto block = [&](Value* kk, Value* sum) {
      return add_transposed(x, y, from_kk(kk, A, a_col), from_kk(kk, B, b_row), sum);
    };
    Value* sum = e.loop(number(0), whole, plan.lanes, {llvm::Constant::getNullValue(vector)},
                        [&](Value* kk, const Values& now) -> Values {
                          if (sum_axes.empty()) return {block(kk, now[0])};
                          Value* runs = b.CreateAnd(is_run(a_table, kk, plan.lanes), is_run(b_table, kk, plan.lanes));
                          Value* after = e.branch(runs, [&] { return Values{block(kk, now[0])}; }, now)[0];
                          Value* end = b.CreateSelect(runs, kk, b.CreateAdd(kk, number(plan.lanes)));
                          return {one_by_one(kk, end, after)};
                        })[0];
    sum = one_by_one(whole, length, sum);
    b.CreateMaskedStore(sum, chunk_sum_at(chunk, first), align, stored);
  });
  lanes(0);
}

void GemmEmitter::combine_dots(const std::string& symbol) {
  begin(symbol);
  which_batch = i0 = number(0);
  rows = number(1);
  repeat(e.function_->getArg(1), e.function_->getArg(2), 1, [&](Value* tile) {
    j0 = c_start = multiply(tile, number(GemmPlan::kCombinedDots));
    columns = minimum(number(GemmPlan::kCombinedDots), b.CreateSub(n, j0));
    epilogue(whole_tile(), [&](Value*, Value* j) {
      Value* which = b.CreateAdd(j0, j);
      auto load = [&](Value* chunk) { return b.CreateAlignedLoad(vector, chunk_sum_at(chunk, which), align); };
      Value* some = b.CreateICmpSGT(k, number(0)); // a product over no elements is zero
      Value* first = e.branch(some, [&] { return Values{load(number(0))}; }, {llvm::Constant::getNullValue(vector)})[0];
      return e.loop(number(1), chunks, 1, {first},
                    [&](Value* chunk, const Values& sum) -> Values { return {b.CreateFAdd(sum[0], load(chunk))}; })[0];
    });
  });
  e.end_function();
}

} // namespace tl::cpu

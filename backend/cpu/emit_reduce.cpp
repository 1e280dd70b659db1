// Reductions and contractions in the orders of abi/orders.h.
//
// Four forms of a reduction give the same bits: along k with the 32 lanes of the order as one vector (outside vector
// code), with an array of 32 lanes each of which is a vector over the loop around it, element by element where the
// extent is a small constant, and with an array of as many lanes as there may be elements where these are few.
// Folding an identity is exact, so lanes without an element may be left out.
#include "backend/cpu/lane_array.h"
#include <bit>
#include <limits>

namespace tl::cpu {
using kir::Block;
using kir::Instr;
using kir::KOp;
using llvm::Value;
namespace in = llvm::Intrinsic;

namespace {

constexpr int kHalvings = 5; // of kSumLanes
static_assert(1 << kHalvings == kSumLanes);

bool is_arg(const Instr& instr) { return gives_position(instr.reduce); }
bool is_min(const Instr& instr) { return info(instr.reduce).combine == ScalarOp::Min; }
bool in_f64(const Instr& instr) { return total_type(instr.reduce, instr.dtype) != instr.dtype; } // chunks are added so

} // namespace

Partial Emitter::identity(const Instr& instr, bool varying) {
  Value* value = constant(instr.dtype, identity_of(instr.reduce, instr.dtype));
  if (varying) value = splat(value);
  if (!is_arg(instr)) return {value};
  return {value, llvm::ConstantInt::get(shaped(DType::I64, varying), std::numeric_limits<int64_t>::max())};
}

// x comes before y in the order of the fold. NaN wins; of equal elements the first stays. `ascending`: no position of y
// is before one of x. Then an element that is the identity has no position (with_first).
Partial Emitter::combine(const Instr& instr, Partial x, Partial y, bool ascending) {
  if (instr.blocks[0].yields.size() > 1) ascending = false; // the first element that is let through may be such
  bool real = is_float(instr.dtype), is_signed = !is_unsigned(instr.dtype) && instr.dtype != DType::Bool;
  switch (instr.reduce) {
  case ReduceOp::Sum: return {real ? b.CreateFAdd(x.v, y.v) : b.CreateAdd(x.v, y.v)};
  case ReduceOp::Prod: return {real ? b.CreateFMul(x.v, y.v) : b.CreateMul(x.v, y.v)};
  case ReduceOp::Any: return {b.CreateOr(x.v, y.v)};
  case ReduceOp::All: return {b.CreateAnd(x.v, y.v)};
  case ReduceOp::Min:
  case ReduceOp::Max:
  case ReduceOp::ArgMin:
  case ReduceOp::ArgMax: break;
  }
  bool least = is_min(instr);
  Value* better = nullptr;
  if (real && is_arg(instr) && ascending) {
    Value* beyond = least ? b.CreateFCmpULT(y.v, x.v) : b.CreateFCmpUGT(y.v, x.v);
    better = b.CreateAnd(beyond, b.CreateFCmpORD(x.v, x.v));
  } else if (real) {
    better = least ? b.CreateFCmpOLT(y.v, x.v) : b.CreateFCmpOGT(y.v, x.v);
    Value* y_is_nan = b.CreateFCmpUNO(y.v, y.v);
    // Two selects: the first is one instruction, and the second test does not wait for x.
    if (!is_arg(instr)) return {b.CreateSelect(y_is_nan, y.v, b.CreateSelect(better, y.v, x.v))};
    better = b.CreateOr(better, b.CreateAnd(y_is_nan, b.CreateFCmpORD(x.v, x.v)));
  } else if (is_signed) {
    better = least ? b.CreateICmpSLT(y.v, x.v) : b.CreateICmpSGT(y.v, x.v);
  } else {
    better = least ? b.CreateICmpULT(y.v, x.v) : b.CreateICmpUGT(y.v, x.v);
  }
  auto chosen = [&] { return Partial{b.CreateSelect(better, y.v, x.v), b.CreateSelect(better, y.index, x.index)}; };
  if (!is_arg(instr)) return {b.CreateSelect(better, y.v, x.v)};
  if (ascending) return chosen();
  // Lanes meet out of order: of equals the lower position counts, and identities have the highest of all.
  Value* equal = nullptr;
  if (real) {
    equal = b.CreateFCmpOEQ(x.v, y.v);
    equal = b.CreateOr(equal, b.CreateAnd(b.CreateFCmpUNO(x.v, x.v), b.CreateFCmpUNO(y.v, y.v)));
  } else {
    equal = b.CreateICmpEQ(x.v, y.v);
  }
  better = b.CreateOr(better, b.CreateAnd(equal, b.CreateICmpSLT(y.index, x.index)));
  return chosen();
}

// The result of the chunk from `begin` on, folded by ascending positions: without a position all elements are the
// identity, and the first is the one.
Partial Emitter::with_first(const Instr& instr, Partial result, Value* begin) {
  if (!result.index || instr.blocks[0].yields.size() > 1) return result;
  Value* none = llvm::ConstantInt::get(result.index->getType(), std::numeric_limits<int64_t>::max());
  Value* first = result.index->getType()->isVectorTy() ? splat(begin) : begin;
  result.index = b.CreateSelect(b.CreateICmpEQ(result.index, none), first, result.index);
  return result;
}

Value* Emitter::widen(const Instr& instr, Value* x) {
  return in_f64(instr) ? b.CreateFPExt(x, like(x, b.getDoubleTy())) : x;
}

// The element at k, the identity in its place where the block's mask is off. *taken gets the mask, if there is one.
Partial Emitter::element(const Instr& instr, Val k, Value** taken, bool varying) {
  const Block& body = instr.blocks[0];
  set(body.params[0], k);
  block(body);
  auto shape = [&](Val val) { return varying ? in_lanes(val) : val.v; };
  Partial result{shape(get(body.yields[0]))};
  if (is_arg(instr)) result.index = shape(k);
  Value* mask = body.yields.size() > 1 ? shape(get(body.yields[1])) : nullptr;
  if (taken) *taken = mask;
  if (mask) {
    Partial none = identity(instr, varying);
    result.v = b.CreateSelect(mask, result.v, none.v);
    if (result.index) result.index = b.CreateSelect(mask, result.index, none.index);
  }
  return result;
}

// Sets the instruction's results. `taken` (null: surely) says whether any element took part: an empty sum is +0.0.
void Emitter::finish_reduce(const Instr& instr, Partial result, Value* taken, bool varying) {
  auto wrap = [&](Value* v) { return varying ? Val::vector(v) : Val::uniform(v); };
  if (instr.op == KOp::Reduce && instr.reduce == ReduceOp::Sum && is_float(instr.dtype) && taken)
    result.v = b.CreateSelect(taken, result.v, llvm::Constant::getNullValue(result.v->getType()));
  if (instr.op == KOp::Reduce && in_f64(instr) && result.v->getType()->getScalarType()->isDoubleTy())
    result.v = b.CreateFPTrunc(result.v, like(result.v, b.getFloatTy()));
  if (instr.op == KOp::ReduceChunk) result.v = widen(instr, result.v);
  set(instr.results[0], wrap(result.v));
  if (!is_arg(instr) || instr.results.size() < 2) return;
  // Without elements position 0, which is at least a position.
  Value* none = llvm::ConstantInt::get(result.index->getType(), std::numeric_limits<int64_t>::max());
  Value* zero = llvm::Constant::getNullValue(result.index->getType());
  if (instr.op == KOp::Reduce) result.index = b.CreateSelect(b.CreateICmpEQ(result.index, none), zero, result.index);
  set(instr.results[1], wrap(result.index));
}

void Emitter::reduce(const Instr& instr) {
  if (int64_t n = unrolled_extent(instr, definition_);
      n > 0 && (lanes_.width != 0 || (n <= 4 && !has_vector_code(instr.blocks[0]))))
    reduce_unrolled(instr, n);
  else if (lanes_.width == 0)
    reduce_along_k(instr);
  else if (instr.at_most > 0)
    reduce_few(instr);
  else
    reduce_in_lanes(instr);
}

// All elements one after the other, in the order in which the lanes meet, so that few partial results wait.
void Emitter::reduce_unrolled(const Instr& instr, int64_t n) {
  bool varying = lanes_.width != 0 && varying_[instr.results[0].index];
  Value* taken = nullptr;
  auto at = [&](int64_t k) {
    Value* mask = nullptr;
    Partial x = element(instr, Val::uniform(b.getInt64(static_cast<uint64_t>(k))), &mask, varying);
    if (mask) taken = taken ? b.CreateOr(taken, mask) : mask;
    return x;
  };
  // Lane `lane` after those from `step` on have met it.
  std::function<Partial(int64_t, int64_t)> folded = [&](int64_t lane, int64_t step) {
    if (step == kSumLanes) {
      Partial x = at(lane);
      for (int64_t k = lane + kSumLanes; k < n; k += kSumLanes)
        x = combine(instr, x, at(k), true);
      return x;
    }
    Partial x = folded(lane, 2 * step);
    return lane + step < n ? combine(instr, x, folded(lane + step, 2 * step)) : x;
  };
  const Partial result = folded(0, 1); // which sets `taken`
  finish_reduce(instr, result, taken, varying);
}

// No more elements than at_most, how many is known when the kernel runs: each is in a lane of its own of the order.
void Emitter::reduce_few(const Instr& instr) {
  const bool varying = varying_[instr.results[0].index], with_mask = instr.blocks[0].yields.size() > 1;
  const bool ordered = is_float(instr.dtype) && (instr.reduce == ReduceOp::Sum || instr.reduce == ReduceOp::Prod);
  const auto most = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(instr.at_most)));
  const int64_t width = varying ? lanes_.width : 1;
  Value *zero = b.getInt64(0), *n = scalar(instr.operands[0]);
  const Partial none = identity(instr, varying);
  LaneArray lanes(*this, instr, ordered ? most * width : 1);
  auto place = [&](Value* k) { return b.CreateMul(k, b.getInt64(static_cast<uint64_t>(width))); };
  Values init;
  if (!ordered) init.push_back(none.v);
  if (!ordered && none.index) init.push_back(none.index);
  if (with_mask) init.push_back(llvm::Constant::getNullValue(shaped(DType::Bool, varying)));
  const Values found = loop(zero, n, 1, init, [&](Value* k, const Values& carried) {
    Value* mask = nullptr;
    const Partial next = element(instr, Val::uniform(k), &mask, varying);
    Values after;
    if (ordered) {
      lanes.write(place(k), next);
    } else {
      const Partial both = combine(instr, {carried[0], none.index ? carried[1] : nullptr}, next, true);
      after.push_back(both.v);
      if (none.index) after.push_back(both.index);
    }
    if (with_mask) after.push_back(b.CreateOr(carried.back(), mask));
    return after;
  });
  Value* taken = with_mask ? found.back() : b.CreateICmpSGT(n, zero);
  if (!ordered) {
    const Partial result{found[0], none.index ? found[1] : nullptr};
    return finish_reduce(instr, with_first(instr, result, zero), taken, varying);
  }
  auto meet = [&](int64_t count) { // the first lanes, which have all elements
    loop(n, b.getInt64(static_cast<uint64_t>(count)), 1, {}, [&](Value* k, const Values&) -> Values {
      lanes.write(place(k), none);
      return {};
    });
    std::vector<Partial> parts;
    for (int64_t k = 0; k < count; ++k)
      parts.push_back(lanes.read(place(b.getInt64(static_cast<uint64_t>(k))), varying));
    for (size_t step = parts.size() / 2; step > 0; step /= 2)
      for (size_t k = 0; k < step; ++k)
        parts[k] = combine(instr, parts[k], parts[k + step]);
    return parts[0].v;
  };
  constexpr int64_t few = 4;
  Value* total = nullptr;
  if (most <= few) {
    total = meet(most);
  } else {
    total = llvm::PoisonValue::get(none.v->getType());
    Value* are_few = b.CreateICmpSLE(n, b.getInt64(few));
    total = branch(are_few, [&] { return Values{meet(few)}; }, {total})[0];
    total = branch(b.CreateNot(are_few), [&] { return Values{meet(most)}; }, {total})[0];
  }
  finish_reduce(instr, {total}, taken, varying);
}

// --- along k: the lanes of the order are a vector

// One chunk as a scalar. *any_taken: was any element let through by the block's mask? (v null: there is no mask)
Partial Emitter::chunk_along_k(const Instr& instr, Value* begin, Value* end, Partial* any_taken) {
  const Block& body = instr.blocks[0];
  const bool arg = is_arg(instr), with_mask = body.yields.size() > 1;
  const bool extreme = arg || instr.reduce == ReduceOp::Min || instr.reduce == ReduceOp::Max;
  auto exactly = [&](Partial* taken) {
    auto fold = [&](Partial x, Partial y) { return combine(instr, x, y, true); };
    return along_k(instr, lanes_along_k(instr, begin, end, arg ? begin : nullptr, taken, fold), begin);
  };
  const bool real = is_float(instr.dtype), again = !has_loops_or_stores(body);
  if (!extreme || !again || (arg ? with_mask || instr.dtype == DType::Bool : !real)) return exactly(any_taken);
  // A NaN is looked for beside the fold, which is one instruction then. If there is any, all is done again.
  auto plain = [&](Partial x, Partial y) -> Partial {
    Value* nan = real ? b.CreateOr(x.nan, b.CreateFCmpUNO(y.v, y.v)) : nullptr;
    return {b.CreateSelect(is_before(instr, y.v, x.v), y.v, x.v), nullptr, nan};
  };
  Partial result = arg ? first_best(instr, begin, end, plain)
                       : along_k(instr, lanes_along_k(instr, begin, end, nullptr, any_taken, plain), begin);
  if (!real) return result;
  auto slow = [&] {
    Partial taken, x = exactly(&taken);
    return arg ? Values{x.v, x.index} : Values{x.v};
  };
  const Values chosen = branch(result.nan, slow, arg ? Values{result.v, result.index} : Values{result.v});
  return {chosen[0], arg ? chosen[1] : nullptr};
}

// Is x less, or for a maximum greater, than y? With a NaN: no.
Value* Emitter::is_before(const Instr& instr, Value* x, Value* y) {
  const bool least = is_min(instr), is_signed = !is_unsigned(instr.dtype) && instr.dtype != DType::Bool;
  if (is_float(instr.dtype)) return least ? b.CreateFCmpOLT(x, y) : b.CreateFCmpOGT(x, y);
  if (is_signed) return least ? b.CreateICmpSLT(x, y) : b.CreateICmpSGT(x, y);
  return least ? b.CreateICmpULT(x, y) : b.CreateICmpUGT(x, y);
}

// The best element of a chunk without NaN, and where it is first: each lane remembers which of several blocks its best
// element is in, and the first of these that has the best of all is gone through once more.
Partial Emitter::first_best(const Instr& instr, Value* begin, Value* end,
                            const std::function<Partial(Partial, Partial)>& plain) {
  const auto width = static_cast<unsigned>(kSumLanes);
  constexpr int64_t length = 8 * kSumLanes;
  const Block& body = instr.blocks[0];
  const bool real = is_float(instr.dtype);
  llvm::Type* narrow = b.getInt32Ty();
  lanes_ = {width, nullptr};
  Values init{identity(instr, true).v, llvm::Constant::getNullValue(llvm::FixedVectorType::get(narrow, width))};
  if (real) init.push_back(splat(b.getFalse()));
  lanes_ = {};
  Values best = loop(begin, end, length, init, [&](Value* first, const Values& now) {
    Value* last = b.CreateBinaryIntrinsic(in::smin, b.CreateAdd(first, b.getInt64(length)), end);
    Partial none, lanes = lanes_along_k(instr, first, last, nullptr, &none, plain);
    Value* better = is_before(instr, lanes.v, now[0]);
    Value* number = b.CreateVectorSplat(width, b.CreateTrunc(b.CreateSub(first, begin), narrow));
    Values next{b.CreateSelect(better, lanes.v, now[0]), b.CreateSelect(better, number, now[1])};
    if (real) next.push_back(b.CreateOr(now[2], lanes.nan));
    return next;
  });
  Value* value = best[0];
  for (unsigned step = width / 2; step > 0; step /= 2) {
    Value *x = part_of_lanes(value, 0, step), *y = part_of_lanes(value, step, step);
    value = b.CreateSelect(is_before(instr, y, x), y, x);
  }
  value = b.CreateExtractElement(value, b.getInt64(0));
  auto equal = [&](Value* x) {
    Value* all = b.CreateVectorSplat(llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements(), value);
    return real ? b.CreateFCmpOEQ(x, all) : b.CreateICmpEQ(x, all);
  };
  Value* nowhere = llvm::ConstantInt::get(best[1]->getType(), std::numeric_limits<int32_t>::max());
  Value* block = b.CreateZExt(b.CreateIntMinReduce(b.CreateSelect(equal(best[0]), best[1], nowhere)), b.getInt64Ty());
  Value* first = b.CreateAdd(begin, b.CreateBinaryIntrinsic(in::smin, block, b.CreateSub(end, begin)));
  Value* last = b.CreateBinaryIntrinsic(in::smin, b.CreateAdd(first, b.getInt64(length)), end);
  Values found = vector_loop(body, first, last, width, width, {end}, [&](Value* k, const Values& now) -> Values {
    Value *mask = lanes_.mask, *there = equal(element(instr, Val::line(k, b.getInt64(1)), nullptr, true).v);
    if (mask) there = b.CreateAnd(mask, there);
    lanes_ = {};
    Value* lane = b.CreateBinaryIntrinsic(in::cttz, b.CreateBitCast(there, b.getIntNTy(width)), b.getFalse());
    Value* at = b.CreateAdd(k, b.CreateZExtOrTrunc(lane, b.getInt64Ty()));
    return {b.CreateBinaryIntrinsic(in::smin, now[0], b.CreateSelect(b.CreateOrReduce(there), at, end))};
  });
  lanes_ = {};
  Value* index = b.CreateSelect(b.CreateICmpSLT(found[0], end), found[0], begin); // of nothing at all the first
  return {value, index, real ? b.CreateOrReduce(best[2]) : nullptr};
}

// The lanes of a chunk from `begin` on as a scalar.
Partial Emitter::along_k(const Instr& instr, Partial lanes, Value* begin) {
  Partial result = with_first(instr, halved(instr, lanes), begin);
  if (lanes.nan) result.nan = b.CreateOrReduce(lanes.nan);
  return result;
}

// A lane adds at most kSumChunk / kSumLanes elements of a chunk: so many bools fit a byte, and others twice their bits.
Emitter::NarrowSum Emitter::narrow_sum(const Instr& instr) {
  static_assert(kSumChunk / kSumLanes < 1 << 8);
  if (instr.reduce != ReduceOp::Sum || instr.dtype != DType::I64) return {};
  const Instr* convert = definition_[instr.blocks[0].yields[0].index];
  if (!convert || convert->op != KOp::Convert) return {};
  const DType from = kernel_.types[convert->operands[0].index];
  if (from == DType::Bool) return {b.getInt8Ty(), false};
  if (!is_int(from) || size_of(from) > 2) return {};
  return {b.getIntNTy(static_cast<unsigned>(16 * size_of(from))), !is_unsigned(from)};
}

// The lanes of the elements [begin, end), at most a chunk, each folded by `fold`. Positions are only kept if there is
// where they count from, `origin`. A fold that gives a `nan` for what has none before gets that of the lane so far.
Partial Emitter::lanes_along_k(const Instr& instr, Value* begin, Value* end, Value* origin, Partial* any_taken,
                               const std::function<Partial(Partial, Partial)>& fold) {
  const Block& body = instr.blocks[0];
  const bool with_mask = body.yields.size() > 1, arg = origin != nullptr;
  const bool with_nan = !arg && is_float(instr.dtype);
  lanes_ = {static_cast<unsigned>(kSumLanes), nullptr};
  // Positions in a chunk are narrow, the highest for none.
  llvm::Type* narrow_index = b.getInt32Ty();
  Value* no_index = llvm::ConstantInt::get(narrow_index, std::numeric_limits<int32_t>::max());
  Partial none = identity(instr, true);
  const NarrowSum in_few_bits = narrow_sum(instr);
  if (in_few_bits.type) none.v = llvm::Constant::getNullValue(llvm::FixedVectorType::get(in_few_bits.type, kSumLanes));
  Values init{none.v};
  if (arg) init.push_back(splat(no_index));
  if (with_nan) init.push_back(splat(b.getFalse()));
  if (with_mask) init.push_back(splat(b.getFalse()));
  // What does not fill the lanes is done by halves of them, as the second may be empty; in stretches by all.
  const auto width = static_cast<unsigned>(kSumLanes);
  const unsigned narrow = width / 2;
  lanes_ = {};
  Values carried = vector_loop(
      body, begin, end, width, narrow, init,
      [&](Value* k, const Values& now) {
        Value *mask = lanes_.mask, *taken = nullptr;
        const bool is_half = lanes_.width != width;
        Value* second = is_half ? b.CreateIsNotNull(b.CreateAnd(b.CreateSub(k, begin), b.getInt64(narrow))) : nullptr;
        auto half = [&](Value* x) {
          return b.CreateSelect(second, part_of_lanes(x, narrow, narrow), part_of_lanes(x, 0, narrow));
        };
        auto joined = [&](Value* before, Value* part) { // with the other half as it was
          if (!is_half) return part;
          Value *low = part_of_lanes(before, 0, narrow), *high = part_of_lanes(before, narrow, narrow);
          std::vector<int> all;
          for (unsigned lane = 0; lane < width; ++lane)
            all.push_back(static_cast<int>(lane));
          return b.CreateShuffleVector(b.CreateSelect(second, low, part), b.CreateSelect(second, part, high), all);
        };
        Values before;
        for (Value* x : now)
          before.push_back(is_half ? half(x) : x);
        Partial next = element(instr, Val::line(k, b.getInt64(1)), &taken, true);
        if (in_few_bits.type) next.v = b.CreateTrunc(next.v, like(next.v, in_few_bits.type));
        if (arg) {
          Value* first = b.CreateTrunc(b.CreateSub(k, origin), narrow_index);
          next.index = b.CreateAdd(splat(first), lane_ids(narrow_index));
          if (taken) next.index = b.CreateSelect(taken, next.index, splat(no_index));
        }
        if (mask) {
          Value* nothing = in_few_bits.type ? llvm::Constant::getNullValue(next.v->getType()) : identity(instr, true).v;
          next.v = b.CreateSelect(mask, next.v, nothing);
          if (arg) next.index = b.CreateSelect(mask, next.index, splat(no_index));
          if (taken) taken = masked(taken);
        }
        Partial folded = fold({before[0], arg ? before[1] : nullptr, with_nan ? before[1] : nullptr}, next);
        Values results{joined(now[0], folded.v)};
        if (arg) results.push_back(joined(now[1], folded.index));
        if (with_nan) results.push_back(folded.nan ? joined(now[1], folded.nan) : now[1]);
        if (with_mask) results.push_back(joined(now.back(), b.CreateOr(before.back(), taken)));
        lanes_ = {};
        return results;
      },
      true);
  lanes_ = {width, nullptr};
  Value* index = nullptr;
  if (arg) {
    Value* is_none = b.CreateICmpEQ(carried[1], splat(no_index));
    Value* place = b.CreateAdd(splat(origin), b.CreateZExt(carried[1], shaped(DType::I64, true)));
    index = b.CreateSelect(is_none, none.index, place);
  }
  lanes_ = {};
  if (with_mask) any_taken->v = b.CreateOrReduce(carried.back());
  if (in_few_bits.type) {
    auto* wide = llvm::FixedVectorType::get(b.getInt64Ty(), kSumLanes);
    carried[0] = in_few_bits.is_signed ? b.CreateSExt(carried[0], wide) : b.CreateZExt(carried[0], wide);
  }
  return {carried[0], index, with_nan ? carried[1] : nullptr};
}

Value* Emitter::part_of_lanes(Value* x, unsigned from, unsigned count) {
  if (!x) return nullptr;
  std::vector<int> picks;
  for (unsigned lane = 0; lane < count; ++lane)
    picks.push_back(static_cast<int>(from + lane));
  return b.CreateShuffleVector(x, picks);
}

// The lanes of the order, a vector, folded by halving into a scalar.
Partial Emitter::halved(const Instr& instr, Partial result) {
  auto fold = [&](Partial x, const std::function<Partial(Partial, Partial)>& both) {
    for (unsigned step = static_cast<unsigned>(kSumLanes) / 2; step > 0; step /= 2)
      x = both({part_of_lanes(x.v, 0, step), part_of_lanes(x.index, 0, step)},
               {part_of_lanes(x.v, step, step), part_of_lanes(x.index, step, step)});
    return x;
  };
  auto exactly = [&] { return fold(result, [&](Partial x, Partial y) { return combine(instr, x, y); }); };
  if (is_float(instr.dtype) && (instr.reduce == ReduceOp::Min || instr.reduce == ReduceOp::Max)) {
    // Without a NaN in any lane, none is looked for.
    Value* plain = fold(result, [&](Partial x, Partial y) -> Partial {
                     Value* better = is_min(instr) ? b.CreateFCmpOLT(y.v, x.v) : b.CreateFCmpOGT(y.v, x.v);
                     return {b.CreateSelect(better, y.v, x.v)};
                   }).v;
    Value* any_nan = b.CreateOrReduce(b.CreateFCmpUNO(result.v, result.v));
    result.v = branch(any_nan, [&] { return Values{exactly().v}; }, {plain})[0];
  } else {
    result = exactly();
  }
  result.v = b.CreateExtractElement(result.v, b.getInt64(0));
  if (result.index) result.index = b.CreateExtractElement(result.index, b.getInt64(0));
  return result;
}

void Emitter::reduce_along_k(const Instr& instr) {
  if (instr.op == KOp::ReduceChunk) {
    Partial taken;
    finish_reduce(instr, chunk_along_k(instr, scalar(instr.operands[0]), scalar(instr.operands[1]), &taken), nullptr,
                  false);
    return;
  }
  Value *zero = b.getInt64(0), *n = scalar(instr.operands[0]);
  Value* not_empty = b.CreateICmpSGT(n, zero);
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(n); known && known->getSExtValue() <= kSumChunk) {
    Partial taken;
    Partial result = chunk_along_k(instr, zero, n, &taken);
    finish_reduce(instr, result, taken.v ? taken.v : not_empty, false);
    return;
  }
  Value* any_taken = nullptr;
  Partial result = fold_chunks(instr, n, false, &any_taken, [&](Value* begin, Value* end, Value** taken) {
    Partial some, part = chunk_along_k(instr, begin, end, &some);
    *taken = some.v;
    return part;
  });
  finish_reduce(instr, result, any_taken, false);
}

// --- in lanes: an array of the order's lanes in memory, each a vector over the loop around

void Emitter::reduce_in_lanes(const Instr& instr) {
  bool varying = varying_[instr.results[0].index], with_mask = instr.blocks[0].yields.size() > 1;
  int64_t width = varying ? lanes_.width : 1;
  LaneArray lanes(*this, instr, kSumLanes * width);
  auto place = [&](Value* lane) { return b.CreateMul(lane, b.getInt64(static_cast<uint64_t>(width))); };
  auto read = [&](Value* lane) { return lanes.read(place(lane), varying); };
  auto write = [&](Value* lane, Partial x) { lanes.write(place(lane), x); };
  Value *zero = b.getInt64(0), *one = b.getInt64(1), *lane_count = b.getInt64(kSumLanes);
  // Folds [begin, end) and leaves the chunk's result in lane 0.
  auto chunk = [&](Value* begin, Value* end) {
    Value* length = b.CreateSub(end, begin);
    Value* used = b.CreateBinaryIntrinsic(in::smin, length, lane_count);
    Partial none = identity(instr, varying);
    // Lane 0 even of an empty chunk, for the result.
    loop(zero, b.CreateBinaryIntrinsic(in::smax, used, one), 1, {}, [&](Value* lane, const Values&) {
      write(lane, none);
      return Values{};
    });
    Values init;
    if (with_mask) init.push_back(llvm::Constant::getNullValue(shaped(DType::Bool, varying)));
    Values taken = loop(begin, end, 1, init, [&](Value* k, const Values& carried) -> Values {
      Value* mask = nullptr;
      Partial next = element(instr, Val::uniform(k), &mask, varying);
      Value* lane = b.CreateAnd(b.CreateSub(k, begin), b.getInt64(kSumLanes - 1));
      write(lane, combine(instr, read(lane), next, true));
      if (!with_mask) return {};
      return {b.CreateOr(carried[0], mask)};
    });
    loop(zero, b.getInt64(kHalvings), 1, {used}, [&](Value* halving, const Values& left) -> Values {
      Value* width = b.CreateLShr(b.getInt64(kSumLanes / 2), halving);
      loop(zero, b.CreateSub(left[0], width), 1, {}, [&](Value* lane, const Values&) {
        write(lane, combine(instr, read(lane), read(b.CreateAdd(lane, width))));
        return Values{};
      });
      return {b.CreateBinaryIntrinsic(in::smin, left[0], width)};
    });
    write(zero, with_first(instr, read(zero), begin));
    return with_mask ? taken[0] : nullptr;
  };

  if (instr.op == KOp::ReduceChunk) {
    chunk(scalar(instr.operands[0]), scalar(instr.operands[1]));
    finish_reduce(instr, read(zero), nullptr, varying);
    return;
  }
  Value* n = scalar(instr.operands[0]);
  Value* not_empty = b.CreateICmpSGT(n, zero);
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(n); known && known->getSExtValue() <= kSumChunk) {
    Value* taken = chunk(zero, n);
    finish_reduce(instr, read(zero), taken ? taken : not_empty, varying);
    return;
  }
  Value* any_taken = nullptr;
  Partial result = fold_chunks(instr, n, varying, &any_taken, [&](Value* begin, Value* end, Value** taken) {
    *taken = chunk(begin, end);
    return read(zero);
  });
  finish_reduce(instr, result, any_taken, varying);
}

// --- chunks

// Folds all chunks of [0, n), each of which `chunk` gives; *any_taken: did any element take part?
Partial Emitter::fold_chunks(const Instr& instr, Value* n, bool varying, Value** any_taken, const Chunk& chunk) {
  bool arg = is_arg(instr), with_mask = instr.blocks[0].yields.size() > 1;
  // The order of the others does not show: they go from left to right.
  bool ordered = is_float(instr.dtype) && (instr.reduce == ReduceOp::Sum || instr.reduce == ReduceOp::Prod);
  Value *zero = b.getInt64(0), *length = b.getInt64(static_cast<uint64_t>(kSumChunk));
  Partial none = identity(instr, varying);
  none.v = widen(instr, none.v);
  llvm::Type* type = none.v->getType();
  Value *lanes = nullptr, *several = nullptr;
  if (ordered) {
    lanes = local_variable(llvm::ArrayType::get(type, kSumLevels * kSumLanes), "totals");
    several = b.CreateICmpSGT(n, length);
    branch(several,
           [&] {
             return loop(zero, b.getInt64(kSumLevels), 1, {}, [&](Value* level, const Values&) -> Values {
               fill_lanes(lanes, level, none.v);
               return {};
             });
           },
           {});
  }
  Values init{none.v};
  if (arg) init.push_back(none.index);
  if (with_mask) init.push_back(llvm::Constant::getNullValue(shaped(DType::Bool, varying)));
  Values results = loop(zero, n, kSumChunk, init, [&](Value* begin, const Values& carried) {
    Value *next_begin = b.CreateNSWAdd(begin, length), *taken = nullptr;
    Partial part = chunk(begin, b.CreateBinaryIntrinsic(in::smin, next_begin, n), &taken);
    Value* wide = widen(instr, part.v);
    Values next;
    if (arg) {
      Partial both = combine(instr, {carried[0], carried[1]}, {wide, part.index});
      next = {both.v, both.index};
    } else if (ordered) {
      Value *number = b.CreateUDiv(begin, length), *is_last = b.CreateICmpSGE(next_begin, n);
      next = branch(several, [&] { return Values{fold_total(instr, lanes, none.v, wide, number, is_last)}; }, {wide});
    } else {
      next = {b.CreateSelect(b.CreateICmpEQ(begin, zero), wide, combine(instr, {carried[0]}, {wide}).v)};
    }
    if (with_mask) next.push_back(b.CreateOr(carried.back(), taken));
    return next;
  });
  *any_taken = with_mask ? results.back() : b.CreateICmpSGT(n, zero);
  return {results[0], arg ? results[1] : nullptr};
}

// The lanes of a level of totals: of a scalar one vector, else a vector each.
Value* Emitter::lanes_at(Value* lanes, Value* level, llvm::Type* type) {
  return b.CreateInBoundsGEP(type, lanes, b.CreateMul(level, b.getInt64(kSumLanes)));
}

void Emitter::fill_lanes(Value* lanes, Value* level, Value* none) {
  Value* first = lanes_at(lanes, level, none->getType());
  if (!none->getType()->isVectorTy()) {
    b.CreateStore(b.CreateVectorSplat(static_cast<unsigned>(kSumLanes), none), first);
    return;
  }
  loop(b.getInt64(0), b.getInt64(kSumLanes), 1, {}, [&](Value* lane, const Values&) -> Values {
    b.CreateStore(none, b.CreateInBoundsGEP(none->getType(), first, lane));
    return {};
  });
}

// Folds the result of chunk `number` into the lanes of its level. What is full, or the last, goes as one result to the
// level above, until there is one. The value is that of all chunks if this is the last.
Value* Emitter::fold_total(const Instr& instr, Value* lanes, Value* none, Value* value, Value* number, Value* is_last) {
  llvm::Type* type = none->getType();
  Value* chunk_mask = b.getInt64(kSumChunk - 1);
  auto at = [&](Value* first, Value* lane) { return b.CreateInBoundsGEP(type, first, lane); };
  auto *before = b.GetInsertBlock(), *fold = new_block("fold"), *up = new_block("up"), *done = new_block("folded");
  b.CreateBr(fold);
  b.SetInsertPoint(fold);
  auto *level = b.CreatePHI(b.getInt64Ty(), 2), *count = b.CreatePHI(b.getInt64Ty(), 2), *next = b.CreatePHI(type, 2);
  Value *position = b.CreateAnd(count, chunk_mask), *first = lanes_at(lanes, level, type);
  Value* lane = at(first, b.CreateAnd(position, b.getInt64(kSumLanes - 1)));
  Value* folded = combine(instr, {b.CreateLoad(type, lane)}, {next}).v;
  b.CreateStore(folded, lane);
  Value* stays = b.CreateSelect(is_last, b.CreateICmpEQ(count, b.getInt64(0)), b.CreateICmpNE(position, chunk_mask));
  b.CreateCondBr(stays, done, up);

  b.SetInsertPoint(up);
  Value* total = nullptr;
  if (type->isVectorTy()) {
    loop(b.getInt64(0), b.getInt64(kHalvings), 1, {}, [&](Value* halving, const Values&) -> Values {
      Value* width = b.CreateLShr(b.getInt64(kSumLanes / 2), halving);
      return loop(b.getInt64(0), width, 1, {}, [&](Value* l, const Values&) -> Values {
        Value* other = b.CreateLoad(type, at(first, b.CreateAdd(l, width)));
        b.CreateStore(combine(instr, {b.CreateLoad(type, at(first, l))}, {other}).v, at(first, l));
        return {};
      });
    });
    total = b.CreateLoad(type, first);
  } else {
    total = halved(instr, {b.CreateLoad(llvm::FixedVectorType::get(type, kSumLanes), first)}).v;
  }
  fill_lanes(lanes, level, none);
  level->addIncoming(b.getInt64(0), before);
  level->addIncoming(b.CreateAdd(level, b.getInt64(1)), b.GetInsertBlock());
  count->addIncoming(number, before);
  count->addIncoming(b.CreateUDiv(count, b.getInt64(kSumChunk)), b.GetInsertBlock());
  next->addIncoming(value, before);
  next->addIncoming(total, b.GetInsertBlock());
  b.CreateBr(fold);
  b.SetInsertPoint(done);
  return folded;
}

// --- contractions

void Emitter::contract(const Instr& instr) {
  const Block& body = instr.blocks[0];
  bool varying = varies(instr.results[0]), real = is_float(instr.dtype);
  llvm::Type* type = shaped(instr.dtype, varying);
  Value *zero = llvm::Constant::getNullValue(type), *n = scalar(instr.operands[0]);
  auto step = [&](Value* k, Value* acc) -> Value* {
    set(body.params[0], Val::uniform(k));
    block(body);
    auto factor = [&](size_t i) { return varying ? in_lanes(body.yields[i]) : scalar(body.yields[i]); };
    Value *x = factor(0), *y = factor(1);
    if (real) return b.CreateIntrinsic(in::fma, {type}, {x, y, acc});
    return b.CreateAdd(b.CreateMul(x, y), acc);
  };
  auto chain = [&](Value* begin, Value* end) {
    return loop(begin, end, 1, {zero}, [&](Value* k, const Values& now) -> Values { return {step(k, now[0])}; })[0];
  };
  Value *first = b.getInt64(0), *result = nullptr;
  auto* known = llvm::dyn_cast<llvm::ConstantInt>(n);
  // A short one without a loop: then where its elements are is known but for the tile, and several chains run at once.
  constexpr int64_t kUnrolled = 64;
  constexpr int64_t kUnrolledInstructions = 600;
  const int64_t length = known ? known->getSExtValue() : 0;
  if (lanes_.width > 0 && known && length <= kUnrolled &&
      unrolled_instructions(body, length) <= kUnrolledInstructions) {
    result = zero;
    for (int64_t k = 0; k < length; ++k)
      result = step(b.getInt64(static_cast<uint64_t>(k)), result);
  } else if (known && length <= kContractChunk) {
    result = chain(first, n);
  } else {
    auto add = [&](Value* begin, Value* sum, Value* acc) { // the first chunk replaces what is there
      Value* both = real ? b.CreateFAdd(sum, acc) : b.CreateAdd(sum, acc);
      return b.CreateSelect(b.CreateICmpEQ(begin, first), acc, both);
    };
    Value *start = first, *sum = zero;
    constexpr int64_t kAtOnce = 8;
    if (lanes_.width == 0 && instruction_count(body) <= 12) {
      // A chain waits for itself: alone, several chunks run side by side.
      start = b.CreateSelect(b.CreateICmpSGT(n, first),
                             b.CreateAnd(n, b.getInt64(~uint64_t{kAtOnce * kContractChunk - 1})), first);
      sum = loop(first, start, kAtOnce * kContractChunk, {sum}, [&](Value* begin, const Values& carried) -> Values {
        Values sums =
            loop(first, b.getInt64(kContractChunk), 1, Values(kAtOnce, zero), [&](Value* k, const Values& now) {
              Values next;
              for (int64_t c = 0; c < kAtOnce; ++c)
                next.push_back(
                    step(b.CreateAdd(b.CreateAdd(begin, k), b.getInt64(static_cast<uint64_t>(c * kContractChunk))),
                         now[static_cast<size_t>(c)]));
              return next;
            });
        Value* total = add(begin, carried[0], sums[0]);
        for (size_t c = 1; c < sums.size(); ++c)
          total = real ? b.CreateFAdd(total, sums[c]) : b.CreateAdd(total, sums[c]);
        return {total};
      })[0];
    }
    result = loop(start, n, kContractChunk, {sum}, [&](Value* begin, const Values& carried) -> Values {
      Value* end = b.CreateBinaryIntrinsic(in::smin, b.CreateNSWAdd(begin, b.getInt64(kContractChunk)), n);
      return {add(begin, carried[0], chain(begin, end))};
    })[0];
  }
  set(instr.results[0], varying ? Val::vector(result) : Val::uniform(result));
}

} // namespace tl::cpu

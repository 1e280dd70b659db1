// Reductions and contractions in the orders of vm/abi/orders.h.
//
// Three forms of a reduction give the same bits: along k with the 32 lanes of the order as one vector (outside vector
// code), with an array of 32 lanes each of which is a vector over the loop around it, and element by element where the
// extent is a small constant. Folding an identity is exact, so lanes without an element may be left out.
#include "backend/cpu/emit.h"
#include <limits>

namespace tl::cpu {
using kir::Block;
using kir::Instr;
using kir::KOp;
using llvm::Value;
namespace in = llvm::Intrinsic;

namespace {

bool is_arg(const Instr& instr) { return instr.reduce == ReduceOp::ArgMin || instr.reduce == ReduceOp::ArgMax; }
bool is_min(const Instr& instr) { return instr.reduce == ReduceOp::ArgMin || instr.reduce == ReduceOp::Min; }
bool in_f64(const Instr& instr) { // chunks are added in f64
  return is_float(instr.dtype) && instr.dtype != DType::F64 &&
         (instr.reduce == ReduceOp::Sum || instr.reduce == ReduceOp::Prod);
}

} // namespace

Partial Emitter::identity(const Instr& instr, bool varying) {
  bool real = is_float(instr.dtype), is_signed = !is_unsigned(instr.dtype) && instr.dtype != DType::Bool;
  llvm::Type* type = shaped(instr.dtype, varying);
  unsigned bits = type->getScalarSizeInBits();
  auto extreme = [&](bool greatest) -> Value* {
    if (real) return llvm::ConstantFP::getInfinity(type, !greatest);
    if (is_signed)
      return llvm::ConstantInt::get(type, greatest ? llvm::APInt::getSignedMaxValue(bits)
                                                   : llvm::APInt::getSignedMinValue(bits));
    return llvm::ConstantInt::get(type, greatest ? llvm::APInt::getMaxValue(bits) : llvm::APInt(bits, 0));
  };
  switch (instr.reduce) {
  case ReduceOp::Sum: return {real ? llvm::ConstantFP::getNegativeZero(type) : llvm::Constant::getNullValue(type)};
  case ReduceOp::Prod: return {real ? llvm::ConstantFP::get(type, 1.0) : llvm::ConstantInt::get(type, 1)};
  case ReduceOp::Min: return {extreme(true)};
  case ReduceOp::Max: return {extreme(false)};
  case ReduceOp::Any: return {llvm::Constant::getNullValue(type)};
  case ReduceOp::All: return {llvm::Constant::getAllOnesValue(type)};
  case ReduceOp::ArgMin:
  case ReduceOp::ArgMax:
    return {extreme(instr.reduce == ReduceOp::ArgMin),
            llvm::ConstantInt::get(shaped(DType::I64, varying), std::numeric_limits<int64_t>::max())};
  }
  return {};
}

// x comes before y in the order of the fold. NaN wins; of equal elements the first stays.
Partial Emitter::combine(const Instr& instr, Partial x, Partial y) {
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
  if (real) {
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
  if (!is_arg(instr)) return {b.CreateSelect(better, y.v, x.v)};
  // Lanes meet out of order: of equals the lower position counts, and identities have the highest of all.
  Value* equal = nullptr;
  if (real) {
    equal = b.CreateFCmpOEQ(x.v, y.v);
    equal = b.CreateOr(equal, b.CreateAnd(b.CreateFCmpUNO(x.v, x.v), b.CreateFCmpUNO(y.v, y.v)));
  } else {
    equal = b.CreateICmpEQ(x.v, y.v);
  }
  better = b.CreateOr(better, b.CreateAnd(equal, b.CreateICmpSLT(y.index, x.index)));
  return {b.CreateSelect(better, y.v, x.v), b.CreateSelect(better, y.index, x.index)};
}

Value* Emitter::widen(const Instr& instr, Value* x) {
  return in_f64(instr) ? b.CreateFPExt(x, like(x, b.getDoubleTy())) : x;
}

Value* Emitter::total(const Instr& instr, Value* x, Value* y) {
  return combine(instr, {x}, {y}).v; // by the operation alone: addition of f64 is CreateFAdd too
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
  else
    reduce_in_lanes(instr);
}

void Emitter::reduce_unrolled(const Instr& instr, int64_t n) {
  bool varying = lanes_.width != 0 && varying_[instr.results[0].index];
  std::vector<Partial> elements;
  Value* taken = nullptr;
  for (int64_t k = 0; k < n; ++k) {
    Value* mask = nullptr;
    elements.push_back(element(instr, Val::uniform(b.getInt64(static_cast<uint64_t>(k))), &mask, varying));
    if (mask) taken = taken ? b.CreateOr(taken, mask) : mask;
  }
  for (int64_t step = kSumLanes / 2; step > 0; step /= 2)
    for (int64_t l = 0; l < step && l + step < n; ++l)
      elements[static_cast<size_t>(l)] =
          combine(instr, elements[static_cast<size_t>(l)], elements[static_cast<size_t>(l + step)]);
  finish_reduce(instr, elements[0], taken, varying);
}

// --- along k: the lanes of the order are a vector

// One chunk as a scalar. *any_taken: was any element let through by the block's mask? (v null: there is no mask)
Partial Emitter::chunk_along_k(const Instr& instr, Value* begin, Value* end, Partial* any_taken) {
  const Block& body = instr.blocks[0];
  bool with_mask = body.yields.size() > 1, arg = is_arg(instr);
  lanes_ = {static_cast<unsigned>(kSumLanes), nullptr};
  Partial none = identity(instr, true);
  Values init{none.v};
  if (arg) init.push_back(none.index);
  if (with_mask) init.push_back(splat(b.getFalse()));
  auto fold = [&](Value* k, const Values& carried, Value* mask) {
    lanes_ = {static_cast<unsigned>(kSumLanes), mask};
    Value* taken = nullptr;
    Partial next = element(instr, Val::line(k, b.getInt64(1)), &taken, true);
    if (mask) {
      next.v = b.CreateSelect(mask, next.v, none.v);
      if (arg) next.index = b.CreateSelect(mask, next.index, none.index);
      if (taken) taken = masked(taken);
    }
    Partial folded = combine(instr, {carried[0], arg ? carried[1] : nullptr}, next);
    Values results{folded.v};
    if (arg) results.push_back(folded.index);
    if (with_mask) results.push_back(b.CreateOr(carried.back(), taken));
    lanes_ = {};
    return results;
  };
  Value* rest = begin;
  Values carried = init;
  if (instruction_count(body) <= 400) {
    Value* whole = b.CreateAnd(b.CreateSub(end, begin), b.getInt64(~static_cast<uint64_t>(kSumLanes - 1)));
    rest = b.CreateAdd(begin, whole);
    carried = loop(begin, rest, kSumLanes, carried, [&](Value* k, const Values& now) { return fold(k, now, nullptr); });
  }
  carried = loop(rest, end, kSumLanes, carried, [&](Value* k, const Values& now) {
    lanes_ = {static_cast<unsigned>(kSumLanes), nullptr};
    return fold(k, now, tail_mask(b.CreateSub(end, k)));
  });
  lanes_ = {};
  if (with_mask) any_taken->v = b.CreateOrReduce(carried.back());

  Partial result{carried[0], arg ? carried[1] : nullptr};
  for (int step = static_cast<int>(kSumLanes) / 2; step > 0; step /= 2) {
    auto half = [&](Value* x, int from) -> Value* {
      if (!x) return nullptr;
      std::vector<int> picks;
      for (int l = 0; l < step; ++l)
        picks.push_back(from + l);
      return b.CreateShuffleVector(x, picks);
    };
    result =
        combine(instr, {half(result.v, 0), half(result.index, 0)}, {half(result.v, step), half(result.index, step)});
  }
  result.v = b.CreateExtractElement(result.v, b.getInt64(0));
  if (arg) result.index = b.CreateExtractElement(result.index, b.getInt64(0));
  return result;
}

void Emitter::reduce_along_k(const Instr& instr) {
  bool arg = is_arg(instr);
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
  Partial none = identity(instr, false);
  Values init{widen(instr, none.v)};
  if (arg) init.push_back(none.index);
  init.push_back(b.getFalse()); // did any element take part?
  Values results = loop(zero, n, kSumChunk, init, [&](Value* begin, const Values& carried) {
    Value* end = b.CreateBinaryIntrinsic(in::smin, b.CreateNSWAdd(begin, b.getInt64(kSumChunk)), n);
    Partial taken;
    Partial chunk = chunk_along_k(instr, begin, end, &taken);
    Value* wide = widen(instr, chunk.v);
    Value* first = b.CreateICmpEQ(begin, zero);
    Values next;
    if (arg) {
      Partial both = combine(instr, {carried[0], carried[1]}, {wide, chunk.index});
      next = {both.v, both.index};
    } else {
      next = {b.CreateSelect(first, wide, total(instr, carried[0], wide))};
    }
    next.push_back(taken.v ? b.CreateOr(carried.back(), taken.v) : b.getTrue());
    return next;
  });
  finish_reduce(instr, {results[0], arg ? results[1] : nullptr}, results.back(), false);
}

// --- in lanes: an array of the order's lanes in memory, each a vector over the loop around

void Emitter::reduce_in_lanes(const Instr& instr) {
  bool varying = varying_[instr.results[0].index], arg = is_arg(instr), with_mask = instr.blocks[0].yields.size() > 1;
  llvm::Type *type = shaped(instr.dtype, varying), *index_type = shaped(DType::I64, varying);
  bool bits = instr.dtype == DType::Bool; // kept as bytes
  llvm::Type* kept = type;
  if (bits)
    kept = varying ? llvm::FixedVectorType::get(b.getInt8Ty(), lanes_.width) : static_cast<llvm::Type*>(b.getInt8Ty());
  Value* lanes = local_variable(llvm::ArrayType::get(kept, kSumLanes), "lanes");
  Value* positions = arg ? local_variable(llvm::ArrayType::get(index_type, kSumLanes), "positions") : nullptr;
  auto read = [&](Value* lane) {
    Partial x{b.CreateLoad(kept, b.CreateInBoundsGEP(kept, lanes, lane))};
    if (bits) x.v = b.CreateTrunc(x.v, type);
    if (arg) x.index = b.CreateLoad(index_type, b.CreateInBoundsGEP(index_type, positions, lane));
    return x;
  };
  auto write = [&](Value* lane, Partial x) {
    if (bits) x.v = b.CreateZExt(x.v, kept);
    b.CreateStore(x.v, b.CreateInBoundsGEP(kept, lanes, lane));
    if (arg) b.CreateStore(x.index, b.CreateInBoundsGEP(index_type, positions, lane));
  };
  Value *zero = b.getInt64(0), *one = b.getInt64(1), *lane_count = b.getInt64(kSumLanes);
  Value* nobody = llvm::Constant::getNullValue(shaped(DType::Bool, varying));

  // Folds [begin, end) and leaves the chunk's result in lane 0.
  auto chunk = [&](Value* begin, Value* end, Value* taken_before) {
    Value* length = b.CreateSub(end, begin);
    Value* used = b.CreateBinaryIntrinsic(in::smin, length, lane_count);
    Partial none = identity(instr, varying);
    // Lane 0 even of an empty chunk, for the result.
    loop(zero, b.CreateBinaryIntrinsic(in::smax, used, one), 1, {}, [&](Value* lane, const Values&) {
      write(lane, none);
      return Values{};
    });
    Values init;
    if (with_mask) init.push_back(taken_before);
    Values taken = loop(begin, end, 1, init, [&](Value* k, const Values& carried) -> Values {
      Value* mask = nullptr;
      Partial next = element(instr, Val::uniform(k), &mask, varying);
      Value* lane = b.CreateAnd(b.CreateSub(k, begin), b.getInt64(kSumLanes - 1));
      write(lane, combine(instr, read(lane), next));
      if (!with_mask) return {};
      return {b.CreateOr(carried[0], mask)};
    });
    Value* left = used;
    for (int64_t step = kSumLanes / 2; step > 0; step /= 2) {
      Value* width = b.getInt64(static_cast<uint64_t>(step));
      loop(zero, b.CreateSub(left, width), 1, {}, [&](Value* lane, const Values&) {
        write(lane, combine(instr, read(lane), read(b.CreateAdd(lane, width))));
        return Values{};
      });
      left = b.CreateBinaryIntrinsic(in::smin, left, width);
    }
    return with_mask ? taken[0] : nullptr;
  };

  if (instr.op == KOp::ReduceChunk) {
    chunk(scalar(instr.operands[0]), scalar(instr.operands[1]), nobody);
    finish_reduce(instr, read(zero), nullptr, varying);
    return;
  }
  Value* n = scalar(instr.operands[0]);
  Value* not_empty = b.CreateICmpSGT(n, zero);
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(n); known && known->getSExtValue() <= kSumChunk) {
    Value* taken = chunk(zero, n, nobody);
    finish_reduce(instr, read(zero), taken ? taken : not_empty, varying);
    return;
  }
  Partial none = identity(instr, varying);
  Values init{widen(instr, none.v)};
  if (arg) init.push_back(none.index);
  if (with_mask) init.push_back(nobody);
  Values results = loop(zero, n, kSumChunk, init, [&](Value* begin, const Values& carried) {
    Value* end = b.CreateBinaryIntrinsic(in::smin, b.CreateNSWAdd(begin, b.getInt64(kSumChunk)), n);
    Value* taken = chunk(begin, end, with_mask ? carried.back() : nobody);
    Partial part = read(zero);
    Value* wide = widen(instr, part.v);
    Values next;
    if (arg) {
      Partial both = combine(instr, {carried[0], carried[1]}, {wide, part.index});
      next = {both.v, both.index};
    } else {
      next = {b.CreateSelect(b.CreateICmpEQ(begin, zero), wide, total(instr, carried[0], wide))};
    }
    if (with_mask) next.push_back(taken);
    return next;
  });
  finish_reduce(instr, {results[0], arg ? results[1] : nullptr}, with_mask ? results.back() : not_empty, varying);
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
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(n); known && known->getSExtValue() <= kContractChunk) {
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

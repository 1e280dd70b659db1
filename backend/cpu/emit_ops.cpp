// Arithmetic on scalars and on vectors.
#include "backend/cpu/counters.h"
#include <algorithm>
#include <fmt/format.h>
#include <llvm/IR/IntrinsicInst.h>

namespace tl::cpu {
using kir::Instr;
using kir::KOp;
using llvm::Value;
using llvm::Intrinsic::ID;
namespace in = llvm::Intrinsic;

namespace {

// Bool counts as unsigned: false < true.
bool unsigned_type(DType type) { return is_unsigned(type) || type == DType::Bool; }

DType computed(DType type) { return type == DType::F16 || type == DType::BF16 ? DType::F32 : type; }

} // namespace

llvm::Type* Emitter::value_type(DType type) {
  switch (computed(type)) {
  case DType::Bool: return b.getInt1Ty();
  case DType::F32: return b.getFloatTy();
  case DType::F64: return b.getDoubleTy();
  default: return b.getIntNTy(static_cast<unsigned>(size_of(type)) * 8);
  }
}

llvm::Type* Emitter::memory_type(DType type) {
  if (type == DType::F32) return b.getFloatTy();
  if (type == DType::F64) return b.getDoubleTy();
  return b.getIntNTy(static_cast<unsigned>(size_of(type)) * 8);
}

llvm::Type* Emitter::shaped(DType type, bool varying) {
  llvm::Type* element = value_type(type);
  return varying && lanes_.width ? llvm::FixedVectorType::get(element, lanes_.width) : element;
}

llvm::Type* Emitter::like(Value* x, llvm::Type* element) const {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

llvm::Constant* Emitter::constant(DType type, Scalar value) {
  switch (computed(type)) {
  case DType::F32: return llvm::ConstantFP::get(context_, llvm::APFloat(value.as<float>()));
  case DType::F64: return llvm::ConstantFP::get(context_, llvm::APFloat(value.as<double>()));
  case DType::Bool: return b.getInt1(value.as<uint8_t>() != 0);
  default: {
    unsigned bits = static_cast<unsigned>(size_of(type)) * 8;
    return llvm::ConstantInt::get(context_, llvm::APInt(64, value.bits).trunc(bits));
  }
  }
}

void Emitter::arithmetic(const Instr& instr) {
  for (const Stretch& s : stretches_)
    if (s.parts && s.parts->give(instr, s.state)) return;
  bool varying = false;
  for (kir::ValueId operand : instr.operands)
    varying |= get(operand).varying;
  if (varying && line_arithmetic(instr)) return;
  Values operands;
  for (kir::ValueId operand : instr.operands)
    operands.push_back(varying ? in_lanes(operand) : scalar(operand));
  DType type = instr.operands.empty() ? instr.dtype : type_of(instr.operands.back());
  Value* result = operation(instr, type, operands);
  set(instr.results[0], varying ? Val::vector(result) : Val::uniform(result));
}

// i64 sums and multiples of lines are lines. False if this is neither.
bool Emitter::line_arithmetic(const Instr& instr) {
  if (instr.dtype != DType::I64) return false;
  for (kir::ValueId operand : instr.operands)
    if (get(operand).varying && !get(operand).is_sum()) return false;
  Val x = get(instr.operands[0]), y = instr.operands.size() > 1 ? get(instr.operands[1]) : Val{};
  if (instr.op == KOp::UDiv || instr.op == KOp::URem) {
    for (const Stretch& s : stretches_)
      if (s.divides(instr)) {
        const bool divides = instr.op == KOp::UDiv;
        set(instr.results[0], divides ? Val::uniform(s.quotient) : Val::line(s.remainder, b.getInt64(1)));
        return true;
      }
    return divide_neighbours(instr) || divide_line(instr);
  }
  Value* zero = b.getInt64(0);
  auto is_zero = [](Value* value) {
    auto* number = llvm::dyn_cast<llvm::ConstantInt>(value);
    return number && number->isZero();
  };
  auto base = [](const Val& v) { return v.is_sum() ? v.base : v.v; };
  auto stride = [&](const Val& v) { return v.is_sum() ? v.stride : zero; };
  Val result;
  auto add_terms = [&](const Val& v, bool negative) {
    for (Term term : v.terms) {
      term.negative = term.negative != negative;
      auto opposite = std::find_if(result.terms.begin(), result.terms.end(), [&](const Term& other) {
        return other.steps.lanes == term.steps.lanes && other.times == term.times && other.negative != term.negative;
      });
      if (opposite != result.terms.end())
        result.terms.erase(opposite);
      else
        result.terms.push_back(term);
    }
  };
  switch (instr.op) {
  case KOp::Add:
    result = Val::line(b.CreateAdd(base(x), base(y)), b.CreateAdd(stride(x), stride(y)));
    add_terms(x, false);
    add_terms(y, false);
    break;
  case KOp::Sub:
    result = Val::line(b.CreateSub(base(x), base(y)), b.CreateSub(stride(x), stride(y)));
    add_terms(x, false);
    add_terms(y, true);
    break;
  case KOp::Neg:
    result = Val::line(b.CreateNeg(base(x)), b.CreateNeg(stride(x)));
    add_terms(x, true);
    break;
  case KOp::Mul:
    if (x.is_sum() && y.is_sum()) return false;
    if (y.is_sum()) std::swap(x, y);
    result = Val::line(b.CreateMul(x.base, y.v), is_zero(x.stride) ? zero : b.CreateMul(x.stride, y.v));
    add_terms(x, false);
    for (Term& term : result.terms)
      term.times = term.times ? b.CreateMul(term.times, y.v) : y.v;
    break;
  default: return false;
  }
  if (is_zero(result.stride) && result.terms.empty()) result = Val::uniform(result.base);
  set(instr.results[0], result);
  return true;
}

Value* Emitter::operation(const Instr& instr, DType type, const Values& x) {
  bool real = is_float(type);
  auto unary = [&](ID id) -> Value* { return b.CreateUnaryIntrinsic(id, x[0]); };
  switch (instr.op) {
  case KOp::Add: return real ? b.CreateFAdd(x[0], x[1]) : b.CreateAdd(x[0], x[1]);
  case KOp::Sub: return real ? b.CreateFSub(x[0], x[1]) : b.CreateSub(x[0], x[1]);
  case KOp::Mul: return real ? b.CreateFMul(x[0], x[1]) : b.CreateMul(x[0], x[1]);
  case KOp::Neg: return real ? b.CreateFNeg(x[0]) : b.CreateNeg(x[0]);
  case KOp::Div: return b.CreateFDiv(x[0], x[1]);
  case KOp::FloorDivInt: return floor_division(type, x[0], x[1], false);
  case KOp::ModInt: return floor_division(type, x[0], x[1], true);
  case KOp::UDiv: return unsigned_division(x[0], x[1], false);
  case KOp::URem: return unsigned_division(x[0], x[1], true);
  case KOp::Fma: return b.CreateIntrinsic(in::fma, {x[0]->getType()}, {x[0], x[1], x[2]});
  case KOp::Sqrt: return unary(in::sqrt);
  case KOp::Abs:
    if (real) return unary(in::fabs);
    return is_unsigned(type) ? x[0] : b.CreateBinaryIntrinsic(in::abs, x[0], b.getFalse());
  case KOp::Floor: return unary(in::floor);
  case KOp::Ceil: return unary(in::ceil);
  case KOp::RoundEven: return unary(in::roundeven);
  case KOp::Trunc: return unary(in::trunc);
  case KOp::CopySign: return b.CreateBinaryIntrinsic(in::copysign, x[0], x[1]);
  case KOp::And: return b.CreateAnd(x[0], x[1]);
  case KOp::Or: return b.CreateOr(x[0], x[1]);
  case KOp::Xor: return b.CreateXor(x[0], x[1]);
  case KOp::Not: return b.CreateNot(x[0]);
  case KOp::Shl: return b.CreateShl(x[0], x[1]);
  case KOp::LShr: return b.CreateLShr(x[0], x[1]);
  case KOp::AShr: return b.CreateAShr(x[0], x[1]);
  case KOp::MulHiU32: {
    llvm::Type* wide = like(x[0], b.getInt64Ty());
    Value* product = b.CreateMul(b.CreateZExt(x[0], wide), b.CreateZExt(x[1], wide));
    return b.CreateTrunc(b.CreateLShr(product, 32), x[0]->getType());
  }
  case KOp::Eq: return real ? b.CreateFCmpOEQ(x[0], x[1]) : b.CreateICmpEQ(x[0], x[1]);
  case KOp::Ne: return real ? b.CreateFCmpUNE(x[0], x[1]) : b.CreateICmpNE(x[0], x[1]);
  case KOp::Lt:
    if (real) return b.CreateFCmpOLT(x[0], x[1]);
    return unsigned_type(type) ? b.CreateICmpULT(x[0], x[1]) : b.CreateICmpSLT(x[0], x[1]);
  case KOp::Le:
    if (real) return b.CreateFCmpOLE(x[0], x[1]);
    return unsigned_type(type) ? b.CreateICmpULE(x[0], x[1]) : b.CreateICmpSLE(x[0], x[1]);
  case KOp::Select: return b.CreateSelect(x[0], x[1], x[2]);
  case KOp::Convert: return convert(type, instr.dtype, x[0]);
  case KOp::Bitcast: return b.CreateBitCast(x[0], like(x[0], value_type(instr.dtype)));
  case KOp::Round16: return round16(instr.dtype, x[0]);
  default: fault(kernel_, fmt::format("operation {} has no code", static_cast<int>(instr.op)));
  }
}

namespace {
// Whether all lanes are one constant.
bool is_splat(Value* x) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(x);
  return constant && constant->getSplatValue();
}
} // namespace

// Floor semantics; by zero 0; the least integer by -1 wraps (the divisor is then taken as 1, which gives the same
// bits).
Value* Emitter::floor_division(DType type, Value* x, Value* y, bool remainder) {
  llvm::Type* full = x->getType();
  Value* zero = llvm::Constant::getNullValue(full);
  Value* one = llvm::ConstantInt::get(full, 1);
  Value* by_zero = b.CreateICmpEQ(y, zero);
  Value* unsafe = by_zero;
  bool is_signed = !unsigned_type(type);
  unsigned bits = full->getScalarSizeInBits();
  if (is_signed) {
    Value* least = llvm::ConstantInt::get(full, llvm::APInt::getSignedMinValue(bits));
    Value* minus_one = llvm::ConstantInt::getSigned(full, -1);
    unsafe = b.CreateOr(unsafe, b.CreateAnd(b.CreateICmpEQ(x, least), b.CreateICmpEQ(y, minus_one)));
  }
  Value* divisor = b.CreateSelect(unsafe, one, y);
  Value* quotient = nullptr;
  if (full->isVectorTy() && bits <= 32 && !llvm::isa<llvm::Constant>(divisor)) {
    // There is no vector division of integers; below 2^32 the f64 quotient is never rounded up to the next integer.
    llvm::Type* wide = like(x, b.getDoubleTy());
    Value* ratio = is_signed ? b.CreateFDiv(b.CreateSIToFP(x, wide), b.CreateSIToFP(divisor, wide))
                             : b.CreateFDiv(b.CreateUIToFP(x, wide), b.CreateUIToFP(divisor, wide));
    llvm::Type* integer = like(x, b.getInt32Ty());
    quotient = b.CreateTrunc(is_signed ? b.CreateFPToSI(ratio, integer) : b.CreateFPToUI(ratio, integer), full);
  } else if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(full); vector && !is_splat(divisor)) {
    // Lane by lane, as the machine does it. LLVM 19's InstCombine gives wrong lanes for the division of a vector by a
    // select where the index becomes a constant (tests/golden/run/division_guarded.tl).
    quotient = llvm::PoisonValue::get(full);
    for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
      Value *a = b.CreateExtractElement(x, lane), *c = b.CreateExtractElement(divisor, lane);
      quotient = b.CreateInsertElement(quotient, is_signed ? b.CreateSDiv(a, c) : b.CreateUDiv(a, c), lane);
    }
  } else {
    quotient = is_signed ? b.CreateSDiv(x, divisor) : b.CreateUDiv(x, divisor);
  }
  Value* rest = b.CreateSub(x, b.CreateMul(quotient, divisor));
  if (is_signed) {
    Value* adjust = b.CreateAnd(b.CreateICmpNE(rest, zero), b.CreateICmpSLT(b.CreateXor(rest, divisor), zero));
    if (remainder)
      rest = b.CreateSelect(adjust, b.CreateAdd(rest, divisor), rest);
    else
      quotient = b.CreateSelect(adjust, b.CreateSub(quotient, one), quotient);
  }
  return b.CreateSelect(by_zero, zero, remainder ? rest : quotient);
}

Value* Emitter::unsigned_division(Value* x, Value* y, bool remainder) {
  // A lane that is switched off may hold a zero divisor.
  if (lanes_.width != 0 && !llvm::isa<llvm::Constant>(y))
    y = b.CreateBinaryIntrinsic(in::umax, y, llvm::ConstantInt::get(y->getType(), 1));
  return remainder ? b.CreateURem(x, y) : b.CreateUDiv(x, y);
}

Value* Emitter::convert(DType from, DType to, Value* x) {
  if (to == DType::F16 || to == DType::BF16) {
    bool exact = is_float(from) ? from != DType::F64 : from == DType::Bool || size_of(from) <= 2;
    return round16(to, exact ? convert(from, DType::F32, x) : round_to_odd(from, x));
  }
  from = computed(from);
  if (from == to) return x;
  llvm::Type* target = like(x, value_type(to));
  if (to == DType::Bool) {
    Value* zero = llvm::Constant::getNullValue(x->getType());
    return is_float(from) ? b.CreateFCmpUNE(x, zero) : b.CreateICmpNE(x, zero);
  }
  if (is_float(from)) {
    if (to == DType::F64) return b.CreateFPExt(x, target);
    if (to == DType::F32) return b.CreateFPTrunc(x, target);
    return float_to_int(to, x);
  }
  if (is_float(to)) return unsigned_type(from) ? b.CreateUIToFP(x, target) : b.CreateSIToFP(x, target);
  return unsigned_type(from) ? b.CreateZExtOrTrunc(x, target) : b.CreateSExtOrTrunc(x, target);
}

// Toward 0; what is beyond the type becomes its least or its greatest number, NaN 0. LLVM 19 takes vectors apart for
// fptosi.sat on x86: here they are brought into the range first.
Value* Emitter::float_to_int(DType to, Value* x) {
  const bool is_signed = !is_unsigned(to);
  llvm::Type* target = like(x, value_type(to));
  if (!x->getType()->isVectorTy())
    return b.CreateIntrinsic(is_signed ? in::fptosi_sat : in::fptoui_sat, {target, x->getType()}, {x});
  const auto bits = static_cast<unsigned>(8 * size_of(to));
  const llvm::APInt least = is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getZero(bits);
  const llvm::APInt greatest = is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  bool is_exact = false;
  auto bound = [&](const llvm::APInt& value) {
    llvm::APFloat number(x->getType()->getScalarType()->getFltSemantics());
    is_exact = number.convertFromAPInt(value, is_signed, llvm::APFloat::rmTowardZero) == llvm::APFloat::opOK;
    return llvm::ConstantFP::get(x->getType(), number);
  };
  Value* low = bound(least); // always exact
  Value* high = bound(greatest);
  Value* inside = b.CreateSelect(b.CreateFCmpOGT(x, low), x, low); // NaN becomes low
  inside = b.CreateSelect(b.CreateFCmpOLT(inside, high), inside, high);
  Value* result = nullptr;
  if (bits < 32)
    result = b.CreateTrunc(b.CreateFPToSI(inside, like(x, b.getInt32Ty())), target);
  else
    result = is_signed ? b.CreateFPToSI(inside, target) : b.CreateFPToUI(inside, target);
  if (!is_exact) result = b.CreateSelect(b.CreateFCmpOGT(x, high), llvm::ConstantInt::get(target, greatest), result);
  if (!is_signed) return result;
  return b.CreateSelect(b.CreateFCmpORD(x, x), result, llvm::Constant::getNullValue(target));
}

// f64 or integers -> f32 toward the neighbour with the last bit set where that is inexact: rounding the result to 16
// bits is then the rounding of x itself (Boldo, Melquiond: Emulation of FMA and correctly rounded sums, 2008).
Value* Emitter::round_to_odd(DType from, Value* x) {
  if (is_int(from)) {
    Value* wide = b.CreateIntCast(x, like(x, b.getInt64Ty()), !unsigned_type(from));
    if (size_of(from) == 8) { // what f64 cannot hold loses 11 bits in the same manner
      Value* eleven = llvm::ConstantInt::get(wide->getType(), 11);
      Value* mask = llvm::ConstantInt::get(wide->getType(), 2047);
      Value* zero = llvm::Constant::getNullValue(wide->getType());
      Value* high = is_unsigned(from) ? b.CreateLShr(wide, eleven) : b.CreateAShr(wide, eleven);
      Value* lost = b.CreateICmpNE(b.CreateAnd(wide, mask), zero);
      Value* sticky = b.CreateOr(high, b.CreateZExt(lost, wide->getType()));
      llvm::Type* real = like(x, b.getDoubleTy());
      Value* large = b.CreateFMul(b.CreateSIToFP(sticky, real), llvm::ConstantFP::get(real, 2048.0));
      Value* magnitude = is_unsigned(from) ? wide : b.CreateBinaryIntrinsic(in::abs, wide, b.getFalse());
      Value* small = b.CreateICmpULT(magnitude, llvm::ConstantInt::get(wide->getType(), uint64_t{1} << 53));
      x = b.CreateSelect(small, b.CreateSIToFP(wide, real), large);
    } else {
      x = b.CreateSIToFP(wide, like(x, b.getDoubleTy()));
    }
  }
  llvm::Type *single = like(x, b.getFloatTy()), *bits = like(x, b.getInt32Ty());
  Value* rounded = b.CreateFPTrunc(x, single);
  Value* back = b.CreateFPExt(rounded, x->getType());
  Value* inexact = b.CreateFCmpONE(back, x);
  Value* away = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(in::fabs, back), b.CreateUnaryIntrinsic(in::fabs, x));
  Value* r = b.CreateBitCast(rounded, bits);
  Value* toward_zero = b.CreateSub(r, b.CreateZExt(away, bits));
  Value* odd = b.CreateOr(toward_zero, llvm::ConstantInt::get(bits, 1));
  return b.CreateBitCast(b.CreateSelect(inexact, odd, r), single);
}

// Behind a fence, else LLVM computes in half where it can, element by element, and its maximum of -0 and 0 is 0.
Value* Emitter::half_to_float(Value* x) {
  Value* wide = b.CreateFPExt(x, like(x, b.getFloatTy()));
  return b.CreateIntrinsic(in::arithmetic_fence, {wide->getType()}, {wide});
}

Value* Emitter::float_to_half(Value* x) {
  // What was half before.
  if (auto* fence = llvm::dyn_cast<llvm::IntrinsicInst>(x); fence && fence->getIntrinsicID() == in::arithmetic_fence)
    if (auto* wide = llvm::dyn_cast<llvm::FPExtInst>(fence->getArgOperand(0))) return wide->getOperand(0);
  return b.CreateFPTrunc(x, like(x, b.getHalfTy()));
}

Value* Emitter::round16(DType to, Value* x) {
  if (to == DType::F16) return half_to_float(float_to_half(x));
  if (to != DType::BF16) fault(kernel_, "Round16 to a type that has not 16 bits");
  // By integers: the processor's own conversion flushes denormal numbers.
  llvm::Type* integer = like(x, b.getInt32Ty());
  auto number = [&](uint32_t value) { return llvm::ConstantInt::get(integer, value); };
  Value* bits = b.CreateBitCast(x, integer);
  Value* last = b.CreateAnd(b.CreateLShr(bits, 16), number(1));
  Value* rounded = b.CreateAdd(b.CreateAdd(bits, number(0x7fff)), last);
  Value* quiet = b.CreateOr(bits, number(0x400000));
  Value* chosen = b.CreateSelect(b.CreateFCmpUNO(x, x), quiet, rounded);
  return b.CreateBitCast(b.CreateAnd(chosen, number(0xffff0000)), like(x, b.getFloatTy()));
}

} // namespace tl::cpu

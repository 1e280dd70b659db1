// Vector loops, and those whose body divides the index, as where a position in a tensor is cut into indices: they go
// from stretch to stretch between the places where a quotient changes, in which quotients are the same for all lanes
// and remainders go up by one. No vector is divided, and what lies along the last axis is read and written side by
// side.
#include "backend/cpu/counters.h"
#include "backend/cpu/uniform.h"
#include <algorithm>

namespace tl::cpu {
using kir::Block;
using kir::Instr;
using kir::KOp;
using kir::ValueId;
using llvm::Value;
namespace in = llvm::Intrinsic;

namespace {

void note_defined(const Block& block, std::vector<bool>& defined) {
  for (ValueId param : block.params)
    defined[param.index] = true;
  for (const Instr& instr : block.instrs) {
    for (ValueId result : instr.results)
      defined[result.index] = true;
    for (const Block& inner : instr.blocks)
      note_defined(inner, defined);
  }
}

bool is_zero(Value* value) {
  auto* known = llvm::dyn_cast<llvm::ConstantInt>(value);
  return known && known->isZero();
}

} // namespace

Linear::Linear(Emitter& emitter, const Block& body) : e_(emitter), body_(body), inside_(emitter.kernel_.types.size()) {
  note_defined(body, inside_);
}

Value* Linear::uniform(ValueId value) const {
  const Instr* instr = e_.definition_[value.index];
  if (instr && instr->op == KOp::Const) return e_.constant(instr->dtype, instr->imm);
  return inside_[value.index] ? nullptr : e_.scalar(value);
}

Value* Linear::offset(ValueId value) const {
  if (value == body_.params[0]) return e_.b.getInt64(0);
  const Instr* instr = inside_[value.index] ? e_.definition_[value.index] : nullptr;
  if (!instr || (instr->op != KOp::Add && instr->op != KOp::Sub)) return nullptr;
  auto with = [&](ValueId moving, ValueId fixed, in::ID op) -> Value* {
    Value* added = uniform(fixed);
    Value* before = added ? offset(moving) : nullptr;
    return before ? e_.b.CreateBinaryIntrinsic(op, before, added) : nullptr;
  };
  const ValueId x = instr->operands[0], y = instr->operands[1];
  if (instr->op == KOp::Sub) return with(x, y, in::ssub_sat);
  Value* sum = with(x, y, in::sadd_sat);
  return sum ? sum : with(y, x, in::sadd_sat);
}

std::vector<Emitter::Stretch> Emitter::stretches_of(const Block& body, unsigned shortest) {
  std::vector<Stretch> found;
  std::optional<Linear> linear;
  for (const Instr* division : divisions(body)) {
    const ValueId dividend = division->operands[0], divisor = division->operands[1];
    auto is_it = [&](const Stretch& s) { return s.divides(*division); };
    if (std::any_of(found.begin(), found.end(), is_it)) continue;
    if (!linear) linear.emplace(*this, body);
    Value *by = linear->uniform(divisor), *added = by ? linear->offset(dividend) : nullptr;
    if (!added) continue;
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(by);
    if (known && known->getSExtValue() < static_cast<int64_t>(shortest)) continue;
    Value* divided = b.CreateBinaryIntrinsic(in::umax, by, b.getInt64(1));
    found.push_back({dividend, divisor, divided, added, nullptr, nullptr, nullptr, {}});
    if (!is_zero(added)) continue;
    for (const Instr& instr : body.instrs)
      if (instr.op == KOp::UDiv && found.back().divides(instr))
        found.back().parts = std::make_shared<Counters>(*this, body, instr.results[0]);
  }
  return found;
}

Values Emitter::vector_loop(const Block& body, Value* lo, Value* hi, unsigned wide, unsigned narrow, Values init,
                            const VectorStep& step, bool keeps_lanes) {
  // Large code: one loop, always masked, for the sake of the compile time.
  const bool small = instruction_count(body) <= 400;
  std::vector<Stretch> stretches = stretches_of(body, wide);
  if (!stretches.empty())
    return loop_over_stretches(std::move(stretches), lo, hi, wide, keeps_lanes ? wide : narrow, init, step, small,
                               keeps_lanes);
  Value *rest = lo, *count = b.CreateBinaryIntrinsic(in::smax, b.CreateSub(hi, lo), b.getInt64(0));
  if (small) {
    rest = b.CreateAdd(lo, b.CreateAnd(count, b.getInt64(~static_cast<uint64_t>(wide - 1))));
    init = loop(lo, rest, wide, std::move(init), [&](Value* at, const Values& carried) {
      lanes_ = {wide, nullptr};
      return step(at, carried);
    });
  }
  return loop(rest, hi, narrow, std::move(init), [&](Value* at, const Values& now) {
    lanes_ = {narrow, nullptr};
    lanes_.mask = tail_mask(b.CreateSub(hi, at));
    return step(at, now);
  });
}

// keeps_lanes: an element is in the lane of its number from `lo` on, so that a stretch may begin in the middle of the
// lanes; else each begins with the first.
Values Emitter::loop_over_stretches(std::vector<Stretch> stretches, Value* lo, Value* hi, unsigned wide,
                                    unsigned narrow, const Values& init, const VectorStep& step, bool small,
                                    bool keeps_lanes) {
  auto divide = [&](Stretch& s, Value* dividend) {
    s.quotient = b.CreateUDiv(dividend, s.by);
    s.remainder = b.CreateSub(dividend, b.CreateMul(s.quotient, s.by));
  };
  for (Stretch& s : stretches)
    if (s.parts) {
      divide(s, lo);
      s.state = s.parts->begin(s.quotient);
    }
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto *header = new_block("stretch"), *across = new_block("part"), *latch = new_block("next"),
       *exit = new_block("done");
  b.CreateCondBr(b.CreateICmpSLT(lo, hi), header, exit);
  b.SetInsertPoint(header);
  Value *zero = b.getInt64(0), *lanes = b.getInt64(narrow);
  auto phi = [&](Value* value, llvm::BasicBlock* from) {
    auto* made = b.CreatePHI(value->getType(), 2);
    made->addIncoming(value, from);
    return made;
  };
  std::vector<llvm::PHINode*> phis{phi(lo, before), phi(zero, before)};
  auto carry = [&](Value* value) {
    phis.push_back(phi(value, before));
    return phis.back();
  };
  Values carried;
  for (Value* value : init)
    carried.push_back(carry(value));
  Value *begin = phis[0], *first_lane = keeps_lanes ? phis[1] : zero;
  for (Stretch& s : stretches) {
    if (!s.parts) continue;
    s.quotient = carry(s.quotient);
    s.remainder = carry(s.remainder);
    for (Value*& value : s.state)
      value = carry(value);
  }
  Value* length = b.CreateSub(hi, begin);
  for (Stretch& s : stretches) {
    Value* left = nullptr;
    if (s.parts) {
      left = b.CreateSub(s.by, s.remainder);
    } else {
      Value* dividend = b.CreateAdd(begin, s.added);
      divide(s, dividend);
      left = b.CreateSub(s.by, s.remainder);
      left = b.CreateSelect(b.CreateICmpSLT(dividend, zero), b.CreateNeg(dividend), left); // beside the tensor
    }
    length = b.CreateBinaryIntrinsic(in::smin, length, left);
  }
  auto in_stretch = [&](Value* at) { // the lanes from `at` on
    stretches_ = stretches;
    for (Stretch& s : stretches_)
      s.remainder = b.CreateAdd(s.remainder, b.CreateSub(at, begin));
  };
  Value* end = begin;
  if (small) {
    Value* whole = b.CreateAnd(length, b.getInt64(~static_cast<uint64_t>(wide - 1)));
    if (keeps_lanes) whole = b.CreateSelect(b.CreateICmpEQ(first_lane, zero), whole, zero);
    end = b.CreateAdd(begin, whole);
    carried = loop(begin, end, wide, carried, [&](Value* at, const Values& now) {
      in_stretch(at);
      lanes_ = {wide, nullptr};
      return step(at, now);
    });
  }
  Value* rest = b.CreateSub(length, b.CreateSub(end, begin));
  Values within{end, first_lane};
  within.insert(within.end(), carried.begin(), carried.end());
  llvm::BasicBlock* after = b.GetInsertBlock();
  b.CreateCondBr(b.CreateICmpSGT(rest, zero), across, latch);

  b.SetInsertPoint(across); // some of the lanes
  Value* count = b.CreateBinaryIntrinsic(in::smin, rest, b.CreateSub(lanes, first_lane));
  Value* at = b.CreateSub(end, first_lane);
  in_stretch(at);
  lanes_ = {narrow, nullptr};
  Value* used = b.CreateAdd(first_lane, count);
  Value* mask = tail_mask(used);
  if (keeps_lanes) mask = b.CreateAnd(mask, b.CreateNot(tail_mask(first_lane)));
  lanes_.mask = mask;
  Values next = step(at, carried);
  lanes_ = {};
  stretches_.clear();
  next.insert(next.begin(), {b.CreateAdd(end, count), b.CreateSelect(b.CreateICmpEQ(used, lanes), zero, used)});
  llvm::BasicBlock* crossed = b.GetInsertBlock();
  b.CreateBr(latch);

  b.SetInsertPoint(latch);
  Values at_latch;
  for (size_t i = 0; i < within.size(); ++i) {
    auto* value = phi(within[i], after);
    value->addIncoming(next[i], crossed);
    at_latch.push_back(value);
  }
  for (const Stretch& s : stretches) {
    if (!s.parts) continue;
    Value* remainder = b.CreateAdd(s.remainder, b.CreateSub(at_latch[0], begin));
    Value* is_next = b.CreateICmpEQ(remainder, s.by);
    at_latch.push_back(b.CreateAdd(s.quotient, b.CreateZExt(is_next, b.getInt64Ty())));
    at_latch.push_back(b.CreateSelect(is_next, zero, remainder));
    const Values after_it = s.parts->next(s.state);
    for (size_t i = 0; i < after_it.size(); ++i)
      at_latch.push_back(b.CreateSelect(is_next, after_it[i], s.state[i]));
  }
  for (size_t i = 0; i < phis.size(); ++i)
    phis[i]->addIncoming(at_latch[i], latch);
  b.CreateCondBr(b.CreateICmpSLT(at_latch[0], hi), header, exit);
  b.SetInsertPoint(exit);
  Values results;
  for (size_t i = 0; i < init.size(); ++i) {
    auto* result = phi(init[i], before);
    result->addIncoming(at_latch[i + 2], latch);
    results.push_back(result);
  }
  return results;
}

} // namespace tl::cpu

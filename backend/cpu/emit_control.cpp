// Loops and branches: plain ones in scalar code, vector loops, and control flow under masks.
#include "backend/cpu/counters.h"
#include "backend/cpu/emit.h"
#include <algorithm>

namespace tl::cpu {
using kir::Block;
using kir::Instr;
using llvm::Value;

llvm::BasicBlock* Emitter::new_block(const char* name) { return llvm::BasicBlock::Create(context_, name, function_); }

Values Emitter::loop(Value* lo, Value* hi, int64_t step, Values init, const LoopBody& body) {
  Value* enters = b.CreateICmpSLT(lo, hi);
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(enters); known && known->isZero()) return init;
  if (auto *first = llvm::dyn_cast<llvm::ConstantInt>(lo), *last = llvm::dyn_cast<llvm::ConstantInt>(hi);
      first && last && last->getSExtValue() - first->getSExtValue() <= step)
    return body(lo, init);
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto *header = new_block("loop"), *exit = new_block("done");
  b.CreateCondBr(enters, header, exit);

  b.SetInsertPoint(header);
  auto* index = b.CreatePHI(lo->getType(), 2, "i");
  index->addIncoming(lo, before);
  std::vector<llvm::PHINode*> phis;
  Values carried;
  for (Value* value : init) {
    phis.push_back(b.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    carried.push_back(phis.back());
  }
  Values next = body(index, carried);
  Value* next_index = b.CreateNSWAdd(index, b.getInt64(static_cast<uint64_t>(step)));
  llvm::BasicBlock* latch = b.GetInsertBlock();
  b.CreateCondBr(b.CreateICmpSLT(next_index, hi), header, exit);
  index->addIncoming(next_index, latch);
  for (size_t i = 0; i < phis.size(); ++i)
    phis[i]->addIncoming(next[i], latch);

  b.SetInsertPoint(exit);
  Values results;
  for (size_t i = 0; i < phis.size(); ++i) {
    auto* phi = b.CreatePHI(init[i]->getType(), 2);
    phi->addIncoming(init[i], before);
    phi->addIncoming(next[i], latch);
    results.push_back(phi);
  }
  return results;
}

Values Emitter::branch(Value* condition, const std::function<Values()>& then, const Values& otherwise) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) return known->isZero() ? otherwise : then();
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto *then_block = new_block("then"), *join = new_block("join");
  b.CreateCondBr(condition, then_block, join);
  b.SetInsertPoint(then_block);
  Values results = then();
  llvm::BasicBlock* then_end = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  for (size_t i = 0; i < results.size(); ++i) {
    auto* phi = b.CreatePHI(results[i]->getType(), 2);
    phi->addIncoming(results[i], then_end);
    phi->addIncoming(otherwise[i], before);
    results[i] = phi;
  }
  return results;
}

// --- masks

Value* Emitter::any(Value* mask) { return b.CreateOrReduce(mask); }

Value* Emitter::masked(Value* condition) {
  // A select, not an "and": what is false must stay false whatever a lane that is switched off holds.
  return lanes_.mask ? b.CreateLogicalAnd(lanes_.mask, condition) : condition;
}

Value* Emitter::tail_mask(Value* count) {
  Value* limit = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, b.getInt64(lanes_.width));
  return b.CreateICmpSLT(lane_ids(b.getInt32Ty()), splat(b.CreateTrunc(limit, b.getInt32Ty())));
}

// --- For

void Emitter::serial_for(const Instr& instr) {
  const Block& body = instr.blocks[0];
  size_t count = body.params.size() - 1;
  Value *lo = scalar(instr.operands[0]), *hi = scalar(instr.operands[1]), *step = scalar(instr.operands[2]);
  Values init;
  for (size_t i = 0; i < count; ++i) {
    kir::ValueId value = instr.operands[i + 3];
    init.push_back(varies(body.params[i + 1]) ? in_lanes(value) : scalar(value));
  }
  Counters counters(*this, body, body.params[0]);
  auto run = [&](Value* index, const Values& carried, const Values& counted) {
    set(body.params[0], Val::uniform(index));
    for (size_t i = 0; i < count; ++i)
      set(body.params[i + 1], varies(body.params[i + 1]) ? Val::vector(carried[i]) : Val::uniform(carried[i]));
    for (const Instr& inner : body.instrs)
      if (counted.empty() || !counters.give(inner, counted)) instruction(inner);
    Values next;
    for (size_t i = 0; i < count; ++i)
      next.push_back(varies(body.params[i + 1]) ? in_lanes(body.yields[i]) : scalar(body.yields[i]));
    return next;
  };
  Values results;
  auto* constant_step = llvm::dyn_cast<llvm::ConstantInt>(step);
  if (constant_step && constant_step->isOne()) {
    Values counted = counters.begin(lo);
    init.insert(init.end(), counted.begin(), counted.end());
    const auto own = static_cast<ptrdiff_t>(count);
    results = loop(lo, hi, 1, init, [&](Value* index, const Values& carried) {
      const Values state(carried.begin() + own, carried.end());
      Values next = run(index, carried, state);
      const Values counts = counters.next(state);
      next.insert(next.end(), counts.begin(), counts.end());
      return next;
    });
  } else {
    // Counted, so that neither the end of the range of i64 nor the sign of the step matters to the loop itself.
    Value *zero = b.getInt64(0), *one = b.getInt64(1);
    Value* up = b.CreateICmpSGT(step, zero);
    Value* distance = b.CreateSub(b.CreateSelect(up, b.CreateSub(hi, lo), b.CreateSub(lo, hi)), one);
    Value* stride = b.CreateSelect(up, step, b.CreateNeg(step));
    stride = b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, stride, one);
    Value* enters = b.CreateSelect(up, b.CreateICmpSLT(lo, hi), b.CreateICmpSGT(lo, hi));
    Value* trips = b.CreateSelect(enters, b.CreateAdd(b.CreateUDiv(distance, stride), one), zero);
    init.push_back(lo);
    results = loop(zero, trips, 1, init, [&](Value*, const Values& carried) {
      Values next = run(carried.back(), carried, {});
      next.push_back(b.CreateAdd(carried.back(), step));
      return next;
    });
  }
  for (size_t i = 0; i < count; ++i)
    set(instr.results[i], varies(body.params[i + 1]) ? Val::vector(results[i]) : Val::uniform(results[i]));
}

std::pair<unsigned, unsigned> Emitter::widths(const Block& body) const {
  // One register of the narrowest kind of element, two of 8 bytes; where operations wait for each other, four of those.
  unsigned bytes = machine_.vector_bytes();
  unsigned width = bytes / static_cast<unsigned>(std::min(widest_element(kernel_, body), 4));
  bool chained = has_chain(body) && instruction_count(body) <= 60;
  return {chained ? 4 * width : width, width};
}

void Emitter::vector_for(const Instr& instr) {
  const Block& body = instr.blocks[0];
  if (auto panel = panel_of(body)) return panel_for(instr, *panel);
  Value *lo = scalar(instr.operands[0]), *hi = scalar(instr.operands[1]);
  auto [wide, width] = widths(body);
  auto piece = [&, wide = wide, width = width](Value* lo, Value* hi) {
    vector_loop(body, lo, hi, wide, width, {}, [&](Value* index, const Values&) {
      set(body.params[0], Val::line(index, b.getInt64(1)));
      block(body);
      lanes_ = {};
      return Values{};
    });
  };
  Splitter(*this, body).run(lo, hi, width, piece);
}

// --- While

void Emitter::while_loop(const Instr& instr) {
  const Block &cond = instr.blocks[0], &body = instr.blocks[1];
  // In lanes, a varying condition makes every carried value vary.
  if (lanes_.width != 0 && varying_[cond.yields[0].index]) {
    masked_while(instr);
    return;
  }
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto *header = new_block("while"), *inside = new_block("do"), *exit = new_block("done");
  std::vector<llvm::PHINode*> phis;
  Values init;
  for (size_t i = 0; i < cond.params.size(); ++i)
    init.push_back(varies(cond.params[i]) ? in_lanes(instr.operands[i]) : scalar(instr.operands[i]));
  b.CreateBr(header);
  b.SetInsertPoint(header);
  for (Value* value : init) {
    phis.push_back(b.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
  }
  auto carried = [&](size_t i) { return varies(cond.params[i]) ? Val::vector(phis[i]) : Val::uniform(phis[i]); };
  for (size_t i = 0; i < phis.size(); ++i)
    set(cond.params[i], carried(i));
  block(cond);
  b.CreateCondBr(scalar(cond.yields[0]), inside, exit);
  b.SetInsertPoint(inside);
  for (size_t i = 0; i < phis.size(); ++i)
    set(body.params[i], carried(i));
  block(body);
  Values next;
  for (size_t i = 0; i < phis.size(); ++i)
    next.push_back(varies(cond.params[i]) ? in_lanes(body.yields[i]) : scalar(body.yields[i]));
  for (size_t i = 0; i < phis.size(); ++i)
    phis[i]->addIncoming(next[i], b.GetInsertBlock());
  b.CreateBr(header);
  b.SetInsertPoint(exit);
  for (size_t i = 0; i < phis.size(); ++i)
    set(instr.results[i], carried(i));
}

// Runs until no lane goes on; lanes that are done keep their values.
void Emitter::masked_while(const Instr& instr) {
  const Block &cond = instr.blocks[0], &body = instr.blocks[1];
  Lanes outer = lanes_;
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto *header = new_block("while"), *inside = new_block("do"), *exit = new_block("done");
  Values init;
  for (kir::ValueId operand : instr.operands)
    init.push_back(in_lanes(operand));
  init.push_back(outer.mask ? outer.mask : splat(b.getTrue()));
  b.CreateBr(header);
  b.SetInsertPoint(header);
  std::vector<llvm::PHINode*> phis;
  for (Value* value : init) {
    phis.push_back(b.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
  }
  size_t count = instr.operands.size();
  for (size_t i = 0; i < count; ++i)
    set(cond.params[i], Val::vector(phis[i]));
  lanes_.mask = phis.back();
  block(cond);
  Value* active = masked(in_lanes(cond.yields[0]));
  b.CreateCondBr(any(active), inside, exit);
  b.SetInsertPoint(inside);
  lanes_.mask = active;
  for (size_t i = 0; i < count; ++i)
    set(body.params[i], Val::vector(phis[i]));
  block(body);
  Values next;
  for (size_t i = 0; i < count; ++i)
    next.push_back(b.CreateSelect(active, in_lanes(body.yields[i]), phis[i]));
  next.push_back(active);
  for (size_t i = 0; i < phis.size(); ++i)
    phis[i]->addIncoming(next[i], b.GetInsertBlock());
  b.CreateBr(header);
  b.SetInsertPoint(exit);
  lanes_ = outer;
  for (size_t i = 0; i < count; ++i)
    set(instr.results[i], Val::vector(phis[i]));
}

// --- If

void Emitter::if_instr(const Instr& instr) {
  if (get(instr.operands[0]).varying) {
    masked_if(instr);
    return;
  }
  Value* condition = scalar(instr.operands[0]);
  if (auto* decided = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    const Block& side = instr.blocks[decided->isZero() ? 1 : 0];
    block(side);
    for (size_t i = 0; i < instr.results.size(); ++i)
      set(instr.results[i], get(side.yields[i]));
    return;
  }
  auto* join = new_block("join");
  llvm::BasicBlock *first[2] = {new_block("then"), new_block("else")}, *last[2];
  b.CreateCondBr(condition, first[0], first[1]);
  std::vector<Val> yields[2];
  for (int side = 0; side < 2; ++side) {
    b.SetInsertPoint(first[side]);
    block(instr.blocks[side]);
    for (kir::ValueId value : instr.blocks[side].yields)
      yields[side].push_back(get(value));
    last[side] = b.GetInsertBlock();
  }
  // A result varies if it does on one of the sides; then both sides give a vector.
  std::vector<bool> varying;
  for (size_t i = 0; i < instr.results.size(); ++i)
    varying.push_back(yields[0][i].varying || yields[1][i].varying);
  Values values[2];
  for (int side = 0; side < 2; ++side) {
    b.SetInsertPoint(last[side]);
    for (size_t i = 0; i < varying.size(); ++i)
      values[side].push_back(varying[i] ? in_lanes(yields[side][i]) : yields[side][i].v);
    b.CreateBr(join);
  }
  b.SetInsertPoint(join);
  for (size_t i = 0; i < varying.size(); ++i) {
    auto* phi = b.CreatePHI(values[0][i]->getType(), 2);
    for (int side = 0; side < 2; ++side)
      phi->addIncoming(values[side][i], last[side]);
    set(instr.results[i], varying[i] ? Val::vector(phi) : Val::uniform(phi));
  }
}

// Both sides run under masks; one with memory access, loops or many operations only if some lane wants it.
void Emitter::masked_if(const Instr& instr) {
  Lanes outer = lanes_;
  Value* condition = in_lanes(instr.operands[0]);
  Values sides[2];
  for (int side = 0; side < 2; ++side) {
    const Block& body = instr.blocks[side];
    Value* wanted = side == 0 ? condition : b.CreateNot(condition);
    Value* mask = masked(wanted);
    auto run = [&]() {
      lanes_.mask = mask;
      block(body);
      Values values;
      for (kir::ValueId value : body.yields)
        values.push_back(in_lanes(value));
      lanes_ = outer;
      return values;
    };
    if (body.instrs.size() > 12 || has_effects_or_loops(body)) {
      Values skipped;
      for (kir::ValueId value : body.yields)
        skipped.push_back(llvm::Constant::getNullValue(shaped(type_of(value), true)));
      sides[side] = branch(any(mask), run, skipped);
    } else {
      sides[side] = run();
    }
  }
  for (size_t i = 0; i < instr.results.size(); ++i)
    set(instr.results[i], Val::vector(b.CreateSelect(condition, sides[0][i], sides[1][i])));
}

} // namespace tl::cpu

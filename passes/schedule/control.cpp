// Branches and loops as jumps.
#include "passes/edit.h"
#include "passes/schedule/function_scheduler.h"
#include <algorithm>

namespace tl {
using namespace ir;

// Is the number behind the last one of a range an i64, whatever the range is otherwise?
static bool steps_fit(std::optional<int64_t> step, std::optional<int64_t> hi) {
  if (!step) return false;
  int64_t last = 0;
  return *step == 1 || *step == -1 || (hi && !__builtin_add_overflow(*hi, *step, &last));
}

void FunctionScheduler::branch(const Node& node) {
  for (ValueId result : node.results)
    if (!is_token(result)) define(result);
  auto give = [&](const Region& region) {
    std::vector<std::pair<Slot, Slot>> pairs;
    for (size_t i = 0; i < node.results.size(); ++i)
      if (!is_token(node.results[i])) pairs.emplace_back(slot(node.results[i]), slot(region.yields[i]));
    moves(std::move(pairs), node.loc);
  };
  Instruction test = make(BcOp::JumpIfNot, node.loc);
  test.in.push_back({slot(node.operands[0])});
  size_t to_else = add(std::move(test));
  nodes(node.regions[0]);
  give(node.regions[0]);
  size_t start = out_.code.size();
  nodes(node.regions[1]);
  give(node.regions[1]);
  if (out_.code.size() == start) { // nothing to do otherwise
    out_.code[to_else].target = here();
    return;
  }
  Instruction jump = make(BcOp::Jump, node.loc);
  out_.code.insert(out_.code.begin() + static_cast<long>(start), std::move(jump));
  for (size_t i = start + 1; i < out_.code.size(); ++i)
    if (out_.code[i].op == BcOp::Jump || out_.code[i].op == BcOp::JumpIfNot) ++out_.code[i].target;
  for (KeptOperand& kept : kept_)
    if (kept.instruction >= start) ++kept.instruction;
  out_.code[to_else].target = static_cast<uint32_t>(start + 1);
  out_.code[start].target = here();
}

void FunctionScheduler::enter(const Node& node, size_t fixed, size_t first) {
  const Region& body = node.regions.back();
  std::vector<std::pair<Slot, Slot>> pairs;
  for (size_t i = 0; i < node.results.size(); ++i) {
    if (is_token(node.results[i])) continue;
    Slot carried = define(body.params[first + i]);
    share(node.results[i], carried);
    if (node.op == Op::While) share(node.regions[0].params[i], carried);
    pairs.emplace_back(carried, slot(node.operands[fixed + i]));
  }
  moves(std::move(pairs), node.loc);
}

void FunctionScheduler::turn(const Node& node) {
  std::vector<std::pair<Slot, Slot>> pairs;
  for (size_t i = 0; i < node.results.size(); ++i)
    if (!is_token(node.results[i])) pairs.emplace_back(slot(node.results[i]), slot(node.regions.back().yields[i]));
  moves(std::move(pairs), node.loc);
}

void FunctionScheduler::for_loop(const Node& node) {
  enter(node, 3, 1);
  Slot i = define(node.regions[0].params[0]);
  Slot hi = slot(node.operands[1]), step = slot(node.operands[2]);
  LocId loc = node.loc;
  auto known = integer_of(f_, node.operands[2]);
  auto compare = [&](ScalarOp op, Slot a, Slot b) { return scalar(op, DType::I64, a, b, loc, new_slot(false)); };
  Slot up{};
  if (!known) up = compare(ScalarOp::Gt, step, constant(DType::I64, Scalar::of(int64_t{0}), loc));
  // Is a before b, on the way that the steps go?
  auto before = [&](Slot a, Slot b) {
    if (known) return compare(*known > 0 ? ScalarOp::Lt : ScalarOp::Gt, a, b);
    Instruction where = make(BcOp::Scalar, loc);
    where.scalar = ScalarOp::Where;
    where.dtype = DType::Bool;
    Slot below = compare(ScalarOp::Lt, a, b), above = compare(ScalarOp::Gt, a, b);
    where.in = {{up}, {below}, {above}};
    Slot chosen = new_slot(false);
    where.out.push_back(chosen);
    add(std::move(where));
    return chosen;
  };
  auto leave_unless = [&](Slot condition) {
    Instruction test = make(BcOp::JumpIfNot, loc);
    test.in.push_back({condition});
    return add(std::move(test));
  };
  move(i, slot(node.operands[0]), loc);
  uint32_t head = here();
  std::vector<size_t> exits{leave_unless(before(i, hi))};
  nodes(node.regions[0]);
  turn(node);
  if (steps_fit(known, integer_of(f_, node.operands[1]))) {
    scalar(ScalarOp::Add, DType::I64, i, step, loc, i);
  } else {
    Slot next = scalar(ScalarOp::Add, DType::I64, i, step, loc, new_slot(false));
    exits.push_back(leave_unless(before(i, next))); // else it has wrapped around: that was the last one
    move(i, next, loc);
  }
  Instruction back = make(BcOp::Jump, loc);
  back.target = head;
  add(std::move(back));
  for (size_t exit : exits)
    out_.code[exit].target = here();
}

void FunctionScheduler::while_loop(const Node& node) {
  enter(node, 0, 0);
  uint32_t head = here();
  nodes(node.regions[0]);
  Instruction test = make(BcOp::JumpIfNot, node.loc);
  test.in.push_back({slot(node.regions[0].yields[0])});
  size_t exit = add(std::move(test));
  nodes(node.regions[1]);
  turn(node);
  Instruction back = make(BcOp::Jump, node.loc);
  back.target = head;
  add(std::move(back));
  out_.code[exit].target = here();
}

} // namespace tl

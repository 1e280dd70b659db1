#include "backend/cpu/counters.h"
#include <algorithm>
#include <set>

namespace tl::cpu {
using kir::Block;
using kir::Instr;
using kir::KOp;
using llvm::Value;

namespace {

// Is the result a function of the operands that may be computed before the loop?
bool is_arithmetic(const Instr& instr) {
  switch (instr.op) {
  case KOp::Const:
  case KOp::Arg:
  case KOp::Add:
  case KOp::Sub:
  case KOp::Mul:
  case KOp::Lt:
  case KOp::Select:
  case KOp::UDiv: return instr.results.size() == 1;
  default: return false;
  }
}

} // namespace

Counters::Counters(Emitter& emitter, const Block& body, kir::ValueId number) : e_(emitter) {
  if (e_.lanes_.width != 0) return; // what is divided by may differ between lanes
  std::set<kir::ValueId> fixed, made(body.params.begin(), body.params.end()); // the same for every number; of the body
  for (const Instr& instr : body.instrs)
    made.insert(instr.results.begin(), instr.results.end());
  auto stays = [&](kir::ValueId v) { return !made.contains(v) || fixed.contains(v); };
  std::map<kir::ValueId, size_t> quotients;
  for (const Instr& instr : body.instrs) {
    const bool divides = instr.op == KOp::UDiv || instr.op == KOp::URem;
    if (divides && stays(instr.operands[1])) {
      const kir::ValueId dividend = instr.operands[0];
      const auto parent = quotients.find(dividend);
      if (dividend == number || parent != quotients.end()) {
        auto level = std::find_if(levels_.begin(), levels_.end(), [&](const Level& l) {
          return l.dividend == dividend && l.divisor == instr.operands[1];
        });
        if (level == levels_.end()) {
          Level fresh{dividend, instr.operands[1], {}};
          if (parent != quotients.end()) fresh.parent = parent->second;
          level = levels_.insert(levels_.end(), fresh);
        }
        const auto at = static_cast<size_t>(level - levels_.begin());
        results_[instr.results[0]] = {at, instr.op == KOp::UDiv};
        if (instr.op == KOp::UDiv) quotients[instr.results[0]] = at;
        continue;
      }
    }
    if (!is_arithmetic(instr) || !std::all_of(instr.operands.begin(), instr.operands.end(), stays)) continue;
    fixed.insert(instr.results[0]);
    before_.push_back(&instr);
  }
}

Values Counters::begin(Value* first) {
  if (levels_.empty()) return {};
  auto& b = e_.b;
  for (const Instr* instr : before_)
    e_.instruction(*instr);
  Values state;
  for (Level& level : levels_) {
    Value* dividend = level.parent ? state[2 * *level.parent] : first;
    level.by = b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, e_.scalar(level.divisor), b.getInt64(1));
    Value* quotient = b.CreateUDiv(dividend, level.by);
    state.push_back(quotient);
    state.push_back(b.CreateSub(dividend, b.CreateMul(quotient, level.by)));
  }
  return state;
}

bool Counters::give(const Instr& instr, const Values& state) {
  if (instr.results.size() != 1) return false;
  const auto found = results_.find(instr.results[0]);
  if (found == results_.end()) return false;
  const auto& [level, is_quotient] = found->second;
  e_.set(instr.results[0], Val::uniform(state[2 * level + (is_quotient ? 0 : 1)]));
  return true;
}

bool Counters::have_runs() const {
  return std::count_if(levels_.begin(), levels_.end(), [](const Level& l) { return !l.parent; }) == 1;
}

Value* Counters::runs(const Values& state, Value* turns) {
  auto& b = e_.b;
  Value* last = b.CreateAdd(b.CreateAdd(state[1], turns), b.CreateSub(levels_[0].by, b.getInt64(1)));
  return b.CreateUDiv(last, levels_[0].by);
}

Value* Counters::run(const Values& state) { return e_.b.CreateSub(levels_[0].by, state[1]); }

Values Counters::within_run(Values state, Value* further) {
  state[1] = e_.b.CreateAdd(state[1], further);
  return state;
}

Values Counters::next(const Values& state, Value* turns) {
  auto& b = e_.b;
  if (!turns) turns = b.getInt64(1);
  Values next, wraps;
  for (size_t i = 0; i < levels_.size(); ++i) {
    Value* step = levels_[i].parent ? b.CreateZExt(wraps[*levels_[i].parent], b.getInt64Ty()) : turns;
    Value* remainder = b.CreateAdd(state[2 * i + 1], step);
    wraps.push_back(b.CreateICmpEQ(remainder, levels_[i].by));
    next.push_back(b.CreateAdd(state[2 * i], b.CreateZExt(wraps[i], b.getInt64Ty())));
    next.push_back(b.CreateSelect(wraps[i], b.getInt64(0), remainder));
  }
  return next;
}

} // namespace tl::cpu

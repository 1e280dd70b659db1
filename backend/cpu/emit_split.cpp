// Vector loops cut where a condition on their index changes: what `concat`, `pad` and the like choose by position is
// chosen once for each piece, and each piece runs without masks (index-set splitting).
#include "backend/cpu/emit.h"
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

constexpr int kMostCuts = 6;           // pieces are code
constexpr int kMostInstructions = 160; // of the whole body
constexpr unsigned kFewestVectors = 4; // a shorter loop is not worth several masked rests

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

} // namespace

Splitter::Splitter(Emitter& emitter, const Block& body)
    : e_(emitter), body_(body), inside_(emitter.kernel_.types.size()) {
  note_defined(body, inside_);
}

std::optional<bool> Splitter::known(ValueId condition) const {
  if (auto found = e_.known_.find(condition); found != e_.known_.end()) return found->second;
  const Instr* instr = e_.definition_[condition.index];
  if (!instr || instr->op != KOp::And) return std::nullopt;
  const std::optional<bool> a = known(instr->operands[0]), c = known(instr->operands[1]);
  if ((a && !*a) || (c && !*c)) return false;
  return a && c ? a : std::nullopt;
}

// A value that is the same for all lanes and there before the loop; null: it is not.
Value* Splitter::uniform(ValueId value) const {
  const Instr* instr = e_.definition_[value.index];
  if (instr && instr->op == KOp::Const) return e_.constant(instr->dtype, instr->imm);
  return inside_[value.index] ? nullptr : e_.scalar(value);
}

// What is added to the index to give this value; null: it is not a sum of the index and uniform values.
Value* Splitter::offset(ValueId value) const {
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

std::optional<Splitter::Cut> Splitter::cut_by(ValueId condition) const {
  const Instr* instr = inside_[condition.index] ? e_.definition_[condition.index] : nullptr;
  if (!instr || e_.known_.contains(condition)) return std::nullopt;
  if (instr->op == KOp::And) {
    std::optional<Cut> cut = cut_by(instr->operands[0]);
    return cut ? cut : cut_by(instr->operands[1]);
  }
  if ((instr->op != KOp::Lt && instr->op != KOp::Le) || e_.type_of(instr->operands[0]) != DType::I64)
    return std::nullopt;
  const bool is_first = offset(instr->operands[0]) != nullptr; // index + offset < bound, or bound < index + offset
  const ValueId moving = instr->operands[is_first ? 0 : 1], fixed = instr->operands[is_first ? 1 : 0];
  Value* bound = uniform(fixed);
  Value* added = bound ? offset(moving) : nullptr;
  if (!added) return std::nullopt;
  // Saturated: where a condition is taken to hold it holds of the numbers themselves.
  Value* at = e_.b.CreateBinaryIntrinsic(in::ssub_sat, bound, added);
  const bool is_next = (instr->op == KOp::Le) == is_first; // the bound itself is on the lower side
  if (is_next) at = e_.b.CreateBinaryIntrinsic(in::sadd_sat, at, e_.b.getInt64(1));
  return Cut{condition, is_first, at};
}

// The first condition of an If that is not decided yet and can be.
std::optional<Splitter::Cut> Splitter::next(const Block& block) const {
  for (const Instr& instr : block.instrs) {
    std::optional<Cut> cut;
    if (instr.op != KOp::If) {
      for (size_t i = 0; i < instr.blocks.size() && !cut; ++i)
        cut = next(instr.blocks[i]);
    } else if (const std::optional<bool> decided = known(instr.operands[0])) {
      cut = next(instr.blocks[*decided ? 0 : 1]);
    } else {
      cut = cut_by(instr.operands[0]);
    }
    if (cut) return cut;
  }
  return std::nullopt;
}

void Splitter::run(Value* lo, Value* hi, const Piece& piece, int cuts) {
  const std::optional<Cut> cut = cuts > 0 ? next(body_) : std::nullopt;
  if (!cut) return piece(lo, hi);
  Value* at = e_.b.CreateBinaryIntrinsic(in::smin, cut->at, hi);
  at = e_.b.CreateBinaryIntrinsic(in::smax, at, lo);
  e_.known_[cut->condition] = cut->below;
  run(lo, at, piece, cuts - 1);
  e_.known_[cut->condition] = !cut->below;
  run(at, hi, piece, cuts - 1);
  e_.known_.erase(cut->condition);
}

void Splitter::run(Value* lo, Value* hi, unsigned width, const Piece& piece) {
  if (instruction_count(body_) > kMostInstructions || !next(body_)) return piece(lo, hi);
  auto *whole = e_.new_block("whole"), *pieces = e_.new_block("pieces"), *join = e_.new_block("join");
  Value* is_long = e_.b.CreateICmpSGE(e_.b.CreateSub(hi, lo), e_.b.getInt64(uint64_t{kFewestVectors} * width));
  e_.b.CreateCondBr(is_long, pieces, whole);
  e_.b.SetInsertPoint(pieces);
  run(lo, hi, piece, kMostCuts);
  e_.b.CreateBr(join);
  e_.b.SetInsertPoint(whole);
  piece(lo, hi);
  e_.b.CreateBr(join);
  e_.b.SetInsertPoint(join);
}

} // namespace tl::cpu

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

} // namespace

Splitter::Splitter(Emitter& emitter, const Block& body) : e_(emitter), body_(body), linear_(emitter, body) {}

std::optional<bool> Splitter::known(ValueId condition) const {
  if (auto found = e_.known_.find(condition); found != e_.known_.end()) return found->second;
  const Instr* instr = e_.definition_[condition.index];
  if (!instr || instr->op != KOp::And) return std::nullopt;
  const std::optional<bool> a = known(instr->operands[0]), c = known(instr->operands[1]);
  if ((a && !*a) || (c && !*c)) return false;
  return a && c ? a : std::nullopt;
}

std::optional<Splitter::Cut> Splitter::cut_by(ValueId condition) const {
  const Instr* instr = linear_.inside(condition) ? e_.definition_[condition.index] : nullptr;
  if (!instr || e_.known_.contains(condition)) return std::nullopt;
  if (instr->op == KOp::And) {
    std::optional<Cut> cut = cut_by(instr->operands[0]);
    return cut ? cut : cut_by(instr->operands[1]);
  }
  if ((instr->op != KOp::Lt && instr->op != KOp::Le) || e_.type_of(instr->operands[0]) != DType::I64)
    return std::nullopt;
  const bool is_first =
      linear_.offset(instr->operands[0]) != nullptr; // index + offset < bound, or bound < index + offset
  const ValueId moving = instr->operands[is_first ? 0 : 1], fixed = instr->operands[is_first ? 1 : 0];
  Value* bound = linear_.uniform(fixed);
  Value* added = bound ? linear_.offset(moving) : nullptr;
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

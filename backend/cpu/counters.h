// Numbers of a loop that its body divides, as where a tile lies along each axis: from one turn to the next quotients
// and remainders change as the hands of a clock do, so a division is an addition and a comparison. Internal to
// backend/cpu.
#pragma once
#include "backend/cpu/emit.h"

namespace tl::cpu {

class Counters {
public:
  // Of a body whose parameter, or value, `number` is one more in each turn: its divisions by what stays, and the
  // divisions of their quotients. `body` has to live as long.
  Counters(Emitter& emitter, const kir::Block& body, kir::ValueId number);

  Values begin(llvm::Value* first); // before the loop: what it carries; the number is at least 0
  Values next(const Values& state, llvm::Value* turns = nullptr); // at the end of a turn, or of so many of one run
  // In a turn: makes the instruction's result known, if it is one of these divisions.
  bool give(const kir::Instr& instr, const Values& state);

  // Runs of turns in which no quotient changes, if the number itself is divided by one divisor.
  bool have_runs() const;
  llvm::Value* runs(const Values& begin, llvm::Value* turns); // how many, of at least one turn
  llvm::Value* run(const Values& state);                      // turns that are left of it
  Values within_run(Values state, llvm::Value* further);      // so many turns on

private:
  struct Level {
    kir::ValueId dividend, divisor;
    std::optional<size_t> parent; // whose quotient is divided; none: the number
    llvm::Value* by = nullptr;    // the divisor, or 1: of no elements there are no turns
  };

  Emitter& e_;
  std::vector<Level> levels_;                               // a parent before its parts
  std::map<kir::ValueId, std::pair<size_t, bool>> results_; // of which level; is it the quotient?
  std::vector<const kir::Instr*> before_;                   // what divisors are computed from
};

} // namespace tl::cpu

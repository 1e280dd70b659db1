// Lifetimes of the slots of a bytecode function: sets last_use and adds Drop.
#pragma once
#include "abi/program/bytecode.h"

namespace tl {

// A Launch whose operand must stay with the frame, though it may be the last use.
struct KeptOperand {
  size_t instruction, operand;
  bool operator==(const KeptOperand&) const = default;
};

// handles: by slot, does it hold a reference (tensor, string, dataflow scalar)? Only those have lifetimes. Afterwards
// every reference ends at a last_use, at a Drop, or by being overwritten, on every way through the function; a Drop may
// also name a slot that is empty already.
void mark_lifetimes(BcFunction& function, const std::vector<bool>& handles, const std::vector<KeptOperand>& kept);

} // namespace tl

// Facts about the operations of Kernel IR, for its printers, verifier and lowering.
#pragma once
#include "backend/kernel/kernel_ir.h"
#include <string_view>

namespace tl::kir {

std::string_view name_of(KOp op);
std::string to_text(const SizeFormula& formula);

// Depends on its operands alone: may be shared, moved and removed. Loads are not pure here (memory changes).
bool is_pure(KOp op);

// The type of a value that lives in memory as `memory`: f32 for f16 and bf16, u64 for key.
DType value_type(DType memory);

// Calls visit(instr) for every instruction in the order of the text, an instruction before those of its blocks.
template <class Block, class Visit> void for_each_instr_in(Block& block, const Visit& visit) {
  for (auto& instr : block.instrs) {
    visit(instr);
    for (auto& inner : instr.blocks)
      for_each_instr_in(inner, visit);
  }
}
template <class Kernel, class Visit> void for_each_instr(Kernel& kernel, const Visit& visit) {
  for_each_instr_in(kernel.gemm.header, visit);
  for_each_instr_in(kernel.gemm.epilogue, visit);
  for (auto& phase : kernel.phases)
    for_each_instr_in(phase.body, visit);
}

} // namespace tl::kir

// Facts about a kernel's blocks that decide how vector code is laid out. No LLVM here.
#pragma once
#include "backend/kernel/kernel_ir.h"

namespace tl::cpu {

// By ValueId: may the value differ between the lanes of the vector loop (or vectorised reduction) around it? A value
// for which this is false is one scalar for all lanes. Outside vector code the answer has no meaning.
std::vector<bool> varying_values(const kir::Kernel& kernel);

// Marks in `varying` what varies inside `block` when its values at the start are as marked already.
void mark_varying(const kir::Block& block, bool in_vector, std::vector<bool>& varying);

// Instructions in the block, those of nested blocks included.
int instruction_count(const kir::Block& block);

// About how many instructions of the machine the block becomes when it is unrolled so many times.
int64_t unrolled_instructions(const kir::Block& block, int64_t times);

// Does the block hold, at any depth, something that a lane that is switched off must not do or that is worth branching
// around: memory access, a loop, a check?
bool has_effects_or_loops(const kir::Block& block);

// Does it hold anything, at any depth, but arithmetic, loads and branches?
bool has_loops_or_stores(const kir::Block& block);

// Is there a vector loop, a reduction or a contraction in it?
bool has_vector_code(const kir::Block& block);

// Would several vectors side by side help: is there a chain of dependent operations (Contract, a long Reduce)?
bool has_chain(const kir::Block& block);

// The greatest size in bytes of the elements that the block computes with; i64 counts only where it is loaded or
// stored, as index arithmetic mostly stays scalar.
int widest_element(const kir::Kernel& kernel, const kir::Block& block);

// A reduction over so few elements that each gets code of its own: its constant extent, else 0.
int64_t unrolled_extent(const kir::Instr& reduce, const std::vector<const kir::Instr*>& definition);

// The unsigned divisions of i64 in the block.
std::vector<const kir::Instr*> divisions(const kir::Block& block);

// The instruction that defines each value, or null for parameters of blocks.
std::vector<const kir::Instr*> definitions(const kir::Kernel& kernel);

} // namespace tl::cpu

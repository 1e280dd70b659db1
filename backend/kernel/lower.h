// A Kernel node of the graph as loop nests: the step that both targets share.
#pragma once
#include "backend/kernel/kernel_ir.h"

namespace tl {

// What a kernel is lowered for. Both compute the same bits; they differ in what a tile is.
enum class Target : uint8_t {
  Cpu, // a tile is work for some microseconds of one thread, and stays in its cache
  Gpu, // a tile is work for a block of threads, or, where it is a short row, for one of them
  // The same, with products by a library: those of which one factor is a vector are products too, not loop nests.
  GpuWithLibrary,
};

// The Kernel IR of one Kernel node. Its parameters are the node's operands in order (i64 scalars as Size, everything
// else as Input), then the node's results as Output: the order of abi/program/bytecode.h's Launch.
//
// What a kernel's region may hold, and which results may take an operand's memory, is in docs/kernels.md. Throws
// std::logic_error ("kernel lowering: …") for a region outside that contract: a fault of tl's, not of the user's
// program. Pure and thread-safe.
kir::Kernel lower_kernel(const ir::Module& module, const ir::Function& function, ir::NodeId kernel_node, Target target);

} // namespace tl

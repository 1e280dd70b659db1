// A Kernel node of the graph as loop nests: the step that both targets share.
#pragma once
#include "ir/kernel_ir.h"

namespace tl {

// The Kernel IR of one Kernel node. Its parameters are the node's operands in order (i64 scalars as Size, everything
// else as Input), then the node's results as Output: the order of vm/abi/bytecode.h's Launch.
//
// What a kernel's region may hold, and which results may take an operand's memory, is in docs/kernels.md. Throws
// std::logic_error ("kernel lowering: …") for a region outside that contract: a fault of tl's, not of the user's
// program. Pure and thread-safe.
//
// A product of which one factor is a vector is a loop nest, mostly: a library has better ones. With `all_products` it
// is a Gemm, too.
kir::Kernel lower_kernel(const ir::Module& module, const ir::Function& function, ir::NodeId kernel_node,
                         bool all_products = false);

} // namespace tl

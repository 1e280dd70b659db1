// Which output of a kernel may lie in the memory of which operand.
#pragma once
#include "abi/program/bytecode.h"
#include "ir/graph/graph.h"

namespace tl {

struct OutputAlias {
  AliasMode mode = AliasMode::None;
  uint32_t operand = 0;      // of the Kernel node
  bool keep_operand = false; // the kernel reads the operand as itself too: its memory must not be taken
};

// One per result of the Kernel node.
std::vector<OutputAlias> output_aliases(const ir::Function& function, const ir::Node& kernel);

} // namespace tl

// Which scalars the host computes while issuing, and which are computed later, as tensors of rank 0.
//
// A scalar is dataflow if it depends on elements of tensors: on an Index, a reduction, a kernel. All others are host
// scalars. Carried values and results of branches are dataflow if they may be on some path.
#pragma once
#include "ir/graph/graph.h"
#include <vector>

namespace tl {

// By ValueId; false for what is no scalar. Nothing is said of values inside Map and Kernel regions.
std::vector<bool> dataflow_scalars(const ir::Function& function);

// The rule for one node, given its operands: is result 0 dataflow? For nodes without regions.
bool gives_dataflow(const ir::Function& function, const ir::Node& node, const std::vector<bool>& dataflow);

} // namespace tl

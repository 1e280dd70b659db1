// Puts nodes into a Kernel node: the last step of outline, fuse and kernels.
#pragma once
#include "ir/graph/graph.h"

namespace tl {

// A Kernel node of these nodes, which are in order and in one region. Constants that they use are copied inside.
//   outputs  results of the nodes that the kernel gives. They become results of the Kernel node under their old ids, so
//            that uses outside stay as they are; inside, fresh values stand for them
// The caller takes the nodes out of their region and puts the Kernel node there.
ir::NodeId wrap_kernel(ir::Module& module, ir::Function& function, std::vector<ir::NodeId> nodes, ir::KernelKind kind,
                       const std::vector<ir::ValueId>& outputs, LocId loc);

} // namespace tl

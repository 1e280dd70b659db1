// What rearranges or computes with large constant tensors, as those that a `const` reads from a file.
#pragma once
#include "ir/graph/graph.h"
#include <optional>

namespace tl {

// The value of a node whose operands are constants, of which one is such a tensor; nothing where it is not worth it: a
// small one, or one that makes more elements than it is given.
std::optional<HostTensor> folded_tensor(const ir::Module& module, const ir::Function& function, const ir::Node& node);

// Drops tensors that no node refers to.
void drop_unused_tensors(ir::Module& module);

} // namespace tl

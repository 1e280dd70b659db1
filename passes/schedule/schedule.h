// The last step: a graph whose tensor work is in Kernel nodes becomes bytecode, and the list of its kernels.
#pragma once
#include "abi/program/bytecode.h"
#include "ir/graph/graph.h"
#include <vector>

namespace tl {

struct KernelRef {
  uint32_t function = 0; // of the module
  ir::NodeId node;       // a Kernel node of it
};

struct Scheduled {
  Program program;
  std::vector<KernelRef> kernels; // by the kernel number of Launch
};

// Requires what run_passes gives. Throws std::logic_error for a graph that is not ready ("schedule: …").
Scheduled schedule(const ir::Module& module);

} // namespace tl

// fuse: tensor work becomes Kernel nodes, as few as the rules allow. kernels: whatever is left becomes one kernel a
// node.
//
// Needs: place (host scalars are settled). The sizes of tensors are one value each, or fewer kernels come out.
// Gives: fuse: Kernel nodes as docs/kernels.md says. kernels: no tensor work outside of kernels but constants, effects
// and
//        the views that the VM makes by pointer and offset.
#include "passes/fuse/groups.h"
#include "passes/passes.h"
#include "passes/schedule/placement.h"

namespace tl {
using namespace ir;
namespace {

void run(Module& module, Function& f, Region& region, const std::vector<bool>& dataflow, bool fusing) {
  for (NodeId id : region.nodes) {
    if (f[id].op != Op::If && f[id].op != Op::For && f[id].op != Op::While) continue;
    for (size_t i = 0; i < f[id].regions.size(); ++i) {
      Region inner = std::move(f[id].regions[i]); // nodes are added, so the others move
      run(module, f, inner, dataflow, fusing);
      f[id].regions[i] = std::move(inner);
    }
  }
  Fusion fusion(module, f, dataflow);
  fusion.group(region, fusing);
  fusion.emit(region);
}

Module run(Module module, bool fusing) {
  for (Function& function : module.functions) {
    std::vector<bool> dataflow = dataflow_scalars(function);
    run(module, function, function.body, dataflow, fusing);
  }
  return module;
}

} // namespace

Module fuse(Module module) { return run(std::move(module), true); }
Module make_kernels(Module module) { return run(std::move(module), false); }

} // namespace tl

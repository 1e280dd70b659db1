// Moves out of loops what every iteration would compute again: constants, host arithmetic, products and reductions.
//
// Needs: nothing.
// Gives: the same values; only total, pure nodes moved (never a Guard, a read at an index or anything with a region),
// and
//        of tensor work only what is dear. Cheap tensor work stays beside its use, for fusion; all of it in a loop that
//        looks at the clock, which measures what is written there.
#include "ir/graph/op_info.h"
#include "passes/edit.h"
#include "passes/passes.h"
#include <algorithm>

namespace tl {
using namespace ir;
namespace {

bool looks_at_clock(const Function& f, const Region& region) {
  return std::any_of(region.nodes.begin(), region.nodes.end(), [&](NodeId id) {
    const Node& node = f[id];
    return node.op == Op::Time || node.op == Op::Stopwatch ||
           std::any_of(node.regions.begin(), node.regions.end(),
                       [&](const Region& inner) { return looks_at_clock(f, inner); });
  });
}

bool movable(const Function& f, const Node& node, bool timed) {
  switch (info(node.op).hoist) {
  case Hoist::Never: return false;
  case Hoist::Always: return true;
  case Hoist::Scalars: return f[node.results[0]].type.is_scalar();
  case Hoist::Untimed: return !timed;
  }
  return false;
}

class Mover {
public:
  explicit Mover(Function& function) : f_(function), depth_(function.values.size()) {}

  void run() { region(f_.body, 0, false); }

private:
  // Loops around the definition of each value count its depth. Gives what leaves the region.
  std::vector<NodeId> region(Region& r, uint32_t depth, bool loop) {
    for (ValueId param : r.params)
      depth_[param.index] = depth;
    std::vector<NodeId> kept, leaving;
    const bool timed = loop && looks_at_clock(f_, r);
    auto put = [&](NodeId id) {
      const Node& node = f_[id];
      bool leaves = loop && movable(f_, node, timed);
      for (ValueId value : node.operands)
        leaves = leaves && depth_[value.index] < depth;
      for (ValueId value : node.results)
        for (const Dim& dim : f_[value].type.dims)
          leaves = leaves && (dim.is_constant() || depth_[dim.value.index] < depth);
      for (ValueId value : node.results)
        depth_[value.index] = leaves ? depth - 1 : depth;
      (leaves ? leaving : kept).push_back(id);
    };
    for (NodeId id : r.nodes) {
      Op op = f_[id].op;
      bool is_loop = op == Op::For || op == Op::While;
      bool is_transform =
          op == Op::Vjp || op == Op::Jvp || op == Op::Vmap || op == Op::Checkpoint || op == Op::CustomVjp;
      if (is_loop || is_transform || op == Op::If)
        for (Region& inner : f_[id].regions)
          for (NodeId moved : region(inner, depth + (is_loop ? 1 : 0), is_loop))
            put(moved);
      put(id);
    }
    r.nodes = std::move(kept);
    return leaving;
  }

  Function& f_;
  std::vector<uint32_t> depth_;
};

} // namespace

Module hoist(Module module) {
  for (Function& function : module.functions)
    Mover(function).run();
  return module;
}

} // namespace tl

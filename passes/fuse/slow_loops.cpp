#include "passes/fuse/slow_loops.h"
#include "ir/graph/op_info.h"
#include "ir/graph/rewrite.h"
#include "ir/graph/turns.h"
#include "passes/edit.h"
#include "passes/fuse/loop_check.h"
#include <algorithm>
#include <cmath>

namespace tl {
using namespace ir;
namespace {

constexpr int64_t kFewTurns = 1000; // whose operations take about a millisecond to issue

// A `for` with a `break` is a While that counts.
bool counts_few(const Function& f, const Node& loop) {
  const Region& condition = loop.regions[0];
  return std::any_of(condition.nodes.begin(), condition.nodes.end(), [&](NodeId id) {
    const Node& node = f[id];
    if (node.op != Op::Elementwise || node.operands.size() != 2) return false;
    for (size_t side = 0; side < 2; ++side) {
      const auto param = std::find(condition.params.begin(), condition.params.end(), node.operands[side]);
      const auto last = integer_of(f, node.operands[1 - side]);
      if (param == condition.params.end() || !last) continue;
      const auto first = integer_of(f, loop.operands[static_cast<size_t>(param - condition.params.begin())]);
      if (first && std::abs(static_cast<double>(*last) - static_cast<double>(*first)) < kFewTurns) return true;
    }
    return false;
  });
}

bool has_few_turns(const Function& f, const Node& loop) {
  if (loop.op == Op::While) return counts_few(f, loop);
  const auto lo = integer_of(f, loop.operands[0]), hi = integer_of(f, loop.operands[1]);
  const auto step = integer_of(f, loop.operands[2]);
  return lo && hi && step && *step != 0 && turns(*lo, *hi, *step) < kFewTurns;
}

// Is it written in this branch? What follows a `continue` is in one, too.
bool is_inside(const Module& module, LocId loc, LocId branch) {
  const Location& outer = module.locations[branch.index];
  for (LocId at = loc; at.index != 0; at = module.locations[at.index].caller) {
    const Location& inner = module.locations[at.index];
    if (inner.file == outer.file && inner.begin >= outer.begin && inner.end <= outer.end) return true;
  }
  return false;
}

void look(const Module& module, const Function& f, const Region& region, std::vector<SlowLoop>& found) {
  for (const NodeId id : region.nodes) {
    const Node& node = f[id];
    if (node.op != Op::For && node.op != Op::While && node.op != Op::If) continue;
    std::vector<std::pair<NodeId, NodeId>> hindrances; // and the branches that they are in
    if (node.op != Op::If && !has_few_turns(f, node)) {
      LoopCheck check(f, LoopContent::Tensors);
      check.hindrances = &hindrances;
      const bool fits = check.fits(id) && check.limits.empty();
      const bool is_plain = std::all_of(hindrances.begin(), hindrances.end(), [&](const auto& one) {
        const Node& node = f[one.first];
        return node.op == Op::Assert || kind_of(node.op) != OpKind::Effect ||
               is_inside(module, node.loc, f[one.second].loc);
      });
      if (!fits || !is_plain) hindrances.clear();
    }
    if (hindrances.empty()) {
      for (const Region& inner : node.regions)
        look(module, f, inner, found);
      continue;
    }
    SlowLoop& loop = found.emplace_back(SlowLoop{node.loc, {}});
    for (const auto& [hindrance, branch] : hindrances)
      loop.hindrances.push_back({f[hindrance].op, f[hindrance].loc});
  }
}

} // namespace

std::vector<SlowLoop> slow_loops(const Module& module) {
  std::vector<SlowLoop> found;
  for (const Function& function : module.functions)
    look(module, function, function.body, found);
  return found;
}

} // namespace tl

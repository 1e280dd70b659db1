// The passes over the graph, as one table, and the function that runs them in its order.
//
// The names are the flags (--disable NAME), the rows of --time-passes and the stops of `tl dump --stage ir --after
// NAME`.
#pragma once
#include "ir/graph/graph.h"
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tl {

struct PassInfo {
  std::string_view name, doc;
  std::string_view needs, gives; // what it requires of the graph and what it guarantees afterwards
  bool required;                 // schedule cannot do without it: switching it off has no effect
  ir::Module (*run)(ir::Module);
};

// In the order in which they run.
std::span<const PassInfo> passes();

using PassTimes = std::vector<std::pair<std::string, double>>; // pass and seconds

using PassHook = std::function<void(std::string_view name, const ir::Module& module)>; // after a pass

struct PassOptions {
  std::set<std::string> disabled;
  bool verify = false;        // after every pass; what it finds is thrown as std::logic_error
  PassHook hook;              // after every pass that ran
  PassTimes* times = nullptr; // filled if given
};

// Throws std::logic_error if the verifier finds a fault in what the pass made.
void require_valid(std::string_view after, const ir::Module& module);

// The passes up to `devices`, which make of a graph as lowered one that the reference interpreter can run: transforms
// of functions become ordinary graph, and tensors of two devices are kept apart. The hook sees what comes in, as
// `lower`. Throws NotDifferentiable (passes/derive/derive.h) and MixedDevices (passes/devices.h).
ir::Module expand_transforms(ir::Module module, const PassOptions& options = {});

// The others, on what expand_transforms gave; up to the pass `last`, if it is named.
ir::Module run_passes(ir::Module module, const PassOptions& options = {}, std::string_view last = {});

} // namespace tl

// Transforms of functions as ordinary graph, and what can go wrong.
#pragma once
#include "ir/graph.h"
#include <stdexcept>
#include <string>

namespace tl {

// A derivative that there is not. The message names the operation as a user would.
struct NotDifferentiable : std::runtime_error {
  NotDifferentiable(const std::string& message, LocId loc) : std::runtime_error(message), loc(loc) {}
  LocId loc;
  std::vector<Location> locations; // of the module, where loc is one
};

// The passes `inline` and `derive`, if there is anything to derive, and the checks of devices, if it names any: a
// module that the reference interpreter can run. Throws NotDifferentiable and MixedDevices (passes/devices.h).
ir::Module expand_transforms(ir::Module module);

} // namespace tl

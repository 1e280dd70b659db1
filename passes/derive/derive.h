// Transforms of functions as ordinary graph, and what can go wrong.
#pragma once
#include "ir/graph/graph.h"
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tl {

// A derivative that there is not. The message names the operation as a user would.
struct NotDifferentiable : std::runtime_error {
  NotDifferentiable(const std::string& message, LocId loc) : std::runtime_error(message), loc(loc) {}
  LocId loc;
  std::vector<Location> locations; // of the module, where loc is one
};

// The passes `inline` and `derive`, if there is anything to derive, and the checks of devices, if it names any: a
// module that the reference interpreter can run. Throws NotDifferentiable and MixedDevices (passes/devices.h). `after`
// sees what comes in, as `lower`, and what each of them makes of it (pipeline.h).
ir::Module expand_transforms(ir::Module module,
                             const std::function<void(std::string_view, const ir::Module&)>& after = {});

} // namespace tl

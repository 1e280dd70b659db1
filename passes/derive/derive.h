// Transforms of functions as ordinary graph, and what can go wrong.
#pragma once
#include "ir/graph/graph.h"
#include <stdexcept>
#include <string>

namespace tl {

// A derivative that there is not. The message names the operation as a user would.
struct NotDifferentiable : std::runtime_error {
  NotDifferentiable(const std::string& message, LocId loc) : std::runtime_error(message), loc(loc) {}
  LocId loc;
  std::vector<Location> locations; // of the module, where loc is one
};

// Is there anything to derive?
bool has_transforms(const ir::Module& module);

} // namespace tl

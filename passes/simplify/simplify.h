// The rules of simplify as rows. Each shrinks the graph or brings it to the one form that the others expect.
#pragma once
#include "passes/edit.h"
#include <span>

namespace tl {

struct SimplifyRule {
  const char* text; // what it does: `x * 1 -> x`
  ir::Op op;        // of the node that it looks at
  // The value that stands for the node's only result, or nothing. May add nodes before it.
  std::optional<ir::ValueId> (*apply)(Edit& edit, ir::NodeId node);
};

std::span<const SimplifyRule> scalar_rules(); // arithmetic, comparisons, choices
std::span<const SimplifyRule> shape_rules();  // views, and how arithmetic moves past them

// A value that comes from nothing that can fail: parameters, constants, what the host has waited for, and what is
// computed from these. Only such a value may be dropped where it does not matter for the result: a failure does.
bool cannot_fail(const ir::Function& function, ir::ValueId value, int depth = 8);

} // namespace tl

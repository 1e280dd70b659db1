// Loops that one thing alone keeps from being native code, so that each of their turns is issued operation by
// operation: what a warning is worth.
#pragma once
#include "ir/graph/graph.h"
#include <vector>

namespace tl {

struct SlowLoop {
  LocId loc;
  struct Hindrance {
    ir::Op op{};
    LocId loc;
  };
  std::vector<Hindrance> hindrances; // in the order of the text; one at least
};

// Of a graph whose loops have had their chance: behind the pass `batches`. Loops of few turns are left out.
std::vector<SlowLoop> slow_loops(const ir::Module& module);

} // namespace tl

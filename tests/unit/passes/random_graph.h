// Random small graphs over symbolic sizes: every op that fusion knows, loops, branches, host and dataflow scalars.
#pragma once
#include "ir/graph.h"
#include <random>

namespace tl::test {

class RandomGraph {
public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {
    module_.functions.emplace_back();
    function().name = "main";
  }

  // Takes x: f32[m, n], y: f32[n] and s: f32; wants m, n >= 3. With `failing`, a Guard may fail.
  ir::Module make(int steps, bool failing);

private:
  ir::Function& function() { return module_.functions[0]; }
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  const ir::Type& type(ir::ValueId value) { return function()[value].type; }

  struct Scope {
    ir::Builder b;
    std::vector<ir::ValueId> pool; // f32 values of any rank
  };
  ir::ValueId pick(Scope& s) { return s.pool[static_cast<size_t>(below(static_cast<int64_t>(s.pool.size())))]; }
  ir::ValueId like(Scope& s, ir::ValueId x);
  void step(Scope& s, int depth);
  ir::ValueId value(Scope& s, int depth);
  ir::ValueId view(Scope& s, ir::ValueId x);
  ir::ValueId indexed(Scope& s, ir::ValueId x);
  ir::ValueId mapped(Scope& s, ir::ValueId x);
  ir::ValueId guarded(Scope& s, ir::ValueId x);
  ir::ValueId updated(Scope& s, ir::ValueId x);
  ir::ValueId product(Scope& s, ir::ValueId x);
  ir::ValueId controlled(Scope& s, ir::ValueId x, int depth);
  ir::ValueId element_loop(Scope& s, ir::ValueId x);
  ir::ValueId scalar_of(Scope& s, ir::ValueId x);

  std::mt19937 random_;
  ir::Module module_;
  bool failing_ = false;
  ir::ValueId m_, n_;
};

} // namespace tl::test

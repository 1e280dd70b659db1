// What the values of the reference interpreter are, and how failures travel in them. Internal to ir/interpret*.cpp.
#pragma once
#include "abi/error.h"
#include "abi/outcome.h"
#include "ir/graph/rewrite.h"
#include "ir/interpret/tensor.h"
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tl::ir {

// A failure as a value. `order`: its place among all failures of the run.
struct Failure {
  RuntimeError error;
  uint64_t order = 0;
};
using Poison = std::shared_ptr<const Failure>;

inline Poison first(const Poison& a, const Poison& b) {
  if (!a || !b) return a ? a : b;
  return b->order < a->order ? b : a;
}

struct List;
struct Cell {
  Data data;
  std::shared_ptr<const std::string> text;
  Poison poison;
  std::shared_ptr<List> list;
  int16_t device = kNoDevice; // of a tensor, not a scalar
};
struct List {
  size_t width = 1;
  std::vector<Cell> values;
  int64_t length() const { return static_cast<int64_t>(values.size() / width); }
};
using Frame = std::vector<Cell>;

inline Cell cell(Data data) { return {std::move(data), nullptr, nullptr, nullptr}; }
inline Cell cell(std::string text) {
  return {{}, std::make_shared<const std::string>(std::move(text)), nullptr, nullptr};
}
inline Cell cell(std::shared_ptr<List> list) { return {{}, nullptr, nullptr, std::move(list)}; }

// ---- values.cpp
// The parameters of the entry. Throws std::logic_error for arguments that do not fit the program.
std::vector<Cell> entry_arguments(const Module& module, const std::vector<Argument>& arguments);
Argument argument(const Cell& value);
// The device of what is computed from these, all of which are on one if on any (passes/devices.h).
int16_t device_in(const Function& function, const std::vector<ValueId>& values, const Frame& frame);
// Operations on devices and processes. Memory is one; which device a tensor is on is a tag.
void run_device(const Node& node, Frame& frame, int cpu_devices);

// Thrown to leave the program: by the first effect or branch that needs a failed value, or by exit.
struct Stop {
  Poison failure; // null: exit
  int exit_code = 0;
};

// Values whose only use is in the region that defines them: that use may take the value away, so that an Update in
// a loop need not copy.
inline std::vector<bool> find_single_uses(const Function& f) {
  std::vector<uint32_t> counts = use_counts(f);
  std::vector<bool> single(f.values.size());
  std::function<void(const Region&)> visit = [&](const Region& region) {
    std::vector<ValueId> defined = region.params, used = region.yields;
    for (NodeId id : region.nodes) {
      defined.insert(defined.end(), f[id].results.begin(), f[id].results.end());
      used.insert(used.end(), f[id].operands.begin(), f[id].operands.end());
      for (const Region& inner : f[id].regions)
        visit(inner);
    }
    std::vector<ValueId> sorted = used;
    std::sort(sorted.begin(), sorted.end());
    for (ValueId id : defined)
      single[id.index] = counts[id.index] == 1 && std::binary_search(sorted.begin(), sorted.end(), id);
  };
  visit(f.body);
  return single;
}

} // namespace tl::ir

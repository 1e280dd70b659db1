// Forward mode: tangents beside the values, in the same graph. Internal to the pass `derive`.
#pragma once
#include "passes/derive/moving.h"
#include "passes/emit.h"
#include <unordered_map>

namespace tl {

class Forward {
public:
  Forward(ir::Module& module, ir::Function& function) : module_(module), f_(function), moving_(function) {}

  // Adds to a region the tangents of what moves when the inputs do, each node's behind it. Loops and branches inside
  // carry them along.
  void run(ir::Region& region, const std::vector<std::pair<ir::ValueId, ir::ValueId>>& inputs);
  // Of a value of the region, to be used behind it; zeros (put at the end of the region) where it stands still.
  ir::ValueId tangent(ir::ValueId value, ir::Region& region, LocId loc);

private:
  void region(ir::Region& region);
  void node(ir::NodeId id, ir::Region& region);
  ir::ValueId linear(Emit& e, const ir::Node& node, size_t operands); // the same operation, of tangents
  void list(Emit& e, const ir::Node& node);
  void branches(ir::NodeId id, Emit& e);
  void loop(ir::NodeId id, Emit& e);
  ir::ValueId reduction(Emit& e, const ir::Node& node);
  ir::ValueId scan(Emit& e, const ir::Node& node); // scans.cpp
  ir::ValueId sort(Emit& e, const ir::Node& node); // sorting.cpp
  ir::ValueId or_zero(Emit& e, ir::ValueId value);
  ir::ValueId of(ir::ValueId value) const {
    auto found = tangents_.find(value.index);
    return found == tangents_.end() ? ir::ValueId{} : found->second;
  }
  const ir::Type& type(ir::ValueId v) const { return f_[v].type; }
  bool moves(ir::ValueId v) const { return moving_(v); }

  ir::Module& module_;
  ir::Function& f_;
  Moving moving_;
  std::unordered_map<uint32_t, ir::ValueId> tangents_;
};

} // namespace tl

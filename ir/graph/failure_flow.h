// What the values of a region are poisoned by: Guards inside it, and values that come from outside. By data and by
// control: what an If gives suffers its condition, what a loop gives its bounds or its condition too. Of a loop it is
// the same for all turns. A `while true` suffers all Guards inside: nothing else ends it.
#pragma once
#include "ir/graph/graph.h"
#include <set>
#include <unordered_map>
#include <vector>

namespace tl::ir {

class FailureFlow {
public:
  FailureFlow(const Function& function, const Region& region);

  bool suffers(ValueId value, NodeId guard) const;
  std::vector<NodeId> guards(ValueId value) const;     // those that `value` suffers
  std::vector<ValueId> outsiders(ValueId value) const; // the values from outside

private:
  using Sources = std::set<uint64_t>; // kGuard + a node's number, or an outside value's
  static constexpr uint64_t kGuard = uint64_t{1} << 32;

  const Sources& of(ValueId value);
  bool add(ValueId value, const Sources& more);                      // whether anything was new
  bool add_all(ValueId value, const std::vector<ValueId>& operands); // and the sizes in their types
  bool region(const Region& r);                                      // the same
  bool node(NodeId id);
  bool branch(const Node& node);
  bool loop(const Node& node);
  bool is_constant(ValueId value) const;

  const Function& f_;
  std::unordered_map<uint32_t, Sources> sources_;
  Sources none_;
};

} // namespace tl::ir

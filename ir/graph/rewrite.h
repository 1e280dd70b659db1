// Tools for passes: walking regions, counting uses, cloning with substitution, removing what is dead.
#pragma once
#include "ir/graph/graph.h"
#include <functional>
#include <vector>

namespace tl::ir {

// All nodes of a region and of the regions inside, in order, a node before its own regions.
void walk(const Function& function, const Region& region, const std::function<void(NodeId)>& visit);

// How often each value is used by a reachable node: as an operand, a yield, or a size in the type of a result or
// parameter.
std::vector<uint32_t> use_counts(const Function& function);

// Values from outside that a node's regions use (operands, yields, sizes in types), each once, in order of first use;
// then the sizes in the types of those.
std::vector<ValueId> captures(const Function& function, const Node& node);

// Removes pure nodes whose results nobody uses, in all regions (see must_stay in op_info.h). Returns whether any went.
bool remove_dead_nodes(Function& function);

// Of a map only what its elements are computed from is ever evaluated. A Guard in it that no element needs, as that of
// a part of a tuple which is not taken, is put in front of the first element, so that it is checked. The elements of a
// map fail together.
void hold_unread_guards(Module& module, Function& function);

// Copies nodes from one function to another (or to the same one), in order, with values substituted. The normal shape
// of a pass:
//   Function result;  Cloner cloner(module, source, result);
//   cloner.hook = [&](NodeId node, Builder& into) { …rewrites node, maps its results…; return true; };  // false: copy
//   it cloner.function();
// The hook sees every node, also those in regions. It asks for operands by cloner(value), and must map() each result
// that is used later. Values that were not mapped stand for themselves where source and target are the same function.
class Cloner {
public:
  Cloner(Module& module, const Function& source, Function& target);

  ValueId operator()(ValueId value) const;
  std::vector<ValueId> operator()(const std::vector<ValueId>& values) const;
  Dim operator()(const Dim& dim) const;
  Type operator()(const Type& type) const;
  bool has(ValueId value) const { return value.index < map_.size() && map_[value.index].valid(); }
  void map(ValueId from, ValueId to);

  // The node with its operands, types and regions substituted, appended to `into`; maps its results. Ignores the hook
  // for this node, but not for the nodes inside.
  NodeId clone(NodeId node, Builder& into);
  // All nodes of a region (through the hook) into `into`; maps no parameters and returns the mapped yields: for
  // inlining.
  std::vector<ValueId> inline_region(const Region& region, Builder& into);
  // A region with fresh parameters.
  Region region(const Region& region);
  // The whole function: name, parameters, body.
  void function();

  const Function& source() const { return source_; }
  Module& module() { return module_; }

  std::function<bool(NodeId, Builder&)> hook;
  std::function<LocId(LocId)> relocate; // the inliner chains callers here

private:
  Module& module_;
  const Function& source_;
  Function& target_;
  std::vector<ValueId> map_;
};

// A copy without unreachable nodes and values.
Function compact(Module& module, const Function& function);

} // namespace tl::ir

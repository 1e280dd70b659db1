#include "ir/graph/failure_flow.h"
#include "ir/graph/rewrite.h"

namespace tl::ir {

FailureFlow::FailureFlow(const Function& function, const Region& r) : f_(function) {
  while (region(r)) {
  } // loops carry what their bodies give
}

// A value that nothing in the region has made comes from outside, and is a source itself.
const FailureFlow::Sources& FailureFlow::of(ValueId value) {
  return sources_.try_emplace(value.index, Sources{value.index}).first->second;
}

bool FailureFlow::add(ValueId value, const Sources& more) {
  auto [at, is_new] = sources_.try_emplace(value.index);
  const size_t before = at->second.size();
  at->second.insert(more.begin(), more.end());
  return is_new || at->second.size() != before;
}

bool FailureFlow::add_all(ValueId value, const std::vector<ValueId>& operands) {
  bool changed = add(value, none_);
  auto take = [&](ValueId operand) {
    const Sources sources = of(operand);
    changed |= add(value, sources);
  };
  for (ValueId operand : operands) {
    take(operand);
    for (const Dim& dim : f_[operand].type.dims)
      if (!dim.is_constant()) take(dim.value);
  }
  return changed;
}

bool FailureFlow::region(const Region& r) {
  bool changed = false;
  for (NodeId id : r.nodes)
    changed |= node(id);
  return changed;
}

bool FailureFlow::node(NodeId id) {
  const Node& n = f_[id];
  switch (n.op) {
  case Op::If: return branch(n);
  case Op::For:
  case Op::While: return loop(n);
  case Op::Guard: { // its payload is for the message alone
    bool changed = add(n.results[0], {kGuard + id.index});
    return changed | add_all(n.results[0], {n.operands[0], n.operands[1]});
  }
  default: break;
  }
  bool changed = false;
  for (const Region& inner : n.regions) { // parameters are elements of what the operands are
    for (ValueId param : inner.params)
      changed |= add_all(param, n.operands);
    changed |= region(inner);
  }
  for (ValueId result : n.results) {
    changed |= add_all(result, n.operands);
    for (const Region& inner : n.regions)
      changed |= add_all(result, inner.yields);
  }
  return changed;
}

bool FailureFlow::is_constant(ValueId value) const {
  const NodeId producer = f_[value].producer;
  return producer.valid() && f_[producer].op == Op::Constant;
}

bool FailureFlow::branch(const Node& n) {
  bool changed = false;
  for (const Region& side : n.regions)
    changed |= region(side);
  for (size_t k = 0; k < n.results.size(); ++k)
    changed |= add_all(n.results[k], {n.operands[0], n.regions[0].yields[k], n.regions[1].yields[k]});
  return changed;
}

bool FailureFlow::loop(const Node& n) {
  const bool counted = n.op == Op::For;
  const size_t fixed = counted ? 3 : 0, lead = counted ? 1 : 0;
  const Region& body = n.regions.back();
  std::vector<ValueId> control(n.operands.begin(), n.operands.begin() + static_cast<int64_t>(fixed));
  if (!counted) control = n.regions[0].yields;
  bool changed = false;
  if (!counted && is_constant(control[0])) {
    walk(f_, body, [&](NodeId id) {
      if (f_[id].op == Op::Guard) changed |= add(control[0], {kGuard + id.index});
    });
  }
  if (counted) changed |= add_all(body.params[0], control);
  for (size_t k = 0; k + fixed < n.operands.size(); ++k)
    for (const Region& r : n.regions) {
      const ValueId param = r.params[k + lead];
      changed |= add_all(param, {n.operands[k + fixed]});
      if (sources_.contains(body.yields[k].index)) changed |= add_all(param, {body.yields[k]});
    }
  for (const Region& r : n.regions)
    changed |= region(r);
  for (size_t k = 0; k < n.results.size(); ++k) {
    changed |= add_all(n.results[k], control);
    changed |= add_all(n.results[k], {n.operands[k + fixed], body.yields[k]});
    for (const Region& r : n.regions)
      changed |= add_all(r.params[k + lead], {body.yields[k]});
  }
  return changed;
}

bool FailureFlow::suffers(ValueId value, NodeId guard) const {
  auto at = sources_.find(value.index);
  return at != sources_.end() && at->second.contains(kGuard + guard.index);
}

std::vector<NodeId> FailureFlow::guards(ValueId value) const {
  std::vector<NodeId> out;
  if (auto at = sources_.find(value.index); at != sources_.end())
    for (uint64_t source : at->second)
      if (source >= kGuard) out.push_back({static_cast<uint32_t>(source - kGuard)});
  return out;
}

std::vector<ValueId> FailureFlow::outsiders(ValueId value) const {
  std::vector<ValueId> out;
  if (auto at = sources_.find(value.index); at != sources_.end())
    for (uint64_t source : at->second)
      if (source < kGuard) out.push_back({static_cast<uint32_t>(source)});
  return out;
}

} // namespace tl::ir

// Removes what nothing needs: pure nodes, results of branches, values that loops carry for themselves alone.
//
// The same knowledge leaves out the vectors of decompositions: `leave_vectors` is not an optimisation that may or may
// not run, since values alone are computed in another way and differ in their last digits.
//
// Needs: nothing.
// Gives: every node left is an effect, a Guard, a call, a While, or what one of those or a result of the function
// needs.
#include "abi/linalg_op.h"
#include "ir/graph/op_info.h"
#include "ir/graph/rewrite.h"
#include "passes/passes.h"
#include "passes/simplify/fold_tensors.h"

namespace tl {
using namespace ir;
namespace {

// The decomposition that gives the values alone, and which results they are: `count` from `first` on.
struct ValuesOnly {
  LinalgOp op;
  size_t first, count;
  bool has(size_t result) const { return result >= first && result < first + count; }
};
std::optional<ValuesOnly> values_only(const Node& node) {
  if (node.op != Op::Linalg) return std::nullopt;
  switch (node.as<LinalgAttrs>().op) {
  case LinalgOp::Svd: return ValuesOnly{LinalgOp::SvdValues, 1, 1};
  case LinalgOp::Eigh: return ValuesOnly{LinalgOp::EighValues, 0, 1};
  case LinalgOp::EigParts: return ValuesOnly{LinalgOp::EigValues, 0, 2};
  default: return std::nullopt;
  }
}

class Marker {
public:
  explicit Marker(Function& function) : f_(function) {
    value_.assign(f_.values.size(), false);
    node_.assign(f_.nodes.size(), false);
    owner_.assign(f_.values.size(), NodeId{});
    parent_.assign(f_.nodes.size(), NodeId{});
    link(f_.body, {});
  }

  void sweep() {
    mark();
    sweep(f_.body);
  }

  void leave_vectors() {
    only_what_is_used_ = true;
    mark();
    if (!any_leaves_vectors(f_.body)) return;
    sweep(f_.body); // what nothing needs may have read them
    leave_vectors(f_.body);
  }

private:
  void mark() {
    for (ValueId value : f_.body.yields)
      need(value);
    for (ValueId value : f_.body.params)
      need(value);
    for (NodeId id : roots_)
      need(id);
    while (!work_.empty()) {
      ValueId value = work_.back();
      work_.pop_back();
      follow(value);
    }
  }

  // Who has this parameter, and around which node a node is.
  void link(const Region& region, NodeId owner) {
    for (ValueId param : region.params)
      owner_[param.index] = owner;
    for (NodeId id : region.nodes) {
      parent_[id.index] = owner;
      const Node& node = f_[id];
      if (node.regions.empty() || node.op == Op::While ? must_stay(f_, node) : is_effect(f_, node))
        roots_.push_back(id);
      for (const Region& inner : node.regions)
        link(inner, id);
    }
  }

  void need(ValueId value) {
    if (value_[value.index]) return;
    value_[value.index] = true;
    work_.push_back(value);
  }

  void need(NodeId id) {
    for (; id.valid() && !node_[id.index]; id = parent_[id.index]) {
      node_[id.index] = true;
      const Node& node = f_[id];
      size_t count = node.op == Op::For ? 3 : node.op == Op::While ? 0 : node.operands.size();
      for (size_t i = 0; i < count; ++i)
        need(node.operands[i]);
      if (node.op == Op::While) need(node.regions[0].yields[0]);
      if (node.op == Op::Map || node.op == Op::For) // their parameters are there in any case
        for (size_t i = 0; i < (node.op == Op::For ? 1 : node.regions[0].params.size()); ++i)
          need(node.regions[0].params[i]);
      bool choosy = node.op == Op::If || node.op == Op::For || node.op == Op::While;
      if (choosy || (only_what_is_used_ && values_only(node))) continue;
      for (ValueId result : node.results)
        need(result);
      for (const Region& region : node.regions)
        for (ValueId yield : region.yields)
          need(yield);
    }
  }

  // Value i of a loop is one thing in five places.
  void need_carried(NodeId id, size_t i) {
    const Node& node = f_[id];
    need(node.results[i]);
    need(node.operands[(node.op == Op::For ? 3 : 0) + i]);
    need(node.regions.back().params[(node.op == Op::For ? 1 : 0) + i]);
    need(node.regions.back().yields[i]);
    if (node.op == Op::While) need(node.regions[0].params[i]);
  }

  void follow(ValueId value) {
    for (const Dim& dim : f_[value].type.dims)
      if (!dim.is_constant()) need(dim.value);
    NodeId producer = f_[value].producer;
    size_t number = f_[value].result;
    if (!producer.valid()) {
      NodeId owner = owner_[value.index];
      if (!owner.valid()) return;
      need(owner);
      const Node& node = f_[owner];
      if (node.op == Op::While) need_carried(owner, number);
      if (node.op == Op::For && number > 0) need_carried(owner, number - 1);
      return;
    }
    need(producer);
    const Node& node = f_[producer];
    if (const auto only = values_only(node); only && !only->has(number))
      for (ValueId result : node.results)
        need(result);
    if (node.op == Op::For || node.op == Op::While) need_carried(producer, number);
    if (node.op == Op::If)
      for (const Region& region : node.regions)
        need(region.yields[number]);
  }

  // Keeps of `values`, from `first` on, those whose counterpart in `of` is needed.
  void shrink(std::vector<ValueId>& values, size_t first, const std::vector<bool>& needed) {
    size_t to = first;
    for (size_t i = 0; i < needed.size(); ++i)
      if (needed[i]) values[to++] = values[first + i];
    values.resize(to);
  }
  void renumber(const std::vector<ValueId>& values) {
    for (uint32_t i = 0; i < values.size(); ++i)
      f_[values[i]].result = i;
  }

  void sweep(Region& region) {
    std::erase_if(region.nodes, [&](NodeId id) { return !node_[id.index]; });
    for (NodeId id : region.nodes) {
      Node& node = f_[id];
      if (node.op == Op::If || node.op == Op::For || node.op == Op::While) {
        std::vector<bool> needed;
        for (ValueId result : node.results)
          needed.push_back(value_[result.index]);
        for (Region& inner : node.regions) {
          size_t first = node.op == Op::For ? 1 : 0;
          if (node.op == Op::For || node.op == Op::While) shrink(inner.params, first, needed);
          if (node.op != Op::While || &inner == &node.regions[1]) shrink(inner.yields, 0, needed);
          renumber(inner.params);
        }
        if (node.op == Op::For || node.op == Op::While) shrink(node.operands, node.op == Op::For ? 3 : 0, needed);
        shrink(node.results, 0, needed);
        renumber(node.results);
      }
      for (Region& inner : node.regions)
        sweep(inner);
      if (node.op == Op::Kernel) node.operands = captures(f_, node);
    }
  }

  // Does nothing else than the values of this decomposition count?
  bool leaves_vectors(const Node& node) const {
    const std::optional<ValuesOnly> only = values_only(node);
    if (!only) return false;
    for (size_t i = 0; i < node.results.size(); ++i)
      if (!only->has(i) && value_[node.results[i].index]) return false;
    return true;
  }

  bool any_leaves_vectors(const Region& region) const {
    return std::ranges::any_of(region.nodes, [&](NodeId id) {
      const Node& node = f_[id];
      return (node_[id.index] && leaves_vectors(node)) ||
             std::ranges::any_of(node.regions, [&](const Region& inner) { return any_leaves_vectors(inner); });
    });
  }

  void leave_vectors(const Region& region) {
    for (NodeId id : region.nodes) {
      Node& node = f_[id];
      for (const Region& inner : node.regions)
        leave_vectors(inner);
      if (!leaves_vectors(node)) continue;
      const ValuesOnly only = *values_only(node);
      std::vector<ValueId> values;
      for (size_t i = 0; i < node.results.size(); ++i)
        if (only.has(i)) values.push_back(node.results[i]);
      node.results = values;
      renumber(node.results);
      node.attrs = LinalgAttrs{only.op, node.as<LinalgAttrs>().site};
    }
  }

  Function& f_;
  bool only_what_is_used_ = false; // of the results of a decomposition
  std::vector<bool> value_, node_;
  std::vector<NodeId> owner_, parent_, roots_;
  std::vector<ValueId> work_;
};

} // namespace

Module dce(Module module) {
  for (Function& function : module.functions)
    Marker(function).sweep();
  drop_unused_tensors(module);
  return module;
}

// Needs: no transforms of functions, whose derivatives need vectors.
// Gives: decompositions of which only the values are needed compute nothing else.
Module leave_vectors(Module module) {
  for (Function& function : module.functions)
    Marker(function).leave_vectors();
  return module;
}

} // namespace tl

// Products of matrices that a comprehension computes element by element: `[dot(x[i], y[j]) for i, j]`.
//
// Needs: sizes that are equal are one value.
// Gives: a Contract in a Map that is a number, and whose factors are rows of tensors from outside, is one Contract before
//        the Map, of which the Map reads an element. No factor is made for all positions that is not there already.
#include "ir/graph/op_info.h"
#include "ir/graph/rewrite.h"
#include "passes/edit.h"
#include "passes/passes.h"
#include "passes/vectorize/vectorize.h"
#include <algorithm>
#include <set>

namespace tl {
using namespace ir;
namespace {

class Products {
public:
  Products(Module& module, Function& function) : module_(module), f_(function), edit_(module, function) {}

  void run() {
    edit_.leave = [&](NodeId id) {
      if (f_[id].op == Op::Map) map(id);
      return Edit::Keep;
    };
    edit_.run();
  }

private:
  // What a factor is made of in the body of a Map.
  struct Factor {
    std::set<NodeId> nodes;
    std::set<ValueId> uses; // parameters of the Map
    bool is_view = true;    // elements of one tensor from outside, each at most once
    bool fits = true;
  };

  void map(NodeId id) {
    const Region body = f_[id].regions[0];
    for (NodeId node : body.nodes)
      if (f_[node].op == Op::Contract && f_[f_[node].results[0]].type.dims.empty()) take_out(id, body, node);
  }

  void take_out(NodeId map, const Region& body, NodeId contract) {
    std::set<ValueId> all;
    std::set<NodeId> needed{contract};
    Factor factors[2];
    for (size_t side = 0; side < 2; ++side) {
      collect(f_[contract].operands[side], body, factors[side]);
      all.insert(factors[side].uses.begin(), factors[side].uses.end());
      needed.insert(factors[side].nodes.begin(), factors[side].nodes.end());
    }
    for (const Factor& factor : factors)
      if (!factor.fits || (!factor.is_view && factor.uses.size() == all.size())) return;
    if (all.empty()) return;

    Region part{body.params, {}, {f_[contract].results[0]}};
    std::ranges::copy_if(body.nodes, std::back_inserter(part.nodes), [&](NodeId n) { return needed.contains(n); });
    Cloner cloner(module_, f_, f_);
    const Region copy = cloner.region(part);
    Region made;
    Builder into(module_, f_, made);
    Vectorizer vectorizer(module_, f_, f_[f_[map].results[0]].type.dims, into);
    for (size_t i = 0; i < copy.params.size(); ++i)
      vectorizer.bind_index(copy.params[i], static_cast<uint32_t>(i));
    if (!vectorizer.region(copy)) return;
    const Batched product = vectorizer(copy.yields[0]);
    for (NodeId node : made.nodes)
      edit_.keep(node);
    Node& element = f_[contract];
    element.op = Op::Index;
    element.operands = {product.value};
    for (uint32_t axis : product.axes)
      element.operands.push_back(body.params[axis]);
    element.attrs = {};
    edit_.changed = true;
  }

  void collect(ValueId value, const Region& body, Factor& into) const {
    if (std::ranges::count(body.params, value) > 0) {
      into.uses.insert(value);
      return;
    }
    const NodeId id = f_[value].producer;
    if (!id.valid() || std::ranges::count(body.nodes, id) == 0) return; // from outside
    if (!into.nodes.insert(id).second) return;
    const Node& node = f_[id];
    into.is_view = into.is_view && node.op == Op::Map && chooses_elements(node);
    into.fits = into.fits && is_simple(node);
    each_operand(node, [&](ValueId operand) { collect(operand, body, into); });
  }

  // Of the node and of what it holds.
  template <class Visit> void each_operand(const Node& node, const Visit& visit) const {
    std::ranges::for_each(node.operands, visit);
    for (ValueId result : node.results)
      for (const Dim& dim : f_[result].type.dims)
        if (!dim.is_constant()) visit(dim.value);
    for (const Region& inner : node.regions)
      for (NodeId id : inner.nodes)
        each_operand(f_[id], visit);
  }

  bool is_simple(const Node& node) const {
    switch (node.op) {
    case Op::Constant:
    case Op::Elementwise:
    case Op::Convert:
    case Op::Index: return true;
    case Op::Map: return std::ranges::all_of(node.regions[0].nodes, [&](NodeId id) { return is_simple(f_[id]); });
    default: return false;
    }
  }

  // A Map to elements x[i, k] of one tensor: subscripts are numbers that are there, or parameters, each of them once.
  bool chooses_elements(const Node& map) const {
    const Region& body = map.regions[0];
    if (body.nodes.size() != 1 || f_[body.nodes[0]].op != Op::Index) return false;
    const std::vector<ValueId>& operands = f_[body.nodes[0]].operands;
    const std::set<ValueId> subscripts(operands.begin() + 1, operands.end());
    return subscripts.size() + 1 == operands.size();
  }

  Module& module_;
  Function& f_;
  Edit edit_;
};

} // namespace

Module products(Module module) {
  for (Function& function : module.functions)
    Products(module, function).run();
  return module;
}

} // namespace tl

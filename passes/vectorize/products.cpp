// Products of matrices that a comprehension computes element by element: `[dot(x[i], y[j]) for i, j]`.
//
// Needs: sizes that are equal are one value.
// Gives: a Contract in a Map, or in Maps in each other, whose factors are made of rows of tensors from outside, is one
//        Contract before them, of which they read an element. What is made for all positions is no larger than a tensor
//        that is there, or the product of two such factors.
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
    edit_.scope = [&](NodeId id, size_t, bool enter) {
      if (f_[id].op == Op::Map) depth_ += enter ? 1 : -1;
    };
    edit_.leave = [&](NodeId id) {
      if (f_[id].op == Op::Map && depth_ == 0) {
        levels_.clear(), inside_.clear();
        descend(id);
      }
      return Edit::Keep;
    };
    edit_.run();
  }

private:
  // What a factor is made of in the bodies of the Maps.
  struct Factor {
    std::set<NodeId> nodes;
    std::set<ValueId> uses; // parameters of the Maps
    bool fits = true;
  };

  // Maps in Maps, whose elements are all computed.
  void descend(NodeId map) {
    const std::vector<Dim>& dims = f_[f_[map].results[0]].type.dims;
    if (std::ranges::any_of(dims, [&](const Dim& d) { return !d.is_constant() && inside_.contains(d.value); })) return;
    levels_.push_back(map);
    const Region body = f_[map].regions[0];
    inside_.insert(body.params.begin(), body.params.end());
    for (NodeId id : body.nodes)
      inside_.insert(f_[id].results.begin(), f_[id].results.end());
    for (NodeId id : body.nodes) {
      if (f_[id].op == Op::Map) descend(id);
      if (f_[id].op == Op::Contract && f_[f_[id].results[0]].type.dims.empty()) take_out(id);
    }
    levels_.pop_back();
    for (NodeId id : body.nodes)
      for (ValueId result : f_[id].results)
        inside_.erase(result);
    for (ValueId param : body.params)
      inside_.erase(param);
  }

  void take_out(NodeId contract) {
    std::set<ValueId> all;
    std::set<NodeId> needed{contract};
    Factor factors[2];
    for (size_t side = 0; side < 2; ++side) {
      collect(f_[contract].operands[side], factors[side]);
      all.insert(factors[side].uses.begin(), factors[side].uses.end());
      needed.insert(factors[side].nodes.begin(), factors[side].nodes.end());
    }
    for (size_t side = 0; side < 2; ++side)
      if (!factors[side].fits ||
          (factors[side].uses.size() == all.size() && !is_covered(f_[contract].operands[side], factors[side])))
        return;
    if (all.empty() || !follows(factors)) return;

    Region part{{}, {}, {f_[contract].results[0]}};
    std::vector<Dim> dims;
    for (NodeId map : levels_) {
      const Region& body = f_[map].regions[0];
      part.params.insert(part.params.end(), body.params.begin(), body.params.end());
      std::ranges::copy_if(body.nodes, std::back_inserter(part.nodes), [&](NodeId n) { return needed.contains(n); });
      const std::vector<Dim>& own = f_[f_[map].results[0]].type.dims;
      dims.insert(dims.end(), own.begin(), own.end());
    }
    const std::vector<ValueId> params = part.params;
    Cloner cloner(module_, f_, f_);
    const Region copy = cloner.region(part);
    Region made;
    Builder into(module_, f_, made);
    Vectorizer vectorizer(module_, f_, dims, into);
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
      element.operands.push_back(params[axis]);
    element.attrs = {};
    edit_.changed = true;
  }

  // In a Map in others: for each of their positions that the product is made for, is there a row of one factor?
  bool follows(const Factor (&factors)[2]) const {
    std::set<ValueId> outer;
    for (size_t i = 0; i + 1 < levels_.size(); ++i) {
      const std::vector<ValueId>& params = f_[levels_[i]].regions[0].params;
      outer.insert(params.begin(), params.end());
    }
    auto has_all = [&](const Factor& factor, const Factor& other) {
      return std::ranges::all_of(other.uses, [&](ValueId v) { return !outer.contains(v) || factor.uses.contains(v); });
    };
    return has_all(factors[0], factors[1]) || has_all(factors[1], factors[0]);
  }

  void collect(ValueId value, Factor& into) const {
    if (!inside_.contains(value)) return;
    if (!f_[value].producer.valid()) {
      into.uses.insert(value);
      return;
    }
    const NodeId id = f_[value].producer;
    if (!into.nodes.insert(id).second) return;
    const Node& node = f_[id];
    const bool folds = node.op == Op::Reduce && is_covered(node.operands[0], into);
    into.fits = into.fits && (folds || is_simple(node));
    each_operand(node, [&](ValueId operand) { collect(operand, into); });
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
    case Op::Guard:
    case Op::Index: return true;
    case Op::Map: return std::ranges::all_of(node.regions[0].nodes, [&](NodeId id) { return is_simple(f_[id]); });
    default: return false;
    }
  }

  // Is it, for all positions, no larger than a tensor from outside that it reads? Then that has an axis for each of its
  // own and for each parameter that it uses.
  bool is_covered(ValueId value, const Factor& factor) const {
    if (!inside_.contains(value)) return factor.uses.empty();
    const Node* node = producer_of(f_, value);
    if (!node) return false;
    std::set<ValueId> axes = factor.uses;
    if (node->op == Op::Index) return has_all(subscripts(*node), axes);
    if (node->op != Op::Map) return f_[value].type.dims.empty();
    const Region& elements = node->regions[0];
    axes.insert(elements.params.begin(), elements.params.end());
    return std::ranges::any_of(elements.nodes,
                               [&](NodeId id) { return f_[id].op == Op::Index && has_all(subscripts(f_[id]), axes); });
  }
  static bool has_all(const std::vector<ValueId>& subscripts, const std::set<ValueId>& axes) {
    return std::ranges::all_of(axes, [&](ValueId axis) { return std::ranges::count(subscripts, axis) == 1; });
  }
  // Of a tensor from outside, of which parts may have been taken before; else none.
  std::vector<ValueId> subscripts(const Node& index) const {
    std::vector<ValueId> result(index.operands.begin() + 1, index.operands.end());
    ValueId base = index.operands[0];
    while (inside_.contains(base)) {
      const Node* part = producer_of(f_, base);
      if (!part || part->op != Op::Index) return {};
      result.insert(result.begin(), part->operands.begin() + 1, part->operands.end());
      base = part->operands[0];
    }
    return result;
  }

  Module& module_;
  Function& f_;
  Edit edit_;
  int depth_ = 0;              // Maps around
  std::vector<NodeId> levels_; // Maps, the outermost first,
  std::set<ValueId> inside_;   // and the values of their bodies
};

} // namespace

Module products(Module module) {
  for (Function& function : module.functions)
    Products(module, function).run();
  return module;
}

} // namespace tl

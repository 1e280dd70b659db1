// Windows that a product reads, as views.
//
// Needs: sizes that are equal are one value.
// Gives: a Map that Contracts alone read and that only chooses elements of a tensor, by windows as a convolution or
//        each once, as Slices and Concats, which a product reads in place.
#include "ir/graph/rewrite.h"
#include "passes/edit.h"
#include "passes/fuse/views.h"
#include "passes/passes.h"
#include "passes/vectorize/vectorize.h"
#include <algorithm>
#include <unordered_set>

namespace tl {
using namespace ir;
namespace {

class Windows {
public:
  Windows(Module& module, Function& function) : module_(module), f_(function), edit_(module, function) {}

  void run() {
    find_readers(f_.body);
    edit_.visit = [&](NodeId id) {
      const Node& node = f_[id];
      if (node.op != Op::Map || node.results.size() != 1 || others_.contains(node.results[0].index)) return Edit::Keep;
      const ValueId value = node.results[0], view = as_view(node);
      if (!view.valid()) return Edit::Keep;
      edit_.replace(value, view);
      return Edit::Drop;
    };
    edit_.run();
  }

private:
  void find_readers(const Region& region) {
    auto reads = [&](ValueId value) { others_.insert(value.index); };
    std::for_each(region.yields.begin(), region.yields.end(), reads);
    walk(f_, region, [&](NodeId id) {
      const Node& node = f_[id];
      if (node.op != Op::Contract) std::for_each(node.operands.begin(), node.operands.end(), reads);
      for (const Region& inner : node.regions)
        std::for_each(inner.yields.begin(), inner.yields.end(), reads);
    });
  }

  // Nothing where it is none.
  ValueId as_view(const Node& map) {
    const Node* element = producer_of(f_, map.regions[0].yields[0]);
    if (!element || element->op != Op::Index) return {};
    const std::vector<Dim> dims = f_[map.results[0]].type.dims;
    Cloner cloner(module_, f_, f_);
    const Region body = cloner.region(Region(map.regions[0]));
    Region made;
    Builder into(module_, f_, made);
    Vectorizer vectorizer(module_, f_, dims, into);
    for (size_t i = 0; i < body.params.size(); ++i)
      vectorizer.bind_index(body.params[i], static_cast<uint32_t>(i));
    if (!vectorizer.region(body)) return {};
    const ValueId result = vectorizer.spread(vectorizer(body.yields[0]));
    if (!is_view(made, result)) return {};
    for (NodeId id : made.nodes)
      edit_.keep(id);
    return result;
  }

  // Of a tensor that is there; around windows there may be zeros. Without windows, where it begins has to be known.
  bool is_view(const Region& made, ValueId value) const {
    bool windows = false, known = true;
    while (true) {
      const NodeId id = f_[value].producer;
      if (!id.valid() || !std::count(made.nodes.begin(), made.nodes.end(), id)) return windows || known;
      const Node& node = f_[id];
      switch (node.op) {
      case Op::Pad: return windows;
      case Op::Concat:
        if (!window_view(f_, node)) return false;
        windows = true;
        break;
      case Op::Reshape:
        if (!only_ones_differ(f_[node.operands[0]].type.dims, f_[value].type.dims)) return false;
        break;
      case Op::Slice:
      case Op::Index:
        known = known && std::all_of(node.operands.begin() + 1, node.operands.end(),
                                     [&](ValueId start) { return constant_of(f_, start); });
        break;
      case Op::Transpose:
      case Op::Broadcast: break;
      default: return false;
      }
      value = node.operands[0];
    }
  }

  Module& module_;
  Function& f_;
  Edit edit_;
  std::unordered_set<uint32_t> others_; // values that more than Contracts read
};

} // namespace

Module windows(Module module) {
  for (Function& function : module.functions)
    Windows(module, function).run();
  return module;
}

} // namespace tl

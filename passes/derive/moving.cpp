#include "passes/derive/moving.h"
#include "passes/derive/partials.h"
#include <algorithm>

namespace tl {
using namespace ir;

bool Moving::can(const Type& t) {
  if (t.is_list()) return std::any_of(t.elements.begin(), t.elements.end(), can);
  return t.is_tensor() && is_float(t.dtype);
}

bool Moving::find_loop(const Node& node) {
  bool is_for = node.op == Op::For;
  const Region& body = node.regions.back();
  size_t first_param = is_for ? 1 : 0, first_operand = is_for ? 3 : 0;
  bool any = false;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = first_param; i < body.params.size(); ++i) {
      size_t k = i - first_param;
      bool now = can(f_[body.params[i]].type) && ((*this)(node.operands[first_operand + k]) || (*this)(body.yields[k]));
      if (now && values_.insert(body.params[i].index).second) changed = true;
    }
    size_t before = values_.size();
    find(body.nodes);
    changed = changed || values_.size() != before;
  }
  for (size_t k = 0; k < node.results.size(); ++k)
    if ((*this)(body.params[k + first_param])) {
      values_.insert(node.results[k].index);
      any = true;
    }
  return any;
}

void Moving::find(const std::vector<NodeId>& nodes) {
  for (NodeId id : nodes) {
    const Node& node = f_[id];
    auto any = [&] {
      return std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId v) { return (*this)(v); });
    };
    auto mark = [&](ValueId v) {
      if (can(f_[v].type)) values_.insert(v.index);
    };
    switch (node.op) {
    case Op::StopGradient: break;
    case Op::If:
      for (const Region& region : node.regions) {
        find(region.nodes);
        for (size_t i = 0; i < region.yields.size(); ++i)
          if ((*this)(region.yields[i])) mark(node.results[i]);
      }
      break;
    case Op::For:
    case Op::While: find_loop(node); break;
    case Op::Checkpoint: {
      const Region& region = node.regions[0];
      for (size_t i = 0; i < region.params.size(); ++i)
        if ((*this)(node.operands[i])) mark(region.params[i]);
      find(region.nodes);
      for (size_t i = 0; i < region.yields.size(); ++i)
        if ((*this)(region.yields[i])) mark(node.results[i]);
      break;
    }
    case Op::Elementwise:
      if (!has_derivative(node.as<ElementwiseAttrs>().op)) break;
      [[fallthrough]];
    default:
      if (any())
        for (ValueId v : node.results)
          mark(v);
    }
  }
}

} // namespace tl

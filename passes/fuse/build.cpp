// What fusion knows of a region's nodes before it decides: their classes, readers and costs.
#include "ir/graph/op_info.h"
#include "ir/graph/rewrite.h"
#include "passes/edit.h"
#include "passes/fuse/groups.h"
#include "passes/fuse/views.h"
#include <algorithm>

namespace tl {
using namespace ir;
namespace {

uint32_t cost_of(ScalarOp op) {
  const ScalarOpInfo& row = info(op);
  if (row.ulp != 0 || op == ScalarOp::KeyBits || op == ScalarOp::KeyFold) return kDear; // polynomials, Philox
  switch (op) {
  case ScalarOp::Div:
  case ScalarOp::FloorDiv:
  case ScalarOp::Mod:
  case ScalarOp::Sqrt: return 5;
  default: return 1;
  }
}

uint32_t cost_of(const Function& f, const Node& node) {
  if (node.op == Op::Elementwise) return cost_of(node.as<ElementwiseAttrs>().op);
  if (node.op != Op::Map) return info(node.op).cost;
  uint32_t sum = 0;
  walk(f, node.regions[0], [&](NodeId id) {
    const Op op = f[id].op;
    const bool loops = op == Op::Map || op == Op::For || op == Op::While;
    sum = loops ? kDear : std::min(kDear, sum + cost_of(f, f[id]));
  });
  return sum;
}

bool holds_guard(const Function& f, const Node& node) {
  bool found = false;
  for (const Region& region : node.regions)
    walk(f, region, [&](NodeId id) { found = found || f[id].op == Op::Guard; });
  return found;
}

} // namespace

bool Fusion::host_scalar(ValueId value) const {
  return f_[value].type.is_scalar() && !(value.index < dataflow_.size() && dataflow_[value.index]);
}

FusionClass Fusion::classify(const Node& node) const {
  const FusionClass fusion = info(node.op).fusion;
  if (fusion == FusionClass::Scalar && host_scalar(node.results[0])) return FusionClass::Outside;
  if (node.op == Op::Reshape) {
    const auto& from = f_[node.operands[0]].type.dims;
    const Node* counted = producer_of(f_, node.operands[0]); // numbers are computed again, whatever their shape
    bool inside =
        from.empty() || only_ones_differ(from, f_[node.results[0]].type.dims) || (counted && counted->op == Op::Iota);
    return inside ? FusionClass::View : FusionClass::Outside;
  }
  if (window_view(f_, node)) return FusionClass::View;
  if (fusion == FusionClass::Guard) {
    if (!f_[node.operands[0]].type.is_tensor() || host_scalar(node.results[0])) return FusionClass::Outside;
    for (size_t i = 1; i < node.operands.size(); ++i)
      if (!host_scalar(node.operands[i])) return FusionClass::Guard;
    return FusionClass::HostGuard;
  }
  return fusion;
}

int32_t Fusion::item_of(ValueId value) const {
  auto at = item_of_value_.find(value.index);
  return at == item_of_value_.end() ? -1 : static_cast<int32_t>(at->second);
}

// Values of this region that the node's regions use, each once.
void Fusion::inner_uses(const Node& node, std::vector<ValueId>& values) const {
  auto use = [&](ValueId value) {
    if (item_of(value) >= 0) values.push_back(value);
  };
  for (const Region& region : node.regions) {
    for (NodeId id : region.nodes) {
      for (ValueId value : f_[id].operands)
        use(value);
      inner_uses(f_[id], values);
    }
    for (ValueId value : region.yields)
      use(value);
  }
}

void Fusion::estimate(Item& item) {
  const Node& node = f_[item.node];
  item.guards = item.kind == FusionClass::Guard || holds_guard(f_, node);
  item.cost = cost_of(f_, node);
  for (size_t i = 0; i < node.operands.size(); ++i) {
    int32_t producer = item_of(node.operands[i]);
    bool scalar = f_[node.operands[i]].type.is_scalar();
    FusionClass kind = producer < 0 ? FusionClass::Outside : items_[static_cast<size_t>(producer)].kind;
    bool pulled = kind == FusionClass::Scalar || kind == FusionClass::View || kind == FusionClass::Map;
    if (pulled) {
      item.cost = std::min(kDear, item.cost + items_[static_cast<size_t>(producer)].cost);
      item.leaves += items_[static_cast<size_t>(producer)].leaves;
    } else if (!scalar) {
      ++item.leaves;
    }
    if (producer < 0) continue;
    if (kind == FusionClass::Reduce)
      item.reduce = producer;
    else if (item.reduce < 0)
      item.reduce = items_[static_cast<size_t>(producer)].reduce;
  }
  if (node.op == Op::Broadcast) item.leaves = item.cost = 0; // small beside what it becomes
  if (node.op == Op::Concat && item.kind == FusionClass::View) item.leaves = 1, item.cost = 0;
}

void Fusion::find_last_check(Item& item) {
  const Node& node = f_[item.node];
  auto from = [&](ValueId value) {
    int32_t producer = item_of(value);
    if (producer < 0) return;
    item.last_check = std::max(item.last_check, items_[static_cast<size_t>(producer)].last_check);
    item.checks |= items_[static_cast<size_t>(producer)].checks;
  };
  for (ValueId operand : node.operands)
    from(operand);
  for (ValueId result : node.results)
    for (const Dim& dim : f_[result].type.dims)
      if (!dim.is_constant()) from(dim.value);
  std::vector<ValueId> inner;
  inner_uses(node, inner);
  for (ValueId value : inner)
    from(value);
  if (node.op == Op::Guard || node.op == Op::Call || is_effect(f_, node) || holds_guard(f_, node))
    item.last_check = item.position;
  if (node.op == Op::Guard || holds_guard(f_, node)) item.checks.set(item.position % item.checks.size());
}

void Fusion::add_items(const Region& region) {
  for (NodeId id : region.nodes) {
    uint32_t index = static_cast<uint32_t>(items_.size());
    Item item;
    item.node = id;
    item.position = item.original = index;
    item.kind = classify(f_[id]);
    estimate(item);
    find_last_check(item);
    items_.push_back(item);
    for (ValueId result : f_[id].results)
      item_of_value_[result.index] = index;
    const Node& node = f_[id];
    for (size_t i = 0; i < node.operands.size(); ++i)
      if (item_of(node.operands[i]) >= 0) uses_[node.operands[i].index].push_back({index, static_cast<int32_t>(i)});
    if (node.regions.empty()) continue;
    std::vector<ValueId> values;
    inner_uses(node, values);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    for (ValueId value : values)
      uses_[value.index].push_back({index, -1});
    inner_[index] = std::move(values);
  }
  for (ValueId value : region.yields)
    yielded_.insert(value.index);
}

std::vector<Use> Fusion::uses(uint32_t item) const {
  std::vector<Use> all;
  for (ValueId result : node_of(item).results) {
    auto at = uses_.find(result.index);
    if (at != uses_.end()) all.insert(all.end(), at->second.begin(), at->second.end());
  }
  return all;
}

double Fusion::order_of(uint32_t item) const {
  int32_t group = items_[item].group;
  return group >= 0 ? groups_[static_cast<size_t>(group)].order : items_[item].position;
}

bool Fusion::cheap(const Item& item) const {
  constexpr uint32_t kCheap = 8, kLeaves = 2;
  if (item.guards) return false;
  if (item.kind == FusionClass::View) return true;
  if (item.kind != FusionClass::Scalar && item.kind != FusionClass::Map) return false;
  return item.cost <= kCheap && item.leaves <= kLeaves;
}

void Fusion::group(const Region& region, bool fuse) {
  add_items(region);
  for (size_t i = items_.size(); i-- > 0;) {
    uint32_t item = static_cast<uint32_t>(i);
    if (items_[item].kind == FusionClass::Outside) continue;
    if (fuse)
      visit(item);
    else if (items_[item].kind != FusionClass::HostGuard)
      start(item);
  }
  if (!fuse) return;
  for (size_t g = 0, end = groups_.size(); g < end; ++g)
    if (groups_[g].alive && !groups_[g].decided && groups_[g].rows >= 0)
      dissolve_expected_rows(static_cast<uint32_t>(g));
  merge_siblings();
}

} // namespace tl

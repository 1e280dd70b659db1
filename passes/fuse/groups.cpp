// The order in which fusion decides: readers before what they read, then what was expected and did not come, then
// siblings.
#include "passes/fuse/groups.h"
#include "ir/graph/rewrite.h"
#include <algorithm>

namespace tl {
using namespace ir;

// A group of its own.
void Fusion::start(uint32_t item) {
  Item& it = items_[item];
  const Node& node = node_of(item);
  const Type& type = f_[node.results[0]].type;
  Group g;
  g.root = item;
  g.order = it.position;
  g.space = type.dims;
  Read here{Place::Element, true, true};
  switch (it.kind) {
  case FusionClass::Reduce:
    g.decided = true;
    g.reduces = 1;
    g.space = f_[node.operands[0]].type.dims;
    g.reduced = node.as<ReduceAttrs>().axes;
    for (size_t i = 0; i < g.reduced.size(); ++i)
      g.columns = g.columns || g.reduced[i] != static_cast<int64_t>(g.space.size() - g.reduced.size() + i);
    here.place = Place::Row;
    break;
  case FusionClass::Scan: g.scan = true; break;
  case FusionClass::Contract: g.kind = KernelKind::Contract; break;
  case FusionClass::Update:
    g.kind = KernelKind::Update;
    g.space = f_[node.operands[node.op == Op::Update ? 1 : 2]].type.dims;
    break;
  default: break;
  }
  groups_.push_back(std::move(g));
  add(item, static_cast<uint32_t>(groups_.size() - 1), here);
}

// A copy of the node for the readers in one group.
uint32_t Fusion::copy(uint32_t item, uint32_t group) {
  Region elsewhere;
  Builder into(module_, f_, elsewhere);
  Cloner cloner(module_, f_, f_);
  NodeId id = cloner.clone(items_[item].node, into);
  uint32_t index = static_cast<uint32_t>(items_.size());
  Item made = items_[item];
  made.node = id;
  made.group = -1;
  items_.push_back(made);

  for (size_t r = 0; r < f_[id].results.size(); ++r) {
    ValueId from = node_of(item).results[r], to = f_[id].results[r];
    item_of_value_[to.index] = index;
    auto moved = [&](const Use& use) { return items_[use.item].group == static_cast<int32_t>(group); };
    std::vector<Use> mine;
    for (const Use& use : uses_[from.index]) {
      if (!moved(use)) continue;
      mine.push_back(use);
      NodeId reader = items_[use.item].node;
      if (use.slot >= 0) {
        f_[reader].operands[static_cast<size_t>(use.slot)] = to;
        continue;
      }
      for (const Region& region : f_[reader].regions) // a Map: its body names the copy now
        walk(f_, region, [&](NodeId inner) {
          for (ValueId& value : f_[inner].operands)
            if (value == from) value = to;
          for (Region& nested : f_[inner].regions)
            std::replace(nested.yields.begin(), nested.yields.end(), from, to);
        });
      for (Region& region : f_[reader].regions)
        std::replace(region.yields.begin(), region.yields.end(), from, to);
    }
    std::erase_if(uses_[from.index], moved);
    uses_[to.index] = std::move(mine);
  }
  const Node& node = f_[id];
  for (size_t i = 0; i < node.operands.size(); ++i)
    if (item_of(node.operands[i]) >= 0) uses_[node.operands[i].index].push_back({index, static_cast<int32_t>(i)});
  auto inner = inner_.find(items_[item].original);
  if (inner != inner_.end())
    for (ValueId value : inner->second)
      uses_[value.index].push_back({index, -1});
  return index;
}

// What is free or cheap joins its readers as copies. Gives whether nobody needs the original any more.
bool Fusion::join_copies(uint32_t item, const std::vector<uint32_t>& readers, bool outside) {
  constexpr size_t kCopies = 64, kCopiesOfTwo = 3;
  bool view = items_[item].kind == FusionClass::View;
  if (!cheap(items_[item]) || readers.size() > kCopies) return false;
  if (!view && (outside || (items_[item].leaves > 1 && readers.size() > kCopiesOfTwo))) return false;
  std::vector<uint32_t> takers;
  for (uint32_t group : readers)
    if (join(item, group, Mode::Try)) takers.push_back(group);
  bool all = takers.size() == readers.size() && !outside;
  if (!all && !view) return false;
  for (size_t i = 0; i < takers.size(); ++i) {
    bool original = all && i + 1 == takers.size();
    join(original ? item : copy(item, takers[i]), takers[i], Mode::Member);
  }
  return all;
}

// The group that reads the item before everything else that does.
Group* Fusion::first_reader(uint32_t item) {
  double least = 0;
  Group* first = nullptr;
  bool any = false;
  for (const Use& use : uses(item)) {
    double order = order_of(use.item);
    if (any && order >= least) continue;
    any = true;
    least = order;
    int32_t group = items_[use.item].group;
    first = group >= 0 ? &groups_[static_cast<size_t>(group)] : nullptr;
  }
  return first;
}

void Fusion::visit(uint32_t item) {
  std::vector<uint32_t> readers;
  bool outside = false;
  auto look = [&] {
    readers.clear();
    for (ValueId result : node_of(item).results)
      outside = outside || yielded_.contains(result.index);
    for (const Use& use : uses(item)) {
      int32_t group = items_[use.item].group;
      if (group < 0)
        outside = true;
      else if (!std::count(readers.begin(), readers.end(), static_cast<uint32_t>(group)))
        readers.push_back(static_cast<uint32_t>(group));
    }
  };
  look();
  if (readers.size() > 1 && readers.size() <= 8 && !cheap(items_[item])) {
    uint32_t into = readers[0];
    for (size_t i = 1; i < readers.size(); ++i)
      if (merge(into, readers[i]) && !groups_[into].alive) into = readers[i];
    look();
  }
  if (readers.size() == 1 && !outside && join(item, readers[0], Mode::Member)) return;
  if (!readers.empty() && join_copies(item, readers, outside)) return;
  if (Group* first = readers.empty() ? nullptr : first_reader(item))
    if (join(item, static_cast<uint32_t>(first - groups_.data()), Mode::Output)) return;
  if (items_[item].kind != FusionClass::HostGuard) start(item);
}

// The group of `item` reads producers in the group `from`: copies of those instead.
void Fusion::copy_producers(uint32_t item, uint32_t from) {
  std::vector<ValueId> operands = node_of(item).operands;
  auto inner = inner_.find(items_[item].original);
  if (inner != inner_.end()) operands.insert(operands.end(), inner->second.begin(), inner->second.end());
  for (ValueId value : operands) {
    int32_t producer = item_of(value);
    if (producer < 0 || items_[static_cast<size_t>(producer)].group != static_cast<int32_t>(from)) continue;
    uint32_t group = static_cast<uint32_t>(items_[item].group);
    uint32_t made = copy(static_cast<uint32_t>(producer), group);
    add(made, group, {Place::Other, false, false});
    copy_producers(made, from);
  }
}

// Row values joined because a Reduce was to come, and it did not: they become kernels of their own, just before.
void Fusion::dissolve_expected_rows(uint32_t group) {
  std::vector<uint32_t> rows;
  for (uint32_t member : groups_[group].members)
    if (items_[member].place == Place::Row && items_[member].kind != FusionClass::HostGuard) rows.push_back(member);
  std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(items_[a].position, a) < std::pair(items_[b].position, b);
  });
  for (uint32_t row : rows)
    std::erase(groups_[group].members, row);
  double order = groups_[group].order;
  for (size_t i = 0; i < rows.size(); ++i) {
    start(rows[i]);
    groups_.back().order = order - 0.5 + 0.4 * static_cast<double>(i + 1) / static_cast<double>(rows.size() + 1);
  }
  for (uint32_t row : rows)
    copy_producers(row, group);
  groups_[group].rows = -1;
}

// Groups over the same space that read the same tensor.
void Fusion::merge_siblings() {
  std::unordered_map<uint32_t, std::vector<uint32_t>> readers; // by value
  std::vector<uint32_t> values;                                // in order of appearance
  for (uint32_t g = 0; g < groups_.size(); ++g) {
    if (!groups_[g].alive || groups_[g].kind != KernelKind::Nest) continue;
    for (uint32_t member : groups_[g].members)
      for (ValueId value : node_of(member).operands) {
        int32_t producer = item_of(value);
        if (producer >= 0 && items_[static_cast<size_t>(producer)].group == static_cast<int32_t>(g)) continue;
        if (!f_[value].type.is_tensor() || f_[value].type.is_scalar()) continue;
        std::vector<uint32_t>& list = readers[value.index];
        if (list.empty()) values.push_back(value.index);
        if (list.empty() || list.back() != g) list.push_back(g);
      }
  }
  std::vector<uint32_t> merged_into(groups_.size());
  for (uint32_t g = 0; g < groups_.size(); ++g)
    merged_into[g] = g;
  auto now = [&](uint32_t g) {
    while (merged_into[g] != g)
      g = merged_into[g];
    return g;
  };
  for (uint32_t value : values) {
    std::vector<uint32_t>& list = readers[value];
    if (list.size() < 2 || list.size() > 256) continue;
    std::sort(list.begin(), list.end(),
              [&](uint32_t a, uint32_t b) { return groups_[now(a)].order < groups_[now(b)].order; });
    for (size_t i = 0; i + 1 < list.size(); ++i) {
      uint32_t a = now(list[i]), b = now(list[i + 1]);
      if (a == b) continue;
      if (!merge(a, b)) continue;
      uint32_t dead = groups_[a].alive ? b : a, kept = groups_[a].alive ? a : b;
      merged_into[dead] = kept;
    }
  }
}

} // namespace tl

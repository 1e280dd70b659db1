// Where a node may join a group of readers: places in the iteration space, and the rules of docs/kernels.md.
#include "abi/factors.h"
#include "passes/edit.h"
#include "passes/fuse/groups.h"
#include "passes/fuse/views.h"
#include <algorithm>

namespace tl {
using namespace ir;
namespace {

constexpr size_t kMembers = 400; // nodes of a kernel
constexpr uint32_t kOutputs = 8, kReduces = 8;
constexpr int64_t kOneRow = 65536; // elements of a full reduction that may be read again afterwards

bool small_constant(const std::vector<Dim>& dims) {
  int64_t count = 1;
  for (const Dim& dim : dims) {
    if (!dim.is_constant() || dim.constant > kOneRow) return false;
    count *= dim.constant;
    if (count > kOneRow) return false;
  }
  return true;
}

bool trailing(const std::vector<int64_t>& axes, size_t rank) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != static_cast<int64_t>(rank - axes.size() + i)) return false;
  return true;
}

std::vector<Dim> kept_dims(const Group& group) {
  std::vector<Dim> dims;
  for (size_t i = 0; i < group.space.size(); ++i)
    if (!std::count(group.reduced.begin(), group.reduced.end(), static_cast<int64_t>(i)))
      dims.push_back(group.space[i]);
  return dims;
}

// `dims` are those of a row: the kept sizes, and then ones.
bool row_dims(const std::vector<Dim>& dims, const std::vector<Dim>& kept) {
  if (dims.size() < kept.size()) return false;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!(dims[i] == (i < kept.size() ? kept[i] : Dim::of(1)))) return false;
  return true;
}

} // namespace

// The number of leading axes of the rows that the item would be a value of, if the Reduce that it is computed from
// joined this group; -1 if that can't be.
int32_t Fusion::expected_rows(uint32_t item, const Group& group) const {
  const Item& it = items_[item];
  int32_t source = it.kind == FusionClass::Reduce ? static_cast<int32_t>(item) : it.reduce;
  if (source < 0 || group.decided || group.scan || group.kind != KernelKind::Nest) return -1;
  const Node& reduce = node_of(static_cast<uint32_t>(source));
  const std::vector<int64_t>& axes = reduce.as<ReduceAttrs>().axes;
  if (!(f_[reduce.operands[0]].type.dims == group.space) || !trailing(axes, group.space.size())) return -1;
  int32_t rows = static_cast<int32_t>(group.space.size() - axes.size());
  if (group.rows >= 0 && group.rows != rows) return -1;
  if (rows == 0 && !small_constant(group.space)) return -1;
  return rows;
}

Fusion::Read Fusion::read_scalar(const Use& use, uint32_t item, const Group& group) const {
  const Item& reader = items_[use.item];
  if (group.space.empty() && !group.decided) return {Place::Element, true, reader.full};
  bool one_row = group.decided ? group.reduced.size() == group.space.size() : group.rows == 0;
  if (reader.place == Place::Row && f_[node_of(use.item).results[0]].type.is_scalar())
    return {Place::Row, true, reader.full};
  if (one_row && reader.place != Place::Other) return {Place::Row, true, true};
  if (!group.decided && expected_rows(item, group) == 0) return {Place::Row, true, false, 0};
  return {Place::Single, true, false};
}

Fusion::Read Fusion::read_broadcast(const Item& reader, uint32_t item, const Group& group) const {
  const Node& node = f_[reader.node];
  const std::vector<Dim>& dims = f_[node.operands[0]].type.dims;
  const std::vector<int64_t>& axes = node.as<AxesAttrs>().axes;
  if (reader.place == Place::Element && group.decided) {
    std::vector<Dim> kept = kept_dims(group);
    bool row = row_dims(dims, kept);
    size_t k = 0;
    for (size_t axis = 0; axis < group.space.size() && row; ++axis) {
      if (std::count(group.reduced.begin(), group.reduced.end(), static_cast<int64_t>(axis))) continue;
      row = axes[k++] == static_cast<int64_t>(axis);
    }
    if (row) return {Place::Row, true, reader.full};
  }
  int32_t rows = reader.place == Place::Element ? expected_rows(item, group) : -1;
  if (rows >= 0) {
    std::vector<Dim> kept(group.space.begin(), group.space.begin() + rows);
    bool row = row_dims(dims, kept);
    for (int32_t i = 0; i < rows && row; ++i)
      row = axes[static_cast<size_t>(i)] == i;
    if (row) return {Place::Row, true, reader.full, rows};
  }
  if (reader.place == Place::Row && only_ones_differ(dims, f_[node.results[0]].type.dims))
    return {Place::Row, true, reader.full};
  return {Place::Other, false, false};
}

// How `use` reads the item, in the group that the reader is in.
Fusion::Read Fusion::read(const Use& use, uint32_t item, const Group& group) const {
  const Item& reader = items_[use.item];
  const Node& node = f_[reader.node];
  const Read never{Place::Other, false, false, -1, false};
  const Read anywhere{Place::Other, false, false};
  const Read moved{Place::Other, reader.once, reader.full};
  const Read same{reader.place, reader.once, reader.full};
  const Read element{Place::Element, true, true};
  bool scalar = f_[node_of(item).results[0]].type.is_scalar();
  if (use.slot < 0) return scalar ? Read{Place::Single, true, false} : anywhere;
  if (node.op == Op::Update || node.op == Op::Scatter) {
    if (use.slot == 0) return never;
    if (use.slot == (node.op == Op::Update ? 1 : 2)) return element;
    return scalar ? read_scalar(use, item, group) : anywhere;
  }
  if (scalar) return read_scalar(use, item, group);
  switch (node.op) {
  case Op::Elementwise:
  case Op::Convert:
  case Op::Guard: return same;
  case Op::Broadcast: return read_broadcast(reader, item, group);
  case Op::Reshape: return reader.place == Place::Row ? same : moved;
  case Op::Transpose:
  case Op::Concat: return moved;
  case Op::Slice:
  case Op::Index:
  case Op::Pad: return {Place::Other, reader.once, false};
  case Op::Gather:
    if (use.slot == 1 && f_[node.operands[0]].type.dims.size() == 1) return same;
    return anywhere;
  case Op::Reduce: return element;
  case Op::Scan: return element;
  case Op::Contract: return {Place::Other, true, true};
  default: return never;
  }
}

Fusion::Read Fusion::combined(const std::vector<Use>& edges, uint32_t item, const Group& group) const {
  Read all = read(edges[0], item, group);
  for (size_t i = 1; i < edges.size(); ++i) {
    Read r = read(edges[i], item, group);
    all.allowed = all.allowed && r.allowed;
    all.full = all.full || r.full;
    if (r.place == all.place) {
      if (r.place == Place::Other) all.once = false; // at two indices, for all we know
      all.rows = std::max(all.rows, r.rows);
    } else {
      bool scalar = f_[node_of(item).results[0]].type.is_scalar();
      all = {scalar ? Place::Single : Place::Other, scalar, all.full, -1, all.allowed};
    }
  }
  return all;
}

void Fusion::add(uint32_t item, uint32_t group, const Read& read) {
  Group& g = groups_[group];
  Item& it = items_[item];
  it.group = static_cast<int32_t>(group);
  it.place = read.place;
  it.once = read.once;
  it.full = read.full;
  g.members.push_back(item);
  g.guards = g.guards || it.guards || it.kind == FusionClass::HostGuard;
  g.has_map = g.has_map || it.kind == FusionClass::Map;
  if (read.rows >= 0) g.rows = read.rows;
}

// What a value is a view of, where views share memory.
ValueId Fusion::viewed(ValueId value) const {
  for (;;) {
    const Node* node = producer_of(f_, value);
    bool view =
        node && (node->op == Op::Guard || node->op == Op::Reshape || node->op == Op::Slice || node->op == Op::Index);
    if (!view) return value;
    value = node->operands[0];
  }
}

// A kernel does not run when something that it reads has failed. The failure that a program reports is the first in
// program order, so a check joins no kernel that waits for a later one.
bool Fusion::later_failure_hides(uint32_t guard, const Group& group) const {
  int64_t position = items_[guard].position;
  for (uint32_t member : group.members) {
    if (items_[member].kind == FusionClass::HostGuard && items_[member].position > position) return true;
    for (ValueId operand : node_of(member).operands) {
      int32_t producer = item_of(operand);
      if (producer < 0 || items_[static_cast<size_t>(producer)].group == items_[group.root].group) continue;
      if (items_[static_cast<size_t>(producer)].last_check > position) return true;
    }
  }
  return false;
}

// A kernel that reads a value which failed gives none of its outputs: so all of them depend on the same checks.
bool Fusion::fail_together(uint32_t item, const Group& group) const {
  return items_[item].checks == items_[group.root].checks;
}

// An Update's output may lie in the memory of what it updates, so its value must not read that elsewhere. A view would
// also hold that memory, and make the Update a copy of the whole.
bool Fusion::fits_update(uint32_t item, const Group& group) const {
  const Node& root = node_of(group.root);
  if (root.op == Op::Update && root.as<UpdateAttrs>().steps.empty())
    return true; // one element, read in full before the store
  ValueId updated = root.operands[0], memory = viewed(updated);
  auto same_place = [&](const Node& slice) {
    return root.op == Op::Update && slice.op == Op::Slice && slice.operands[0] == updated &&
           slice.operands.size() == root.operands.size() - 1 &&
           slice.as<StepsAttrs>().steps == root.as<UpdateAttrs>().steps &&
           std::equal(slice.operands.begin() + 1, slice.operands.end(), root.operands.begin() + 2) &&
           same_dims(f_, slice.results[0], root.operands[1]);
  };
  const Node& node = node_of(item);
  if (!node.regions.empty()) return false; // a Map may read anything
  if (node.op == Op::Slice && same_place(node)) return items_[item].place == Place::Element;
  for (ValueId value : node.operands) {
    if (f_[value].type.is_scalar() || viewed(value) != memory) continue;
    const Node* slice = producer_of(f_, value);
    if (!slice || !same_place(*slice)) return false;
  }
  return true;
}

// A conversion to a product's type that the product makes as it reads.
bool Fusion::is_widened(const Node& node) const {
  return node.op == Op::Convert && is_factor_type(f_[node.operands[0]].type.dtype, f_[node.results[0]].type.dtype);
}

bool Fusion::join_operand_side(uint32_t item, uint32_t group, const std::vector<Use>& edges, Mode mode) {
  if (f_[node_of(item).results[0]].type.is_scalar() && cheap(items_[item])) { // a subscript
    if (mode == Mode::Member) add(item, group, {Place::Single, true, false});
    return mode != Mode::Output;
  }
  for (const Use& use : edges)
    if (!items_[use.item].operand_side && items_[use.item].kind != FusionClass::Contract) return false;
  const Node& node = node_of(item);
  bool fits = items_[item].kind == FusionClass::HostGuard || is_widened(node);
  if (items_[item].kind == FusionClass::View && !f_[node.operands[0]].type.is_scalar()) {
    const bool in_window = std::any_of(edges.begin(), edges.end(), [&](const Use& use) {
      return node_of(use.item).op == Op::Concat || node_of(use.item).op == Op::Reshape;
    });
    const Node* inner = producer_of(f_, node.operands[0]);
    fits = in_window || (inner && is_widened(*inner)) ||
           (node.op != Op::Reshape && (!contiguous_view(f_, node) || node.op == Op::Transpose));
  }
  if (!fits || mode == Mode::Output) return false;
  if (mode == Mode::Try) return true;
  add(item, group, {Place::Other, true, true});
  items_[item].operand_side = true;
  return true;
}

bool Fusion::join_contract(uint32_t item, uint32_t group, const std::vector<Use>& edges, Mode mode) {
  Group& g = groups_[group];
  const Type& type = f_[node_of(item).results[0]].type;
  if (mode == Mode::Output || g.kind != KernelKind::Nest || g.decided || g.rows >= 0 || g.scan || g.has_map)
    return false;
  if (g.outputs != 1 || type.dims.empty() || !(type.dims == g.space)) return false;
  for (uint32_t member : g.members)
    if (items_[member].guards) return false;
  for (const Use& use : edges)
    if (read(use, item, g).place != Place::Element) return false;
  if (mode == Mode::Try) return true;
  add(item, group, {Place::Element, true, true});
  g.kind = KernelKind::Contract;
  return true;
}

bool Fusion::join_reduce(uint32_t item, uint32_t group, const std::vector<Use>& edges, Mode mode) {
  Group& g = groups_[group];
  const Node& node = node_of(item);
  if (g.kind != KernelKind::Nest || g.scan || g.reduces >= kReduces) return false;
  const std::vector<Dim>& space = f_[node.operands[0]].type.dims;
  const std::vector<Dim>& result = f_[node.results[0]].type.dims;
  const std::vector<int64_t>& axes = node.as<ReduceAttrs>().axes;
  bool at_end = trailing(axes, space.size());
  Read how = combined(edges, item, g);
  if (!how.allowed) return false;

  bool as_rows =
      how.place == Place::Row && space == g.space && (g.decided ? g.reduced == axes : expected_rows(item, g) >= 0);
  // Readers so far go over the kept axes: they become the rows.
  bool as_elements = !as_rows && !g.decided && g.rows < 0 && how.place == Place::Element && result == g.space &&
                     (mode != Mode::Output || how.full);
  if (!as_rows && !as_elements) return false;
  if (mode == Mode::Try) return true;
  if (as_elements)
    for (uint32_t member : g.members)
      if (items_[member].place == Place::Element) items_[member].place = Place::Row;
  if (as_rows && !g.decided && result.empty())
    for (uint32_t member : g.members)
      if (items_[member].place == Place::Single) items_[member].place = Place::Row;
  g.decided = true;
  g.columns = !at_end;
  g.space = space;
  g.reduced = axes;
  ++g.reduces;
  if (mode == Mode::Output) ++g.outputs;
  add(item, group, {Place::Row, true, true});
  return true;
}

bool Fusion::join(uint32_t item, uint32_t group, Mode mode) {
  Group& g = groups_[group];
  Item& it = items_[item];
  std::vector<Use> edges;
  for (const Use& use : uses(item))
    if (items_[use.item].group == static_cast<int32_t>(group)) edges.push_back(use);
  if (edges.empty() || g.members.size() >= kMembers) return false;
  if (mode == Mode::Output && (g.kind != KernelKind::Nest || g.guards || it.guards || g.scan || g.outputs >= kOutputs ||
                               !fail_together(item, g)))
    return false;

  switch (it.kind) {
  case FusionClass::Outside:
  case FusionClass::Scan:
  case FusionClass::Update: return false;
  case FusionClass::Reduce: return join_reduce(item, group, edges, mode);
  case FusionClass::Contract: return join_contract(item, group, edges, mode);
  default: break;
  }
  if (g.kind == KernelKind::Contract) {
    for (const Use& use : edges)
      if (items_[use.item].operand_side || items_[use.item].kind == FusionClass::Contract)
        return join_operand_side(item, group, edges, mode);
    if (it.guards || it.kind == FusionClass::Map) return false;
  }
  Read how = combined(edges, item, g);
  if (!how.allowed) return false;
  if (it.kind == FusionClass::HostGuard && g.outputs != 1) return false;
  if (it.guards) {
    bool everywhere = how.place == Place::Element || (how.place == Place::Row && g.decided);
    if (g.outputs != 1 || !how.full || !everywhere || later_failure_hides(item, g)) return false;
  }
  bool free = it.kind == FusionClass::View || it.kind == FusionClass::HostGuard;
  if (how.place == Place::Other && !free && !how.once && !cheap(it)) return false;
  if (mode == Mode::Output) {
    bool here = how.full && (how.place == Place::Element || (how.place == Place::Row && g.decided));
    if (g.columns || (g.decided && g.reduced.size() == g.space.size() && !small_constant(g.space)))
      here = here && how.place == Place::Row;
    if (!here || free) return false;
    // All outputs of a kernel without reductions have its sizes; a row has exactly the kept ones or ones after them.
    const std::vector<Dim>& dims = f_[node_of(item).results[0]].type.dims;
    if (how.place == Place::Element ? !(dims == g.space) : !row_dims(dims, kept_dims(g))) return false;
  }
  if (g.kind == KernelKind::Update) {
    Place before = it.place;
    it.place = how.place;
    bool fits = fits_update(item, g);
    it.place = before;
    if (!fits) return false;
  }
  if (mode == Mode::Try) return true;
  if (mode == Mode::Output) ++g.outputs;
  add(item, group, how);
  return true;
}

bool Fusion::compatible(const Group& a, const Group& b) const {
  auto mergeable = [](const Group& g) {
    return g.alive && g.kind == KernelKind::Nest && !g.guards && !g.scan && g.rows < 0;
  };
  if (!mergeable(a) || !mergeable(b)) return false;
  if (a.outputs + b.outputs > kOutputs || a.reduces + b.reduces > kReduces) return false;
  if (a.members.size() + b.members.size() > kMembers / 2) return false;
  if (!(a.space == b.space)) return false;
  if (a.decided && b.decided) return a.reduced == b.reduced;
  if (!a.decided && !b.decided) return true;
  const Group& rows = a.decided ? a : b;
  return !rows.columns && (rows.reduced.size() < rows.space.size() || small_constant(rows.space));
}

// Two groups that do not read each other become one, if that makes no cycle.
bool Fusion::merge(uint32_t a, uint32_t b) {
  if (a == b || !compatible(groups_[a], groups_[b]) || !fail_together(groups_[a].root, groups_[b])) return false;
  if (groups_[a].order > groups_[b].order) std::swap(a, b);
  Group &first = groups_[a], &last = groups_[b];
  auto in = [&](uint32_t item, uint32_t group) { return items_[item].group == static_cast<int32_t>(group); };

  bool at_last = true; // all other readers of the first come after the last
  for (uint32_t member : first.members)
    for (const Use& use : uses(member)) {
      if (in(use.item, b)) return false;
      if (!in(use.item, a) && order_of(use.item) <= last.order) at_last = false;
    }
  bool at_first = !at_last; // all that the last reads is made before the first
  auto reads = [&](ValueId value) {
    int32_t producer = item_of(value);
    if (producer < 0) return;
    uint32_t p = static_cast<uint32_t>(producer);
    if (node_of(p).op == Op::Constant) return; // comes along as a copy
    if (!in(p, b) && order_of(p) >= first.order) at_first = false;
  };
  if (at_first)
    for (uint32_t member : last.members) {
      for (ValueId value : node_of(member).operands)
        reads(value);
      for (ValueId result : node_of(member).results)
        for (const Dim& dim : f_[result].type.dims)
          if (!dim.is_constant()) reads(dim.value);
      if (items_[member].kind == FusionClass::Map) at_first = false; // its body may mention sizes too
      auto inner = inner_.find(items_[member].original);
      if (inner == inner_.end()) continue;
      for (ValueId value : inner->second)
        reads(value);
    }
  if (!at_last && !at_first) return false;

  for (uint32_t member : first.members) {
    items_[member].group = static_cast<int32_t>(b);
    last.members.push_back(member);
  }
  if (at_first) last.order = first.order;
  if (first.decided) {
    last.decided = true;
    last.reduced = first.reduced;
    last.columns = first.columns;
  }
  last.reduces += first.reduces;
  last.outputs += first.outputs;
  last.has_map = last.has_map || first.has_map;
  first.alive = false;
  first.members.clear();
  return true;
}

} // namespace tl

// Fusion, last step: the groups become Kernel nodes, in an order that suits what they read.
#include "ir/graph/rewrite.h"
#include "passes/fuse/groups.h"
#include "passes/fuse/views.h"
#include "passes/fuse/wrap.h"
#include <algorithm>
#include <map>

namespace tl {
using namespace ir;

// A view alone that is a pointer and an offset needs no kernel.
bool Fusion::stays_view(const Group& group) const {
  if (group.members.size() != 1 || items_[group.root].kind != FusionClass::View) return false;
  const Node& node = node_of(group.root);
  auto view = contiguous_view(f_, node);
  if (!view) return false;
  for (const ContiguousView::Term& term : view->offset)
    if (!host_scalar(node.operands[term.operand])) return false;
  return true;
}

namespace {

void replace_uses(Function& f, NodeId id, ValueId from, ValueId to) {
  std::replace(f[id].operands.begin(), f[id].operands.end(), from, to);
  for (Region& region : f[id].regions) {
    for (NodeId inner : region.nodes)
      replace_uses(f, inner, from, to);
    std::replace(region.yields.begin(), region.yields.end(), from, to);
  }
}

// Copies of one node that read the same are one: groups that merged may each have brought theirs.
// Those that are read outside stay.
void share_copies(Function& f, const std::vector<std::pair<NodeId, uint32_t>>& nodes,
                  const std::vector<ValueId>& outputs, std::vector<NodeId>& kept) {
  std::map<std::pair<uint32_t, std::vector<ValueId>>, NodeId> known; // by original and operands
  for (size_t i = 0; i < nodes.size(); ++i) {
    auto [id, original] = nodes[i];
    auto [at, fresh] = known.try_emplace({original, f[id].operands}, id);
    bool leaves =
        std::find_first_of(outputs.begin(), outputs.end(), f[id].results.begin(), f[id].results.end()) != outputs.end();
    if (fresh || leaves || !f[id].regions.empty()) {
      kept.push_back(id);
      continue;
    }
    for (size_t k = i + 1; k < nodes.size(); ++k)
      replace_uses(f, nodes[k].first, f[id].results[0], f[at->second].results[0]);
  }
}

} // namespace

// A group while it becomes a Kernel node.
struct Fusion::Emission {
  uint32_t group;
  std::unordered_map<uint32_t, size_t> number; // of each member
  std::vector<bool> dead;                      // by number: nobody reads it
  std::vector<ValueId> outputs;
  std::vector<std::pair<NodeId, uint32_t>> nodes; // with the original
  std::vector<NodeId> guards;                     // before the kernel
};

// Members that somebody reads, and the values that are read from outside. False: there are none.
bool Fusion::mark_read(Emission& e, bool keep_root) {
  const Group& g = groups_[e.group];
  bool any = false;
  for (size_t i = g.members.size(); i-- > 0;) {
    uint32_t member = g.members[i];
    bool used = items_[member].guards || items_[member].kind == FusionClass::HostGuard;
    if (keep_root && member == g.root) {
      used = true;
      e.outputs.push_back(node_of(member).results[0]);
    }
    // Of several tensors of a map each may fail by itself: those that nobody reads are computed, too.
    const bool checked = items_[member].guards && node_of(member).results.size() > 1;
    for (ValueId result : node_of(member).results) {
      bool leaves = yielded_.contains(result.index), read = false;
      auto at = uses_.find(result.index);
      if (at != uses_.end())
        for (const Use& use : at->second) {
          bool here = items_[use.item].group == static_cast<int32_t>(e.group);
          leaves = leaves || !here;
          read = read || !here || !e.dead[e.number[use.item]];
        }
      leaves = leaves || (checked && !read);
      used = used || read || leaves;
      if (leaves) e.outputs.push_back(result);
    }
    e.dead[i] = !used;
    any = any || used;
  }
  return any;
}

// What is in the kernel, and the host Guards that come before it. Those that guard an operand as it is go out.
void Fusion::collect_nodes(Emission& e, std::vector<NodeId>& out) {
  const Group& g = groups_[e.group];
  std::vector<std::pair<ValueId, ValueId>> names; // results of host Guards, and what they guard
  for (size_t i = 0; i < g.members.size(); ++i) {
    if (e.dead[i]) continue;
    const Item& item = items_[g.members[i]];
    if (item.kind != FusionClass::HostGuard) {
      e.nodes.emplace_back(item.node, item.original);
      continue;
    }
    ValueId guarded = f_[item.node].operands[0];
    int32_t producer = item_of(guarded);
    bool inside = producer >= 0 && items_[static_cast<size_t>(producer)].group == static_cast<int32_t>(e.group);
    if (inside) {
      names.emplace_back(f_[item.node].results[0], guarded);
      e.guards.push_back(item.node);
    } else {
      out.push_back(item.node); // guards an operand as it is
    }
  }
  for (size_t k = 0; k < names.size(); ++k) {
    auto [result, guarded] = names[k];
    for (auto& [id, original] : e.nodes)
      replace_uses(f_, id, result, guarded);
    for (size_t later = k + 1; later < names.size(); ++later)
      if (names[later].second == result) names[later].second = guarded;
  }
}

// What the host Guards inside would have poisoned, the whole kernel, they poison through one of its operands.
void Fusion::guard_operand(NodeId kernel, ValueId operand, const std::vector<NodeId>& guards,
                           std::vector<NodeId>& out) {
  Region elsewhere;
  Builder into(module_, f_, elsewhere);
  for (NodeId guard : guards) {
    std::vector<ValueId> operands = f_[guard].operands;
    Attrs attrs = f_[guard].attrs;
    operands[0] = operand;
    ValueId guarded = into.one(Op::Guard, operands, f_[operand].type, attrs, f_[guard].loc);
    replace_uses(f_, kernel, operand, guarded);
    out.push_back(f_[guarded].producer);
    operand = guarded;
  }
  out.push_back(kernel);
}

// It reads no tensor, so it may as well run: its only output is poisoned.
void Fusion::guard_output(NodeId kernel, const std::vector<NodeId>& guards, std::vector<NodeId>& out) {
  Region elsewhere;
  Builder into(module_, f_, elsewhere);
  ValueId output = f_[kernel].results[0];
  Value fresh = f_[output];
  ValueId unguarded{static_cast<uint32_t>(f_.values.size())};
  f_.values.push_back(std::move(fresh));
  f_[kernel].results[0] = unguarded;
  std::vector<ValueId> operands = f_[guards[0]].operands;
  Attrs attrs = f_[guards[0]].attrs;
  operands[0] = unguarded;
  NodeId after = into.node(Op::Guard, operands, {f_[output].type}, attrs, f_[guards[0]].loc);
  f_[after].results[0] = output;
  f_[output].producer = after;
  out.push_back(kernel);
  out.push_back(after);
  // Further Guards would hold back the same value; the first that fails is the one that counts.
  for (size_t k = 1; k < guards.size(); ++k) {
    ValueId mid{static_cast<uint32_t>(f_.values.size())};
    Value copy = f_[output];
    f_.values.push_back(std::move(copy));
    f_[f_[output].producer].results[0] = mid;
    std::vector<ValueId> more = f_[guards[k]].operands;
    more[0] = mid;
    NodeId next = into.node(Op::Guard, more, {f_[output].type}, f_[guards[k]].attrs, f_[guards[k]].loc);
    f_[next].results[0] = output;
    f_[output].producer = next;
    out.push_back(next);
  }
}

void Fusion::emit_group(uint32_t group, std::vector<NodeId>& out) {
  Group& g = groups_[group];
  if (stays_view(g)) {
    out.push_back(items_[g.root].node);
    return;
  }
  std::sort(g.members.begin(), g.members.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(items_[a].position, a) < std::pair(items_[b].position, b);
  });
  Emission e{group, {}, std::vector<bool>(g.members.size()), {}, {}, {}};
  for (size_t i = 0; i < g.members.size(); ++i)
    e.number[g.members[i]] = i;
  if (!mark_read(e, false)) return;
  // A Guard that nobody reads is checked all the same, so somebody has to compute it.
  if (e.outputs.empty()) mark_read(e, true);
  std::reverse(e.outputs.begin(), e.outputs.end());

  collect_nodes(e, out);
  std::vector<NodeId> kept;
  share_copies(f_, e.nodes, e.outputs, kept);
  NodeId kernel = wrap_kernel(module_, f_, std::move(kept), g.kind, e.outputs, node_of(g.root).loc);
  if (e.guards.empty()) {
    out.push_back(kernel);
    return;
  }
  ValueId operand;
  for (ValueId value : f_[kernel].operands)
    if (!operand.valid() && !host_scalar(value)) operand = value;
  if (operand.valid())
    guard_operand(kernel, operand, e.guards, out);
  else
    guard_output(kernel, e.guards, out);
}

void Fusion::emit(Region& region) {
  struct Entry {
    double order;
    int32_t group;
    NodeId node;
  };
  std::vector<Entry> entries;
  for (const Item& item : items_)
    if (item.group < 0 && item.position < region.nodes.size() && region.nodes[item.position] == item.node)
      entries.push_back({static_cast<double>(item.position), -1, item.node});
  for (size_t g = 0; g < groups_.size(); ++g)
    if (groups_[g].alive && !groups_[g].members.empty())
      entries.push_back({groups_[g].order, static_cast<int32_t>(g), {}});
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.order < b.order; });
  std::vector<NodeId> out;
  for (const Entry& entry : entries) {
    if (entry.group < 0)
      out.push_back(entry.node);
    else
      emit_group(static_cast<uint32_t>(entry.group), out);
  }
  region.nodes = std::move(out);
}

} // namespace tl

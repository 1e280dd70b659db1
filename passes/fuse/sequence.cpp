#include "passes/fuse/sequence.h"
#include "ir/graph/rewrite.h"
#include <algorithm>

namespace tl {
using namespace ir;
namespace {

bool has_tensor(const Function& f, const std::vector<ValueId>& values) {
  return std::any_of(values.begin(), values.end(),
                     [&](ValueId value) { return f[value].type.is_tensor() && !f[value].type.is_scalar(); });
}

bool writes(const Function& f, const Node& node) {
  switch (node.op) {
  case Op::Update:
  case Op::If:
  case Op::For:
  case Op::While: return has_tensor(f, node.results);
  default: return false;
  }
}

bool may_fail(const Function& f, const Node& node) {
  if (node.op == Op::Guard || node.op == Op::Assert) return true;
  bool result = false;
  for (const Region& region : node.regions)
    walk(f, region, [&](NodeId id) { result = result || f[id].op == Op::Guard || f[id].op == Op::Assert; });
  return result;
}

// Has memory without being kept.
bool gives_memory(Op op) { return op == Op::Update || op == Op::If || op == Op::For || op == Op::While; }

// No work: an element is one of the operand.
bool is_view(Op op) {
  return op == Op::Broadcast || op == Op::Reshape || op == Op::Transpose || op == Op::Slice || op == Op::Index ||
         op == Op::Guard || op == Op::Iota;
}

} // namespace

Sequence::Sequence(const Function& function, const Region& region) : f_(function) {
  walk_region(region);
  decide(region);
}

void Sequence::walk_region(const Region& region) {
  around_.push_back({&region, 0});
  for (ValueId param : region.params)
    places_[param.index] = {&region, 0};
  for (size_t i = 0; i < region.nodes.size(); ++i) {
    around_.back().position = i;
    const NodeId id = region.nodes[i];
    const Node& node = f_[id];
    for (ValueId operand : node.operands)
      use(operand, id, false);
    if (node.op == Op::Map) {
      for (ValueId value : captures(f_, node))
        use(value, id, true);
    } else {
      for (const Region& inner : node.regions)
        walk_region(inner);
    }
    for (ValueId result : node.results)
      places_[result.index] = {&region, i};
  }
  around_.back().position = region.nodes.size();
  for (ValueId yield : region.yields)
    use(yield, {}, false);
  around_.pop_back();
}

void Sequence::use(ValueId value, NodeId user, bool in_map) {
  const auto made = places_.find(value.index);
  if (made == places_.end() || f_[value].type.is_scalar()) return;
  for (size_t i = around_.size(); i-- > 0;)
    if (around_[i].region == made->second.region) {
      uses_[value.index].push_back({user, in_map, around_[i].position, i + 1 < around_.size()});
      return;
    }
}

// From the last node to the first: whether a value is kept depends on what becomes of its users.
void Sequence::decide(const Region& region) {
  for (size_t i = region.nodes.size(); i-- > 0;) {
    const Node& node = f_[region.nodes[i]];
    if (node.op == Op::Map) {
      if (must_keep(region.nodes[i], region, i))
        for (ValueId result : node.results)
          kept_.insert(result.index);
      continue;
    }
    for (const Region& inner : node.regions)
      decide(inner);
    if (has_tensor(f_, node.results) && !gives_memory(node.op) && must_keep(region.nodes[i], region, i))
      kept_.insert(node.results[0].index);
  }
}

bool Sequence::must_keep(NodeId id, const Region& region, size_t position) const {
  const Node& node = f_[id];
  if (node.op == Op::Reduce || node.op == Op::Contract) return true;
  // What failed becomes 0 where it is an index, here, as what it depends on may change.
  if (node.op == Op::Guard)
    return !f_[node.operands[1]].type.is_scalar() || f_[node.results[0]].type.dtype == DType::I64;
  if (!is_view(node.op)) {
    if (node.results.size() != 1 || !is_read_once(node.results[0])) return true;
  }
  const auto [last, is_deeper] = last_use(node.results[0]);
  auto between = [&](auto&& what) {
    for (size_t i = position + 1; i < region.nodes.size() && (i < last || (i == last && is_deeper)); ++i)
      if (what(f_, f_[region.nodes[i]])) return true;
    return false;
  };
  // What it reads is not there any more; or others would fail before it, which stand behind it.
  if (may_fail(f_, node) && between(may_fail)) return true;
  if (!between(writes)) return false;
  for (ValueId source : sources(node.results[0]))
    if (is_inside(source)) return true;
  return false;
}

// Is each element read once at most?
bool Sequence::is_read_once(ValueId value) const {
  const auto at = uses_.find(value.index);
  if (at == uses_.end()) return true;
  if (at->second.size() != 1 || at->second[0].in_map) return false;
  const Use& use = at->second[0];
  if (use.is_deeper) return false;
  if (!use.user.valid()) return true;
  const Node& user = f_[use.user];
  switch (user.op) {
  case Op::Elementwise:
  case Op::Convert:
  case Op::Reduce:
  case Op::Update:
  case Op::For:
  case Op::While:
  case Op::Pad:
  case Op::Concat: return true;
  case Op::Guard:
  case Op::Reshape:
  case Op::Transpose:
  case Op::Slice:
  case Op::Index: return f_[user.results[0]].type.is_scalar() || is_read_once(user.results[0]);
  default: return false;
  }
}

bool Sequence::is_pulled(ValueId value) const {
  const auto made = places_.find(value.index);
  if (made == places_.end() || is_kept(value) || f_[value].type.is_scalar()) return false;
  const NodeId producer = f_[value].producer;
  if (!producer.valid()) return false;
  return f_[producer].op == Op::Guard ? is_pulled(f_[producer].operands[0]) : !gives_memory(f_[producer].op);
}

std::pair<size_t, bool> Sequence::last_use(ValueId value) const {
  size_t last = 0;
  bool is_deeper = false;
  auto later = [&](size_t position, bool deeper) {
    if (position > last) is_deeper = false;
    if (position >= last) is_deeper = is_deeper || deeper;
    last = std::max(last, position);
  };
  const auto at = uses_.find(value.index);
  if (at == uses_.end()) return {last, is_deeper};
  for (const Use& use : at->second) {
    later(use.position, use.is_deeper);
    if (!use.user.valid() || use.is_deeper) continue;
    for (ValueId result : f_[use.user].results)
      if (is_pulled(result)) {
        const auto [position, deeper] = last_use(result);
        later(position, deeper);
      }
  }
  return {last, is_deeper};
}

// And what the elements of a comprehension are computed from.
std::vector<ValueId> Sequence::direct_operands(const Node& node) const {
  std::vector<ValueId> result = node.operands;
  if (node.op != Op::Map) return result;
  const std::vector<ValueId> captured = captures(f_, node);
  result.insert(result.end(), captured.begin(), captured.end());
  return result;
}

std::vector<ValueId> Sequence::read_by(std::vector<ValueId> work) const {
  std::vector<ValueId> result;
  std::unordered_set<uint32_t> seen;
  while (!work.empty()) {
    const ValueId at = work.back();
    work.pop_back();
    if (f_[at].type.is_scalar() || !f_[at].type.is_tensor() || !seen.insert(at.index).second) continue;
    if (!is_pulled(at)) {
      result.push_back(at);
      continue;
    }
    const std::vector<ValueId> operands = direct_operands(f_[f_[at].producer]);
    work.insert(work.end(), operands.begin(), operands.end());
  }
  return result;
}

std::vector<ValueId> Sequence::sources(ValueId value) const { return read_by({value}); }

std::vector<ValueId> Sequence::operands(ValueId value) const {
  return read_by(direct_operands(f_[f_[value].producer]));
}

bool Sequence::reads_in_place(ValueId value, ValueId memory) const {
  if (value == memory) return true;
  const std::vector<ValueId> read = sources(value);
  if (std::find(read.begin(), read.end(), memory) == read.end()) return true;
  const Node& node = f_[f_[value].producer];
  if (node.op != Op::Elementwise && node.op != Op::Convert) return false;
  return std::all_of(node.operands.begin(), node.operands.end(), [&](ValueId operand) {
    return f_[operand].type.is_scalar() ||
           (f_[operand].type.dims == f_[value].type.dims && reads_in_place(operand, memory));
  });
}

ValueId Sequence::root(ValueId value) const {
  if (auto at = roots_.find(value.index); at != roots_.end()) return at->second;
  const NodeId producer = f_[value].producer;
  ValueId result = value;
  if (is_inside(value) && producer.valid()) {
    const Node& node = f_[producer];
    const size_t number = f_[value].result;
    if (node.op == Op::Update || node.op == Op::Guard)
      result = root(node.operands[0]);
    else if (node.op == Op::For || node.op == Op::While)
      result = root(node.operands[(node.op == Op::For ? 3 : 0) + number]);
    else if (node.op == Op::If) {
      const ValueId one = root(node.regions[0].yields[number]), other = root(node.regions[1].yields[number]);
      if (one == other) result = one;
    }
  }
  return roots_[value.index] = result;
}

} // namespace tl

#include "passes/fuse/loop_check.h"
#include "ir/graph/op_info.h"
#include "ir/graph/rewrite.h"
#include <algorithm>

namespace tl {
using namespace ir;
namespace {

// What a loop may hold at most, in operations: machine code of more takes longer to make than in proportion. One that
// is no single instruction is some dozens of them, and one of tensors a loop.
constexpr size_t kMostWork = 8000, kWorkOfFunction = 20, kWorkOfTensor = 40;

constexpr double kOfFunction = 8, kUnknownTurns = 64; // operations

Work operations(double count) { return {{{}, count}}; }

Work elements(const std::vector<Dim>& dims) {
  double count = 1;
  std::vector<ValueId> sizes;
  for (const Dim& dim : dims) {
    if (dim.is_constant())
      count *= static_cast<double>(dim.constant);
    else
      sizes.push_back(dim.value);
  }
  std::sort(sizes.begin(), sizes.end());
  return {{std::move(sizes), count}};
}

Work operator+(Work a, const Work& b) {
  for (const auto& [sizes, factor] : b)
    a[sizes] += factor;
  return a;
}

Work operator*(const Work& a, const Work& b) {
  Work result;
  for (const auto& [some, x] : a)
    for (const auto& [more, y] : b) {
      std::vector<ValueId> sizes = some;
      sizes.insert(sizes.end(), more.begin(), more.end());
      std::sort(sizes.begin(), sizes.end());
      result[std::move(sizes)] += x * y;
    }
  return result;
}

} // namespace

std::optional<std::string> message_of_guard(const Function& f, const Node& assertion) {
  const FormatTemplate& format = assertion.as<AssertAttrs>().format;
  const size_t count = assertion.operands.size() - 2;
  if (count > 2 || format.literals.size() != count + 1) return std::nullopt;
  std::string message;
  for (size_t i = 0; i <= count; ++i) {
    if (format.literals[i].find('{') != std::string::npos) return std::nullopt; // it would be filled in
    message += format.literals[i];
    if (i == count) break;
    if (f[assertion.operands[2 + i]].type != Type::scalar(DType::I64) || !format.specs[i].empty()) return std::nullopt;
    message += i == 0 ? "{0}" : "{1}";
  }
  return message;
}

bool LoopCheck::fits(NodeId loop) {
  const Node& node = f_[loop];
  for (ValueId result : node.results)
    if (!plain(result)) return false;
  size_t fixed = node.op == Op::For ? 3 : 0;
  for (size_t i = fixed; i < node.operands.size(); ++i)
    if (f_[node.operands[i]].type != f_[node.results[i - fixed]].type) return false; // sizes change with the loop
  collect(node);
  if (tensors_) {
    holder_.emplace().nodes = {loop};
    sequence_.emplace(f_, *holder_);
  }
  std::vector<int> buffers;
  for (ValueId result : node.results)
    buffers.push_back(is_scalar(result) ? kNone : new_buffer());
  // What fails in a comprehension could not end a loop that waits for its result.
  return loop_body(node, buffers) && !(has_while_ && guards_elements_);
}

// What the regions of a node make, those of comprehensions, too.
void LoopCheck::collect(const Node& node) {
  auto add = [&](const std::vector<ValueId>& values) {
    for (ValueId value : values)
      inside_.insert(value.index);
  };
  for (const Region& region : node.regions) {
    add(region.params);
    for (NodeId id : region.nodes) {
      add(f_[id].results);
      collect(f_[id]);
    }
  }
}

int LoopCheck::new_buffer() {
  current_.push_back({});
  return static_cast<int>(current_.size()) - 1;
}

int LoopCheck::buffer(ValueId value) const {
  auto at = buffer_.find(value.index);
  return at == buffer_.end() ? kNone : at->second;
}

void LoopCheck::version(int b, ValueId value) {
  buffer_[value.index] = b;
  current_[static_cast<size_t>(b)] = value;
}

bool LoopCheck::newest(ValueId value) const {
  int b = buffer(value);
  return b >= 0 && current_[static_cast<size_t>(b)] == value;
}

// --- tensors

bool LoopCheck::reads(ValueId value) const {
  const bool is_there = buffer(value) != kNone || !sequence_->is_kept(value);
  const std::vector<ValueId> read = is_there ? sequence_->sources(value) : sequence_->operands(value);
  return std::all_of(read.begin(), read.end(), [&](ValueId source) {
    while (buffer(source) == kNone && sequence_->is_inside(source)) { // a Guard of what comes from outside
      const NodeId producer = f_[source].producer;
      if (!producer.valid() || f_[producer].op != Op::Guard) return false;
      source = f_[producer].operands[0];
    }
    return buffer(source) == kNone || newest(source);
  });
}

bool LoopCheck::make(ValueId value) {
  makes_tensors = true;
  work_ += kWorkOfTensor;
  return reads(value) && affordable(elements(f_[value].type.dims) * pulled(value));
}

bool LoopCheck::affordable(const Work& work) {
  for (const auto& [sizes, factor] : work) {
    if (factor > kSmallWork) return false;
    for (ValueId size : sizes)
      if (inside_.contains(size.index)) return false;
  }
  if (work.size() > 1 || !work.begin()->first.empty()) limits.insert(work);
  return true;
}

Work LoopCheck::pulled(ValueId value) const {
  const NodeId producer = f_[value].producer;
  if (f_[value].type.is_scalar() || !sequence_->is_inside(value) || !producer.valid() || buffer(value) != kNone)
    return operations(1);
  const Node& node = f_[producer];
  Work work;
  switch (node.op) {
  case Op::Elementwise: work = operations(tl::info(node.as<ElementwiseAttrs>().op).ulp > 0 ? kOfFunction : 1); break;
  case Op::Map: return body(node.regions[0]);
  case Op::Reduce:
  case Op::Contract: return fold(node);
  case Op::Guard: return pulled(node.operands[0]);
  case Op::Concat: work = operations(static_cast<double>(node.operands.size())); break;
  case Op::Pad:
  case Op::Gather: work = operations(2); break;
  default: work = operations(0); break;
  }
  for (ValueId operand : node.operands)
    if (!f_[operand].type.is_scalar()) work = work + pulled(operand);
  return work;
}

Work LoopCheck::fold(const Node& node) const {
  if (node.op == Op::Reduce) {
    Work work;
    for (ValueId operand : node.operands)
      work = work + pulled(operand);
    std::vector<Dim> dims;
    for (int64_t axis : node.as<ReduceAttrs>().axes)
      dims.push_back(f_[node.operands[0]].type.dims[static_cast<size_t>(axis)]);
    return elements(dims) * work;
  }
  const ContractAttrs& labels = node.as<ContractAttrs>();
  std::map<int64_t, Dim> dims;
  for (size_t i = 0; i < labels.lhs.size(); ++i)
    dims[labels.lhs[i]] = f_[node.operands[0]].type.dims[i];
  for (size_t i = 0; i < labels.rhs.size(); ++i)
    dims[labels.rhs[i]] = f_[node.operands[1]].type.dims[i];
  std::vector<Dim> summed;
  for (const auto& [label, dim] : dims)
    if (std::find(labels.result.begin(), labels.result.end(), label) == labels.result.end()) summed.push_back(dim);
  // What is multiplied and added at once, in vectors of results, counts as little.
  return elements(summed) * operations(0.125) * (pulled(node.operands[0]) + pulled(node.operands[1]));
}

// Of an element of a comprehension.
Work LoopCheck::body(const Region& region) const {
  Work work = operations(0);
  for (NodeId id : region.nodes) {
    const Node& node = f_[id];
    switch (node.op) {
    case Op::Elementwise:
      work = work + operations(tl::info(node.as<ElementwiseAttrs>().op).ulp > 0 ? kOfFunction : 1);
      break;
    case Op::Map: break; // where it is read
    case Op::Reduce: {
      const NodeId inner = f_[node.operands[0]].producer;
      const bool is_map = inner.valid() && f_[inner].op == Op::Map;
      work = work + elements(f_[node.operands[0]].type.dims) *
                        (is_map ? body(f_[inner].regions[0]) : pulled(node.operands[0]));
      break;
    }
    case Op::Contract: work = work + fold(node); break;
    case Op::If: work = work + body(node.regions[0]) + body(node.regions[1]); break;
    case Op::For:
    case Op::While: work = work + operations(kUnknownTurns) * body(node.regions.back()); break;
    default: work = work + operations(1); break;
    }
  }
  return work;
}

// --- regions

// Carried value i lives in buffers[i] (kNone: a scalar).
bool LoopCheck::loop_body(const Node& node, const std::vector<int>& buffers) {
  size_t first = node.op == Op::For ? 1 : 0;
  auto enter = [&](const Region& region, size_t offset) {
    for (size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i] >= 0) version(buffers[i], region.params[offset + i]);
  };
  const size_t outer = current_.size(); // what is made inside ends there
  if (node.op == Op::While) {
    has_while_ = true;
    enter(node.regions[0], 0);
    std::vector<ValueId> before = current_;
    if (!region(node.regions[0])) return false;
    if (!std::equal(before.begin(), before.end(), current_.begin())) return false;
  }
  const Region& body = node.regions.back();
  for (size_t i = 0; i < buffers.size(); ++i)
    if (f_[body.params[first + i]].type != f_[node.results[i]].type) return false;
  enter(body, first);
  std::vector<ValueId> before(current_.begin(), current_.begin() + static_cast<std::ptrdiff_t>(outer));
  if (!region(body)) return false;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i] < 0) continue;
    const auto b = static_cast<size_t>(buffers[i]);
    const ValueId yield = body.yields[i];
    if (!newest(yield) || buffer(yield) != buffers[i]) {
      if (!tensors_ || !make(yield)) return false;
    }
    before[b] = current_[b];
  }
  // Nothing else was written.
  return std::equal(before.begin(), before.end(), current_.begin());
}

bool LoopCheck::inner_loop(const Node& node) {
  has_loop_inside = true;
  size_t fixed = node.op == Op::For ? 3 : 0;
  std::vector<int> buffers;
  for (size_t i = 0; i < node.results.size(); ++i) {
    ValueId initial = node.operands[fixed + i];
    if (!plain(initial) || f_[initial].type != f_[node.results[i]].type) return false;
    if (is_scalar(initial)) {
      buffers.push_back(kNone);
      continue;
    }
    const bool in_place =
        newest(initial) && std::find(buffers.begin(), buffers.end(), buffer(initial)) == buffers.end();
    if (!in_place && (!tensors_ || !make(initial))) return false;
    buffers.push_back(in_place ? buffer(initial) : new_buffer());
  }
  if (!loop_body(node, buffers)) return false;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i] >= 0) version(buffers[i], node.results[i]);
  return true;
}

bool LoopCheck::branch(NodeId id) {
  const Node& node = f_[id];
  const NodeId around = branch_;
  // A result whose sides are versions of one tensor from before the If is that tensor's; another is a copy of either.
  std::vector<bool> in_place;
  std::set<int> taken;
  for (size_t i = 0; i < node.results.size(); ++i) {
    bool versions = !tensors_;
    if (tensors_ && !is_scalar(node.results[i])) {
      const ValueId one = sequence_->root(node.regions[0].yields[i]),
                    other = sequence_->root(node.regions[1].yields[i]);
      versions = one == other && buffer(one) != kNone && taken.insert(buffer(one)).second;
    }
    in_place.push_back(versions);
  }
  const std::vector<ValueId> before = current_;
  std::vector<int> buffers[2];
  std::set<size_t> lost;
  for (size_t side = 0; side < 2; ++side) {
    std::copy(before.begin(), before.end(), current_.begin());
    branch_ = id;
    if (!region(node.regions[side])) return false;
    branch_ = around;
    std::vector<ValueId> expected = before;
    for (size_t i = 0; i < node.results.size(); ++i) {
      const ValueId yield = node.regions[side].yields[i];
      if (!plain(yield)) return false;
      if (is_scalar(yield)) {
        buffers[side].push_back(kNone);
        continue;
      }
      if (!in_place[i]) {
        if (!affordable(elements(f_[node.results[i]].type.dims)) || !make(yield)) return false;
        buffers[side].push_back(kNone);
        continue;
      }
      if (!newest(yield)) return false;
      int b = buffer(yield);
      if (std::find(buffers[side].begin(), buffers[side].end(), b) != buffers[side].end()) return false;
      if (static_cast<size_t>(b) >= before.size()) return false;
      buffers[side].push_back(b);
      expected[static_cast<size_t>(b)] = yield;
    }
    // A write that the branch does not hand on: what was there is there no more.
    for (size_t b = 0; b < before.size(); ++b)
      if (expected[b] != current_[b]) lost.insert(b);
    if (!tensors_ && !lost.empty()) return false;
  }
  if (buffers[0] != buffers[1]) return false;
  std::copy(before.begin(), before.end(), current_.begin());
  for (size_t b : lost)
    current_[b] = {};
  for (size_t i = 0; i < buffers[0].size(); ++i) {
    if (buffers[0][i] >= 0)
      version(buffers[0][i], node.results[i]);
    else if (!is_scalar(node.results[i]))
      version(new_buffer(), node.results[i]);
  }
  return true;
}

bool LoopCheck::region(const Region& r) {
  return std::all_of(r.nodes.begin(), r.nodes.end(), [&](NodeId id) { return node(id); });
}

// Is it computed from what is checked in the loop?
bool LoopCheck::may_fail(ValueId value) const {
  std::vector<ValueId> work{value};
  std::unordered_set<uint32_t> seen;
  while (!work.empty()) {
    const ValueId at = work.back();
    work.pop_back();
    const NodeId producer = f_[at].producer;
    if (!producer.valid() || !inside_.contains(at.index) || !seen.insert(at.index).second) continue;
    const Node& node = f_[producer];
    if (node.op == Op::Guard || !node.regions.empty()) return true;
    work.insert(work.end(), node.operands.begin(), node.operands.end());
  }
  return false;
}

bool LoopCheck::scalars(const std::vector<ValueId>& values, size_t from) const {
  for (size_t i = from; i < values.size(); ++i)
    if (!f_[values[i]].type.is_scalar()) return false;
  return true;
}

bool LoopCheck::node(NodeId id) {
  const Node& node = f_[id];
  const bool is_function = node.op == Op::Elementwise && tl::info(node.as<ElementwiseAttrs>().op).ulp > 0;
  work_ += is_function ? kWorkOfFunction : 1;
  if (work_ > kMostWork) return false;
  switch (node.op) {
  case Op::Constant: return true;
  case Op::Elementwise:
  case Op::Convert:
  case Op::Guard:
    if (scalars(node.operands, 0)) return true;
    break;
  case Op::Assert:
    // A Guard shows its payload whether that has failed or not.
    for (size_t i = 2; i < node.operands.size(); ++i)
      if (may_fail(node.operands[i])) return hinders(id);
    return (scalars(node.operands, 1) && message_of_guard(f_, node)) || hinders(id);
  case Op::Index:
    if (!f_[node.results[0]].type.is_scalar()) break;
    touches_tensors = true;
    // A tensor that is no buffer comes from outside, unless turns make some.
    if (tensors_) return reads(node.operands[0]);
    return buffer(node.operands[0]) < 0 || newest(node.operands[0]);
  case Op::Update: touches_tensors = true; return update(node);
  case Op::If: return branch(id);
  case Op::For:
  case Op::While: return inner_loop(node);
  default:
    if (node.op == Op::Format || kind_of(node.op) == OpKind::Effect) return hinders(id);
    break;
  }
  return tensors_ && tensor(id);
}

bool LoopCheck::hinders(NodeId id) {
  if (!hindrances || !tensors_) return false;
  const Node& node = f_[id];
  if (node.op == Op::Format) return true; // of an effect, which says it
  if (kind_of(node.op) == OpKind::Effect) {
    if (node.op == Op::Time) return false; // whoever measures wants it there
    if (node.op != Op::Assert && !branch_.valid())
      return false; // takes as long as all else that a turn does, or longer
    for (ValueId result : node.results)
      if (!is_scalar(result)) return false;
  } else {
    for (ValueId operand : node.operands)
      if (!f_[operand].type.is_tensor() || (!f_[operand].type.is_scalar() && !make(operand))) return false;
    for (ValueId result : node.results) {
      if (!f_[result].type.is_tensor() || !affordable(elements(f_[result].type.dims))) return false;
      if (!f_[result].type.is_scalar()) version(new_buffer(), result);
    }
  }
  hindrances->emplace_back(id, branch_);
  return true;
}

bool LoopCheck::update(const Node& node) {
  const ValueId base = node.operands[0], value = node.operands[1];
  if (!tensors_) {
    if (!f_[value].type.is_scalar() || !newest(base)) return false;
    version(buffer(base), node.results[0]);
    return true;
  }
  if (!f_[value].type.is_scalar() && !make(value)) return false;
  if (newest(base)) {
    version(buffer(base), node.results[0]);
    return true;
  }
  if (!make(base)) return false;
  version(new_buffer(), node.results[0]);
  return true;
}

// What is neither scalars' nor an update, a branch or a loop.
bool LoopCheck::tensor(NodeId id) {
  const Node& node = f_[id];
  makes_tensors = true;
  switch (node.op) {
  case Op::Elementwise:
  case Op::Convert:
  case Op::Iota:
  case Op::Broadcast:
  case Op::Reshape:
  case Op::Transpose:
  case Op::Slice:
  case Op::Index:
  case Op::Pad:
  case Op::Concat:
  case Op::Gather:
  case Op::Map: break;
  case Op::Reduce:
  case Op::Contract:
    for (ValueId operand : node.operands)
      if (!reads(operand)) return false;
    if (!affordable(elements(f_[node.results[0]].type.dims) * fold(node))) return false;
    work_ += kWorkOfTensor;
    break;
  case Op::Guard:
    for (size_t i = 1; i < node.operands.size(); ++i)
      if (!f_[node.operands[i]].type.is_scalar() && !make(node.operands[i])) return false;
    if (sequence_->is_kept(node.results[0]) || f_[node.results[0]].type.is_scalar()) break;
    if (newest(node.operands[0])) version(buffer(node.operands[0]), node.results[0]);
    return true;
  case Op::Scan:
  case Op::Sort:
  case Op::Scatter:
  case Op::Linalg: return hinders(id);
  default: return false;
  }
  if (node.op == Op::Map) {
    bool fits = true;
    walk(f_, node.regions[0], [&](NodeId inner) {
      const Op op = f_[inner].op;
      const bool other = op == Op::Sort || op == Op::Linalg || op == Op::Scan || op == Op::Scatter;
      guards_elements_ = guards_elements_ || op == Op::Guard;
      fits = fits && !other && kind_of(op) != OpKind::Effect;
      ++work_;
    });
    if (!fits) return false;
  }
  for (ValueId result : node.results) {
    if (f_[result].type.is_scalar() || !sequence_->is_kept(result)) continue;
    if (!make(result)) return false;
    version(new_buffer(), result);
  }
  return true;
}

} // namespace tl

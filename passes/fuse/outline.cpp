// Turns loops over scalars and subscripts into kernels of kind Loop: sequential native code without an operation of the
// engine inside.
//
// Needs: nothing; simplify and dce before it make more loops fit.
// Gives: Kernel nodes as docs/kernels.md says under "Loop".
//
// A loop fits if tensors in it are only read and written by element, and every write can happen in place: each carried
// tensor is one buffer, each read is of its newest version, and no two carried tensors change places. Effects do not
// fit but for assertions whose message is a text with at most two integers: these become Guards of a scalar in place of
// the token, and one assertion behind the loop needs that.
#include "ir/graph/op_info.h"
#include "ir/graph/rewrite.h"
#include "ir/graph/turns.h"
#include "passes/edit.h"
#include "passes/fuse/wrap.h"
#include "passes/passes.h"
#include <map>
#include <unordered_map>

namespace tl {
using namespace ir;
namespace {

// A loop of scalars alone with fewer turns than this is as fast on the host.
constexpr int64_t kFewTurns = 64;

// What a loop may hold at most, in operations: machine code of more takes longer to make than in proportion. One that
// is no single instruction is some dozens of them.
constexpr size_t kMostWork = 8000, kWorkOfFunction = 20;

// What a Guard in place of this assertion says. Nothing: no Guard can.
std::optional<std::string> message_of(const Function& f, const Node& assertion) {
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

class LoopCheck {
public:
  explicit LoopCheck(const Function& function) : f_(function) {}

  bool touches_tensors = false, has_loop_inside = false;

  bool fits(NodeId loop) {
    const Node& node = f_[loop];
    for (ValueId result : node.results)
      if (!plain(result)) return false;
    size_t fixed = node.op == Op::For ? 3 : 0;
    for (size_t i = fixed; i < node.operands.size(); ++i)
      if (f_[node.operands[i]].type != f_[node.results[i - fixed]].type) return false; // sizes change with the loop
    std::vector<int> buffers;
    for (ValueId result : node.results)
      buffers.push_back(is_scalar(result) ? -1 : new_buffer());
    return loop_body(node, buffers);
  }

private:
  int new_buffer() {
    current_.push_back({});
    return static_cast<int>(current_.size()) - 1;
  }
  bool is_token(ValueId value) const { return f_[value].type.kind == Type::Kind::Token; }
  bool is_scalar(ValueId value) const { return f_[value].type.is_scalar() || is_token(value); }
  bool plain(ValueId value) const { return f_[value].type.is_tensor() || is_token(value); }
  int buffer(ValueId value) const {
    auto at = buffer_.find(value.index);
    return at == buffer_.end() ? -1 : at->second;
  }
  void version(int b, ValueId value) {
    buffer_[value.index] = b;
    current_[static_cast<size_t>(b)] = value;
  }
  bool newest(ValueId value) const {
    int b = buffer(value);
    return b >= 0 && current_[static_cast<size_t>(b)] == value;
  }

  // Carried value i lives in buffers[i] (-1: a scalar).
  bool loop_body(const Node& node, const std::vector<int>& buffers) {
    size_t first = node.op == Op::For ? 1 : 0;
    auto enter = [&](const Region& region, size_t offset) {
      for (size_t i = 0; i < buffers.size(); ++i)
        if (buffers[i] >= 0) version(buffers[i], region.params[offset + i]);
    };
    if (node.op == Op::While) {
      enter(node.regions[0], 0);
      std::vector<ValueId> before = current_;
      if (!region(node.regions[0]) || before != current_) return false;
    }
    const Region& body = node.regions.back();
    for (size_t i = 0; i < buffers.size(); ++i)
      if (f_[body.params[first + i]].type != f_[node.results[i]].type) return false;
    enter(body, first);
    std::vector<ValueId> before = current_;
    if (!region(body)) return false;
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i] < 0) continue;
      if (!newest(body.yields[i]) || buffer(body.yields[i]) != buffers[i]) return false;
      before[static_cast<size_t>(buffers[i])] = current_[static_cast<size_t>(buffers[i])];
    }
    return before == current_; // nothing else was written
  }

  bool inner_loop(const Node& node) {
    has_loop_inside = true;
    size_t fixed = node.op == Op::For ? 3 : 0;
    std::vector<int> buffers;
    for (size_t i = 0; i < node.results.size(); ++i) {
      ValueId initial = node.operands[fixed + i];
      if (!plain(initial) || f_[initial].type != f_[node.results[i]].type) return false;
      if (is_scalar(initial)) {
        buffers.push_back(-1);
        continue;
      }
      if (!newest(initial)) return false;
      for (int other : buffers)
        if (other == buffer(initial)) return false;
      buffers.push_back(buffer(initial));
    }
    if (!loop_body(node, buffers)) return false;
    for (size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i] >= 0) version(buffers[i], node.results[i]);
    return true;
  }

  bool branch(const Node& node) {
    std::vector<ValueId> before = current_;
    std::vector<int> buffers[2];
    for (size_t side = 0; side < 2; ++side) {
      current_ = before;
      if (!region(node.regions[side])) return false;
      std::vector<ValueId> expected = before;
      for (ValueId yield : node.regions[side].yields) {
        if (!plain(yield)) return false;
        if (is_scalar(yield)) {
          buffers[side].push_back(-1);
          continue;
        }
        if (!newest(yield)) return false;
        int b = buffer(yield);
        for (int other : buffers[side])
          if (other == b) return false;
        buffers[side].push_back(b);
        expected[static_cast<size_t>(b)] = yield;
      }
      if (expected != current_) return false; // a write that the branch does not hand on
    }
    if (buffers[0] != buffers[1]) return false;
    for (size_t i = 0; i < buffers[0].size(); ++i)
      if (buffers[0][i] >= 0) version(buffers[0][i], node.results[i]);
    return true;
  }

  bool region(const Region& r) {
    for (NodeId id : r.nodes)
      if (!node(f_[id])) return false;
    return true;
  }

  bool scalars(const std::vector<ValueId>& values, size_t from) const {
    for (size_t i = from; i < values.size(); ++i)
      if (!f_[values[i]].type.is_scalar()) return false;
    return true;
  }

  bool node(const Node& node) {
    const bool is_function = node.op == Op::Elementwise && tl::info(node.as<ElementwiseAttrs>().op).ulp > 0;
    work_ += is_function ? kWorkOfFunction : 1;
    if (work_ > kMostWork) return false;
    switch (node.op) {
    case Op::Constant: return true;
    case Op::Elementwise:
    case Op::Convert:
    case Op::Guard: return scalars(node.operands, 0);
    case Op::Assert: return scalars(node.operands, 1) && message_of(f_, node);
    case Op::Index:
      touches_tensors = true;
      // A tensor that is no buffer comes from outside: nothing in here makes one.
      return f_[node.results[0]].type.is_scalar() && (buffer(node.operands[0]) < 0 || newest(node.operands[0]));
    case Op::Update:
      touches_tensors = true;
      if (!f_[node.operands[1]].type.is_scalar() || !newest(node.operands[0])) return false;
      version(buffer(node.operands[0]), node.results[0]);
      return true;
    case Op::If: return branch(node);
    case Op::For:
    case Op::While: return inner_loop(node);
    default: return false;
    }
  }

  const Function& f_;
  size_t work_ = 0;
  std::unordered_map<uint32_t, int> buffer_; // which buffer a value is a version of
  std::vector<ValueId> current_;             // newest version of each buffer
};

// Scalars that sizes, conditions and bounds are computed from.
std::vector<bool> wanted_on_host(const Function& f) {
  std::vector<bool> wanted(f.values.size());
  std::vector<ValueId> work;
  auto want = [&](ValueId value) {
    if (wanted[value.index] || !f[value].type.is_scalar()) return;
    wanted[value.index] = true;
    work.push_back(value);
  };
  auto want_sizes = [&](const std::vector<ValueId>& values) {
    for (ValueId value : values)
      for (const Dim& dim : f[value].type.dims)
        if (!dim.is_constant()) want(dim.value);
  };
  want_sizes(f.body.params);
  walk(f, f.body, [&](NodeId id) {
    const Node& node = f[id];
    want_sizes(node.results);
    for (const Region& region : node.regions)
      want_sizes(region.params);
    size_t count = node.op == Op::If ? 1 : node.op == Op::For ? 3 : node.op == Op::Call ? node.operands.size() : 0;
    for (size_t i = 0; i < count; ++i)
      want(node.operands[i]);
    if (node.op == Op::While) want(node.regions[0].yields[0]);
  });
  while (!work.empty()) {
    ValueId value = work.back();
    work.pop_back();
    const Node* node = producer_of(f, value);
    if (!node) continue; // a parameter: whoever feeds a loop is asked when its results are
    size_t number = f[value].result;
    if (node->op == Op::If || node->op == Op::For || node->op == Op::While) {
      if (node->op == Op::If) want(node->regions[0].yields[number]);
      want(node->regions.back().yields[number]);
      if (node->op != Op::If) want(node->operands[(node->op == Op::For ? 3 : 0) + number]);
      continue;
    }
    for (ValueId operand : node->operands)
      want(operand);
  }
  return wanted;
}

class Outliner {
public:
  Outliner(Module& module, Function& function)
      : module_(module), f_(function), uses_(use_counts(function)), wanted_(wanted_on_host(function)) {}

  void run() {
    region(f_.body);
    f_.body.nodes.insert(f_.body.nodes.begin(), before_.nodes.begin(), before_.nodes.end());
  }

private:
  void region(Region& r) {
    for (size_t at = 0; at < r.nodes.size(); ++at) {
      const NodeId id = r.nodes[at];
      Op op = f_[id].op;
      if ((op == Op::For || op == Op::While) && worthwhile(id)) {
        const Region behind = without_effects(id);
        r.nodes[at] = outline(id);
        r.nodes.insert(r.nodes.begin() + static_cast<std::ptrdiff_t>(at) + 1, behind.nodes.begin(), behind.nodes.end());
        at += behind.nodes.size();
        continue;
      }
      if (op != Op::For && op != Op::While && op != Op::If) continue;
      for (size_t i = 0; i < f_[id].regions.size(); ++i) {
        Region inner = std::move(f_[id].regions[i]);
        region(inner);
        f_[id].regions[i] = std::move(inner);
      }
    }
  }

  bool worthwhile(NodeId id) {
    LoopCheck check(f_);
    if (!check.fits(id)) return false;
    const Node& node = f_[id];
    if (check.touches_tensors) return true;
    for (ValueId result : node.results)
      if (wanted_[result.index]) return false;
    if (node.op == Op::While || check.has_loop_inside) return true;
    auto lo = integer_of(f_, node.operands[0]), hi = integer_of(f_, node.operands[1]);
    auto step = integer_of(f_, node.operands[2]);
    if (!lo || !hi || !step || *step == 0) return true;
    return turns(*lo, *hi, *step) > kFewTurns;
  }

  NodeId outline(NodeId id) {
    std::vector<ValueId> outputs;
    for (ValueId result : f_[id].results)
      if (uses_[result.index] > 0 || !f_[result].type.is_scalar()) outputs.push_back(result);
    if (outputs.empty()) outputs.push_back(carry_nothing(id));
    return wrap_kernel(module_, f_, {id}, KernelKind::Loop, outputs, f_[id].loc);
  }

  // Assertions become Guards of a scalar that takes the token's place; what follows the loop asserts that it is there.
  Region without_effects(NodeId loop) {
    Region behind;
    auto is_token = [&](ValueId value) { return f_[value].type.kind == Type::Kind::Token; };
    std::vector<ValueId>& results = f_[loop].results;
    const auto token = std::find_if(results.begin(), results.end(), is_token);
    if (token == results.end()) return behind;
    const auto number = static_cast<size_t>(token - results.begin());
    const size_t operand = number + (f_[loop].op == Op::For ? 3 : 0);
    const ValueId before = f_[loop].operands[operand], after = *token;
    uint32_t site = 0;
    auto convert = [&](ValueId value) {
      if (is_token(value)) f_[value].type = Type::scalar(DType::I64);
    };
    std::vector<std::pair<NodeId, ValueId>> whiles; // and what their conditions have of the token
    auto note_while = [&](NodeId id) {
      if (f_[id].op != Op::While) return;
      const std::vector<ValueId>& params = f_[id].regions[0].params;
      const auto param = std::find_if(params.begin(), params.end(), is_token);
      if (param != params.end()) whiles.emplace_back(id, *param);
    };
    note_while(loop);
    for (const Region& region : f_[loop].regions)
      walk(f_, region, note_while);
    for (const Region& region : f_[loop].regions) {
      std::for_each(region.params.begin(), region.params.end(), convert);
      walk(f_, region, [&](NodeId id) {
        Node& node = f_[id];
        std::for_each(node.results.begin(), node.results.end(), convert);
        for (const Region& inner : node.regions)
          std::for_each(inner.params.begin(), inner.params.end(), convert);
        if (node.op != Op::Assert) return;
        ErrorSite failure = module_.sites[site = node.as<AssertAttrs>().site];
        failure.message = *message_of(f_, node);
        node.op = Op::Guard;
        node.attrs = SiteAttrs{static_cast<uint32_t>(module_.sites.size())};
        module_.sites.push_back(std::move(failure));
      });
    }
    for (const auto& [id, param] : whiles) { // they end where an assertion has failed
      Region condition = std::move(f_[id].regions[0]);
      const ValueId holds = condition.yields[0];
      const LocId at = f_[id].loc;
      Builder into(module_, f_, condition);
      const ValueId none = into.constant(DType::I64, Scalar::of(int64_t{0}));
      const Type truth = Type::scalar(DType::Bool);
      const ValueId fine = into.one(Op::Elementwise, {param, none}, truth, ElementwiseAttrs{ScalarOp::Eq}, at);
      condition.yields[0] = into.one(Op::Elementwise, {holds, fine}, truth, ElementwiseAttrs{ScalarOp::And}, at);
      f_[id].regions[0] = std::move(condition);
    }
    Value value = f_[after];
    value.type = Type::scalar(DType::I64);
    f_.values.push_back(std::move(value));
    const ValueId done{static_cast<uint32_t>(f_.values.size() - 1)};
    f_[loop].results[number] = done;
    f_[loop].operands[operand] = zero();
    Builder into(module_, f_, behind);
    const LocId loc = f_[loop].loc;
    const ValueId holds =
        into.one(Op::Elementwise, {done, zero()}, Type::scalar(DType::Bool), ElementwiseAttrs{ScalarOp::Eq}, loc);
    const NodeId assertion =
        into.node(Op::Assert, {before, holds}, {Type::token()}, AssertAttrs{site, {{""}, {}}}, loc);
    f_[assertion].results[0] = after;
    f_[after].producer = assertion;
    f_[after].result = 0;
    uses_.resize(f_.values.size());
    uses_[done.index] = 1;
    return behind;
  }

  // Of a loop for its Guards alone: a result, as a kernel has one at least.
  ValueId carry_nothing(NodeId id) {
    auto made = [&](NodeId producer, size_t number) {
      Value value;
      value.type = Type::scalar(DType::I64);
      value.producer = producer;
      value.result = static_cast<uint32_t>(number);
      f_.values.push_back(std::move(value));
      return ValueId{static_cast<uint32_t>(f_.values.size() - 1)};
    };
    const ValueId result = made(id, f_[id].results.size());
    f_[id].results.push_back(result);
    for (size_t i = 0; i < f_[id].regions.size(); ++i) {
      const ValueId param = made({}, f_[id].regions[i].params.size());
      f_[id].regions[i].params.push_back(param);
      if (i + 1 == f_[id].regions.size()) f_[id].regions[i].yields.push_back(param);
    }
    const ValueId start = zero(); // a new node, which moves the others
    f_[id].operands.push_back(start);
    uses_.resize(f_.values.size());
    return result;
  }

  ValueId zero() {
    if (!zero_.valid()) zero_ = Builder(module_, f_, before_).constant(DType::I64, Scalar::of(int64_t{0}));
    return zero_;
  }

  Module& module_;
  Function& f_;
  std::vector<uint32_t> uses_;
  std::vector<bool> wanted_;
  Region before_; // of everything else
  ValueId zero_;
};

} // namespace

Module outline(Module module) {
  for (Function& function : module.functions)
    Outliner(module, function).run();
  return module;
}

} // namespace tl

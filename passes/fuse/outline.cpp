// Turns loops into kernels of kind Loop: sequential native code without an operation of the engine inside. `outline`
// does so with loops over scalars and subscripts, `outline_tensors` with those whose turns make small tensors, too.
//
// Needs: nothing; simplify and dce before it make more loops fit.
// Gives: Kernel nodes as docs/kernels.md says under "Loop".
//
// Which loops fit: passes/fuse/loop_check.h. Their assertions become Guards of a scalar in place of the token, and one
// assertion behind the loop needs that.
#include "ir/graph/rewrite.h"
#include "ir/graph/turns.h"
#include "passes/edit.h"
#include "passes/fuse/loop_check.h"
#include "passes/fuse/wrap.h"
#include "passes/passes.h"
#include <map>
#include <unordered_map>

namespace tl {
using namespace ir;
namespace {

// A loop of scalars alone with fewer turns than this is as fast on the host.
constexpr int64_t kFewTurns = 64;

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
  Outliner(Module& module, Function& function, LoopContent content)
      : module_(module), f_(function), content_(content), uses_(use_counts(function)),
        wanted_(wanted_on_host(function)) {}

  void run() {
    region(f_.body);
    f_.body.nodes.insert(f_.body.nodes.begin(), before_.nodes.begin(), before_.nodes.end());
  }

private:
  void region(Region& r) {
    for (size_t at = 0; at < r.nodes.size(); ++at) {
      const NodeId id = r.nodes[at];
      Op op = f_[id].op;
      std::set<Work> limits;
      const bool fits = (op == Op::For || op == Op::While) && worthwhile(id, limits);
      if (fits && !limits.empty()) {
        const Region before = choose(id, limits);
        r.nodes[at] = before.nodes.back();
        r.nodes.insert(r.nodes.begin() + static_cast<std::ptrdiff_t>(at), before.nodes.begin(), before.nodes.end() - 1);
        at += before.nodes.size() - 1;
        continue;
      }
      if (fits) {
        const Region behind = without_effects(id);
        r.nodes[at] = outline(id);
        r.nodes.insert(r.nodes.begin() + static_cast<std::ptrdiff_t>(at) + 1, behind.nodes.begin(), behind.nodes.end());
        at += behind.nodes.size();
        continue;
      }
      if (op == Op::For || op == Op::While || op == Op::If) inside(id);
    }
  }

  void inside(NodeId id) {
    for (size_t i = 0; i < f_[id].regions.size(); ++i) {
      Region inner = std::move(f_[id].regions[i]);
      region(inner);
      f_[id].regions[i] = std::move(inner);
    }
  }

  // An If in place of a loop that fits where its sizes turn out to be small: the loop as a kernel, or as it is. What
  // computes the condition, and then the If.
  Region choose(NodeId loop, const std::set<Work>& limits) {
    Region before, sides[2];
    const LocId loc = f_[loop].loc;
    Builder into(module_, f_, before);
    const Type number = Type::scalar(DType::F64), truth = Type::scalar(DType::Bool);
    auto one = [&](ScalarOp op, ValueId a, ValueId b, const Type& type) {
      return into.one(Op::Elementwise, {a, b}, type, ElementwiseAttrs{op}, loc);
    };
    ValueId small;
    for (const Work& work : limits) {
      ValueId sum;
      for (const auto& [sizes, factor] : work) {
        ValueId product = into.constant(DType::F64, Scalar::of(factor));
        for (ValueId size : sizes)
          product = one(ScalarOp::Mul, product, into.one(Op::Convert, {size}, number, {}, loc), number);
        sum = sum.valid() ? one(ScalarOp::Add, sum, product, number) : product;
      }
      const ValueId fits = one(ScalarOp::Le, sum, into.constant(DType::F64, Scalar::of(kSmallWork)), truth);
      small = small.valid() ? one(ScalarOp::And, small, fits, truth) : fits;
    }
    Builder copy(module_, f_, sides[0]);
    const NodeId copied = Cloner(module_, f_, f_).clone(loop, copy);
    uses_.resize(f_.values.size(), 1);
    sides[0].yields = f_[copied].results;
    sides[0].nodes = {outline(copied)};
    std::vector<Type> types;
    const std::vector<ValueId> outer = f_[loop].results;
    for (size_t k = 0; k < f_[loop].results.size(); ++k) {
      const ValueId result = f_[loop].results[k];
      types.push_back(f_[result].type);
      Value own = f_[result];
      f_.values.push_back(std::move(own));
      f_[loop].results[k] = {static_cast<uint32_t>(f_.values.size() - 1)};
      sides[1].yields.push_back(f_[loop].results[k]);
    }
    sides[1].nodes = {loop};
    uses_.resize(f_.values.size(), 1);
    wanted_.resize(f_.values.size());
    inside(loop);
    std::vector<Region> regions;
    for (Region& side : sides)
      regions.push_back(std::move(side));
    const NodeId chosen =
        Builder(module_, f_, before).node(Op::If, {small}, std::move(types), {}, loc, std::move(regions));
    f_[chosen].results = outer;
    for (size_t k = 0; k < outer.size(); ++k) {
      f_[outer[k]].producer = chosen;
      f_[outer[k]].result = static_cast<uint32_t>(k);
    }
    return before;
  }

  // `limits`: on what that depends when it runs.
  bool worthwhile(NodeId id, std::set<Work>& limits) {
    LoopCheck check(f_, content_);
    if (!check.fits(id)) return false;
    const Node& node = f_[id];
    if (content_ == LoopContent::Tensors) {
      limits = check.limits;
      auto is_token = [&](ValueId value) { return f_[value].type.kind == Type::Kind::Token; };
      if (!limits.empty() && std::any_of(node.results.begin(), node.results.end(), is_token)) return false;
      return check.makes_tensors;
    }
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
        failure.message = *message_of_guard(f_, node);
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
  const LoopContent content_;
  std::vector<uint32_t> uses_;
  std::vector<bool> wanted_;
  Region before_; // of everything else
  ValueId zero_;
};

} // namespace

Module outline(Module module) {
  for (Function& function : module.functions)
    Outliner(module, function, LoopContent::Scalars).run();
  return module;
}

Module outline_tensors(Module module) {
  for (Function& function : module.functions)
    Outliner(module, function, LoopContent::Tensors).run();
  return module;
}

} // namespace tl

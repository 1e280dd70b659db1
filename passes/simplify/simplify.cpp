// Applies the rules of simplify until none fits, and takes decided branches and loops apart.
//
// Needs: nothing.
// Gives: the forms that scalar.cpp and shape.cpp name; no branch on a constant; small branches
// without
//        Guards as Where; no loop-carried value that never changes. Simplifying again changes nothing.
#include "passes/simplify/simplify.h"
#include "ir/graph/op_info.h"
#include "passes/passes.h"
#include <array>

namespace tl {
using namespace ir;
namespace {

constexpr int kRounds = 8;         // every rule shrinks or canonicalises, so a few rounds reach the end
constexpr size_t kSmallBranch = 6; // nodes of a branch that are cheaper to compute than to jump over

using RuleTable = std::array<std::vector<const SimplifyRule*>, kOpCount>;

const RuleTable& rules() {
  static const RuleTable table = [] {
    RuleTable t;
    for (auto rows : {scalar_rules(), shape_rules()})
      for (const SimplifyRule& rule : rows)
        t[static_cast<size_t>(rule.op)].push_back(&rule);
    return t;
  }();
  return table;
}

// Both branches are a few scalar operations that cost little and cannot fail.
bool small(const Function& f, const Region& branch) {
  if (branch.nodes.size() > kSmallBranch) return false;
  for (NodeId id : branch.nodes) {
    const Node& node = f[id];
    if (node.op != Op::Constant && node.op != Op::Elementwise && node.op != Op::Convert) return false;
    if (!f[node.results[0]].type.is_scalar()) return false;
    if (node.op == Op::Elementwise && info(node.as<ElementwiseAttrs>().op).ulp != 0) return false;
  }
  return true;
}

Edit::Answer simplify_if(Edit& edit, NodeId id) {
  Function& f = edit.function();
  auto take = [&](size_t branch) {
    Region region = std::move(f[id].regions[branch]);
    std::vector<ValueId> results = f[id].results;
    edit.splice(region.nodes);
    for (size_t i = 0; i < results.size(); ++i)
      edit.replace(results[i], edit.resolve(region.yields[i]));
    return Edit::Drop;
  };
  if (auto cond = constant_of(f, f[id].operands[0])) return take(cond->as<uint8_t>() ? 0 : 1);

  const Node& node = f[id];
  bool scalars = !node.results.empty();
  for (ValueId result : node.results)
    scalars = scalars && f[result].type.is_scalar();
  if (!scalars || !small(f, node.regions[0]) || !small(f, node.regions[1])) return Edit::Keep;
  std::vector<ValueId> results = node.results;
  ValueId cond = node.operands[0];
  LocId loc = node.loc;
  Region then = std::move(f[id].regions[0]), otherwise = std::move(f[id].regions[1]);
  edit.splice(then.nodes);
  edit.splice(otherwise.nodes);
  for (size_t i = 0; i < results.size(); ++i) {
    ValueId a = edit.resolve(then.yields[i]), b = edit.resolve(otherwise.yields[i]);
    const ElementwiseAttrs attrs{ScalarOp::Where};
    Type type = f[results[i]].type;
    const bool decides_nothing = a == b && cannot_fail(f, cond);
    edit.replace(results[i], decides_nothing ? a : edit.one(Op::Elementwise, {cond, a, b}, type, attrs, loc));
  }
  return Edit::Drop;
}

// A carried value that every turn gives on as it came is what it was before the loop.
void drop_invariants(Edit& edit, NodeId id) {
  Function& f = edit.function();
  Node& node = f[id];
  size_t fixed = node.op == Op::For ? 3 : 0; // operands before the initial values
  size_t first = node.op == Op::For ? 1 : 0; // parameters before the carried ones
  Region& body = node.regions.back();
  std::vector<bool> goes(node.results.size());
  bool any = false;
  for (size_t i = 0; i < node.results.size(); ++i) {
    ValueId initial = node.operands[fixed + i], yielded = edit.resolve(body.yields[i]);
    if (yielded != body.params[first + i] && yielded != initial) continue;
    if (f[initial].type.kind == Type::Kind::Token) continue;
    // Its size may be carried beside it: then it may only go together with that, which the next round sees.
    bool fixed_size = true;
    for (const Dim& dim : f[body.params[first + i]].type.dims)
      for (ValueId param : body.params)
        fixed_size = fixed_size && !(dim == Dim::of(param));
    if (!fixed_size) continue;
    goes[i] = any = true;
    edit.replace(node.results[i], initial);
    edit.replace(body.params[first + i], initial);
    if (node.op == Op::While) edit.replace(node.regions[0].params[i], initial);
  }
  if (!any) return;
  auto shrink = [&](auto& list, size_t from) {
    size_t to = from;
    for (size_t i = 0; i < goes.size(); ++i)
      if (!goes[i]) list[to++] = list[from + i];
    list.resize(to);
  };
  shrink(node.operands, fixed);
  shrink(node.results, 0);
  shrink(body.params, first);
  shrink(body.yields, 0);
  if (node.op == Op::While) shrink(node.regions[0].params, 0);
  auto renumber = [&](const std::vector<ValueId>& values) {
    for (uint32_t i = 0; i < values.size(); ++i)
      f[values[i]].result = i;
  };
  renumber(node.results);
  for (Region& region : node.regions)
    renumber(region.params);
}

Edit::Answer simplify_loop(Edit& edit, NodeId id) {
  Function& f = edit.function();
  bool never = false;
  if (f[id].op == Op::For) {
    auto lo = integer_of(f, f[id].operands[0]), hi = integer_of(f, f[id].operands[1]);
    auto step = integer_of(f, f[id].operands[2]);
    never = lo && hi && step && (*step > 0 ? *lo >= *hi : *lo <= *hi);
  } else {
    auto cond = constant_of(f, edit.resolve(f[id].regions[0].yields[0]));
    never = cond && !cond->as<uint8_t>();
  }
  if (never) {
    size_t fixed = f[id].op == Op::For ? 3 : 0;
    std::vector<ValueId> results = f[id].results, operands = f[id].operands;
    if (f[id].op == Op::While) { // the condition is evaluated once, and may fail
      Region cond = std::move(f[id].regions[0]);
      for (size_t i = 0; i < operands.size(); ++i)
        edit.replace(cond.params[i], operands[i]);
      edit.splice(cond.nodes);
    }
    for (size_t i = 0; i < results.size(); ++i)
      edit.replace(results[i], operands[fixed + i]);
    return Edit::Drop;
  }
  drop_invariants(edit, id);
  return Edit::Keep;
}

// Both branches give the same value from outside. Where the condition fails there is none.
void same_yields(Edit& edit, NodeId id) {
  Function& f = edit.function();
  const Node& node = f[id];
  if (!cannot_fail(f, edit.resolve(node.operands[0]))) return;
  for (size_t i = 0; i < node.results.size(); ++i) {
    ValueId a = node.regions[0].yields[i], b = node.regions[1].yields[i];
    if (a != b || f[a].type.kind == Type::Kind::Token || edit.resolve(node.results[i]) == a) continue;
    edit.replace(node.results[i], a); // defined outside, since both see it; dce removes the result
  }
}

bool simplify_once(Module& module, Function& function) {
  Edit edit(module, function);
  edit.visit = [&](NodeId id) {
    Op op = function[id].op;
    if (op == Op::If) return simplify_if(edit, id);
    if (op == Op::For || op == Op::While) return simplify_loop(edit, id);
    for (const SimplifyRule* rule : rules()[static_cast<size_t>(op)]) {
      auto value = rule->apply(edit, id);
      if (!value) continue;
      edit.replace(function[id].results[0], edit.resolve(*value));
      return Edit::Drop;
    }
    return Edit::Keep;
  };
  edit.leave = [&](NodeId id) {
    if (function[id].op == Op::If) same_yields(edit, id);
    return Edit::Keep;
  };
  edit.run();
  return edit.changed;
}

} // namespace

Module simplify(Module module) {
  for (Function& function : module.functions)
    for (int round = 0; round < kRounds && simplify_once(module, function); ++round) {
    }
  return module;
}

} // namespace tl

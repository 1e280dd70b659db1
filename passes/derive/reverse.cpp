#include "passes/derive/reverse.h"
#include "ir/graph/op_info.h"
#include "passes/derive/partials.h"
#include "passes/edit.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl {
using namespace ir;

// ---- copies without effects

namespace {

bool is_token(const Function& f, ValueId v) { return f[v].type.kind == Type::Kind::Token; }

bool has_tokens(const Function& f, const Node& node) {
  return std::any_of(node.results.begin(), node.results.end(), [&](ValueId v) { return is_token(f, v); });
}

} // namespace

NodeId clone_without_effects(Cloner& cloner, NodeId id, Builder& into) {
  const Node node = cloner.source()[id];
  const Function& f = cloner.source();
  auto kept = [&](const std::vector<ValueId>& values) {
    std::vector<ValueId> result;
    for (ValueId v : values)
      if (!is_token(f, v)) result.push_back(v);
    return result;
  };
  Function& target = into.function();
  std::vector<ValueId> operands = cloner(kept(node.operands));
  std::vector<Region> regions;
  for (const Region& region : node.regions) {
    Region plain = region;
    plain.params = kept(plain.params);
    plain.yields = kept(plain.yields);
    regions.push_back(cloner.region(plain));
  }
  std::vector<ValueId> results = kept(node.results);
  NodeId copy = into.node(node.op, std::move(operands), std::vector<Type>(results.size()), node.attrs, node.loc,
                          std::move(regions));
  std::vector<ValueId> values = target[copy].results;
  for (size_t i = 0; i < values.size(); ++i)
    cloner.map(results[i], values[i]);
  for (size_t i = 0; i < values.size(); ++i)
    target[values[i]].type = cloner(Type(f[results[i]].type));
  return copy;
}

bool leave_out_effects(Cloner& cloner, NodeId id, Builder& into) {
  const Function& f = cloner.source();
  const Node node = f[id];
  if (!has_tokens(f, node)) return false;
  if (!node.regions.empty()) {
    clone_without_effects(cloner, id, into);
    return true;
  }
  switch (node.op) {
  case Op::Wait:
    for (size_t i = 1; i < node.results.size(); ++i)
      cloner.map(node.results[i], cloner(node.operands[i]));
    return true;
  case Op::Debug: cloner.map(node.results[1], cloner(node.operands[1])); return true;
  case Op::Time: // nothing moves with it; what is computed again does not ask the clock
    cloner.map(node.results[1], into.constant(DType::F64, {}));
    return true;
  default:
    if (node.results.size() > 1)
      throw NotDifferentiable("what a loop or branch reads from outside is not available to its derivative: "
                              "read it before",
                              node.loc);
    return true;
  }
}

// ---- values

void Reverse::own(Scope& s, const Region& region, bool params) {
  if (params)
    for (ValueId v : region.params)
      s.owned.insert(v.index);
  for (NodeId id : region.nodes)
    for (ValueId v : f_[id].results)
      s.owned.insert(v.index);
}

ValueId Reverse::primal(Scope& s, ValueId original) {
  if (auto found = s.primal.find(original.index); found != s.primal.end()) return found->second;
  if (s.owned.count(original.index)) return materialize(s, original);
  return s.parent ? primal(*s.parent, original) : original;
}

std::vector<ValueId> Reverse::primal(Scope& s, const std::vector<ValueId>& originals) {
  std::vector<ValueId> result;
  for (ValueId v : originals)
    result.push_back(primal(s, v));
  return result;
}

std::vector<Dim> Reverse::dims(Scope& s, const std::vector<Dim>& of) {
  std::vector<Dim> result = of;
  for (Dim& dim : result)
    if (!dim.is_constant()) dim = Dim::of(primal(s, dim.value));
  return result;
}

std::vector<Dim> Reverse::dims(Scope& s, ValueId original) { return dims(s, std::vector<Dim>(type(original).dims)); }

// The node's results become known in s, by running it there.
void Reverse::run_again(Scope& s, NodeId id) {
  const Node node = f_[id];
  if (node.regions.empty()) {
    if (has_tokens(f_, node)) {
      if (node.op != Op::Wait && node.op != Op::Debug)
        throw NotDifferentiable("what a loop or branch reads from outside is not available to its derivative: "
                                "read it before",
                                node.loc);
      for (size_t i = 1; i < node.results.size(); ++i)
        s.primal[node.results[i].index] = primal(s, node.operands[i]);
      return;
    }
    std::vector<ValueId> operands = primal(s, node.operands);
    std::vector<Type> types;
    std::set<uint32_t> mine;
    for (ValueId v : node.results)
      mine.insert(v.index);
    for (ValueId v : node.results) {
      Type t = type(v);
      for (Dim& dim : t.dims)
        if (!dim.is_constant() && !mine.count(dim.value.index)) dim = Dim::of(primal(s, dim.value));
      types.push_back(std::move(t));
    }
    Builder into(module_, f_, *s.out);
    NodeId copy = into.node(node.op, std::move(operands), std::move(types), node.attrs, node.loc);
    std::vector<ValueId> results = f_[copy].results;
    for (size_t i = 0; i < results.size(); ++i)
      for (Dim& dim : f_[results[i]].type.dims)
        for (size_t k = 0; k < results.size(); ++k)
          if (!dim.is_constant() && dim.value == node.results[k]) dim = Dim::of(results[k]);
    for (size_t i = 0; i < results.size(); ++i)
      s.primal[node.results[i].index] = results[i];
    return;
  }
  auto cloner = std::make_shared<Cloner>(module_, f_, f_);
  std::set<uint32_t> own_results;
  for (ValueId v : node.results)
    own_results.insert(v.index);
  auto know = [&](ValueId v) {
    if (!is_token(f_, v) && !own_results.count(v.index) && !cloner->has(v)) cloner->map(v, primal(s, v));
  };
  for (ValueId v : node.operands)
    know(v);
  for (ValueId v : captures(f_, node))
    know(v);
  for (ValueId v : node.results)
    for (const Dim& dim : std::vector<Dim>(type(v).dims))
      if (!dim.is_constant()) know(dim.value);
  cloner->hook = [&](NodeId inner, Builder& into) { return leave_out_effects(*cloner, inner, into); };
  Builder into(module_, f_, *s.out);
  NodeId copy = clone_without_effects(*cloner, id, into);
  cloner->hook = nullptr;
  for (ValueId v : node.results)
    if (!is_token(f_, v)) s.primal[v.index] = (*cloner)(v);
  s.copies[id.index] = {copy, cloner};
}

// ---- cotangents

ValueId Reverse::cotangent(Scope& s, ValueId original) {
  if (auto found = s.adjoint.find(original.index); found != s.adjoint.end()) return found->second;
  if (s.closed || s.owned.count(original.index) || !s.parent) return {};
  return cotangent(*s.parent, original);
}

ValueId Reverse::zero_cotangent(Scope& s, ValueId original) {
  Type t = type(original);
  if (t.is_list()) return emit(s).still(primal(s, original));
  t.dims = dims(s, t.dims);
  ValueId zero = emit(s).zeros(t);
  guard(zero);
  return zero;
}

ValueId Reverse::cotangent_or_zero(Scope& s, ValueId original) {
  ValueId known = cotangent(s, original);
  return known.valid() ? known : zero_cotangent(s, original);
}

void Reverse::set(Scope& s, ValueId original, ValueId value, bool guarded) {
  s.adjoint[original.index] = value;
  if (guarded) guard(value);
}

void Reverse::add(Scope& s, ValueId original, ValueId contribution, bool guarded) {
  if (!moves(original) || !contribution.valid()) return;
  ValueId known = cotangent(s, original);
  if (!known.valid()) return set(s, original, contribution, guarded);
  Emit e = emit(s);
  if (type(known).is_list()) return set(s, original, e.sum(known, contribution), true);
  contribution = e.reshape(contribution, std::vector<Dim>(type(known).dims));
  set(s, original, e.add(known, contribution), guarded || is_guarded(known));
}

// ---- the whole

std::vector<ValueId> Reverse::run(Region& region, const std::vector<ValueId>& inputs,
                                  const std::vector<std::pair<ValueId, ValueId>>& outputs, LocId loc) {
  for (ValueId v : inputs)
    moving_.start(v);
  std::vector<NodeId> tape = region.nodes;
  moving_.find(tape);
  Scope top;
  top.out = &region;
  top.loc = loc;
  own(top, region, false);
  for (uint32_t v : top.owned) // all of it has run
    top.primal[v] = ValueId{v};
  for (auto [value, seed] : outputs) {
    if (!moves(value)) continue;
    add(top, value, emit(top).reshape(seed, std::vector<Dim>(type(value).dims)), is_guarded(seed));
  }
  sweep(top, tape);
  std::vector<ValueId> result;
  top.loc = loc;
  for (ValueId v : inputs)
    result.push_back(cotangent_or_zero(top, v));
  return result;
}

} // namespace tl

#include "passes/reverse.h"
#include "ir/op_info.h"
#include "passes/edit.h"
#include "passes/partials.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl {
using namespace ir;

// ---- copies without effects
// -------------------------------------------------------------------------------------------

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
      throw NotDifferentiable("what is read from outside in a loop or branch is not known again for its derivative: "
                              "read it before",
                              node.loc);
    return true;
  }
}

// ---- values
// -----------------------------------------------------------------------------------------------------------

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
        throw NotDifferentiable("what is read from outside in a loop or branch is not known again for its derivative: "
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

namespace {

bool is_dear(const Node& node) {
  switch (node.op) {
  case Op::Contract:
  case Op::Reduce:
  case Op::Scan:
  case Op::Linalg:
  case Op::Scatter:
  case Op::Map:
  case Op::For:
  case Op::While:
  case Op::If:
  case Op::Checkpoint:
  case Op::CustomVjp:
  case Op::ListJoin: return true;
  default: return false;
  }
}

bool is_read(const Node& node) {
  return node.op == Op::Index || node.op == Op::Slice || node.op == Op::Gather || node.op == Op::ListGet;
}

} // namespace

double Reverse::weight(ValueId v) const {
  const Type& t = type(v);
  if (!t.is_tensor()) return 1e9;
  double result = 1;
  for (const Dim& dim : t.dims)
    result *= dim.is_constant() ? static_cast<double>(dim.constant) : 512;
  return result;
}

// What it takes, in elements saved for an iteration, to know the value in the reverse sweep.
double Reverse::cost(Scope& s, ValueId v) {
  if (s.primal.count(v.index) || !s.owned.count(v.index)) return 0;
  auto [at, fresh] = s.loop->costs.try_emplace(v.index, weight(v));
  if (!fresh) return at->second;
  NodeId producer = f_[v].producer;
  if (!producer.valid()) return weight(v);
  const Node& node = f_[producer];
  if (is_dear(node) || is_effect(f_, node)) return weight(v);
  if (is_read(node) && s.loop->carried.count(node.operands[0].index)) return weight(v);
  double again = 0;
  std::set<uint32_t> seen;
  for (ValueId operand : node.operands)
    if (seen.insert(operand.index).second) again += cost(s, operand);
  return s.loop->costs[v.index] = std::min(again, weight(v));
}

// Do the sizes of a value change from turn to turn?
bool Reverse::varies(Scope& s, ValueId v) {
  const std::vector<Dim>& sizes = type(v).dims;
  return std::any_of(sizes.begin(), sizes.end(),
                     [&](const Dim& dim) { return !dim.is_constant() && s.owned.count(dim.value.index); });
}

// An original of this scope's own tape, in the place where the sweep is.
ValueId Reverse::materialize(Scope& s, ValueId v) {
  NodeId producer = f_[v].producer;
  if (s.loop) {
    bool must = !producer.valid();
    bool save = must;
    if (!must) {
      const Node& node = f_[producer];
      must = is_effect(f_, node) && node.op != Op::Wait && node.op != Op::Debug;
      save = must || is_dear(node) || (is_read(node) && s.loop->carried.count(node.operands[0].index)) ||
             cost(s, v) >= weight(v);
      if (node.op == Op::Constant || node.op == Op::ConstTensor || node.op == Op::ConstStr) save = false;
    }
    if (save && type(v).is_tensor() && (must || !varies(s, v))) return s.primal[v.index] = saved(s, v);
    if (must)
      throw NotDifferentiable(
          "the derivative of a loop that carries a list, a text, or a tensor whose size changes, is "
          "not supported",
          f_[s.loop->forward].loc);
  }
  if (!producer.valid()) throw std::logic_error("derive: a parameter is not known");
  run_again(s, producer);
  return s.primal.at(v.index);
}

void Reverse::insert_before(Region& region, NodeId node, const Region& nodes) {
  auto at = std::find(region.nodes.begin(), region.nodes.end(), node);
  if (at == region.nodes.end()) throw std::logic_error("derive: a loop is not where it was put");
  region.nodes.insert(at, nodes.nodes.begin(), nodes.nodes.end());
}

// A row for each iteration, filled by the forward loop; the row of the iteration that the sweep is at. What changes its
// size is an element of a list.
ValueId Reverse::saved(Scope& s, ValueId v) {
  Loop& loop = *s.loop;
  LocId loc = f_[loop.forward].loc;
  Type stack = type(v);
  bool in_list = varies(s, v);
  if (in_list) {
    stack = Type::list({Type::tensor(stack.dtype, std::vector<Dim>(stack.dims.size()))});
  } else {
    size_t known = loop.home->nodes.size();
    stack.dims = dims(*s.parent, stack.dims);
    // Sizes that were made known just now are needed before the forward loop.
    Region sizes;
    sizes.nodes.assign(loop.home->nodes.begin() + static_cast<long>(known), loop.home->nodes.end());
    loop.home->nodes.resize(known);
    insert_before(*loop.home, loop.forward, sizes);
    auto constant = integer_of(f_, loop.count);
    stack.dims.insert(stack.dims.begin(), constant ? Dim::of(*constant) : Dim::of(loop.count));
  }
  Region before;
  Emit start(module_, f_, before, loc);
  ValueId empty = in_list ? start.list_of(stack, {}) : start.zeros(stack);
  insert_before(*loop.home, loop.forward, before);

  ValueId kept = loop.copies ? (*loop.copies)(v) : v;
  Region body = std::move(f_[loop.forward].regions[0]);
  Emit inside(module_, f_, body, loc);
  ValueId filled = inside.builder().param(Type(stack));
  if (!loop.forward_index.valid()) {
    ValueId i = body.params[0], lo = f_[loop.forward].operands[0], step = f_[loop.forward].operands[2];
    bool plain = integer_of(f_, lo) == 0 && integer_of(f_, step) == 1;
    loop.forward_index = plain ? i : inside.op(ScalarOp::FloorDiv, {inside.sub(i, lo), step});
  }
  body.yields.push_back(in_list ? inside.append(filled, {kept})
                                : inside.with_at(filled, {loop.forward_index}, kept, UpdateMode::Set));
  Node& node = f_[loop.forward];
  node.regions[0] = std::move(body);
  node.operands.push_back(empty);
  ValueId result{static_cast<uint32_t>(f_.values.size())};
  f_.values.push_back({stack, loop.forward, static_cast<uint32_t>(node.results.size()), {}});
  f_[loop.forward].results.push_back(result);
  if (in_list) return emit(s).reshape(emit(s).element(result, loop.index)[0], dims(s, v));
  return emit(s).at(result, {loop.index});
}

// ---- cotangents
// -------------------------------------------------------------------------------------------------------

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
// ---------------------------------------------------------------------------------------------------------

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

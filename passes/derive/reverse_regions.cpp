// Reverse mode: branches, loops, and what is computed again.
#include "passes/derive/reverse.h"
#include "passes/edit.h"
#include <algorithm>

namespace tl {
using namespace ir;

// Values from outside whose cotangents the node's regions add to.
std::vector<ValueId> Reverse::moving_captures(const Node& node) {
  std::vector<ValueId> result;
  for (ValueId v : captures(f_, node))
    if (moves(v)) result.push_back(v);
  return result;
}

void Reverse::reverse_if(Scope& s, NodeId id) {
  const Node node = f_[id];
  ValueId condition = primal(s, node.operands[0]);
  Region regions[2];
  Scope branches[2];
  std::set<uint32_t> changed;
  for (size_t k = 0; k < 2; ++k) {
    Scope& b = branches[k];
    b.parent = &s;
    b.out = &regions[k];
    b.loc = node.loc;
    own(b, node.regions[k], false);
    if (s.run) b.run = make_run(ran(*s.run, id), k, s.run->copies, b);
    for (size_t i = 0; i < node.results.size(); ++i)
      if (moves(node.results[i]))
        if (ValueId d = cotangent(s, node.results[i]); d.valid()) add(b, node.regions[k].yields[i], d, is_guarded(d));
    sweep(b, node.regions[k].nodes);
    for (const auto& [v, d] : b.adjoint)
      if (!b.owned.count(v)) changed.insert(v);
  }
  if (changed.empty()) return;
  s.loc = node.loc;
  std::vector<Type> types;
  for (uint32_t v : changed) {
    ValueId before = cotangent_or_zero(s, {v});
    types.push_back(type(before));
    for (size_t k = 0; k < 2; ++k) {
      auto found = branches[k].adjoint.find(v);
      ValueId d = found == branches[k].adjoint.end() ? before : found->second;
      branches[k].loc = node.loc;
      regions[k].yields.push_back(emit(branches[k]).reshape(d, types.back().dims));
    }
  }
  std::vector<Region> both;
  both.push_back(std::move(regions[0]));
  both.push_back(std::move(regions[1]));
  NodeId copy = emit(s).builder().node(Op::If, {condition}, std::move(types), {}, node.loc, std::move(both));
  size_t i = 0;
  for (uint32_t v : changed)
    set(s, {v}, f_[copy].results[i++], true);
}

// A while whose count of iterations is known by now, as a for: the one that ran counts.
std::pair<NodeId, std::shared_ptr<Cloner>> Reverse::counted(Scope& s, NodeId id) {
  const Node node = f_[id]; // as it was before it counted
  if (!s.copies.count(id.index) && s.parent) run_again(s, id);
  bool again = s.copies.count(id.index) > 0;
  NodeId ran = again ? s.copies[id.index].first : id;
  LocId loc = f_[id].loc;
  ValueId count;
  {
    Region before;
    ValueId zero = Emit(module_, f_, before, loc).i64(0);
    insert_before(*s.out, ran, before);
    Region condition = std::move(f_[ran].regions[0]), body = std::move(f_[ran].regions[1]);
    (void)Emit(module_, f_, condition, loc).builder().param(Type::scalar(DType::I64));
    Emit inside(module_, f_, body, loc);
    ValueId so_far = inside.builder().param(Type::scalar(DType::I64));
    body.yields.push_back(inside.add(so_far, inside.i64(1)));
    count = {static_cast<uint32_t>(f_.values.size())};
    f_.values.push_back({Type::scalar(DType::I64), ran, static_cast<uint32_t>(f_[ran].results.size()), {}});
    Node& running = f_[ran];
    running.regions[0] = std::move(condition);
    running.regions[1] = std::move(body);
    running.operands.push_back(zero);
    running.results.push_back(count);
  }
  // The body once more, from the same start.
  auto cloner = std::make_shared<Cloner>(module_, f_, f_);
  Region plain = node.regions[1];
  size_t carried = plain.params.size();
  Node shape = node; // what it reads from outside
  shape.regions = {plain};
  for (ValueId v : captures(f_, shape))
    if (type(v).kind != Type::Kind::Token) cloner->map(v, primal(s, v));
  std::vector<ValueId> operands, params, yields;
  std::vector<Type> types;
  Emit e = emit(s);
  operands = {e.i64(0), count, e.i64(1)};
  for (size_t i = 0; i < carried; ++i) {
    if (type(plain.params[i]).kind == Type::Kind::Token) continue;
    params.push_back(plain.params[i]);
    yields.push_back(plain.yields[i]);
    operands.push_back(primal(s, node.operands[i]));
  }
  plain.params = params;
  plain.yields = yields;
  cloner->hook = [&](NodeId inner, Builder& into) { return leave_out_effects(*cloner, inner, into); };
  Region body = cloner->region(plain);
  cloner->hook = nullptr;
  ValueId index{static_cast<uint32_t>(f_.values.size())};
  f_.values.push_back({Type::scalar(DType::I64), {}, 0, {}});
  body.params.insert(body.params.begin(), index);
  for (size_t i = 0; i < body.params.size(); ++i)
    f_[body.params[i]].result = static_cast<uint32_t>(i);
  for (size_t i = 1; i < body.params.size(); ++i)
    types.push_back(type(body.params[i]));
  // Sizes that are carried beside: results of the node itself.
  std::vector<ValueId> inner(body.params.begin() + 1, body.params.end());
  std::vector<Region> regions;
  regions.push_back(std::move(body));
  NodeId copy = e.builder().node(Op::For, std::move(operands), std::move(types), {}, loc, std::move(regions));
  std::vector<ValueId> results = f_[copy].results;
  for (ValueId v : results)
    for (Dim& dim : f_[v].type.dims)
      for (size_t k = 0; k < inner.size(); ++k)
        if (!dim.is_constant() && dim.value == inner[k]) dim = Dim::of(results[k]);
  return {copy, cloner};
}

void Reverse::reverse_loop(Scope& s, NodeId id) {
  s.loc = f_[id].loc;
  bool is_for = f_[id].op == Op::For;
  auto loop = std::make_unique<Loop>();
  NodeId forward = id;
  std::shared_ptr<Cloner> copies;
  loop->turns = turns(f_[id]);
  loop->home = s.out;
  if (s.parent && !s.copies.count(id.index) && saves_inside(s, f_[id])) {
    loop->home = nullptr;
    forward = ran(*s.run, id);
    copies = s.run->copies;
  } else if (!is_for) {
    std::tie(forward, copies) = counted(s, id);
  } else if (s.parent) { // else it ran here
    if (!s.copies.count(id.index)) run_again(s, id);
    std::tie(forward, copies) = s.copies[id.index];
  }
  const Node node = f_[id];
  const LocId loc = node.loc;
  Region tape = node.regions.back();
  size_t first_param = is_for ? 1 : 0, first_operand = is_for ? 3 : 0;

  // How often, known before the forward loop if it stands here.
  std::vector<ValueId> bounds;
  for (size_t i = 0; i < 3 && (is_for || loop->home); ++i)
    bounds.push_back(loop->home ? f_[forward].operands[i] : primal(s, node.operands[i]));
  if (!is_for && loop->home) {
    loop->count = bounds[1];
  } else if (is_for) {
    Region before;
    Emit e(module_, f_, before, loc);
    loop->count = trip_count(e, bounds[0], bounds[1], bounds[2]);
    if (loop->home)
      insert_before(*loop->home, forward, before);
    else
      s.out->nodes.insert(s.out->nodes.end(), before.nodes.begin(), before.nodes.end());
  }
  // What the body depends on by what is carried.
  carry(f_, node, loop->carried);

  Region body;
  Scope b;
  b.parent = &s;
  b.out = &body;
  b.loc = loc;
  b.closed = true;
  own(b, tape, true);
  b.run = make_run(forward, f_[forward].regions.size() - 1, std::move(copies), b);
  b.loop = std::move(loop);
  if (!b.loop->count.valid()) number_turns(b);
  Emit inside = emit(b);
  ValueId turn = inside.builder().param(Type::scalar(DType::I64));
  b.loop->index = inside.sub(inside.sub(b.loop->count, inside.i64(1)), turn);
  if (b.loop->numbered) b.loop->number = inside.add(b.loop->number, b.loop->index);
  if (is_for) {
    ValueId lo = bounds[0], step = bounds[2];
    bool plain = integer_of(f_, lo) == 0 && integer_of(f_, step) == 1;
    b.primal[tape.params[0].index] = plain ? b.loop->index : inside.add(lo, inside.mul(b.loop->index, step));
  }

  // What is carried backwards: the cotangents of what the loop carries, and of what it reads.
  struct Slot {
    ValueId original, param, initial, last;
    size_t position = SIZE_MAX;                      // among the carried; else it is from outside
    std::vector<std::pair<size_t, ValueId>> varying; // axes whose size the loop changes, and that size, carried too
    size_t result = 0;
  };
  std::vector<Slot> slots;
  auto slot = [&](ValueId original, ValueId initial, size_t position) {
    Type t = type(initial);
    Slot made{original, {}, initial, {}, position, {}, 0};
    if (position != SIZE_MAX)
      for (size_t axis = 0; axis < t.dims.size(); ++axis) {
        Dim dim = type(original).dims[axis];
        if (dim.is_constant() || !b.owned.count(dim.value.index)) continue;
        made.varying.emplace_back(axis, inside.builder().param(Type::scalar(DType::I64)));
        t.dims[axis] = Dim::of(made.varying.back().second);
      }
    made.param = inside.builder().param(std::move(t));
    guard(made.param);
    slots.push_back(made);
    return made.param;
  };
  std::vector<std::pair<ValueId, ValueId>> seeds;
  for (size_t k = 0; k + first_param < tape.params.size() && k < node.results.size(); ++k)
    if (moves(tape.params[k + first_param])) {
      ValueId initial = cotangent(s, node.results[k]);
      if (!initial.valid()) {
        initial = zero_cotangent(s, node.results[k]);
      }
      seeds.emplace_back(tape.yields[k], slot(tape.params[k + first_param], initial, k));
    }
  Node reads = node;
  if (!is_for) reads.regions = {node.regions[1]};
  for (ValueId v : moving_captures(reads))
    b.adjoint[v.index] = slot(v, cotangent_or_zero(s, v), SIZE_MAX);
  for (auto [yield, seed] : seeds)
    if (moves(yield)) add(b, yield, type(seed).is_list() ? seed : emit(b).reshape(seed, dims(b, yield)), true);
  sweep(b, tape.nodes);

  b.loc = loc;
  std::vector<Slot> kept;
  for (Slot& one : slots) {
    if (one.position == SIZE_MAX) {
      one.last = b.adjoint.at(one.original.index);
      if (one.last == one.param) continue; // nothing was added
    } else {
      ValueId d = cotangent(b, one.original);
      one.last = d.valid() ? d : zero_cotangent(b, one.original);
    }
    std::vector<Dim> wanted = type(one.param).dims;
    for (auto [axis, size] : one.varying)
      wanted[axis] = dims(b, one.original)[axis];
    one.last = emit(b).reshape(one.last, wanted);
    kept.push_back(one);
  }
  std::vector<ValueId> params{turn}, operands;
  std::vector<Type> types;
  Emit e = emit(s);
  operands = {e.i64(0), b.loop->count, e.i64(1)};
  for (Slot& one : kept) {
    for (auto [axis, size] : one.varying) {
      params.push_back(size);
      operands.push_back(e.size(type(one.initial).dims[axis]));
      body.yields.push_back(inside.size(type(one.last).dims[axis]));
      types.push_back(Type::scalar(DType::I64));
    }
    one.result = types.size();
    params.push_back(one.param);
    operands.push_back(one.initial);
    body.yields.push_back(one.last);
    types.push_back(type(one.param));
  }
  body.params = params;
  for (size_t i = 0; i < params.size(); ++i)
    f_[params[i]].result = static_cast<uint32_t>(i);
  std::vector<Region> regions;
  regions.push_back(std::move(body));
  NodeId back = e.builder().node(Op::For, std::move(operands), std::move(types), {}, loc, std::move(regions));
  std::vector<ValueId> results = f_[back].results;
  for (const Slot& one : kept)
    for (size_t i = 0; i < one.varying.size(); ++i)
      f_[results[one.result]].type.dims[one.varying[i].first] = Dim::of(results[one.result - one.varying.size() + i]);
  for (const Slot& one : kept)
    if (one.position == SIZE_MAX) set(s, one.original, results[one.result], true);
  for (const Slot& one : kept)
    if (one.position != SIZE_MAX) {
      ValueId start = node.operands[first_operand + one.position], d = results[one.result];
      if (moves(start)) add(s, start, type(d).is_list() ? d : emit(s).reshape(d, dims(s, start)), true);
    }
}

// Computed again, in a loop of one turn: what stands in it is not taken for what has been computed before.
void Reverse::reverse_checkpoint(Scope& s, NodeId id) {
  const Node node = f_[id];
  const Region tape = node.regions[0];
  std::vector<ValueId> initial;
  std::vector<std::pair<ValueId, ValueId>> seeds;
  for (size_t i = 0; i < node.results.size(); ++i)
    if (moves(node.results[i]))
      if (ValueId d = cotangent(s, node.results[i]); d.valid()) seeds.emplace_back(tape.yields[i], d);
  Emit e = emit(s);
  std::vector<ValueId> captured = moving_captures(node), operands = primal(s, node.operands), inputs;
  initial = operands;
  for (ValueId v : node.operands)
    if (moves(v)) {
      inputs.push_back(v);
      initial.push_back(zero_cotangent(s, v));
    }
  for (ValueId v : captured)
    initial.push_back(cotangent_or_zero(s, v));
  std::vector<ValueId> results =
      e.loop(e.i64(0), e.i64(1), e.i64(1), initial, [&](Emit& inside, ValueId, const std::vector<ValueId>& carried) {
        Scope b;
        b.parent = &s;
        b.out = &inside.builder().region();
        b.loc = node.loc;
        b.closed = true;
        own(b, tape, false);
        for (size_t i = 0; i < tape.params.size(); ++i) {
          b.owned.insert(tape.params[i].index);
          b.primal[tape.params[i].index] = carried[i];
        }
        size_t next = operands.size() + inputs.size();
        for (ValueId v : captured) {
          guard(carried[next]);
          b.adjoint[v.index] = carried[next++];
        }
        for (auto [yield, seed] : seeds)
          add(b, yield, seed, is_guarded(seed));
        sweep(b, tape.nodes);
        b.loc = node.loc;
        // Something else than what came: what is carried unchanged would be taken for what stands outside.
        std::vector<ValueId> out;
        for (size_t i = 0; i < operands.size(); ++i) {
          Emit last = emit(b);
          out.push_back(type(carried[i]).is_tensor() ? last.zeros(Type(type(carried[i]))) : carried[i]);
        }
        size_t k = operands.size();
        for (size_t i = 0; i < node.operands.size(); ++i)
          if (moves(node.operands[i])) {
            ValueId d = cotangent(b, tape.params[i]);
            Emit last = emit(b);
            out.push_back(d.valid() ? last.reshape(d, std::vector<Dim>(type(carried[k]).dims)) : carried[k]);
            ++k;
          }
        for (ValueId v : captured)
          out.push_back(emit(b).reshape(b.adjoint.at(v.index), std::vector<Dim>(type(carried[k]).dims))), ++k;
        return out;
      });
  // What is captured first: it may be an operand too.
  size_t next = operands.size();
  for (size_t i = 0; i < captured.size(); ++i)
    set(s, captured[i], results[next + inputs.size() + i], true);
  for (ValueId v : inputs)
    add(s, v, results[next++], true);
}

void Reverse::reverse_custom(Scope& s, NodeId id) {
  const Node node = f_[id];
  const Region rule = node.regions[1];
  Cloner cloner(module_, f_, f_);
  Node reads = node;
  reads.regions = {rule};
  for (ValueId v : captures(f_, reads))
    cloner.map(v, primal(s, v));
  std::vector<ValueId> given = primal(s, node.operands);
  for (ValueId v : primal(s, node.results))
    given.push_back(v);
  for (ValueId v : node.results)
    if (type(v).is_tensor() && is_float(type(v).dtype)) {
      ValueId d = cotangent(s, v);
      given.push_back(d.valid() ? d : zero_cotangent(s, v));
    }
  for (size_t i = 0; i < rule.params.size(); ++i) {
    std::vector<Dim> wanted;
    for (const Dim& dim : std::vector<Dim>(type(rule.params[i]).dims))
      wanted.push_back(cloner(dim));
    cloner.map(rule.params[i], emit(s).reshape(given.at(i), wanted));
  }
  Builder into(module_, f_, *s.out);
  std::vector<ValueId> dx = cloner.inline_region(rule, into);
  for (size_t i = 0; i < node.operands.size(); ++i)
    if (moves(node.operands[i])) add(s, node.operands[i], emit(s).reshape(dx.at(i), dims(s, node.operands[i])), true);
}

} // namespace tl

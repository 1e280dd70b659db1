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

// A loop that goes backwards, while it is being made.
struct Reverse::BackwardLoop {
  // A cotangent that it carries: of what the loop carries, or of what it reads.
  struct Slot {
    ValueId original, param, initial, last;
    size_t position = SIZE_MAX;                      // among the carried; else it is from outside
    std::vector<std::pair<size_t, ValueId>> varying; // axes whose size the loop changes, and that size, carried too
    size_t result = 0;
  };

  Node node; // the loop
  Region tape;
  NodeId forward; // where its values are saved
  std::shared_ptr<Cloner> copies;
  std::vector<ValueId> bounds;
  Region body;
  Scope inside;
  ValueId turn;
  std::vector<Slot> slots;

  bool is_for() const { return node.op == Op::For; }
  size_t first_param() const { return is_for() ? 1 : 0; }
  size_t first_operand() const { return is_for() ? 3 : 0; }
};

// Which loop goes forwards, and how often, known before that loop if it is here.
void Reverse::find_forward(Scope& s, NodeId id, BackwardLoop& back) {
  back.inside.loop = std::make_unique<Loop>();
  Loop& loop = *back.inside.loop;
  back.forward = id;
  loop.turns = turns(f_[id]);
  loop.home = s.out;
  if (s.parent && !s.copies.count(id.index) && saves_inside(s, f_[id])) {
    loop.home = nullptr;
    back.forward = ran(*s.run, id);
    back.copies = s.run->copies;
  } else if (f_[id].op != Op::For) {
    std::tie(back.forward, back.copies) = counted(s, id);
  } else if (s.parent) { // else it ran here
    if (!s.copies.count(id.index)) run_again(s, id);
    std::tie(back.forward, back.copies) = s.copies[id.index];
  }
  back.node = f_[id];
  back.tape = back.node.regions.back();

  for (size_t i = 0; i < 3 && (back.is_for() || loop.home); ++i)
    back.bounds.push_back(loop.home ? f_[back.forward].operands[i] : primal(s, back.node.operands[i]));
  if (!back.is_for() && loop.home) {
    loop.count = back.bounds[1];
  } else if (back.is_for()) {
    Region before;
    Emit e(module_, f_, before, back.node.loc);
    loop.count = trip_count(e, back.bounds[0], back.bounds[1], back.bounds[2]);
    if (loop.home)
      insert_before(*loop.home, back.forward, before);
    else
      s.out->nodes.insert(s.out->nodes.end(), before.nodes.begin(), before.nodes.end());
  }
  // What the body depends on by what is carried.
  carry(f_, back.node, loop.carried);
}

void Reverse::open_body(Scope& s, BackwardLoop& back) {
  Scope& b = back.inside;
  b.parent = &s;
  b.out = &back.body;
  b.loc = back.node.loc;
  b.closed = true;
  own(b, back.tape, true);
  b.run = make_run(back.forward, f_[back.forward].regions.size() - 1, std::move(back.copies), b);
  if (!b.loop->count.valid()) number_turns(b);
  Emit inside = emit(b);
  back.turn = inside.builder().param(Type::scalar(DType::I64));
  b.loop->index = inside.sub(inside.sub(b.loop->count, inside.i64(1)), back.turn);
  if (b.loop->numbered) b.loop->number = inside.add(b.loop->number, b.loop->index);
  if (back.is_for()) {
    ValueId lo = back.bounds[0], step = back.bounds[2];
    bool plain = integer_of(f_, lo) == 0 && integer_of(f_, step) == 1;
    b.primal[back.tape.params[0].index] = plain ? b.loop->index : inside.add(lo, inside.mul(b.loop->index, step));
  }
}

// A cotangent that the loop carries; gives the parameter.
ValueId Reverse::add_slot(BackwardLoop& back, ValueId original, ValueId initial, size_t position) {
  Emit inside = emit(back.inside);
  Type t = type(initial);
  BackwardLoop::Slot made{original, {}, initial, {}, position, {}, 0};
  if (position != SIZE_MAX)
    for (size_t axis = 0; axis < t.dims.size(); ++axis) {
      Dim dim = type(original).dims[axis];
      if (dim.is_constant() || !back.inside.owned.count(dim.value.index)) continue;
      made.varying.emplace_back(axis, inside.builder().param(Type::scalar(DType::I64)));
      t.dims[axis] = Dim::of(made.varying.back().second);
    }
  made.param = inside.builder().param(std::move(t));
  guard(made.param);
  back.slots.push_back(made);
  return made.param;
}

// What is carried backwards: the cotangents of what the loop carries, and of what it reads.
void Reverse::carry_backwards(Scope& s, BackwardLoop& back) {
  Scope& b = back.inside;
  const Region& tape = back.tape;
  std::vector<std::pair<ValueId, ValueId>> seeds;
  for (size_t k = 0; k + back.first_param() < tape.params.size() && k < back.node.results.size(); ++k) {
    const ValueId param = tape.params[k + back.first_param()];
    if (!moves(param)) continue;
    ValueId initial = cotangent(s, back.node.results[k]);
    if (!initial.valid()) initial = zero_cotangent(s, back.node.results[k]);
    seeds.emplace_back(tape.yields[k], add_slot(back, param, initial, k));
  }
  Node reads = back.node;
  if (!back.is_for()) reads.regions = {back.node.regions[1]};
  for (ValueId v : moving_captures(reads))
    b.adjoint[v.index] = add_slot(back, v, cotangent_or_zero(s, v), SIZE_MAX);
  for (auto [yield, seed] : seeds)
    if (moves(yield)) add(b, yield, type(seed).is_list() ? seed : emit(b).reshape(seed, dims(b, yield)), true);
}

// What a turn makes of the cotangents; those to which nothing is added need not be carried.
void Reverse::close_body(BackwardLoop& back) {
  Scope& b = back.inside;
  b.loc = back.node.loc;
  std::vector<BackwardLoop::Slot> kept;
  for (BackwardLoop::Slot& one : back.slots) {
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
  back.slots = std::move(kept);
}

// The node; gives its results.
std::vector<ValueId> Reverse::make_backward(Scope& s, BackwardLoop& back) {
  std::vector<ValueId> params{back.turn}, operands;
  std::vector<Type> types;
  Emit e = emit(s), inside = emit(back.inside);
  operands = {e.i64(0), back.inside.loop->count, e.i64(1)};
  for (BackwardLoop::Slot& one : back.slots) {
    for (auto [axis, size] : one.varying) {
      params.push_back(size);
      operands.push_back(e.size(type(one.initial).dims[axis]));
      back.body.yields.push_back(inside.size(type(one.last).dims[axis]));
      types.push_back(Type::scalar(DType::I64));
    }
    one.result = types.size();
    params.push_back(one.param);
    operands.push_back(one.initial);
    back.body.yields.push_back(one.last);
    types.push_back(type(one.param));
  }
  back.body.params = params;
  for (size_t i = 0; i < params.size(); ++i)
    f_[params[i]].result = static_cast<uint32_t>(i);
  std::vector<Region> regions;
  regions.push_back(std::move(back.body));
  NodeId node = e.builder().node(Op::For, std::move(operands), std::move(types), {}, back.node.loc, std::move(regions));
  std::vector<ValueId> results = f_[node].results;
  for (const BackwardLoop::Slot& one : back.slots)
    for (size_t i = 0; i < one.varying.size(); ++i)
      f_[results[one.result]].type.dims[one.varying[i].first] = Dim::of(results[one.result - one.varying.size() + i]);
  return results;
}

void Reverse::reverse_loop(Scope& s, NodeId id) {
  s.loc = f_[id].loc;
  BackwardLoop back;
  find_forward(s, id, back);
  open_body(s, back);
  carry_backwards(s, back);
  sweep(back.inside, back.tape.nodes);
  close_body(back);
  const std::vector<ValueId> results = make_backward(s, back);
  for (const BackwardLoop::Slot& one : back.slots)
    if (one.position == SIZE_MAX) set(s, one.original, results[one.result], true);
  for (const BackwardLoop::Slot& one : back.slots)
    if (one.position != SIZE_MAX) {
      ValueId start = back.node.operands[back.first_operand() + one.position], d = results[one.result];
      if (moves(start)) add(s, start, type(d).is_list() ? d : emit(s).reshape(d, dims(s, start)), true);
    }
}

// Computed again, in a loop of one turn: what is in it is not taken for what has been computed before.
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
        // Something else than what came: what is carried unchanged would be taken for what is outside.
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

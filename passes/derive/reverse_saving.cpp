// Reverse mode: which values of an iteration are saved as it runs, which are computed again, and where they are kept.
#include "ir/graph/op_info.h"
#include "ir/graph/turns.h"
#include "passes/derive/reverse.h"
#include "passes/edit.h"
#include <algorithm>
#include <cmath>

namespace tl {
using namespace ir;

namespace {

constexpr double kUnknownSize = 512, kNeverAgain = 1e9;

bool is_dear(const Node& node) { return info(node.op).derivative == Derivative::Saved; }

bool has_tokens(const Function& f, const Node& node) {
  return std::any_of(node.results.begin(), node.results.end(),
                     [&](ValueId v) { return f[v].type.kind == Type::Kind::Token; });
}

bool is_read(const Node& node) {
  return node.op == Op::Index || node.op == Op::Slice || node.op == Op::Gather || node.op == Op::ListGet;
}

// Arithmetic on sizes, which may as well be done before the loop that it is in.
bool is_arithmetic(const Function& f, const Node& node) {
  return node.op == Op::Constant || (node.op == Op::Elementwise && f[node.results[0]].type == Type::scalar(DType::I64));
}

} // namespace

// ---- what runs forwards

ValueId Reverse::ran(const Run& run, ValueId original) { return run.copies ? (*run.copies)(original) : original; }

NodeId Reverse::ran(const Run& run, NodeId id) const {
  if (!run.copies) return id;
  for (ValueId v : f_[id].results)
    if (type(v).kind != Type::Kind::Token) return f_[(*run.copies)(v)].producer;
  throw std::logic_error("derive: a node without values is reversed");
}

std::unique_ptr<Reverse::Run> Reverse::make_run(NodeId forward, size_t side, std::shared_ptr<Cloner> copies,
                                                const Scope& of) const {
  auto run = std::make_unique<Run>();
  run->node = forward;
  run->side = side;
  run->copies = std::move(copies);
  for (uint32_t v : of.owned)
    if (!run->copies || run->copies->has({v})) run->inside.insert(ran(*run, ValueId{v}).index);
  return run;
}

// Values that depend on some of `from`, in the nodes and the regions inside.
void Reverse::depends(const Function& f, const std::vector<NodeId>& nodes, std::set<uint32_t>& from) {
  for (NodeId id : nodes) {
    const Node& node = f[id];
    bool any = std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId v) { return from.count(v.index); });
    if (node.op == Op::If) {
      for (const Region& region : node.regions)
        depends(f, region.nodes, from);
    } else if (node.op == Op::For || node.op == Op::While) {
      size_t first = node.op == Op::For ? 1 : 0, fixed = node.op == Op::For ? 3 : 0;
      const Region& body = node.regions.back();
      for (size_t k = first; k < body.params.size(); ++k)
        if (from.count(node.operands[k - first + fixed].index)) from.insert(body.params[k].index);
      depends(f, body.nodes, from);
    }
    if (!node.regions.empty() && !any)
      for (ValueId v : captures(f, node))
        any = any || from.count(v.index);
    if (any)
      for (ValueId v : node.results)
        from.insert(v.index);
  }
}

// What depends on what a loop carries, added to what else there is.
void Reverse::carry(const Function& f, const Node& loop, std::set<uint32_t>& from) {
  const Region& body = loop.regions.back();
  for (size_t i = loop.op == Op::For ? 1 : 0; i < body.params.size(); ++i)
    from.insert(body.params[i].index);
  depends(f, body.nodes, from);
}

// ---- the choice

double Reverse::weight(ValueId v) const {
  const Type& t = type(v);
  if (!t.is_tensor()) return kNeverAgain;
  double result = 1;
  for (const Dim& dim : t.dims)
    result *= dim.is_constant() ? static_cast<double>(dim.constant) : kUnknownSize;
  return result;
}

double Reverse::turns(const Node& loop) const {
  if (loop.op != Op::For) return kUnknownSize;
  auto lo = integer_of(f_, loop.operands[0]), hi = integer_of(f_, loop.operands[1]),
       step = integer_of(f_, loop.operands[2]);
  if (!lo || !hi || !step || *step == 0) return kUnknownSize;
  return static_cast<double>(std::max<int64_t>(1, ir::turns(*lo, *hi, *step)));
}

bool Reverse::is_carried(const Scope& s, ValueId v) const {
  const Scope* at = &s;
  while (!at->loop)
    at = at->parent;
  return at->loop->carried.count(v.index) > 0;
}

// What it takes, in elements saved for a turn of the loop around, to know the value in the reverse sweep.
double Reverse::cost(Scope& s, ValueId v) {
  if (s.primal.count(v.index)) return 0;
  if (!s.owned.count(v.index)) {
    if (s.loop && s.loop->home) return 0; // known once
    double once = cost(*s.parent, v);
    return s.loop ? once / s.loop->turns : once;
  }
  auto [at, fresh] = s.costs.try_emplace(v.index, weight(v));
  if (!fresh) return at->second;
  NodeId producer = f_[v].producer;
  if (!producer.valid()) return weight(v);
  const Node& node = f_[producer];
  if (is_dear(node) || is_effect(f_, node)) return weight(v);
  if (is_read(node) && is_carried(s, node.operands[0])) return weight(v);
  double again = 0;
  std::set<uint32_t> seen;
  for (ValueId operand : node.operands)
    if (seen.insert(operand.index).second) again += cost(s, operand);
  return s.costs[v.index] = std::min(again, weight(v));
}

// Do the sizes of a value change from turn to turn?
bool Reverse::varies(Scope& s, ValueId v) {
  const std::vector<Dim>& sizes = type(v).dims;
  return std::any_of(sizes.begin(), sizes.end(),
                     [&](const Dim& dim) { return !dim.is_constant() && s.owned.count(dim.value.index); });
}

bool Reverse::changes_device(const Node& loop) {
  if (!copies_between_devices_)
    copies_between_devices_ =
        std::any_of(f_.nodes.begin(), f_.nodes.end(), [](const Node& node) { return node.op == Op::Transfer; });
  bool found = false;
  for (const Region& region : loop.regions)
    if (*copies_between_devices_)
      walk(f_, region, [&](NodeId id) { found = found || f_[id].op == Op::Transfer || f_[id].op == Op::ListGet; });
  return found;
}

// What the turns of a loop need of each other, in elements for all turns: an estimate from above.
double Reverse::needs(const Region& body, const std::set<uint32_t>& carried) const {
  double result = 0;
  std::set<uint32_t> whole;
  for (NodeId id : body.nodes) {
    const Node& node = f_[id];
    if (node.op == Op::If) {
      result += needs(node.regions[0], carried) + needs(node.regions[1], carried);
    } else if (node.op == Op::For || node.op == Op::While) {
      result += turns(node) * needs(node.regions.back(), carried);
    } else if (is_dear(node) || (is_read(node) && carried.count(node.operands[0].index))) {
      for (ValueId v : node.results)
        if (type(v).is_tensor()) result += weight(v);
    } else if (node.op != Op::Update && node.op != Op::ListSet) {
      for (ValueId v : node.operands)
        if (carried.count(v.index) && !f_[v].producer.valid() && type(v).is_tensor() && whole.insert(v.index).second)
          result += weight(v);
    }
  }
  return result;
}

// Of a loop in a loop: is it less to save what its turns need while it runs than to save what it starts with, and to
// run it again from there?
bool Reverse::saves_inside(Scope& s, const Node& loop) {
  if (!s.run) return false;
  // What happens once must not happen in a run that only counts.
  if (loop.op == Op::While && has_tokens(f_, f_[levels(s).back()->run->node])) return false;
  std::set<uint32_t> carried, seen;
  double start = 0;
  auto know = [&](ValueId v) {
    if (type(v).kind == Type::Kind::Token || !seen.insert(v.index).second) return;
    double c = cost(s, v);
    start += c;
    if (c > 0) carried.insert(v.index);
  };
  for (ValueId v : loop.operands)
    know(v);
  for (ValueId v : captures(f_, loop))
    know(v);
  if (start == 0) return false;
  carry(f_, loop, carried);
  return start > turns(loop) * needs(loop.regions.back(), carried);
}

// An original of this scope's own tape, in the place where the sweep is.
ValueId Reverse::materialize(Scope& s, ValueId v) {
  NodeId producer = f_[v].producer;
  if (s.run) {
    bool must = !producer.valid();
    bool save_it = must;
    bool part = false; // of something larger that would have to be saved otherwise
    if (!must) {
      const Node& node = f_[producer];
      must = is_effect(f_, node) && node.op != Op::Wait && node.op != Op::Debug;
      bool read = is_read(node) && is_carried(s, node.operands[0]);
      part = read && type(v).is_tensor() && weight(node.operands[0]) > weight(v);
      save_it = must || is_dear(node) || read || cost(s, v) >= weight(v);
      if (node.op == Op::Constant || node.op == Op::ConstTensor || node.op == Op::ConstStr) save_it = false;
    }
    if (save_it && (type(v).is_tensor() ? must || part || !varies(s, v) : must && type(v).is_list())) {
      ValueId known = save(s, ran(*s.run, v));
      return s.primal[v.index] = type(v).is_list() ? known : emit(s).reshape(known, dims(s, v));
    }
    if (must)
      throw NotDifferentiable("the derivative of a loop that carries a text which it depends on is not supported",
                              f_[s.run->node].loc);
  }
  if (!producer.valid()) throw std::logic_error("derive: a parameter is not known");
  run_again(s, producer);
  return s.primal.at(v.index);
}

// ---- where it is kept

void Reverse::insert_before(Region& region, NodeId node, const Region& nodes) {
  auto at = std::find(region.nodes.begin(), region.nodes.end(), node);
  if (at == region.nodes.end()) throw std::logic_error("derive: a loop is not where it was put");
  region.nodes.insert(at, nodes.nodes.begin(), nodes.nodes.end());
}

// A value of the forward run as it is known before the outermost of `count` levels: itself, or arithmetic done again
// there (with e). Invalid: it is not.
ValueId Reverse::outside(const Levels& levels, size_t count, ValueId v, Emit* e) const {
  auto inside = [&](const Scope* level) { return level->run->inside.count(v.index) > 0; };
  if (std::none_of(levels.begin(), levels.begin() + static_cast<long>(count), inside)) return v;
  NodeId producer = f_[v].producer;
  if (!producer.valid() || !is_arithmetic(f_, f_[producer])) return {};
  const Node node = f_[producer];
  std::vector<ValueId> operands;
  for (ValueId operand : node.operands) {
    operands.push_back(outside(levels, count, operand, e));
    if (!operands.back().valid()) return {};
  }
  return e ? e->builder().one(node.op, std::move(operands), Type(type(v)), node.attrs, node.loc) : v;
}

Reverse::Levels Reverse::levels(Scope& s) const {
  Levels result{&s};
  while (!result.back()->loop || !result.back()->loop->home)
    result.push_back(result.back()->parent);
  return result;
}

// The innermost `while` of numbered turns among the levels; count: there is none.
size_t Reverse::innermost_numbered(const Levels& levels, size_t count) {
  size_t k = 0;
  while (k < count && !(levels[k]->loop && levels[k]->loop->numbered))
    ++k;
  return k;
}

// Are the sizes of the value, and how often the loops among the levels turn, known before the outermost one?
bool Reverse::is_outside(const Levels& levels, size_t count, ValueId kept) const {
  for (const Dim& dim : type(kept).dims)
    if (!dim.is_constant() && !outside(levels, count, dim.value, nullptr).valid()) return false;
  size_t numbered = innermost_numbered(levels, count);
  if (numbered < count && count < levels.size()) return false; // there is a number of turns for all levels alone
  for (size_t k = 0; k < numbered; ++k)
    for (size_t i = 0; levels[k]->loop && i < 3; ++i)
      if (!outside(levels, count, f_[levels[k]->run->node].operands[i], nullptr).valid()) return false;
  return true;
}

// How often a loop turns.
ValueId Reverse::trip_count(Emit& e, ValueId first, ValueId last, ValueId by) const {
  const auto lo = integer_of(f_, first), hi = integer_of(f_, last), step = integer_of(f_, by);
  if (lo && hi && step && *step != 0) return e.i64(ir::turns(*lo, *hi, *step));
  auto emit = [&](ScalarOp op, std::vector<ValueId> of) { return e.op(op, std::move(of)); };
  auto constant = [&](int64_t value) { return e.i64(value); };
  return ir::turns(emit, constant, first, last, by, lo, step);
}

// How a value goes through the forward nodes of some levels, from before the outermost to behind it.
struct Reverse::Thread {
  std::function<NodeId(const Scope&)> node; // of a level
  bool wants_turn = false;                  // else `turn` says nothing
  // In the innermost region, at its end, and in the sides of branches that are not taken.
  std::function<ValueId(Emit&, ValueId incoming, const std::vector<ValueId>& turn)> inside;
  std::function<ValueId(Emit&, ValueId incoming)> beside;
};

// Saves a value of the forward run in each turn (kept: as it is known there); what it was in the turn that the sweep is
// at. It is in a tensor with an axis for each of the loops around, as far as sizes are known before them, and the
// tensors, if they are several, in lists with an element for each turn. One axis is for all turns of a `while` and of
// the loops around it.
ValueId Reverse::save(Scope& s, ValueId kept) {
  const Levels all = levels(s);
  // Rows of one tensor are on one device, elements of a list each on its own.
  bool in_rows = type(kept).is_tensor() && (type(kept).dims.empty() || !changes_device(f_[all.back()->run->node]));
  size_t count = in_rows ? all.size() : 0;
  while (count > 0 && !(all[count - 1]->loop && is_outside(all, count, kept)))
    --count;
  const bool in_list = count == 0;
  if (in_list)
    while (!all[count++]->loop) {
    }
  Scope& top = *all[count - 1];
  LocId loc = f_[top.run->node].loc;
  const size_t numbered = in_list ? count : innermost_numbered(all, count);

  Region before;
  Emit start(module_, f_, before, loc);
  Type stack = type(kept);
  if (in_list) {
    for (Dim& dim : stack.dims)
      dim = Dim::of(0);
    stack = Type::list({stack});
  } else {
    std::vector<Dim> sizes;
    if (numbered < count) sizes.push_back(Dim::of(all[numbered]->loop->total));
    for (size_t k = numbered; k-- > 0;)
      if (all[k]->loop) {
        std::vector<ValueId> bounds;
        for (size_t i = 0; i < 3; ++i)
          bounds.push_back(outside(all, count, f_[all[k]->run->node].operands[i], &start));
        ValueId turns = trip_count(start, bounds[0], bounds[1], bounds[2]);
        auto constant = integer_of(f_, turns);
        sizes.push_back(constant ? Dim::of(*constant) : Dim::of(turns));
      }
    for (const Dim& dim : stack.dims)
      sizes.push_back(dim.is_constant() ? dim : Dim::of(outside(all, count, dim.value, &start)));
    stack.dims = std::move(sizes);
  }
  ValueId empty = in_list ? start.list_of(stack, {}) : start.zeros(stack);
  if (count < all.size())
    for (NodeId id : before.nodes)
      for (ValueId v : f_[id].results)
        all[count]->run->inside.insert(v.index);
  insert_before(top.loop->home ? *top.loop->home : f_[all[count]->run->node].regions[all[count]->run->side],
                top.run->node, before);
  Thread how;
  how.node = [](const Scope& level) { return level.run->node; };
  how.wants_turn = true;
  how.inside = [&](Emit& e, ValueId incoming, const std::vector<ValueId>& turn) {
    return in_list ? e.append(incoming, {kept}) : e.with_at(incoming, turn, kept, UpdateMode::Set);
  };
  how.beside = [&](Emit& e, ValueId incoming) {
    if (!in_list) return incoming;
    Type nothing = stack.elements[0]; // an element for each turn, also where this side is not taken
    return e.append(incoming, {nothing.is_list() ? e.list_of(nothing, {}) : e.zeros(nothing)});
  };
  ValueId known = thread(all, count - 1, empty, {}, how);
  if (count < all.size()) known = save(*all[count], known);
  Emit e = emit(s);
  if (in_list) return e.element(known, top.loop->index)[0];
  std::vector<ValueId> turn;
  if (numbered < count) turn.push_back(all[numbered]->loop->number);
  for (size_t k = numbered; k-- > 0;)
    if (all[k]->loop) turn.push_back(all[k]->loop->index);
  return e.at(known, turn);
}

// Has the forward node of a level carry a value, and those inside of it down to level 0. `turn`: of the loops so far.
// Gives the value behind the node.
ValueId Reverse::thread(const Levels& levels, size_t level, ValueId incoming, std::vector<ValueId> turn,
                        const Thread& how) {
  Scope& s = *levels[level];
  const NodeId id = how.node(s);
  const Type carried = type(incoming);
  const size_t side = s.run->side;
  LocId loc = f_[id].loc;
  ValueId inner = incoming;
  if (s.loop) {
    Region body = std::move(f_[id].regions[side]);
    inner = Builder(module_, f_, body).param(Type(carried));
    if (!how.wants_turn) {
    } else if (f_[id].op == Op::While) {
      turn = {s.loop->forward_number};
    } else {
      if (!s.loop->forward_index.valid()) {
        ValueId i = body.params[0], lo = f_[id].operands[0], step = f_[id].operands[2];
        Region first;
        Emit e(module_, f_, first, loc);
        // (i - lo) / step, which is whole; without the difference, which may be no i64.
        const bool by_one = integer_of(f_, step) == 1;
        auto steps = [&](ValueId x) { return by_one ? x : e.op(ScalarOp::FloorDiv, {x, step}); };
        s.loop->forward_index = integer_of(f_, lo) == 0 ? steps(i) : e.sub(steps(i), steps(lo));
        body.nodes.insert(body.nodes.begin(), first.nodes.begin(), first.nodes.end());
      }
      turn.push_back(s.loop->forward_index);
    }
    f_[id].regions[side] = std::move(body);
  }
  ValueId result_inside;
  if (level > 0) {
    result_inside = thread(levels, level - 1, inner, turn, how);
  } else {
    Region body = std::move(f_[id].regions[side]);
    Emit e(module_, f_, body, loc);
    result_inside = how.inside(e, inner, turn);
    f_[id].regions[side] = std::move(body);
  }
  f_[id].regions[side].yields.push_back(result_inside);
  if (s.loop) f_[id].operands.push_back(incoming);
  if (!s.loop || f_[id].op == Op::While) {
    Region other = std::move(f_[id].regions[1 - side]);
    Emit e(module_, f_, other, loc);
    if (s.loop)
      (void)e.builder().param(Type(carried));
    else
      other.yields.push_back(how.beside(e, incoming));
    f_[id].regions[1 - side] = std::move(other);
  }
  ValueId result{static_cast<uint32_t>(f_.values.size())};
  f_.values.push_back({carried, id, static_cast<uint32_t>(f_[id].results.size()), {}});
  f_[id].results.push_back(result);
  return result;
}

// Of a `while` in other loops, whose body's scope this is: numbers its turns, and counts them before.
void Reverse::number_turns(Scope& of) {
  const Levels all = levels(of);
  Scope& root = *all.back();
  const NodeId id = of.run->node, outermost = root.run->node;
  LocId loc = f_[outermost].loc;
  auto one_more = [](Emit& e, ValueId incoming, const std::vector<ValueId>&) { return e.add(incoming, e.i64(1)); };
  auto unchanged = [](Emit&, ValueId incoming) { return incoming; };
  Region before;
  ValueId zero = Emit(module_, f_, before, loc).i64(0);
  insert_before(*root.loop->home, root.loop->counting.valid() ? root.loop->counting : outermost, before);
  if (!root.loop->counting.valid()) {
    Region copy;
    Builder into(module_, f_, copy);
    root.loop->counting_copies = std::make_shared<Cloner>(module_, f_, f_);
    root.loop->counting = root.loop->counting_copies->clone(outermost, into);
    insert_before(*root.loop->home, outermost, copy);
  }
  Thread count;
  count.node = [&](const Scope& level) {
    return f_[(*root.loop->counting_copies)(f_[level.run->node].results[0])].producer;
  };
  count.inside = one_more;
  count.beside = unchanged;
  of.loop->total = thread(all, all.size() - 1, zero, {}, count);
  Thread number;
  number.node = [](const Scope& level) { return level.run->node; };
  number.inside = one_more;
  number.beside = unchanged;
  (void)thread(all, all.size() - 1, zero, {}, number);
  of.loop->forward_number = f_[id].regions[1].params.back();
  of.loop->numbered = true;
  Scope& around = *of.parent;
  ValueId first = save(around, f_[id].operands.back()), end = save(around, f_[id].results.back());
  of.loop->count = emit(around).sub(end, first);
  of.loop->number = first; // of the first turn
}

} // namespace tl

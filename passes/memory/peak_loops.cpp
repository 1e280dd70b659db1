// Loops whose turns cannot be counted out: from what one turn changes, the state after any number of turns, which is
// then assumed, executed for one turn more, and right if that changes it as one more turn would. So what a list holds
// that grows in a loop is a formula in the number of turns, and that is one in the sizes, or a name.
#include "passes/memory/peak_growth.h"
#include "passes/memory/peak_machine.h"
#include <algorithm>

namespace tl::peak {
namespace {

constexpr int kMostShifts = 2;   // first turns that may differ from the others
constexpr int kPatientTries = 3; // after which numbers that were guessed wrong are given up
constexpr int kMostTries = 8;

} // namespace

// The innermost loop that an instruction leaves by jumping there; nothing: none.
std::optional<std::pair<uint32_t, uint32_t>> Machine::loop_left(uint32_t function, size_t at, uint32_t target) {
  auto [loops, fresh] = loops_.try_emplace(function);
  const std::vector<Instruction>& code = program_.functions[function].code;
  for (uint32_t k = 0; fresh && k < code.size(); ++k)
    if ((code[k].op == BcOp::Jump || code[k].op == BcOp::JumpIfNot) && code[k].target <= k)
      loops->second.emplace_back(code[k].target, k);
  std::optional<std::pair<uint32_t, uint32_t>> inner;
  for (const auto& [head, end] : loops->second)
    if (head <= at && at <= end && target > end && (!inner || head > inner->first)) inner = {head, end};
  return inner;
}

// Sums of what is linear in the number of a turn, over the turns before `turn`. Nothing: it is not linear.
std::optional<Size> Machine::sum_over_turns(const Size& size, AtomId turn) {
  Size sum;
  const Size t = Size::of(turn);
  for (const Size::Term& term : size.terms) {
    Size rest(term.coefficient);
    int degree = 0;
    for (AtomId id : term.atoms) {
      if (id == turn) {
        ++degree;
        continue;
      }
      if (mentions(Size::of(id), turn)) return std::nullopt;
      rest = rest * Size::of(id);
    }
    if (degree > 1) return std::nullopt;
    if (degree == 0)
      sum = sum + rest * t;
    else if (term.coefficient % 2 == 0)
      sum = sum + *divide_exactly(rest, Size(2)) * (t * t - t);
    else
      sum = sum + rest * result_.atoms.floor_div(t * t - t, Size(2));
  }
  return sum;
}

AtomId Machine::new_turn() {
  const AtomId turn = result_.atoms.add({AtomKind::Fresh, "", {}, true, {}, {}});
  depends_on_turns_.resize(result_.atoms.size(), -1);
  depends_on_turns_[turn.index] = 1;
  return turn;
}

bool Machine::depends_on_turns(AtomId id) {
  if (depends_on_turns_.size() <= id.index) depends_on_turns_.resize(result_.atoms.size(), -1);
  if (depends_on_turns_[id.index] < 0) {
    bool depends = false;
    const SizeAtom atom = result_.atoms[id];
    for (const Size* size : {&atom.a, &atom.b})
      for (const Size::Term& term : size->terms)
        for (AtomId inner : term.atoms)
          depends = depends || depends_on_turns(inner);
    depends_on_turns_[id.index] = depends ? 1 : 0;
  }
  return depends_on_turns_[id.index] > 0;
}

bool Machine::mentions(const Size& size, AtomId turn) {
  for (const Size::Term& term : size.terms)
    for (AtomId id : term.atoms) {
      if (!depends_on_turns(id)) continue;
      std::vector<AtomId> leaves;
      result_.atoms.collect(Size::of(id), leaves);
      if (std::find(leaves.begin(), leaves.end(), turn) != leaves.end()) return true;
    }
  return false;
}

Size Machine::with_turn(const Size& size, AtomId turn, const Size& number) {
  Size with, without;
  for (const Size::Term& term : size.terms) {
    const bool depends =
        std::any_of(term.atoms.begin(), term.atoms.end(), [&](AtomId id) { return depends_on_turns(id); });
    (depends ? with : without).terms.push_back(term);
  }
  if (with.terms.empty()) return size;
  return without + result_.atoms.substitute(with, {{turn, number}});
}

// A bound of what is less in some turns, as the last batch is shorter: without what is taken away from it then.
// Nothing: it changes otherwise.
std::optional<Size> Machine::most_of_turns(const Size& size, AtomId turn) {
  for (bool turned : {false, true}) { // -positive(e) = -e - positive(-e)
    Size most;
    for (const Size::Term& term : size.terms) {
      Size product(term.coefficient);
      for (AtomId id : term.atoms) {
        const SizeAtom atom = result_.atoms[id];
        const bool less = term.coefficient < 0 && atom.kind == AtomKind::Positive && mentions(Size::of(id), turn);
        product = product * (!less ? Size::of(id) : turned ? atom.a : Size());
      }
      most = most + product;
    }
    if (!mentions(most, turn)) return most;
  }
  return std::nullopt;
}

void Machine::note_bound() {
  for (auto& device : devices_)
    device.at_most = true;
}

// How many turns more there are from the state of which `test` tells, at whose turn `turn` is 0, until it fails.
Size Machine::turns_of(const Instruction& i, const Comparison* test, AtomId turn, int before) {
  if (test && (test->op == ScalarOp::Lt || test->op == ScalarOp::Le)) {
    const Size left = test->b - test->a + Size(test->op == ScalarOp::Le ? 1 : 0); // goes on while this is positive
    const Size first = with_turn(left, turn, Size(0));
    const Size step = first - with_turn(left, turn, Size(1));
    if (step.is_constant() && step.constant() > 0 && left == first - step * Size::of(turn)) {
      const Size count = result_.atoms.floor_div(first + step - Size(1), step);
      return before ? count : result_.atoms.positive(count);
    }
  }
  auto [name, fresh] = found_.try_emplace({&i, -1, 0});
  if (fresh) {
    name->second = result_.atoms.add({AtomKind::Fresh, "", {}, true, {}, {}});
    explained_[name->second] = {"", "how many turns this loop takes", loc_};
  }
  return Size::of(name->second) - Size(before);
}

// `size`, which may mention turns of loops, where these are the last ones, or where that makes less of it the first.
std::vector<Size> Machine::at_last_turns(const Size& size) {
  std::vector<Size> result{size};
  const bool depends = std::any_of(size.terms.begin(), size.terms.end(), [&](const Size::Term& term) {
    return std::any_of(term.atoms.begin(), term.atoms.end(), [&](AtomId id) { return depends_on_turns(id); });
  });
  if (!depends) return result;
  for (auto turns = turns_.rbegin(); turns != turns_.rend(); ++turns) {
    std::vector<Size> next;
    for (Size each : result) {
      if (!mentions(each, turns->first)) {
        next.push_back(each);
        continue;
      }
      // What is a compound of the turn, and what is a product with it.
      Size linear, compound;
      for (const Size::Term& term : each.terms) {
        Size product(term.coefficient);
        bool inside = false;
        for (AtomId id : term.atoms) {
          product = product * Size::of(id);
          inside = inside || (id != turns->first && mentions(Size::of(id), turns->first));
        }
        (inside ? compound : linear) = (inside ? compound : linear) + product;
      }
      if (!compound.terms.empty())
        for (const Size& part : {compound, each})
          if (auto most = most_of_turns(part, turns->first)) {
            each = part == each ? *most : linear + *most;
            note_bound();
            break;
          }
      next.push_back(with_turn(each, turns->first, turns->second - Size(1)));
      const bool falls = std::any_of(each.terms.begin(), each.terms.end(), [&](const Size::Term& term) {
        return term.coefficient < 0 &&
               std::find(term.atoms.begin(), term.atoms.end(), turns->first) != term.atoms.end();
      });
      if (falls) next.push_back(with_turn(each, turns->first, Size(0)));
    }
    result = std::move(next);
  }
  return result;
}

// Where the program goes on at `target`, loops are left: their turns have ended.
void Machine::leave_loops(State& state, std::optional<uint32_t> target) {
  auto& loops = state.top().loops;
  for (size_t k = loops.size(); k-- > 0;) {
    if (target && loops[k].head <= *target && *target <= loops[k].end) continue;
    if (!loops[k].cycle) continue;
    if (loops[k].cycle->turn.valid()) {
      const AtomId turn = loops[k].cycle->turn;
      const Size& count = turns_.at(turn);
      change_sizes(state, [&](const Size& size) { return with_turn(size, turn, count); });
    }
    loops.erase(loops.begin() + static_cast<long>(k));
  }
}

// What a loop's turns have changed since they are taken together, and what is assumed of any number of turns next.
struct Machine::Guess {
  State older, newer; // brought into the same form
  Fold fold;
  std::vector<Quantity> then, now;
  bool running = false; // one turn, from what was assumed; else the first ones
  int turns = 1;        // that lie between the two states
  AtomId turn;          // of the next try
  std::vector<Size> next;
  std::map<size_t, AtomId> given_up;
  std::set<size_t> raised;
  bool right = false; // what was assumed
  bool grows = false; // something that holds memory
  bool bound = false; // `next` has more than there is
};

Turns& Machine::find_loop(uint32_t head, uint32_t end) {
  auto& loops = state_.top().loops;
  auto loop = std::find_if(loops.begin(), loops.end(), [&](const Turns& l) { return l.head == head; });
  if (loop == loops.end()) loop = loops.insert(loop, Turns{head, end, 0, true, nullptr, nullptr});
  return *loop;
}

// From here on the turns of the loop are taken together.
void Machine::begin_cycle(Turns& loop, size_t at, int shifts) {
  auto cycle = std::make_shared<Cycle>();
  cycle->test = at;
  cycle->devices = devices_;
  cycle->others = others_.size();
  cycle->shifts = shifts;
  cycle->turns = loop.count;
  cycle->base = std::make_shared<State>(state_);
  for (const Frame& frame : state_.frames)
    steps_ += frame.slots.size() / 16; // what the copy costs
  loop.cycle = std::move(cycle);
}

// Brings the state at the cycle's base and the one of now into the same form. False: they are not alike.
bool Machine::fold_turns(const Cycle& cycle, Guess& guess) const {
  bool alike = false;
  for (bool shifted : {false, true}) {
    if (alike) break;
    guess.older = *cycle.base, guess.newer = state_;
    guess.fold = {shifted, false, false};
    alike = fold_growth(guess.older, guess.newer, guess.fold);
  }
  return alike;
}

// The name of a number that changes in no simple way.
Size Machine::give_up(size_t quantity, Guess& guess) {
  auto [name, fresh] = found_.try_emplace({instruction_, static_cast<int>(quantity), -1});
  if (fresh) {
    name->second = result_.atoms.add({AtomKind::Fresh, "", {}, true, {}, {}});
    explained_[name->second] = {"", "a number that changes from turn to turn of this loop", loc_};
  }
  guess.given_up[quantity] = name->second;
  return Size::of(name->second);
}

// What is assumed next of each quantity. False: the loop's first turns differ from the others.
bool Machine::guess_quantities(const Cycle& cycle, Guess& guess) {
  const std::vector<Quantity>&then = guess.then, &now = guess.now;
  const bool running = guess.running;
  const Size t = Size::of(guess.turn);
  bool numbers_right = guess.turns == 1; // on which what holds memory may depend
  for (size_t k = 0; running && k < then.size(); ++k)
    if (!then[k].holds_memory && !guess.given_up.contains(k))
      numbers_right =
          numbers_right && now[k].size == with_turn(then[k].size, cycle.turn, Size::of(cycle.turn) + Size(1));
  for (size_t k = 0; k < then.size(); ++k) {
    const Size was = running ? with_turn(then[k].size, cycle.turn, t) : then[k].size;
    const Size is = running ? with_turn(now[k].size, cycle.turn, t) : now[k].size;
    const Size expected = running ? with_turn(was, guess.turn, t + Size(1)) : was;
    const Size first = running ? with_turn(was, guess.turn, Size(0)) : was;
    guess.grows = guess.grows || (then[k].holds_memory && was != is);
    if (guess.given_up.contains(k) || is == expected) {
      guess.next.push_back(running ? was : first);
      continue;
    }
    const bool less = running && now[k].holds_memory && covers(expected, is);
    if (less && guess.raised.contains(k)) { // a way on which less is added
      guess.next.push_back(was);
      continue;
    }
    guess.right = false;
    if (now[k].holds_memory && !numbers_right) {
      guess.next.push_back(running ? was : first);
      continue;
    }
    Size step = is - was;
    if (guess.turns > 1) step = divide_exactly(step, Size(guess.turns)).value_or(step);
    // Not: one name in the place of another.
    const bool simple = step.is_constant() || first.is(0) || covers(step, Size(0));
    if (!simple && !running && now[k].holds_memory) return false;
    std::optional<Size> sum;
    if (simple) sum = sum_over_turns(step, guess.turn);
    if (!sum && now[k].holds_memory)
      if (auto most = most_of_turns(step, guess.turn)) {
        sum = sum_over_turns(*most, guess.turn);
        guess.raised.insert(k);
        guess.bound = true;
      }
    if (!less) guess.raised.insert(k);
    const bool keeps = sum && (cycle.tries < kPatientTries || now[k].holds_memory);
    guess.next.push_back(keeps ? first + *sum : give_up(k, guess));
    if (!keeps) stands_for(guess.given_up.at(k), was, is);
  }
  return true;
}

// Workspaces of the turn that are not assumed yet.
void Machine::add_scratches(Guess& guess) {
  for (size_t d = 0; d < guess.older.memories.size(); ++d)
    for (const Size& scratch : guess.newer.memories[d].scratch)
      for (const Size& most : at_last_turns(scratch)) {
        auto& known = guess.older.memories[d].scratch;
        if (std::any_of(known.begin(), known.end(), [&](const Size& size) { return covers(size, most); })) continue;
        add_largest(known, most);
        guess.right = false;
      }
}

// At a test that leaves the loop and is not decided. False: this way ends, since what comes now is known.
bool Machine::turn_together(const Instruction& i, size_t at, uint32_t head, uint32_t end) {
  Turns& loop = find_loop(head, end);
  clear_dead(head, at);
  if (!loop.cycle) return begin_cycle(loop, at, 0), true;
  const std::shared_ptr<const Cycle> cycle = loop.cycle;
  if (cycle->test != at || cycle->shifts > kMostShifts) return true;
  Guess guess;
  guess.running = cycle->turn.valid();
  if (!fold_turns(*cycle, guess)) {
    if (!guess.running) return begin_cycle(loop, at, cycle->shifts + 1), true;
    missing(kGrows);
    return false;
  }
  guess.then = quantities(guess.older), guess.now = quantities(guess.newer);
  const bool same_count = guess.then.size() == cycle->count;
  if (same_count) guess.given_up = cycle->given_up, guess.raised = cycle->raised;
  guess.turn = new_turn();
  guess.turns = guess.running ? 1 : std::max(1, loop.count - cycle->turns);
  guess.right = guess.running && !guess.fold.changed && same_count;
  guess.grows = guess.fold.grown;
  if (!guess_quantities(*cycle, guess)) return begin_cycle(loop, at, cycle->shifts + 1), true;
  if (!guess.running && !guess.grows) return true; // what changes beside that becomes a name (turn)
  add_scratches(guess);
  if (guess.right) return false;
  if (cycle->tries >= kMostTries) {
    missing(kGrows);
    return false;
  }

  // Back to where this began, now with any number of turns.
  if (guess.running)
    change_sizes(guess.older, [&](const Size& size) { return with_turn(size, cycle->turn, Size::of(guess.turn)); });
  put_quantities(guess.older, guess.next);
  auto again = std::make_shared<Cycle>(*cycle);
  again->turn = guess.turn;
  again->given_up = std::move(guess.given_up);
  again->raised = std::move(guess.raised);
  again->count = guess.then.size();
  ++again->tries;
  devices_ = cycle->devices;
  if (guess.bound) note_bound();
  others_.resize(cycle->others);
  state_ = guess.older;
  again->base = std::make_shared<State>(std::move(guess.older));
  find_loop(head, end).cycle = again;
  turns_[guess.turn] = turns_of(i, in(i, 0).test.get(), guess.turn, cycle->shifts);
  return true;
}

} // namespace tl::peak

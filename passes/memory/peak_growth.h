// What a turn of a loop changes in the memory of a symbolic execution: lists that have become longer, and sizes that
// are others. Internal to passes/memory.
#pragma once
#include "passes/memory/peak_state.h"

namespace tl::peak {

// One of a state's sizes. States that are alike have the same of them, in the same order.
struct Quantity {
  Size size;
  bool holds_memory = false; // a tensor's size, how many elements a list has, the bytes of a block
};
std::vector<Quantity> quantities(const State& state);
void put_quantities(State& state, const std::vector<Size>& sizes);

// Puts what `change` makes of it in the place of each size of the state, also where only what it looks like is told.
void change_sizes(State& state, const std::function<Size(const Size&)>& change);

// Brings two states at the same instruction, one turn apart, into the same form: elements that a list has got since
// join those that are alike (Elements::many), of which `older` then has none, or as many as it had. What is known of a
// scalar in one of them and is otherwise in the other is given up in `older`, and `changed` says so. `grown`: a list
// has become longer. `shifted`: how elements stand for each other: the first of each list, or the last as many as were
// added for the last, as where a variable holds the element that was added last. False: they are not alike, and both
// are spoilt.
struct Fold {
  bool shifted = false;
  bool changed = false, grown = false;
};
bool fold_growth(State& older, State& newer, Fold& fold);

} // namespace tl::peak

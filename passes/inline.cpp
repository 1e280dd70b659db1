// Replaces calls by the bodies of their functions.
//
// Needs: nothing.
// Gives: no call but those into a cycle of functions (recursion) and those beyond the size limit; only functions that
//        can be reached from the entry. Locations and error sites of inlined nodes say through which call they came.
#include "ir/rewrite.h"
#include "passes/edit.h"
#include "passes/passes.h"
#include <map>

namespace tl {
using namespace ir;
namespace {

// A function does not grow beyond this many nodes by inlining: chains of functions that call each other twice double at
// every step.
constexpr size_t kNodeLimit = 400'000;

std::vector<uint32_t> callees(const Function& function) {
  std::vector<uint32_t> result;
  walk(function, function.body, [&](NodeId id) {
    if (function[id].op == Op::Call) result.push_back(function[id].attrs.index);
  });
  return result;
}

// Tarjan's components, callees first. `recursive`: in a cycle.
struct Order {
  std::vector<uint32_t> functions;
  std::vector<bool> recursive;
};

class Components {
public:
  explicit Components(const Module& module) : module_(module), state_(module.functions.size()) {
    order_.recursive.assign(module.functions.size(), false);
  }
  Order run() {
    visit(module_.entry);
    return std::move(order_);
  }

private:
  struct State {
    uint32_t index = 0, low = 0;
    bool on_stack = false;
  };
  void visit(uint32_t f) {
    state_[f] = {++next_, next_, true};
    stack_.push_back(f);
    for (uint32_t callee : callees(module_.functions[f])) {
      if (callee == f) order_.recursive[f] = true;
      if (!state_[callee].index) {
        visit(callee);
        state_[f].low = std::min(state_[f].low, state_[callee].low);
      } else if (state_[callee].on_stack) {
        state_[f].low = std::min(state_[f].low, state_[callee].index);
      }
    }
    if (state_[f].low != state_[f].index) return;
    bool several = stack_.back() != f;
    for (;;) {
      uint32_t member = stack_.back();
      stack_.pop_back();
      state_[member].on_stack = false;
      order_.functions.push_back(member);
      if (several) order_.recursive[member] = true;
      if (member == f) return;
    }
  }

  const Module& module_;
  std::vector<State> state_;
  std::vector<uint32_t> stack_;
  uint32_t next_ = 0;
  Order order_;
};

// The places and error sites of one function as seen through one call.
class Relocation {
public:
  Relocation(Module& module, LocId call) : module_(module), call_(call) {}

  LocId operator()(LocId loc) {
    if (loc.index == 0) return call_;
    auto [at, fresh] = locs_.try_emplace(loc.index, LocId{});
    if (!fresh) return at->second;
    Location copy = module_.locations[loc.index];
    copy.caller = copy.caller.index == 0 ? call_ : (*this)(copy.caller);
    LocId result{static_cast<uint32_t>(module_.locations.size())};
    module_.locations.push_back(std::move(copy));
    return locs_[loc.index] = result;
  }
  uint32_t site(uint32_t index) {
    auto [at, fresh] = sites_.try_emplace(index, 0);
    if (!fresh) return at->second;
    ErrorSite copy = module_.sites[index];
    copy.loc = (*this)(copy.loc);
    at->second = static_cast<uint32_t>(module_.sites.size());
    module_.sites.push_back(std::move(copy));
    return at->second;
  }

private:
  Module& module_;
  LocId call_;
  std::map<uint32_t, LocId> locs_;
  std::map<uint32_t, uint32_t> sites_;
};

void inline_into(Module& module, Function& function, const Order& order) {
  Edit edit(module, function);
  edit.visit = [&](NodeId id) {
    const Node& node = function[id];
    if (node.op != Op::Call || order.recursive[node.attrs.index]) return Edit::Keep;
    const Function& callee = module.functions[node.attrs.index];
    if (function.nodes.size() + callee.nodes.size() > kNodeLimit) return Edit::Keep;
    std::vector<ValueId> arguments = node.operands, results = node.results;
    Relocation relocation(module, node.loc);
    Cloner cloner(module, callee, function);
    cloner.relocate = [&](LocId loc) { return relocation(loc); };
    cloner.hook = [&](NodeId inner, Builder& into) {
      Op op = callee[inner].op;
      if (op != Op::Guard && op != Op::Assert && op != Op::Linalg) return false;
      NodeId copy = cloner.clone(inner, into);
      into.function()[copy].attrs.index = relocation.site(callee[inner].attrs.index);
      return true;
    };
    for (size_t i = 0; i < arguments.size(); ++i)
      cloner.map(callee.body.params[i], arguments[i]);
    Region body;
    Builder into(module, function, body);
    std::vector<ValueId> yields = cloner.inline_region(callee.body, into);
    for (NodeId inner : body.nodes)
      edit.keep(inner);
    for (size_t i = 0; i < results.size(); ++i)
      edit.replace(results[i], yields[i]);
    return Edit::Drop;
  };
  edit.run();
}

} // namespace

Module inline_calls(Module module) {
  Order order = Components(module).run();
  for (uint32_t f : order.functions)
    inline_into(module, module.functions[f], order);

  // What can still be reached, renumbered.
  std::vector<uint32_t> number(module.functions.size(), UINT32_MAX), queue{module.entry};
  number[module.entry] = 0;
  for (size_t i = 0; i < queue.size(); ++i)
    for (uint32_t callee : callees(module.functions[queue[i]]))
      if (number[callee] == UINT32_MAX) {
        number[callee] = static_cast<uint32_t>(queue.size());
        queue.push_back(callee);
      }
  std::vector<Function> kept;
  for (uint32_t f : queue) {
    kept.push_back(compact(module, module.functions[f]));
    Function& function = kept.back();
    for (Node& node : function.nodes)
      if (node.op == Op::Call) node.attrs.index = number[node.attrs.index];
  }
  module.functions = std::move(kept);
  module.entry = 0;
  return module;
}

} // namespace tl

// Replaces calls by the bodies of their functions.
//
// Needs: nothing.
// Gives: no call but those into a cycle of functions (recursion) and those beyond the size limit; only functions that
//        can be reached from the entry. Locations and error sites of inlined nodes say through which call they came.
//        Sizes that are constants by this are constants in the types.
#include "ir/graph/rewrite.h"
#include "passes/passes.h"
#include <map>
#include <unordered_set>

namespace tl {
using namespace ir;
namespace {

// A function does not grow beyond this many nodes by inlining: chains of functions that call each other twice double at
// every step.
constexpr size_t kNodeLimit = 400'000;

std::vector<uint32_t> callees(const Function& function) {
  std::vector<uint32_t> result;
  walk(function, function.body, [&](NodeId id) {
    if (function[id].op == Op::Call) result.push_back(function[id].as<CallAttrs>().function);
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

// Puts the bodies of callees, as they were written, where they are called, from the top down: so each node is copied
// once for each place at which it is in the end, however deep the calls are.
class Inliner {
public:
  Inliner(Module& module, const Order& order) : module_(module), inlined_(module.functions.size()) {
    std::vector<size_t> sizes(module.functions.size());
    for (uint32_t f : order.functions) { // callees first
      const Function& function = module.functions[f];
      std::vector<NodeId> calls;
      walk(function, function.body, [&](NodeId id) {
        ++sizes[f];
        if (function[id].op == Op::Call) calls.push_back(id);
      });
      for (NodeId id : calls) {
        const uint32_t callee = function[id].as<CallAttrs>().function;
        if (order.recursive[callee] || sizes[f] + sizes[callee] > kNodeLimit) continue;
        sizes[f] += sizes[callee];
        inlined_[f].insert(id.index);
      }
    }
  }

  Function run(uint32_t f) {
    Function result;
    Cloner cloner(module_, module_.functions[f], result);
    cloner.hook = [&](NodeId id, Builder& into) { return expand(f, cloner, id, into, nullptr); };
    cloner.function();
    // A size that was a parameter may be a constant by now, and the types say so: what stretches (Broadcast) has 1
    // there.
    for (Value& value : result.values)
      for (Dim& dim : value.type.dims) {
        if (dim.is_constant() || !result[dim.value].producer.valid()) continue;
        const Node& size = result[result[dim.value].producer];
        if (size.op != Op::Constant) continue;
        const auto constant = size.as<ConstantAttrs>().literal.as<int64_t>();
        if (constant >= 0) dim = Dim::of(constant);
      }
    return result;
  }

private:
  // The site of what may fail; null for other nodes.
  static uint32_t* site_of(Node& node) {
    switch (node.op) {
    case Op::Guard: return &node.as<SiteAttrs>().site;
    case Op::Assert: return &node.as<AssertAttrs>().site;
    case Op::Linalg: return &node.as<LinalgAttrs>().site;
    case Op::ListJoin: return &node.as<ListJoinAttrs>().site;
    default: return nullptr;
    }
  }

  // `call`: the way here; none in the function that stays.
  bool expand(uint32_t f, Cloner& cloner, NodeId id, Builder& into, Relocation* call) {
    const Node& node = module_.functions[f][id];
    if (call && site_of(module_.functions[f][id])) {
      NodeId copy = cloner.clone(id, into);
      uint32_t& site = *site_of(into.function()[copy]);
      site = call->site(site);
      return true;
    }
    if (node.op != Op::Call || !inlined_[f].contains(id.index)) return false;
    const uint32_t callee = node.as<CallAttrs>().function;
    const Function& body = module_.functions[callee];
    Relocation relocation(module_, call ? (*call)(node.loc) : node.loc);
    Cloner inner(module_, body, into.function());
    inner.relocate = [&](LocId loc) { return relocation(loc); };
    inner.hook = [&](NodeId next, Builder& at) { return expand(callee, inner, next, at, &relocation); };
    for (size_t i = 0; i < node.operands.size(); ++i)
      inner.map(body.body.params[i], cloner(node.operands[i]));
    std::vector<ValueId> yields = inner.inline_region(body.body, into);
    for (size_t i = 0; i < node.results.size(); ++i)
      cloner.map(node.results[i], yields[i]);
    return true;
  }

  Module& module_;
  std::vector<std::unordered_set<uint32_t>> inlined_; // by function: its calls that give way to a body
};

} // namespace

Module inline_calls(Module module) {
  Inliner inliner(module, Components(module).run());
  // What can still be reached, renumbered.
  std::vector<uint32_t> number(module.functions.size(), UINT32_MAX), queue{module.entry};
  number[module.entry] = 0;
  std::vector<Function> kept;
  for (size_t i = 0; i < queue.size(); ++i) {
    kept.push_back(inliner.run(queue[i]));
    for (Node& node : kept.back().nodes) {
      if (node.op != Op::Call) continue;
      uint32_t& function = node.as<CallAttrs>().function;
      uint32_t& callee = number[function];
      if (callee == UINT32_MAX) {
        callee = static_cast<uint32_t>(queue.size());
        queue.push_back(function);
      }
      function = callee;
    }
  }
  module.functions = std::move(kept);
  module.entry = 0;
  return module;
}

} // namespace tl

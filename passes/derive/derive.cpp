// Transforms of functions become ordinary graph: Vjp, Jvp, Vmap, Checkpoint, CustomVjp, StopGradient.
//
// Needs: calls inlined.
// Gives: none of these operations. Inner transforms are expanded before the ones around them, so that a derivative of a
//        derivative is one of ordinary graph.
#include "passes/derive/derive.h"
#include "ir/graph/op_info.h"
#include "ir/graph/rewrite.h"
#include "passes/derive/forward.h"
#include "passes/derive/reverse.h"
#include "passes/devices.h"
#include "passes/edit.h"
#include "passes/passes.h"
#include "passes/vectorize/vectorize.h"
#include <algorithm>
#include <set>

namespace tl {
using namespace ir;
namespace {

bool is_transform(Op op) { return op == Op::Vjp || op == Op::Jvp || op == Op::Vmap; }

class Derive {
public:
  Derive(Module& module, Function& function) : module_(module), f_(function) {}

  void run() {
    Edit edit(module_, f_);
    edit.leave = [&](NodeId id) {
      if (!is_transform(f_[id].op)) return Edit::Keep;
      Region made;
      std::vector<ValueId> results;
      switch (f_[id].op) {
      case Op::Vjp: results = vjp(id, made); break;
      case Op::Jvp: results = jvp(id, made); break;
      default: results = vmap(id, made); break;
      }
      for (NodeId inner : made.nodes)
        edit.keep(inner);
      const std::vector<ValueId> old = f_[id].results;
      for (size_t i = 0; i < old.size(); ++i)
        edit.replace(old[i], results[i]);
      return Edit::Drop;
    };
    edit.run();
    clean();
  }

private:
  // The region of a transform in place, over inputs of its own; comprehensions in it as operations on tensors.
  struct Opened {
    std::vector<ValueId> inputs, yields;
  };
  Opened open(NodeId id, Region& into, bool effects) {
    const Node node = f_[id];
    const Region region = node.regions[0];
    Opened result;
    Cloner cloner(module_, f_, f_);
    Builder builder(module_, f_, into);
    for (size_t i = 0; i < region.params.size(); ++i) {
      // Not the operand itself, which the function may know by another way.
      Type type = f_[node.operands[i]].type;
      Op same = type.is_list() ? Op::ListSlice : Op::Reshape;
      result.inputs.push_back(
          builder.one(same, {node.operands[i]}, std::move(type), info(same).default_attrs(), node.loc));
      cloner.map(region.params[i], result.inputs.back());
    }
    cloner.hook = [&](NodeId inner, Builder& at) {
      if (f_[inner].op == Op::Map) {
        map(cloner, inner, at);
        return true;
      }
      return !effects && leave_out_effects(cloner, inner, at);
    };
    std::vector<ValueId> yields = region.yields;
    if (!effects) std::erase_if(yields, [&](ValueId v) { return f_[v].type.kind == Type::Kind::Token; });
    for (NodeId inner : region.nodes)
      if (!cloner.hook(inner, builder)) cloner.clone(inner, builder);
    result.yields = cloner(yields);
    return result;
  }

  // A comprehension as operations on tensors, or else as loops.
  void map(Cloner& cloner, NodeId id, Builder& into) {
    const Node node = f_[id];
    std::vector<Dim> dims;
    for (const Dim& dim : std::vector<Dim>(f_[node.results[0]].type.dims))
      dims.push_back(cloner(dim));
    auto hook = std::move(cloner.hook);
    cloner.hook = nullptr;
    Region body = cloner.region(node.regions[0]);
    cloner.hook = std::move(hook);
    Region made;
    Builder inner(module_, f_, made);
    Vectorizer vectorizer(module_, f_, dims, inner);
    for (size_t i = 0; i < body.params.size(); ++i)
      vectorizer.bind_index(body.params[i], static_cast<uint32_t>(i));
    if (vectorizer.region(body)) {
      for (size_t i = 0; i < node.results.size(); ++i)
        cloner.map(node.results[i], vectorizer.spread(vectorizer(body.yields[i])));
      into.region().nodes.insert(into.region().nodes.end(), made.nodes.begin(), made.nodes.end());
      return;
    }
    Emit e(module_, f_, into.region(), node.loc);
    std::vector<ValueId> initial;
    for (ValueId v : node.results)
      initial.push_back(e.zeros(Type::tensor(f_[v].type.dtype, dims)));
    std::vector<ValueId> filled = map_loop(e, body, dims, {}, initial);
    for (size_t i = 0; i < node.results.size(); ++i)
      cloner.map(node.results[i], filled[i]);
  }

  std::vector<ValueId> map_loop(Emit& e, const Region& body, const std::vector<Dim>& dims, std::vector<ValueId> at,
                                const std::vector<ValueId>& carried) {
    if (at.size() == dims.size()) {
      Cloner cloner(module_, f_, f_);
      for (size_t i = 0; i < at.size(); ++i)
        cloner.map(body.params[i], at[i]);
      // Comprehensions inside follow.
      cloner.hook = [&](NodeId inner, Builder& into) {
        if (f_[inner].op != Op::Map) return false;
        map(cloner, inner, into);
        return true;
      };
      std::vector<ValueId> values = cloner.inline_region(body, e.builder());
      std::vector<ValueId> result;
      for (size_t i = 0; i < values.size(); ++i)
        result.push_back(e.with_at(carried[i], at, values[i], UpdateMode::Set));
      return result;
    }
    return e.loop(e.i64(0), e.size(dims[at.size()]), e.i64(1), carried,
                  [&](Emit& inside, ValueId i, const std::vector<ValueId>& now) {
                    std::vector<ValueId> further = at;
                    further.push_back(i);
                    return map_loop(inside, body, dims, further, now);
                  });
  }

  std::vector<ValueId> vjp(NodeId id, Region& made) {
    const Node node = f_[id];
    const auto& a = node.as<VjpAttrs>();
    bool effects = a.token && !a.without_effects;
    Opened opened = open(id, made, effects);
    size_t first = effects ? 1 : 0;
    std::vector<std::pair<ValueId, ValueId>> outputs;
    for (size_t i = 0; i < a.outputs.size(); ++i)
      outputs.emplace_back(opened.yields.at(first + static_cast<size_t>(a.outputs[i])), node.operands.at(a.inputs + i));
    std::vector<ValueId> dx = Reverse(module_, f_).run(made, opened.inputs, outputs, node.loc);
    Emit e(module_, f_, made, node.loc);
    std::vector<ValueId> results;
    if (a.token && !effects) results.push_back(token_before(node)); // nothing happens in between
    for (ValueId v : opened.yields)
      results.push_back(v);
    for (size_t i = 0; i < dx.size(); ++i)
      results.push_back(e.reshape(dx[i], std::vector<Dim>(f_[node.operands[i]].type.dims)));
    return results;
  }

  // The token with which the effects of a transform's region begin.
  ValueId token_before(const Node& node) {
    for (ValueId v : captures(f_, node))
      if (f_[v].type.kind == Type::Kind::Token) return v;
    throw std::logic_error("derive: effects without a token");
  }

  std::vector<ValueId> jvp(NodeId id, Region& made) {
    const Node node = f_[id];
    const auto& a = node.as<JvpAttrs>();
    const bool effects = a.token;
    Opened opened = open(id, made, effects);
    // What the blocks hold is copied, and so is all around them: inputs and yields have other ids then.
    made.yields = opened.inputs;
    made.yields.insert(made.yields.end(), opened.yields.begin(), opened.yields.end());
    inline_blocks(made);
    auto first_yield = made.yields.begin() + static_cast<long>(opened.inputs.size());
    opened = {{made.yields.begin(), first_yield}, {first_yield, made.yields.end()}};
    made.yields.clear();
    std::vector<std::pair<ValueId, ValueId>> inputs;
    for (size_t i = 0; i < a.inputs; ++i) {
      Emit e(module_, f_, made, node.loc);
      inputs.emplace_back(opened.inputs[i], node.operands[a.inputs + i]);
    }
    Forward forward(module_, f_);
    forward.run(made, inputs);
    std::vector<ValueId> results = opened.yields;
    for (int64_t output : a.outputs) {
      ValueId y = opened.yields.at((effects ? 1 : 0) + static_cast<size_t>(output));
      results.push_back(forward.tangent(y, made, node.loc));
    }
    return results;
  }

  std::vector<ValueId> vmap(NodeId id, Region& made) {
    const Node node = f_[id];
    const std::vector<int64_t>& is_batched = node.as<VmapAttrs>().has_batch_axis;
    Region region = node.regions[0];
    Dim count = f_[node.results[0]].type.dims[0];
    inline_blocks(region);
    Builder into(module_, f_, made);
    {
      Region trial;
      Builder builder(module_, f_, trial);
      Vectorizer vectorizer(module_, f_, {count}, builder);
      for (size_t i = 0; i < region.params.size(); ++i)
        vectorizer.bind(region.params[i],
                        {node.operands[i + 1], is_batched[i] ? std::vector<uint32_t>{0} : std::vector<uint32_t>{}});
      if (vectorizer.region(region)) {
        std::vector<ValueId> results;
        for (ValueId v : region.yields)
          results.push_back(vectorizer.spread(vectorizer(v)));
        made.nodes = std::move(trial.nodes);
        return results;
      }
    }
    // One position after the other.
    Emit e(module_, f_, made, node.loc);
    std::vector<ValueId> initial;
    for (ValueId v : node.results)
      initial.push_back(e.splat(e.builder().constant(f_[v].type.dtype, {}), std::vector<Dim>(f_[v].type.dims)));
    return e.loop(
        e.i64(0), e.size(count), e.i64(1), initial, [&](Emit& inside, ValueId i, const std::vector<ValueId>& carried) {
          Cloner cloner(module_, f_, f_);
          for (size_t k = 0; k < region.params.size(); ++k)
            cloner.map(region.params[k], is_batched[k] ? inside.at(node.operands[k + 1], {i}) : node.operands[k + 1]);
          std::vector<ValueId> values = cloner.inline_region(region, inside.builder());
          std::vector<ValueId> result;
          for (size_t k = 0; k < values.size(); ++k)
            result.push_back(inside.with_at(carried[k], {i}, values[k], UpdateMode::Set));
          return result;
        });
  }

  // Checkpoint and CustomVjp nodes of a region and those inside, as what they compute.
  void inline_blocks(Region& region) {
    std::vector<NodeId> nodes = std::move(region.nodes);
    region.nodes.clear();
    Cloner cloner(module_, f_, f_);
    Builder into(module_, f_, region);
    bool any = false;
    cloner.hook = [&](NodeId inner, Builder& at) {
      const Node node = f_[inner];
      if (node.op != Op::Checkpoint && node.op != Op::CustomVjp) return false;
      for (size_t i = 0; i < node.regions[0].params.size(); ++i)
        cloner.map(node.regions[0].params[i], cloner(node.operands[i]));
      std::vector<ValueId> yields = cloner.inline_region(node.regions[0], at);
      for (size_t i = 0; i < yields.size(); ++i)
        cloner.map(node.results[i], yields[i]);
      any = true;
      return true;
    };
    bool needed = false;
    for (NodeId id : nodes) {
      auto look = [&](NodeId inner) {
        needed = needed || f_[inner].op == Op::Checkpoint || f_[inner].op == Op::CustomVjp;
      };
      look(id);
      for (const Region& inner : f_[id].regions)
        walk(f_, inner, look);
    }
    if (!needed) {
      region.nodes = std::move(nodes);
      return;
    }
    for (NodeId id : nodes)
      if (!cloner.hook(id, into)) cloner.clone(id, into);
    region.yields = cloner(region.yields);
  }

  // What transforms leave: blocks that only they look at.
  void clean() {
    Region body = std::move(f_.body);
    inline_blocks(body);
    f_.body = std::move(body);
    // x + (y - stop_gradient(y)) was there for the derivatives of y: it is x now, and y need not be computed.
    auto elementwise = [&](ValueId v, ScalarOp op) {
      const Node* node = producer_of(f_, v);
      return node && node->is(op) ? node : nullptr;
    };
    std::vector<ValueId> gone;
    Edit derived(module_, f_);
    derived.visit = [&](NodeId id) {
      if (f_[id].results.empty()) return Edit::Keep;
      const Node* sum = elementwise(f_[id].results[0], ScalarOp::Add);
      const Node* rest = sum ? elementwise(sum->operands[1], ScalarOp::Sub) : nullptr;
      const Node* same = rest ? producer_of(f_, rest->operands[1]) : nullptr;
      if (!same || same->op != Op::StopGradient || same->operands[0] != rest->operands[0] ||
          !same_dims(f_, sum->operands[0], sum->results[0]))
        return Edit::Keep;
      gone.push_back(sum->operands[1]);
      derived.replace(sum->results[0], sum->operands[0]);
      return Edit::Drop;
    };
    derived.run();
    if (!gone.empty()) remove_unused(gone);
    Edit edit(module_, f_);
    edit.visit = [&](NodeId id) {
      if (f_[id].op != Op::StopGradient) return Edit::Keep;
      edit.replace(f_[id].results[0], f_[id].operands[0]);
      return Edit::Drop;
    };
    edit.run();
  }

  // Removes what these values alone were computed from, also what can fail.
  void remove_unused(const std::vector<ValueId>& values) {
    std::set<uint32_t> nodes, live;
    auto inputs = [&](NodeId id) {
      std::vector<ValueId> result = f_[id].operands;
      if (!f_[id].regions.empty())
        for (ValueId v : captures(f_, f_[id]))
          result.push_back(v);
      for (ValueId v : f_[id].results)
        for (const Dim& dim : f_[v].type.dims)
          if (!dim.is_constant()) result.push_back(dim.value);
      return result;
    };
    std::vector<ValueId> work = values;
    while (!work.empty()) {
      NodeId id = f_[work.back()].producer;
      work.pop_back();
      if (!id.valid() || is_effect(f_, f_[id]) || !nodes.insert(id.index).second) continue;
      for (ValueId v : inputs(id))
        work.push_back(v);
    }
    auto need = [&](ValueId value) {
      work = {value};
      while (!work.empty()) {
        NodeId id = f_[work.back()].producer;
        work.pop_back();
        if (!id.valid() || !nodes.count(id.index) || !live.insert(id.index).second) continue;
        for (ValueId v : inputs(id))
          work.push_back(v);
      }
    };
    std::function<void(const Region&)> others = [&](const Region& region) {
      for (NodeId id : region.nodes) {
        if (nodes.count(id.index)) continue;
        for (ValueId v : inputs(id))
          need(v);
        for (const Region& inner : f_[id].regions)
          others(inner);
      }
      for (ValueId v : region.yields)
        need(v);
    };
    others(f_.body);
    std::function<void(Region&)> remove = [&](Region& region) {
      std::erase_if(region.nodes, [&](NodeId id) { return nodes.count(id.index) && !live.count(id.index); });
      for (NodeId id : region.nodes)
        for (Region& inner : f_[id].regions)
          remove(inner);
    };
    remove(f_.body);
  }

  Module& module_;
  Function& f_;
};

} // namespace

bool has_transforms(const Module& module) {
  bool found = false;
  for (const Function& function : module.functions)
    walk(function, function.body, [&](NodeId id) {
      Op op = function[id].op;
      found = found || is_transform(op) || op == Op::Checkpoint || op == Op::CustomVjp || op == Op::StopGradient;
    });
  return found;
}

Module derive(Module module) {
  if (!has_transforms(module)) return module;
  try {
    for (Function& function : module.functions)
      Derive(module, function).run();
  } catch (NotDifferentiable& reason) {
    reason.locations = module.locations;
    throw;
  }
  return module;
}

} // namespace tl

#include "ir/graph/rewrite.h"
#include "ir/graph/op_info.h"
#include <algorithm>
#include <stdexcept>

namespace tl::ir {

void walk(const Function& function, const Region& region, const std::function<void(NodeId)>& visit) {
  for (NodeId id : region.nodes) {
    visit(id);
    for (const Region& inner : function[id].regions)
      walk(function, inner, visit);
  }
}

namespace {

// Calls `use` for every value that the region mentions without defining the mention itself: operands, yields, sizes.
template <class Use> void each_use_in_types(const Function& function, const std::vector<ValueId>& values, Use use) {
  for (ValueId value : values)
    for (const Dim& dim : function[value].type.dims)
      if (!dim.is_constant()) use(dim.value);
}

template <class Use> void each_use(const Function& function, const Region& region, Use use) {
  each_use_in_types(function, region.params, use);
  for (NodeId id : region.nodes) {
    const Node& node = function[id];
    for (ValueId value : node.operands)
      use(value);
    each_use_in_types(function, node.results, use);
    for (const Region& inner : node.regions)
      each_use(function, inner, use);
  }
  for (ValueId value : region.yields)
    use(value);
}

void each_definition(const Function& function, const Region& region, std::vector<bool>& defined) {
  for (ValueId value : region.params)
    defined[value.index] = true;
  for (NodeId id : region.nodes) {
    for (ValueId value : function[id].results)
      defined[value.index] = true;
    for (const Region& inner : function[id].regions)
      each_definition(function, inner, defined);
  }
}

// One backward sweep is enough: in a region a use comes after its definition.
bool sweep(Function& function, Region& region, std::vector<bool>& used) {
  auto use = [&](ValueId value) { used[value.index] = true; };
  for (ValueId value : region.yields)
    use(value);
  bool changed = false;
  std::vector<NodeId> kept;
  for (size_t i = region.nodes.size(); i-- > 0;) {
    NodeId id = region.nodes[i];
    const auto& results = function[id].results;
    bool live = std::any_of(results.begin(), results.end(), [&](ValueId value) { return used[value.index]; });
    if (!live && !must_stay(function, function[id])) {
      changed = true;
      continue;
    }
    Node& node = function[id];
    for (ValueId value : node.operands)
      use(value);
    each_use_in_types(function, node.results, use);
    for (Region& inner : node.regions)
      changed |= sweep(function, inner, used);
    kept.push_back(id);
  }
  region.nodes.assign(kept.rbegin(), kept.rend());
  each_use_in_types(function, region.params, use);
  return changed;
}

} // namespace

std::vector<uint32_t> use_counts(const Function& function) {
  std::vector<uint32_t> counts(function.values.size());
  each_use(function, function.body, [&](ValueId value) { ++counts[value.index]; });
  return counts;
}

std::vector<ValueId> captures(const Function& function, const Node& node) {
  std::vector<bool> seen(function.values.size());
  for (const Region& region : node.regions)
    each_definition(function, region, seen);
  std::vector<ValueId> result;
  for (const Region& region : node.regions)
    each_use(function, region, [&](ValueId value) {
      if (seen[value.index]) return;
      seen[value.index] = true;
      result.push_back(value);
    });
  // Whoever reads a tensor from outside needs its sizes too.
  for (size_t i = 0; i < result.size(); ++i)
    each_use_in_types(function, {result[i]}, [&](ValueId size) {
      if (seen[size.index]) return;
      seen[size.index] = true;
      result.push_back(size);
    });
  return result;
}

void hold_unread_guards(Module& module, Function& function) {
  std::vector<NodeId> maps;
  walk(function, function.body, [&](NodeId id) {
    if (function[id].op == Op::Map) maps.push_back(id);
  });
  for (NodeId map : maps) {
    Region region = std::move(function[map].regions[0]);
    std::vector<bool> used(function.values.size());
    auto use = [&](ValueId value) { used[value.index] = true; };
    std::for_each(region.yields.begin(), region.yields.end(), use);
    std::vector<NodeId> unread;
    for (size_t i = region.nodes.size(); i-- > 0;) {
      const Node& node = function[region.nodes[i]];
      if (std::none_of(node.results.begin(), node.results.end(), [&](ValueId value) { return used[value.index]; })) {
        auto is_shaped = [&](ValueId value) { return !function[value].type.dims.empty(); };
        if (node.op != Op::Guard || std::any_of(node.operands.begin() + 1, node.operands.end(), is_shaped)) continue;
        unread.push_back(region.nodes[i]);
      }
      std::for_each(node.operands.begin(), node.operands.end(), use);
      each_use_in_types(function, node.results, use);
      for (ValueId value : captures(function, node))
        use(value);
    }
    Builder builder(module, function, region);
    for (size_t i = unread.size(); i-- > 0;) {
      const Node guard = function[unread[i]];
      std::vector<ValueId> operands = guard.operands;
      operands[0] = region.yields[0];
      region.yields[0] = builder.one(Op::Guard, operands, Type(function[operands[0]].type), guard.attrs, guard.loc);
    }
    function[map].regions[0] = std::move(region);
  }
}

bool remove_dead_nodes(Function& function) {
  std::vector<bool> used(function.values.size());
  return sweep(function, function.body, used);
}

Cloner::Cloner(Module& module, const Function& source, Function& target)
    : module_(module), source_(source), target_(target) {}

ValueId Cloner::operator()(ValueId value) const {
  if (has(value)) return map_[value.index];
  if (&source_ == &target_ || !value.valid()) return value;
  throw std::logic_error("Cloner: a value is used that was not mapped, in function " + source_.name);
}

std::vector<ValueId> Cloner::operator()(const std::vector<ValueId>& values) const {
  std::vector<ValueId> result;
  result.reserve(values.size());
  for (ValueId value : values)
    result.push_back((*this)(value));
  return result;
}

Dim Cloner::operator()(const Dim& dim) const { return dim.is_constant() ? dim : Dim::of((*this)(dim.value)); }

Type Cloner::operator()(const Type& type) const {
  Type result = type;
  for (Dim& dim : result.dims)
    dim = (*this)(dim);
  return result;
}

void Cloner::map(ValueId from, ValueId to) {
  if (from.index >= map_.size()) map_.resize(std::max<size_t>(source_.values.size(), from.index + 1));
  map_[from.index] = to;
}

NodeId Cloner::clone(NodeId id, Builder& into) {
  // Copied first: where source and target are one function, references do not survive.
  Node node = source_[id];
  std::vector<ValueId> operands = (*this)(node.operands);
  std::vector<Region> regions;
  for (const Region& inner : node.regions)
    regions.push_back(region(inner));
  NodeId result = into.node(node.op, std::move(operands), std::vector<Type>(node.results.size()), std::move(node.attrs),
                            relocate ? relocate(node.loc) : node.loc, std::move(regions));
  std::vector<ValueId> values = target_[result].results;
  for (size_t i = 0; i < values.size(); ++i)
    map(node.results[i], values[i]);
  for (size_t i = 0; i < values.size(); ++i) { // after the mapping: types may refer to results beside them
    target_[values[i]].type = (*this)(Type(source_[node.results[i]].type));
    target_[values[i]].name = std::string(source_[node.results[i]].name);
  }
  return result;
}

std::vector<ValueId> Cloner::inline_region(const Region& region, Builder& into) {
  std::vector<NodeId> nodes = region.nodes;
  std::vector<ValueId> yields = region.yields;
  for (NodeId id : nodes)
    if (!hook || !hook(id, into)) clone(id, into);
  return (*this)(yields);
}

Region Cloner::region(const Region& region) {
  Region result;
  Builder into(module_, target_, result);
  std::vector<ValueId> params = region.params;
  std::vector<ValueId> fresh;
  for (ValueId param : params) {
    fresh.push_back(into.param(Type{}, std::string(source_[param].name)));
    map(param, fresh.back());
  }
  for (size_t i = 0; i < params.size(); ++i)
    target_[fresh[i]].type = (*this)(Type(source_[params[i]].type));
  Region copy = region;
  result.yields = inline_region(copy, into);
  return result;
}

void Cloner::function() {
  target_.name = source_.name;
  target_.body = region(source_.body);
}

Function compact(Module& module, const Function& function) {
  Function result;
  Cloner(module, function, result).function();
  return result;
}

} // namespace tl::ir

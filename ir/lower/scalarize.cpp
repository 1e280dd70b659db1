// Bodies of maps down to scalars. The body was lowered as usual, with tensors as values. Here its nodes are emitted
// again in order: those of rank 0 as they are, tensors only element by element, where a scalar needs one.
#include "ir/graph/op_info.h"
#include "ir/lower/scalarizer.h"
#include <algorithm>

namespace tl::ir {

constexpr int64_t kRepeats = 16;

Region Scalarizer::region(const Region& body, const std::vector<Element>& yields, size_t extra,
                          const std::map<ValueId, ValueId>& given) {
  Region result;
  levels_.push_back({&result, {}, {}});
  Indices position, own;
  for (ValueId param : body.params) {
    position.push_back(builder().param(Type::scalar(DType::I64), std::string(f_[param].name)));
    levels_.back().scalars[param] = position.back();
  }
  for (size_t i = 0; i < extra; ++i)
    own.push_back(builder().param(Type::scalar(DType::I64)));
  for (auto [value, tensor] : given)
    levels_.back().scalars[value] = index(tensor, position);
  emit(body);
  for (const Element& e : yields)
    result.yields.push_back(at(e.value, e.extra ? own : Indices{}));
  levels_.pop_back();
  return result;
}

std::vector<ValueId> Scalarizer::shared_scalars(const Region& body, ValueId tensor) const {
  std::set<ValueId> needed{tensor};
  std::vector<ValueId> result;
  for (size_t i = body.nodes.size(); i-- > 0;) {
    const Node& n = f_[body.nodes[i]];
    if (std::none_of(n.results.begin(), n.results.end(), [&](ValueId v) { return needed.contains(v); })) continue;
    if (is_costly(n) && std::all_of(n.results.begin(), n.results.end(), [&](ValueId v) { return rank(v) == 0; })) {
      result.insert(result.end(), n.results.begin(), n.results.end());
      continue;
    }
    needed.insert(n.operands.begin(), n.operands.end());
    for (ValueId v : captures(f_, n))
      needed.insert(v);
  }
  return result;
}

bool Scalarizer::repeats_work(const Region& body) const {
  std::set<ValueId> dear; // tensors that are dear, or computed from such
  for (NodeId id : body.nodes) {
    const Node& n = f_[id];
    int64_t times = 1; // each of their elements is asked for
    auto multiply = [&](const Dim& dim) {
      times = dim.is_constant() && times < kRepeats ? times * dim.constant : kRepeats + 1;
    };
    bool any = false;
    for (size_t k = 0; k < n.operands.size(); ++k) {
      if (!dear.contains(n.operands[k])) continue;
      any = true;
      times = 1;
      const std::vector<Dim>& shape = f_[n.results[0]].type.dims;
      if (n.op == Op::Broadcast) {
        const std::vector<int64_t>& axes = n.as<AxesAttrs>().axes;
        for (size_t axis = 0; axis < shape.size(); ++axis)
          if (!std::count(axes.begin(), axes.end(), static_cast<int64_t>(axis))) multiply(shape[axis]);
      } else if (n.op == Op::Contract) {
        const auto& [lhs, rhs, result] = n.as<ContractAttrs>();
        const std::vector<int64_t>& own = k ? rhs : lhs;
        for (size_t axis = 0; axis < shape.size(); ++axis)
          if (!std::count(own.begin(), own.end(), result[axis])) multiply(shape[axis]);
      }
      if (times > kRepeats) return true;
    }
    if (any || is_costly(n) || n.op == Op::Scan)
      for (ValueId v : n.results)
        if (rank(v) > 0) dear.insert(v);
  }
  return false;
}

void Scalarizer::mark_inside(const Region& region) {
  auto mark = [&](ValueId v) { inside_[v.index] = true; };
  std::for_each(region.params.begin(), region.params.end(), mark);
  for (NodeId id : region.nodes) {
    std::for_each(f_[id].results.begin(), f_[id].results.end(), mark);
    for (const Region& inner : f_[id].regions)
      mark_inside(inner);
  }
}

bool Scalarizer::is_costly(const Node& n) const {
  if (n.op == Op::Reduce || n.op == Op::Contract || n.op == Op::For || n.op == Op::While) return true;
  for (const Region& region : n.regions)
    for (NodeId id : region.nodes)
      if (is_costly(f_[id])) return true;
  return false;
}

ValueId Scalarizer::lookup(ValueId value) const {
  if (!is_inside(value)) return value;
  for (size_t i = levels_.size(); i-- > 0;)
    if (auto found = levels_[i].scalars.find(value); found != levels_[i].scalars.end()) return found->second;
  throw NotScalar{};
}

ValueId Scalarizer::index(ValueId tensor, const Indices& at, LocId loc) {
  if (f_[tensor].type.dims.empty()) return tensor;
  std::vector<ValueId> operands{tensor};
  operands.insert(operands.end(), at.begin(), at.end());
  Type t = Type::scalar(f_[tensor].type.dtype);
  return builder().one(Op::Index, std::move(operands), t, {}, loc);
}

void Scalarizer::emit(const Region& raw) {
  for (NodeId id : raw.nodes)
    emit(id);
}

void Scalarizer::emit(NodeId id) {
  const Node n = f_[id];
  if (n.results.empty() ||
      std::all_of(n.results.begin(), n.results.end(), [&](ValueId v) { return levels_.back().scalars.contains(v); }))
    return;
  for (ValueId v : n.results)
    if (!f_[v].type.is_tensor()) throw NotScalar{};
  switch (n.op) {
  case Op::For:
  case Op::While: return emit_loop(n);
  case Op::If: {
    std::vector<size_t> scalars;
    for (size_t i = 0; i < n.results.size(); ++i)
      if (rank(n.results[i]) == 0) scalars.push_back(i);
    if (scalars.empty()) return;
    std::vector<ValueId> results = branch(n, scalars, {});
    for (size_t i = 0; i < scalars.size(); ++i)
      levels_.back().scalars[n.results[scalars[i]]] = results[i];
    return;
  }
  case Op::Map: return; // its elements, where they are needed
  default:
    if (n.results.size() != 1) throw NotScalar{};
    if (rank(n.results[0]) == 0) levels_.back().scalars[n.results[0]] = element(n, 0, {});
  }
}

void Scalarizer::emit_loop(const Node& n) {
  std::vector<ValueId> operands;
  for (ValueId v : n.operands)
    operands.push_back(scalar(v));
  std::vector<Type> types;
  for (ValueId v : n.results) {
    if (rank(v)) throw NotScalar{};
    types.push_back(f_[v].type);
  }
  std::vector<Region> regions;
  for (const Region& raw : n.regions) {
    Region region;
    levels_.push_back({&region, {}, {}});
    for (ValueId param : raw.params) {
      Type t = f_[param].type;
      if (!t.is_scalar()) throw NotScalar{};
      ValueId fresh = builder().param(std::move(t), std::string(f_[param].name));
      levels_.back().scalars[param] = fresh;
    }
    emit(raw);
    for (ValueId v : raw.yields)
      region.yields.push_back(scalar(v));
    levels_.pop_back();
    regions.push_back(std::move(region));
  }
  NodeId node = builder().node(n.op, std::move(operands), std::move(types), n.attrs, n.loc, std::move(regions));
  for (size_t i = 0; i < n.results.size(); ++i)
    levels_.back().scalars[n.results[i]] = f_[node].results[i];
}

std::vector<ValueId> Scalarizer::branch(const Node& n, const std::vector<size_t>& which, const Indices& position) {
  ValueId condition = scalar(n.operands[0]);
  std::vector<Region> regions;
  for (const Region& raw : n.regions) {
    Region region;
    levels_.push_back({&region, {}, {}});
    emit(raw);
    for (size_t i : which)
      region.yields.push_back(at(raw.yields[i], position));
    levels_.pop_back();
    regions.push_back(std::move(region));
  }
  std::vector<Type> types;
  for (size_t i : which)
    types.push_back(Type::scalar(f_[n.results[i]].type.dtype));
  NodeId node = builder().node(Op::If, {condition}, std::move(types), {}, n.loc, std::move(regions));
  return f_[node].results;
}

std::optional<std::vector<ValueId>> scalarize(Module& module, Function& f, Builder& into, const Region& body,
                                              const std::vector<Dim>& dims, LocId loc) {
  Scalarizer scalarizer(module, f, body);
  if (scalarizer.repeats_work(body)) return std::nullopt;
  size_t nodes = into.region().nodes.size();
  auto map = [&](Region region, const std::vector<Dim>& shape) {
    std::vector<Type> types;
    for (ValueId v : region.yields)
      types.push_back(Type::tensor(f[v].type.dtype, shape));
    std::vector<Region> regions;
    regions.push_back(std::move(region));
    return f[into.node(Op::Map, {}, std::move(types), {}, loc, std::move(regions))].results;
  };
  try {
    // First the scalars, those that tensors need among them; then each tensor under its own indices too.
    std::vector<Scalarizer::Element> scalars;
    std::map<ValueId, size_t> needed; // which of them
    std::vector<size_t> scalar_of(body.yields.size(), SIZE_MAX);
    for (size_t i = 0; i < body.yields.size(); ++i) {
      ValueId value = body.yields[i];
      if (!f[value].type.is_tensor()) return std::nullopt;
      if (f[value].type.dims.empty()) {
        scalar_of[i] = scalars.size();
        scalars.push_back({value, 0});
        continue;
      }
      for (const Dim& d : f[value].type.dims)
        if (!d.is_constant() && scalarizer.is_inside(d.value)) return std::nullopt;
      for (ValueId v : scalarizer.shared_scalars(body, value))
        if (needed.emplace(v, scalars.size()).second) scalars.push_back({v, 0});
    }
    std::vector<ValueId> first;
    if (!scalars.empty()) first = map(scalarizer.region(body, scalars, 0, {}), dims);
    std::map<ValueId, ValueId> given;
    for (auto [value, which] : needed)
      given[value] = first[which];
    std::vector<ValueId> results;
    for (size_t i = 0; i < body.yields.size(); ++i) {
      if (scalar_of[i] != SIZE_MAX) {
        results.push_back(first[scalar_of[i]]);
        continue;
      }
      std::vector<Dim> own = f[body.yields[i]].type.dims, shape = dims;
      shape.insert(shape.end(), own.begin(), own.end());
      results.push_back(map(scalarizer.region(body, {{body.yields[i], own.size()}}, own.size(), given), shape)[0]);
    }
    return results;
  } catch (const NotScalar&) {
    into.region().nodes.resize(nodes);
    return std::nullopt;
  }
}

} // namespace tl::ir

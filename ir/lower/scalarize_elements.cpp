// Bodies of maps down to scalars: the element of a tensor at a position.
#include "ir/lower/scalarizer.h"
#include <algorithm>
#include <numeric>

namespace tl::ir {

ValueId Scalarizer::scalar(ValueId value) {
  if (!f_[value].type.is_scalar()) throw NotScalar{};
  return lookup(value);
}

ValueId Scalarizer::at(ValueId value, const Indices& position) {
  if (!f_[value].type.is_tensor()) throw NotScalar{};
  if (rank(value) == 0) return lookup(value);
  std::pair<ValueId, Indices> key{value, position};
  for (const Level& level : levels_)
    if (auto found = level.elements.find(key); found != level.elements.end()) return found->second;
  NodeId producer = f_[value].producer;
  ValueId result;
  if (!is_inside(value)) {
    result = index(value, position);
  } else {
    if (!producer.valid()) throw NotScalar{}; // carried by a loop
    result = element(Node(f_[producer]), f_[value].result, position);
  }
  levels_.back().elements[key] = result;
  return result;
}

ValueId Scalarizer::with_failures_of(const Indices& indices, ValueId element) {
  std::set<NodeId> guards;
  for (ValueId index : indices) {
    std::set<NodeId> of_index;
    if (!is_computed_from(element, index, of_index)) guards.merge(guards_of(index));
  }
  for (NodeId id : guards) {
    const Node guard = f_[id];
    std::vector<ValueId> operands = guard.operands;
    operands[0] = element;
    element = builder().one(Op::Guard, std::move(operands), Type(f_[element].type), guard.attrs, guard.loc);
  }
  return element;
}

bool Scalarizer::is_computed_from(ValueId value, ValueId from, std::set<NodeId>& seen) const {
  if (value == from) return true;
  const NodeId id = f_[value].producer;
  if (!id.valid() || !seen.insert(id).second) return false;
  const Node& n = f_[id];
  auto is = [&](ValueId v) { return is_computed_from(v, from, seen); };
  if (std::any_of(n.operands.begin(), n.operands.end(), is)) return true;
  if (n.regions.empty()) return false;
  if (n.op == Op::If) // whichever branch is taken
    return std::all_of(n.regions.begin(), n.regions.end(), [&](const Region& branch) {
      std::set<NodeId> of_branch = seen;
      return is_computed_from(branch.yields[f_[value].result], from, of_branch);
    });
  const auto captured = captures(f_, n);
  return std::any_of(captured.begin(), captured.end(), is);
}

std::set<NodeId> Scalarizer::guards_of(ValueId value) const {
  std::set<NodeId> found, seen;
  std::vector<ValueId> left{value};
  while (!left.empty()) {
    const NodeId id = f_[left.back()].producer;
    left.pop_back();
    if (!id.valid() || !seen.insert(id).second) continue;
    const Node& n = f_[id];
    if (n.op == Op::Guard) found.insert(id);
    if (n.op == Op::Guard || n.op == Op::Elementwise || n.op == Op::Convert)
      left.insert(left.end(), n.operands.begin(), n.operands.end());
  }
  return found;
}

Indices Scalarizer::reshaped(const Indices& position, const std::vector<Dim>& to, const std::vector<Dim>& from) {
  // All but one size are equal, so that one is: the same sizes under other names, or one axis.
  size_t others = 0;
  for (size_t i = 0; i < to.size() && from.size() == to.size(); ++i)
    others += !(dim(to[i]) == dim(from[i]));
  if (from.size() == to.size() && others <= 1) return position;
  // Only axes of size 1 come or go?
  std::vector<size_t> many_to, many_from;
  for (size_t i = 0; i < to.size(); ++i)
    if (!(to[i] == Dim::of(1))) many_to.push_back(i);
  for (size_t i = 0; i < from.size(); ++i)
    if (!(from[i] == Dim::of(1))) many_from.push_back(i);
  bool same = many_to.size() == many_from.size();
  for (size_t i = 0; same && i < many_to.size(); ++i)
    same = dim(to[many_to[i]]) == dim(from[many_from[i]]);
  if (same) {
    Indices result(from.size());
    for (size_t i = 0; i < many_to.size(); ++i)
      result[many_from[i]] = position[many_to[i]];
    for (ValueId& v : result)
      if (!v.valid()) v = i64(0);
    return result;
  }
  ValueId linear = i64(0);
  for (size_t i = 0; i < to.size(); ++i)
    linear = add(i ? mul(linear, size(to[i])) : linear, position[i]);
  Indices result(from.size());
  for (size_t i = from.size(); i-- > 0;) {
    ValueId n = size(from[i]);
    result[i] = i ? builder().scalar(ScalarOp::Mod, {linear, n}) : linear;
    if (i) linear = builder().scalar(ScalarOp::FloorDiv, {linear, n});
  }
  return result;
}

template <class Then, class Otherwise>
ValueId Scalarizer::choose(ValueId c, DType type, Then then, Otherwise otherwise) {
  Region regions[2];
  for (int i = 0; i < 2; ++i) {
    levels_.push_back({&regions[i], {}, {}});
    regions[i].yields = {i == 0 ? then() : otherwise()};
    levels_.pop_back();
  }
  std::vector<Region> both;
  both.push_back(std::move(regions[0]));
  both.push_back(std::move(regions[1]));
  NodeId node = builder().node(Op::If, {c}, {Type::scalar(type)}, {}, {}, std::move(both));
  return f_[node].results[0];
}

ValueId Scalarizer::padded(const Node& n, const Indices& position) {
  Indices from;
  ValueId fine;
  for (size_t i = 0; i < position.size(); ++i) {
    from.push_back(builder().scalar(ScalarOp::Sub, {position[i], scalar(n.operands[2 + i])}));
    for (ValueId c : {builder().scalar(ScalarOp::Ge, {from[i], i64(0)}),
                      builder().scalar(ScalarOp::Lt, {from[i], size(f_[n.operands[0]].type.dims[i])})})
      fine = fine.valid() ? builder().scalar(ScalarOp::And, {fine, c}) : c;
  }
  ValueId value = scalar(n.operands[1]);
  return choose(fine, f_[n.results[0]].type.dtype, [&] { return at(n.operands[0], from); }, [&] { return value; });
}

ValueId Scalarizer::joined(const Node& n, size_t part, const Indices& position) {
  if (part + 1 == n.operands.size()) return at(n.operands[part], position);
  auto axis = static_cast<size_t>(n.as<AxisAttrs>().axis);
  ValueId own = size(f_[n.operands[part]].type.dims[axis]);
  ValueId here = builder().scalar(ScalarOp::Lt, {position[axis], own});
  return choose(
      here, f_[n.results[0]].type.dtype, [&] { return at(n.operands[part], position); },
      [&] {
        Indices rest = position;
        rest[axis] = builder().scalar(ScalarOp::Sub, {position[axis], own});
        return joined(n, part + 1, rest);
      });
}

template <class Body>
std::vector<ValueId> Scalarizer::map(const std::vector<Dim>& extents, const std::vector<DType>& types, LocId loc,
                                     Body body) {
  std::vector<Dim> dims;
  for (const Dim& d : extents)
    dims.push_back(dim(d));
  Region region;
  levels_.push_back({&region, {}, {}});
  Indices position;
  for (size_t i = 0; i < extents.size(); ++i)
    position.push_back(builder().param(Type::scalar(DType::I64)));
  region.yields = body(position);
  levels_.pop_back();
  std::vector<Type> results;
  for (DType type : types)
    results.push_back(Type::tensor(type, dims));
  std::vector<Region> regions;
  regions.push_back(std::move(region));
  NodeId node = builder().node(Op::Map, {}, std::move(results), {}, loc, std::move(regions));
  return f_[node].results;
}

ValueId Scalarizer::reduced(const Node& n, const Indices& position) {
  const std::vector<Dim> dims = f_[n.operands[0]].type.dims;
  const std::vector<int64_t>& axes = n.as<ReduceAttrs>().axes;
  if (axes.empty()) throw NotScalar{};
  std::vector<Dim> extents;
  for (int64_t axis : axes)
    extents.push_back(dims[static_cast<size_t>(axis)]);
  std::vector<DType> types;
  for (ValueId v : n.operands)
    types.push_back(f_[v].type.dtype);
  std::vector<ValueId> tensors = map(extents, types, n.loc, [&](const Indices& inner) {
    Indices whole;
    size_t next_inner = 0, next_outer = 0;
    for (size_t i = 0; i < dims.size(); ++i) {
      bool is_reduced = std::count(axes.begin(), axes.end(), static_cast<int64_t>(i)) > 0;
      whole.push_back(is_reduced ? inner[next_inner++] : position[next_outer++]);
    }
    std::vector<ValueId> values;
    for (ValueId v : n.operands)
      values.push_back(at(v, whole));
    return values;
  });
  ReduceAttrs attrs = n.as<ReduceAttrs>();
  std::iota(attrs.axes.begin(), attrs.axes.end(), 0);
  Type t = Type::scalar(f_[n.results[0]].type.dtype);
  return builder().one(Op::Reduce, std::move(tensors), t, std::move(attrs), n.loc);
}

ValueId Scalarizer::contracted(const Node& n, const Indices& position) {
  std::map<int64_t, ValueId> kept;
  const auto& [lhs, rhs, result] = n.as<ContractAttrs>();
  for (size_t i = 0; i < result.size(); ++i)
    kept[result[i]] = position[i];
  ContractAttrs attrs;
  std::vector<ValueId> factors;
  for (size_t side = 0; side < 2; ++side) {
    const ValueId operand = n.operands[side];
    const std::vector<Dim> dims = f_[operand].type.dims;
    const std::vector<int64_t>& labels = side ? rhs : lhs;
    std::map<int64_t, Dim> summed; // ascending
    for (size_t i = 0; i < labels.size(); ++i)
      if (!kept.contains(labels[i])) summed.emplace(labels[i], dims[i]);
    auto element = [&](const Indices& inner) {
      Indices whole;
      for (int64_t label : labels)
        whole.push_back(kept.contains(label)
                            ? kept[label]
                            : inner[static_cast<size_t>(std::distance(summed.begin(), summed.find(label)))]);
      return at(operand, whole);
    };
    std::vector<Dim> extents;
    for (auto& [label, d] : summed) {
      extents.push_back(d);
      (side ? attrs.rhs : attrs.lhs).push_back(label);
    }
    if (extents.empty())
      factors.push_back(element({}));
    else
      factors.push_back(map(extents, {f_[operand].type.dtype}, n.loc,
                            [&](const Indices& inner) { return std::vector<ValueId>{element(inner)}; })[0]);
  }
  Type t = Type::scalar(f_[n.results[0]].type.dtype);
  return builder().one(Op::Contract, std::move(factors), t, std::move(attrs), n.loc);
}

ValueId Scalarizer::element(const Node& n, uint32_t which, const Indices& position) {
  const Type result = f_[n.results[which]].type;
  auto operand = [&](size_t i) { return n.operands[i]; };
  auto dims = [&](size_t i) { return std::vector<Dim>(f_[operand(i)].type.dims); };
  auto again = [&](std::vector<ValueId> operands) {
    return builder().one(n.op, std::move(operands), Type::scalar(result.dtype), n.attrs, n.loc);
  };
  switch (n.op) {
  case Op::Constant: return again({});
  case Op::Iota: return position[0];
  case Op::Elementwise:
  case Op::Convert: {
    std::vector<ValueId> operands;
    for (ValueId v : n.operands)
      operands.push_back(at(v, rank(v) ? position : Indices{}));
    return again(std::move(operands));
  }
  case Op::Broadcast: {
    Indices from;
    const std::vector<int64_t>& axes = n.as<AxesAttrs>().axes;
    for (size_t i = 0; i < axes.size(); ++i)
      from.push_back(dims(0)[i] == Dim::of(1) ? i64(0) : position[static_cast<size_t>(axes[i])]);
    return at(operand(0), from);
  }
  case Op::Reshape: { // sizes that a check has passed are the same ones
    auto unguarded = [&](std::vector<Dim> sizes) {
      for (Dim& dim : sizes)
        while (!dim.is_constant() && f_[dim.value].producer.valid() && f_[f_[dim.value].producer].op == Op::Guard)
          dim = Dim::of(f_[f_[dim.value].producer].operands[0]);
      return sizes;
    };
    return at(operand(0), reshaped(position, unguarded(result.dims), unguarded(dims(0))));
  }
  case Op::Transpose: {
    Indices from(position.size());
    for (size_t i = 0; i < position.size(); ++i)
      from[static_cast<size_t>(n.as<AxesAttrs>().axes[i])] = position[i];
    return at(operand(0), from);
  }
  case Op::Slice: {
    Indices from;
    for (size_t i = 0; i < position.size(); ++i) {
      const int64_t step = n.as<StepsAttrs>().steps[i];
      ValueId offset = step == 1 ? position[i] : mul(position[i], i64(step));
      from.push_back(add(scalar(operand(1 + i)), offset));
    }
    return at(operand(0), from);
  }
  case Op::Pad: return padded(n, position);
  case Op::Concat: return joined(n, 0, position);
  case Op::Index: {
    Indices from;
    for (size_t i = 1; i < n.operands.size(); ++i)
      from.push_back(scalar(operand(i)));
    const Indices given = from;
    from.insert(from.end(), position.begin(), position.end());
    return with_failures_of(given, at(operand(0), from));
  }
  case Op::Gather: {
    auto axis = position.begin() + n.as<AxisAttrs>().axis;
    auto after = axis + static_cast<long>(rank(operand(1)));
    Indices from(position.begin(), axis);
    from.push_back(at(operand(1), Indices(axis, after)));
    const Indices given{from.back()};
    from.insert(from.end(), after, position.end());
    return with_failures_of(given, at(operand(0), from));
  }
  case Op::Reduce: return reduced(n, position);
  case Op::Contract: return contracted(n, position);
  case Op::Guard: {
    size_t condition_rank = rank(operand(1));
    if (condition_rank && condition_rank != position.size()) throw NotScalar{};
    std::vector<ValueId> operands{at(operand(0), position)};
    for (size_t i = 1; i < n.operands.size(); ++i)
      operands.push_back(at(operand(i), rank(operand(i)) ? position : Indices{}));
    return again(std::move(operands));
  }
  case Op::If: return branch(n, {which}, position)[0];
  case Op::Map: {
    const Region raw = n.regions[0];
    levels_.push_back({levels_.back().region, {}, {}});
    for (size_t i = 0; i < raw.params.size(); ++i)
      levels_.back().scalars[raw.params[i]] = position[i];
    emit(raw);
    ValueId value = scalar(raw.yields[which]);
    levels_.pop_back();
    return value;
  }
  default: throw NotScalar{};
  }
}

} // namespace tl::ir

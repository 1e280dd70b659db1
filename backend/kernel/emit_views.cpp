// Views and other ops that only choose which element to read.
#include "backend/kernel/emit.h"
#include "passes/fuse/views.h"

namespace tl::kir {

ValueId Emitter::view(const ir::Node& n, const Index& index) {
  ir::ValueId x = n.operands[0];
  const std::vector<ir::Dim>& dims = type(x).dims;
  Index at(dims.size());
  switch (n.op) {
  case ir::Op::Broadcast:
    for (size_t i = 0; i < dims.size(); ++i) {
      bool stretches = dims[i].is_constant() && dims[i].constant == 1;
      at[i] = stretches ? b.i64(0) : index[static_cast<size_t>(n.as<ir::AxesAttrs>().axes[i])];
    }
    break;
  case ir::Op::Reshape: at = reshape_index(dims, type(n.results[0]).dims, index); break;
  case ir::Op::Transpose:
    for (size_t i = 0; i < index.size(); ++i)
      at[static_cast<size_t>(n.as<ir::AxesAttrs>().axes[i])] = index[i];
    break;
  case ir::Op::Slice:
    for (size_t i = 0; i < dims.size(); ++i)
      at[i] = b.add(scalar(n.operands[i + 1]), b.mul(index[i], b.i64(n.as<ir::StepsAttrs>().steps[i])));
    break;
  case ir::Op::Index: {
    size_t given = n.operands.size() - 1;
    for (size_t i = 0; i < given; ++i)
      at[i] = scalar(n.operands[i + 1]);
    for (size_t i = given; i < dims.size(); ++i)
      at[i] = index[i - given];
    break;
  }
  default: { // Gather
    size_t axis = static_cast<size_t>(n.as<ir::AxisAttrs>().axis), rank = type(n.operands[1]).dims.size();
    Index where(index.begin() + static_cast<ptrdiff_t>(axis), index.begin() + static_cast<ptrdiff_t>(axis + rank));
    for (size_t i = 0; i < axis; ++i)
      at[i] = index[i];
    at[axis] = pull(n.operands[1], where);
    for (size_t i = axis + 1; i < dims.size(); ++i)
      at[i] = index[i + rank - 1];
    break;
  }
  }
  return pull(x, at);
}

ValueId Emitter::pad(const ir::Node& n, const Index& index) {
  const std::vector<ir::Dim>& dims = type(n.operands[0]).dims;
  Index at;
  ValueId inside = b.boolean(true);
  for (size_t i = 0; i < dims.size(); ++i) {
    at.push_back(b.sub(index[i], scalar(n.operands[i + 2])));
    inside = b.both(inside, b.both(b.le(b.i64(0), at[i]), b.lt(at[i], size(dims[i]))));
  }
  ValueId value = scalar(n.operands[1]);
  return branch(inside, b.type(value), [&] { return pull(n.operands[0], at); }, [&] { return value; });
}

ValueId Emitter::concat(const ir::Node& n, ir::NodeId id, const Index& index) {
  size_t axis = static_cast<size_t>(n.as<ir::AxisAttrs>().axis);
  DType dtype = value_type(type(n.results[0]).dtype);
  std::vector<ValueId> starts{b.i64(0)};
  for (ir::ValueId x : n.operands)
    starts.push_back(b.add(starts.back(), size(type(x).dims[axis])));
  auto piece = [&](size_t i) {
    Index at = index;
    at[axis] = b.sub(index[axis], starts[i]);
    return pull(n.operands[i], at);
  };
  if (auto it = concat_piece.find(id.index); it != concat_piece.end()) return piece(it->second);
  const auto window = window_view(function, n);
  if (window && inside(function[window->slice].results[0])) {
    const ir::Node& slice = function[window->slice];
    Index first = index;
    first[axis] = b.i64(0);
    Index at = reshape_index(type(slice.results[0]).dims, type(n.operands[0]).dims, first);
    for (size_t i = 0; i < at.size(); ++i)
      at[i] = b.add(scalar(slice.operands[i + 1]), b.mul(at[i], b.i64(slice.as<ir::StepsAttrs>().steps[i])));
    at[window->along] = b.add(at[window->along], b.mul(index[axis], b.i64(window->distance)));
    return pull(slice.operands[0], at);
  }
  // By halves, so that many pieces cost few comparisons, and no nest as deep as they are many.
  std::function<ValueId(size_t, size_t)> among = [&](size_t first, size_t last) {
    if (first + 1 == last) return piece(first);
    size_t middle = first + (last - first) / 2;
    return branch(
        b.lt(index[axis], starts[middle]), dtype, [&] { return among(first, middle); },
        [&] { return among(middle, last); });
  };
  return among(0, n.operands.size());
}

// An element of an updated tensor: the new value where the slice covers it, else the old one.
ValueId Emitter::update_element(const ir::Node& n, const Index& index) {
  ir::ValueId x = n.operands[0], value = n.operands[1];
  const std::vector<ir::Dim>& dims = type(value).dims;
  const auto& [mode, steps] = n.as<ir::UpdateAttrs>();
  bool element = type(value).is_scalar() && steps.empty();
  ValueId covered = b.boolean(true);
  Index at;
  for (size_t i = 0; i < index.size(); ++i) {
    ValueId start = scalar(n.operands[i + 2]);
    if (element) {
      covered = b.both(covered, b.eq(index[i], start));
      continue;
    }
    int64_t step = steps[i];
    ValueId distance = step > 0 ? b.sub(index[i], start) : b.sub(start, index[i]);
    ValueId width = b.i64(step > 0 ? step : -step);
    // Distances below zero are out of the slice, and UDiv wants none of them.
    ValueId valid = b.le(b.i64(0), distance);
    ValueId safe = b.select(valid, distance, b.i64(0));
    at.push_back(b.udiv(safe, width));
    ValueId on_step = b.eq(b.urem(safe, width), b.i64(0));
    covered = b.both(covered, b.both(valid, b.both(on_step, b.lt(at.back(), size(dims[i])))));
  }
  DType dtype = type(x).dtype;
  return branch(
      covered, value_type(dtype),
      [&] {
        ValueId v = pull(value, at);
        return mode == ir::UpdateMode::Add ? expand(b, ScalarOp::Add, dtype, {pull(x, index), v}) : v;
      },
      [&] { return pull(x, index); });
}

bool Emitter::each_access(ir::ValueId v, const AxisMap& map,
                          const std::function<void(ir::ValueId, const AxisMap&)>& found,
                          std::set<std::pair<uint32_t, AxisMap>>& seen) const {
  if (map.empty() || !seen.emplace(v.index, map).second) return true;
  if (!inside(v)) {
    found(v, map);
    return true;
  }
  if (!function[v].producer.valid()) return false;
  const ir::Node& n = producer(v);
  const std::vector<ir::Dim>& dims = type(v).dims;
  switch (n.op) {
  case ir::Op::Elementwise:
  case ir::Op::Convert:
    return std::all_of(n.operands.begin(), n.operands.end(), [&](ir::ValueId operand) {
      return type(operand).dims.empty() || (type(operand).dims == dims && each_access(operand, map, found, seen));
    });
  case ir::Op::Transpose: {
    AxisMap of_operand(map.size());
    for (size_t i = 0; i < map.size(); ++i)
      of_operand[static_cast<size_t>(n.as<ir::AxesAttrs>().axes[i])] = map[i];
    return each_access(n.operands[0], of_operand, found, seen);
  }
  case ir::Op::Broadcast: {
    const std::vector<ir::Dim>& from = type(n.operands[0]).dims;
    AxisMap of_operand(from.size());
    for (size_t i = 0; i < from.size(); ++i)
      if (from[i] != ir::Dim::of(1)) of_operand[i] = map[static_cast<size_t>(n.as<ir::AxesAttrs>().axes[i])];
    return each_access(n.operands[0], of_operand, found, seen);
  }
  default: return false;
  }
}

bool Emitter::lies_as_one(ir::ValueId v, size_t axis) const {
  if (!inside(v)) return true;
  if (!function[v].producer.valid()) return false;
  const ir::Node& n = producer(v);
  switch (n.op) {
  case ir::Op::Elementwise:
  case ir::Op::Convert:
    return std::all_of(n.operands.begin(), n.operands.end(), [&](ir::ValueId operand) {
      return type(operand).dims.empty() || (type(operand).dims == type(v).dims && lies_as_one(operand, axis));
    });
  case ir::Op::Transpose: {
    const auto at = [&](size_t of) { return static_cast<size_t>(n.as<ir::AxesAttrs>().axes[of]); };
    return at(axis) + 1 == at(axis + 1) && lies_as_one(n.operands[0], at(axis));
  }
  case ir::Op::Broadcast: {
    const std::vector<ir::Dim>& from = type(n.operands[0]).dims;
    std::optional<size_t> first, second;
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] == ir::Dim::of(1)) continue;
      const auto to = static_cast<size_t>(n.as<ir::AxesAttrs>().axes[i]);
      if (to == axis) first = i;
      if (to == axis + 1) second = i;
    }
    if (!first && !second) return true;
    return first && second && *first + 1 == *second && lies_as_one(n.operands[0], *first);
  }
  case ir::Op::Slice: { // of the second axis all
    const std::vector<int64_t>& steps = n.as<ir::StepsAttrs>().steps;
    return steps[axis] == 1 && steps[axis + 1] == 1 && type(n.operands[0]).dims[axis + 1] == type(v).dims[axis + 1] &&
           lies_as_one(n.operands[0], axis);
  }
  default: return false;
  }
}

} // namespace tl::kir

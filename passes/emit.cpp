#include "passes/emit.h"
#include "ir/graph/op_info.h"
#include <algorithm>

namespace tl {
using namespace ir;

std::vector<int64_t> other_axes(size_t rank, const std::vector<int64_t>& axes) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < static_cast<int64_t>(rank); ++i)
    if (!std::count(axes.begin(), axes.end(), i)) result.push_back(i);
  return result;
}

std::vector<int64_t> to_front(size_t rank, int64_t axis) {
  std::vector<int64_t> axes{axis};
  for (int64_t other : other_axes(rank, {axis}))
    axes.push_back(other);
  return axes;
}

std::vector<int64_t> inverse(const std::vector<int64_t>& axes) {
  std::vector<int64_t> result(axes.size());
  for (size_t i = 0; i < axes.size(); ++i)
    result[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
  return result;
}

ValueId Emit::number(DType t, double value) {
  return builder_.constant(t, convert_scalar(DType::F64, t, Scalar::of(value)));
}

ValueId Emit::filled(const Type& t, double value) {
  std::vector<Dim> wanted = t.dims;
  return splat(number(t.dtype, value), std::move(wanted));
}

ValueId Emit::iota(const Dim& count) { return builder_.one(Op::Iota, {}, Type::tensor(DType::I64, {count}), {}, loc_); }

ValueId Emit::op(ScalarOp o, std::vector<ValueId> operands) {
  DType t = type(operands[o == ScalarOp::Where ? 1 : 0]).dtype;
  std::vector<Dim> shape;
  for (ValueId v : operands)
    if (!dims(v).empty()) shape = dims(v);
  return builder_.one(Op::Elementwise, std::move(operands), Type::tensor(result_type(o, t), std::move(shape)),
                      ElementwiseAttrs{o}, loc_);
}

Dim Emit::product(const std::vector<Dim>& dims) {
  Dim n = Dim::of(1);
  for (const Dim& dim : std::vector<Dim>(dims)) { // a copy: new nodes may move what is given
    if (n.is_constant() && dim.is_constant())
      n = Dim::of(n.constant * dim.constant);
    else
      n = n == Dim::of(1) ? dim : Dim::of(mul(size(n), size(dim)));
  }
  return n;
}

ValueId Emit::convert(ValueId x, DType to) {
  if (type(x).dtype == to) return x;
  std::vector<Dim> shape = dims(x);
  return builder_.one(Op::Convert, {x}, Type::tensor(to, std::move(shape)), {}, loc_);
}

ValueId Emit::reshape(ValueId x, std::vector<Dim> shape) {
  if (dims(x) == shape) return x;
  DType t = type(x).dtype;
  return builder_.one(Op::Reshape, {x}, Type::tensor(t, std::move(shape)), {}, loc_);
}

ValueId Emit::transpose(ValueId x, std::vector<int64_t> axes) {
  if (std::is_sorted(axes.begin(), axes.end())) return x;
  Type t = Type::tensor(type(x).dtype, {});
  for (int64_t axis : axes)
    t.dims.push_back(dims(x)[static_cast<size_t>(axis)]);
  return builder_.one(Op::Transpose, {x}, std::move(t), AxesAttrs{std::move(axes)}, loc_);
}

ValueId Emit::broadcast(ValueId x, std::vector<int64_t> axes, std::vector<Dim> shape) {
  if (dims(x) == shape) return x;
  DType t = type(x).dtype;
  return builder_.one(Op::Broadcast, {x}, Type::tensor(t, std::move(shape)), AxesAttrs{std::move(axes)}, loc_);
}

ValueId Emit::splat(ValueId scalar, std::vector<Dim> shape) {
  return shape.empty() ? scalar : broadcast(scalar, {}, std::move(shape));
}

ValueId Emit::slice(ValueId x, std::vector<ValueId> starts, std::vector<int64_t> steps, std::vector<Dim> shape) {
  DType t = type(x).dtype;
  starts.insert(starts.begin(), x);
  return builder_.one(Op::Slice, std::move(starts), Type::tensor(t, std::move(shape)), StepsAttrs{std::move(steps)},
                      loc_);
}

ValueId Emit::update(ValueId x, ValueId value, std::vector<ValueId> starts, std::vector<int64_t> steps,
                     UpdateMode mode) {
  Type t = type(x);
  starts.insert(starts.begin(), {x, value});
  return builder_.one(Op::Update, std::move(starts), std::move(t), UpdateAttrs{mode, std::move(steps)}, loc_);
}

ValueId Emit::at(ValueId x, std::vector<ValueId> positions) {
  Type t = type(x);
  t.dims.erase(t.dims.begin(), t.dims.begin() + static_cast<long>(positions.size()));
  positions.insert(positions.begin(), x);
  return builder_.one(Op::Index, std::move(positions), std::move(t), {}, loc_);
}

ValueId Emit::with_at(ValueId x, std::vector<ValueId> positions, ValueId value, UpdateMode mode) {
  std::vector<Dim> shape = dims(x);
  if (positions.size() == shape.size()) return update(x, value, std::move(positions), {}, mode);
  for (size_t i = 0; i < positions.size(); ++i)
    shape[i] = Dim::of(1);
  value = reshape(value, shape);
  while (positions.size() < shape.size())
    positions.push_back(i64(0));
  std::vector<int64_t> steps(shape.size(), 1);
  return update(x, value, std::move(positions), std::move(steps), mode);
}

ValueId Emit::reduce(ReduceOp o, ValueId x, std::vector<int64_t> axes) {
  Type t = type(x);
  if (gives_position(o)) t.dtype = DType::I64;
  std::vector<Dim> kept;
  for (int64_t axis : other_axes(t.dims.size(), axes))
    kept.push_back(t.dims[static_cast<size_t>(axis)]);
  t.dims = std::move(kept);
  return builder_.one(Op::Reduce, {x}, std::move(t), ReduceAttrs{o, std::move(axes)}, loc_);
}

ValueId Emit::sum(ValueId x, std::vector<int64_t> axes) {
  if (axes.empty()) return x;
  DType t = type(x).dtype;
  return convert(reduce(ReduceOp::Sum, convert(x, accumulator_of(t)), std::move(axes)), t);
}

ValueId Emit::scan(ReduceOp o, ValueId x, int64_t axis) {
  Type t = type(x);
  return builder_.one(Op::Scan, {x}, std::move(t), ScanAttrs{o, axis}, loc_);
}

ValueId Emit::gather(ValueId x, ValueId idx, int64_t axis) {
  Type t = type(x);
  std::vector<Dim> positions = dims(idx);
  t.dims.erase(t.dims.begin() + axis);
  t.dims.insert(t.dims.begin() + axis, positions.begin(), positions.end());
  return builder_.one(Op::Gather, {x, idx}, std::move(t), AxisAttrs{axis}, loc_);
}

ValueId Emit::scatter(ValueId x, ValueId idx, ValueId values, UpdateMode mode) {
  Type t = type(x);
  return builder_.one(Op::Scatter, {x, idx, values}, std::move(t), ScatterAttrs{mode}, loc_);
}

ValueId Emit::flip(ValueId x, int64_t axis) {
  std::vector<Dim> shape = dims(x);
  std::vector<ValueId> starts;
  std::vector<int64_t> steps;
  for (size_t i = 0; i < shape.size(); ++i) {
    bool here = static_cast<int64_t>(i) == axis;
    starts.push_back(here ? sub(size(shape[i]), i64(1)) : i64(0));
    steps.push_back(here ? -1 : 1);
  }
  return slice(x, std::move(starts), std::move(steps), std::move(shape));
}

ValueId Emit::contract(ValueId a, ValueId b, std::vector<int64_t> a_labels, std::vector<int64_t> b_labels,
                       std::vector<int64_t> labels) {
  Type t = Type::tensor(type(a).dtype, {});
  for (int64_t label : labels) {
    auto in_a = std::find(a_labels.begin(), a_labels.end(), label);
    auto in_b = std::find(b_labels.begin(), b_labels.end(), label);
    t.dims.push_back(in_a != a_labels.end() ? dims(a)[static_cast<size_t>(in_a - a_labels.begin())]
                                            : dims(b)[static_cast<size_t>(in_b - b_labels.begin())]);
  }
  ContractAttrs attrs{std::move(a_labels), std::move(b_labels), std::move(labels)};
  return builder_.one(Op::Contract, {a, b}, std::move(t), std::move(attrs), loc_);
}

// ---- lists

std::vector<ValueId> Emit::element(ValueId list, ValueId i) {
  std::vector<Type> types = type(list).elements;
  size_t width = types.size();
  std::vector<LeafAxis> sizes;
  for (size_t leaf = 0; leaf < width; ++leaf)
    for (size_t axis = 0; axis < types[leaf].dims.size(); ++axis)
      sizes.push_back({static_cast<int64_t>(leaf), static_cast<int64_t>(axis)});
  types.insert(types.end(), sizes.size(), Type::scalar(DType::I64));
  NodeId node = builder_.node(Op::ListGet, {list, i}, std::move(types), ListGetAttrs{sizes}, loc_);
  std::vector<ValueId> results = function()[node].results;
  for (size_t k = 0; k < sizes.size(); ++k)
    function()[results[static_cast<size_t>(sizes[k].leaf)]].type.dims[static_cast<size_t>(sizes[k].axis)] =
        Dim::of(results[width + k]);
  results.resize(width);
  return results;
}

ValueId Emit::length(ValueId list) { return builder_.one(Op::ListLength, {list}, Type::scalar(DType::I64), {}, loc_); }

ValueId Emit::with_element(ValueId list, ValueId i, std::vector<ValueId> leaves) {
  Type t = type(list);
  leaves.insert(leaves.begin(), {list, i});
  return builder_.one(Op::ListSet, std::move(leaves), std::move(t), {}, loc_);
}

ValueId Emit::list_of(const Type& t, std::vector<ValueId> leaves) {
  const ListMakeAttrs attrs{static_cast<int64_t>(t.elements.size()), leaves.empty() ? 0 : 1};
  return builder_.one(Op::ListMake, std::move(leaves), Type(t), attrs, loc_);
}

ValueId Emit::append(ValueId list, std::vector<ValueId> leaves) {
  Type t = type(list);
  const ListAppendAttrs attrs{static_cast<int64_t>(leaves.size())};
  leaves.insert(leaves.begin(), list);
  return builder_.one(Op::ListAppend, std::move(leaves), std::move(t), attrs, loc_);
}

ValueId Emit::list_slice(ValueId list, ValueId first, ValueId last) {
  Type t = type(list);
  return builder_.one(Op::ListSlice, {list, first, last}, std::move(t), ListSliceAttrs{true, true, false}, loc_);
}

ValueId Emit::list_by(const Type& t, ValueId count, const Element& element) {
  Type list = t;
  return loop(i64(0), count, i64(1), {list_of(list, {})},
              [&](Emit& in, ValueId i, const std::vector<ValueId>& carried) {
                return std::vector<ValueId>{in.append(carried[0], element(in, i))};
              })[0];
}

ValueId Emit::still(ValueId list) {
  Type t = type(list);
  return list_by(t, length(list), [&](Emit& in, ValueId i) {
    std::vector<ValueId> leaves = in.element(list, i);
    for (ValueId& leaf : leaves) {
      Type own = in.type(leaf);
      if (own.is_list())
        leaf = in.still(leaf);
      else if (own.is_tensor() && has_zero(own.dtype))
        leaf = in.splat(in.builder().constant(own.dtype, {}), own.dims);
    }
    return leaves;
  });
}

ValueId Emit::sum(ValueId list, ValueId more) {
  Type t = type(list);
  return list_by(t, length(list), [&](Emit& in, ValueId i) {
    std::vector<ValueId> leaves = in.element(list, i), others = in.element(more, i);
    for (size_t k = 0; k < leaves.size(); ++k) {
      Type own = in.type(leaves[k]);
      if (own.is_list())
        leaves[k] = in.sum(leaves[k], others[k]);
      else if (own.is_tensor() && is_float(own.dtype))
        leaves[k] = in.add(leaves[k], in.reshape(others[k], own.dims));
    }
    return leaves;
  });
}

std::vector<ValueId> Emit::loop(ValueId lo, ValueId hi, ValueId step, std::vector<ValueId> initial, const Body& body) {
  Region region;
  Emit inner(builder_.module(), builder_.function(), region, loc_);
  ValueId index = inner.builder_.param(Type::scalar(DType::I64));
  std::vector<ValueId> params;
  std::vector<Type> types;
  for (ValueId value : initial) {
    types.push_back(type(value));
    params.push_back(inner.builder_.param(Type(types.back())));
  }
  region.yields = body(inner, index, params);
  initial.insert(initial.begin(), {lo, hi, step});
  std::vector<Region> regions;
  regions.push_back(std::move(region));
  NodeId node = builder_.node(Op::For, std::move(initial), std::move(types), {}, loc_, std::move(regions));
  return function()[node].results;
}

} // namespace tl

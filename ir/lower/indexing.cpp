#include "abi/sort_op.h"
#include "ir/lower/function.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace tl::ir {

using Kind = typed::Subscript::Kind;

namespace {

bool only_leading_mask(const std::vector<typed::Subscript>& items) {
  return items[0].kind == Kind::Mask &&
         std::all_of(items.begin() + 1, items.end(), [](auto& item) { return item.kind == Kind::Full; });
}

} // namespace

Dim FunctionLowerer::product(const std::vector<Dim>& sizes) {
  int64_t constant = 1;
  ValueId value;
  for (const Dim& d : sizes) {
    if (d.is_constant())
      constant *= d.constant;
    else
      value = value.valid() ? scalar(ScalarOp::Mul, {value, d.value}) : d.value;
  }
  if (!value.valid()) return Dim::of(constant);
  if (constant == 0) return Dim::of(0);
  return Dim::of(constant == 1 ? value : scalar(ScalarOp::Mul, {value, i64(constant)}));
}

// i < 0 ? i + n : i, guarded to be in range. Of one index or of each in a tensor.
ValueId FunctionLowerer::wrapped(ValueId index, const Dim& size, size_t axis, const typed::Subscript& item) {
  ValueId n = here().size(size), zero = i64(0);
  LocId at = loc(item.span);
  std::vector<Dim> shape = type(index).dims;
  auto each = [&](ScalarOp op, std::vector<ValueId> operands) {
    return elementwise(op, std::move(operands), shape, at);
  };
  uint32_t s =
      site("IndexOutOfRange", fmt::format("index {{0}} is out of range for axis {} of size {{1}}", axis), item.span);
  NodeId producer = f_[index].producer;
  if (shape.empty() && producer.valid() && f_[producer].op == Op::Constant) {
    auto i = f_[producer].as<ConstantAttrs>().literal.as<int64_t>();
    ValueId value = i < 0 ? scalar(ScalarOp::Add, {n, index}) : index;
    ValueId fine = i < 0 ? scalar(ScalarOp::Ge, {value, zero}) : scalar(ScalarOp::Lt, {index, n});
    return guard(value, fine, s, {index, n}, item.span);
  }
  ValueId value = each(ScalarOp::Where, {each(ScalarOp::Lt, {index, zero}), each(ScalarOp::Add, {index, n}), index});
  ValueId fine = each(ScalarOp::And, {each(ScalarOp::Ge, {value, zero}), each(ScalarOp::Lt, {value, n})});
  return guard(value, fine, s, {index, n}, item.span);
}

ValueId FunctionLowerer::slice_start(const typed::Subscript& item, const Dim& size) {
  ValueId start = size_value(item.start);
  if (item.step == 0 || (!item.claimed && !keeps_checks())) return start;
  ValueId count = size_value(item.length), n = here().size(size);
  auto emit = [&](ScalarOp op, ValueId a, ValueId b) { return scalar(op, {a, b}); };
  auto inside = [&](ValueId i) { return emit(ScalarOp::And, emit(ScalarOp::Ge, i, i64(0)), emit(ScalarOp::Lt, i, n)); };
  ValueId last = emit(ScalarOp::Add, start, emit(ScalarOp::Mul, emit(ScalarOp::Sub, count, i64(1)), i64(item.step)));
  ValueId some = emit(ScalarOp::And, inside(start), inside(last));
  ValueId fine = emit(ScalarOp::Or, emit(ScalarOp::Eq, count, i64(0)),
                      emit(ScalarOp::And, emit(ScalarOp::Gt, count, i64(0)), some));
  if (!item.claimed) return proven(start, fine, item.span);
  const uint32_t outside = site("IndexOutOfRange", "a slice from {0} is outside of an axis of size {1}", item.span);
  return guard(start, fine, outside, {start, n}, item.span);
}

FunctionLowerer::Subscripts FunctionLowerer::evaluate(const std::vector<typed::Subscript>& items,
                                                      const std::vector<Dim>& base, const std::vector<Size>& shape,
                                                      const std::vector<typed::SizeCheck>& checks,
                                                      std::span<const typed::SizeBind> binds) {
  std::vector<ValueId> given; // all are evaluated before any is checked
  for (const typed::Subscript& item : items) {
    if (!binds.empty() && item.kind == Kind::Slice) {
      size_t own = std::max(binds_of(item.start, binds), binds_of(item.length, binds));
      bind_all(binds.first(own));
      binds = binds.subspan(own);
    }
    ValueId outer = std::exchange(placing_, ValueId{}); // index tensors that are written here go along
    given.push_back(item.value ? convert_index(one(*item.value)) : ValueId{});
    placing_ = outer;
  }
  bind_all(binds);
  Subscripts result;
  result.items = &items;
  size_t axis = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const typed::Subscript& item = items[i];
    ValueId value = given[i];
    switch (item.kind) {
    case Kind::At:
      if (!item.in_range) value = wrapped(value, base.at(axis), axis, item);
      if (item.in_range && keeps_checks()) value = proven_below(value, here().size(base.at(axis)), item.span);
      break;
    case Kind::Tensor:
      ++result.tensors;
      value = wrapped(value, base.at(axis), axis, item);
      break;
    case Kind::Mask: {
      ++result.masks;
      size_t rank = type(value).dims.size();
      value = retyped(checked(value, checks),
                      {base.begin() + static_cast<long>(axis), base.begin() + static_cast<long>(axis + rank)});
      axis += rank - 1;
      break;
    }
    case Kind::Slice: result.steps = result.steps || item.step == 0; break;
    case Kind::Full: break;
    case Kind::NewAxis: --axis; break;
    }
    ++axis;
    result.values.push_back(value);
  }
  return result.masks && !only_leading_mask(items) ? without_mask(std::move(result), shape) : result;
}

// Each mask as an index tensor for each of its axes. The last axis of all index tensors must be as long as the first
// mask has true elements, unless it is a literal 1. Each may be read under the size of another: so all are guarded.
FunctionLowerer::Subscripts FunctionLowerer::without_mask(Subscripts subscripts, const std::vector<Size>& shape) {
  Subscripts result;
  result.steps = subscripts.steps;
  result.expanded = std::make_shared<std::vector<typed::Subscript>>();
  result.items = result.expanded.get();
  std::vector<size_t> paired, compared; // which values; of those, one for each subscript beside the first mask
  for (size_t i = 0; i < subscripts.items->size(); ++i) {
    const typed::Subscript& item = (*subscripts.items)[i];
    LocId at = loc(item.span);
    auto add = [&](Kind kind, ValueId value) {
      typed::Subscript copy;
      copy.kind = kind;
      copy.start = item.start;
      copy.length = item.length;
      copy.step = item.step;
      copy.span = item.span;
      result.expanded->push_back(std::move(copy));
      result.values.push_back(value);
    };
    if (item.kind != Kind::Mask) {
      if (item.kind == Kind::Tensor) ++result.tensors;
      if (item.kind == Kind::Tensor && !item.value->type.shape.back().is(1)) {
        paired.push_back(result.values.size());
        compared.push_back(result.values.size());
      }
      add(item.kind, subscripts.values[i]);
      continue;
    }
    const std::vector<Dim> sizes = type(subscripts.values[i]).dims;
    ValueId where = mask_positions(subscripts.values[i], at);
    const std::vector<Dim> found = type(where).dims;
    if (result.count.valid())
      compared.push_back(result.values.size());
    else
      result.count = here().size(found[0]);
    for (size_t k = 0; k < sizes.size(); ++k) {
      paired.push_back(result.values.size());
      ValueId part = where;
      Dim stride = product({sizes.begin() + static_cast<long>(k) + 1, sizes.end()});
      if (!(stride == Dim::of(1))) part = elementwise(ScalarOp::FloorDiv, {part, here().size(stride)}, found, at);
      if (k > 0) part = elementwise(ScalarOp::Mod, {part, here().size(sizes[k])}, found, at);
      add(Kind::Tensor, part);
      ++result.tensors;
    }
  }
  for (size_t i : compared) {
    const Dim last = type(result.values[i]).dims.back(); // a copy: new values move the old ones
    const Span span = (*result.items)[i].span;
    ValueId size = here().size(last);
    ValueId fine = scalar(ScalarOp::Eq, {size, result.count});
    uint32_t s = site("ShapeMismatch", "the mask chooses {1} places, and the index beside it has size {0}", span);
    for (size_t k : paired)
      result.values[k] = guard(result.values[k], fine, s, {size, result.count}, span);
  }
  for (const Size& size : shape)
    if (auto atom = size.as_atom(); atom && !knows(size)) {
      bind_atom(*atom, result.count);
      result.count_atom = atom;
    }
  return result;
}

ValueId FunctionLowerer::convert_index(ValueId value) {
  DType t = type(value).dtype;
  return is_int(t) ? convert(value, DType::I64) : value;
}

// ---- reading

Leaves FunctionLowerer::index(const typed::Expr& e) {
  LocId at = loc(e.span);
  const Leaves bases = expr(*e.operands[0]);            // two of complex numbers
  const std::vector<Dim> dims = type(bases.at(0)).dims; // a copy: evaluating adds values
  Subscripts subscripts = evaluate(e.as<typed::IndexExpr>().subscripts, dims, e.type.shape, e.checks, e.binds);
  Leaves result;
  for (ValueId base : bases) {
    base = checked(base, e.checks);
    result.push_back(subscripts.masks ? read_mask(base, subscripts, at) : read(base, subscripts, e.type.shape, at));
  }
  if (!subscripts.count_atom) bind_fresh(e.fresh, e.type, result);
  return as_type(std::move(result), e.type);
}

ValueId FunctionLowerer::gather(ValueId x, ValueId idx, int64_t axis, LocId at) {
  Type t = Type::tensor(type(x).dtype, {});
  const std::vector<Dim>&from = type(x).dims, &by = type(idx).dims;
  t.dims.assign(from.begin(), from.begin() + axis);
  t.dims.insert(t.dims.end(), by.begin(), by.end());
  t.dims.insert(t.dims.end(), from.begin() + axis + 1, from.end());
  return here().one(Op::Gather, {x, idx}, std::move(t), AxisAttrs{axis}, at);
}

ValueId FunctionLowerer::scatter(ValueId x, ValueId idx, ValueId value, UpdateMode mode, LocId at) {
  Type t = type(x);
  return here().one(Op::Scatter, {x, idx, value}, std::move(t), ScatterAttrs{mode}, at);
}

ValueId FunctionLowerer::positions_along(const std::vector<Dim>& base, const std::vector<Dim>& result, ValueId idx,
                                         size_t axis, const std::vector<size_t>& to, LocId at) {
  ValueId sum;
  for (size_t k = 0; k < base.size(); ++k) {
    if (k != axis && base[k] == Dim::of(1)) continue;
    ValueId part = k == axis ? idx : iota(result[to[k]], at);
    Dim stride = product({base.begin() + static_cast<long>(k) + 1, base.end()});
    if (!(stride == Dim::of(1)))
      part = elementwise(ScalarOp::Mul, {part, here().size(stride)}, std::vector<Dim>(type(part).dims), at);
    if (k != axis) part = spread(part, {static_cast<int64_t>(to[k])}, result, at);
    sum = sum.valid() ? elementwise(ScalarOp::Add, {sum, part}, result, at) : part;
  }
  return sum;
}

ValueId FunctionLowerer::read(ValueId base, const Subscripts& subscripts, const std::vector<Size>& shape, LocId at) {
  const std::vector<typed::Subscript>& items = *subscripts.items;
  bool any_at = std::any_of(items.begin(), items.end(), [](auto& item) { return item.kind == Kind::At; });
  if (subscripts.tensors > 1 || (subscripts.tensors == 1 && any_at) || subscripts.steps) {
    std::vector<Dim> result = dims(shape);
    ValueId where = linear_indices(base, subscripts, result, at);
    return gather(with_leading_flat(base, type(base).dims.size()), where, 0, at);
  }
  // Leading single positions choose an element or sub-tensor.
  size_t first = 0;
  std::vector<ValueId> leading{base};
  while (first < items.size() && items[first].kind == Kind::At)
    leading.push_back(subscripts.values[first++]);
  if (leading.size() > 1) {
    Type t = type(base);
    t.dims.erase(t.dims.begin(), t.dims.begin() + static_cast<long>(leading.size() - 1));
    base = here().one(Op::Index, leading, std::move(t), {}, at);
  }
  std::vector<ValueId> starts;
  std::vector<int64_t> steps;
  std::vector<Dim> lengths = type(base).dims;
  bool cuts = false;
  std::optional<size_t> tensor; // which item
  int64_t tensor_axis = 0;
  for (size_t i = first; i < items.size(); ++i) {
    const typed::Subscript& item = items[i];
    if (item.kind == Kind::NewAxis) continue;
    Dim& length = lengths.at(starts.size());
    if (item.kind == Kind::Tensor) {
      tensor = i;
      tensor_axis = static_cast<int64_t>(starts.size());
    }
    bool cut = item.kind == Kind::At || item.kind == Kind::Slice;
    cuts = cuts || cut;
    starts.push_back(item.kind == Kind::At      ? subscripts.values[i]
                     : item.kind == Kind::Slice ? slice_start(item, length)
                                                : ValueId{});
    if (item.kind == Kind::At) length = Dim::of(1);
    if (item.kind == Kind::Slice) length = dim(item.length);
    steps.push_back(item.kind == Kind::Slice ? item.step : 1);
  }
  if (cuts) {
    for (ValueId& start : starts)
      if (!start.valid()) start = i64(0);
    base = slice(base, starts, steps, lengths, at);
  }
  if (tensor) base = gather(base, subscripts.values[*tensor], tensor_axis, at);
  return retyped(base, dims(shape)); // single positions go, new axes come
}

ValueId FunctionLowerer::with_leading_flat(ValueId base, size_t axes) {
  const std::vector<Dim> from = type(base).dims;
  std::vector<Dim> to{product({from.begin(), from.begin() + static_cast<long>(axes)})};
  to.insert(to.end(), from.begin() + static_cast<long>(axes), from.end());
  return retyped(base, to);
}

ValueId FunctionLowerer::read_mask(ValueId base, const Subscripts& subscripts, LocId at) {
  ValueId mask = subscripts.values[0];
  ValueId flat = with_leading_flat(base, type(mask).dims.size());
  return gather(flat, mask_positions(mask, at), 0, at);
}

// The greatest of bools are the true ones, and of equals the first come first.
ValueId FunctionLowerer::mask_positions(ValueId mask, LocId at) {
  ValueId flat = with_leading_flat(mask, type(mask).dims.size());
  ValueId count = reduce(ReduceOp::Sum, convert(flat, DType::I64, at), {0}, {}, at);
  return here().one(Op::Sort, {flat}, Type::tensor(DType::I64, {Dim::of(count)}), SortAttrs{SortOp::Top}, at);
}

// For every position of the result, the row-major position in base that the subscripts mean.
ValueId FunctionLowerer::linear_indices(ValueId base, const Subscripts& subscripts, const std::vector<Dim>& result,
                                        LocId at) {
  const std::vector<typed::Subscript>& items = *subscripts.items;
  // Where the axes of the index tensors go: in their place if they and single positions are neighbours, else in front.
  size_t block_rank = 0, first = items.size(), last = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind == Kind::Tensor) block_rank = std::max(block_rank, type(subscripts.values[i]).dims.size());
    if (items[i].kind != Kind::Tensor && items[i].kind != Kind::At) continue;
    first = std::min(first, i);
    last = i;
  }
  bool together = true;
  for (size_t i = first; i <= last && i < items.size(); ++i)
    together = together && (items[i].kind == Kind::Tensor || items[i].kind == Kind::At);
  bool has_block = subscripts.tensors > 0;
  size_t block_at = 0, axis = has_block && !together ? block_rank : 0;
  std::vector<size_t> result_axis(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    if (has_block && together && i == first) {
      block_at = axis;
      axis += block_rank;
    }
    result_axis[i] = axis;
    if (items[i].kind == Kind::Slice || items[i].kind == Kind::Full || items[i].kind == Kind::NewAxis) ++axis;
  }
  if (axis != result.size()) throw std::logic_error("lowering: subscripts do not fit their result");

  std::vector<Dim> sizes = type(base).dims;
  ValueId sum;
  size_t base_axis = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind == Kind::NewAxis) continue;
    ValueId part = subscripts.values[i];
    std::vector<int64_t> axes;
    if (items[i].kind == Kind::Slice || items[i].kind == Kind::Full) {
      const Dim& length = result[result_axis[i]];
      part = iota(length, at);
      if (items[i].kind == Kind::Slice) {
        ValueId step = items[i].step == 0 ? subscripts.values[i] : i64(items[i].step);
        if (items[i].step != 1) part = elementwise(ScalarOp::Mul, {part, step}, {length}, at);
        part = elementwise(ScalarOp::Add, {part, size_value(items[i].start)}, {length}, at);
      }
      axes = {static_cast<int64_t>(result_axis[i])};
    } else if (items[i].kind == Kind::Tensor) {
      size_t rank = type(part).dims.size();
      for (size_t k = 0; k < rank; ++k)
        axes.push_back(static_cast<int64_t>(block_at + block_rank - rank + k));
    }
    ++base_axis;
    Dim stride = product({sizes.begin() + static_cast<long>(base_axis), sizes.end()});
    if (!(stride == Dim::of(1)))
      part = elementwise(ScalarOp::Mul, {part, here().size(stride)}, std::vector<Dim>(type(part).dims), at);
    if (!axes.empty() || !type(part).dims.empty()) {
      std::vector<Dim> own;
      const std::vector<Dim> had = type(part).dims;
      for (size_t k = 0; k < axes.size(); ++k)
        own.push_back(had[k] == Dim::of(1) ? Dim::of(1) : result[static_cast<size_t>(axes[k])]);
      part = retyped(part, own);
      part = here().one(Op::Broadcast, {part}, Type::tensor(DType::I64, result), AxesAttrs{axes}, at);
    }
    sum = sum.valid() ? elementwise(ScalarOp::Add, {sum, part},
                                    type(sum).dims.empty() && type(part).dims.empty() ? std::vector<Dim>{} : result, at)
                      : part;
  }
  return splat_to(sum, result, at);
}

ValueId FunctionLowerer::splat_to(ValueId value, const std::vector<Dim>& shape, LocId at) {
  return type(value).dims.empty() ? splat(value, shape, at) : value;
}

// ---- writing

// A value for each place that the mask among the subscripts chooses: the other sizes were compared when checked.
ValueId FunctionLowerer::guard_count(const Subscripts& subscripts, ValueId value, const std::vector<Size>& from,
                                     const std::vector<Size>& to, Span span) {
  for (size_t k = 0; subscripts.count_atom && k < from.size(); ++k) {
    if (from[k].is(1) || to[to.size() - from.size() + k] != Size::of(*subscripts.count_atom)) continue;
    ValueId given = here().size(type(value).dims[k]);
    uint32_t s = site("ShapeMismatch", "{0} values for {1} places that the mask chooses", span);
    value = guard(value, scalar(ScalarOp::Eq, {given, subscripts.count}), s, {given, subscripts.count}, span);
  }
  return value;
}

ValueId FunctionLowerer::write(ValueId base, const Subscripts& subscripts, ValueId value, const typed::Place& place,
                               const std::vector<Size>& value_shape, UpdateMode mode, Span span) {
  const std::vector<typed::Subscript>& items = *subscripts.items;
  LocId at = loc(span);
  if (subscripts.tensors || subscripts.steps) {
    value = splat_to(broadcast(value, value_shape, place.type.shape, at), dims(place.type.shape), at);
    bool rows = items[0].kind == Kind::Tensor && type(subscripts.values[0]).dims.size() == 1;
    for (size_t i = 1; i < items.size(); ++i)
      rows = rows && items[i].kind == Kind::Full;
    if (rows) {
      std::vector<Dim> wanted = type(base).dims;
      wanted[0] = type(subscripts.values[0]).dims[0];
      return scatter(base, subscripts.values[0], retyped(value, wanted), mode, at);
    }
    std::vector<Dim> whole = type(base).dims, part = dims(place.type.shape);
    ValueId where = with_leading_flat(linear_indices(base, subscripts, part, at), part.size());
    ValueId flat = with_leading_flat(base, whole.size());
    const std::vector<Dim> count = type(where).dims; // a copy: new values move the old ones
    ValueId values = retyped(with_leading_flat(value, part.size()), count);
    return retyped(scatter(flat, where, values, mode, at), whole);
  }
  std::vector<ValueId> operands{base, value};
  std::vector<Dim> lengths = type(base).dims;
  UpdateAttrs attrs{mode, {}};
  bool element = true;
  for (size_t i = 0; i < items.size(); ++i) {
    const typed::Subscript& item = items[i];
    if (item.kind == Kind::NewAxis) continue;
    Dim& length = lengths.at(operands.size() - 2);
    element = element && item.kind == Kind::At;
    operands.push_back(item.kind == Kind::At      ? subscripts.values[i]
                       : item.kind == Kind::Slice ? slice_start(item, length)
                                                  : i64(0));
    if (item.kind == Kind::At) length = Dim::of(1);
    if (item.kind == Kind::Slice) length = dim(item.length);
    attrs.steps.push_back(item.kind == Kind::Slice ? item.step : 1);
  }
  if (element) {
    attrs.steps.clear();
    operands[1] = retyped(value, {});
  } else {
    operands[1] = retyped(broadcast(value, value_shape, place.type.shape, at), lengths);
  }
  Type t = type(base);
  return here().one(Op::Update, std::move(operands), std::move(t), std::move(attrs), at);
}

// per_row: the value has a row for each true; otherwise its axes are the last ones of the base.
Leaves FunctionLowerer::write_mask(const Leaves& bases, const Subscripts& subscripts, Leaves values, size_t rank,
                                   const Combine& combine, Span span) {
  LocId at = loc(span);
  ValueId mask = subscripts.values[0];
  std::vector<Dim> shape = type(bases.at(0)).dims;
  size_t mask_rank = type(mask).dims.size();
  // As many axes as x[mask] has: one row for each true. Fewer: the same for each.
  if (rank == shape.size() - mask_rank + 1) {
    ValueId where = mask_positions(mask, at);
    Leaves flat, old, result;
    for (ValueId base : bases)
      flat.push_back(with_leading_flat(base, mask_rank));
    std::vector<Dim> wanted = type(flat[0]).dims;
    wanted[0] = type(where).dims[0];
    ValueId count = here().size(wanted[0]), given = here().size(type(values[0]).dims[0]);
    uint32_t s = site("ShapeMismatch", "{0} values for {1} places that the mask chooses", span);
    for (ValueId& value : values)
      value = retyped(guard(value, scalar(ScalarOp::Eq, {given, count}), s, {given, count}, span), wanted);
    for (ValueId x : flat)
      if (combine) old.push_back(gather(x, where, 0, at));
    if (combine) values = combine(old, values);
    for (size_t i = 0; i < flat.size(); ++i)
      result.push_back(retyped(scatter(flat[i], where, values[i], UpdateMode::Set, at), shape));
    return result;
  }
  auto spread = [&](ValueId x, size_t from) { // its axes are those of base from this one on
    if (type(x).dims.empty() || type(x).dims == shape) return x;
    AxesAttrs attrs;
    for (size_t i = 0; i < type(x).dims.size(); ++i)
      attrs.axes.push_back(static_cast<int64_t>(from + i));
    Type t = Type::tensor(type(x).dtype, shape);
    return here().one(Op::Broadcast, {x}, std::move(t), std::move(attrs), at);
  };
  for (ValueId& value : values)
    value = spread(value, shape.size() - type(value).dims.size());
  if (combine) values = combine(bases, values);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = elementwise(ScalarOp::Where, {spread(mask, 0), values[i], bases[i]}, shape, at);
  return values;
}

} // namespace tl::ir

// The functions of the prelude that are not elementwise; those that act are in effects.cpp. What the checker has made
// of their arguments: lang/typed.h.
#include "abi/sort_op.h"
#include "ir/lower/function.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::ir {

ValueId FunctionLowerer::guard_not_empty(ValueId x, ValueId count, Span span) {
  NodeId producer = f_[count].producer;
  if (producer.valid() && f_[producer].op == Op::Constant && f_[producer].as<ConstantAttrs>().literal.as<int64_t>() > 0)
    return x;
  uint32_t s = site("EmptyReduction", "there are no elements to choose from", span);
  return guard(x, scalar(ScalarOp::Gt, {count, i64(0)}), s, {}, span);
}

ValueId FunctionLowerer::builtin_reduce(const typed::Expr& e, ReduceOp op, ValueId x) {
  LocId at = loc(e.span);
  std::vector<Dim> reduced;
  const std::vector<int64_t>& axes = e.attrs<typed::ReduceAttrs>().axes;
  for (int64_t axis : axes)
    reduced.push_back(type(x).dims.at(static_cast<size_t>(axis)));
  const bool arg = gives_position(op);
  if (axes.empty()) return arg ? splat(i64(0), std::vector<Dim>(type(x).dims), at) : x;
  bool is_mean = e.is(Builtin::Mean);
  DType t = type(x).dtype;
  const bool wide = is_wide(op) && (t == DType::F16 || t == DType::BF16);
  ValueId r = reduce(op, wide ? convert(x, DType::F32, at) : x, axes, {}, at);
  if (is_mean) {
    ValueId count = convert(here().size(product(reduced)), type(r).dtype, at);
    r = elementwise(ScalarOp::Div, {r, count}, std::vector<Dim>(type(r).dims), at);
  }
  // The result is guarded, not the operand: inside a map that is one check, not one for each element.
  if (chooses(op)) r = guard_not_empty(r, here().size(product(reduced)), e.span);
  if (!arg) r = convert(r, t, at);
  return retyped(r, dims(e.type.shape)); // `keep` brings axes of size 1 back
}

ValueId FunctionLowerer::builtin_scan(const typed::Expr& e, ReduceOp op, ValueId x) {
  const LocId at = loc(e.span);
  const DType t = type(x).dtype;
  const bool wide = is_wide(op) && (t == DType::F16 || t == DType::BF16);
  if (wide) x = convert(x, DType::F32, at);
  Type scanned = type(x);
  return convert(here().one(Op::Scan, {x}, std::move(scanned), ScanAttrs{op, e.attrs<typed::AxisAttrs>().axis}, at), t,
                 at);
}

ValueId FunctionLowerer::sort(const typed::Expr& e, SortOp op, ValueId x) {
  return here().one(Op::Sort, {x}, Type::tensor(e.type.dtype, dims(e.type.shape)), SortAttrs{op}, loc(e.span));
}

ValueId FunctionLowerer::concat(std::vector<ValueId> parts, int64_t axis, const std::vector<Dim>& shape, LocId at) {
  if (parts.size() == 1) return retyped(parts[0], shape);
  for (ValueId& part : parts) {
    std::vector<Dim> wanted = shape;
    wanted[static_cast<size_t>(axis)] = type(part).dims.at(static_cast<size_t>(axis));
    part = retyped(part, wanted);
  }
  Type t = Type::tensor(type(parts[0]).dtype, shape);
  return here().one(Op::Concat, std::move(parts), std::move(t), AxisAttrs{axis}, at);
}

// a[…, m, k] @ b[…, k, n], leading axes broadcast; a vector has no m or n.
ValueId FunctionLowerer::matmul(const typed::Expr& e, ValueId a, ValueId b) {
  LocId at = loc(e.span);
  const std::vector<Size>&from_a = e.operands[0]->type.shape, &from_b = e.operands[1]->type.shape;
  const std::vector<Size>& to = e.type.shape;
  size_t own_a = std::min<size_t>(from_a.size(), 2), own_b = std::min<size_t>(from_b.size(), 2);
  size_t batch = to.size() - (own_a - 1) - (own_b - 1);
  std::vector<Dim> result = dims(to);
  auto m = static_cast<int64_t>(batch), n = m + 1, k = m + 2;
  Dim inner = type(a).dims.back(); // that of b was checked to be the same
  ContractAttrs attrs;
  // A factor without the axes that it stretches along: those do not vary it.
  auto factor = [&](ValueId x, const std::vector<Size>& from, size_t own, bool left) {
    std::vector<Dim> wanted;
    std::vector<int64_t>& labels = left ? attrs.lhs : attrs.rhs;
    size_t leading = from.size() - own;
    for (size_t i = 0; i < leading; ++i) {
      size_t axis = batch - leading + i;
      if (from[i].is(1) && !to[axis].is(1)) continue;
      wanted.push_back(result[axis]);
      labels.push_back(static_cast<int64_t>(axis));
    }
    if (left) {
      if (own == 2) {
        wanted.push_back(result[batch]);
        labels.push_back(m);
      }
      wanted.push_back(inner);
      labels.push_back(k);
    } else {
      wanted.push_back(inner);
      labels.push_back(k);
      if (own == 2) {
        wanted.push_back(result.back());
        labels.push_back(n);
      }
    }
    return retyped(x, wanted);
  };
  a = factor(a, from_a, own_a, true);
  b = factor(b, from_b, own_b, false);
  for (size_t i = 0; i < batch; ++i)
    attrs.result.push_back(static_cast<int64_t>(i));
  // A batch axis that both lack (1 against 1) is one of both; both have it then, as neither was left out.
  if (own_a == 2) attrs.result.push_back(m);
  if (own_b == 2) attrs.result.push_back(n);
  const DType t = type(a).dtype;
  return here().one(Op::Contract, {a, b}, Type::tensor(t, result), std::move(attrs), at);
}

ValueId FunctionLowerer::string(std::string text, LocId at) {
  return here().one(Op::ConstStr, {}, Type::str(), ConstStrAttrs{std::move(text)}, at);
}

// x[…, idx[…, j, …], …]: only the position along the axis changes.
ValueId FunctionLowerer::gather_along(const typed::Expr& e, ValueId x, ValueId idx) {
  LocId at = loc(e.span);
  auto axis = static_cast<size_t>(e.attrs<typed::AxisAttrs>().axis);
  const std::vector<Dim> base = type(x).dims, result = dims(e.type.shape);
  typed::Subscript item;
  item.span = e.span;
  idx = broadcast(wrapped(idx, base.at(axis), axis, item), e.operands[1]->type.shape, e.type.shape, at);
  if (base.size() == 1) return gather(x, idx, 0, at);
  std::vector<size_t> same;
  for (size_t k = 0; k < base.size(); ++k)
    same.push_back(k);
  return gather(with_leading_flat(x, base.size()), positions_along(base, result, idx, axis, same, at), 0, at);
}

ValueId FunctionLowerer::scatter_add(const typed::Expr& e, ValueId x, ValueId idx, ValueId value) {
  LocId at = loc(e.span);
  const auto& attrs = e.attrs<typed::ScatterAddAttrs>();
  const bool along_axis = attrs.along_axis;
  auto axis = static_cast<size_t>(attrs.axis);
  const std::vector<Dim> base = type(x).dims, places = dims(attrs.places);
  typed::Subscript item;
  item.span = e.span;
  idx = wrapped(idx, base.at(axis), axis, item);
  value = broadcast(value, e.operands[2]->type.shape, attrs.places, at);
  const std::vector<Dim> by = type(idx).dims;
  if (axis == 0 && !along_axis) { // whole slices
    std::vector<Dim> rows = base;
    rows[0] = product(by);
    return scatter(x, retyped(idx, {rows[0]}), retyped(value, rows), UpdateMode::Add, at);
  }
  std::vector<size_t> to;
  std::vector<int64_t> own;
  for (size_t k = 0; k < base.size(); ++k)
    to.push_back(k <= axis || along_axis ? k : k + by.size() - 1);
  if (!along_axis) {
    for (size_t k = 0; k < by.size(); ++k)
      own.push_back(static_cast<int64_t>(axis + k));
    std::vector<Dim> sized(places.begin() + static_cast<long>(axis),
                           places.begin() + static_cast<long>(axis + by.size()));
    idx = own.empty() ? splat(idx, places, at) : spread(retyped(idx, sized), own, places, at);
  } else
    idx = retyped(idx, places);
  ValueId where = with_leading_flat(positions_along(base, places, idx, axis, to, at), places.size());
  value = with_leading_flat(value, places.size());
  value = retyped(value, type(where).dims);
  return retyped(scatter(with_leading_flat(x, base.size()), where, value, UpdateMode::Add, at), base);
}

ValueId FunctionLowerer::stack(const typed::Expr& e, Leaves parts) {
  std::vector<Dim> part = dims(e.type.shape);
  const int64_t axis = e.attrs<typed::AxisAttrs>().axis;
  part.at(static_cast<size_t>(axis)) = Dim::of(1);
  for (ValueId& value : parts)
    value = retyped(value, part);
  return concat(std::move(parts), axis, dims(e.type.shape), loc(e.span));
}

ValueId FunctionLowerer::pad(const typed::Expr& e, ValueId x, ValueId value) {
  std::vector<ValueId> values{x, value};
  for (const typed::PadAttrs::Margins& margins : e.attrs<typed::PadAttrs>().margins)
    values.push_back(size_value(margins.before));
  const DType t = type(x).dtype;
  return here().one(Op::Pad, std::move(values), Type::tensor(t, dims(e.type.shape)), {}, loc(e.span));
}

ValueId FunctionLowerer::flip(const typed::Expr& e, ValueId x) {
  std::vector<ValueId> starts;
  std::vector<int64_t> steps;
  std::vector<Dim> sizes = type(x).dims;
  const std::vector<int64_t>& axes = e.attrs<typed::AxesAttrs>().axes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    bool flips = std::count(axes.begin(), axes.end(), static_cast<int64_t>(i)) > 0;
    starts.push_back(flips ? scalar(ScalarOp::Sub, {here().size(sizes[i]), i64(1)}) : i64(0));
    steps.push_back(flips ? -1 : 1);
  }
  return sizes.empty() ? x : slice(x, starts, steps, sizes, loc(e.span));
}

ValueId FunctionLowerer::full(const typed::Expr& e, const Leaves& operands) {
  LocId at = loc(e.span);
  ValueId filled = splat(operands.at(0), dims(e.type.shape), at);
  if (operands.size() < 2 || !shared_.program.uses_devices || type(filled).dims.empty()) return filled;
  return put(filled, convert(device_of(operands[1], at), DType::Device), at);
}

ValueId FunctionLowerer::eye(const typed::Expr& e) {
  LocId at = loc(e.span);
  std::vector<Dim> square = dims(e.type.shape);
  square[0] = checked(square[0], e.checks);
  square[1] = square[0];
  ValueId i = iota(square[0], at);
  auto along = [&](int64_t axis) {
    return here().one(Op::Broadcast, {i}, Type::tensor(DType::I64, square), AxesAttrs{{axis}}, at);
  };
  return convert(elementwise(ScalarOp::Eq, {along(0), along(1)}, square, at), part_of(e.type.dtype), at);
}

ValueId FunctionLowerer::arange(const typed::Expr& e, ValueId start, ValueId step) {
  LocId at = loc(e.span);
  std::vector<Dim> sizes = dims(e.type.shape);
  ValueId i = convert(iota(sizes.at(0), at), e.type.dtype, at);
  ValueId scaled = elementwise(ScalarOp::Mul, {i, step}, sizes, at);
  ValueId all = elementwise(ScalarOp::Add, {scaled, start}, sizes, at);
  NodeId producer = f_[step].producer;
  if (producer.valid() && f_[producer].op == Op::Constant) return all;
  uint32_t s = site("WrongArguments", "the step of `arange` cannot be 0", e.span);
  return guard(all, scalar(ScalarOp::Ne, {step, here().constant(type(step).dtype, {})}, at), s, {}, e.span);
}

// lo + i * step, and the last is hi itself.
ValueId FunctionLowerer::linspace(const typed::Expr& e, ValueId lo, ValueId hi) {
  LocId at = loc(e.span);
  std::vector<Dim> sizes = dims(e.type.shape);
  ValueId i = iota(sizes.at(0), at);
  ValueId last = scalar(ScalarOp::Sub, {here().size(sizes[0]), i64(1)});
  ValueId parts = convert(scalar(ScalarOp::Max, {last, i64(1)}), e.type.dtype);
  ValueId step = scalar(ScalarOp::Div, {scalar(ScalarOp::Sub, {hi, lo}), parts});
  ValueId line = elementwise(ScalarOp::Mul, {convert(i, e.type.dtype, at), step}, sizes, at);
  line = elementwise(ScalarOp::Add, {line, lo}, sizes, at);
  ValueId at_end = elementwise(ScalarOp::Eq, {i, last}, sizes, at);
  ValueId several = scalar(ScalarOp::Gt, {last, i64(0)});
  ValueId is_last = elementwise(ScalarOp::And, {at_end, several}, sizes, at);
  return elementwise(ScalarOp::Where, {is_last, hi, line}, sizes, at);
}

ValueId FunctionLowerer::take(const typed::Expr& e, ValueId x, ValueId idx) {
  auto axis = static_cast<size_t>(e.attrs<typed::AxisAttrs>().axis);
  typed::Subscript item;
  item.span = e.span;
  idx = wrapped(convert_index(idx), type(x).dims.at(axis), axis, item);
  return gather(x, idx, static_cast<int64_t>(axis), loc(e.span));
}

// An operation that makes axes of sizes that no operand has. What is proven of sizes takes axes for no longer than one
// may be, and a loop that makes them longer each time would else end beyond an i64.
void FunctionLowerer::check_axes(const typed::Expr& e) {
  const Builtin builtin = e.as<typed::BuiltinExpr>().builtin;
  if (builtin != Builtin::Concat && builtin != Builtin::Reshape && builtin != Builtin::BroadcastTo &&
      builtin != Builtin::Pad)
    return;
  for (const Size& size : e.type.shape) {
    if (size.is_constant() || shared_.atoms.range_of(size).second <= kLongestAxis) continue;
    const bool has_it = std::any_of(e.operands.begin(), e.operands.end(), [&](const typed::ExprPtr& operand) {
      return std::count(operand->type.shape.begin(), operand->type.shape.end(), size) > 0;
    });
    const bool is_checked = std::any_of(e.checks.begin(), e.checks.end(), [&](const typed::SizeCheck& check) {
      return check.relation == typed::SizeCheck::Relation::AtMost && check.a == size && check.b.is(kLongestAxis);
    });
    if (has_it || is_checked) continue;
    const ValueId value = size_value(size);
    if (axes_.contains(value)) continue;
    const ValueId most = i64(kLongestAxis);
    const uint32_t s =
        site("SizeOverflow", "an axis cannot have {0} elements: there are at most {1} along one", e.span);
    const ValueId axis = guard(value, scalar(ScalarOp::Le, {value, most}), s, {value, most}, e.span);
    scopes_.back().sizes[size] = axis;
    axes_.insert(axis);
  }
}

Leaves FunctionLowerer::builtin(const typed::Expr& e, const std::vector<Leaves>& given) {
  check_axes(e);
  const ValueId before = env_.contains(kToken) ? token() : ValueId{};
  Leaves made = works_on_complex(e) ? complex_builtin(e, given) : builtin_operation(e, given);
  if (!typed::is_effect(shared_.program, e) && before.valid() && token() != before)
    throw std::logic_error(fmt::format("lowering: `{}` acts, and its row says that it does not",
                                       info(e.as<typed::BuiltinExpr>().builtin).name));
  return made;
}

Leaves FunctionLowerer::builtin_operation(const typed::Expr& e, const std::vector<Leaves>& given) {
  LocId at = loc(e.span);
  // Checks protect the operands; where there are none, the first size of the result.
  Leaves operands;
  for (const Leaves& leaves : given)
    operands.insert(operands.end(), leaves.begin(), leaves.end());
  operands = checked(std::move(operands), e.checks, true);
  auto x = [&] { return operands.at(0); };
  auto shape = [&] { return dims(e.type.shape); };

  switch (e.as<typed::BuiltinExpr>().builtin) {
  case Builtin::Print:
  case Builtin::Load:
  case Builtin::Save:
  case Builtin::Exists:
  case Builtin::ReadText:
  case Builtin::TensorNames:
  case Builtin::WriteText:
  case Builtin::ReadLine:
  case Builtin::Wait:
  case Builtin::WaitAll:
  case Builtin::Time:
  case Builtin::Interrupted:
  case Builtin::Exit:
  case Builtin::Debug:
  case Builtin::Progress:
  case Builtin::PlotLine:
  case Builtin::PlotDescribed:
  case Builtin::PlotImage:
  case Builtin::StopwatchStart:
  case Builtin::StopwatchLap:
  case Builtin::StopwatchTotal:
  case Builtin::StopwatchCount: return effect_builtin(e, operands);

  case Builtin::Sum:
  case Builtin::Mean: return {builtin_reduce(e, ReduceOp::Sum, x())};
  case Builtin::Prod: return {builtin_reduce(e, ReduceOp::Prod, x())};
  case Builtin::ReduceMin: return {builtin_reduce(e, ReduceOp::Min, x())};
  case Builtin::ReduceMax: return {builtin_reduce(e, ReduceOp::Max, x())};
  case Builtin::Any: return {builtin_reduce(e, ReduceOp::Any, x())};
  case Builtin::All: return {builtin_reduce(e, ReduceOp::All, x())};
  case Builtin::ArgMin: return {builtin_reduce(e, ReduceOp::ArgMin, x())};
  case Builtin::ArgMax: return {builtin_reduce(e, ReduceOp::ArgMax, x())};
  case Builtin::CumSum: return {builtin_scan(e, ReduceOp::Sum, x())};
  case Builtin::CumProd: return {builtin_scan(e, ReduceOp::Prod, x())};
  case Builtin::CumMax: return {builtin_scan(e, ReduceOp::Max, x())};
  case Builtin::CumMin: return {builtin_scan(e, ReduceOp::Min, x())};
  case Builtin::SortRows: return {sort(e, SortOp::Values, x())};
  case Builtin::ArgSortRows: return {sort(e, SortOp::Order, x())};
  case Builtin::ArgTopRows: return {sort(e, SortOp::Top, x())};

  case Builtin::Reshape: return {retyped(x(), shape())};
  case Builtin::Permute: return {transpose(x(), e.attrs<typed::AxesAttrs>().axes, at)};
  case Builtin::BroadcastTo: return {broadcast(x(), e.operands[0]->type.shape, e.type.shape, at)};
  case Builtin::Concat: return {concat(operands, e.attrs<typed::AxisAttrs>().axis, shape(), at)};
  case Builtin::Stack: return {stack(e, operands)};
  case Builtin::Pad: return {pad(e, x(), operands.at(1))};
  case Builtin::Flip: return {flip(e, x())};

  case Builtin::Full: return {full(e, operands)};
  case Builtin::Cpu:
  case Builtin::Gpu:
  case Builtin::DeviceCount:
  case Builtin::To:
  case Builtin::DeviceOf:
  case Builtin::DeviceFacts:
  case Builtin::MemoryFacts:
  case Builtin::ReleaseCache:
  case Builtin::ProcessRank:
  case Builtin::WorldSize:
  case Builtin::AllReduce:
  case Builtin::BroadcastFrom: return device_builtin(e, operands);
  case Builtin::Eye: return {eye(e)};
  case Builtin::Arange: return {arange(e, x(), operands.at(1))};
  case Builtin::Linspace: return {linspace(e, x(), operands.at(1))};

  case Builtin::Take: return {take(e, x(), operands.at(1))};
  case Builtin::Gather: return {gather_along(e, x(), operands.at(1))};
  case Builtin::ScatterAdd: return {scatter_add(e, x(), operands.at(1), operands.at(2))};
  case Builtin::Einsum: return {einsum(e, operands)};
  case Builtin::Cholesky:
  case Builtin::LuFactor:
  case Builtin::Solve:
  case Builtin::TriangularSolve:
  case Builtin::Qr:
  case Builtin::Svd:
  case Builtin::Eigh:
  case Builtin::EigParts: return linalg(e, operands);
  case Builtin::Matmul:
  case Builtin::Dot: return {matmul(e, x(), operands.at(1))};

  case Builtin::Key: return {convert(convert_index(x()), DType::Key, at)}; // the seed's bits
  case Builtin::SplitKey: return split_key(e, x());
  case Builtin::Bits: return {elementwise(ScalarOp::KeyBits, {x(), positions(e, at)}, shape(), at)};
  case Builtin::Uniform: return {uniform(e, x(), operands.at(1), operands.at(2))};
  case Builtin::Normal: return {normal(e, x())};
  case Builtin::RandInt: return {randint(e, x(), operands.at(1), operands.at(2))};
  case Builtin::Bernoulli: return {bernoulli(e, x(), operands.at(1))};

  case Builtin::StopGradient: return {here().one(Op::StopGradient, {x()}, type(x()), {}, at)};

  case Builtin::Complex: // complex_builtin's
  case Builtin::RealPart:
  case Builtin::ImaginaryPart:
  case Builtin::FftRows:
  case Builtin::InverseFftRows:
  case Builtin::RealFftRows:
  case Builtin::RealFftTransposedRows:
  case Builtin::Grad: // Derive nodes by now
  case Builtin::ValueAndGrad:
  case Builtin::Vjp:
  case Builtin::Jvp:
  case Builtin::Vmap:
  case Builtin::Jacobian:
  case Builtin::Hessian:
  case Builtin::CustomVjp:
  case Builtin::Checkpoint:
  case Builtin::DataParallel:
  case Builtin::ReadCsv: // simpler nodes by now
  case Builtin::ReadTable:
  case Builtin::ReadIdx:
  case Builtin::ReadNpz:
  case Builtin::ReadSafetensors:
  case Builtin::Shape:
  case Builtin::Rank:
  case Builtin::Len:
  case Builtin::Flatten:
  case Builtin::Tile:
  case Builtin::Repeat:
  case Builtin::Transpose:
  case Builtin::TransposeAll:
  case Builtin::ExpandDims:
  case Builtin::Squeeze:
  case Builtin::Zeros:
  case Builtin::Ones:
  case Builtin::ZerosLike:
  case Builtin::OnesLike:
  case Builtin::Range:
  case Builtin::List:
  case Builtin::Enumerate:
  case Builtin::Map:
  case Builtin::Fold:
  case Builtin::Zip:
  case Builtin::Batches:
  case Builtin::Strip:
  case Builtin::Replace:
  case Builtin::Find:
  case Builtin::Lines:
  case Builtin::Join:
  case Builtin::Parse:
  case Builtin::Str:
  case Builtin::Bytes: break;
  }
  throw std::logic_error("lowering: a built-in function that the checker should have replaced");
}

} // namespace tl::ir

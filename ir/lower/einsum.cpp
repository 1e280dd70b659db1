// einsum of one tensor (a diagonal, a sum over axes, another order of axes) and of two (a contraction).
#include "ir/lower/function.h"
#include <algorithm>

namespace tl::ir {

ValueId FunctionLowerer::einsum(const typed::Expr& e, std::vector<ValueId> operands) {
  LocId at = loc(e.span);
  const std::vector<Dim> result = dims(e.type.shape);
  auto kept = static_cast<int64_t>(result.size());
  if (operands.size() == 1) return einsum_of_one(e, operands[0]);

  // Equal labels have equal sizes, as has been checked; now also as values.
  const auto& labels = e.attrs<typed::EinsumAttrs>();
  const std::vector<int64_t> of[] = {labels.lhs, labels.rhs};
  std::map<int64_t, Dim> sizes;
  for (int64_t k = 0; k < kept; ++k)
    sizes.emplace(k, result[static_cast<size_t>(k)]);
  bool sums = false;
  for (size_t i = 0; i < 2; ++i) {
    std::vector<Dim> wanted = type(operands[i]).dims;
    for (size_t k = 0; k < wanted.size(); ++k) {
      sums = sums || of[i][k] >= kept;
      wanted[k] = sizes.emplace(of[i][k], wanted[k]).first->second;
    }
    operands[i] = retyped(operands[i], wanted);
  }
  if (!sums) {
    for (size_t i = 0; i < 2; ++i)
      operands[i] = spread(operands[i], of[i], result, at);
    return elementwise(ScalarOp::Mul, operands, result, at);
  }
  ContractAttrs attrs{of[0], of[1], {}};
  for (int64_t k = 0; k < kept; ++k)
    attrs.result.push_back(k);
  const DType t = type(operands[0]).dtype;
  return here().one(Op::Contract, std::move(operands), Type::tensor(t, result), std::move(attrs), at);
}

// x under another order of axes, stretched to these sizes: its axis i becomes axis axes[i].
ValueId FunctionLowerer::spread(ValueId x, const std::vector<int64_t>& axes, const std::vector<Dim>& to, LocId at) {
  if (axes.empty()) return x;
  std::vector<int64_t> ascending = axes, order;
  std::sort(ascending.begin(), ascending.end());
  for (int64_t axis : ascending)
    order.push_back(std::find(axes.begin(), axes.end(), axis) - axes.begin());
  x = transpose(x, order, at);
  if (type(x).dims == to) return x;
  return here().one(Op::Broadcast, {x}, Type::tensor(type(x).dtype, to), AxesAttrs{ascending}, at);
}

ValueId FunctionLowerer::transpose(ValueId x, const std::vector<int64_t>& axes, LocId at) {
  if (std::is_sorted(axes.begin(), axes.end())) return x;
  Type t = Type::tensor(type(x).dtype, {});
  for (int64_t axis : axes)
    t.dims.push_back(type(x).dims.at(static_cast<size_t>(axis)));
  return here().one(Op::Transpose, {x}, std::move(t), AxesAttrs{axes}, at);
}

ValueId FunctionLowerer::einsum_of_one(const typed::Expr& e, ValueId x) {
  LocId at = loc(e.span);
  const std::vector<Dim> result = dims(e.type.shape);
  auto kept = static_cast<int64_t>(result.size());
  std::vector<int64_t> labels = e.attrs<typed::EinsumAttrs>().lhs, once;
  for (int64_t label : labels)
    if (std::find(once.begin(), once.end(), label) == once.end()) once.push_back(label);
  if (once.size() < labels.size()) {
    // A label that occurs several times moves along all its axes at once: by the sum of their strides.
    const std::vector<Dim> from = type(x).dims;
    std::vector<Dim> to;
    for (int64_t label : once)
      to.push_back(from[static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin())]);
    ValueId where;
    for (size_t k = 0; k < once.size(); ++k) {
      ValueId stride;
      for (size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] != once[k]) continue;
        ValueId one = here().size(product({from.begin() + static_cast<long>(i) + 1, from.end()}));
        stride = stride.valid() ? scalar(ScalarOp::Add, {stride, one}) : one;
      }
      ValueId part = elementwise(ScalarOp::Mul, {iota(to[k], at), stride}, {to[k]}, at);
      part = spread(part, {static_cast<int64_t>(k)}, to, at);
      where = where.valid() ? elementwise(ScalarOp::Add, {where, part}, to, at) : part;
    }
    x = gather(with_leading_flat(x, from.size()), where, 0, at);
    labels = once;
  }
  std::vector<int64_t> summed;
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels[i] >= kept) summed.push_back(static_cast<int64_t>(i));
  if (!summed.empty()) {
    DType t = type(x).dtype;
    bool wide = t == DType::F16 || t == DType::BF16;
    x = convert(reduce(ReduceOp::Sum, wide ? convert(x, DType::F32, at) : x, summed, {}, at), t, at);
    std::erase_if(labels, [&](int64_t label) { return label >= kept; });
  }
  std::vector<int64_t> order; // of the result: label k is its axis k
  for (int64_t k = 0; k < kept; ++k)
    order.push_back(std::find(labels.begin(), labels.end(), k) - labels.begin());
  return retyped(transpose(x, order, at), result);
}

} // namespace tl::ir

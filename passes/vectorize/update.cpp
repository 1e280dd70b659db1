// Writing at subscripts. Those that differ between positions become one Scatter into all positions' elements in a row:
// positions never meet, and in each the order is as it was.
#include "passes/edit.h"
#include "passes/vectorize/state.h"

namespace tl {
using namespace ir;

BatchValue Vectorizer::State::update(const Node& n) {
  bool same = true;
  for (size_t i = 2; i < n.operands.size(); ++i)
    same = same && lookup(n.operands[i]).axes.empty();
  if (same) return if_active(lookup(n.operands[0]), [&] { return update_slice(n); });

  BatchValue x = lookup(n.operands[0]), value = lookup(n.operands[1]);
  BatchAxes axes = united(x.axes, value.axes);
  for (size_t i = 2; i < n.operands.size(); ++i)
    axes = united(axes, lookup(n.operands[i]).axes);
  const bool trust = trusted(axes);
  const ValueId whole = spread(x, axes), part = spread(value, axes);
  const std::vector<Dim> own(type(whole).dims.begin() + static_cast<long>(axes.size()), type(whole).dims.end());
  const std::vector<Dim> window(type(part).dims.begin() + static_cast<long>(axes.size()), type(part).dims.end());
  std::vector<Dim> grown = own;
  if (!trust)
    for (Dim& d : grown)
      d = at_least_one(d, {});
  const std::vector<Dim> all = sizes(axes, grown);
  BatchValue at = with_axes(window, [&](uint32_t first) {
    std::vector<BatchValue> subscripts;
    for (uint32_t axis : axes)
      subscripts.push_back(position(axis));
    for (size_t i = 0; i < own.size(); ++i) {
      BatchValue s = lookup(n.operands[2 + i]);
      if (!window.empty())
        s = elementwise(ScalarOp::Add, {s, elementwise(ScalarOp::Mul, {position(first + static_cast<uint32_t>(i)),
                                                                       constant(n.as<UpdateAttrs>().steps[i])})});
      subscripts.push_back(trust ? s : clamped(s, grown[i]));
    }
    return linear(subscripts, all);
  });
  const Dim count = product(type(part).dims);
  ValueId flat = reshape(resized(whole, all), {product(all)});
  Type t = type(flat);
  ValueId written = one(Op::Scatter, {flat, reshape(spread(at, axes), {count}), reshape(part, {count})}, std::move(t),
                        ScatterAttrs{n.as<UpdateAttrs>().mode});
  return plain_axes(resized(reshape(written, all), sizes(axes, own)), axes);
}

BatchValue Vectorizer::State::if_active(const BatchValue& x, const std::function<BatchValue()>& run) {
  std::optional<ValueId> active = anyone();
  if (!active) return run();
  std::vector<Region> regions(2);
  BatchValue result;
  in_region(regions[0], [&] {
    context_.some = true;
    context_.perhaps_empty.clear();
    result = run();
    regions[0].yields = {materialized(result)};
  });
  in_region(regions[1], [&] { regions[1].yields = {spread(x, result.axes)}; });
  Type t = type(regions[1].yields[0]);
  NodeId node = b_->node(Op::If, {*active}, {std::move(t)}, {}, loc_, std::move(regions));
  return plain_axes(f_[node].results[0], result.axes);
}

// The same place at every position.
BatchValue Vectorizer::State::update_slice(const Node& n) {
  BatchValue x = lookup(n.operands[0]), value = lookup(n.operands[1]);
  const BatchAxes axes = united(x.axes, value.axes);
  std::vector<ValueId> operands{spread(x, axes), spread(value, axes)};
  UpdateAttrs attrs = n.as<UpdateAttrs>();
  if (!axes.empty()) {
    if (attrs.steps.empty()) { // one element: of each position, a slice
      attrs.steps.assign(n.operands.size() - 2, 1);
      operands[1] = reshape(operands[1], sizes(axes, std::vector<Dim>(attrs.steps.size(), Dim::of(1))));
    }
    attrs.steps.insert(attrs.steps.begin(), axes.size(), 1);
    for (size_t i = 0; i < axes.size(); ++i)
      operands.push_back(i64(0));
  }
  for (size_t i = 2; i < n.operands.size(); ++i)
    operands.push_back(materialized(lookup(n.operands[i])));
  Type t = type(operands[0]);
  return plain_axes(one(Op::Update, std::move(operands), std::move(t), std::move(attrs)), axes);
}

BatchValue Vectorizer::State::scatter(const Node& n) {
  BatchValue x = lookup(n.operands[0]), at = lookup(n.operands[1]), value = lookup(n.operands[2]);
  if (at.axes.empty() && trusted({})) return scatter_same(n);
  const BatchAxes axes = united(united(x.axes, at.axes), value.axes);
  const bool trust = trusted(axes);
  const ValueId whole = spread(x, axes), parts = spread(value, axes);
  const auto rank = static_cast<long>(axes.size());
  std::vector<Dim> all = type(whole).dims;
  const std::vector<Dim> before = all, row(all.begin() + rank + 1, all.end());
  if (!trust) all[axes.size()] = at_least_one(all[axes.size()], {});
  const std::vector<Dim> leading(all.begin(), all.begin() + rank + 1);
  const Dim each = type(parts).dims[axes.size()];
  BatchValue to = with_axes({each}, [&](uint32_t first) {
    std::vector<BatchValue> subscripts;
    for (uint32_t axis : axes)
      subscripts.push_back(position(axis));
    BatchValue s = as_axes(at, first);
    subscripts.push_back(trust ? s : clamped(s, leading.back()));
    return linear(subscripts, leading);
  });
  auto rows = [&](const Dim& count) {
    std::vector<Dim> dims{count};
    dims.insert(dims.end(), row.begin(), row.end());
    return dims;
  };
  const Dim count = product(sizes(axes, {each}));
  ValueId flat = reshape(resized(whole, all), rows(product(leading)));
  Type t = type(flat);
  ValueId written =
      one(Op::Scatter, {flat, reshape(spread(to, axes), {count}), reshape(parts, rows(count))}, std::move(t), n.attrs);
  return plain_axes(resized(reshape(written, all), before), axes);
}

// The same rows at every position: rows of all positions at once.
BatchValue Vectorizer::State::scatter_same(const Node& n) {
  BatchValue x = lookup(n.operands[0]), at = lookup(n.operands[1]), value = lookup(n.operands[2]);
  const BatchAxes axes = united(x.axes, value.axes);
  const auto rank = static_cast<int64_t>(axes.size());
  const ValueId whole = spread(x, axes), parts = spread(value, axes);
  std::vector<int64_t> in{rank}, out;
  for (int64_t i = 0; i < rank; ++i) {
    in.push_back(i);
    out.push_back(i + 1);
  }
  out.push_back(0);
  for (auto i = rank + 1; i < static_cast<int64_t>(type(whole).dims.size()); ++i) {
    in.push_back(i);
    out.push_back(i);
  }
  const ValueId rows = transpose(whole, in), values = transpose(parts, in);
  Type t = type(rows);
  return plain_axes(transpose(one(Op::Scatter, {rows, materialized(at), values}, std::move(t), n.attrs), out), axes);
}

} // namespace tl

// Reading at subscripts that differ between positions. A subscript that is affine in one position is a Slice, constant
// ones too; the others gather. Subscripts that share an axis of the batch go together, as one into the flattened axes.
#include "passes/edit.h"
#include "passes/vectorize/state.h"

namespace tl {
using namespace ir;
namespace {

constexpr int64_t kWindow = 8; // windows of at most so many elements are slices side by side

} // namespace

// ---- the ops
BatchValue Vectorizer::State::index(const Node& n) {
  BatchValue x = lookup(n.operands[0]);
  x.value = materialized(x);
  std::vector<Subscript> subscripts;
  bool same = trusted({}) && x.axes.empty();
  for (uint32_t axis : x.axes)
    subscripts.push_back({position(axis), true});
  for (size_t i = 1; i < n.operands.size(); ++i) {
    subscripts.push_back({lookup(n.operands[i])});
    same = same && subscripts.back().at.axes.empty();
  }
  if (same) {
    std::vector<ValueId> operands{x.value};
    for (const Subscript& s : subscripts)
      operands.push_back(materialized(s.at));
    return plain(one(Op::Index, std::move(operands), own_type(n.results[0])));
  }
  return with_axes(own_type(n.results[0]).dims, [&](uint32_t first) {
    for (uint32_t axis = first; axis < dims_.size(); ++axis)
      subscripts.push_back({position(axis), true});
    return read(x.value, subscripts);
  });
}

BatchValue Vectorizer::State::slice(const Node& n) {
  BatchValue x = lookup(n.operands[0]);
  x.value = materialized(x);
  const std::vector<int64_t>& own_steps = n.as<StepsAttrs>().steps;
  std::vector<BatchValue> starts;
  bool same = trusted(x.axes);
  for (size_t i = 1; i < n.operands.size(); ++i) {
    starts.push_back(lookup(n.operands[i]));
    same = same && starts.back().axes.empty();
  }
  const std::vector<Dim> own = own_type(n.results[0]).dims;
  if (same) {
    std::vector<ValueId> operands{x.value};
    std::vector<int64_t> steps(x.axes.size(), 1);
    for (size_t i = 0; i < x.axes.size(); ++i)
      operands.push_back(i64(0));
    for (const BatchValue& start : starts)
      operands.push_back(materialized(start));
    steps.insert(steps.end(), own_steps.begin(), own_steps.end());
    Type t = Type::tensor(type(x.value).dtype, sizes(x.axes, own));
    return plain_axes(one(Op::Slice, std::move(operands), std::move(t), StepsAttrs{std::move(steps)}), x.axes);
  }
  return with_axes(own, [&](uint32_t first) {
    std::vector<Subscript> subscripts;
    for (uint32_t axis : x.axes)
      subscripts.push_back({position(axis), true});
    for (size_t i = 0; i < starts.size(); ++i) {
      BatchValue offset =
          elementwise(ScalarOp::Mul, {position(first + static_cast<uint32_t>(i)), constant(own_steps[i])});
      subscripts.push_back({elementwise(ScalarOp::Add, {starts[i], offset})});
    }
    return read(x.value, std::move(subscripts));
  });
}

BatchValue Vectorizer::State::gather(const Node& n) {
  BatchValue x = lookup(n.operands[0]), at = lookup(n.operands[1]);
  x.value = materialized(x);
  at.value = materialized(at);
  const int64_t axis = n.as<AxisAttrs>().axis;
  const std::vector<Dim> own = own_type(n.results[0]).dims;
  if (at.axes.empty() && trusted(x.axes)) {
    Type t = Type::tensor(type(x.value).dtype, sizes(x.axes, own));
    const AxisAttrs attrs{axis + static_cast<int64_t>(x.axes.size())};
    return plain_axes(one(Op::Gather, {x.value, at.value}, std::move(t), attrs), x.axes);
  }
  return with_axes(own, [&](uint32_t first) {
    std::vector<Subscript> subscripts;
    for (uint32_t batch : x.axes)
      subscripts.push_back({position(batch), true});
    uint32_t next = first;
    for (size_t i = 0; i < own_rank(x); ++i)
      if (static_cast<int64_t>(i) == axis) {
        subscripts.push_back({as_axes(at, next)});
        next += static_cast<uint32_t>(own_rank(at));
      } else {
        subscripts.push_back({position(next++), true});
      }
    return read(x.value, std::move(subscripts));
  });
}

// ---- reading
BatchValue Vectorizer::State::read(ValueId x, std::vector<Subscript> subscripts) {
  std::vector<size_t> mentions(dims_.size());
  for (const Subscript& s : subscripts)
    for (uint32_t axis : s.at.axes)
      ++mentions[axis];
  std::vector<bool> simple;
  for (Subscript& s : subscripts) {
    s.at.affine = as_affine(s.at);
    const auto& affine = s.at.affine;
    simple.push_back(affine &&
                     (affine->terms.empty() || (affine->terms.size() == 1 && mentions[affine->terms[0].axis] == 1)));
  }
  read_simple(x, subscripts, simple);

  BatchAxes done; // axes of the batch that x has by now
  for (const Subscript& s : subscripts)
    if (s.at.axes.size() == 1 && mentions[s.at.axes[0]] == 1 && s.at.affine) done = united(done, s.at.axes);
  // Those that share an axis with others go together.
  for (size_t i = 0; i < subscripts.size(); ++i) {
    BatchAxes axes = subscripts[i].at.axes;
    std::vector<size_t> which{i};
    for (size_t before = 0; before != which.size();) {
      before = which.size();
      for (size_t k = 0; k < subscripts.size(); ++k) {
        const BatchAxes& other = subscripts[k].at.axes;
        if (std::count(which.begin(), which.end(), k) || without(other, axes).size() == other.size()) continue;
        which.push_back(k);
        axes = united(axes, other);
      }
    }
    if (which.size() == 1) continue;
    std::sort(which.begin(), which.end());
    join(x, subscripts, which, united(axes, done));
    return read(x, std::move(subscripts));
  }

  std::vector<uint32_t> labels; // of x's axes, from the one that is read on
  for (size_t i = subscripts.size(); i-- > 0;) {
    Subscript& s = subscripts[i];
    if (s.at.axes.size() == 1 && contains(done, s.at.axes[0])) {
      labels.insert(labels.begin(), s.at.axes[0]);
      continue;
    }
    read_one(x, labels, i, s, done);
    done = united(done, s.at.axes);
  }
  std::vector<int64_t> order(labels.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int64_t>(i);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return labels[static_cast<size_t>(a)] < labels[static_cast<size_t>(b)]; });
  x = transpose(x, order);
  std::sort(labels.begin(), labels.end());
  return plain_axes(x, std::move(labels));
}

// Whether a subscript is in range of an axis of this size whatever runs.
bool Vectorizer::State::fits(const Affine& at, const Dim& size) const {
  if (at.base.valid()) return false;
  if (at.terms.size() == 1 && at.terms[0].factor == 1 && at.offset == 0 && dims_[at.terms[0].axis] == size) return true;
  if (!size.is_constant()) return false;
  constexpr int64_t kSmall = int64_t{1} << 30;
  if (std::abs(at.offset) > kSmall) return false;
  int64_t least = at.offset, greatest = at.offset;
  for (const Affine::Term& term : at.terms) {
    const Dim& extent = dims_[term.axis];
    if (!extent.is_constant() || extent.constant > kSmall || std::abs(term.factor) > kSmall) return false;
    if (extent.constant == 0) return true;
    (term.factor > 0 ? greatest : least) += term.factor * (extent.constant - 1);
  }
  return least >= 0 && greatest < size.constant;
}

// Constant subscripts and those that go along one axis: a Slice. What may be out of range where nobody looks is
// zeros around x. Leaves x with an axis per remaining subscript.
void Vectorizer::State::read_simple(ValueId& x, std::vector<Subscript>& subscripts, const std::vector<bool>& simple) {
  BatchAxes axes;
  for (size_t i = 0; i < simple.size(); ++i)
    if (simple[i]) axes = united(axes, subscripts[i].at.axes);
  const bool trust = trusted(axes);
  const std::vector<Dim> from = type(x).dims;
  std::vector<Dim> padded = from, lengths = from, kept;
  std::vector<ValueId> before, starts;
  std::vector<int64_t> steps;
  std::vector<Subscript> rest;
  bool pads = false, slices = false;
  auto times = [&](const Dim& d, int64_t k) { return k == 1 ? d : product({d, Dim::of(k)}); };
  for (size_t i = 0; i < simple.size(); ++i) {
    if (!simple[i]) {
      before.push_back(i64(0));
      starts.push_back(i64(0));
      steps.push_back(1);
      kept.push_back(from[i]);
      rest.push_back(subscripts[i]);
      continue;
    }
    Affine at = *subscripts[i].at.affine;
    const bool varies = !at.terms.empty();
    const int64_t step = varies ? at.terms[0].factor : 1;
    lengths[i] = varies ? dims_[at.terms[0].axis] : Dim::of(1);
    if (subscripts[i].in_range || trust || fits(at, from[i])) {
      before.push_back(i64(0));
    } else { // x from the least subscript on, as far as it goes
      Affine low = at, start;
      padded[i] = times(lengths[i], std::abs(step));
      if (step < 0) {
        ValueId span = b_->scalar(ScalarOp::Sub, {b_->size(padded[i]), i64(-step)}, loc_);
        low.base = low.base.valid() ? b_->scalar(ScalarOp::Sub, {low.base, span}, loc_)
                                    : b_->scalar(ScalarOp::Sub, {i64(0), span}, loc_);
        start.base = span;
      }
      before.push_back(low.base.valid() ? b_->scalar(ScalarOp::Sub, {i64(0), scalar_of(low)}, loc_) : i64(-low.offset));
      start.terms = at.terms;
      at = start;
      pads = true;
    }
    starts.push_back(scalar_of(at));
    steps.push_back(step);
    slices = slices || at.base.valid() || at.offset != 0 || step != 1 || !(lengths[i] == padded[i]);
    if (!varies) continue;
    kept.push_back(lengths[i]);
    rest.push_back({position(at.terms[0].axis), true});
  }
  if (pads) {
    std::vector<ValueId> operands{x, zero(type(x).dtype)};
    operands.insert(operands.end(), before.begin(), before.end());
    x = one(Op::Pad, std::move(operands), Type::tensor(type(x).dtype, padded));
  }
  if (slices) {
    for (size_t i = 0; i < simple.size(); ++i)
      if (!simple[i]) lengths[i] = type(x).dims[i];
    std::vector<ValueId> operands{x};
    operands.insert(operands.end(), starts.begin(), starts.end());
    x = one(Op::Slice, std::move(operands), Type::tensor(type(x).dtype, lengths), StepsAttrs{std::move(steps)});
  }
  x = reshape(x, std::move(kept));
  subscripts = std::move(rest);
}

BatchValue Vectorizer::State::clamped(const BatchValue& at, const Dim& size) {
  ValueId last = size.is_constant() ? i64(size.constant - 1) : b_->scalar(ScalarOp::Sub, {size.value, i64(1)}, loc_);
  return elementwise(ScalarOp::Clamp, {at, plain(i64(0)), plain(last)});
}

// The size, or 1 where it may be 0. With subscripts over an axis of the same size there are none then.
Dim Vectorizer::State::at_least_one(const Dim& size, const BatchAxes& axes) {
  if (size.is_constant()) return Dim::of(std::max<int64_t>(size.constant, 1));
  for (uint32_t axis : axes)
    if (dims_[axis] == size) return size;
  return Dim::of(b_->scalar(ScalarOp::Max, {size.value, i64(1)}, loc_));
}

ValueId Vectorizer::State::resized(ValueId x, const std::vector<Dim>& dims) {
  if (type(x).dims == dims) return x;
  std::vector<ValueId> operands{x, zero(type(x).dtype)};
  for (size_t i = 0; i < dims.size(); ++i)
    operands.push_back(i64(0));
  return one(Op::Pad, std::move(operands), Type::tensor(type(x).dtype, dims));
}

BatchValue Vectorizer::State::linear(const std::vector<BatchValue>& subscripts, const std::vector<Dim>& dims) {
  BatchValue sum = subscripts[0];
  for (size_t i = 1; i < subscripts.size(); ++i) {
    BatchValue size = dims[i].is_constant() ? constant(dims[i].constant) : plain(dims[i].value);
    sum = elementwise(ScalarOp::Add, {elementwise(ScalarOp::Mul, {sum, size}), subscripts[i]});
  }
  return sum;
}

// These axes of x as one in front, with one subscript. `axes`: of the batch, that the subscripts or x have.
void Vectorizer::State::join(ValueId& x, std::vector<Subscript>& subscripts, const std::vector<size_t>& which,
                             const BatchAxes& axes) {
  const bool trust = trusted(axes);
  std::vector<Dim> dims = type(x).dims, joined, after;
  std::vector<BatchValue> parts;
  std::vector<int64_t> order;
  for (size_t i : which) {
    Subscript& s = subscripts[i];
    if (!s.in_range && !trust && !(s.at.affine && fits(*s.at.affine, dims[i]))) {
      dims[i] = at_least_one(dims[i], s.at.axes);
      s.at = clamped(s.at, dims[i]);
    }
    parts.push_back(s.at);
    joined.push_back(dims[i]);
    order.push_back(static_cast<int64_t>(i));
  }
  x = resized(x, dims);
  std::vector<Subscript> result{{linear(parts, joined), true}};
  after.push_back(product(joined));
  for (size_t i = 0; i < subscripts.size(); ++i)
    if (!std::count(which.begin(), which.end(), i)) {
      order.push_back(static_cast<int64_t>(i));
      after.push_back(dims[i]);
      result.push_back(subscripts[i]);
    }
  x = reshape(transpose(x, order), std::move(after));
  subscripts = std::move(result);
}

// Axis `axis` of x read at a subscript that shares its axes with no other. The labels are those of x's axes after it.
void Vectorizer::State::read_one(ValueId& x, std::vector<uint32_t>& labels, size_t axis, Subscript& s,
                                 const BatchAxes& done) {
  const Dim size = type(x).dims[axis];
  const bool trust = s.in_range || trusted(united(s.at.axes, done)) || (s.at.affine && fits(*s.at.affine, size));
  if (read_window(x, labels, axis, s, trust)) return;
  if (!trust) {
    std::vector<Dim> dims = type(x).dims;
    dims[axis] = at_least_one(size, s.at.axes);
    x = resized(x, dims);
    s.at = clamped(s.at, dims[axis]);
  }
  ValueId at = materialized(s.at);
  Type t = type(x);
  t.dims.erase(t.dims.begin() + static_cast<long>(axis));
  const std::vector<Dim> own = type(at).dims;
  t.dims.insert(t.dims.begin() + static_cast<long>(axis), own.begin(), own.end());
  x = one(Op::Gather, {x, at}, std::move(t), AxisAttrs{static_cast<int64_t>(axis)});
  labels.insert(labels.begin(), s.at.axes.begin(), s.at.axes.end());
}

// A subscript that goes along two axes, one of them short, as the windows of a convolution do: slices side by side,
// whose derivative is a sum of shifted tensors.
bool Vectorizer::State::read_window(ValueId& x, std::vector<uint32_t>& labels, size_t axis, const Subscript& s,
                                    bool trust) {
  if (!s.at.affine || s.at.affine->terms.size() != 2) return false;
  Affine at = *s.at.affine;
  Affine::Term along = at.terms[0], within = at.terms[1];
  auto is_short = [&](const Affine::Term& term) {
    const Dim& d = dims_[term.axis];
    return d.is_constant() && d.constant >= 1 && d.constant <= kWindow;
  };
  if (is_short(along) && (!is_short(within) || dims_[along.axis].constant < dims_[within.axis].constant))
    std::swap(along, within);
  if (!is_short(within) || along.factor < 0 || within.factor < 0) return false;
  const int64_t width = dims_[within.axis].constant;
  const Dim length = dims_[along.axis];
  if (!trust) {
    std::vector<Dim> dims = type(x).dims;
    Dim span = product({length, Dim::of(along.factor)});
    const int64_t more = within.factor * (width - 1);
    if (span.is_constant())
      dims[axis] = Dim::of(span.constant + more);
    else
      dims[axis] = Dim::of(b_->scalar(ScalarOp::Add, {span.value, i64(more)}, loc_));
    std::vector<ValueId> operands{x, zero(type(x).dtype)};
    for (size_t i = 0; i < dims.size(); ++i)
      operands.push_back(i == axis ? b_->scalar(ScalarOp::Sub, {i64(0), scalar_of(at)}, loc_) : i64(0));
    x = one(Op::Pad, std::move(operands), Type::tensor(type(x).dtype, dims));
    at = {};
  }
  std::vector<Dim> part = type(x).dims, whole;
  part[axis] = length;
  whole = part;
  whole.insert(whole.begin() + static_cast<long>(axis), Dim::of(1));
  std::vector<int64_t> steps(part.size(), 1);
  steps[axis] = along.factor;
  std::vector<ValueId> parts;
  for (int64_t k = 0; k < width; ++k) {
    std::vector<ValueId> operands{x};
    Affine start{at.base, at.offset + k * within.factor, {}};
    for (size_t i = 0; i < part.size(); ++i)
      operands.push_back(i == axis ? scalar_of(start) : i64(0));
    ValueId slice = one(Op::Slice, std::move(operands), Type::tensor(type(x).dtype, part), StepsAttrs{steps});
    parts.push_back(reshape(slice, whole));
  }
  whole[axis] = Dim::of(width);
  x = width == 1 ? parts[0]
                 : one(Op::Concat, parts, Type::tensor(type(x).dtype, whole), AxisAttrs{static_cast<int64_t>(axis)});
  labels.insert(labels.begin(), {within.axis, along.axis});
  return true;
}

} // namespace tl

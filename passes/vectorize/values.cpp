// Values over the positions of a batch: their sizes, arithmetic that keeps subscripts symbolic, and what may run.
#include "passes/edit.h"
#include "passes/vectorize/state.h"
#include <algorithm>
#include <numeric>

namespace tl {
using namespace ir;

BatchAxes united(const BatchAxes& a, const BatchAxes& b) {
  BatchAxes result;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}
BatchAxes without(const BatchAxes& a, const BatchAxes& b) {
  BatchAxes result;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}
bool contains(const BatchAxes& axes, uint32_t axis) { return std::binary_search(axes.begin(), axes.end(), axis); }
bool subset(const BatchAxes& a, const BatchAxes& b) { return std::includes(b.begin(), b.end(), a.begin(), a.end()); }

// ---- sizes
std::vector<Dim> Vectorizer::State::own_dims(const BatchValue& value) const {
  if (!value.value.valid()) return {};
  const std::vector<Dim>& dims = type(value.value).dims;
  return {dims.begin() + static_cast<long>(value.axes.size()), dims.end()};
}
size_t Vectorizer::State::own_rank(const BatchValue& value) const { return own_dims(value).size(); }

std::vector<Dim> Vectorizer::State::sizes(const BatchAxes& axes) const {
  std::vector<Dim> dims;
  for (uint32_t axis : axes)
    dims.push_back(dims_.at(axis));
  return dims;
}
std::vector<Dim> Vectorizer::State::sizes(const BatchAxes& axes, const std::vector<Dim>& own) const {
  std::vector<Dim> dims = sizes(axes);
  dims.insert(dims.end(), own.begin(), own.end());
  return dims;
}

BatchAxes Vectorizer::State::all_axes() const {
  BatchAxes axes;
  for (uint32_t axis = 0; axis < dims_.size(); ++axis)
    axes.push_back(axis);
  return axes;
}

bool Vectorizer::State::is_ragged(const Dim& original) const {
  return !original.is_constant() && !lookup(original.value).axes.empty();
}
bool Vectorizer::State::is_ragged(ValueId original) const {
  const std::vector<Dim>& dims = type(original).dims;
  return std::any_of(dims.begin(), dims.end(), [&](const Dim& d) { return is_ragged(d); });
}

// What a size of the region is for all positions: the greatest, where it differs between them.
Dim Vectorizer::State::dim(const Dim& original) {
  if (original.is_constant()) return original;
  if (auto known = context_.ragged.find(original.value); known != context_.ragged.end()) return known->second.first;
  BatchValue size = lookup(original.value);
  if (size.axes.empty()) {
    ValueId value = materialized(size);
    const Node* node = producer_of(f_, value);
    return node && node->op == Op::Constant ? Dim::of(node->as<ConstantAttrs>().literal.as<int64_t>()) : Dim::of(value);
  }
  if (auto where = needed(size.axes)) size = select(*where, size, constant(0));
  size = plain_axes(materialized(size), size.axes);
  ValueId greatest = reduce_all(ReduceOp::Max, size.value);
  Dim result = Dim::of(b_->scalar(ScalarOp::Max, {greatest, i64(0)}, loc_));
  context_.ragged[original.value] = {result, size};
  return result;
}

Type Vectorizer::State::own_type(ValueId original) {
  Type t = type(original);
  if (!t.is_tensor()) throw NotVectorizable{};
  for (Dim& d : t.dims)
    d = dim(d);
  return t;
}

Dim Vectorizer::State::product(const std::vector<Dim>& dims) {
  int64_t constant = 1;
  ValueId value;
  for (const Dim& d : dims)
    if (d.is_constant())
      constant *= d.constant;
    else
      value = value.valid() ? b_->scalar(ScalarOp::Mul, {value, d.value}, loc_) : d.value;
  if (!value.valid()) return Dim::of(constant);
  return Dim::of(constant == 1 ? value : b_->scalar(ScalarOp::Mul, {value, i64(constant)}, loc_));
}

// ---- nodes
ValueId Vectorizer::State::one(Op op, std::vector<ValueId> operands, Type result, Attrs attrs) {
  return b_->one(op, std::move(operands), std::move(result), std::move(attrs), loc_);
}

ValueId Vectorizer::State::reshape(ValueId x, std::vector<Dim> dims) {
  if (type(x).dims == dims) return x;
  return one(Op::Reshape, {x}, Type::tensor(type(x).dtype, std::move(dims)));
}

ValueId Vectorizer::State::broadcast(ValueId x, std::vector<int64_t> axes, std::vector<Dim> dims) {
  if (type(x).dims == dims) return x;
  return one(Op::Broadcast, {x}, Type::tensor(type(x).dtype, std::move(dims)), AxesAttrs{std::move(axes)});
}

ValueId Vectorizer::State::transpose(ValueId x, const std::vector<int64_t>& axes) {
  if (std::is_sorted(axes.begin(), axes.end())) return x;
  Type t = type(x);
  for (size_t i = 0; i < axes.size(); ++i)
    t.dims[i] = type(x).dims[static_cast<size_t>(axes[i])];
  return one(Op::Transpose, {x}, std::move(t), AxesAttrs{axes});
}

// Over all axes.
ValueId Vectorizer::State::reduce_all(ReduceOp op, ValueId x) {
  ReduceAttrs attrs{op, std::vector<int64_t>(type(x).dims.size())};
  std::iota(attrs.axes.begin(), attrs.axes.end(), 0);
  return one(Op::Reduce, {x}, Type::scalar(type(x).dtype), std::move(attrs));
}

BatchValue Vectorizer::State::constant(int64_t value) {
  Affine affine;
  affine.offset = value;
  return from_affine(std::move(affine));
}

BatchValue Vectorizer::State::truth(bool value) {
  return {b_->constant(DType::Bool, Scalar::of(uint8_t{value})), {}, {}, value};
}

BatchValue Vectorizer::State::position(uint32_t axis) const { return {{}, {axis}, Affine{{}, 0, {{axis, 1}}}, {}}; }

ValueId Vectorizer::State::materialized(const BatchValue& value) {
  if (value.value.valid()) return value.value;
  const Affine& affine = *value.affine;
  if (affine.terms.empty()) return scalar_of(affine);
  BatchValue sum;
  bool first = true;
  for (const Affine::Term& term : affine.terms) {
    BatchValue part = plain_axes(one(Op::Iota, {}, Type::tensor(DType::I64, sizes({term.axis}))), {term.axis});
    if (term.factor != 1) part = elementwise(ScalarOp::Mul, {part, plain(i64(term.factor))});
    sum = first ? part : elementwise(ScalarOp::Add, {sum, part});
    first = false;
  }
  if (affine.base.valid() || affine.offset) sum = elementwise(ScalarOp::Add, {sum, plain(scalar_of(affine))});
  return sum.value;
}

ValueId Vectorizer::State::spread(const BatchValue& value, const BatchAxes& axes) {
  ValueId x = materialized(value);
  if (value.axes == axes) return x;
  return spread({x, value.axes, {}, {}}, axes, own_dims({x, value.axes, {}, {}}));
}

// With these axes in front and these sizes after them; a scalar is repeated.
ValueId Vectorizer::State::spread(const BatchValue& value, const BatchAxes& axes, const std::vector<Dim>& own) {
  ValueId x = materialized(value);
  std::vector<int64_t> ints;
  for (uint32_t axis : value.axes)
    ints.push_back(std::lower_bound(axes.begin(), axes.end(), axis) - axes.begin());
  for (size_t i = ints.size(); i < type(x).dims.size(); ++i)
    ints.push_back(static_cast<int64_t>(axes.size() + i - value.axes.size()));
  return broadcast(x, std::move(ints), sizes(axes, own));
}

BatchValue Vectorizer::State::as_axes(const BatchValue& value, uint32_t first) const {
  BatchValue result = value;
  for (size_t i = 0, n = own_rank(value); i < n; ++i)
    result.axes.push_back(first + static_cast<uint32_t>(i));
  return result;
}

// ---- elementwise
BatchValue Vectorizer::State::elementwise(ScalarOp op, const std::vector<BatchValue>& operands) {
  if (auto result = folded(op, operands)) return *result;
  BatchAxes axes;
  std::vector<Dim> own;
  std::vector<BatchValue> values = operands;
  for (BatchValue& v : values) {
    v.value = materialized(v);
    axes = united(axes, v.axes);
    if (std::vector<Dim> dims = own_dims(v); !dims.empty()) own = std::move(dims);
  }
  std::vector<ValueId> ids;
  for (const BatchValue& v : values)
    ids.push_back(type(v.value).is_scalar() ? v.value : spread(v, axes, own));
  DType operand = type(ids[op == ScalarOp::Where ? 1 : 0]).dtype;
  // Splats alone do not say the sizes: they are those of all operands.
  Type t = Type::tensor(result_type(op, operand), sizes(axes, own));
  return plain_axes(one(Op::Elementwise, std::move(ids), std::move(t), ElementwiseAttrs{op}), axes);
}

// Without a node, where the result is known or stays affine.
std::optional<BatchValue> Vectorizer::State::folded(ScalarOp op, const std::vector<BatchValue>& operands) {
  for (const BatchValue& v : operands)
    if (own_rank(v)) return std::nullopt;
  auto known = [&](size_t i) { return operands[i].known; };
  switch (op) {
  case ScalarOp::Where:
    if (known(0)) return operands[*known(0) ? 1 : 2];
    return std::nullopt;
  case ScalarOp::And:
  case ScalarOp::Or:
    for (size_t i = 0; i < 2; ++i)
      if (known(i)) return *known(i) == (op == ScalarOp::And) ? operands[1 - i] : operands[i];
    return std::nullopt;
  case ScalarOp::Not:
    if (known(0)) return truth(!*known(0));
    return std::nullopt;
  case ScalarOp::Add:
  case ScalarOp::Sub:
  case ScalarOp::Mul:
  case ScalarOp::Neg: return affine_result(op, operands);
  case ScalarOp::Lt:
  case ScalarOp::Le:
  case ScalarOp::Gt:
  case ScalarOp::Ge:
    if (auto result = compared(op, operands)) return truth(*result);
    return std::nullopt;
  default: return std::nullopt;
  }
}

std::optional<Affine> Vectorizer::State::as_affine(const BatchValue& value) const {
  if (value.affine) return value.affine;
  if (!value.axes.empty() || type(value.value) != Type::scalar(DType::I64)) return std::nullopt;
  Affine result;
  if (auto number = integer_of(f_, value.value))
    result.offset = *number;
  else
    result.base = value.value;
  return result;
}

BatchValue Vectorizer::State::from_affine(Affine affine) {
  BatchAxes axes;
  for (const Affine::Term& term : affine.terms)
    axes.push_back(term.axis);
  ValueId value;
  if (axes.empty()) value = scalar_of(affine);
  return {value, std::move(axes), std::move(affine), {}};
}

ValueId Vectorizer::State::scalar_of(const Affine& affine) {
  if (!affine.base.valid()) return i64(affine.offset);
  if (!affine.offset) return affine.base;
  return b_->scalar(ScalarOp::Add, {affine.base, i64(affine.offset)}, loc_);
}

// a + b, a - b, a * constant: of i64s that depend on the position in this way.
std::optional<BatchValue> Vectorizer::State::affine_result(ScalarOp op, const std::vector<BatchValue>& operands) {
  std::vector<Affine> in;
  bool varies = false;
  for (const BatchValue& v : operands) {
    auto affine = as_affine(v);
    if (!affine) return std::nullopt;
    varies = varies || !affine->terms.empty();
    in.push_back(*affine);
  }
  if (!varies) return std::nullopt;
  auto wrapped = [](auto f, int64_t a, int64_t b) {
    return static_cast<int64_t>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  };
  auto times = [&](Affine a, int64_t k) -> std::optional<Affine> {
    if (k == 0) return Affine{};
    if (k != 1 && a.base.valid()) a.base = b_->scalar(ScalarOp::Mul, {a.base, i64(k)}, loc_);
    a.offset = wrapped(std::multiplies<>(), a.offset, k);
    for (Affine::Term& term : a.terms)
      if (__builtin_mul_overflow(term.factor, k, &term.factor)) return std::nullopt;
    return a;
  };
  if (op == ScalarOp::Neg) {
    auto result = times(in[0], -1);
    return result ? std::optional(from_affine(*result)) : std::nullopt;
  }
  if (op == ScalarOp::Mul) {
    if (!in[0].is_constant() && !in[1].is_constant()) return std::nullopt;
    size_t constant = in[0].is_constant() ? 0 : 1;
    auto result = times(in[1 - constant], in[constant].offset);
    return result ? std::optional(from_affine(*result)) : std::nullopt;
  }
  const int64_t sign = op == ScalarOp::Sub ? -1 : 1;
  Affine sum;
  if (!in[1].base.valid())
    sum.base = in[0].base;
  else if (sign < 0 && in[0].base == in[1].base)
    sum.base = {};
  else if (sign > 0 && !in[0].base.valid())
    sum.base = in[1].base;
  else
    sum.base = b_->scalar(op, {in[0].base.valid() ? in[0].base : i64(0), in[1].base}, loc_);
  sum.offset = sign < 0 ? wrapped(std::minus<>(), in[0].offset, in[1].offset)
                        : wrapped(std::plus<>(), in[0].offset, in[1].offset);
  std::map<uint32_t, int64_t> factors;
  for (size_t i = 0; i < 2; ++i)
    for (const Affine::Term& term : in[i].terms)
      if (__builtin_add_overflow(factors[term.axis], i ? sign * term.factor : term.factor, &factors[term.axis]))
        return std::nullopt;
  for (auto [axis, factor] : factors)
    if (factor) sum.terms.push_back({axis, factor});
  return from_affine(std::move(sum));
}

// a < b and the like, where it holds (or fails) at every position: a position along an axis is at least 0 and less than
// the axis's size.
std::optional<bool> Vectorizer::State::compared(ScalarOp op, const std::vector<BatchValue>& operands) {
  auto a = as_affine(operands[0]), b = as_affine(operands[1]);
  if (!a || !b || (a->terms.empty() && b->terms.empty())) return std::nullopt;
  if (op == ScalarOp::Gt || op == ScalarOp::Le) { // b < a, b >= a
    std::swap(a, b);
    op = op == ScalarOp::Gt ? ScalarOp::Lt : ScalarOp::Ge;
  }
  const bool yes = op == ScalarOp::Lt;
  constexpr int64_t kSmall = int64_t{1} << 40; // sums of a few cannot overflow
  for (const Affine* side : {&*a, &*b}) {
    if (std::abs(side->offset) > kSmall || side->terms.size() > 4) return std::nullopt;
    for (const Affine::Term& term : side->terms)
      if (std::abs(term.factor) > kSmall) return std::nullopt;
  }
  auto grows = [](const Affine& x) {
    return std::all_of(x.terms.begin(), x.terms.end(), [](const Affine::Term& t) { return t.factor > 0; });
  };
  // a >= a.offset >= b: not a < b
  if (!a->base.valid() && b->is_constant() && grows(*a) && a->offset >= b->offset) return !yes;
  if (!b->base.valid() && a->is_constant() && grows(*b) && a->offset < b->offset) return yes;
  // a = i + offset <= size - 1 + offset < b
  if (a->base.valid() || a->terms.size() != 1 || a->terms[0].factor != 1 || !b->terms.empty()) return std::nullopt;
  const Dim& size = dims_[a->terms[0].axis];
  if (size.is_constant() ? b->is_constant() && size.constant + a->offset <= b->offset
                         : b->base == size.value && a->offset <= b->offset)
    return yes;
  return std::nullopt;
}

BatchValue Vectorizer::State::select(const BatchValue& condition, const BatchValue& a, const BatchValue& b) {
  if (a.value.valid() && a.value == b.value) return a;
  return elementwise(ScalarOp::Where, {condition, a, b});
}

// ---- what runs
bool Vectorizer::State::trusted(const BatchAxes& axes) const {
  if (context_.mask) {
    const BatchAxes& mask = context_.mask->axes;
    if (!context_.some || without(mask, axes).size() != mask.size()) return false;
  }
  return subset(context_.perhaps_empty, axes);
}

std::optional<BatchValue> Vectorizer::State::needed(const BatchAxes& axes) {
  if (trusted(axes)) return std::nullopt;
  BatchAxes covered = context_.mask ? united(axes, context_.mask->axes) : axes;
  BatchAxes empty = without(context_.perhaps_empty, covered);
  if (empty.empty()) return context_.mask;
  BatchValue there = plain(not_empty(empty));
  return context_.mask ? elementwise(ScalarOp::And, {*context_.mask, there}) : there;
}

std::optional<ValueId> Vectorizer::State::anyone() {
  std::optional<BatchValue> active = needed({});
  if (!active) return std::nullopt;
  ValueId value = materialized(*active);
  return active->axes.empty() ? value : reduce_all(ReduceOp::Any, value);
}

ValueId Vectorizer::State::not_empty(const BatchAxes& axes) {
  ValueId result;
  for (uint32_t axis : axes) {
    ValueId some = b_->scalar(ScalarOp::Gt, {b_->size(dims_[axis]), i64(0)}, loc_);
    result = result.valid() ? b_->scalar(ScalarOp::And, {result, some}, loc_) : some;
  }
  return result;
}

} // namespace tl

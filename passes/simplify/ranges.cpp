#include "passes/simplify/ranges.h"
#include "abi/limits.h"
#include "abi/sort_op.h"
#include "passes/edit.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace tl {
using namespace ir;
namespace {

using Integers = Ranges::Integers;
using Reals = Ranges::Reals;

// What lies between the least and the most of some numbers; nothing if one of them is none.
template <class T, size_t N> std::optional<Range<T>> around(const std::array<std::optional<T>, N>& numbers) {
  std::optional<Range<T>> range;
  for (const std::optional<T>& number : numbers) {
    if (!number) return std::nullopt;
    if (!range) range = Range<T>{*number, *number};
    range = Range<T>{std::min(range->least, *number), std::max(range->most, *number)};
  }
  return range;
}

std::optional<int64_t> sum(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}
std::optional<int64_t> difference(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}
std::optional<int64_t> product(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}
// Rounding keeps the order of numbers, so that the ends of a range, rounded, are the ends of what is rounded.
std::optional<double> finite(double x) { return std::isfinite(x) ? std::optional(x) : std::nullopt; }
std::optional<double> sum(double a, double b) { return finite(a + b); }
std::optional<double> difference(double a, double b) { return finite(a - b); }
std::optional<double> product(double a, double b) { return finite(a * b); }

template <class T> std::optional<Range<T>> arithmetic(ScalarOp op, const Range<T>& a, const Range<T>& b) {
  switch (op) {
  case ScalarOp::Add: return around<T, 2>({sum(a.least, b.least), sum(a.most, b.most)});
  case ScalarOp::Sub: return around<T, 2>({difference(a.least, b.most), difference(a.most, b.least)});
  case ScalarOp::Mul:
    return around<T, 4>(
        {product(a.least, b.least), product(a.least, b.most), product(a.most, b.least), product(a.most, b.most)});
  default: return std::nullopt;
  }
}

int64_t floored(int64_t a, int64_t positive) { return a / positive - (a % positive < 0 ? 1 : 0); }

Integers combined(ScalarOp op, const Range<int64_t>& a, const Range<int64_t>& b) {
  switch (op) {
  case ScalarOp::Min: return Range<int64_t>{std::min(a.least, b.least), std::min(a.most, b.most)};
  case ScalarOp::Max: return Range<int64_t>{std::max(a.least, b.least), std::max(a.most, b.most)};
  case ScalarOp::FloorDiv:
    if (b.least != b.most || b.least <= 0) return std::nullopt;
    return Range<int64_t>{floored(a.least, b.least), floored(a.most, b.least)};
  case ScalarOp::Mod:
    if (b.least <= 0) return std::nullopt;
    if (a.least >= 0 && a.most < b.least) return a;
    return Range<int64_t>{0, b.most - 1};
  default: return arithmetic(op, a, b);
  }
}

// lt or le, for all numbers of both.
template <class T> std::optional<bool> compared(ScalarOp op, const Range<T>& a, const Range<T>& b) {
  const bool apart = a.most < b.least || b.most < a.least;
  switch (op) {
  case ScalarOp::Lt:
    if (a.most < b.least) return true;
    return a.least >= b.most ? std::optional(false) : std::nullopt;
  case ScalarOp::Le:
    if (a.most <= b.least) return true;
    return a.least > b.most ? std::optional(false) : std::nullopt;
  case ScalarOp::Eq: return apart ? std::optional(false) : std::nullopt;
  case ScalarOp::Ne: return apart ? std::optional(true) : std::nullopt;
  default: return std::nullopt;
  }
}

constexpr Range<int64_t> kSizes{0, kLongestAxis};

// What integers of a type are, converted to i64.
Integers all_of(DType type) {
  if (type == DType::Bool) return Range<int64_t>{0, 1};
  if (is_float(type) || type == DType::Key || size_of(type) == 8) return std::nullopt;
  const int bits = 8 * size_of(type);
  if (is_unsigned(type)) return Range<int64_t>{0, (int64_t{1} << bits) - 1};
  return Range<int64_t>{-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

bool has_integers(const Type& type) { return type.is_tensor() && type.dtype == DType::I64; }

// The elements of the result are elements of the first operand.
bool is_selection(const Node& node) {
  switch (node.op) {
  case Op::Broadcast:
  case Op::Reshape:
  case Op::Transpose:
  case Op::Slice:
  case Op::Index:
  case Op::Gather: return true;
  default: return false;
  }
}

} // namespace

Ranges::Ranges(const Function& function) : f_(function) {
  for (ValueId param : f_.body.params)
    for (const Dim& dim : f_[param].type.dims)
      if (!dim.is_constant()) known_[dim.value.index] = kSizes;
}

void Ranges::come_by(NodeId id, bool in_kernel) {
  const Node& node = f_[id];
  if (in_kernel && node.op == Op::Guard) in_kernel_.insert(node.results[0].index);
  for (ValueId result : node.results) // now, when its operands' are known: so no chain is long
    of(result), real(result);
  if (node.op == Op::Iota) below(node.results[0], f_[node.results[0]].type.dims[0]);
  if (node.op == Op::Sort && node.as<SortAttrs>().op != SortOp::Values)
    below(node.results[0], f_[node.operands[0]].type.dims.back());
  if (node.regions.empty()) return;
  const std::vector<ValueId>& params = node.regions[0].params;
  if (node.op == Op::Map && !node.results.empty()) {
    const std::vector<Dim>& dims = f_[node.results[0]].type.dims;
    for (size_t i = 0; i < params.size() && i < dims.size(); ++i) {
      if (f_[params[i]].type != Type::scalar(DType::I64)) continue;
      below(params[i], dims[i]);
    }
  }
  if (node.op == Op::For) {
    const Integers lo = of(node.operands[0]), hi = of(node.operands[1]), step = of(node.operands[2]);
    if (lo && hi && step && step->least > 0 && lo->least < hi->most)
      known_[params[0].index] = Range<int64_t>{lo->least, hi->most - 1};
  }
}

// Positions along an axis of such a size.
void Ranges::below(ValueId positions, const Dim& dim) {
  const int64_t size = dim.is_constant() ? dim.constant : kLongestAxis;
  known_[positions.index] = Range<int64_t>{0, std::max<int64_t>(size, 1) - 1};
  if (dim.is_constant()) return;
  // Where there is a position, a size of max(x, 0) is x.
  Affine end = affine(dim.value);
  const Node* size_node = producer_of(f_, end.base);
  if (end.offset == 0 && size_node && size_node->is(ScalarOp::Max) && integer_of(f_, size_node->operands[1]) == 0)
    end = affine(size_node->operands[0]);
  ends_[positions.index] = Affine{end.base, end.offset - 1};
}

Integers Ranges::of(ValueId value) {
  if (!has_integers(f_[value].type)) return std::nullopt;
  if (const auto it = known_.find(value.index); it != known_.end()) return it->second;
  const Node* node = producer_of(f_, value);
  const Integers range = node ? compute(*node) : std::nullopt;
  known_[value.index] = range;
  return range;
}

// What the condition asks of the value itself, where that is a constant.
Integers Ranges::let_through(const Node& guard) {
  Range<int64_t> range = of(guard.operands[0]).value_or(Range<int64_t>{INT64_MIN, INT64_MAX});
  const Node* condition = producer_of(f_, guard.operands[1]);
  if (condition && condition->op == Op::Elementwise && condition->operands.size() == 2 &&
      condition->operands[0] == guard.operands[0])
    if (const auto bound = integer_of(f_, condition->operands[1])) {
      if (condition->is(ScalarOp::Ge)) range.least = std::max(range.least, *bound);
      if (condition->is(ScalarOp::Le)) range.most = std::min(range.most, *bound);
    }
  if (range.least > range.most || (range.least == INT64_MIN && range.most == INT64_MAX)) return std::nullopt;
  if (may_be_zero(guard)) range = {std::min<int64_t>(range.least, 0), std::max<int64_t>(range.most, 0)};
  return range;
}

Integers Ranges::compute(const Node& node) {
  if (node.op == Op::Guard) return let_through(node);
  if (node.op == Op::Constant) {
    const auto number = node.as<ConstantAttrs>().literal.as<int64_t>();
    return Range<int64_t>{number, number};
  }
  if (is_selection(node)) return of(node.operands[0]);
  if (node.op == Op::Convert) return all_of(f_[node.operands[0]].type.dtype);
  if (node.op != Op::Elementwise) return std::nullopt;
  if (node.is(ScalarOp::Where)) {
    const Integers a = of(node.operands[1]), b = of(node.operands[2]);
    if (!a || !b) return std::nullopt;
    return Range<int64_t>{std::min(a->least, b->least), std::max(a->most, b->most)};
  }
  if (node.operands.size() != 2) return std::nullopt;
  const Integers a = of(node.operands[0]), b = of(node.operands[1]);
  if (!a || !b) return std::nullopt;
  return combined(node.as<ElementwiseAttrs>().op, *a, *b);
}

Reals Ranges::real(ValueId value) {
  if (f_[value].type != Type::scalar(DType::F64)) return std::nullopt;
  if (const auto it = reals_.find(value.index); it != reals_.end()) return it->second;
  const Node* node = producer_of(f_, value);
  const Reals range = node ? compute_real(*node) : std::nullopt;
  reals_[value.index] = range;
  return range;
}

Reals Ranges::compute_real(const Node& node) {
  if (node.op == Op::Guard) return real(node.operands[0]);
  if (node.op == Op::Constant) {
    const auto number = node.as<ConstantAttrs>().literal.as<double>();
    return std::isfinite(number) ? Reals(Range<double>{number, number}) : std::nullopt;
  }
  if (node.op == Op::Convert) {
    const Integers x = of(node.operands[0]);
    return x ? Reals(Range<double>{static_cast<double>(x->least), static_cast<double>(x->most)}) : std::nullopt;
  }
  if (node.op != Op::Elementwise) return std::nullopt;
  const Reals a = real(node.operands[0]);
  if (!a) return std::nullopt;
  if (node.is(ScalarOp::Abs))
    return Range<double>{a->least > 0  ? a->least
                         : a->most < 0 ? -a->most
                                       : 0,
                         std::max(std::abs(a->least), std::abs(a->most))};
  if (node.operands.size() != 2) return std::nullopt;
  const Reals b = real(node.operands[1]);
  return b ? arithmetic(node.as<ElementwiseAttrs>().op, *a, *b) : std::nullopt;
}

std::optional<Ranges::Affine> Ranges::plus(std::optional<Affine> a, int64_t number) {
  if (!a) return std::nullopt;
  const auto offset = sum(a->offset, number);
  return offset ? std::optional(Affine{a->base, *offset}) : std::nullopt;
}

Ranges::Affine Ranges::affine(ValueId value) {
  const Node* node = producer_of(f_, value);
  if (!node) return {value, 0};
  if (node->op == Op::Guard) return may_be_zero(*node) ? Affine{value, 0} : affine(node->operands[0]);
  const auto number = node->is(ScalarOp::Add) ? integer_of(f_, node->operands[1]) : std::nullopt;
  if (!number || !of(value)) return {value, 0};
  return plus(affine(node->operands[0]), *number).value_or(Affine{value, 0});
}

std::optional<Ranges::Affine> Ranges::no_more_than(ValueId value) {
  if (const auto it = ends_.find(value.index); it != ends_.end()) return it->second;
  const Node* node = producer_of(f_, value);
  if (!node || !of(value)) return std::nullopt;
  if (node->op == Op::Guard) return may_be_zero(*node) ? std::nullopt : no_more_than(node->operands[0]);
  if (is_selection(*node)) return no_more_than(node->operands[0]);
  if (node->is(ScalarOp::Add)) {
    for (size_t i = 0; i < 2; ++i)
      if (const auto end = no_more_than(node->operands[i]))
        if (const Integers other = of(node->operands[1 - i])) return plus(end, other->most);
    return std::nullopt;
  }
  // x <= y // s + o: then x * s <= y + o * s.
  if (node->is(ScalarOp::Mul)) {
    const auto end = no_more_than(node->operands[0]);
    const auto step = integer_of(f_, node->operands[1]);
    const Node* quotient = end ? producer_of(f_, end->base) : nullptr;
    if (!step || *step <= 0 || !quotient || !quotient->is(ScalarOp::FloorDiv)) return std::nullopt;
    if (integer_of(f_, quotient->operands[1]) != step || !of(quotient->operands[0])) return std::nullopt;
    const auto more = product(end->offset, *step);
    return more ? plus(affine(quotient->operands[0]), *more) : std::nullopt;
  }
  return std::nullopt;
}

bool Ranges::is_below(ValueId a, ValueId b, int64_t by) {
  const auto end = plus(no_more_than(a), by);
  if (!end || !of(b)) return false;
  const Affine other = affine(b);
  return end->base == other.base && end->offset <= other.offset;
}

std::optional<bool> Ranges::decided(ValueId condition) {
  if (!f_[condition].type.is_tensor() || f_[condition].type.dtype != DType::Bool) return std::nullopt;
  if (const auto value = constant_of(f_, condition)) return value->as<uint8_t>() != 0;
  const Node* node = producer_of(f_, condition);
  return node ? decided(*node) : std::nullopt;
}

std::optional<bool> Ranges::decided(const Node& node) {
  if (node.op != Op::Elementwise || node.operands.size() != 2) return std::nullopt;
  ValueId a = node.operands[0], b = node.operands[1];
  ScalarOp op = node.as<ElementwiseAttrs>().op;
  if (op == ScalarOp::And) return decided(a) == true && decided(b) == true ? std::optional(true) : std::nullopt;
  if (op == ScalarOp::Gt || op == ScalarOp::Ge) {
    std::swap(a, b);
    op = op == ScalarOp::Gt ? ScalarOp::Lt : ScalarOp::Le;
  }
  if (const Reals x = real(a), y = real(b); x && y) return compared(op, *x, *y);
  const Integers x = of(a), y = of(b);
  if (!x || !y) return std::nullopt;
  if (const auto answer = compared(op, *x, *y)) return answer;
  const bool known = (op == ScalarOp::Lt && is_below(a, b, 1)) || (op == ScalarOp::Le && is_below(a, b, 0));
  return known ? std::optional(true) : std::nullopt;
}

} // namespace tl

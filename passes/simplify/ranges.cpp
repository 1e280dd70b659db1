#include "passes/simplify/ranges.h"
#include "abi/limits.h"
#include "passes/edit.h"
#include <algorithm>
#include <array>

namespace tl {
using namespace ir;
namespace {

using Maybe = std::optional<Range>;

// What lies between the least and the most of some numbers; nothing if one of them is no i64.
template <size_t N> Maybe around(const std::array<std::optional<int64_t>, N>& numbers) {
  Maybe range;
  for (const std::optional<int64_t>& number : numbers) {
    if (!number) return std::nullopt;
    if (!range) range = Range{*number, *number};
    range = Range{std::min(range->least, *number), std::max(range->most, *number)};
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
int64_t floored(int64_t a, int64_t positive) { return a / positive - (a % positive < 0 ? 1 : 0); }

Maybe combined(ScalarOp op, const Range& a, const Range& b) {
  switch (op) {
  case ScalarOp::Add: return around<2>({sum(a.least, b.least), sum(a.most, b.most)});
  case ScalarOp::Sub: return around<2>({difference(a.least, b.most), difference(a.most, b.least)});
  case ScalarOp::Mul:
    return around<4>(
        {product(a.least, b.least), product(a.least, b.most), product(a.most, b.least), product(a.most, b.most)});
  case ScalarOp::Min: return Range{std::min(a.least, b.least), std::min(a.most, b.most)};
  case ScalarOp::Max: return Range{std::max(a.least, b.least), std::max(a.most, b.most)};
  case ScalarOp::FloorDiv:
    if (b.least != b.most || b.least <= 0) return std::nullopt;
    return Range{floored(a.least, b.least), floored(a.most, b.least)};
  case ScalarOp::Mod:
    if (b.least <= 0) return std::nullopt;
    if (a.least >= 0 && a.most < b.least) return a;
    return Range{0, b.most - 1};
  default: return std::nullopt;
  }
}

} // namespace

void Ranges::enter(NodeId id) {
  const Node& node = f_[id];
  if (node.regions.empty()) return;
  const std::vector<ValueId>& params = node.regions[0].params;
  if (node.op == Op::Map && !node.results.empty()) {
    const std::vector<Dim>& dims = f_[node.results[0]].type.dims;
    for (size_t i = 0; i < params.size() && i < dims.size(); ++i) {
      const int64_t size = dims[i].is_constant() ? dims[i].constant : kLongestAxis;
      if (f_[params[i]].type == Type::scalar(DType::I64))
        known_[params[i].index] = Range{0, std::max<int64_t>(size, 1) - 1};
    }
  }
  if (node.op == Op::For) {
    const Maybe lo = of(node.operands[0]), hi = of(node.operands[1]), step = of(node.operands[2]);
    if (lo && hi && step && step->least > 0 && lo->least < hi->most)
      known_[params[0].index] = Range{lo->least, hi->most - 1};
  }
}

std::optional<Range> Ranges::of(ValueId value) {
  if (f_[value].type != Type::scalar(DType::I64)) return std::nullopt;
  if (const auto it = known_.find(value.index); it != known_.end()) return it->second;
  const Node* node = producer_of(f_, value);
  const Maybe range = node ? compute(*node) : std::nullopt;
  known_[value.index] = range;
  return range;
}

std::optional<Range> Ranges::compute(const Node& node) {
  if (node.op == Op::Guard) return of(node.operands[0]);
  if (node.op == Op::Constant) {
    const auto number = node.as<ConstantAttrs>().literal.as<int64_t>();
    return Range{number, number};
  }
  if (node.op != Op::Elementwise) return std::nullopt;
  if (node.is(ScalarOp::Where)) {
    const Maybe a = of(node.operands[1]), b = of(node.operands[2]);
    if (!a || !b) return std::nullopt;
    return Range{std::min(a->least, b->least), std::max(a->most, b->most)};
  }
  if (node.operands.size() != 2) return std::nullopt;
  const Maybe a = of(node.operands[0]), b = of(node.operands[1]);
  if (!a || !b) return std::nullopt;
  return combined(node.as<ElementwiseAttrs>().op, *a, *b);
}

std::optional<bool> Ranges::decided(const Node& node) {
  if (node.op != Op::Elementwise || node.operands.size() != 2) return std::nullopt;
  Maybe a = of(node.operands[0]), b = of(node.operands[1]);
  if (!a || !b) return std::nullopt;
  ScalarOp op = node.as<ElementwiseAttrs>().op;
  if (op == ScalarOp::Gt || op == ScalarOp::Ge) {
    std::swap(a, b);
    op = op == ScalarOp::Gt ? ScalarOp::Lt : ScalarOp::Le;
  }
  const bool apart = a->most < b->least || b->most < a->least;
  switch (op) {
  case ScalarOp::Lt:
    if (a->most < b->least) return true;
    return a->least >= b->most ? std::optional(false) : std::nullopt;
  case ScalarOp::Le:
    if (a->most <= b->least) return true;
    return a->least > b->most ? std::optional(false) : std::nullopt;
  case ScalarOp::Eq: return apart ? std::optional(false) : std::nullopt;
  case ScalarOp::Ne: return apart ? std::optional(true) : std::nullopt;
  default: return std::nullopt;
  }
}

} // namespace tl

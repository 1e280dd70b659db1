#include "passes/fuse/views.h"
#include "passes/edit.h"

namespace tl {
using namespace ir;

std::optional<std::vector<int64_t>> inserted_ones(const std::vector<Dim>& from, const std::vector<Dim>& to) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < to.size(); ++i) {
    if (axes.size() < from.size() && from[axes.size()] == to[i])
      axes.push_back(static_cast<int64_t>(i));
    else if (!(to[i] == Dim::of(1)))
      return std::nullopt;
  }
  if (axes.size() != from.size()) return std::nullopt;
  return axes;
}

bool only_ones_differ(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  size_t i = 0, j = 0;
  const Dim one = Dim::of(1);
  for (;;) {
    while (i < a.size() && a[i] == one)
      ++i;
    while (j < b.size() && b[j] == one)
      ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if (!(a[i++] == b[j++])) return false;
  }
}

const Node* check_of_sizes(const Function& f, ValueId value, const Dim& a, const Dim& b) {
  auto is = [&](ValueId size, const Dim& dim) {
    return dim.is_constant() ? integer_of(f, size) == dim.constant : size == dim.value;
  };
  for (const Node* node = producer_of(f, value); node; node = producer_of(f, node->operands[0])) {
    if (node->op == Op::Transpose || node->op == Op::Reshape) continue;
    if (node->op != Op::Guard) return nullptr;
    const Node* equal = producer_of(f, node->operands[1]);
    if (!equal || !equal->is(ScalarOp::Eq) || !f[node->operands[1]].type.is_scalar()) continue;
    const ValueId x = equal->operands[0], y = equal->operands[1];
    if ((is(x, a) && is(y, b)) || (is(x, b) && is(y, a))) return node;
  }
  return nullptr;
}

bool only_names_differ(const Function& f, ValueId x, const std::vector<Dim>& to) {
  const std::vector<Dim>& from = f[x].type.dims;
  if (from.size() != to.size()) return false;
  size_t different = 0, unchecked = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[i]) continue;
    if (from[i].is_constant() && to[i].is_constant()) return false;
    ++different;
    if (!check_of_sizes(f, x, from[i], to[i])) ++unchecked;
  }
  return unchecked == 0 || different == 1;
}

std::optional<ContiguousView> contiguous_view(const Function& f, const Node& node) {
  if (node.operands.empty() || !f[node.operands[0]].type.is_tensor()) return std::nullopt;
  const std::vector<Dim>& dims = f[node.operands[0]].type.dims;
  if (dims.empty()) return std::nullopt;
  ContiguousView view;
  if (node.op == Op::Reshape) return view;
  if (node.op == Op::Index) {
    for (size_t i = 1; i < node.operands.size(); ++i)
      view.offset.push_back({i, i - 1});
    return view;
  }
  if (node.op != Op::Slice) return std::nullopt;
  // Axes before the first long one have length 1, those after it are whole.
  const std::vector<Dim>& lengths = f[node.results[0]].type.dims;
  bool whole_from_here = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t step = node.as<StepsAttrs>().steps[i];
    bool whole = lengths[i] == dims[i] && integer_of(f, node.operands[1 + i]) == 0 && step == 1;
    bool one = lengths[i] == Dim::of(1);
    if (whole_from_here && !whole) return std::nullopt;
    if (!one) {
      if (step != 1) return std::nullopt;
      whole_from_here = true;
    }
    if (!whole) view.offset.push_back({1 + i, i});
  }
  return view;
}

namespace {

// A host i64 as a value (none: 0) plus a constant.
struct Shifted {
  ValueId base;
  int64_t by = 0;
};

Shifted shifted(const Function& f, ValueId value) {
  Shifted result{value, 0};
  while (result.base.valid()) {
    if (auto number = integer_of(f, result.base)) return {{}, result.by + *number};
    const Node* node = producer_of(f, result.base);
    if (node && node->op == Op::Kernel) {
      result.base = node->regions[0].yields[f[result.base].result];
      continue;
    }
    if (!node || !node->is(ScalarOp::Add)) break;
    const auto left = integer_of(f, node->operands[0]), right = integer_of(f, node->operands[1]);
    if (!left && !right) break;
    result = {node->operands[left ? 1 : 0], result.by + (left ? *left : *right)};
  }
  return result;
}

// The Slice that a value is, but for sizes of 1.
const Node* slice_of(const Function& f, ValueId value) {
  const Node* node = producer_of(f, value);
  while (node && node->op == Op::Reshape && only_ones_differ(f[node->operands[0]].type.dims, f[value].type.dims)) {
    value = node->operands[0];
    node = producer_of(f, value);
  }
  return node && node->op == Op::Slice ? node : nullptr;
}

} // namespace

std::optional<WindowView> window_view(const Function& f, const Node& node) {
  if (node.op != Op::Concat || node.operands.size() < 2) return std::nullopt;
  const auto axis = static_cast<size_t>(node.as<AxisAttrs>().axis);
  const Node* first = slice_of(f, node.operands[0]);
  if (!first) return std::nullopt;
  WindowView view{f[first->results[0]].producer};
  for (size_t k = 0; k < node.operands.size(); ++k) {
    const Node* part = slice_of(f, node.operands[k]);
    const bool alike = part && part->operands[0] == first->operands[0] &&
                       part->as<StepsAttrs>().steps == first->as<StepsAttrs>().steps &&
                       same_dims(f, part->results[0], first->results[0]) &&
                       same_dims(f, node.operands[k], node.operands[0]) &&
                       f[node.operands[k]].type.dims[axis] == Dim::of(1);
    if (!alike) return std::nullopt;
    for (size_t i = 1; k > 0 && i < part->operands.size(); ++i) {
      const Shifted from = shifted(f, first->operands[i]), to = shifted(f, part->operands[i]);
      if (from.base != to.base) return std::nullopt;
      const int64_t apart = to.by - from.by;
      if (k == 1 && apart != 0 && view.distance == 0) view.along = i - 1, view.distance = apart;
      if (apart != (i - 1 == view.along ? static_cast<int64_t>(k) * view.distance : 0)) return std::nullopt;
    }
  }
  return view;
}

} // namespace tl

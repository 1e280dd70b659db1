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

} // namespace tl

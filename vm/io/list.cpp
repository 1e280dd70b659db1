#include "vm/io/list.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace tl {

SliceBounds::Resolved SliceBounds::resolve(int64_t n) const {
  int64_t by = step.value_or(1);
  auto clipped = [&](int64_t at, int64_t lo, int64_t hi) { return std::clamp(at < 0 ? at + n : at, lo, hi); };
  if (by > 0) {
    int64_t from = first ? clipped(*first, 0, n) : 0, to = last ? clipped(*last, 0, n) : n;
    return {from, to > from ? (to - from - 1) / by + 1 : 0, by};
  }
  int64_t from = first ? clipped(*first, -1, n - 1) : n - 1, to = last ? clipped(*last, -1, n - 1) : -1;
  // Negating the least number would overflow; no list is that long.
  int64_t stride = by == INT64_MIN ? INT64_MAX : -by;
  return {from, from > to ? (from - to - 1) / stride + 1 : 0, by};
}

JoinedSizes join_sizes(const std::vector<std::vector<int64_t>>& parts, size_t axis, bool stack, size_t rank) {
  JoinedSizes result;
  if (parts.empty() && stack && rank == 1) {
    result.dims = {0};
    return result;
  }
  if (parts.empty()) {
    result.problem = "the list has no elements to join, so nothing tells the sizes of the result";
    return result;
  }
  const std::vector<int64_t>& first = parts[0];
  result.dims = first;
  if (stack)
    result.dims.insert(result.dims.begin() + static_cast<long>(axis), static_cast<int64_t>(parts.size()));
  else
    result.dims[axis] = 0;
  int64_t inner = 1; // elements of a part for one position along the axis
  for (size_t k = stack ? axis : axis + 1; k < first.size(); ++k)
    inner *= first[k];
  for (size_t k = 0; k < axis; ++k)
    result.rows *= first[k];
  for (size_t p = 0; p < parts.size(); ++p) {
    for (size_t k = 0; k < first.size(); ++k)
      if ((stack || k != axis) && parts[p][k] != first[k]) {
        result.problem = fmt::format("element {} of the list has {} along axis {}, and the first has {}", p,
                                     parts[p][k], k, first[k]);
        return result;
      }
    if (!stack) result.dims[axis] += parts[p][axis];
    result.run_sizes.push_back(stack ? inner : parts[p][axis] * inner);
  }
  return result;
}

void join_parts(const JoinedSizes& sizes, int element_bytes, const std::vector<const std::byte*>& parts,
                std::byte* out) {
  for (int64_t row = 0; row < sizes.rows; ++row)
    for (size_t p = 0; p < parts.size(); ++p) {
      auto bytes = static_cast<size_t>(sizes.run_sizes[p] * element_bytes);
      if (bytes == 0) continue;
      std::memcpy(out, parts[p] + static_cast<size_t>(row) * bytes, bytes);
      out += bytes;
    }
}

} // namespace tl

// What lists mean, for both engines: slices, and one tensor out of many.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tl {

// Python's first:last:step. The step is not 0.
struct SliceBounds {
  std::optional<int64_t> first, last, step;
  struct Resolved {
    int64_t start, count, step; // start, start + step, … `count` of them
  };
  Resolved resolve(int64_t length) const;
};

// The sizes of a tensor that is joined from parts of these sizes, along an axis or (stack) along a new one. A
// `problem`, in the user's words: no parts (but no scalars are an empty vector: `rank` is the result's), or other sizes
// that differ.
struct JoinedSizes {
  std::vector<int64_t> dims;
  std::string problem;
  int64_t rows = 1;               // number of runs: the product of the sizes before the axis
  std::vector<int64_t> run_sizes; // elements of each part in a run
};
JoinedSizes join_sizes(const std::vector<std::vector<int64_t>>& parts, size_t axis, bool stack, size_t rank);
// Copies dense parts with elements of this many bytes to `out`.
void join_parts(const JoinedSizes& sizes, int element_bytes, const std::vector<const std::byte*>& parts,
                std::byte* out);

} // namespace tl

// Facts about views that several passes ask for.
#pragma once
#include "ir/graph/graph.h"
#include <optional>
#include <vector>

namespace tl {

// `to` is `from` with sizes of the constant 1 inserted: the axis in `to` of each axis of `from`.
std::optional<std::vector<int64_t>> inserted_ones(const std::vector<ir::Dim>& from, const std::vector<ir::Dim>& to);

// Both have the same sizes once those that are the constant 1 are left out.
bool only_ones_differ(const std::vector<ir::Dim>& a, const std::vector<ir::Dim>& b);

// The Guard of `a == b` that the value is behind, or null. Views of it do not hide one.
const ir::Node* check_of_sizes(const ir::Function& function, ir::ValueId value, const ir::Dim& a, const ir::Dim& b);

// Do x and `to` have the same sizes under other names? Guards say so, or what else could be said of one axis: that is
// equal if the numbers of elements are, unless there are none, which then lie anywhere.
bool only_names_differ(const ir::Function& function, ir::ValueId x, const std::vector<ir::Dim>& to);

// The node is a Reshape, or a Slice or Index of consecutive elements, of a tensor of rank 1 or more: at run time a
// pointer and an offset. (That the starts are host scalars is for the caller to know.) Gives the operands of the node
// that the offset is made of, each with the axis it stands for.
struct ContiguousView {
  struct Term {
    size_t operand, axis;
  };
  std::vector<Term> offset; // sum over the terms of operand * (elements of x in one step of the axis)
};
std::optional<ContiguousView> contiguous_view(const ir::Function& function, const ir::Node& node);

// A Concat of slices of one tensor at equal distances, as windows over an axis are read: part k is the first Slice, k *
// `distance` further along the axis `along` of what it reads. An index map, as a Slice is.
struct WindowView {
  ir::NodeId slice; // the first part, but for sizes of 1
  size_t along = 0;
  int64_t distance = 0;
};
std::optional<WindowView> window_view(const ir::Function& function, const ir::Node& node);

} // namespace tl

// What sorting the rows of a tensor gives. Its meaning is vm/sort for the VM and ir/interpret/tensor.cpp for the
// interpreter.
#pragma once
#include <cstdint>
#include <iterator>
#include <string_view>

namespace tl {

// Stable; -0 and 0 are equal, NaN is the greatest, and all NaNs are equal.
enum class SortOp : uint8_t {
  Values, // the sorted values
  Order,  // the positions that sort: i64
  Top,    // the positions of the k greatest, descending: i64
};
inline constexpr std::string_view kSortOps[] = {"values", "order", "top"};
inline constexpr int kSortOpCount = static_cast<int>(std::size(kSortOps));

} // namespace tl

#include "parser/check/type_limits.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::checker {
namespace {

struct Extent {
  size_t parts = 0, axes = 0; // no further than what is too much

  void add(const Type& type) {
    ++parts;
    if (type.is_tensor()) axes = std::max(axes, type.rank());
    for (const Type& element : type.elements) {
      if (parts > kMostParts) return;
      add(element);
    }
  }
};

} // namespace

std::string too_large(const Type& type) {
  Extent extent;
  extent.add(type);
  if (extent.parts > kMostParts) return fmt::format("this value has more than {} parts", kMostParts);
  if (extent.axes > kMostAxes) return fmt::format("this tensor has {} axes, more than {}", extent.axes, kMostAxes);
  return "";
}

} // namespace tl::checker

#include "abi/columns.h"
#include <algorithm>
#include <cstddef>
#include <iterator>

namespace tl {
namespace {

struct Range {
  uint32_t first, last;
};

constexpr Range kNoColumn[] = {
#define TL_NO_COLUMN(first, last) {first, last},
#define TL_TWO_COLUMNS(first, last)
#include "abi/widths.def"
#undef TL_NO_COLUMN
#undef TL_TWO_COLUMNS
};
constexpr Range kTwoColumns[] = {
#define TL_NO_COLUMN(first, last)
#define TL_TWO_COLUMNS(first, last) {first, last},
#include "abi/widths.def"
#undef TL_NO_COLUMN
#undef TL_TWO_COLUMNS
};

template <size_t N> bool holds(const Range (&ranges)[N], uint32_t code) {
  const Range* at = std::lower_bound(std::begin(ranges), std::end(ranges), code,
                                     [](const Range& range, uint32_t value) { return range.last < value; });
  return at != std::end(ranges) && at->first <= code;
}

} // namespace

int columns_of(uint32_t code) { return holds(kNoColumn, code) ? 0 : holds(kTwoColumns, code) ? 2 : 1; }

} // namespace tl

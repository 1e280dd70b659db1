// Between which numbers an i64 lies, as far as the graph tells: subscripts of ranges of known lengths.
#pragma once
#include "ir/graph/graph.h"
#include <map>
#include <optional>

namespace tl {

struct Range {
  int64_t least, most;
};

// Of values that a pass comes by in order: what it has learnt of one stays true, also if its producer is replaced.
class Ranges {
public:
  explicit Ranges(const ir::Function& function) : f_(function) {}

  // The indices of a Map or For that is gone into: they lie within its axes, or bounds.
  void enter(ir::NodeId id);
  // Of a scalar i64; nothing: any number. If the value fails it is none.
  std::optional<Range> of(ir::ValueId value);
  // What a comparison of i64 scalars is for all numbers that its operands may be.
  std::optional<bool> decided(const ir::Node& comparison);

private:
  std::optional<Range> compute(const ir::Node& node);

  const ir::Function& f_;
  std::map<uint32_t, std::optional<Range>> known_;
};

} // namespace tl

// Between which numbers scalars and the elements of tensors lie, as far as the graph tells: sizes, subscripts of
// ranges, positions, integers of few bits, and the checks of these.
#pragma once
#include "ir/graph/graph.h"
#include <map>
#include <optional>
#include <unordered_set>

namespace tl {

template <class T> struct Range {
  T least, most;
};

// Of values that a pass comes by in order: what it has learnt of one stays true, also if its producer is replaced. What
// is said of a value of the host holds unless it fails. In a kernel what follows a Guard that fails is computed with 0
// and thrown away, and what is said holds there, too, so that it stays in bounds. Arithmetic on i64 does not wrap where
// its range is known.
class Ranges {
public:
  using Integers = std::optional<Range<int64_t>>;
  using Reals = std::optional<Range<double>>;

  explicit Ranges(const ir::Function& function); // the sizes of its parameters are sizes

  // Before the regions of a node are gone over: the indices of a Map or For lie within its axes, or bounds. in_kernel:
  // is it in a Map, or in a kernel?
  void come_by(ir::NodeId id, bool in_kernel);
  // Of a scalar i64, or of all elements of a tensor of them; of a scalar f64. Nothing: any number.
  Integers of(ir::ValueId value);
  Reals real(ir::ValueId value);
  // What a condition is for all numbers that its operands may be, and all elements: comparisons and `and`.
  std::optional<bool> decided(ir::ValueId condition);
  std::optional<bool> decided(const ir::Node& condition);

private:
  // Another value and a constant, added.
  struct Affine {
    ir::ValueId base;
    int64_t offset;
  };

  Integers compute(const ir::Node& node);
  Reals compute_real(const ir::Node& node);
  Integers let_through(const ir::Node& guard);
  // A tensor's Guard will be in a kernel.
  bool may_be_zero(const ir::Node& guard) const {
    return !f_[guard.results[0]].type.is_scalar() || in_kernel_.contains(guard.results[0].index);
  }
  void below(ir::ValueId positions, const ir::Dim& dim);
  Affine affine(ir::ValueId value); // what it is
  std::optional<Affine> no_more_than(ir::ValueId value);
  std::optional<Affine> plus(std::optional<Affine> a, int64_t number);
  bool is_below(ir::ValueId a, ir::ValueId b, int64_t by); // is a + by <= b, by what both are relative to a size?

  const ir::Function& f_;
  std::map<uint32_t, Integers> known_;
  std::map<uint32_t, Reals> reals_;
  std::map<uint32_t, Affine> ends_;        // of indices: the last they may be
  std::unordered_set<uint32_t> in_kernel_; // results of Guards
};

} // namespace tl

// Short names for the operations that passes emit when they write arithmetic: on tensors of one element type, at one
// place in the source.
#pragma once
#include "ir/graph/graph.h"
#include <functional>
#include <vector>

namespace tl {

class Emit {
public:
  // New nodes go to the end of `region`.
  Emit(ir::Module& module, ir::Function& function, ir::Region& region, LocId loc)
      : builder_(module, function, region), loc_(loc) {}

  ir::Builder& builder() { return builder_; }
  ir::Function& function() { return builder_.function(); }
  LocId loc() const { return loc_; }
  const ir::Type& type(ir::ValueId value) { return builder_.function()[value].type; }
  const std::vector<ir::Dim>& dims(ir::ValueId value) { return type(value).dims; }

  ir::ValueId number(DType type, double value);
  ir::ValueId i64(int64_t value) { return builder_.i64(value); }
  ir::ValueId size(const ir::Dim& dim) { return builder_.size(dim); }
  ir::Dim product(const std::vector<ir::Dim>& dims);      // how many elements there are
  ir::ValueId filled(const ir::Type& type, double value); // every element
  ir::ValueId zeros(const ir::Type& type) { return filled(type, 0); }
  ir::ValueId iota(const ir::Dim& count);

  // Elementwise; operands of rank 0 beside shaped ones are the same for all elements.
  ir::ValueId op(ScalarOp op, std::vector<ir::ValueId> operands);
  ir::ValueId neg(ir::ValueId a) { return op(ScalarOp::Neg, {a}); }
  ir::ValueId add(ir::ValueId a, ir::ValueId b) { return op(ScalarOp::Add, {a, b}); }
  ir::ValueId sub(ir::ValueId a, ir::ValueId b) { return op(ScalarOp::Sub, {a, b}); }
  ir::ValueId mul(ir::ValueId a, ir::ValueId b) { return op(ScalarOp::Mul, {a, b}); }
  ir::ValueId div(ir::ValueId a, ir::ValueId b) { return op(ScalarOp::Div, {a, b}); }
  ir::ValueId where(ir::ValueId c, ir::ValueId a, ir::ValueId b) { return op(ScalarOp::Where, {c, a, b}); }
  ir::ValueId mul(ir::ValueId a, double b) { return mul(a, number(type(a).dtype, b)); }
  ir::ValueId where(ir::ValueId c, ir::ValueId a, double b) { return where(c, a, number(type(a).dtype, b)); }
  ir::ValueId compare(ScalarOp o, ir::ValueId a, double b) { return op(o, {a, number(type(a).dtype, b)}); }

  ir::ValueId convert(ir::ValueId x, DType to);
  ir::ValueId reshape(ir::ValueId x, std::vector<ir::Dim> dims); // x itself where nothing changes
  ir::ValueId transpose(ir::ValueId x, std::vector<int64_t> axes);
  // Axis i of x becomes axis axes[i] of `dims`.
  ir::ValueId broadcast(ir::ValueId x, std::vector<int64_t> axes, std::vector<ir::Dim> dims);
  ir::ValueId splat(ir::ValueId scalar, std::vector<ir::Dim> dims); // itself for rank 0
  ir::ValueId slice(ir::ValueId x, std::vector<ir::ValueId> starts, std::vector<int64_t> steps,
                    std::vector<ir::Dim> dims);
  ir::ValueId update(ir::ValueId x, ir::ValueId value, std::vector<ir::ValueId> starts, std::vector<int64_t> steps,
                     ir::UpdateMode mode);
  // Element or sub-tensor at leading positions, and its counterpart.
  ir::ValueId at(ir::ValueId x, std::vector<ir::ValueId> positions);
  ir::ValueId with_at(ir::ValueId x, std::vector<ir::ValueId> positions, ir::ValueId value, ir::UpdateMode mode);
  // Sum over axes in f32 or wider, rounded once to the type of x.
  ir::ValueId sum(ir::ValueId x, std::vector<int64_t> axes);
  ir::ValueId reduce(ReduceOp op, ir::ValueId x, std::vector<int64_t> axes);
  ir::ValueId scan(ReduceOp op, ir::ValueId x, int64_t axis);
  ir::ValueId gather(ir::ValueId x, ir::ValueId idx, int64_t axis);
  ir::ValueId scatter(ir::ValueId x, ir::ValueId idx, ir::ValueId values, ir::UpdateMode mode); // along axis 0
  ir::ValueId flip(ir::ValueId x, int64_t axis);
  ir::ValueId contract(ir::ValueId a, ir::ValueId b, std::vector<int64_t> a_labels, std::vector<int64_t> b_labels,
                       std::vector<int64_t> labels);
  // Lists. The leaves of element i, with sizes of their own.
  std::vector<ir::ValueId> element(ir::ValueId list, ir::ValueId i);
  ir::ValueId length(ir::ValueId list);
  ir::ValueId with_element(ir::ValueId list, ir::ValueId i, std::vector<ir::ValueId> leaves);
  ir::ValueId list_of(const ir::Type& type, std::vector<ir::ValueId> leaves); // of one element, or of none
  ir::ValueId append(ir::ValueId list, std::vector<ir::ValueId> leaves);
  ir::ValueId list_slice(ir::ValueId list, ir::ValueId first, ir::ValueId last);
  // A list of this type, whose element i has the leaves that `element` gives.
  using Element = std::function<std::vector<ir::ValueId>(Emit&, ir::ValueId i)>;
  ir::ValueId list_by(const ir::Type& type, ir::ValueId count, const Element& element);
  ir::ValueId still(ir::ValueId list);                 // zeros for numbers; texts and keys as they are
  ir::ValueId sum(ir::ValueId list, ir::ValueId more); // of the floats in two of one form

  // lo, lo + step, … below hi (above, for a negative step). `body` is given the index and the carried values, and gives
  // the next ones, in the region whose Emit it is given.
  using Body = std::function<std::vector<ir::ValueId>(Emit&, ir::ValueId, const std::vector<ir::ValueId>&)>;
  std::vector<ir::ValueId> loop(ir::ValueId lo, ir::ValueId hi, ir::ValueId step, std::vector<ir::ValueId> initial,
                                const Body& body);

private:
  ir::Builder builder_;
  LocId loc_;
};

// All positions 0, 1, … of `rank` axes but those in `axes`.
std::vector<int64_t> other_axes(size_t rank, const std::vector<int64_t>& axes);
// Axis `axis` in front, the others in order; and the order of axes that undoes another.
std::vector<int64_t> to_front(size_t rank, int64_t axis);
std::vector<int64_t> inverse(const std::vector<int64_t>& axes);

} // namespace tl

// The parts of the vectorizer (passes/vectorize/vectorize.h). Internal to passes/vectorize.
#pragma once
#include "passes/vectorize/vectorize.h"
#include <algorithm>
#include <functional>
#include <map>
#include <optional>

namespace tl {

struct NotVectorizable {};

using BatchAxes = std::vector<uint32_t>; // ascending

BatchAxes united(const BatchAxes& a, const BatchAxes& b);
BatchAxes without(const BatchAxes& a, const BatchAxes& b);
bool contains(const BatchAxes& axes, uint32_t axis);
bool subset(const BatchAxes& a, const BatchAxes& b);

// base + offset + the sum of factor * position along axis. Each axis once, ascending; no factor is 0.
struct Affine {
  struct Term {
    uint32_t axis;
    int64_t factor;
  };
  ir::ValueId base; // an i64 that does not depend on the position; invalid: 0
  int64_t offset = 0;
  std::vector<Term> terms;
  bool is_constant() const { return !base.valid() && terms.empty(); }
};

// A value over the positions. One that is affine may have no node yet: then `value` is invalid.
struct BatchValue {
  ir::ValueId value;
  BatchAxes axes;
  std::optional<Affine> affine;
  std::optional<bool> known; // a bool that is the same whatever the position
};

class Vectorizer::State {
public:
  State(ir::Module& module, ir::Function& function, std::vector<ir::Dim> dims, ir::Builder& into);

  void bind(ir::ValueId original, BatchValue value) { values_[original] = std::move(value); }
  bool whole_region(const ir::Region& region);
  BatchValue lookup(ir::ValueId original) const;
  BatchValue position(uint32_t axis) const;
  ir::ValueId materialized(const BatchValue& value);
  ir::ValueId spread(const BatchValue& value, const BatchAxes& axes);
  BatchAxes all_axes() const;

private:
  // ---- vectorize.cpp: nodes that are not about indexing or control
  void emit(const ir::Region& region);
  void emit(const ir::Node& node);
  BatchValue pure(const ir::Node& node);
  BatchValue broadcast(const ir::Node& node);
  BatchValue elsewhere(const ir::Node& n);
  BatchValue shifted_view(const ir::Node& node);
  BatchValue pad(const ir::Node& node);
  BatchValue concat(const ir::Node& node);
  BatchValue guard(const ir::Node& node);
  BatchValue reduce(const ir::Node& node);
  BatchValue contract(const ir::Node& node);
  std::optional<BatchValue> present(ir::ValueId original, const std::vector<int64_t>& axes);
  void linalg(const ir::Node& node);
  void sort(const ir::Node& node);

  // ---- values.cpp: values over the batch
  const ir::Type& type(ir::ValueId value) const { return f_[value].type; }
  size_t own_rank(const BatchValue& value) const;
  std::vector<ir::Dim> own_dims(const BatchValue& value) const;
  std::vector<ir::Dim> sizes(const BatchAxes& axes) const;
  std::vector<ir::Dim> sizes(const BatchAxes& axes, const std::vector<ir::Dim>& own) const;
  ir::Dim dim(const ir::Dim& original);
  ir::Type own_type(ir::ValueId original);
  bool is_ragged(const ir::Dim& original) const;
  bool is_ragged(ir::ValueId original) const;
  ir::Dim product(const std::vector<ir::Dim>& dims);
  ir::ValueId i64(int64_t value) { return b_->i64(value); }
  ir::ValueId one(ir::Op op, std::vector<ir::ValueId> operands, ir::Type result, ir::Attrs attrs = {});
  ir::ValueId reshape(ir::ValueId x, std::vector<ir::Dim> dims);
  ir::ValueId broadcast(ir::ValueId x, std::vector<int64_t> axes, std::vector<ir::Dim> dims);
  ir::ValueId transpose(ir::ValueId x, const std::vector<int64_t>& axes);
  ir::ValueId reduce_all(ReduceOp op, ir::ValueId x);
  ir::ValueId zero(DType type) { return b_->constant(type, {}); }
  static BatchValue plain(ir::ValueId value) { return {value, {}, {}, {}}; }
  static BatchValue plain_axes(ir::ValueId value, BatchAxes axes) { return {value, std::move(axes), {}, {}}; }
  BatchValue constant(int64_t value);
  BatchValue truth(bool value);
  ir::ValueId spread(const BatchValue& value, const BatchAxes& axes, const std::vector<ir::Dim>& own);
  BatchValue elementwise(ScalarOp op, const std::vector<BatchValue>& operands);
  std::optional<BatchValue> folded(ScalarOp op, const std::vector<BatchValue>& operands);
  BatchValue select(const BatchValue& condition, const BatchValue& a, const BatchValue& b);
  std::optional<Affine> as_affine(const BatchValue& value) const;
  BatchValue from_affine(Affine affine);
  std::optional<BatchValue> affine_result(ScalarOp op, const std::vector<BatchValue>& operands);
  std::optional<bool> compared(ScalarOp op, const std::vector<BatchValue>& operands);
  ir::ValueId scalar_of(const Affine& affine); // base + offset
  // Runs with axes of these sizes after those that there are; what it gives may have them: then they are its own.
  template <class Run> BatchValue with_axes(const std::vector<ir::Dim>& dims, Run run) {
    const size_t before = dims_.size();
    dims_.insert(dims_.end(), dims.begin(), dims.end());
    BatchValue result = run(static_cast<uint32_t>(before));
    BatchAxes own = all_axes(), outer = result.axes;
    own.erase(own.begin(), own.begin() + static_cast<long>(before));
    outer.erase(std::lower_bound(outer.begin(), outer.end(), before), outer.end());
    result = {spread(result, united(outer, own)), outer, {}, {}};
    dims_.resize(before);
    return result;
  }
  BatchValue as_axes(const BatchValue& value, uint32_t first) const; // its own axes are those from `first` on

  // ---- where what does not run must do no harm (values.cpp)
  // Whether what depends on these axes and no others runs only where some position needs it.
  bool trusted(const BatchAxes& axes) const;
  std::optional<BatchValue> needed(const BatchAxes& axes); // where it must be right; nothing: everywhere
  std::optional<ir::ValueId> anyone();                     // whether any position is active; nothing: yes
  ir::ValueId not_empty(const BatchAxes& axes);

  // ---- index.cpp
  BatchValue index(const ir::Node& node);
  BatchValue slice(const ir::Node& node);
  BatchValue gather(const ir::Node& node);
  struct Subscript {
    BatchValue at;
    bool in_range = false; // whatever runs
  };
  // The elements x[subscripts…], one subscript per axis of x.
  BatchValue read(ir::ValueId x, std::vector<Subscript> subscripts);
  void read_simple(ir::ValueId& x, std::vector<Subscript>& subscripts, const std::vector<bool>& simple);
  void read_one(ir::ValueId& x, std::vector<uint32_t>& labels, size_t axis, Subscript& subscript,
                const BatchAxes& done);
  bool read_window(ir::ValueId& x, std::vector<uint32_t>& labels, size_t axis, const Subscript& subscript, bool trust);
  void join(ir::ValueId& x, std::vector<Subscript>& subscripts, const std::vector<size_t>& which,
            const BatchAxes& axes);
  bool fits(const Affine& at, const ir::Dim& size) const;
  BatchValue clamped(const BatchValue& at, const ir::Dim& size);
  ir::Dim at_least_one(const ir::Dim& size, const BatchAxes& axes);
  ir::ValueId resized(ir::ValueId x, const std::vector<ir::Dim>& dims); // longer with zeros at the end, or cut there
  BatchValue linear(const std::vector<BatchValue>& subscripts, const std::vector<ir::Dim>& dims);

  // ---- update.cpp
  BatchValue update(const ir::Node& node);
  BatchValue update_slice(const ir::Node& node);
  BatchValue scatter(const ir::Node& node);
  BatchValue scatter_same(const ir::Node& node);
  // What run gives, or x where no position is active.
  BatchValue if_active(const BatchValue& x, const std::function<BatchValue()>& run);

  // ---- control.cpp
  void map(const ir::Node& node);
  void branch(const ir::Node& node);
  void for_loop(const ir::Node& node);
  void while_loop(const ir::Node& node);
  bool while_any(const ir::Node& node, const std::vector<BatchValue>& initial, std::vector<BatchAxes>& axes);
  void both_branches(const ir::Node& node, const BatchValue& condition);
  std::vector<BatchValue> branch_if_taken(const ir::Node& node, const ir::Region& region);
  void under(const BatchValue& condition);
  void only(std::optional<BatchValue> mask);
  std::vector<BatchValue> lookup_all(const std::vector<ir::ValueId>& values) const;
  ir::NodeId node_with_results(const ir::Node& node, std::vector<ir::ValueId> operands,
                               const std::vector<BatchAxes>& axes, std::vector<ir::Type> more,
                               std::vector<ir::Region> regions);
  void carry(const std::vector<ir::ValueId>& params, const std::vector<BatchAxes>& axes);
  void until_stable(const std::function<bool()>& attempt);
  bool yield_carried(ir::Region& region, const std::vector<BatchValue>& values, std::vector<BatchAxes>& axes);
  BatchValue turns(const BatchValue& lo, const BatchValue& hi, const BatchValue& step);
  ir::ValueId greatest(const BatchValue& count);

  bool sizes_need_guards(const ir::Region& region) const;
  void add_perhaps_empty(uint32_t first); // axes from this one on
  // Runs with nodes going to this region; what is known of the positions is as before afterwards.
  template <class Run> void in_region(ir::Region& region, Run run) {
    const Context outer = context_;
    ir::Builder inner(module_, f_, region), *before = b_;
    b_ = &inner;
    run();
    b_ = before;
    context_ = outer;
  }

  ir::Module& module_;
  ir::Function& f_;
  std::vector<ir::Dim> dims_; // of the axes: of the batch, then of the Maps around
  ir::Builder* b_;            // where nodes go
  LocId loc_;                 // of the node that is being emitted
  std::map<ir::ValueId, BatchValue> values_;
  bool strict_ = false; // Guards hold for an empty batch too

  // What is known of the positions here. A position is active if it evaluates this place.
  struct Context {
    std::optional<BatchValue> mask; // a bool: which positions are active; nothing: all
    bool some = false;              // some position is active: known where there is a mask
    BatchAxes perhaps_empty;        // axes that may have no position at all
    std::map<ir::ValueId, std::pair<ir::Dim, BatchValue>> ragged; // sizes that differ: the greatest, and each
  } context_;
};

} // namespace tl

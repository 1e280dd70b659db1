// Bodies of maps down to scalars: the state, and what it does, by subject. Internal to scalarize*.cpp.
#pragma once
#include "ir/graph/graph.h"
#include "ir/graph/rewrite.h"
#include "ir/lower/function.h"
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tl::ir {

struct NotScalar {}; // the body holds what cannot be done one element at a time

using Indices = std::vector<ValueId>;

class Scalarizer {
public:
  Scalarizer(Module& module, Function& f, const Region& body) : module_(module), f_(f), inside_(f.values.size()) {
    mark_inside(body);
  }

  bool is_inside(ValueId value) const { return value.index < inside_.size() && inside_[value.index]; }

  struct Element {
    ValueId value;
    size_t extra = 0; // so many axes of its own, after those of the position
  };
  // The body once for every position: a region that yields element(s) of its values. `given`: values of the body that
  // are tensors already, to be read at the position.
  Region region(const Region& body, const std::vector<Element>& yields, size_t extra,
                const std::map<ValueId, ValueId>& given);
  // Values of rank 0 that are costly and that the tensor depends on: worth computing once per position.
  std::vector<ValueId> shared_scalars(const Region& body, ValueId tensor) const;
  // Would an element of a tensor that is dear to compute be computed again for each of many others? As in a product of
  // products, where one element at a time computes the inner product for each column of the outer one.
  bool repeats_work(const Region& body) const;

private:
  // What has been emitted into a region, or for one place where a map was inlined.
  struct Level {
    Region* region;
    std::map<ValueId, ValueId> scalars;
    std::map<std::pair<ValueId, Indices>, ValueId> elements;
  };

  void mark_inside(const Region& region);
  bool is_costly(const Node& n) const;

  size_t rank(ValueId v) const { return f_[v].type.dims.size(); }
  Builder builder() { return Builder(module_, f_, *levels_.back().region); }
  ValueId i64(int64_t value) { return builder().i64(value); }
  ValueId add(ValueId a, ValueId b) { return builder().scalar(ScalarOp::Add, {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return builder().scalar(ScalarOp::Mul, {a, b}); }
  ValueId lookup(ValueId value) const;
  Dim dim(const Dim& d) const { return d.is_constant() ? d : Dim::of(lookup(d.value)); }
  ValueId size(const Dim& d) { return builder().size(dim(d)); }
  ValueId index(ValueId tensor, const Indices& at, LocId loc = {});

  // ---- nodes in order
  void emit(const Region& raw);
  void emit(NodeId id);
  void emit_loop(const Node& n);
  // The If again, with these of its results, at this position of them.
  std::vector<ValueId> branch(const Node& n, const std::vector<size_t>& which, const Indices& position);

  // ---- scalarize_elements.cpp: elements
  ValueId scalar(ValueId value);
  ValueId at(ValueId value, const Indices& position);
  ValueId element(const Node& n, uint32_t which, const Indices& position);
  // The element at these indices. One that does not depend on them, as those of a splat or of a map that does not look
  // at its position, has their failures all the same: it passes their Guards too.
  ValueId with_failures_of(const Indices& indices, ValueId element);
  bool is_computed_from(ValueId value, ValueId from, std::set<NodeId>& seen) const;
  // The Guards that scalars have passed from which this one is computed.
  std::set<NodeId> guards_of(ValueId value) const;
  Indices reshaped(const Indices& position, const std::vector<Dim>& to, const std::vector<Dim>& from);
  // if c { then() } else { otherwise() }, only one of them evaluated.
  template <class Then, class Otherwise> ValueId choose(ValueId c, DType type, Then then, Otherwise otherwise);
  ValueId padded(const Node& n, const Indices& position);
  // The element of the parts from `part` on joined together.
  ValueId joined(const Node& n, size_t part, const Indices& position);
  // A map in this region over `extents`; body(position) gives the elements.
  template <class Body>
  std::vector<ValueId> map(const std::vector<Dim>& extents, const std::vector<DType>& types, LocId loc, Body body);
  ValueId reduced(const Node& n, const Indices& position);
  ValueId contracted(const Node& n, const Indices& position);

  Module& module_;
  Function& f_;
  std::vector<bool> inside_;
  std::vector<Level> levels_;
};

} // namespace tl::ir

// Bodies of maps down to scalars. The body was lowered as usual, with tensors as values. Here its nodes are emitted
// again in order: those of rank 0 as they are, tensors only element by element, where a scalar needs one.
#include "ir/graph/op_info.h"
#include "ir/graph/rewrite.h"
#include "ir/lower/function.h"
#include <algorithm>

namespace tl::ir {
namespace {

struct NotScalar {}; // the body holds what cannot be done one element at a time

using Indices = std::vector<ValueId>;

class Scalarizer {
public:
  Scalarizer(Module& module, Function& f, const Region& body) : module_(module), f_(f), inside_(f.values.size()) {
    mark_inside(body);
  }

  bool is_inside(ValueId value) const { return value.index < inside_.size() && inside_[value.index]; }

  // The body once for every position: a region that yields element(s) of its values. `given`: values of the body that
  // are tensors already, to be read at the position.
  struct Element {
    ValueId value;
    size_t extra = 0; // so many axes of its own, after those of the position
  };
  Region region(const Region& body, const std::vector<Element>& yields, size_t extra,
                const std::map<ValueId, ValueId>& given) {
    Region result;
    levels_.push_back({&result, {}, {}});
    Indices position, own;
    for (ValueId param : body.params) {
      position.push_back(builder().param(Type::scalar(DType::I64), std::string(f_[param].name)));
      levels_.back().scalars[param] = position.back();
    }
    for (size_t i = 0; i < extra; ++i)
      own.push_back(builder().param(Type::scalar(DType::I64)));
    for (auto [value, tensor] : given)
      levels_.back().scalars[value] = index(tensor, position);
    emit(body);
    for (const Element& e : yields)
      result.yields.push_back(at(e.value, e.extra ? own : Indices{}));
    levels_.pop_back();
    return result;
  }

  // Values of rank 0 that are costly and that the tensor depends on: worth computing once per position.
  std::vector<ValueId> shared_scalars(const Region& body, ValueId tensor) const {
    std::set<ValueId> needed{tensor};
    std::vector<ValueId> result;
    for (size_t i = body.nodes.size(); i-- > 0;) {
      const Node& n = f_[body.nodes[i]];
      if (std::none_of(n.results.begin(), n.results.end(), [&](ValueId v) { return needed.contains(v); })) continue;
      if (is_costly(n) && std::all_of(n.results.begin(), n.results.end(), [&](ValueId v) { return rank(v) == 0; })) {
        result.insert(result.end(), n.results.begin(), n.results.end());
        continue;
      }
      needed.insert(n.operands.begin(), n.operands.end());
      for (ValueId v : captures(f_, n))
        needed.insert(v);
    }
    return result;
  }

  // Would an element of a tensor that is dear to compute be computed again for each of many others? As in a product of
  // products, where one element at a time computes the inner product for each column of the outer one.
  bool repeats_work(const Region& body) const {
    std::set<ValueId> dear; // tensors that are dear, or computed from such
    for (NodeId id : body.nodes) {
      const Node& n = f_[id];
      int64_t times = 1; // each of their elements is asked for
      auto multiply = [&](const Dim& dim) {
        times = dim.is_constant() && times < kRepeats ? times * dim.constant : kRepeats + 1;
      };
      bool any = false;
      for (size_t k = 0; k < n.operands.size(); ++k) {
        if (!dear.contains(n.operands[k])) continue;
        any = true;
        times = 1;
        const std::vector<Dim>& shape = f_[n.results[0]].type.dims;
        if (n.op == Op::Broadcast) {
          for (size_t axis = 0; axis < shape.size(); ++axis)
            if (!std::count(n.attrs.ints.begin(), n.attrs.ints.end(), static_cast<int64_t>(axis)))
              multiply(shape[axis]);
        } else if (n.op == Op::Contract) {
          auto begin = n.attrs.ints.begin() + static_cast<long>(k ? rank(n.operands[0]) : 0);
          for (size_t axis = 0; axis < shape.size(); ++axis)
            if (!std::count(begin, begin + static_cast<long>(rank(n.operands[k])), n.attrs.labels[axis]))
              multiply(shape[axis]);
        }
        if (times > kRepeats) return true;
      }
      if (any || is_costly(n) || n.op == Op::Scan)
        for (ValueId v : n.results)
          if (rank(v) > 0) dear.insert(v);
    }
    return false;
  }

private:
  static constexpr int64_t kRepeats = 16;

  // What has been emitted into a region, or for one place where a map was inlined.
  struct Level {
    Region* region;
    std::map<ValueId, ValueId> scalars;
    std::map<std::pair<ValueId, Indices>, ValueId> elements;
  };

  void mark_inside(const Region& region) {
    auto mark = [&](ValueId v) { inside_[v.index] = true; };
    std::for_each(region.params.begin(), region.params.end(), mark);
    for (NodeId id : region.nodes) {
      std::for_each(f_[id].results.begin(), f_[id].results.end(), mark);
      for (const Region& inner : f_[id].regions)
        mark_inside(inner);
    }
  }

  bool is_costly(const Node& n) const {
    if (n.op == Op::Reduce || n.op == Op::Contract || n.op == Op::For || n.op == Op::While) return true;
    for (const Region& region : n.regions)
      for (NodeId id : region.nodes)
        if (is_costly(f_[id])) return true;
    return false;
  }

  size_t rank(ValueId v) const { return f_[v].type.dims.size(); }
  Builder builder() { return Builder(module_, f_, *levels_.back().region); }
  ValueId i64(int64_t value) { return builder().i64(value); }
  ValueId add(ValueId a, ValueId b) { return builder().scalar(ScalarOp::Add, {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return builder().scalar(ScalarOp::Mul, {a, b}); }
  ValueId lookup(ValueId value) const {
    if (!is_inside(value)) return value;
    for (size_t i = levels_.size(); i-- > 0;)
      if (auto found = levels_[i].scalars.find(value); found != levels_[i].scalars.end()) return found->second;
    throw NotScalar{};
  }
  Dim dim(const Dim& d) const { return d.is_constant() ? d : Dim::of(lookup(d.value)); }
  ValueId size(const Dim& d) { return builder().size(dim(d)); }

  ValueId index(ValueId tensor, const Indices& at, LocId loc = {}) {
    if (f_[tensor].type.dims.empty()) return tensor;
    std::vector<ValueId> operands{tensor};
    operands.insert(operands.end(), at.begin(), at.end());
    Type t = Type::scalar(f_[tensor].type.dtype);
    return builder().one(Op::Index, std::move(operands), t, {}, loc);
  }

  // ---- nodes in order ----------------------------------------------------------------------------------------------
  void emit(const Region& raw) {
    for (NodeId id : raw.nodes)
      emit(id);
  }

  void emit(NodeId id) {
    const Node n = f_[id];
    if (n.results.empty() ||
        std::all_of(n.results.begin(), n.results.end(), [&](ValueId v) { return levels_.back().scalars.contains(v); }))
      return;
    for (ValueId v : n.results)
      if (!f_[v].type.is_tensor()) throw NotScalar{};
    switch (n.op) {
    case Op::For:
    case Op::While: return emit_loop(n);
    case Op::If: {
      std::vector<size_t> scalars;
      for (size_t i = 0; i < n.results.size(); ++i)
        if (rank(n.results[i]) == 0) scalars.push_back(i);
      if (scalars.empty()) return;
      std::vector<ValueId> results = branch(n, scalars, {});
      for (size_t i = 0; i < scalars.size(); ++i)
        levels_.back().scalars[n.results[scalars[i]]] = results[i];
      return;
    }
    case Op::Map: return; // its elements, where they are needed
    default:
      if (n.results.size() != 1) throw NotScalar{};
      if (rank(n.results[0]) == 0) levels_.back().scalars[n.results[0]] = element(n, 0, {});
    }
  }

  void emit_loop(const Node& n) {
    std::vector<ValueId> operands;
    for (ValueId v : n.operands)
      operands.push_back(scalar(v));
    std::vector<Type> types;
    for (ValueId v : n.results) {
      if (rank(v)) throw NotScalar{};
      types.push_back(f_[v].type);
    }
    std::vector<Region> regions;
    for (const Region& raw : n.regions) {
      Region region;
      levels_.push_back({&region, {}, {}});
      for (ValueId param : raw.params) {
        Type t = f_[param].type;
        if (!t.is_scalar()) throw NotScalar{};
        ValueId fresh = builder().param(std::move(t), std::string(f_[param].name));
        levels_.back().scalars[param] = fresh;
      }
      emit(raw);
      for (ValueId v : raw.yields)
        region.yields.push_back(scalar(v));
      levels_.pop_back();
      regions.push_back(std::move(region));
    }
    NodeId node = builder().node(n.op, std::move(operands), std::move(types), n.attrs, n.loc, std::move(regions));
    for (size_t i = 0; i < n.results.size(); ++i)
      levels_.back().scalars[n.results[i]] = f_[node].results[i];
  }

  // The If again, with these of its results, at this position of them.
  std::vector<ValueId> branch(const Node& n, const std::vector<size_t>& which, const Indices& position) {
    ValueId condition = scalar(n.operands[0]);
    std::vector<Region> regions;
    for (const Region& raw : n.regions) {
      Region region;
      levels_.push_back({&region, {}, {}});
      emit(raw);
      for (size_t i : which)
        region.yields.push_back(at(raw.yields[i], position));
      levels_.pop_back();
      regions.push_back(std::move(region));
    }
    std::vector<Type> types;
    for (size_t i : which)
      types.push_back(Type::scalar(f_[n.results[i]].type.dtype));
    NodeId node = builder().node(Op::If, {condition}, std::move(types), {}, n.loc, std::move(regions));
    return f_[node].results;
  }

  // ---- elements ----------------------------------------------------------------------------------------------------
  ValueId scalar(ValueId value) {
    if (!f_[value].type.is_scalar()) throw NotScalar{};
    return lookup(value);
  }

  ValueId at(ValueId value, const Indices& position) {
    if (!f_[value].type.is_tensor()) throw NotScalar{};
    if (rank(value) == 0) return lookup(value);
    std::pair<ValueId, Indices> key{value, position};
    for (const Level& level : levels_)
      if (auto found = level.elements.find(key); found != level.elements.end()) return found->second;
    NodeId producer = f_[value].producer;
    ValueId result;
    if (!is_inside(value)) {
      result = index(value, position);
    } else {
      if (!producer.valid()) throw NotScalar{}; // carried by a loop
      result = element(Node(f_[producer]), f_[value].result, position);
    }
    levels_.back().elements[key] = result;
    return result;
  }

  ValueId element(const Node& n, uint32_t which, const Indices& position) {
    const Type result = f_[n.results[which]].type;
    auto operand = [&](size_t i) { return n.operands[i]; };
    auto dims = [&](size_t i) { return std::vector<Dim>(f_[operand(i)].type.dims); };
    auto again = [&](std::vector<ValueId> operands) {
      return builder().one(n.op, std::move(operands), Type::scalar(result.dtype), n.attrs, n.loc);
    };
    switch (n.op) {
    case Op::Constant: return again({});
    case Op::Iota: return position[0];
    case Op::Elementwise:
    case Op::Convert: {
      std::vector<ValueId> operands;
      for (ValueId v : n.operands)
        operands.push_back(at(v, rank(v) ? position : Indices{}));
      return again(std::move(operands));
    }
    case Op::Broadcast: {
      Indices from;
      for (size_t i = 0; i < n.attrs.ints.size(); ++i)
        from.push_back(dims(0)[i] == Dim::of(1) ? i64(0) : position[static_cast<size_t>(n.attrs.ints[i])]);
      return at(operand(0), from);
    }
    case Op::Reshape: return at(operand(0), reshaped(position, result.dims, dims(0)));
    case Op::Transpose: {
      Indices from(position.size());
      for (size_t i = 0; i < position.size(); ++i)
        from[static_cast<size_t>(n.attrs.ints[i])] = position[i];
      return at(operand(0), from);
    }
    case Op::Slice: {
      Indices from;
      for (size_t i = 0; i < position.size(); ++i) {
        ValueId offset = n.attrs.ints[i] == 1 ? position[i] : mul(position[i], i64(n.attrs.ints[i]));
        from.push_back(add(scalar(operand(1 + i)), offset));
      }
      return at(operand(0), from);
    }
    case Op::Pad: return padded(n, position);
    case Op::Concat: return joined(n, 0, position);
    case Op::Index: {
      Indices from;
      for (size_t i = 1; i < n.operands.size(); ++i)
        from.push_back(scalar(operand(i)));
      const Indices given = from;
      from.insert(from.end(), position.begin(), position.end());
      return with_failures_of(given, at(operand(0), from));
    }
    case Op::Gather: {
      auto axis = position.begin() + n.attrs.ints[0];
      auto after = axis + static_cast<long>(rank(operand(1)));
      Indices from(position.begin(), axis);
      from.push_back(at(operand(1), Indices(axis, after)));
      const Indices given{from.back()};
      from.insert(from.end(), after, position.end());
      return with_failures_of(given, at(operand(0), from));
    }
    case Op::Reduce: return reduced(n, position);
    case Op::Contract: return contracted(n, position);
    case Op::Guard: {
      size_t condition_rank = rank(operand(1));
      if (condition_rank && condition_rank != position.size()) throw NotScalar{};
      std::vector<ValueId> operands{at(operand(0), position)};
      for (size_t i = 1; i < n.operands.size(); ++i)
        operands.push_back(at(operand(i), rank(operand(i)) ? position : Indices{}));
      return again(std::move(operands));
    }
    case Op::If: return branch(n, {which}, position)[0];
    case Op::Map: {
      const Region raw = n.regions[0];
      levels_.push_back({levels_.back().region, {}, {}});
      for (size_t i = 0; i < raw.params.size(); ++i)
        levels_.back().scalars[raw.params[i]] = position[i];
      emit(raw);
      ValueId value = scalar(raw.yields[which]);
      levels_.pop_back();
      return value;
    }
    default: throw NotScalar{};
    }
  }

  // The element at these indices. One that does not depend on them, as those of a splat or of a map that does not look
  // at its position, has their failures all the same: it passes their Guards too.
  ValueId with_failures_of(const Indices& indices, ValueId element) {
    std::set<NodeId> guards;
    for (ValueId index : indices) {
      std::set<NodeId> of_index;
      if (!is_computed_from(element, index, of_index)) guards.merge(guards_of(index));
    }
    for (NodeId id : guards) {
      const Node guard = f_[id];
      std::vector<ValueId> operands = guard.operands;
      operands[0] = element;
      element = builder().one(Op::Guard, std::move(operands), Type(f_[element].type), guard.attrs, guard.loc);
    }
    return element;
  }

  bool is_computed_from(ValueId value, ValueId from, std::set<NodeId>& seen) const {
    if (value == from) return true;
    const NodeId id = f_[value].producer;
    if (!id.valid() || !seen.insert(id).second) return false;
    const Node& n = f_[id];
    auto is = [&](ValueId v) { return is_computed_from(v, from, seen); };
    if (std::any_of(n.operands.begin(), n.operands.end(), is)) return true;
    if (n.regions.empty()) return false;
    if (n.op == Op::If) // whichever branch is taken
      return std::all_of(n.regions.begin(), n.regions.end(), [&](const Region& branch) {
        std::set<NodeId> of_branch = seen;
        return is_computed_from(branch.yields[f_[value].result], from, of_branch);
      });
    const auto captured = captures(f_, n);
    return std::any_of(captured.begin(), captured.end(), is);
  }

  // The Guards that scalars have passed from which this one is computed.
  std::set<NodeId> guards_of(ValueId value) const {
    std::set<NodeId> found, seen;
    std::vector<ValueId> left{value};
    while (!left.empty()) {
      const NodeId id = f_[left.back()].producer;
      left.pop_back();
      if (!id.valid() || !seen.insert(id).second) continue;
      const Node& n = f_[id];
      if (n.op == Op::Guard) found.insert(id);
      if (n.op == Op::Guard || n.op == Op::Elementwise || n.op == Op::Convert)
        left.insert(left.end(), n.operands.begin(), n.operands.end());
    }
    return found;
  }

  Indices reshaped(const Indices& position, const std::vector<Dim>& to, const std::vector<Dim>& from) {
    // All but one size are equal, so that one is: the same sizes under other names, or one axis.
    size_t others = 0;
    for (size_t i = 0; i < to.size() && from.size() == to.size(); ++i)
      others += !(dim(to[i]) == dim(from[i]));
    if (from.size() == to.size() && others <= 1) return position;
    // Only axes of size 1 come or go?
    std::vector<size_t> many_to, many_from;
    for (size_t i = 0; i < to.size(); ++i)
      if (!(to[i] == Dim::of(1))) many_to.push_back(i);
    for (size_t i = 0; i < from.size(); ++i)
      if (!(from[i] == Dim::of(1))) many_from.push_back(i);
    bool same = many_to.size() == many_from.size();
    for (size_t i = 0; same && i < many_to.size(); ++i)
      same = dim(to[many_to[i]]) == dim(from[many_from[i]]);
    if (same) {
      Indices result(from.size());
      for (size_t i = 0; i < many_to.size(); ++i)
        result[many_from[i]] = position[many_to[i]];
      for (ValueId& v : result)
        if (!v.valid()) v = i64(0);
      return result;
    }
    ValueId linear = i64(0);
    for (size_t i = 0; i < to.size(); ++i)
      linear = add(i ? mul(linear, size(to[i])) : linear, position[i]);
    Indices result(from.size());
    for (size_t i = from.size(); i-- > 0;) {
      ValueId n = size(from[i]);
      result[i] = i ? builder().scalar(ScalarOp::Mod, {linear, n}) : linear;
      if (i) linear = builder().scalar(ScalarOp::FloorDiv, {linear, n});
    }
    return result;
  }

  // if c { then() } else { otherwise() }, only one of them evaluated.
  template <class Then, class Otherwise> ValueId choose(ValueId c, DType type, Then then, Otherwise otherwise) {
    Region regions[2];
    for (int i = 0; i < 2; ++i) {
      levels_.push_back({&regions[i], {}, {}});
      regions[i].yields = {i == 0 ? then() : otherwise()};
      levels_.pop_back();
    }
    std::vector<Region> both;
    both.push_back(std::move(regions[0]));
    both.push_back(std::move(regions[1]));
    NodeId node = builder().node(Op::If, {c}, {Type::scalar(type)}, {}, {}, std::move(both));
    return f_[node].results[0];
  }

  ValueId padded(const Node& n, const Indices& position) {
    Indices from;
    ValueId fine;
    for (size_t i = 0; i < position.size(); ++i) {
      from.push_back(builder().scalar(ScalarOp::Sub, {position[i], scalar(n.operands[2 + i])}));
      for (ValueId c : {builder().scalar(ScalarOp::Ge, {from[i], i64(0)}),
                        builder().scalar(ScalarOp::Lt, {from[i], size(f_[n.operands[0]].type.dims[i])})})
        fine = fine.valid() ? builder().scalar(ScalarOp::And, {fine, c}) : c;
    }
    ValueId value = scalar(n.operands[1]);
    return choose(
        fine, f_[n.results[0]].type.dtype, [&] { return at(n.operands[0], from); }, [&] { return value; });
  }

  // The element of the parts from `part` on joined together.
  ValueId joined(const Node& n, size_t part, const Indices& position) {
    if (part + 1 == n.operands.size()) return at(n.operands[part], position);
    auto axis = static_cast<size_t>(n.attrs.ints[0]);
    ValueId own = size(f_[n.operands[part]].type.dims[axis]);
    ValueId here = builder().scalar(ScalarOp::Lt, {position[axis], own});
    return choose(
        here, f_[n.results[0]].type.dtype, [&] { return at(n.operands[part], position); },
        [&] {
          Indices rest = position;
          rest[axis] = builder().scalar(ScalarOp::Sub, {position[axis], own});
          return joined(n, part + 1, rest);
        });
  }

  // A map in this region over `extents`; body(position) gives the elements.
  template <class Body>
  std::vector<ValueId> map(const std::vector<Dim>& extents, const std::vector<DType>& types, LocId loc, Body body) {
    std::vector<Dim> dims;
    for (const Dim& d : extents)
      dims.push_back(dim(d));
    Region region;
    levels_.push_back({&region, {}, {}});
    Indices position;
    for (size_t i = 0; i < extents.size(); ++i)
      position.push_back(builder().param(Type::scalar(DType::I64)));
    region.yields = body(position);
    levels_.pop_back();
    std::vector<Type> results;
    for (DType type : types)
      results.push_back(Type::tensor(type, dims));
    std::vector<Region> regions;
    regions.push_back(std::move(region));
    NodeId node = builder().node(Op::Map, {}, std::move(results), {}, loc, std::move(regions));
    return f_[node].results;
  }

  ValueId reduced(const Node& n, const Indices& position) {
    const std::vector<Dim> dims = f_[n.operands[0]].type.dims;
    const std::vector<int64_t>& axes = n.attrs.ints;
    if (axes.empty()) throw NotScalar{};
    std::vector<Dim> extents;
    for (int64_t axis : axes)
      extents.push_back(dims[static_cast<size_t>(axis)]);
    std::vector<DType> types;
    for (ValueId v : n.operands)
      types.push_back(f_[v].type.dtype);
    std::vector<ValueId> tensors = map(extents, types, n.loc, [&](const Indices& inner) {
      Indices whole;
      size_t next_inner = 0, next_outer = 0;
      for (size_t i = 0; i < dims.size(); ++i) {
        bool is_reduced = std::count(axes.begin(), axes.end(), static_cast<int64_t>(i)) > 0;
        whole.push_back(is_reduced ? inner[next_inner++] : position[next_outer++]);
      }
      std::vector<ValueId> values;
      for (ValueId v : n.operands)
        values.push_back(at(v, whole));
      return values;
    });
    Attrs attrs = n.attrs;
    for (size_t i = 0; i < axes.size(); ++i)
      attrs.ints[i] = static_cast<int64_t>(i);
    Type t = Type::scalar(f_[n.results[0]].type.dtype);
    return builder().one(Op::Reduce, std::move(tensors), t, std::move(attrs), n.loc);
  }

  ValueId contracted(const Node& n, const Indices& position) {
    std::map<int64_t, ValueId> kept;
    for (size_t i = 0; i < n.attrs.labels.size(); ++i)
      kept[n.attrs.labels[i]] = position[i];
    Attrs attrs = n.attrs;
    attrs.ints.clear();
    attrs.labels.clear();
    std::vector<ValueId> factors;
    size_t first = 0;
    for (ValueId operand : n.operands) {
      const std::vector<Dim> dims = f_[operand].type.dims;
      std::vector<int64_t> labels(n.attrs.ints.begin() + static_cast<long>(first),
                                  n.attrs.ints.begin() + static_cast<long>(first + dims.size()));
      first += dims.size();
      std::map<int64_t, Dim> summed; // ascending
      for (size_t i = 0; i < labels.size(); ++i)
        if (!kept.contains(labels[i])) summed.emplace(labels[i], dims[i]);
      auto element = [&](const Indices& inner) {
        Indices whole;
        for (int64_t label : labels)
          whole.push_back(kept.contains(label)
                              ? kept[label]
                              : inner[static_cast<size_t>(std::distance(summed.begin(), summed.find(label)))]);
        return at(operand, whole);
      };
      std::vector<Dim> extents;
      for (auto& [label, d] : summed) {
        extents.push_back(d);
        attrs.ints.push_back(label);
      }
      if (extents.empty())
        factors.push_back(element({}));
      else
        factors.push_back(map(extents, {f_[operand].type.dtype}, n.loc,
                              [&](const Indices& inner) { return std::vector<ValueId>{element(inner)}; })[0]);
    }
    Type t = Type::scalar(f_[n.results[0]].type.dtype);
    return builder().one(Op::Contract, std::move(factors), t, std::move(attrs), n.loc);
  }

  Module& module_;
  Function& f_;
  std::vector<bool> inside_;
  std::vector<Level> levels_;
};

} // namespace

std::optional<std::vector<ValueId>> scalarize(Module& module, Function& f, Builder& into, const Region& body,
                                              const std::vector<Dim>& dims, LocId loc) {
  Scalarizer scalarizer(module, f, body);
  if (scalarizer.repeats_work(body)) return std::nullopt;
  size_t nodes = into.region().nodes.size();
  auto map = [&](Region region, const std::vector<Dim>& shape) {
    std::vector<Type> types;
    for (ValueId v : region.yields)
      types.push_back(Type::tensor(f[v].type.dtype, shape));
    std::vector<Region> regions;
    regions.push_back(std::move(region));
    return f[into.node(Op::Map, {}, std::move(types), {}, loc, std::move(regions))].results;
  };
  try {
    // First the scalars, those that tensors need among them; then each tensor under its own indices too.
    std::vector<Scalarizer::Element> scalars;
    std::map<ValueId, size_t> needed; // which of them
    std::vector<size_t> scalar_of(body.yields.size(), SIZE_MAX);
    for (size_t i = 0; i < body.yields.size(); ++i) {
      ValueId value = body.yields[i];
      if (!f[value].type.is_tensor()) return std::nullopt;
      if (f[value].type.dims.empty()) {
        scalar_of[i] = scalars.size();
        scalars.push_back({value, 0});
        continue;
      }
      for (const Dim& d : f[value].type.dims)
        if (!d.is_constant() && scalarizer.is_inside(d.value)) return std::nullopt;
      for (ValueId v : scalarizer.shared_scalars(body, value))
        if (needed.emplace(v, scalars.size()).second) scalars.push_back({v, 0});
    }
    std::vector<ValueId> first;
    if (!scalars.empty()) first = map(scalarizer.region(body, scalars, 0, {}), dims);
    std::map<ValueId, ValueId> given;
    for (auto [value, which] : needed)
      given[value] = first[which];
    std::vector<ValueId> results;
    for (size_t i = 0; i < body.yields.size(); ++i) {
      if (scalar_of[i] != SIZE_MAX) {
        results.push_back(first[scalar_of[i]]);
        continue;
      }
      std::vector<Dim> own = f[body.yields[i]].type.dims, shape = dims;
      shape.insert(shape.end(), own.begin(), own.end());
      results.push_back(map(scalarizer.region(body, {{body.yields[i], own.size()}}, own.size(), given), shape)[0]);
    }
    return results;
  } catch (const NotScalar&) {
    into.region().nodes.resize(nodes);
    return std::nullopt;
  }
}

} // namespace tl::ir

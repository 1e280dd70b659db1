// Random small graphs over symbolic sizes: every op that fusion knows, loops, branches, host and dataflow scalars.
#pragma once
#include "ir/graph/graph.h"
#include <algorithm>
#include <numeric>
#include <random>

namespace tl::test {
namespace random_graph {

using namespace ir;

class RandomGraph {
public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {
    module_.functions.emplace_back();
    function().name = "main";
  }

  // Takes x: f32[m, n], y: f32[n] and s: f32; wants m, n >= 3. With `failing`, a Guard may fail.
  Module make(int steps, bool failing);

private:
  Function& function() { return module_.functions[0]; }
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  const Type& type(ValueId value) { return function()[value].type; }

  struct Scope {
    Builder b;
    std::vector<ValueId> pool; // f32 values of any rank
  };
  ValueId pick(Scope& s) { return s.pool[static_cast<size_t>(below(static_cast<int64_t>(s.pool.size())))]; }
  ValueId like(Scope& s, ValueId x);
  void step(Scope& s, int depth);
  ValueId value(Scope& s, int depth);
  ValueId view(Scope& s, ValueId x);
  ValueId indexed(Scope& s, ValueId x);
  ValueId mapped(Scope& s, ValueId x);
  ValueId guarded(Scope& s, ValueId x);
  ValueId updated(Scope& s, ValueId x);
  ValueId product(Scope& s, ValueId x);
  ValueId controlled(Scope& s, ValueId x, int depth);
  ValueId element_loop(Scope& s, ValueId x);
  ValueId scalar_of(Scope& s, ValueId x);

  std::mt19937 random_;
  Module module_;
  bool failing_ = false;
  ValueId m_, n_;
};

inline Scalar float_scalar(double value) { return Scalar::of(static_cast<float>(value)); }

inline ValueId RandomGraph::like(Scope& s, ValueId x) {
  for (int tries = 0; tries < 6; ++tries) {
    ValueId y = pick(s);
    if (type(y) == type(x)) return y;
  }
  return x;
}

// A scalar made of x's elements.
inline ValueId RandomGraph::scalar_of(Scope& s, ValueId x) {
  size_t rank = type(x).dims.size();
  if (rank == 0) return x;
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return s.b.one(Op::Reduce, {x}, Type::scalar(DType::F32), ReduceAttrs{ReduceOp::Max, axes});
}

inline ValueId RandomGraph::view(Scope& s, ValueId x) {
  Type t = type(x);
  size_t rank = t.dims.size();
  switch (below(6)) {
  case 0: { // transpose
    std::vector<int64_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    Type r = t;
    for (size_t i = 0; i < rank; ++i)
      r.dims[i] = t.dims[static_cast<size_t>(order[i])];
    return s.b.one(Op::Transpose, {x}, r, AxesAttrs{order});
  }
  case 1: { // broadcast to the sizes of another value
    ValueId y = pick(s);
    std::vector<int64_t> axes;
    for (size_t i = 0; i < type(y).dims.size() && axes.size() < rank; ++i) {
      const Dim& from = t.dims[axes.size()];
      if (from == type(y).dims[i] || from == Dim::of(1)) axes.push_back(static_cast<int64_t>(i));
    }
    if (axes.size() != rank) return x;
    return s.b.one(Op::Broadcast, {x}, Type(type(y)), AxesAttrs{axes});
  }
  case 2: { // an axis of one more, somewhere
    Type r = t;
    if (rank > 3) return x;
    r.dims.insert(r.dims.begin() + below(static_cast<int64_t>(rank) + 1), Dim::of(1));
    return s.b.one(Op::Reshape, {x}, r);
  }
  case 3: { // two axes as one
    if (rank < 2) return x;
    Type r = t;
    ValueId count = s.b.scalar(ScalarOp::Mul, {s.b.size(t.dims[0]), s.b.size(t.dims[1])});
    r.dims.erase(r.dims.begin());
    bool constant = t.dims[0].is_constant() && t.dims[1].is_constant();
    r.dims[0] = constant ? Dim::of(t.dims[0].constant * t.dims[1].constant) : Dim::of(count);
    return s.b.one(Op::Reshape, {x}, r);
  }
  default: { // every size is 1 or at least 3
    if (rank == 0) return x;
    std::vector<ValueId> operands{x};
    std::vector<int64_t> steps(rank, 1);
    Type r = t;
    for (size_t i = 0; i < rank; ++i) {
      int64_t start = 0;
      if (!(t.dims[i] == Dim::of(1))) switch (below(5)) {
        case 0: r.dims[i] = Dim::of(3); break;
        case 1:
          r.dims[i] = Dim::of(3);
          steps[i] = -1;
          start = 2;
          break;
        case 2:
          r.dims[i] = Dim::of(1);
          start = 1;
          break;
        default: break;
        }
      operands.push_back(s.b.i64(start));
    }
    return s.b.one(Op::Slice, operands, r, StepsAttrs{steps});
  }
  }
}

inline ValueId RandomGraph::indexed(Scope& s, ValueId x) {
  Type t = type(x);
  if (t.dims.empty()) return x;
  int64_t last = t.dims[0] == Dim::of(1) ? 0 : 2; // a position that is there
  switch (below(4)) {
  case 0: {
    Type r = t;
    r.dims.erase(r.dims.begin());
    return s.b.one(Op::Index, {x, s.b.i64(last)}, r);
  }
  case 1: { // a position computed from elements, checked
    ValueId some = scalar_of(s, x);
    ValueId whole = s.b.one(Op::Convert, {some}, Type::scalar(DType::I64));
    ValueId at = s.b.scalar(ScalarOp::Clamp, {whole, s.b.i64(0), s.b.i64(last)});
    ValueId fine = s.b.scalar(ScalarOp::Le, {at, s.b.i64(last)});
    ValueId checked = s.b.one(Op::Guard, {at, fine}, Type::scalar(DType::I64), SiteAttrs{});
    Type r = t;
    r.dims.erase(r.dims.begin());
    return s.b.one(Op::Index, {x, checked}, r);
  }
  case 2: { // rows in another order
    ValueId iota = s.b.one(Op::Iota, {}, Type::tensor(DType::I64, {Dim::of(last + 1)}));
    ValueId flipped = s.b.one(Op::Elementwise, {s.b.i64(last), iota}, Type::tensor(DType::I64, {Dim::of(last + 1)}),
                              ElementwiseAttrs{ScalarOp::Sub});
    Type r = t;
    r.dims[0] = Dim::of(last + 1);
    return s.b.one(Op::Gather, {x, flipped}, r, AxisAttrs{0});
  }
  default: {
    Type r = t;
    size_t axis = static_cast<size_t>(below(static_cast<int64_t>(t.dims.size())));
    if (!t.dims[axis].is_constant()) return x;
    if (below(2)) {
      r.dims[axis] = Dim::of(2 * t.dims[axis].constant);
      return s.b.one(Op::Concat, {x, like(s, x)}, r, AxisAttrs{static_cast<int64_t>(axis)});
    }
    r.dims[axis] = Dim::of(t.dims[axis].constant + 3);
    std::vector<ValueId> operands{x, s.b.constant(DType::F32, float_scalar(0.25))};
    for (size_t i = 0; i < t.dims.size(); ++i)
      operands.push_back(s.b.i64(i == axis ? 1 : 0));
    return s.b.one(Op::Pad, operands, r);
  }
  }
}

// A comprehension over x's indices.
inline ValueId RandomGraph::mapped(Scope& s, ValueId x) {
  Type t = type(x);
  if (t.dims.empty()) return x;
  Region body;
  Builder b(module_, function(), body);
  std::vector<ValueId> at{x};
  for (size_t i = 0; i < t.dims.size(); ++i)
    at.push_back(b.param(Type::scalar(DType::I64)));
  ValueId element = b.one(Op::Index, at, Type::scalar(DType::F32));
  ValueId number = b.one(Op::Convert, {at[1]}, Type::scalar(DType::F32));
  ValueId sum = b.scalar(ScalarOp::Add, {element, number});
  if (below(2)) sum = b.scalar(ScalarOp::Mul, {sum, scalar_of(s, x)});
  if (below(3) == 0) {
    ValueId limit = b.constant(DType::F32, float_scalar(failing_ && below(3) == 0 ? 2.0 : 1e30));
    sum = b.one(Op::Guard, {sum, b.scalar(ScalarOp::Lt, {sum, limit})}, Type::scalar(DType::F32), SiteAttrs{});
  }
  body.yields = {sum};
  std::vector<Region> regions;
  regions.push_back(std::move(body));
  return function()[s.b.node(Op::Map, {}, {t}, {}, {}, std::move(regions))].results[0];
}

inline ValueId RandomGraph::guarded(Scope& s, ValueId x) {
  Type t = type(x);
  ValueId limit = s.b.constant(DType::F32, float_scalar(failing_ && below(3) == 0 ? 1.5 : 1e30));
  switch (below(4)) {
  case 0: { // known to the host
    ValueId cond = s.b.scalar(ScalarOp::Gt, {below(2) ? m_ : n_, s.b.i64(failing_ && below(4) == 0 ? 100 : 0)});
    return s.b.one(Op::Guard, {x, cond}, t, SiteAttrs{});
  }
  case 1: { // one condition for all elements
    ValueId cond = s.b.scalar(ScalarOp::Lt, {scalar_of(s, pick(s)), limit});
    return s.b.one(Op::Guard, {x, cond}, t, SiteAttrs{});
  }
  default: {
    Type c = t;
    c.dtype = DType::Bool;
    ValueId cond = s.b.one(Op::Elementwise, {x, limit}, c, ElementwiseAttrs{ScalarOp::Lt});
    ValueId guarded = below(4) ? x : pick(s);
    return s.b.one(Op::Guard, {guarded, cond}, Type(type(guarded)), SiteAttrs{});
  }
  }
}

inline ValueId RandomGraph::updated(Scope& s, ValueId x) {
  Type t = type(x);
  size_t rank = t.dims.size();
  if (rank == 0) return x;
  std::vector<ValueId> starts;
  UpdateAttrs attrs{below(2) ? UpdateMode::Set : UpdateMode::Add, {}};
  if (below(3) == 0) { // one element
    std::vector<ValueId> operands{x, scalar_of(s, pick(s))};
    for (size_t i = 0; i < rank; ++i)
      operands.push_back(s.b.i64(0));
    return s.b.one(Op::Update, operands, t, attrs);
  }
  Type part = t;
  std::vector<ValueId> zero;
  for (size_t i = 0; i < rank; ++i) {
    bool one = t.dims[i] == Dim::of(1) || below(2);
    if (!one)
      part.dims[i] = Dim::of(below(2) ? 3 : 2);
    else if (below(2))
      part.dims[i] = Dim::of(1);
    bool whole = part.dims[i] == t.dims[i];
    starts.push_back(s.b.i64(!whole && part.dims[i].constant < 3 ? 1 : 0));
    zero.push_back(below(2) ? starts.back() : s.b.i64(0));
  }
  attrs.steps.assign(rank, 1);
  std::vector<ValueId> slice{below(2) ? x : like(s, x)};
  slice.insert(slice.end(), zero.begin(), zero.end());
  ValueId value = s.b.one(Op::Slice, slice, part, StepsAttrs{attrs.steps});
  value = s.b.one(Op::Elementwise, {value}, part, ElementwiseAttrs{ScalarOp::Tanh});
  std::vector<ValueId> operands{x, value};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return s.b.one(Op::Update, operands, t, attrs);
}

inline ValueId RandomGraph::product(Scope& s, ValueId x) {
  Type t = type(x);
  if (t.dims.size() != 2) return x;
  ValueId y = like(s, x);
  bool left = below(2); // x @ y.T or x.T @ y
  ContractAttrs attrs{{0, 2}, {1, 2}, {0, 1}};
  if (!left) attrs = {{2, 0}, {2, 1}, {0, 1}};
  Dim kept = t.dims[left ? 0 : 1];
  return s.b.one(Op::Contract, {x, y}, Type::tensor(DType::F32, {kept, kept}), attrs);
}

// A loop that becomes one kernel.
inline ValueId RandomGraph::element_loop(Scope& s, ValueId x) {
  Type t = type(x);
  if (t.dims.size() != 1 || t.dims[0] == Dim::of(1)) return x;
  Region body;
  Builder b(module_, function(), body);
  ValueId i = b.param(Type::scalar(DType::I64)), now = b.param(t), sum = b.param(Type::scalar(DType::F32));
  ValueId source = below(2) ? now : x;
  ValueId element = b.one(Op::Index, {source, i}, Type::scalar(DType::F32));
  ValueId total = b.scalar(ScalarOp::Add, {sum, element});
  ValueId half = b.scalar(ScalarOp::Mul, {total, b.constant(DType::F32, float_scalar(0.5))});
  ValueId next = b.one(Op::Update, {now, half, i}, t, UpdateAttrs{});
  body.yields = {next, total};
  std::vector<Region> regions;
  regions.push_back(std::move(body));
  std::vector<ValueId> operands{s.b.i64(0), s.b.size(t.dims[0]), s.b.i64(1), x, scalar_of(s, pick(s))};
  auto results =
      function()[s.b.node(Op::For, operands, {t, Type::scalar(DType::F32)}, {}, {}, std::move(regions))].results;
  s.pool.push_back(results[1]);
  return results[0];
}

inline ValueId RandomGraph::controlled(Scope& s, ValueId x, int depth) {
  if (depth > 1) return x;
  Type t = type(x);
  auto inside = [&](Region& region, Builder b, ValueId start) {
    Scope inner{b, s.pool};
    inner.pool.push_back(start);
    inner.pool.push_back(start);
    for (int i = 0; i < 4; ++i)
      step(inner, depth + 1);
    ValueId last = like(inner, start);
    region.yields = {last, start};
  };
  std::vector<Region> regions;
  if (below(2)) {
    regions.resize(2);
    for (Region& region : regions)
      inside(region, Builder(module_, function(), region), x);
    ValueId cond = s.b.scalar(ScalarOp::Lt, {scalar_of(s, pick(s)), s.b.constant(DType::F32, float_scalar(0.7))});
    auto results = function()[s.b.node(Op::If, {cond}, {t, t}, {}, {}, std::move(regions))].results;
    return results[0];
  }
  // Two carried values that change places.
  regions.resize(1);
  Builder b(module_, function(), regions[0]);
  b.param(Type::scalar(DType::I64));
  b.param(t);
  ValueId carried = b.param(t);
  inside(regions[0], b, carried);
  std::swap(regions[0].yields[0], regions[0].yields[1]);
  std::vector<ValueId> operands{s.b.i64(0), s.b.i64(1 + below(3)), s.b.i64(1), x, like(s, x)};
  auto results = function()[s.b.node(Op::For, operands, {t, t}, {}, {}, std::move(regions))].results;
  s.pool.push_back(results[1]);
  return results[0];
}

inline ValueId RandomGraph::value(Scope& s, int depth) {
  ValueId x = pick(s);
  Type t = type(x);
  switch (below(20)) {
  case 0:
  case 1:
  case 2: {
    ScalarOp op[] = {ScalarOp::Tanh, ScalarOp::Neg, ScalarOp::Abs, ScalarOp::Exp2, ScalarOp::Floor};
    ScalarOp one = op[below(5)];
    if (one == ScalarOp::Exp2) { // kept small
      x = s.b.one(Op::Elementwise,
                  {x, s.b.constant(DType::F32, float_scalar(-3)), s.b.constant(DType::F32, float_scalar(3))}, t,
                  ElementwiseAttrs{ScalarOp::Clamp});
    }
    return s.b.one(Op::Elementwise, {x}, t, ElementwiseAttrs{one});
  }
  case 3:
  case 4:
  case 5:
  case 6: {
    ScalarOp op[] = {ScalarOp::Add, ScalarOp::Sub, ScalarOp::Max, ScalarOp::Mul};
    ScalarOp two = op[below(4)];
    ValueId y = below(4) == 0 ? scalar_of(s, pick(s)) : like(s, x);
    if (two == ScalarOp::Mul) y = s.b.constant(DType::F32, float_scalar(below(2) ? 1 : -0.5));
    return s.b.one(Op::Elementwise, {x, y}, t, ElementwiseAttrs{two});
  }
  case 7:
  case 8:
  case 9: {
    std::vector<int64_t> axes;
    Type r = Type::scalar(DType::F32);
    bool trailing = below(2);
    size_t from = t.dims.empty() ? 0 : static_cast<size_t>(below(static_cast<int64_t>(t.dims.size())));
    for (size_t i = 0; i < t.dims.size(); ++i) {
      if (trailing ? i >= from : below(2) != 0)
        axes.push_back(static_cast<int64_t>(i));
      else
        r.dims.push_back(t.dims[i]);
    }
    if (axes.empty()) return x;
    return s.b.one(Op::Reduce, {x}, r, ReduceAttrs{below(2) ? ReduceOp::Sum : ReduceOp::Max, axes});
  }
  case 10:
  case 11:
  case 12:
  case 13: return view(s, x);
  case 14: return indexed(s, x);
  case 15: return mapped(s, x);
  case 16: return guarded(s, x);
  case 17: return updated(s, x);
  case 18: return product(s, x);
  default: return below(2) ? controlled(s, x, depth) : element_loop(s, x);
  }
}

inline void RandomGraph::step(Scope& s, int depth) {
  ValueId made = value(s, depth);
  if (type(made).dims.size() > 3) return;
  if (type(made).dtype == DType::F32) s.pool.push_back(made);
}

inline Module RandomGraph::make(int steps, bool failing) {
  failing_ = failing;
  module_.sites.push_back({"GuardFailed", "a guard failed", "", {}, {}});
  Builder b(module_, function(), function().body);
  ValueId token = b.param(Type::token());
  m_ = b.param(Type::scalar(DType::I64), "m");
  n_ = b.param(Type::scalar(DType::I64), "n");
  ValueId x = b.param(Type::tensor(DType::F32, {Dim::of(m_), Dim::of(n_)}), "x");
  ValueId k = b.param(Type::scalar(DType::I64), "k");
  ValueId y = b.param(Type::tensor(DType::F32, {Dim::of(k)}), "y");
  ValueId s = b.param(Type::scalar(DType::F32), "s");
  ParamInfo info;
  info.kind = ParamInfo::Kind::Tensor;
  info.rank = 2;
  info.name = "x";
  module_.interface.params.push_back(info);
  info.rank = 1;
  module_.interface.params.push_back(info);
  info.kind = ParamInfo::Kind::Scalar;
  info.rank = 0;
  module_.interface.params.push_back(info);
  Scope scope{b, {x, y, s}};
  for (int i = 0; i < steps; ++i)
    step(scope, 0);
  function().body.yields = {token};
  for (int i = 0; i < 3; ++i) {
    ValueId result = i == 0 ? scope.pool.back() : pick(scope);
    function().body.yields.push_back(result);
    ResultInfo leaf;
    leaf.is_scalar = type(result).is_scalar();
    leaf.rank = static_cast<uint32_t>(type(result).dims.size());
    module_.interface.results.push_back(leaf);
  }
  return std::move(module_);
}

} // namespace random_graph
using random_graph::RandomGraph;

} // namespace tl::test

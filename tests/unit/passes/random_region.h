// Random small regions over three indices, of every op that the vectorizer knows: subscripts of all kinds, sizes that
// differ between positions, branches and loops whose conditions do.
#pragma once
#include "ir/graph/graph.h"
#include <algorithm>
#include <random>

namespace tl::test {

class RandomRegion {
public:
  // Into main of a module with x: f32[n, m], y: f32[k] and c: i64: a Map over [n, m, 3] that yields some values.
  RandomRegion(ir::Module& module, uint32_t seed) : module_(module), f_(module.functions[0]), random_(seed) {}

  void make(int steps, bool failing) {
    using namespace ir;
    failing_ = failing;
    const std::vector<ValueId>& params = f_.body.params;
    Dim n = Dim::of(params[1]), m = Dim::of(params[2]);
    x_ = params[3];
    k_ = Dim::of(params[4]);
    y_ = params[5];
    Region body;
    Scope s{Builder(module_, f_, body), {y_}, {params[6]}, {}};
    std::vector<Dim> dims{n, m, Dim::of(3)};
    for (const Dim& d : dims)
      add_index(s, s.b.param(Type::scalar(DType::I64)), d);
    s.floats.push_back(element(s, x_, {s.indices[0].first, s.indices[1].first}));
    for (int i = 0; i < steps; ++i)
      step(s, 0);
    for (int i = 0; i < 3; ++i)
      body.yields.push_back(i ? pick(s) : s.floats.back());
    std::vector<Type> types;
    for (ValueId v : body.yields) {
      std::vector<Dim> all = dims;
      all.insert(all.end(), type(v).dims.begin(), type(v).dims.end());
      types.push_back(Type::tensor(type(v).dtype, all));
    }
    std::vector<Region> regions;
    regions.push_back(std::move(body));
    Builder(module_, f_, f_.body).node(Op::Map, {}, types, {}, {}, std::move(regions));
  }

private:
  using ValueId = ir::ValueId;
  using Dim = ir::Dim;
  using Type = ir::Type;
  using Op = ir::Op;
  struct Scope {
    ir::Builder b;
    std::vector<ValueId> floats;   // f32 of any rank
    std::vector<ValueId> integers; // i64 scalars, small
    std::vector<std::pair<ValueId, Dim>> indices;
  };

  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  const Type& type(ValueId v) { return f_[v].type; }
  template <class T> const T& any(const std::vector<T>& of) { return of[random_() % of.size()]; }
  ValueId pick(Scope& s) { return any(s.floats); }
  ValueId scalar(Scope& s) {
    for (int i = 0; i < 10; ++i)
      if (ValueId v = pick(s); type(v).is_scalar()) return v;
    return real(s, 0.75);
  }
  ValueId tensor(Scope& s) {
    for (int i = 0; i < 10; ++i)
      if (ValueId v = pick(s); !type(v).is_scalar()) return v;
    return y_;
  }
  ValueId real(Scope& s, double v) { return s.b.constant(DType::F32, Scalar::of(static_cast<float>(v))); }
  ValueId integer(Scope& s) { return any(s.integers); }
  ValueId op(Scope& s, ScalarOp o, std::vector<ValueId> operands) {
    Type t = type(operands[o == ScalarOp::Where ? 1 : 0]);
    for (ValueId v : operands)
      if (!type(v).is_scalar()) t.dims = type(v).dims;
    t.dtype = result_type(o, t.dtype);
    return s.b.one(Op::Elementwise, std::move(operands), t, ir::ElementwiseAttrs{o});
  }
  ValueId element(Scope& s, ValueId x, std::vector<ValueId> at) {
    Type t = type(x);
    t.dims.erase(t.dims.begin(), t.dims.begin() + static_cast<long>(at.size()));
    at.insert(at.begin(), x);
    return s.b.one(Op::Index, at, t);
  }
  void add_index(Scope& s, ValueId i, Dim d) {
    s.indices.emplace_back(i, d);
    s.integers.push_back(i);
  }
  ValueId guarded(Scope& s, ValueId x, ValueId condition) {
    std::vector<ValueId> operands{x, condition};
    if (type(condition).is_scalar()) operands.push_back(integer(s));
    return s.b.one(Op::Guard, operands, Type(type(x)), ir::SiteAttrs{1});
  }
  ValueId in_range(Scope& s, ValueId i, const Dim& d) {
    return op(s, ScalarOp::And, {op(s, ScalarOp::Ge, {i, s.b.i64(0)}), op(s, ScalarOp::Lt, {i, s.b.size(d)})});
  }
  ValueId small_integer(Scope& s) {
    ValueId a = integer(s);
    switch (below(6)) {
    case 0: return op(s, ScalarOp::Add, {a, s.b.i64(below(3) - 1)});
    case 1: return op(s, ScalarOp::Add, {a, integer(s)});
    case 2: return op(s, ScalarOp::Sub, {a, integer(s)});
    case 3: return op(s, ScalarOp::Mul, {a, s.b.i64(below(4) - 1)});
    case 4:
      return s.b.one(Op::Convert, {op(s, ScalarOp::Clamp, {scalar(s), real(s, -9), real(s, 9)})},
                     Type::scalar(DType::I64));
    default: return a;
    }
  }
  ValueId number(Scope& s) { return op(s, ScalarOp::Clamp, {small_integer(s), s.b.i64(-20), s.b.i64(20)}); }
  // In 0 ≤ i < d by construction, or because a Guard says so.
  ValueId subscript(Scope& s, const Dim& d) {
    if (below(3))
      for (auto& [index, size] : s.indices)
        if (size == d) return index;
    ValueId i = number(s);
    if (!failing_ || below(8)) {
      ValueId last = op(s, ScalarOp::Sub, {s.b.size(d), s.b.i64(1)});
      i = op(s, ScalarOp::Clamp, {i, s.b.i64(0), last});
    }
    return guarded(s, i, in_range(s, i, d));
  }
  ValueId condition(Scope& s) {
    if (below(2)) return op(s, ScalarOp::Lt, {number(s), s.b.i64(below(5))});
    return op(s, ScalarOp::Lt, {scalar(s), scalar(s)});
  }
  ValueId tamed(Scope& s, ValueId x) { return op(s, ScalarOp::Clamp, {x, real(s, -50), real(s, 50)}); }

  ValueId reading(Scope& s) {
    ValueId x = below(2) ? x_ : tensor(s);
    std::vector<ValueId> at;
    const std::vector<Dim> dims = type(x).dims;
    size_t count = below(4) ? dims.size() : static_cast<size_t>(below(static_cast<int64_t>(dims.size()) + 1));
    for (size_t i = 0; i < count; ++i)
      at.push_back(subscript(s, dims[i]));
    return element(s, x, at);
  }

  // An element that is there only under a condition, which no Guard repeats.
  ValueId guarded_by_branch(Scope& s) {
    ValueId x = below(2) ? x_ : y_, fine;
    std::vector<ValueId> at;
    for (const Dim& d : std::vector<Dim>(type(x).dims)) {
      at.push_back(number(s));
      ValueId c = in_range(s, at.back(), d);
      fine = fine.valid() ? op(s, ScalarOp::And, {fine, c}) : c;
    }
    std::vector<ir::Region> regions(2);
    Scope inner = s;
    inner.b.set_region(regions[0]);
    regions[0].yields = {element(inner, x, at)};
    inner.b.set_region(regions[1]);
    regions[1].yields = {real(inner, 0.5)};
    return f_[s.b.node(Op::If, {fine}, {Type::scalar(DType::F32)}, {}, {}, std::move(regions))].results[0];
  }

  ValueId viewed(Scope& s) {
    ValueId x = tensor(s);
    Type t = type(x);
    const size_t rank = t.dims.size();
    switch (below(8)) {
    case 0: { // transposed
      std::vector<int64_t> order;
      for (size_t i = rank; i-- > 0;)
        order.push_back(static_cast<int64_t>(i));
      std::reverse(t.dims.begin(), t.dims.end());
      return s.b.one(Op::Transpose, {x}, t, ir::AxesAttrs{order});
    }
    case 1: // repeated
      if (rank > 2) return x;
      t.dims.insert(t.dims.begin(), Dim::of(2));
      return s.b.one(Op::Broadcast, {x}, t,
                     ir::AxesAttrs{rank == 1 ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 2}});
    case 2: // another axis
      if (rank > 2) return x;
      t.dims.insert(t.dims.begin() + below(static_cast<int64_t>(rank) + 1), Dim::of(1));
      return s.b.one(Op::Reshape, {x}, t);
    case 3: { // a window
      ValueId last = op(s, ScalarOp::Sub, {s.b.size(t.dims[0]), s.b.i64(2)});
      ValueId start = op(s, ScalarOp::Clamp, {number(s), s.b.i64(0), last});
      start = guarded(s, start, op(s, ScalarOp::Ge, {last, s.b.i64(0)}));
      std::vector<ValueId> operands{x, start};
      t.dims[0] = Dim::of(2);
      for (size_t i = 1; i < rank; ++i)
        operands.push_back(s.b.i64(0));
      return s.b.one(Op::Slice, operands, t, ir::StepsAttrs{std::vector<int64_t>(rank, 1)});
    }
    case 4: { // backwards
      std::vector<ValueId> operands{x, op(s, ScalarOp::Sub, {s.b.size(t.dims[0]), s.b.i64(1)})};
      std::vector<int64_t> steps(rank, 1);
      steps[0] = -1;
      for (size_t i = 1; i < rank; ++i)
        operands.push_back(s.b.i64(0));
      return s.b.one(Op::Slice, operands, t, ir::StepsAttrs{steps});
    }
    case 5: { // padded
      if (rank > 2) return x;
      ValueId size = op(s, ScalarOp::Add, {s.b.size(t.dims[0]), s.b.i64(3)});
      t.dims[0] = t.dims[0].is_constant() ? Dim::of(t.dims[0].constant + 3) : Dim::of(size);
      std::vector<ValueId> operands{x, scalar(s), s.b.i64(1)};
      for (size_t i = 1; i < rank; ++i)
        operands.push_back(s.b.i64(0));
      return s.b.one(Op::Pad, operands, t);
    }
    case 6: { // joined
      if (!t.dims[0].is_constant()) return x;
      t.dims[0] = Dim::of(2 * t.dims[0].constant);
      return s.b.one(Op::Concat, {x, like(s, x)}, t, ir::AxisAttrs{0});
    }
    default: { // some rows
      ValueId rows = s.b.one(Op::Iota, {}, Type::tensor(DType::I64, {Dim::of(3)}));
      ValueId last = op(s, ScalarOp::Sub, {s.b.size(t.dims[0]), s.b.i64(1)});
      ValueId at = op(s, ScalarOp::Clamp, {op(s, ScalarOp::Add, {rows, number(s)}), s.b.i64(0), last});
      at = guarded(s, at, op(s, ScalarOp::Le, {at, last}));
      t.dims[0] = Dim::of(3);
      return s.b.one(Op::Gather, {x, at}, t, ir::AxisAttrs{0});
    }
    }
  }
  ValueId like(Scope& s, ValueId x) {
    for (int i = 0; i < 8; ++i)
      if (ValueId v = pick(s); type(v) == type(x)) return v;
    return x;
  }

  ValueId written(Scope& s) {
    ValueId x = tensor(s);
    Type t = type(x);
    ir::UpdateAttrs attrs{below(2) ? ir::UpdateMode::Set : ir::UpdateMode::Add, {}};
    std::vector<ValueId> operands{x};
    switch (below(3)) {
    case 0:
      operands.push_back(scalar(s));
      for (const Dim& d : t.dims)
        operands.push_back(subscript(s, d));
      return s.b.one(Op::Update, operands, t, attrs);
    case 1: { // the first axis whole, elsewhere one
      Type part = t;
      for (size_t i = 1; i < t.dims.size(); ++i)
        part.dims[i] = Dim::of(1);
      std::vector<ValueId> starts;
      for (size_t i = 0; i < t.dims.size(); ++i)
        starts.push_back(i ? subscript(s, t.dims[i]) : s.b.i64(0));
      std::vector<ValueId> from{below(2) ? x : like(s, x)};
      for (size_t i = 0; i < t.dims.size(); ++i)
        from.push_back(i ? subscript(s, t.dims[i]) : s.b.i64(0));
      attrs.steps.assign(t.dims.size(), 1);
      operands.push_back(s.b.one(Op::Slice, from, part, ir::StepsAttrs{attrs.steps}));
      operands.insert(operands.end(), starts.begin(), starts.end());
      return s.b.one(Op::Update, operands, t, attrs);
    }
    default: {
      Type three = Type::tensor(DType::I64, {Dim::of(3)}), value = t;
      ValueId last = op(s, ScalarOp::Sub, {s.b.size(t.dims[0]), s.b.i64(1)});
      ValueId at = s.b.one(Op::Iota, {}, three);
      if (below(2)) at = op(s, ScalarOp::Add, {at, number(s)});
      at = op(s, ScalarOp::Clamp, {at, s.b.i64(0), last});
      at = guarded(s, at, op(s, ScalarOp::Ge, {at, s.b.i64(0)}));
      value.dims[0] = Dim::of(3);
      std::vector<int64_t> axes;
      for (size_t i = 0; i + 1 < t.dims.size(); ++i)
        axes.push_back(static_cast<int64_t>(i) + 1);
      ValueId row = element(s, like(s, x), {subscript(s, t.dims[0])});
      operands.push_back(at);
      operands.push_back(s.b.one(Op::Broadcast, {row}, value, ir::AxesAttrs{axes}));
      return s.b.one(Op::Scatter, operands, t, ir::ScatterAttrs{attrs.mode});
    }
    }
  }

  ValueId reduced(Scope& s) {
    ValueId x = tensor(s);
    Type t = type(x);
    std::vector<int64_t> axes;
    Type r = Type::scalar(DType::F32);
    for (size_t i = 0; i < t.dims.size(); ++i)
      if (below(3))
        axes.push_back(static_cast<int64_t>(i));
      else
        r.dims.push_back(t.dims[i]);
    if (axes.empty()) return s.b.one(Op::Scan, {x}, t, ir::ScanAttrs{ReduceOp::Sum, 0});
    std::vector<ValueId> operands{x};
    if (below(3) == 0) operands.push_back(op(s, ScalarOp::Lt, {x, scalar(s)}));
    const ReduceOp ops[] = {ReduceOp::Sum, ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min, ReduceOp::ArgMax};
    const ReduceOp o = ops[below(5)];
    if (o != ReduceOp::ArgMax) return tamed(s, s.b.one(Op::Reduce, operands, r, ir::ReduceAttrs{o, axes}));
    r.dtype = DType::I64;
    ValueId where = s.b.one(Op::Reduce, operands, r, ir::ReduceAttrs{o, axes});
    r.dtype = DType::F32;
    return s.b.one(Op::Convert, {where}, r);
  }

  ValueId product(Scope& s) {
    ValueId a = tensor(s), b = like(s, a);
    Type t = type(a);
    ir::ContractAttrs attrs{{0}, {0}, {}};
    if (t.dims.size() == 1) {
      t.dims.clear();
    } else if (t.dims.size() == 2) {
      const bool last = below(2);
      attrs = {{0, 1}, {0, 2}, {1, 2}};
      if (last) attrs = {{1, 0}, {2, 0}, {1, 2}};
      if (!last) t.dims[0] = t.dims[1];
      t.dims[1] = t.dims[0];
    } else {
      return a;
    }
    return tamed(s, s.b.one(Op::Contract, {a, b}, t, attrs));
  }

  // The body of a map or loop: a few steps, then a scalar.
  ValueId body(Scope& s, int depth) {
    const int64_t steps = 1 + below(3);
    for (int64_t i = 0; i < steps; ++i)
      step(s, depth + 1);
    return scalar(s);
  }

  ValueId mapped(Scope& s, int depth) {
    ir::Region region;
    Scope inner = s;
    inner.b.set_region(region);
    Type t = Type::tensor(DType::F32, {below(2) ? k_ : Dim::of(2)});
    const bool ragged = below(3) == 0;
    if (ragged) t.dims[0] = Dim::of(op(s, ScalarOp::Clamp, {number(s), s.b.i64(0), s.b.i64(4)}));
    if (below(3) == 0) t.dims.push_back(Dim::of(3));
    for (const Dim& d : t.dims)
      add_index(inner, inner.b.param(Type::scalar(DType::I64)), d);
    region.yields = {body(inner, depth)};
    std::vector<ir::Region> regions;
    regions.push_back(std::move(region));
    ValueId all = f_[s.b.node(Op::Map, {}, {t}, {}, {}, std::move(regions))].results[0];
    if (!ragged) return all;
    std::vector<int64_t> axes{0};
    if (t.dims.size() > 1) axes.push_back(1);
    const ReduceOp ops[] = {ReduceOp::Sum, ReduceOp::Max, ReduceOp::Prod};
    return tamed(s, s.b.one(Op::Reduce, {all}, Type::scalar(DType::F32), ir::ReduceAttrs{ops[below(3)], axes}));
  }

  ValueId branch(Scope& s, int depth) {
    ValueId c = condition(s), x = pick(s);
    Type t = type(x);
    std::vector<ir::Region> regions(2);
    for (ir::Region& region : regions) {
      Scope inner = s;
      inner.b.set_region(region);
      inner.floats.push_back(x);
      body(inner, depth);
      region.yields = {like(inner, x), scalar(inner)};
    }
    auto results = f_[s.b.node(Op::If, {c}, {t, Type::scalar(DType::F32)}, {}, {}, std::move(regions))].results;
    s.floats.push_back(results[1]);
    return results[0];
  }

  ValueId loop(Scope& s, int depth) {
    ValueId x = pick(s), y = scalar(s);
    Type t = type(x);
    auto bound = [&] { return op(s, ScalarOp::Clamp, {number(s), s.b.i64(-3), s.b.i64(3)}); };
    ValueId lo = below(2) ? s.b.i64(0) : bound(), hi = below(2) ? s.b.i64(2) : bound();
    static constexpr int64_t kSteps[] = {1, 1, -1, 2, -2};
    std::vector<ir::Region> regions(1);
    Scope inner = s;
    inner.b.set_region(regions[0]);
    inner.integers.push_back(inner.b.param(Type::scalar(DType::I64)));
    ValueId carried = inner.b.param(t), total = inner.b.param(Type::scalar(DType::F32));
    inner.floats.push_back(carried);
    inner.floats.push_back(total);
    ValueId last = body(inner, depth);
    regions[0].yields = {like(inner, carried), tamed(inner, op(inner, ScalarOp::Add, {total, last}))};
    auto results = f_[s.b.node(Op::For, {lo, hi, s.b.i64(kSteps[below(5)]), x, y}, {t, Type::scalar(DType::F32)}, {},
                               {}, std::move(regions))]
                       .results;
    s.floats.push_back(results[1]);
    return results[0];
  }

  // While a counter is below some bound (and a number, perhaps, below another).
  ValueId while_loop(Scope& s, int depth) {
    ValueId x = pick(s), y = scalar(s);
    Type t = type(x), one = Type::scalar(DType::F32), whole = Type::scalar(DType::I64);
    ValueId bound = op(s, ScalarOp::Clamp, {number(s), s.b.i64(-3), s.b.i64(3)}), limit = scalar(s);
    const bool numbers = below(2);
    std::vector<ir::Region> regions(2);
    Scope cond = s;
    cond.b.set_region(regions[0]);
    ValueId turn = cond.b.param(whole);
    cond.b.param(t);
    ValueId total = cond.b.param(one), go = op(cond, ScalarOp::Lt, {turn, bound});
    if (numbers) go = op(cond, ScalarOp::And, {go, op(cond, ScalarOp::Le, {total, limit})});
    regions[0].yields = {go};
    Scope inner = s;
    inner.b.set_region(regions[1]);
    turn = inner.b.param(whole);
    inner.integers.push_back(turn);
    ValueId carried = inner.b.param(t);
    total = inner.b.param(one);
    inner.floats.push_back(carried);
    inner.floats.push_back(total);
    ValueId last = body(inner, depth);
    regions[1].yields = {op(inner, ScalarOp::Add, {turn, inner.b.i64(1)}), like(inner, carried),
                         tamed(inner, op(inner, ScalarOp::Add, {total, last}))};
    auto results = f_[s.b.node(Op::While, {s.b.i64(0), x, y}, {whole, t, one}, {}, {}, std::move(regions))].results;
    s.floats.push_back(results[2]);
    s.integers.push_back(results[0]);
    return results[1];
  }

  ValueId value(Scope& s, int depth) {
    switch (below(depth > 1 ? 13 : 18)) {
    case 0:
    case 1: {
      const ScalarOp ops[] = {ScalarOp::Add, ScalarOp::Sub, ScalarOp::Max, ScalarOp::Mul};
      ValueId x = pick(s), y = below(2) ? scalar(s) : like(s, x);
      return tamed(s, op(s, ops[below(4)], {x, y}));
    }
    case 2: return op(s, ScalarOp::Tanh, {pick(s)});
    case 3: return s.b.one(Op::Convert, {number(s)}, Type::scalar(DType::F32));
    case 4: return op(s, ScalarOp::Where, {condition(s), scalar(s), scalar(s)});
    case 5: {
      ValueId x = pick(s);
      return guarded(s, x, op(s, ScalarOp::Le, {number(s), s.b.i64(failing_ && below(6) == 0 ? 5 : 100)}));
    }
    case 6: return reading(s);
    case 7: return guarded_by_branch(s);
    case 8:
    case 9: return viewed(s);
    case 10: return written(s);
    case 11: return reduced(s);
    case 12: return product(s);
    case 13:
    case 14: return mapped(s, depth);
    case 15: return branch(s, depth);
    case 16: return loop(s, depth);
    default: return while_loop(s, depth);
    }
  }
  void step(Scope& s, int depth) {
    if (below(3) == 0) s.integers.push_back(number(s));
    ValueId made = value(s, depth);
    if (type(made).dims.size() <= 3) s.floats.push_back(made);
  }

  ir::Module& module_;
  ir::Function& f_;
  std::mt19937 random_;
  bool failing_ = false;
  ValueId x_, y_;
  Dim k_;
};

} // namespace tl::test

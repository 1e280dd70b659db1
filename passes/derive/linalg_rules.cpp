// The formulas are those of Giles (An extended collection of matrix derivative results, 2008), of Walter and Lehmann
// (Algorithmic differentiation of linear algebra functions, 2010; QR), over leading axes.
#include "passes/derive/linalg_rules.h"
#include "passes/derive/derive.h"

namespace tl {
using namespace ir;
namespace {

// Matrices under leading axes. An invalid value is a zero of any size.
class Matrices {
public:
  Matrices(Emit& e, uint32_t site, LocId loc) : e(e), site_(site), loc_(loc) {}

  size_t rank(ValueId a) { return e.dims(a).size(); }
  Dim rows(ValueId a) { return e.dims(a)[rank(a) - 2]; }
  Dim columns(ValueId a) { return e.dims(a)[rank(a) - 1]; }

  ValueId t(ValueId a) {
    if (!a.valid()) return a;
    std::vector<int64_t> axes = all(rank(a));
    std::swap(axes[axes.size() - 2], axes.back());
    return e.transpose(a, axes);
  }
  ValueId mul(ValueId a, ValueId b) {
    if (!a.valid() || !b.valid()) return {};
    auto r = static_cast<int64_t>(rank(a));
    std::vector<int64_t> la = all(rank(a)), lb = la, out = la;
    lb[lb.size() - 2] = r - 1, lb.back() = r, out.back() = r;
    return e.contract(a, b, la, lb, out);
  }
  ValueId add(ValueId a, ValueId b) { return !a.valid() ? b : !b.valid() ? a : e.add(a, b); }
  ValueId sub(ValueId a, ValueId b) { return !b.valid() ? a : !a.valid() ? e.neg(b) : e.sub(a, b); }
  ValueId neg(ValueId a) { return a.valid() ? e.neg(a) : a; }
  ValueId times(ValueId a, ValueId b) { return a.valid() && b.valid() ? e.mul(a, b) : ValueId{}; } // elementwise

  // The elements where (row op column), 0 elsewhere.
  ValueId part(ScalarOp op, ValueId a) { return a.valid() ? e.where(compare(op, a), a, 0) : a; }
  ValueId lower(ValueId a) { return part(ScalarOp::Ge, a); }
  ValueId below(ValueId a) { return part(ScalarOp::Gt, a); }
  ValueId upper(ValueId a) { return part(ScalarOp::Le, a); }
  // The lower triangle with half the diagonal.
  ValueId half_lower(ValueId a) {
    if (!a.valid()) return a;
    return e.where(compare(ScalarOp::Eq, a), e.mul(a, 0.5), below(a));
  }
  // The symmetric matrix with this lower triangle; and the cotangent of the triangle, from that of the matrix.
  ValueId symmetric(ValueId a) { return e.add(lower(a), t(below(a))); }
  ValueId of_symmetric(ValueId a) { return half_lower(e.add(a, t(a))); }
  // The diagonal set to 1.
  ValueId unit(ValueId a) { return e.where(compare(ScalarOp::Eq, a), e.number(e.type(a).dtype, 1), a); }
  ValueId diagonal(ValueId a) { // of a square matrix, as a vector
    if (!a.valid()) return a;
    return e.reduce(ReduceOp::Sum, part(ScalarOp::Eq, a), {static_cast<int64_t>(rank(a)) - 1});
  }
  // A vector as one row, or one column, of a matrix of these sizes.
  ValueId along(ValueId v, std::vector<Dim> dims, bool column) {
    if (!v.valid()) return v;
    std::vector<int64_t> axes = all(rank(v));
    if (!column) ++axes.back();
    return e.broadcast(v, axes, std::move(dims));
  }
  ValueId as_diagonal(ValueId v, std::vector<Dim> dims) {
    return v.valid() ? part(ScalarOp::Eq, along(v, std::move(dims), true)) : v;
  }
  ValueId scale_columns(ValueId a, ValueId v) { return a.valid() ? e.mul(a, along(v, e.dims(a), false)) : a; }
  ValueId scale_rows(ValueId a, ValueId v) { return a.valid() ? e.mul(a, along(v, e.dims(a), true)) : a; }
  ValueId divide_columns(ValueId a, ValueId v) { return a.valid() ? e.div(a, along(v, e.dims(a), false)) : a; }

  ValueId solve(LinalgOp op, ValueId a, ValueId b) {
    if (!b.valid()) return b;
    Type result = e.type(b);
    return e.builder().one(Op::Linalg, {a, b}, std::move(result), LinalgAttrs{op, site_}, loc_);
  }
  // b times the inverse of a, from the right.
  ValueId solve_right(LinalgOp op, ValueId a, ValueId b) {
    LinalgOp other = op == LinalgOp::SolveLower   ? LinalgOp::SolveUpper
                     : op == LinalgOp::SolveUpper ? LinalgOp::SolveLower
                                                  : op;
    return t(solve(other, t(a), t(b)));
  }

  // A transform of parts that are like `from`; its results are like `to`.
  std::vector<ValueId> fourier(LinalgOp op, std::vector<ValueId> parts, ValueId from, ValueId to) {
    const std::vector<Type> results(static_cast<size_t>(info(op).results), e.type(to));
    if (std::none_of(parts.begin(), parts.end(), [](ValueId part) { return part.valid(); }))
      return std::vector<ValueId>(results.size());
    for (ValueId& part : parts)
      if (!part.valid()) part = e.zeros(e.type(from));
    const NodeId node = e.builder().node(Op::Linalg, parts, results, LinalgAttrs{op, site_}, loc_);
    return e.function()[node].results;
  }

  // 1 / (v_j - v_i) off the diagonal, 0 on it.
  ValueId gaps(ValueId v) {
    std::vector<Dim> dims = e.dims(v);
    dims.push_back(dims.back());
    ValueId difference = e.sub(along(v, dims, false), along(v, dims, true));
    ValueId inverse = e.div(e.filled(Type::tensor(e.type(v).dtype, dims), 1), unit(difference));
    return e.where(compare(ScalarOp::Eq, inverse), e.number(e.type(v).dtype, 0), inverse);
  }

  // Columns first … first + count.
  ValueId columns_of(ValueId a, ValueId first, const Dim& count) {
    if (!a.valid()) return a;
    std::vector<Dim> dims = e.dims(a);
    if (dims.back() == count) return a;
    dims.back() = count;
    std::vector<ValueId> starts(dims.size(), e.i64(0));
    starts.back() = first;
    std::vector<int64_t> steps(dims.size(), 1);
    return e.slice(a, starts, steps, dims);
  }
  ValueId beside(ValueId a, ValueId b, const Dim& whole) {
    Type type = e.type(a);
    type.dims.back() = whole;
    const AxisAttrs last{static_cast<int64_t>(rank(a)) - 1};
    return e.builder().one(Op::Concat, {a, b}, std::move(type), last, loc_);
  }

  ValueId compare(ScalarOp op, ValueId a) {
    std::vector<Dim> dims = e.dims(a);
    auto r = static_cast<int64_t>(dims.size());
    return e.op(op, {e.broadcast(e.iota(dims[dims.size() - 2]), {r - 2}, dims),
                     e.broadcast(e.iota(dims.back()), {r - 1}, dims)});
  }

  // The matrix p with p @ a = l @ u, of LAPACK's row exchanges.
  ValueId permutation(ValueId pivots, DType dtype) {
    std::vector<Dim> dims = e.dims(pivots);
    auto last = static_cast<int64_t>(dims.size()) - 1;
    ValueId numbers = e.broadcast(e.iota(dims.back()), {last}, dims);
    std::vector<Dim> lead(dims.begin(), dims.end() - 1);
    // What is at position `at` of each row: one element of it is chosen.
    std::vector<ValueId> order =
        e.loop(e.i64(0), e.size(dims.back()), e.i64(1), {numbers},
               [&](Emit& in, ValueId i, const std::vector<ValueId>& carried) {
                 std::vector<int64_t> axes = all(lead.size());
                 auto spread = [&](ValueId v) { return in.broadcast(v, axes, dims); };
                 auto chosen = [&](ValueId v, ValueId where) {
                   return spread(in.reduce(ReduceOp::Sum, in.where(where, v, 0), {last}));
                 };
                 ValueId here = in.op(ScalarOp::Eq, {numbers, i});
                 ValueId there = in.op(ScalarOp::Eq, {numbers, chosen(pivots, here)});
                 ValueId a = chosen(carried[0], here), b = chosen(carried[0], there);
                 return std::vector<ValueId>{in.where(here, b, in.where(there, a, carried[0]))};
               });
    dims.push_back(dims.back());
    std::vector<int64_t> axes = all(dims.size() - 1);
    ValueId one =
        e.op(ScalarOp::Eq, {e.broadcast(order[0], axes, dims), e.broadcast(e.iota(dims.back()), {last + 1}, dims)});
    return e.convert(one, dtype);
  }

  static std::vector<int64_t> all(size_t rank) {
    std::vector<int64_t> axes(rank);
    for (size_t i = 0; i < rank; ++i)
      axes[i] = static_cast<int64_t>(i);
    return axes;
  }

  Emit& e;

private:
  uint32_t site_;
  LocId loc_;
};

// l and u of one matrix, and u with 1 as its last pivot: that pivot has no part in the derivatives, so that they are
// right where the last one alone is 0, as it is for a singular matrix of rank n - 1 (the gradient of `det`).
struct Lu {
  ValueId p, l, u, inner;
  Lu(Matrices& m, const Decomposition& of, LocId loc) {
    ValueId lu = of.results[0];
    if (m.rows(lu) != m.columns(lu))
      throw NotDifferentiable("the derivative of `linalg.lu_factor` is known for square matrices only", loc);
    p = m.permutation(of.results[1], m.e.type(lu).dtype);
    l = m.unit(m.below(lu));
    u = m.upper(lu);
    ValueId last = m.e.sub(m.e.size(m.rows(lu)), m.e.i64(1));
    std::vector<Dim> dims = m.e.dims(lu);
    ValueId row = m.e.broadcast(m.e.iota(m.rows(lu)), {static_cast<int64_t>(dims.size()) - 2}, dims);
    ValueId corner = m.e.op(ScalarOp::And, {m.e.op(ScalarOp::Eq, {row, last}), m.compare(ScalarOp::Eq, lu)});
    inner = m.e.where(corner, m.e.number(m.e.type(lu).dtype, 1), u);
  }
};

} // namespace

std::vector<ValueId> linalg_tangents(Emit& e, const Decomposition& of, const std::vector<ValueId>& tangents,
                                     LocId loc) {
  Matrices m(e, of.site, loc);
  const ValueId a = of.operands[0], da = tangents[0], y = of.results[0];
  switch (of.op) {
  case LinalgOp::Cholesky: {
    ValueId inner = m.solve_right(LinalgOp::SolveUpper, m.t(y), m.solve(LinalgOp::SolveLower, y, m.symmetric(da)));
    return {m.mul(y, m.half_lower(inner))};
  }
  case LinalgOp::LuFactor: {
    Lu f(m, of, loc);
    ValueId moved = m.solve(LinalgOp::SolveLower, f.l, m.mul(f.p, da));
    ValueId inner = m.below(m.solve_right(LinalgOp::SolveUpper, f.inner, moved));
    return {m.add(m.below(m.mul(f.l, inner)), m.upper(m.sub(moved, m.mul(inner, f.u)))), {}};
  }
  case LinalgOp::Solve:
  case LinalgOp::SolveLower:
  case LinalgOp::SolveUpper: {
    ValueId read = of.op == LinalgOp::SolveLower ? m.lower(da) : of.op == LinalgOp::SolveUpper ? m.upper(da) : da;
    return {m.solve(of.op, a, m.sub(tangents[1], m.mul(read, y)))};
  }
  case LinalgOp::Qr: {
    const ValueId q = y, r = of.results[1];
    const Dim p = m.columns(q), n = m.columns(r);
    ValueId zero = e.i64(0), r1 = m.columns_of(r, zero, p);
    ValueId outer = m.solve_right(LinalgOp::SolveUpper, r1, m.columns_of(da, zero, p));
    ValueId w = m.mul(m.t(q), outer), low = m.below(w), turn = m.sub(low, m.t(low));
    ValueId still = m.sub(w, turn);
    ValueId dq = m.sub(outer, m.mul(q, still)), dr = m.mul(still, r1);
    if (p != n) {
      Dim rest =
          p.is_constant() && n.is_constant() ? Dim::of(n.constant - p.constant) : Dim::of(e.sub(e.size(n), e.size(p)));
      ValueId first = e.size(p);
      ValueId right = m.add(m.mul(m.t(dq), m.columns_of(a, first, rest)), m.mul(m.t(q), m.columns_of(da, first, rest)));
      dr = m.beside(dr, right, n);
    }
    return {dq, dr};
  }
  case LinalgOp::Svd: {
    const ValueId u = y, s = of.results[1], v = m.t(of.results[2]);
    ValueId dp = m.mul(m.mul(m.t(u), da), v), gaps = m.gaps(e.mul(s, s));
    ValueId turn_u = e.mul(gaps, e.add(m.scale_columns(dp, s), m.scale_rows(m.t(dp), s)));
    ValueId turn_v = e.mul(gaps, e.add(m.scale_rows(dp, s), m.scale_columns(m.t(dp), s)));
    ValueId du = m.mul(u, turn_u), dv = m.mul(v, turn_v);
    if (m.rows(u) != m.columns(u)) {
      ValueId moved = m.divide_columns(m.mul(da, v), s);
      du = m.add(du, m.sub(moved, m.mul(u, m.mul(m.t(u), moved))));
    }
    if (m.rows(v) != m.columns(v)) {
      ValueId moved = m.divide_columns(m.mul(m.t(da), u), s);
      dv = m.add(dv, m.sub(moved, m.mul(v, m.mul(m.t(v), moved))));
    }
    return {du, m.diagonal(dp), m.t(dv)};
  }
  case LinalgOp::Eigh: {
    const ValueId w = y, v = of.results[1];
    ValueId dp = m.mul(m.mul(m.t(v), m.symmetric(da)), v);
    return {m.diagonal(dp), m.mul(v, e.mul(m.gaps(w), dp))};
  }
  case LinalgOp::EigParts: throw NotDifferentiable("the derivative of `linalg.eig` is not known", loc);
  case LinalgOp::Fft:
  case LinalgOp::InverseFft:
  case LinalgOp::RealFft:
  case LinalgOp::RealFftTransposed: return m.fourier(of.op, tangents, a, y);
  case LinalgOp::SvdValues:
  case LinalgOp::EighValues:
  case LinalgOp::EigValues: break; // come after derivatives
  }
  return {};
}

std::vector<ValueId> linalg_cotangents(Emit& e, const Decomposition& of, const std::vector<ValueId>& cotangents,
                                       LocId loc) {
  Matrices m(e, of.site, loc);
  const ValueId a = of.operands[0], y = of.results[0], dy = cotangents[0];
  switch (of.op) {
  case LinalgOp::Cholesky: {
    ValueId inner = m.half_lower(m.mul(m.t(y), dy));
    ValueId whole = m.solve_right(LinalgOp::SolveLower, y, m.solve(LinalgOp::SolveUpper, m.t(y), inner));
    return {m.of_symmetric(whole)};
  }
  case LinalgOp::LuFactor: {
    Lu f(m, of, loc);
    ValueId dl = m.below(dy), du = m.upper(dy);
    ValueId inner = m.below(m.sub(m.mul(m.t(f.l), dl), m.mul(du, m.t(f.u))));
    ValueId moved = m.add(du, m.solve_right(LinalgOp::SolveLower, m.t(f.inner), inner));
    return {m.mul(m.t(f.p), m.solve(LinalgOp::SolveUpper, m.t(f.l), moved))};
  }
  case LinalgOp::Solve:
  case LinalgOp::SolveLower:
  case LinalgOp::SolveUpper: {
    LinalgOp other = of.op == LinalgOp::SolveLower   ? LinalgOp::SolveUpper
                     : of.op == LinalgOp::SolveUpper ? LinalgOp::SolveLower
                                                     : of.op;
    ValueId db = m.solve(other, m.t(a), dy), whole = m.neg(m.mul(db, m.t(y)));
    if (of.op == LinalgOp::SolveLower) whole = m.lower(whole);
    if (of.op == LinalgOp::SolveUpper) whole = m.upper(whole);
    return {whole, db};
  }
  case LinalgOp::Qr: {
    const ValueId q = y, r = of.results[1], dr = cotangents[1];
    const Dim p = m.columns(q), n = m.columns(r);
    ValueId zero = e.i64(0), dq = dy, right;
    if (p != n && dr.valid()) {
      Dim rest =
          p.is_constant() && n.is_constant() ? Dim::of(n.constant - p.constant) : Dim::of(e.sub(e.size(n), e.size(p)));
      ValueId first = e.size(p), dv = m.columns_of(dr, first, rest);
      dq = m.add(dq, m.mul(m.columns_of(a, first, rest), m.t(dv)));
      right = m.mul(q, dv);
    }
    ValueId r1 = m.columns_of(r, zero, p);
    ValueId inner = m.sub(m.mul(r1, m.t(m.columns_of(dr, zero, p))), m.mul(m.t(dq), q));
    ValueId folded = m.add(m.lower(inner), m.t(m.below(inner)));
    ValueId left = m.solve_right(LinalgOp::SolveLower, m.t(r1), m.add(dq, m.mul(q, folded)));
    if (p != n) {
      if (!right.valid()) {
        Type rest = e.type(left);
        rest.dims.back() = p.is_constant() && n.is_constant() ? Dim::of(n.constant - p.constant)
                                                              : Dim::of(e.sub(e.size(n), e.size(p)));
        right = e.zeros(rest);
      }
      left = m.beside(left, right, n);
    }
    return {left};
  }
  case LinalgOp::Svd: {
    const ValueId u = y, s = of.results[1], v = m.t(of.results[2]);
    const ValueId du = dy, ds = cotangents[1], dv = m.t(cotangents[2]);
    ValueId inner, whole;
    if (ds.valid()) {
      std::vector<Dim> square = e.dims(s);
      square.push_back(square.back());
      inner = m.as_diagonal(ds, square);
    }
    if (du.valid()) {
      ValueId turn = m.mul(m.t(u), du);
      inner = m.add(inner, m.scale_columns(e.mul(m.gaps(e.mul(s, s)), e.sub(turn, m.t(turn))), s));
    }
    if (dv.valid()) {
      ValueId turn = m.mul(m.t(v), dv);
      inner = m.add(inner, m.scale_rows(e.mul(m.gaps(e.mul(s, s)), e.sub(turn, m.t(turn))), s));
    }
    whole = m.mul(m.mul(u, inner), m.t(v));
    if (du.valid() && m.rows(u) != m.columns(u)) {
      ValueId off = m.divide_columns(m.sub(du, m.mul(u, m.mul(m.t(u), du))), s);
      whole = m.add(whole, m.mul(off, m.t(v)));
    }
    if (dv.valid() && m.rows(v) != m.columns(v)) {
      ValueId off = m.divide_columns(m.sub(dv, m.mul(v, m.mul(m.t(v), dv))), s);
      whole = m.add(whole, m.mul(u, m.t(off)));
    }
    return {whole};
  }
  case LinalgOp::Eigh: {
    const ValueId w = y, v = of.results[1], dv = cotangents[1];
    ValueId inner;
    if (dy.valid()) {
      std::vector<Dim> square = e.dims(w);
      square.push_back(square.back());
      inner = m.as_diagonal(dy, square);
    }
    if (dv.valid()) inner = m.add(inner, e.mul(m.gaps(w), m.mul(m.t(v), dv)));
    return {m.of_symmetric(m.mul(m.mul(v, inner), m.t(v)))};
  }
  case LinalgOp::EigParts: throw NotDifferentiable("the derivative of `linalg.eig` is not known", loc);
  case LinalgOp::Fft: return m.fourier(LinalgOp::InverseFft, cotangents, y, a); // the transposed maps
  case LinalgOp::InverseFft: return m.fourier(LinalgOp::Fft, cotangents, y, a);
  case LinalgOp::RealFft: return m.fourier(LinalgOp::RealFftTransposed, cotangents, y, a);
  case LinalgOp::RealFftTransposed: return m.fourier(LinalgOp::RealFft, cotangents, y, a);
  case LinalgOp::SvdValues:
  case LinalgOp::EighValues:
  case LinalgOp::EigValues: break; // come after derivatives
  }
  return {};
}

} // namespace tl

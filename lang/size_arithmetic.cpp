// Arithmetic of sizes that makes compound atoms: the wrapping one of i64, divisions, maxima and subscripts.
#include "lang/size.h"
#include "lang/size_terms.h"
#include <algorithm>
#include <numeric>

namespace tl {

// s with what its Modular atoms wrap, as far as they are in its terms: the same modulo 2**64.
static Size opened(const SizeAtoms& atoms, const Size& s) {
  Size result;
  for (const Size::Term& term : s.terms) {
    Size part(term.coefficient);
    for (AtomId id : term.atoms)
      part = product(part, atoms[id].kind == AtomKind::Modular ? atoms[id].a : Size::of(id), Coefficients::Wrapping);
    result = sum(result, part, Coefficients::Wrapping);
  }
  return result;
}

Size SizeAtoms::unwrapped(const Size& s) const {
  auto atom = s.as_atom();
  return atom && atoms_[atom->index].kind == AtomKind::Modular ? atoms_[atom->index].a : s;
}

Size SizeAtoms::wrapped_as_i64(const Size& s) {
  if (s.is_constant() || s.as_atom() || fits(s)) return s;
  return Size::of(compound(AtomKind::Modular, s, 0));
}

Size SizeAtoms::i64_sum(const Size& a, const Size& b) {
  Size exact = a + b;
  if (!exact.is_too_large() && fits(exact)) return exact;
  return wrapped_as_i64(sum(opened(*this, a), opened(*this, b), Coefficients::Wrapping));
}

Size SizeAtoms::i64_product(const Size& a, const Size& b) {
  Size exact = a * b;
  if (!exact.is_too_large() && fits(exact)) return exact;
  return wrapped_as_i64(product(opened(*this, a), opened(*this, b), Coefficients::Wrapping));
}

Size SizeAtoms::floor_div(const Size& a, const Size& b) {
  if (a.is_too_large() || b.is_too_large()) return Size::too_large();
  if (a.is_constant() && b.is_constant())
    return a.is(INT64_MIN) && b.is(-1) ? Size::too_large() : Size(floor_div_i64(a.constant(), b.constant()));
  if (b.is(1)) return a;
  if (b.is(0)) return 0;
  if (!b.is_constant()) {
    // Where b is 0 the division fails beside this, so its value may be taken as any.
    if (auto q = divide_exactly(a, b)) return *q;
    // (a + m * b) // b is a // b + m.
    if (auto atom = b.as_atom())
      for (const Size::Term& term : a.terms)
        if (term.atoms == std::vector<AtomId>{*atom})
          return floor_div(a - Size(term.coefficient) * b, b) + Size(term.coefficient);
    return Size::of(compound(AtomKind::FloorDiv, a, b));
  }
  int64_t c = b.constant();
  if (c < 0) {
    // -a, which is no i64 where a is the least one, would have to be computed.
    const Size negated = a * Size(-1);
    if (c == INT64_MIN || (c != -1 && !fits(negated) && fits(a))) return Size::of(compound(AtomKind::FloorDiv, a, b));
    return floor_div(negated, Size(-c));
  }
  // (c*q + r) // c = q + r // c, with every coefficient of r in [0, c).
  Size q, r;
  for (const auto& term : a.terms) {
    int64_t quotient = floor_div_i64(term.coefficient, c), rest = term.coefficient % c;
    if (rest < 0) rest += c;
    if (quotient != 0) q.terms.push_back({term.atoms, quotient});
    if (rest != 0) r.terms.push_back({term.atoms, rest});
  }
  if (r.is_constant()) return q;
  if (!fits(r) && fits(a)) return Size::of(compound(AtomKind::FloorDiv, a, b));
  return q + Size::of(compound(AtomKind::FloorDiv, r, b));
}

Size SizeAtoms::positive(const Size& e, const SizeFacts& facts) {
  if (e.is_too_large()) return e;
  if (e.is_constant()) return std::max<int64_t>(e.constant(), 0);
  if (proves_not_negative(e, facts)) return e;
  Size negated = e * Size(-1);
  if (negated.is_too_large()) return Size::of(compound(AtomKind::Positive, e, 0));
  if (proves_not_negative(negated, facts)) return 0;
  // positive(-e) = positive(e) - e: one atom for both signs. positive(c*e) = c * positive(e).
  if (e.terms.back().coefficient < 0) return positive(negated, facts) + e;
  uint64_t gcd = 0;
  for (const auto& term : e.terms)
    gcd = std::gcd(gcd, term.coefficient < 0 ? 0 - static_cast<uint64_t>(term.coefficient)
                                             : static_cast<uint64_t>(term.coefficient));
  if (gcd > 1 && gcd < (uint64_t{1} << 62)) {
    auto factor = static_cast<int64_t>(gcd);
    return Size(factor) * positive(*divide_exactly(e, factor), facts);
  }
  return Size::of(compound(AtomKind::Positive, e, 0));
}

bool SizeAtoms::is_near(const Size& e, const SizeFacts& facts) const {
  auto [least, most] = range_of(e, facts);
  return least >= -kNear && most <= kNear;
}

Size SizeAtoms::near_axis(const Size& e, const SizeFacts& facts) {
  if (e.is_constant()) return std::clamp(e.constant(), -kNear, kNear);
  return is_near(e, facts) ? e : Size::of(compound(AtomKind::Near, e, 0));
}

Size SizeAtoms::wrap(const Size& e, const Size& n, const SizeFacts& facts) {
  if (proves_not_negative(e, facts)) return e;
  if (proves_not_negative(Size(-1) - e, facts)) return e + n;
  if (e.is_too_large() || n.is_too_large()) return Size::too_large();
  return Size::of(compound(AtomKind::Wrap, e, n));
}

} // namespace tl

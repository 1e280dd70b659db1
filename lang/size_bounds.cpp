// From where to where a size may be, and whether it fits an i64.
#include "lang/size_bounds.h"
#include "lang/size_terms.h"
#include <algorithm>

namespace tl {

constexpr int kBoundsDepth = 4;    // of atoms in atoms, choices between two, and facts about facts
constexpr int kBoundsBudget = 300; // sums looked at for one question

SizeAtoms::Interval SizeAtoms::bounds_of(AtomId id, const SizeFacts& facts, int depth) const {
  const SizeAtom& atom = atoms_[id.index];
  Interval own;
  if (depth <= 0 && !atom.a.terms.empty() && atom.kind != AtomKind::Modular && atom.kind != AtomKind::Near)
    return {atom.kind == AtomKind::Positive ? Wide{0} : -kInfinite, kInfinite};
  switch (atom.kind) {
  case AtomKind::Named:
  case AtomKind::Fresh:
  case AtomKind::Element:
  case AtomKind::Value: own = atom.not_negative ? Interval{0, kLongestAxis} : Interval{atom.least, atom.most}; break;
  case AtomKind::Modular:
    if (depth > 0) own = bounds(atom.a, facts, depth - 1);
    if (!own.is_i64()) own = {INT64_MIN, INT64_MAX};
    break;
  case AtomKind::Near:
    if (depth > 0) own = bounds(atom.a, facts, depth - 1);
    own.lo = std::clamp<Wide>(own.lo, -kNear, kNear);
    own.hi = std::clamp<Wide>(own.hi, -kNear, kNear);
    break;
  case AtomKind::Positive: {
    Interval a = bounds(atom.a, facts, depth - 1);
    own = {std::max<Wide>(a.lo, 0), std::max<Wide>(a.hi, 0)};
    break;
  }
  case AtomKind::Wrap: {
    Interval a = bounds(atom.a, facts, depth - 1), b = bounds(atom.b, facts, depth - 1);
    own = a.lo >= 0 ? a : a.either(a + b);
    break;
  }
  case AtomKind::FloorDiv: {
    Interval a = bounds(atom.a, facts, depth - 1), b = bounds(atom.b, facts, depth - 1);
    if (b.lo >= 1 && b.hi >= b.lo && a.lo > -kInfinite && a.hi < kInfinite)
      own = {std::min(floor_wide(a.lo, b.lo), floor_wide(a.lo, b.hi)),
             std::max(floor_wide(a.hi, b.lo), floor_wide(a.hi, b.hi))};
    else // of a magnitude no more than a's, and 0 where b is
      own = Interval{std::min(a.lo, -a.hi), std::max(a.hi, -a.lo)}.either(Interval::of(0));
    break;
  }
  }
  if (depth <= 0) return own;
  for (const Size& fact : facts.not_negative) { // c * id + rest >= 0
    auto term = std::find_if(fact.terms.begin(), fact.terms.end(),
                             [&](const Size::Term& t) { return t.atoms.size() == 1 && t.atoms[0] == id; });
    if (term == fact.terms.end() || fact.is_too_large()) continue;
    Wide most = bounds(without_term(fact, static_cast<size_t>(term - fact.terms.begin())), facts, depth - 2).hi;
    if (most == kInfinite) continue;
    if (term->coefficient > 0)
      own.lo = std::max(own.lo, -floor_wide(most, term->coefficient));
    else
      own.hi = std::min(own.hi, floor_wide(most, -static_cast<Wide>(term->coefficient)));
  }
  own.hi = std::max(own.lo, own.hi); // facts that contradict each other: nothing ever runs there
  return own;
}

SizeAtoms::Interval SizeAtoms::bounds_of_sum(Size e, const SizeFacts& facts, int depth) const {
  Interval result = Interval::of(0);
  // m * (a - b * (a // b)) is m * (a % b).
  for (bool found = true; found;) {
    found = false;
    for (const Size::Term& term : e.terms) {
      auto is_quotient = [&](AtomId id) { return atoms_[id.index].kind == AtomKind::FloorDiv; };
      auto quotient = std::find_if(term.atoms.begin(), term.atoms.end(), is_quotient);
      if (quotient == term.atoms.end() || term.coefficient == INT64_MIN) continue;
      const SizeAtom& atom = atoms_[quotient->index];
      Size whole;
      whole.terms.push_back(term);
      std::optional<Size> times = divide_exactly(whole, atom.b * Size::of(*quotient));
      if (!times || atom.a.terms.empty()) continue;
      Interval divisor = bounds(atom.b, facts, depth - 1);
      if (divisor.lo < 0 && divisor.hi > 0) continue;
      Interval remainder{std::min<Wide>(divisor.lo + 1, 0), std::max<Wide>(divisor.hi - 1, 0)}; // has b's sign
      if (divisor.lo == 0 || divisor.hi == 0)
        remainder = remainder.either(bounds(atom.a, facts, depth - 1));  // a // 0 is 0 here
      const Size factor = *times * Size(-1), dividend = factor * atom.a; // which must be there, or nothing is won
      if (factor.is_too_large() || dividend.is_too_large()) continue;
      bool stands = std::any_of(e.terms.begin(), e.terms.end(), [&](const Size::Term& t) {
        return t.atoms == dividend.terms.back().atoms && (t.coefficient < 0) == (dividend.terms.back().coefficient < 0);
      });
      if (!stands) continue;
      Size rest = e - whole - dividend;
      if (rest.is_too_large()) continue;
      result = result + bounds(factor, facts, depth - 1) * remainder;
      e = std::move(rest);
      found = true;
      break;
    }
  }
  for (const Size::Term& term : e.terms) {
    Interval product = Interval::of(term.coefficient);
    for (AtomId id : term.atoms)
      product = product * bounds_of(id, facts, depth);
    result = result + product;
  }
  return result;
}

SizeAtoms::Interval SizeAtoms::bounds(const Size& e, const SizeFacts& facts, int depth) const {
  if (e.is_too_large() || --bounds_budget_ < 0) return {};
  effort_ += e.terms.size();
  if (e.is_constant()) return Interval::of(e.constant());
  Interval result = bounds_of_sum(e, facts, depth);
  if (depth <= 0) return result;
  // On either side of a choice the whole is one of two things: a max, or a min.
  for (size_t i = 0; i < e.terms.size(); ++i) {
    const Size::Term& term = e.terms[i];
    if (term.atoms.size() != 1 || atoms_[term.atoms[0].index].kind != AtomKind::Positive) continue;
    const Size inner = atoms_[term.atoms[0].index].a, rest = without_term(e, i);
    SizeFacts more; // no equalities: nothing here looks at them
    more.not_negative = facts.not_negative;
    more.not_negative.push_back(inner);
    Interval above = bounds(rest + Size(term.coefficient) * inner, more, depth - 1);
    more.not_negative.back() = inner * Size(-1);
    result = result.both(above.either(bounds(rest, more, depth - 1)));
  }
  return result;
}

SizeAtoms::Interval SizeAtoms::bounds(const Size& e, const SizeFacts& facts) const {
  bounds_budget_ = kBoundsBudget;
  return bounds(e, facts, kBoundsDepth);
}

bool SizeAtoms::fits(const Size& e, const SizeFacts& facts) const { return bounds(e, facts).is_i64(); }

bool SizeAtoms::needs_check(const Size& e) const {
  const std::optional<AtomId> itself = e.as_atom(); // a max(a, 0) alone; others are i64 whatever they are made of
  if (!e.is_constant() && (!itself || atoms_[itself->index].kind == AtomKind::Positive) && !fits(e)) return true;
  auto operand = [&](const Size& s) { return needs_check(s) || !fits(s); };
  auto of_atom = [&](AtomId id) {
    const SizeAtom& atom = atoms_[id.index];
    if (atom.kind == AtomKind::Modular)
      return std::any_of(atom.a.terms.begin(), atom.a.terms.end(), [&](const Size::Term& term) {
        return std::any_of(term.atoms.begin(), term.atoms.end(),
                           [&](AtomId inner) { return needs_check(Size::of(inner)); });
      });
    if (is_leaf(id)) return false;
    if (atom.kind != AtomKind::Positive || fits(atom.a)) return operand(atom.a) || operand(atom.b);
    auto [added, taken] = parts(atom.a);
    return operand(added) || operand(taken);
  };
  return std::any_of(e.terms.begin(), e.terms.end(), [&](const Size::Term& term) {
    return std::any_of(term.atoms.begin(), term.atoms.end(), of_atom);
  });
}

std::pair<int64_t, int64_t> SizeAtoms::range_of(const Size& e, const SizeFacts& facts) const {
  Interval all = bounds(e, facts);
  auto i64 = [](Wide x) { return static_cast<int64_t>(std::clamp<Wide>(x, INT64_MIN, INT64_MAX)); };
  return {i64(all.lo), i64(all.hi)};
}

void SizeAtoms::set_range(AtomId value, int64_t least, int64_t most) {
  atoms_[value.index].least = std::max(atoms_[value.index].least, least);
  atoms_[value.index].most = std::min(atoms_[value.index].most, most);
}

} // namespace tl

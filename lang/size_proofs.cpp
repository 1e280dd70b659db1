// Proofs: that a size is not negative, that two are equal or different.
#include "lang/size_bounds.h"
#include "lang/size_terms.h"
#include <algorithm>

namespace tl {

constexpr int kProofDepth = 5;
constexpr int kProofBudget = 1000; // polynomials looked at in one proof

// Is it the atom plus a constant?
static bool is_atom_and_constant(const Size& e, AtomId id) {
  size_t others = 0;
  bool is_there = false;
  for (const Size::Term& term : e.terms) {
    if (term.atoms.empty()) continue;
    ++others;
    is_there = is_there || (term.coefficient == 1 && term.atoms.size() == 1 && term.atoms[0] == id);
  }
  return is_there && others == 1;
}

bool SizeAtoms::atom_not_negative(AtomId id, const SizeFacts& facts, int depth) {
  const SizeAtom& atom = atoms_[id.index]; // proofs add no atoms, so it stays where it is
  if (atom.not_negative) return true;
  for (const Size& fact : facts.not_negative) // id - c >= 0
    if (fact.constant() <= 0 && is_atom_and_constant(fact, id)) return true;
  if (atom.kind == AtomKind::FloorDiv)
    return depth > 0 && not_negative(atom.a, facts, depth - 1) && not_negative(atom.b, facts, depth - 1);
  return false;
}

// Sound, not complete: sums of things that are not negative; both cases of each max; bounds of each floor division; and
// facts that cancel a negative term.
bool SizeAtoms::not_negative(const Size& e, const SizeFacts& facts, int depth) {
  if (--proof_budget_ < 0 || e.is_too_large()) return false;
  effort_ += e.terms.size();
  std::vector<size_t> negative;
  for (size_t i = 0; i < e.terms.size(); ++i) {
    const auto& term = e.terms[i];
    bool fine = term.coefficient > 0;
    for (AtomId id : term.atoms)
      fine = fine && atom_not_negative(id, facts, depth);
    if (!fine) negative.push_back(i);
  }
  if (negative.empty()) return true;
  if (depth == 0) return false;
  for (size_t i = 0; i < e.terms.size(); ++i) {
    const auto& term = e.terms[i];
    if (term.atoms.size() != 1) continue;
    const SizeAtom& atom = atoms_[term.atoms[0].index];
    if (atom.kind == AtomKind::Positive) {
      SizeFacts more; // no equalities: nothing here looks at them
      more.not_negative = facts.not_negative;
      Size rest = without_term(e, i);
      more.not_negative.push_back(atom.a);
      if (!not_negative(rest + Size(term.coefficient) * atom.a, more, depth - 1)) continue;
      more.not_negative.back() = atom.a * Size(-1);
      if (not_negative(rest, more, depth - 1)) return true;
    }
    if (atom.kind == AtomKind::FloorDiv && atom.b.is_constant() && atom.b.constant() > 0) {
      Size rest = without_term(e, i) * atom.b;
      Size bound = term.coefficient < 0 ? atom.a : atom.a - atom.b + Size(1);
      if (not_negative(rest + Size(term.coefficient) * bound, facts, depth - 1)) return true;
    }
  }
  // a - b < b * (a // b) <= a where b > 0; other factors of the product must not be negative.
  for (size_t i = 0; i < e.terms.size(); ++i) {
    const auto& term = e.terms[i];
    for (AtomId division : term.atoms) {
      const SizeAtom& atom = atoms_[division.index];
      auto divisor = atom.kind == AtomKind::FloorDiv ? atom.b.as_atom() : std::nullopt;
      if (!divisor) continue;
      Size::Term others = term;
      others.atoms.erase(std::find(others.atoms.begin(), others.atoms.end(), division));
      auto at = std::find(others.atoms.begin(), others.atoms.end(), *divisor);
      if (at == others.atoms.end()) continue;
      others.atoms.erase(at);
      bool fine = not_negative(atom.b - Size(1), facts, depth - 1);
      for (AtomId other : others.atoms)
        fine = fine && atom_not_negative(other, facts, depth - 1);
      if (!fine) continue;
      Size factor;
      factor.terms.push_back(others);
      Size bound = term.coefficient < 0 ? atom.a : atom.a - atom.b + Size(1);
      if (not_negative(without_term(e, i) + factor * bound, facts, depth - 1)) return true;
    }
  }
  // A fact f >= 0 helps where subtracting a multiple of it cancels a negative term, or pays for a negative constant.
  bool negative_constant = e.constant() < 0;
  for (const Size& fact : facts.not_negative)
    for (const auto& term : fact.terms) {
      if (term.atoms.empty() || fact.is_too_large()) continue;
      for (size_t i = 0; i < e.terms.size(); ++i) {
        const auto& own = e.terms[i];
        if (own.atoms != term.atoms || (own.coefficient < 0) != (term.coefficient < 0)) continue;
        if (!negative_constant && std::find(negative.begin(), negative.end(), i) == negative.end()) continue;
        if (term.coefficient == -1 ? own.coefficient == INT64_MIN : own.coefficient % term.coefficient != 0) continue;
        if (not_negative(e - Size(own.coefficient / term.coefficient) * fact, facts, depth - 1)) return true;
      }
    }
  return false;
}

bool SizeAtoms::proves_not_negative(const Size& e, const SizeFacts& facts) {
  if (e.is_too_large()) return false;
  if (e.is_constant()) return e.constant() >= 0;
  if (bounds(e, facts).lo >= 0) return true;
  proof_budget_ = kProofBudget;
  if (not_negative(e, facts, kProofDepth)) return true;
  if (facts.equal.empty() && facts.not_negative.empty()) return false;
  SizeFacts reduced;
  bool changed = false;
  for (const Size& fact : facts.not_negative) {
    reduced.not_negative.push_back(under(fact, facts));
    changed = changed || reduced.not_negative.back() != fact;
  }
  const Size known = under(e, facts);
  if (!changed && known == e) return false;
  proof_budget_ = kProofBudget;
  return bounds(known, reduced).lo >= 0 || not_negative(known, reduced, kProofDepth);
}

// With (e + 1) // 2 as e - e // 2, so that the halves of something are all of it.
Size SizeAtoms::with_lower_halves(const Size& s) {
  Size result = s;
  for (const auto& term : s.terms)
    for (AtomId id : term.atoms) {
      const SizeAtom atom = atoms_[id.index];
      if (atom.kind != AtomKind::FloorDiv || !atom.b.is(2) || atom.a.constant() != 1) continue;
      Size less = atom.a - Size(1);
      Size::Term others = term;
      others.atoms.erase(std::find(others.atoms.begin(), others.atoms.end(), id));
      Size own, factor;
      own.terms.push_back(term);
      factor.terms.push_back(others);
      result = result - own + factor * (less - floor_div(less, 2));
      break;
    }
  return result;
}

Compare SizeAtoms::compare(const Size& a, const Size& b, const SizeFacts& facts) {
  if (a.is_too_large() || b.is_too_large()) return Compare::Unknown;
  if (a == b) return Compare::Equal;
  Size difference = with_lower_halves(under(a - b, facts));
  if (difference.is_too_large()) return Compare::Unknown;
  if (difference.is_constant()) return difference.is(0) ? Compare::Equal : Compare::Different;
  Size reversed = difference * Size(-1);
  if (proves_not_negative(difference - Size(1), facts) || proves_not_negative(reversed - Size(1), facts))
    return Compare::Different;
  if (proves_not_negative(difference, facts) && proves_not_negative(reversed, facts)) return Compare::Equal;
  return Compare::Unknown;
}

} // namespace tl

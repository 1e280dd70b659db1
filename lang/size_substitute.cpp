// Sizes with others put in for their atoms.
#include "lang/size.h"
#include "lang/size_bounds.h"
#include <algorithm>

namespace tl {

std::optional<__int128> SizeAtoms::number(const Size& s, const std::map<AtomId, Size>& by) const {
  Wide sum = 0;
  for (const auto& term : s.terms) {
    Wide product = term.coefficient;
    for (AtomId id : term.atoms) {
      const SizeAtom& atom = atoms_[id.index];
      std::optional<Wide> value;
      if (auto it = by.find(id); it != by.end()) {
        if (it->second.is_constant()) value = it->second.constant();
      } else if (atom.kind == AtomKind::Positive) {
        value = number(atom.a, by);
        if (value) value = std::max<Wide>(*value, 0);
      } else if (atom.kind == AtomKind::FloorDiv) {
        auto a = number(atom.a, by), b = number(atom.b, by);
        if (a && b) value = *b == 0 ? 0 : floor_wide(*a, *b);
      }
      if (!value || __builtin_mul_overflow(product, *value, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

Size SizeAtoms::substitute(const Size& s, const std::map<AtomId, Size>& by) {
  const Size result = substituted(s, by);
  if (!result.is_too_large()) return result;
  // max(n, m) of constants: it may be a number although n - m is none.
  auto value = number(s, by);
  return value && *value >= INT64_MIN && *value <= INT64_MAX ? Size(static_cast<int64_t>(*value)) : result;
}

Size SizeAtoms::substituted(const Size& s, const std::map<AtomId, Size>& by) {
  Size result;
  for (const auto& term : s.terms) {
    Size product = term.coefficient;
    for (AtomId id : term.atoms) {
      if (auto it = by.find(id); it != by.end()) {
        product = product * it->second;
        continue;
      }
      SizeAtom atom = atoms_[id.index];
      Size value = Size::of(id);
      switch (atom.kind) {
      case AtomKind::Named:
      case AtomKind::Value:
      case AtomKind::Element:
      case AtomKind::Fresh: break;
      case AtomKind::FloorDiv: value = floor_div(substitute(atom.a, by), substitute(atom.b, by)); break;
      case AtomKind::Positive: {
        auto [added, taken] = parts(atom.a);
        Size most = substitute(added, by), less = substitute(taken, by);
        value = most.is_constant() && less.is_constant() ? max(most, less) - less : positive(most - less);
        break;
      }
      case AtomKind::Wrap: value = wrap(substitute(atom.a, by), substitute(atom.b, by)); break;
      case AtomKind::Modular:
        value = Size(0);
        for (const Size::Term& part : atom.a.terms) {
          Size computed = part.coefficient;
          for (AtomId factor : part.atoms)
            computed = i64_product(computed, substitute(Size::of(factor), by));
          value = i64_sum(value, computed);
        }
        break;
      case AtomKind::Near: value = near_axis(substitute(atom.a, by)); break;
      }
      product = product * value;
    }
    result = result + product;
  }
  return result;
}

Size SizeAtoms::under(const Size& s, const SizeFacts& facts) {
  Size result = s;
  for (const auto& [atom, value] : facts.equal) {
    std::vector<AtomId> atoms;
    collect(result, atoms);
    if (std::find(atoms.begin(), atoms.end(), atom) != atoms.end()) result = substitute(result, {{atom, value}});
  }
  std::map<AtomId, Size> exact;
  collect_seen_through(result, facts, exact);
  return exact.empty() ? result : substitute(result, exact);
}

// The Modular and Near atoms in s that are, under the facts, just their operands.
void SizeAtoms::collect_seen_through(const Size& s, const SizeFacts& facts, std::map<AtomId, Size>& into) const {
  for (const auto& term : s.terms)
    for (AtomId id : term.atoms) {
      const SizeAtom& atom = atoms_[id.index];
      if ((atom.kind == AtomKind::Modular && fits(atom.a, facts)) ||
          (atom.kind == AtomKind::Near && is_near(atom.a, facts)))
        into.emplace(id, atom.a);
      collect_seen_through(atom.a, facts, into);
      collect_seen_through(atom.b, facts, into);
    }
}

} // namespace tl

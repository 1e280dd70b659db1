#include "lang/size.h"
#include <fmt/format.h>
#include <numeric>

namespace tl {

namespace {

constexpr int kTextDepth = 5; // of compound sizes in messages; deeper parts are shown as …
constexpr int kProofDepth = 5;
constexpr int kProofBudget = 1000; // polynomials looked at in one proof

int64_t add_wrapping(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t mul_wrapping(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Sorts terms, merges those of the same atoms and drops zeros.
Size normalized(std::vector<Size::Term> terms) {
  std::sort(terms.begin(), terms.end());
  Size result;
  for (auto& term : terms) {
    if (!result.terms.empty() && result.terms.back().atoms == term.atoms)
      result.terms.back().coefficient = add_wrapping(result.terms.back().coefficient, term.coefficient);
    else {
      if (!result.terms.empty() && result.terms.back().coefficient == 0) result.terms.pop_back();
      result.terms.push_back(std::move(term));
    }
  }
  if (!result.terms.empty() && result.terms.back().coefficient == 0) result.terms.pop_back();
  return result;
}

Size without_term(const Size& s, size_t index) {
  Size result = s;
  result.terms.erase(result.terms.begin() + static_cast<ptrdiff_t>(index));
  return result;
}

// The quotient of two terms, where b divides a.
std::optional<Size::Term> divide_term(const Size::Term& a, const Size::Term& b) {
  if (b.coefficient == 0 || b.coefficient == -1 || a.coefficient % b.coefficient != 0) {
    if (b.coefficient != -1) return std::nullopt;
  }
  Size::Term q;
  q.coefficient = b.coefficient == -1 ? mul_wrapping(a.coefficient, -1) : a.coefficient / b.coefficient;
  size_t i = 0;
  for (AtomId atom : a.atoms)
    if (i < b.atoms.size() && b.atoms[i] == atom)
      ++i;
    else
      q.atoms.push_back(atom);
  if (i != b.atoms.size()) return std::nullopt;
  return q;
}

} // namespace

Size operator+(const Size& a, const Size& b) {
  std::vector<Size::Term> terms = a.terms;
  terms.insert(terms.end(), b.terms.begin(), b.terms.end());
  return normalized(std::move(terms));
}

Size operator*(const Size& a, const Size& b) {
  std::vector<Size::Term> terms;
  for (const auto& x : a.terms)
    for (const auto& y : b.terms) {
      Size::Term t{x.atoms, mul_wrapping(x.coefficient, y.coefficient)};
      t.atoms.insert(t.atoms.end(), y.atoms.begin(), y.atoms.end());
      std::sort(t.atoms.begin(), t.atoms.end());
      terms.push_back(std::move(t));
    }
  return normalized(std::move(terms));
}

Size operator-(const Size& a, const Size& b) { return a + b * Size(-1); }

std::optional<Size> divide_exactly(const Size& a, const Size& b) {
  if (b.terms.empty()) return std::nullopt;
  if (a.terms.empty()) return Size(0);
  Size quotient;
  if (b.terms.size() == 1) {
    for (const auto& term : a.terms) {
      auto q = divide_term(term, b.terms[0]);
      if (!q) return std::nullopt;
      quotient.terms.push_back(*q);
    }
    return normalized(std::move(quotient.terms));
  }
  // A sum divides only as a whole here: a = term * b.
  auto q = divide_term(a.terms.back(), b.terms.back());
  if (!q) return std::nullopt;
  quotient.terms.push_back(*q);
  if (quotient * b == a) return quotient;
  return std::nullopt;
}

AtomId SizeAtoms::add(SizeAtom atom) {
  atoms_.push_back(std::move(atom));
  return {static_cast<uint32_t>(atoms_.size() - 1)};
}

AtomId SizeAtoms::element(size_t n) {
  while (elements_.size() <= n) {
    SizeAtom atom;
    atom.kind = AtomKind::Element;
    atom.name = "_";
    atom.not_negative = true;
    elements_.push_back(add(std::move(atom)));
  }
  return elements_[n];
}

AtomId SizeAtoms::compound(AtomKind kind, Size a, Size b) {
  auto key = std::tuple(kind, a, b);
  if (auto it = compounds_.find(key); it != compounds_.end()) return it->second;
  SizeAtom atom;
  atom.kind = kind;
  atom.a = std::move(a);
  atom.b = std::move(b);
  atom.not_negative = kind == AtomKind::Positive;
  return compounds_[key] = add(std::move(atom));
}

std::pair<Size, Size> SizeAtoms::parts(const Size& e) {
  Size added, taken;
  for (const Size::Term& term : e.terms)
    if (term.coefficient > 0)
      added.terms.push_back(term);
    else
      taken.terms.push_back({term.atoms, mul_wrapping(term.coefficient, -1)});
  // max(a, -9223372036854775807): a and that many more are no i64.
  if (constexpr int64_t kHuge = int64_t{1} << 62; added.constant() >= kHuge && added.terms.size() > 1) {
    taken = taken - Size(added.constant());
    added = added - Size(added.constant());
  }
  return {std::move(added), std::move(taken)};
}

bool SizeAtoms::has_only_sizes(const Size& e) const {
  std::vector<AtomId> atoms;
  collect(e, atoms);
  return std::all_of(atoms.begin(), atoms.end(), [&](AtomId id) { return atoms_[id.index].not_negative; }) &&
         e.constant() > -(int64_t{1} << 62) && e.constant() < int64_t{1} << 62;
}

Size SizeAtoms::floor_div(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) return floor_div_i64(a.constant(), b.constant());
  if (b.is(1)) return a;
  if (b.is(0)) return 0;
  if (!b.is_constant()) {
    // Where b is 0 the division fails beside this, so its value may be taken as any.
    if (auto q = divide_exactly(a, b)) return *q;
    return Size::of(compound(AtomKind::FloorDiv, a, b));
  }
  int64_t c = b.constant();
  if (c < 0) return c == INT64_MIN ? Size::of(compound(AtomKind::FloorDiv, a, b)) : floor_div(a * Size(-1), Size(-c));
  // (c*q + r) // c = q + r // c, with every coefficient of r in [0, c).
  Size q, r;
  for (const auto& term : a.terms) {
    int64_t quotient = floor_div_i64(term.coefficient, c), rest = term.coefficient - quotient * c;
    if (quotient != 0) q.terms.push_back({term.atoms, quotient});
    if (rest != 0) r.terms.push_back({term.atoms, rest});
  }
  if (r.is_constant()) return q;
  return q + Size::of(compound(AtomKind::FloorDiv, r, b));
}

Size SizeAtoms::positive(const Size& e, const SizeFacts& facts) {
  if (e.is_constant()) return std::max<int64_t>(e.constant(), 0);
  if (proves_not_negative(e, facts)) return e;
  Size negated = e * Size(-1);
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

Size SizeAtoms::wrap(const Size& e, const Size& n, const SizeFacts& facts) {
  if (proves_not_negative(e, facts)) return e;
  if (proves_not_negative(Size(-1) - e, facts)) return e + n;
  return Size::of(compound(AtomKind::Wrap, e, n));
}

Size SizeAtoms::substitute(const Size& s, const std::map<AtomId, Size>& by) {
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
  return result;
}

void SizeAtoms::collect(const Size& s, std::vector<AtomId>& into) const {
  for (const auto& term : s.terms)
    for (AtomId id : term.atoms) {
      const SizeAtom& atom = atoms_[id.index];
      bool leaf = atom.kind == AtomKind::Named || atom.kind == AtomKind::Value || atom.kind == AtomKind::Fresh ||
                  atom.kind == AtomKind::Element;
      if (leaf)
        into.push_back(id);
      else {
        collect(atom.a, into);
        collect(atom.b, into);
      }
    }
}

bool SizeAtoms::atom_not_negative(AtomId id, const SizeFacts& facts, int depth) {
  const SizeAtom atom = atoms_[id.index];
  if (atom.not_negative) return true;
  for (const Size& fact : facts.not_negative) // id - c >= 0
    if (fact.constant() <= 0 && fact - Size(fact.constant()) == Size::of(id)) return true;
  if (atom.kind == AtomKind::FloorDiv)
    return depth > 0 && not_negative(atom.a, facts, depth - 1) && not_negative(atom.b, facts, depth - 1);
  return false;
}

// Sound, not complete: sums of things that are not negative; both cases of each max; bounds of each floor division; and
// facts that cancel a negative term.
bool SizeAtoms::not_negative(const Size& e, const SizeFacts& facts, int depth) {
  if (--proof_budget_ < 0) return false;
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
    const auto term = e.terms[i];
    if (term.atoms.size() != 1) continue;
    const SizeAtom atom = atoms_[term.atoms[0].index];
    if (atom.kind == AtomKind::Positive) {
      SizeFacts more = facts;
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
    const auto term = e.terms[i];
    for (AtomId division : term.atoms) {
      const SizeAtom atom = atoms_[division.index];
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
      if (term.atoms.empty()) continue;
      for (size_t i = 0; i < e.terms.size(); ++i) {
        const auto& own = e.terms[i];
        if (own.atoms != term.atoms || (own.coefficient < 0) != (term.coefficient < 0)) continue;
        if (!negative_constant && std::find(negative.begin(), negative.end(), i) == negative.end()) continue;
        if (own.coefficient % term.coefficient != 0) continue;
        if (not_negative(e - Size(own.coefficient / term.coefficient) * fact, facts, depth - 1)) return true;
      }
    }
  return false;
}

bool SizeAtoms::proves_not_negative(const Size& e, const SizeFacts& facts) {
  proof_budget_ = kProofBudget;
  if (e.is_constant()) return e.constant() >= 0;
  if (not_negative(e, facts, kProofDepth)) return true;
  if (facts.equal.empty()) return false;
  proof_budget_ = kProofBudget;
  SizeFacts reduced;
  for (const Size& fact : facts.not_negative)
    reduced.not_negative.push_back(under(fact, facts));
  return not_negative(under(e, facts), reduced, kProofDepth);
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
  if (a == b) return Compare::Equal;
  Size difference = with_lower_halves(under(a - b, facts));
  if (difference.is_constant()) return difference.is(0) ? Compare::Equal : Compare::Different;
  Size reversed = difference * Size(-1);
  if (proves_not_negative(difference - Size(1), facts) || proves_not_negative(reversed - Size(1), facts))
    return Compare::Different;
  if (proves_not_negative(difference, facts) && proves_not_negative(reversed, facts)) return Compare::Equal;
  return Compare::Unknown;
}

std::string SizeAtoms::to_string(const Size& s) const { return to_string(s, kTextDepth); }

std::string SizeAtoms::to_string(const Size& s, int depth) const {
  if (depth == 0) return "…";
  auto in_parentheses = [&](const Size& e) {
    bool simple = e.is_constant() ? e.constant() >= 0 : e.as_atom().has_value();
    return simple ? to_string(e, depth - 1) : "(" + to_string(e, depth - 1) + ")";
  };
  auto has_positive = [&](const Size& e) {
    for (const auto& term : e.terms)
      for (AtomId id : term.atoms)
        if (atoms_[id.index].kind == AtomKind::Positive) return true;
    return false;
  };
  // max, min and % were taken apart into a sum; find them again.
  for (size_t i = 0; i < s.terms.size(); ++i) {
    const auto& term = s.terms[i];
    if (term.atoms.size() != 1) continue;
    const SizeAtom& atom = atoms_[term.atoms[0].index];
    Size rest = without_term(s, i);
    if (atom.kind == AtomKind::Positive && (term.coefficient == 1 || term.coefficient == -1)) {
      bool is_max = term.coefficient == 1;
      Size x = is_max ? rest + atom.a : rest, y = is_max ? rest : rest - atom.a;
      // One of them must be free of further ones, or the text would double at every level.
      if (has_positive(x) && has_positive(y)) continue;
      if (x.is_constant() || (!y.is_constant() && y < x)) std::swap(x, y);
      return fmt::format("{}({}, {})", is_max ? "max" : "min", to_string(x, depth - 1), to_string(y, depth - 1));
    }
    if (atom.kind == AtomKind::FloorDiv && rest == atom.a && Size(term.coefficient) == atom.b * Size(-1))
      return fmt::format("{} % {}", in_parentheses(atom.a), in_parentheses(atom.b));
  }
  std::string text;
  auto add_term = [&](const Size::Term& term) {
    bool minus = term.coefficient < 0;
    text += text.empty() ? (minus ? "-" : "") : (minus ? " - " : " + ");
    uint64_t magnitude = minus ? 0 - static_cast<uint64_t>(term.coefficient) : static_cast<uint64_t>(term.coefficient);
    std::vector<std::string> factors;
    if (magnitude != 1 || term.atoms.empty()) factors.push_back(std::to_string(magnitude));
    for (AtomId id : term.atoms) {
      const SizeAtom& atom = atoms_[id.index];
      switch (atom.kind) {
      case AtomKind::Named:
      case AtomKind::Value:
      case AtomKind::Element:
      case AtomKind::Fresh: factors.push_back(atom.name.empty() ? "_" : atom.name); break;
      case AtomKind::FloorDiv: {
        std::string division = fmt::format("{} // {}", in_parentheses(atom.a), in_parentheses(atom.b));
        factors.push_back(s.terms.size() == 1 && term.atoms.size() == 1 && magnitude == 1 ? division
                                                                                          : "(" + division + ")");
        break;
      }
      case AtomKind::Positive: factors.push_back(fmt::format("max({}, 0)", to_string(atom.a, depth - 1))); break;
      case AtomKind::Wrap:
        factors.push_back(in_parentheses(atom.a));
        break; // counted from the end where it is negative
      }
    }
    text += fmt::format("{}", fmt::join(factors, "*"));
  };
  // n - k + 1: what is added first, and constants last, unless all else is taken away from one.
  bool from_constant = s.constant() > 0;
  for (const auto& term : s.terms)
    if (!term.atoms.empty() && term.coefficient > 0) add_term(term), from_constant = false;
  if (from_constant) add_term(s.terms[0]);
  for (const auto& term : s.terms)
    if (!term.atoms.empty() && term.coefficient < 0) add_term(term);
  if (s.constant() != 0 && !from_constant) add_term(s.terms[0]);
  return text.empty() ? "0" : text;
}

} // namespace tl

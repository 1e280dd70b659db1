// Polynomials, facts, and the table of the atoms.
#include "lang/size.h"
#include "lang/size_terms.h"
#include <algorithm>

namespace tl {

namespace {

int64_t add_wrapping(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t mul_wrapping(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Sorts terms, merges those of the same atoms and drops zeros.
Size normalized(std::vector<Size::Term> terms, Coefficients how = Coefficients::Exact) {
  std::sort(terms.begin(), terms.end());
  Size result;
  for (auto& term : terms) {
    if (!result.terms.empty() && result.terms.back().atoms == term.atoms) {
      int64_t& sum = result.terms.back().coefficient;
      if (how == Coefficients::Wrapping)
        sum = add_wrapping(sum, term.coefficient);
      else if (__builtin_add_overflow(sum, term.coefficient, &sum))
        return Size::too_large();
    } else {
      if (!result.terms.empty() && result.terms.back().coefficient == 0) result.terms.pop_back();
      result.terms.push_back(std::move(term));
    }
  }
  if (!result.terms.empty() && result.terms.back().coefficient == 0) result.terms.pop_back();
  return result;
}

// The quotient of two terms, where b divides a.
std::optional<Size::Term> divide_term(const Size::Term& a, const Size::Term& b) {
  if (b.coefficient == 0 || (b.coefficient == -1 && a.coefficient == INT64_MIN)) return std::nullopt;
  if (a.coefficient % b.coefficient != 0) return std::nullopt;
  Size::Term q;
  q.coefficient = a.coefficient / b.coefficient;
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

Size sum(const Size& a, const Size& b, Coefficients how) {
  std::vector<Size::Term> terms = a.terms;
  terms.insert(terms.end(), b.terms.begin(), b.terms.end());
  return normalized(std::move(terms), how);
}

Size product(const Size& a, const Size& b, Coefficients how) {
  std::vector<Size::Term> terms;
  for (const auto& x : a.terms)
    for (const auto& y : b.terms) {
      Size::Term t{x.atoms, mul_wrapping(x.coefficient, y.coefficient)};
      if (how == Coefficients::Exact && __builtin_mul_overflow(x.coefficient, y.coefficient, &t.coefficient))
        return Size::too_large();
      t.atoms.insert(t.atoms.end(), y.atoms.begin(), y.atoms.end());
      std::sort(t.atoms.begin(), t.atoms.end());
      terms.push_back(std::move(t));
    }
  return normalized(std::move(terms), how);
}

Size without_term(const Size& s, size_t index) {
  Size result = s;
  result.terms.erase(result.terms.begin() + static_cast<ptrdiff_t>(index));
  return result;
}

Size operator+(const Size& a, const Size& b) {
  return a.is_too_large() || b.is_too_large() ? Size::too_large() : sum(a, b, Coefficients::Exact);
}

Size operator*(const Size& a, const Size& b) {
  return a.is_too_large() || b.is_too_large() ? Size::too_large() : product(a, b, Coefficients::Exact);
}

Size operator-(const Size& a, const Size& b) { return a + b * Size(-1); }

std::optional<Size> divide_exactly(const Size& a, const Size& b) {
  if (b.terms.empty() || a.is_too_large() || b.is_too_large()) return std::nullopt;
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

void SizeFacts::claim(Mark since) {
  trust(since);
  for (size_t i = since.equal; i < equal.size(); ++i)
    claimed_equal.push_back(i);
  for (size_t i = since.not_negative; i < not_negative.size(); ++i)
    claimed_not_negative.push_back(i);
}

void SizeFacts::trust(Mark since) {
  std::erase_if(claimed_equal, [&](size_t i) { return i >= since.equal; });
  std::erase_if(claimed_not_negative, [&](size_t i) { return i >= since.not_negative; });
}

SizeFacts SizeFacts::sure() const {
  SizeFacts result;
  for (size_t i = 0; i < equal.size(); ++i)
    if (!std::binary_search(claimed_equal.begin(), claimed_equal.end(), i)) result.equal.push_back(equal[i]);
  for (size_t i = 0; i < not_negative.size(); ++i)
    if (!std::binary_search(claimed_not_negative.begin(), claimed_not_negative.end(), i))
      result.not_negative.push_back(not_negative[i]);
  return result;
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

std::pair<Size, Size> SizeAtoms::parts(const Size& e) const {
  Size added, taken;
  for (const Size::Term& term : e.terms)
    if (!term.atoms.empty()) (term.coefficient > 0 ? added : taken).terms.push_back(term);
  taken = Size(0) - taken;
  // The constant goes where its sign says, unless that is more than an i64: max(a, n - 1) compares a with n - 1.
  const Size c = e.constant();
  std::pair<Size, Size> one{added + c, taken}, other{added, taken - c};
  if (e.constant() < 0) std::swap(one, other);
  auto fine = [&](const std::pair<Size, Size>& both) { return fits(both.first) && fits(both.second); };
  if (fine(one)) return one;
  if (fine(other)) return other;
  // A max inside, as in clamp(a, lo, hi): its positive(x - lo) fits only with lo added to it, so that goes to both.
  for (const Size& side : {added, taken})
    for (const Size::Term& term : side.terms) {
      if (term.atoms.size() != 1 || term.coefficient != 1 || atoms_[term.atoms[0].index].kind != AtomKind::Positive)
        continue;
      const Size least = parts(atoms_[term.atoms[0].index].a).second;
      const std::pair<Size, Size> moved{one.first + least, one.second + least};
      if (fine(moved)) return moved;
    }
  return one;
}

bool SizeAtoms::is_leaf(AtomId id) const {
  const AtomKind kind = atoms_[id.index].kind;
  return kind == AtomKind::Named || kind == AtomKind::Value || kind == AtomKind::Fresh || kind == AtomKind::Element;
}

void SizeAtoms::collect(const Size& s, std::vector<AtomId>& into) const {
  for (const auto& term : s.terms)
    for (AtomId id : term.atoms) {
      const SizeAtom& atom = atoms_[id.index];
      if (is_leaf(id))
        into.push_back(id);
      else {
        collect(atom.a, into);
        collect(atom.b, into);
      }
    }
}

} // namespace tl

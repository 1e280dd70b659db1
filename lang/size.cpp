#include "lang/size.h"
#include <algorithm>
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

// What becomes of coefficients that are no i64: too_large(), or what they are modulo 2**64.
enum class Coefficients : uint8_t { Exact, Wrapping };

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

// ---- bounds
// -------------------------------------------------------------------------------------------------------------

namespace {
using Wide = __int128;
constexpr Wide kInfinite = Wide{1} << 120; // a bound of this is none; finite ones stay well below
constexpr int kBoundsDepth = 4;            // of atoms in atoms, choices between two, and facts about facts
constexpr int kBoundsBudget = 300;         // sums looked at for one question

Wide saturated(Wide x) { return std::clamp(x, -kInfinite, kInfinite); }
Wide add_wide(Wide a, Wide b) { return saturated(a + b); } // of two of which none is +infinite beside -infinite
Wide mul_wide(Wide a, Wide b) {
  Wide r = 0;
  if (a == 0 || b == 0) return 0;
  if (__builtin_mul_overflow(a, b, &r)) return (a < 0) == (b < 0) ? kInfinite : -kInfinite;
  return saturated(r);
}
Wide floor_wide(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
} // namespace

struct SizeAtoms::Interval {
  Wide lo = -kInfinite, hi = kInfinite;

  static Interval of(Wide value) { return {value, value}; }
  bool is_i64() const { return lo >= INT64_MIN && hi <= INT64_MAX; }
  Interval operator+(const Interval& o) const {
    return {lo == -kInfinite || o.lo == -kInfinite ? -kInfinite : add_wide(lo, o.lo),
            hi == kInfinite || o.hi == kInfinite ? kInfinite : add_wide(hi, o.hi)};
  }
  Interval operator*(const Interval& o) const {
    const Wide all[] = {mul_wide(lo, o.lo), mul_wide(lo, o.hi), mul_wide(hi, o.lo), mul_wide(hi, o.hi)};
    return {*std::min_element(all, all + 4), *std::max_element(all, all + 4)};
  }
  Interval both(const Interval& o) const { return {std::max(lo, o.lo), std::min(hi, o.hi)}; }
  Interval either(const Interval& o) const { return {std::min(lo, o.lo), std::max(hi, o.hi)}; }
};

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
  own.hi = std::max(own.lo, own.hi); // facts that contradict stand where nothing ever runs
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
      const Size factor = *times * Size(-1), dividend = factor * atom.a; // which must stand there, or nothing is won
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
  if (e.is_constant()) return Interval::of(e.constant());
  Interval result = bounds_of_sum(e, facts, depth);
  if (depth <= 0) return result;
  // On either side of a choice the whole is one of two things: a max, or a min.
  for (size_t i = 0; i < e.terms.size(); ++i) {
    const Size::Term& term = e.terms[i];
    if (term.atoms.size() != 1 || atoms_[term.atoms[0].index].kind != AtomKind::Positive) continue;
    const Size inner = atoms_[term.atoms[0].index].a, rest = without_term(e, i);
    SizeFacts more = facts;
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
  if (!e.is_constant() && !e.as_atom() && !fits(e)) return true;
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

// ---- arithmetic that wraps
// ----------------------------------------------------------------------------------------------

namespace {
// s with what its Modular atoms wrap, as far as they stand in its terms: the same modulo 2**64.
Size opened(const SizeAtoms& atoms, const Size& s) {
  Size result;
  for (const Size::Term& term : s.terms) {
    Size part(term.coefficient);
    for (AtomId id : term.atoms)
      part = product(part, atoms[id].kind == AtomKind::Modular ? atoms[id].a : Size::of(id), Coefficients::Wrapping);
    result = sum(result, part, Coefficients::Wrapping);
  }
  return result;
}
} // namespace

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
  if (--proof_budget_ < 0 || e.is_too_large()) return false;
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
      case AtomKind::Modular:
      case AtomKind::Near:
        factors.push_back(s.terms.size() == 1 && term.atoms.size() == 1 && magnitude == 1 && !minus
                              ? to_string(atom.a, depth)
                              : in_parentheses(atom.a));
        break;
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

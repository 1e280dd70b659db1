// Symbolic sizes: polynomials with integer coefficients over atoms, kept normalised, so that 1 + n and n + 1, or
// 2*(n + m) and n*2 + m*2, are the same Size. An atom is a named size, an opaque i64 value, or one of the compound
// forms. Everything else reduces to these:
//   max(a, b) = b + positive(a - b)      min(a, b) = a - positive(a - b)      clip(e, lo, hi) = min(max(e, lo), hi)
//   a % b     = a - b * (a // b)         where positive(e) = max(e, 0)
// Printing turns them back into the user's words.
//
// A Size is an integer of mathematics: nothing in it wraps, so what is proven of sizes is true of numbers. It is also
// true of what runs, because
//   - the i64 arithmetic of a program gives a polynomial only where that fits an i64 for all values that its atoms may
//     have (fits); else it gives an atom of its own, Modular: the i64 that wrapping arithmetic makes of the polynomial.
//     Proofs see through a Modular where the facts of a place say that it does not wrap;
//   - whoever computes a size that does not surely fit checks that it does (ir/lower/sizes.cpp);
//   - no axis is longer than kLongestAxis, which is checked where a number becomes a size.
// A coefficient that is no i64 makes too_large() of the whole size: of it nothing is proven, and the checker rejects
// it.
#pragma once
#include "abi/limits.h"
#include "lang/source.h"
#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tl {

struct AtomId {
  uint32_t index = UINT32_MAX;
  bool valid() const { return index != UINT32_MAX; }
  auto operator<=>(const AtomId&) const = default;
};

struct Size {
  struct Term {
    std::vector<AtomId> atoms; // ascending; an atom occurs twice for its square; none: the constant term
    int64_t coefficient = 0;   // never 0
    auto operator<=>(const Term&) const = default;
  };
  std::vector<Term> terms; // ascending by atoms; none: 0

  Size() = default;
  Size(int64_t constant) { // NOLINT: a literal is a size
    if (constant != 0) terms.push_back({{}, constant});
  }
  static Size of(AtomId atom) {
    Size s;
    s.terms.push_back({{atom}, 1});
    return s;
  }
  static Size too_large() { return of({0}); }
  bool is_too_large() const {
    return std::any_of(terms.begin(), terms.end(),
                       [](const Term& t) { return !t.atoms.empty() && t.atoms[0] == AtomId{0}; });
  }
  bool is_constant() const { return terms.empty() || (terms.size() == 1 && terms[0].atoms.empty()); }
  int64_t constant() const {
    return !terms.empty() && terms[0].atoms.empty() ? terms[0].coefficient : 0;
  } // constant term
  bool is(int64_t value) const { return is_constant() && constant() == value; }
  std::optional<AtomId> as_atom() const {
    if (terms.size() == 1 && terms[0].coefficient == 1 && terms[0].atoms.size() == 1) return terms[0].atoms[0];
    return std::nullopt;
  }
  auto operator<=>(const Size&) const = default;
};

Size operator+(const Size& a, const Size& b);
Size operator-(const Size& a, const Size& b);
Size operator*(const Size& a, const Size& b);
// a / b where b divides a as a polynomial, otherwise nothing.
std::optional<Size> divide_exactly(const Size& a, const Size& b);

inline constexpr int64_t kNear = 2 * kLongestAxis; // bounds of slices that are further off have the same effect

enum class AtomKind : uint8_t {
  Named,    // a name in a shape: x: f32[n]. Two of them are different wherever equality is only implied
  Value,    // the value of an immutable i64 variable
  Fresh,    // a size that is known when its value has been computed: masks, load, clipped counts
  Element,  // in the type of a list's elements: a size of each element's own. The n-th of a type is the same atom in
            // all, so that equal types compare equal; taking an element puts a Fresh in its place. It has no value
  FloorDiv, // a // b; where b is 0 it is 0 (a check is next to it)
  Positive, // max(a, 0)
  Wrap,     // a < 0 ? a + b : a       (a subscript or slice bound counted from the end)
  Modular,  // the i64 that is a modulo 2**64
  Near,     // clip(a, -kNear, kNear)
};

struct SizeAtom {
  AtomKind kind = AtomKind::Fresh;
  std::string name;                            // "n"; for Fresh a description: "rows of x[mask]"
  Span origin;                                 // where it comes from
  bool not_negative = false;                   // of atoms that are not compound: a size, from 0 to kLongestAxis
  Size a, b;                                   // operands of the compound kinds
  int64_t least = INT64_MIN, most = INT64_MAX; // what the value of an atom may be that is neither a size nor compound
};

// What is known at a place: equalities (from assert n == m) and things that are not negative (from assert n >= 3, loop
// bounds). A stack: a block remembers mark() and ends with restore().
//
// A branch runs only where its condition holds. What an assertion or a check of sizes says holds where that has passed,
// but work that does not depend on it runs ahead of it, also where it will fail: such a fact makes sizes fit, and no
// read goes without its own check because of it. These facts are claims; sure() leaves them out.
struct SizeFacts {
  std::vector<std::pair<AtomId, Size>> equal; // atom == size, applied in order
  std::vector<Size> not_negative;
  std::vector<size_t> claimed_equal, claimed_not_negative; // positions, ascending
  struct Mark {
    size_t equal, not_negative;
  };
  Mark mark() const { return {equal.size(), not_negative.size()}; }
  void restore(Mark m) {
    equal.resize(m.equal);
    not_negative.resize(m.not_negative);
    trust(m);
  }
  void claim(Mark since); // what was learned since then are claims
  void trust(Mark since); // for what runs only where the checks that say it have passed
  SizeFacts sure() const;
};

enum class Compare : uint8_t { Equal, Different, Unknown };

// The atoms of a program. Ids are stable; compound atoms are unique per operands.
class SizeAtoms {
public:
  SizeAtoms() { add({AtomKind::Fresh, "a number that is no i64", {}, false, {}, {}}); } // too_large
  AtomId add(SizeAtom atom);                                                            // Named, Value, Fresh
  AtomId element(size_t n);                                                             // the n-th Element
  const SizeAtom& operator[](AtomId id) const { return atoms_[id.index]; }
  size_t size() const { return atoms_.size(); }

  Size floor_div(const Size& a, const Size& b);
  Size mod(const Size& a, const Size& b) { return a - b * floor_div(a, b); }
  Size positive(const Size& e, const SizeFacts& facts = {});
  Size max(const Size& a, const Size& b, const SizeFacts& facts = {}) {
    if (a.is_constant() && b.is_constant()) return std::max(a.constant(), b.constant());
    return b + positive(a - b, facts);
  }
  Size min(const Size& a, const Size& b, const SizeFacts& facts = {}) {
    if (a.is_constant() && b.is_constant()) return std::min(a.constant(), b.constant());
    return a - positive(a - b, facts);
  }
  Size clip(const Size& e, const Size& lo, const Size& hi, const SizeFacts& facts = {}) {
    return min(max(e, lo, facts), hi, facts);
  }
  Size wrap(const Size& e, const Size& n, const SizeFacts& facts = {});
  Size near_axis(const Size& e, const SizeFacts& facts = {}); // e as a bound of a slice: Near where it may be far off

  // What the i64 arithmetic of the language makes of the numbers a and b; it may wrap.
  Size i64_sum(const Size& a, const Size& b);
  Size i64_product(const Size& a, const Size& b);
  // A size must not have wrapped: what a Modular wraps, else s. Whoever computes it checks that it fits.
  Size unwrapped(const Size& s) const;

  // Is e an i64 for all values of its atoms that the facts allow?
  bool fits(const Size& e, const SizeFacts& facts = {}) const;
  // Does it take a check to compute e: that it fits, or what is compared or divided on the way?
  bool needs_check(const Size& e) const;
  bool computes(const Size& e) const { return fits(e) && !needs_check(e); }
  // e is from `.first` to `.second`, as far as that is seen.
  std::pair<int64_t, int64_t> range_of(const Size& e, const SizeFacts& facts = {}) const;
  void set_range(AtomId value, int64_t least, int64_t most); // of a Value, before it is used

  bool proves_not_negative(const Size& e, const SizeFacts& facts = {});
  // Equal or Different where that holds for all values of the atoms that the facts allow.
  Compare compare(const Size& a, const Size& b, const SizeFacts& facts = {});
  // s with the equalities of the facts put in.
  Size under(const Size& s, const SizeFacts& facts);
  // Replaces atoms by sizes, also inside compound atoms.
  Size substitute(const Size& s, const std::map<AtomId, Size>& by);
  // Computed from no other: Named, Value, Fresh and Element.
  bool is_leaf(AtomId id) const;
  // The leaves among the atoms of s and, through compound ones, of their operands.
  void collect(const Size& s, std::vector<AtomId>& into) const;
  // e as what it adds less what it takes away, both of which fit an i64 if possible: positive(e) is
  // max(added, taken) - taken, and no difference is formed which does not fit where the user's max(a, b), which is
  // b + positive(a - b), does.
  std::pair<Size, Size> parts(const Size& e) const;
  // The value of s where `value_of` gives those of Named, Value and Fresh atoms.
  template <class F> int64_t evaluate(const Size& s, const F& value_of) const;
  // How much was computed for proofs so far: terms of the polynomials that were looked at.
  uint64_t effort() const { return effort_; }

  std::string to_string(const Size& s) const; // in the user's words: "2*n + 1", "min(n, 256)", "n // 2"

private:
  // Bounds of a number, which may be far from an i64.
  struct Interval;
  Interval bounds(const Size& e, const SizeFacts& facts) const;
  Interval bounds(const Size& e, const SizeFacts& facts, int depth) const;
  Interval bounds_of_sum(Size e, const SizeFacts& facts, int depth) const;
  Interval bounds_of(AtomId id, const SizeFacts& facts, int depth) const;

  std::string to_string(const Size& s, int depth) const;
  AtomId compound(AtomKind kind, Size a, Size b);
  Size wrapped_as_i64(const Size& s); // s modulo 2**64
  Size substituted(const Size& s, const std::map<AtomId, Size>& by);
  std::optional<__int128> number(const Size& s, const std::map<AtomId, Size>& by) const; // where all of it is known
  bool is_near(const Size& e, const SizeFacts& facts) const;                             // from -kNear to kNear
  void collect_seen_through(const Size& s, const SizeFacts& facts, std::map<AtomId, Size>& into) const;
  Size with_lower_halves(const Size& s);
  bool not_negative(const Size& e, const SizeFacts& facts, int depth);
  bool atom_not_negative(AtomId id, const SizeFacts& facts, int depth);

  std::vector<SizeAtom> atoms_;
  std::vector<AtomId> elements_;
  int proof_budget_ = 0;
  mutable int bounds_budget_ = 0;
  mutable uint64_t effort_ = 0;
  std::map<std::tuple<AtomKind, Size, Size>, AtomId> compounds_;
};

// floor(a / b) as the language defines it for i64; 0 where b is 0.
inline int64_t floor_div_i64(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

template <class F> int64_t SizeAtoms::evaluate(const Size& s, const F& value_of) const {
  uint64_t sum = 0;
  for (const auto& term : s.terms) {
    auto product = static_cast<uint64_t>(term.coefficient);
    for (AtomId id : term.atoms) {
      const SizeAtom& atom = atoms_[id.index];
      int64_t v = 0;
      switch (atom.kind) {
      case AtomKind::Named:
      case AtomKind::Value:
      case AtomKind::Element:
      case AtomKind::Fresh: v = value_of(id); break;
      case AtomKind::FloorDiv: v = floor_div_i64(evaluate(atom.a, value_of), evaluate(atom.b, value_of)); break;
      case AtomKind::Positive: {
        auto [added, taken] = parts(atom.a);
        int64_t less = evaluate(taken, value_of);
        v = static_cast<int64_t>(static_cast<uint64_t>(std::max(evaluate(added, value_of), less)) -
                                 static_cast<uint64_t>(less));
        break;
      }
      case AtomKind::Wrap: {
        int64_t a = evaluate(atom.a, value_of);
        v = a < 0 ? a + evaluate(atom.b, value_of) : a;
        break;
      }
      case AtomKind::Modular: v = evaluate(atom.a, value_of); break;
      case AtomKind::Near: v = std::clamp(evaluate(atom.a, value_of), -kNear, kNear); break;
      }
      product *= static_cast<uint64_t>(v);
    }
    sum += product;
  }
  return static_cast<int64_t>(sum);
}

} // namespace tl

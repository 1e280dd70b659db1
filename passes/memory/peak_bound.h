// Bounds of sizes that a person can read: polynomials in the names, of few terms. Internal to passes/memory.
//
// They hold where every size is at least 1, which is what lets one term stand for another: n for 1, n*m for n.
#pragma once
#include "abi/kernel.h"
#include "passes/memory/peak_memory.h"
#include <set>

namespace tl::peak {

// How many names a reader meets in it.
size_t length_of(const SizeAtoms& atoms, const Size& size);

class Bounds {
public:
  // What a name stands for: it is one of these. Then that is what counts, where it does not hang on the name itself.
  using StandsFor = std::map<AtomId, std::set<Size>>;
  explicit Bounds(SizeAtoms& atoms, StandsFor stands_for = {}) : atoms_(atoms), stands_for_(std::move(stands_for)) {}

  Size above(const Size& size);
  // Of a formula whose arguments are these sizes. Conditions count as whichever way needs more.
  Size above(const SizeFormula& formula, const std::function<Size(size_t)>& argument);
  // The moments of a peak as few short ones.
  void shorten(PeakMemory::Device& device);

private:
  using Product = std::vector<AtomId>;          // ascending
  using Polynomial = std::map<Product, double>; // no coefficient is 0
  struct Range {
    Polynomial lo, hi;
  };

  struct Choice { // others * max(of, 0)
    AtomId atom;
    Size of, others;
  };

  std::optional<Choice> choice_of(const Size::Term& term) const;
  Range range(const Size& size);
  Range range(AtomId id);
  Range range_of(const SizeAtom& atom);
  Range range_of_leaf(AtomId id);
  Range divided(const Range& a, const Range& b) const;
  Range times(const Range& a, const Range& b) const;
  Range least(const Range& a, const Range& b) const;
  Range most(const Range& a, const Range& b) const;
  double value(const Polynomial& p, double size) const; // at a point where all sizes are about so large
  double weight(const Polynomial& p) const;
  const Polynomial& lower(const Polynomial& a, const Polynomial& b) const;
  void shorten(Polynomial& p) const;
  Size to_size(const Polynomial& p);

  SizeAtoms& atoms_;
  const StandsFor stands_for_;
  std::map<AtomId, Range> ranges_;
  std::set<AtomId> open_; // whose range is being found
  std::set<AtomId> met_;  // those of them that what is being found hangs on
};

} // namespace tl::peak

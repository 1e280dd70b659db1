// The text of sizes, in the user's words.
#include "lang/size.h"
#include "lang/size_terms.h"
#include <fmt/format.h>

namespace tl {

constexpr int kTextDepth = 5; // of compound sizes in messages; deeper parts are shown as …

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

// The text of sizes, in the user's words.
#include "lang/size.h"
#include "lang/size_terms.h"
#include <fmt/format.h>

namespace tl {

constexpr int kTextDepth = 5; // of compound sizes in messages; deeper parts are shown as …

// Is this name of an atom, which may be the text of an expression, a sum or the like, and no single word?
static bool is_compound(std::string_view name) {
  bool quoted = false;
  int depth = 0;
  for (char c : name) {
    if (c == '`') quoted = !quoted;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (!quoted && depth == 0 && std::string_view("+-*/%").find(c) != std::string_view::npos) return true;
  }
  return false;
}

// max(…), min(…)
static bool is_call(std::string_view text) {
  if (!text.starts_with("max(") && !text.starts_with("min(")) return false;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i + 1 == text.size();
  }
  return false;
}

// Is the text of this size one operand, whatever stands around it?
static bool is_one_word(const std::vector<SizeAtom>& atoms, const Size& e) {
  if (e.is_constant()) return e.constant() >= 0;
  const auto id = e.as_atom();
  if (!id) return false;
  const SizeAtom& atom = atoms[id->index];
  if (atom.kind == AtomKind::FloorDiv) return false;
  if (atom.kind == AtomKind::Modular || atom.kind == AtomKind::Near) return is_one_word(atoms, atom.a);
  return !is_compound(atom.name);
}

std::string SizeAtoms::to_string(const Size& s) const { return to_string(s, kTextDepth); }

std::string SizeAtoms::to_string(const Size& s, int depth) const {
  if (depth == 0) return "…";
  auto in_parentheses = [&](const Size& e) {
    const std::string inner = to_string(e, depth - 1);
    return is_one_word(atoms_, e) || is_call(inner) ? inner : "(" + inner + ")";
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
      const bool alone = term.atoms.size() == 1 && magnitude == 1; // no product
      switch (atom.kind) {
      case AtomKind::Named:
      case AtomKind::Value:
      case AtomKind::Element:
      case AtomKind::Fresh:
        factors.push_back(atom.name.empty()                             ? "_"
                          : (!alone || minus) && is_compound(atom.name) ? "(" + atom.name + ")"
                                                                        : atom.name);
        break;
      case AtomKind::FloorDiv: {
        std::string division = fmt::format("{} // {}", in_parentheses(atom.a), in_parentheses(atom.b));
        factors.push_back(alone ? division : "(" + division + ")");
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

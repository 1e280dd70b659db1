// The axes that an index of a comprehension subscripts.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

struct Axis {
  Size size;
  Span span;
  std::string base;
};

// What tells the range of an index. A value whose sizes are known only when it is there is evaluated in `around`.
struct Axes {
  typed::Block& around;
  std::vector<Axis> found{};
  std::vector<const ast::Expr*> held{}; // these values
  bool wrong = false;                   // a value that is subscripted has an error
};

// The names that a pattern binds.
void pattern_names(const ast::Pattern& p, std::set<std::string>& into);
// Does an expression use one of these names, as they are bound around it?
bool mentions(const ast::Expr* e, const std::set<std::string>& names);
// Adds the axes that the index subscripts; bound: names that mean something else inside.
void find_axes(Context& cx, const ast::Block& b, const std::string& index, std::set<std::string>& bound, Axes& out);
void find_axes(Context& cx, const ast::Expr* e, const std::string& index, std::set<std::string>& bound, Axes& out);

} // namespace tl::checker

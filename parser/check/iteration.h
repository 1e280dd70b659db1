// What loops and comprehensions iterate over besides ranges.
#pragma once
#include "parser/check/builtins/rules.h"
#include "parser/check/context.h"

namespace tl::checker {

// Positions 0, 1, … count - 1, and what is at each.
struct Iteration {
  Size count;
  std::function<ExprPtr(const Size& position, Span span)> element; // null: not iterable, reported
  bool is_list = false; // elements come from a list: they are taken one by one
};

// A bar that advances with the iterations of a loop: for … in progress(xs, show = e).
struct Progress {
  bool is_shown = false;
  const ast::Expr* show = nullptr;
};

// a call of enumerate, zip or batches
bool iterates(Context& cx, const ast::Expr* e);
// numbers_together: a list of numbers becomes a tensor first, so that the loop may become a kernel.
Iteration iterate(Context& cx, const ast::Expr* e, typed::Block& before, bool numbers_together = false);
Iteration iterate_value(Context& cx, ExprPtr value, typed::Block& before, bool numbers_together = false);
ExprPtr reduce_list(Context& cx, const ast::Comprehension& c, const std::string& reduction, Span span,
                    const Type* expected);
// enumerate, zip, batches as values
ExprPtr iteration_rule(Context& cx, Rule& r);
ExprPtr list_comprehension(Context& cx, const ast::Comprehension& c, Span span, const Type* expected);
// subscripts for axes that are taken whole
void add_full_axes(typed::Expr& node, size_t count, Span at);
// held by a variable of `before`
Size bound_size(Context& cx, ExprPtr value, const std::string& name, typed::Block& before);

} // namespace tl::checker

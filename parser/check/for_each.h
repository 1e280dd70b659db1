// `for` over what is not a range.
#pragma once
#include "parser/check/context.h"
#include "parser/check/iteration.h"

namespace tl::checker {

// what it goes over; e itself: no such call
const ast::Expr* progress_of(Context& cx, const ast::Expr* e, Progress& bar);
void for_each(Context& cx, const ast::For& s, size_t clause, Span span, Iteration over, const Progress& bar,
              typed::Block& into);

} // namespace tl::checker

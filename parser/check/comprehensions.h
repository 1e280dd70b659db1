// Comprehensions over indices.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr check_comprehension(Context& cx, const ast::Expr& e, const ast::Comprehension& c, const std::string& reduction,
                            Span span, const Type* expected);

} // namespace tl::checker

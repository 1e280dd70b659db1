// Subscripts.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

ExprPtr check_subscript(Context& cx, const ast::Expr& e, const ast::Subscript& s);
// Fills subscripts; result: the shape of the part. Binds and checks go to `node`.
std::optional<std::vector<Size>> subscripts(Context& cx, const Type& base, const std::string& base_text,
                                            const std::vector<ast::SubscriptItem>& items, Span span, typed::Expr& node,
                                            std::vector<typed::Subscript>& out);

} // namespace tl::checker

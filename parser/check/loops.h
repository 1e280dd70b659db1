// `for` and `while`.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

void check_for(Context& cx, const ast::For& s, size_t clause, Span span, typed::Block& into);
void check_while(Context& cx, const ast::While& s, Span span, typed::Block& into);
void check_loop(Context& cx, Span span, typed::Stmt& loop, const std::function<bool(typed::Stmt&)>& body);

} // namespace tl::checker

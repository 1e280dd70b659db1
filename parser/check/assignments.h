// Assignments and their targets.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

void check_assign(Context& cx, const ast::Assign& s, Span span, typed::Block& into);
void check_assign_one(Context& cx, const ast::Assign& s, Span span, typed::Block& into);
std::optional<typed::Place> check_target(Context& cx, const ast::Expr* target, typed::Stmt& s, typed::Block& into);
Type wanted_by(Context& cx, const typed::Place& place, const Type& have);
void set_current(Context& cx, const typed::Place& place, const Type& type);

} // namespace tl::checker

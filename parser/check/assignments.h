// Assignments and their targets.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// A value that `into` binds to a variable, as an expression that names it in the current scope.
ast::Expr* hold(Context& cx, ExprPtr value, typed::Block& into);
// A subscript, held by a variable that `into` binds: so it is evaluated there, once, and what it fails by or leaves by
// happens there. What gives the same at any time stays as it is.
ast::Expr* held_subscript(Context& cx, ast::Expr* e, typed::Block& into);
void check_assign(Context& cx, const ast::Assign& s, Span span, typed::Block& into);
void check_assign_one(Context& cx, const ast::Assign& s, Span span, typed::Block& into);
std::optional<typed::Place> check_target(Context& cx, const ast::Expr* target, typed::Stmt& s, typed::Block& into);
Type wanted_by(Context& cx, const typed::Place& place, const Type& have);
void set_current(Context& cx, const typed::Place& place, const Type& type);

} // namespace tl::checker

// A program in pieces: what a REPL checks.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// Brings what later pieces of a session can refer to from a checker, between two pieces, to one that knows the prelude
// alone.
CheckSession::Renewal renew(Context& from, Context& to);

inline const std::string kLastValue = "_"; // of the expressions that stood alone, at a prompt

// an expression that stands alone is printed
void show_value(Context& cx, const ast::Expr& e, typed::Block& into);
// it is about to mean something else
void note_name(Context& cx, Scope& scope, const std::string& name);

} // namespace tl::checker

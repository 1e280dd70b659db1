// What goes through the parts of values.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// Makes one leaf from the leaves at the same position of several values.
using Leaf = std::function<ExprPtr(const Type&, bool in_state, std::vector<ExprPtr>)>;
using FoldStep = std::function<ExprPtr(ExprPtr, bool in_state, ExprPtr)>;

// a copy of a part of a variable, or of what is simple
ExprPtr copy_part(Context& cx, const typed::Expr& e);
ExprPtr rebuild(Context& cx, std::vector<ExprPtr> values, Span span, const Leaf& leaf, bool in_state = false);
ExprPtr fold_leaves(Context& cx, ExprPtr start, ExprPtr value, typed::Block& before, const FoldStep& step, Span span,
                    bool in_state = false);
// The head of a loop over the elements of lists of one length, which `body` binds.
std::vector<ExprPtr> enter_lists(Context& cx, std::vector<ExprPtr> lists, Span span, typed::Block& before,
                                 typed::Stmt& loop);
// == or != of lists, tuples, structs: one bool
ExprPtr equality(Context& cx, bool equal, ExprPtr a, ExprPtr b, Span span);
typed::Stmt set_variable(Context& cx, VarId var, ExprPtr value, Span span);
typed::Stmt let_variable(VarId var, ExprPtr value, Span span);

} // namespace tl::checker

// Sizes: what they are equal to, what has to be checked when a program runs, broadcasting, joins.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

inline Compare compare(Context& cx, const Size& a, const Size& b) {
  return cx.program.atoms.compare(a, b, cx.function->facts);
}
// by which sizes are computed and checks left out
inline SizeFacts sure_facts(const Context& cx) { return cx.function->facts.sure(); }
// what an i64 expression is where it runs: for what is known of it
std::optional<Size> number_of(Context& cx, const typed::Expr& e);
// the same, where it can be computed as a size
std::optional<Size> size_of(Context& cx, const typed::Expr& e);
// how many of length |by| begin within a distance of at least 0
Size steps_within(Context& cx, const Size& distance, int64_t by);
void add_origins(Context& cx, const Size& a, const Size& b, std::vector<Label>& labels);
SizeCheck size_check(Context& cx, const Size& a, const Size& b, std::string message, Span span);
// Two sizes that have to be equal. Adds a check to `checks` where that cannot be decided; false where they differ.
// implied: by an operation rather than written down, so that two names are two sizes. reads: something is read by it
// that has no check of its own, so a claim is checked again.
bool require_equal(Context& cx, const Size& a, const Size& b, bool implied, const std::string& message, Span span,
                   SizeChecks& checks, bool reads = false);
// a is a size of at least `least`.
void require_size(Context& cx, const Size& a, int64_t least, const std::string& message, Span span, SizeChecks& checks);
// a is no more than `most`: {0} and {1} in the message.
void require_at_most(Context& cx, const Size& a, const Size& most, const char* kind, std::string message, Span span,
                     SizeChecks& checks);
// "n and m are different sizes", "3 is not 4"
std::string different(Context& cx, const Size& a, const Size& b);
// "write `assert n == m` …"
std::string equality_hint(Context& cx, const Size& a, const Size& b);
// May this axis of x be stretched to another size? If what is known says that it has one element, its type says so from
// then on; not where it is as long as `to`.
bool stretches(Context& cx, typed::Expr& x, size_t axis, const Size& to, const std::string& what, Span span,
               SizeChecks& checks);
std::optional<std::vector<Size>> broadcast(Context& cx, const std::vector<typed::Expr*>& operands,
                                           const std::string& what, Span span, SizeChecks& checks,
                                           size_t skip_last_axes = 0);
// e as a value of the written type: unifies element types, compares or checks sizes.
// `written`: the declaration's type, whose names for sizes the messages take.
ExprPtr coerce(Context& cx, ExprPtr e, const Type& target, const std::string& what,
               const ast::TypeExpr* written = nullptr);
Size size_argument(Context& cx, ExprPtr value, typed::Expr& node, bool not_negative, const std::string& what);
// The size that an element of a value is, where that is known: of a list that is written out, a shape, a parameter.
std::optional<Size> element_size(Context& cx, const typed::Expr& value, int64_t index);
// The variables of the elements that the function's sizes are, for the beginning of its body.
std::vector<typed::Stmt> element_variables(Context& cx);
void learn_condition(Context& cx, const typed::Expr& condition, bool holds);
// first <= index < end
void learn_index(Context& cx, const Size& index, const Size& first, const Size& end);
Type fresh_join(Context& cx, const Type& a, const Type& b, std::vector<typed::FreshAtom>& fresh,
                const std::string& what, Span span, std::vector<uint32_t> path = {});
std::vector<typed::Join> join_variables(Context& cx, std::vector<std::map<VarId, Type>> states, Span span);
// A loop that appends `element(position)` for each of `count` positions to a list of this type.
// A new atom for a size, which is not negative.
AtomId size_atom(Context& cx, AtomKind kind, std::string name, Span origin);

} // namespace tl::checker

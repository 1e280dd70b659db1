// Lists: their types, and operations on them.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// A list of such elements: sizes that `varies` says are each element's own become Element atoms.
Type list_of(Context& cx, const Type& element, const std::function<bool(const Size&)>& varies = nullptr);
// One type for values of these two: sizes that differ are each value's own. Of one form already (same_form).
Type either_element(Context& cx, const Type& a, const Type& b);
// same kinds, ranks and, as unified now, element types
bool same_form(Context& cx, const Type& a, const Type& b);
// Is it a size that each element of a list has of its own?
bool has_element_atom(const SizeAtoms& atoms, const Size& size);
bool has_list(const Context& cx, const Type& type);
// for a list where a tensor is wanted
std::string stack_hint(const Context& cx, const Type& type, Span span);
// with lists whose elements are of any sizes
Type any_sizes(Context& cx, const Type& type);
ExprPtr list_node(typed::ListOp op, Span span, Type type);
ExprPtr list_make(Context& cx, std::vector<ExprPtr> elements, Span span, const Type* expected);
ExprPtr list_length(ExprPtr list, Span span);
ExprPtr list_get(Context& cx, ExprPtr list, ExprPtr index, bool in_range, Span span);
ExprPtr list_concat(Context& cx, ExprPtr a, ExprPtr b, Span span);
ExprPtr list_subscript(Context& cx, ExprPtr list, const ast::Subscript& s, Span span);
// one tensor, or null where the elements are no tensors
ExprPtr list_stacked(Context& cx, ExprPtr list, Span span);
ExprPtr list_call(Context& cx, std::vector<Arg> args, Span span, const Type* expected);
// a list's elements, or a tensor's rows, as a tuple, of which there must be so many; another value as it is
ExprPtr taken_apart(Context& cx, ExprPtr value, size_t count, Span span);
// the same for the pattern that takes it, and for the patterns inside it
ExprPtr taken_apart(Context& cx, ExprPtr value, const ast::Pattern& pattern, Span span);
// xs[i] = e; false: not of a list
bool assign_element(Context& cx, const ast::Assign& s, Span span, typed::Block& into);
ExprPtr coerce_list(Context& cx, ExprPtr e, const Type& target, const std::string& what);
// list(f(element) for element in list), of elements of this type
ExprPtr map_list(Context& cx, ExprPtr list, const Type& element, const std::function<ExprPtr(ExprPtr)>& f, Span span);
typed::Stmt append_to(Context& cx, VarId built, const Type& list, ExprPtr element, Span span);
ExprPtr build_list(Context& cx, const Type& list, const Size& count, typed::Block before,
                   const std::function<ExprPtr(ExprPtr)>& element, Span span);
std::vector<ExprPtr> slice_bounds(Context& cx, const ast::SubscriptItem& item, typed::SliceBounds& given);

} // namespace tl::checker

// Functions as values.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

Type function_type(Context& cx, const Static& function);
Static conversion_function(DType type);
inline const Static& function_of(const Context& cx, const Type& type) { return cx.functions.values[type.function]; }
bool has_function(const Context& cx, const Type& type);
bool has_closure(const Context& cx, const Type& type);
bool has_range(const Context& cx, const Type& type);
bool is_closure(const Static& function);
bool returns_function(Context& cx, const ast::TypeExpr* type);
ExprPtr check_lambda(Context& cx, const ast::Expr& e, const ast::Lambda& l);
// The `var`s of the function being checked that a closure names, as values of now: `let`s in `into`.
void keep_values(Context& cx, const std::set<std::string>& names, Span span, typed::Block& into);
Type written_function(Context& cx, const ast::FunctionType& type);
Static under_type(Context& cx, const Static& function, uint32_t written, Span span, bool& ok);
// Function types as written, in `to`, become the functions that `have` holds there.
bool fill_functions(Context& cx, Type& to, const Type& have, Span span);
ExprPtr expand_call(Context& cx, FunctionInfo& info, const Bindings& bindings, std::vector<ExprPtr> args, Span span,
                    typed::Block& before);
ExprPtr call_leaves(Context& cx, bool is_map, std::vector<Arg> args, Span span);
// What computes a function value runs, like the statements by which a lambda keeps variables; the function is known.
void evaluate_function(ExprPtr function, Span span, typed::Block& before);
// the result after the block's statements
ExprPtr in_block(typed::Block block, ExprPtr result, Span span);

} // namespace tl::checker

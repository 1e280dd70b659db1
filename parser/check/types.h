// Types as written, and signatures of functions.
#pragma once
#include "parser/check/dims.h"

namespace tl::checker {

// Does a type parameter stand for a whole type, as M in `m: M` (else for an element type, as T in `x: T[n]`)? It does
// if it has no bound and no axes follow it in the declaration.
bool is_whole(const ast::TypeParam& param, const ast::Struct& decl);
bool is_whole(const ast::TypeParam& param, const ast::Function& decl);

Type type_of(Context& cx, const ast::TypeExpr* type, DimContext& context);
void bind_names(Context& cx, const ast::TypeExpr* type, DimContext& context);
// The declared result, as the body's value is to be: elements of lists have the sizes that they have, where it leaves
// some open.
Type expected_result(Context& cx, const Signature& signature);
// for a result whose sizes have to be written
std::string write_sizes_hint(const Context& cx, const Type& result);
Signature make_signature(Context& cx, FunctionInfo& info, const Bindings& bindings, Span call);
// Is the type of the kind that a type parameter names? Any type is of a kind that has no meaning.
bool is_of_kind(const std::string& bound, DType type);
bool fits_bound(Context& cx, const ast::TypeParam& param, const Type& type, Span span, const std::string& function);

} // namespace tl::checker

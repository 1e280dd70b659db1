// Types as written, and signatures of functions.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// Does a type parameter stand for a whole type, as M in `m: M` (else for an element type, as T in `x: T[n]`)? It does
// if it has no bound and no axes follow it in the declaration.
bool is_whole(const ast::TypeParam& param, const ast::Struct& decl);
bool is_whole(const ast::TypeParam& param, const ast::Function& decl);

enum class DimMode { Lookup, Bind, Annotation, Result };
struct DimContext {
  DimMode mode = DimMode::Lookup;
  std::vector<AtomId>* bound = nullptr;           // Bind: size parameters; Annotation: names to be solved
  std::vector<typed::FreshAtom>* fresh = nullptr; // Result: `_`
  std::vector<uint32_t> path;
  uint32_t axis = 0;
  std::string of;          // parameter's name, for origins
  bool in_struct = false;  // the field of a struct: names are not bound by it
  bool in_wrapper = false; // the result of a function type: names that are not bound are like `_`
  bool in_list = false;    // in the type of a list's elements
};

Type type_of(Context& cx, const ast::TypeExpr* type, DimContext& context);
void bind_names(Context& cx, const ast::TypeExpr* type, DimContext& context);
std::optional<Size> dim_of(Context& cx, const ast::Expr* e, DimContext& context);
Signature make_signature(Context& cx, FunctionInfo& info, const Bindings& bindings, Span call);
bool fits_bound(Context& cx, const ast::TypeParam& param, const Type& type, Span span, const std::string& function);

} // namespace tl::checker

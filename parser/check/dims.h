// Sizes as they are written in types.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

enum class DimMode { Lookup, Bind, Annotation, Result };
struct DimContext {
  DimMode mode = DimMode::Lookup;
  std::vector<AtomId>* bound = nullptr;           // Bind: size parameters; Annotation: names to be solved
  std::vector<typed::FreshAtom>* fresh = nullptr; // Result: `_`
  std::vector<uint32_t> path;
  uint32_t axis = 0;
  std::vector<ast::Ident>* unbound = nullptr; // takes the names of sizes that are none, instead of an error for each
  std::string of;                             // parameter's name, for origins
  bool in_struct = false;                     // the field of a struct: names are not bound by it
  bool in_wrapper = false;                    // the result of a function type: names that are not bound are like `_`
  bool in_list = false;                       // in the type of a list's elements
  bool of_struct = false; // what a struct's type parameter stands for: the struct's fields say where it is used
};

// What `_` stands for there.
std::optional<Size> any_size(Context& cx, Span span, DimContext& context);
std::optional<Size> dim_of(Context& cx, const ast::Expr* e, DimContext& context);

} // namespace tl::checker

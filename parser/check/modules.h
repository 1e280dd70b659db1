// Imported files.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// The name that an import gives to its module.
std::string name_of_module(const ast::Import& import);

// enters the module, with its declarations
void import_names(Context& cx, const ast::Import& import);
// its top-level statements, the first time
void run_import(Context& cx, const ast::Import& import);
Scope* module_scope(Context& cx, const ast::File& file);
// of a name that means a module, else null
Scope* module_of(const Context& cx, const ast::Expr* e);
// null: reported
const Entity* find_in(Context& cx, Scope* module, const ast::Ident& name, const std::string& module_name);
ExprPtr module_name(Context& cx, Scope* module, const ast::Expr& e, const ast::Field& f);
ExprPtr module_call(Context& cx, Scope* module, const ast::Expr& e, const ast::MethodCall& c, const Type* expected);
std::optional<Callable> callable_in(const Context& cx, Scope* module, const std::string& name);
// x.f(…): f of this file's scopes, else of the prelude or one imported module. Null and `reported`: of several.
std::optional<Callable> find_method(Context& cx, const ast::Ident& name, const ast::Expr* receiver, bool& reported);
// "it is `f(x, y)`": how functions of the library are called, for hints; "" of other functions.
std::string library_form(Context& cx, const std::vector<FunctionInfo*>& functions);
// For a call of a value that is no function: what a layer is given to, `nn.linear(x, m)`; "" if it is no struct.
std::string layer_hint(Context& cx, const Type& type, const std::string& argument, const std::string& value);
inline bool is_library(const Context& cx, FileId file) {
  return file == cx.names.prelude_file || (cx.options.imports && cx.options.imports->library.count(file.index));
}

} // namespace tl::checker

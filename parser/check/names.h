// Scopes, look-up of names, messages, variables.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

void report(Context& cx, Diagnostic d);
void error(Context& cx, std::string kind, Span span, std::string message, std::string hint = {},
           std::vector<Label> labels = {});
inline std::string source_text(const Context& cx, Span span) { return std::string(cx.sources.text(span)); }
inline std::string show(Context& cx, const Type& type) { return to_string(cx.open.resolved(type), cx.program.atoms); }
inline std::string show(Context& cx, const Size& size) { return cx.program.atoms.to_string(size); }
inline Label label_of(Context& cx, const typed::Expr& e) { return {e.span, show(cx, e.type)}; }
Scope* push_scope(Context& cx);
void enter(Context& cx, const std::string& name, Entity entity);
// what it means as a value
const Entity* find(const Context& cx, const std::string& name);
// a struct or a type parameter: values may be named like types
const Entity* find_type(const Context& cx, const std::string& name);
inline bool is_prelude_function(const Entity& entity) {
  return entity.kind == Entity::Kind::Function && entity.function->is_prelude;
}
// Before a name is declared in the current scope: may it be? `what`: "const".
bool may_declare(Context& cx, const ast::Ident& name, const std::string& what);
bool may_be_type(Context& cx, const ast::Ident& name);
// What the declaration of this name has entered, at its own line; null where the name is another's (reported).
const Entity* declaration(Context& cx, const ast::Ident& name, Entity::Kind kind);
// The declarations of a built-in function, and their text: "dot<T: num>(a: T[n], b: T[n]) -> T".
const std::vector<const ast::Stmt*>& declared(const Context& cx, Builtin builtin);
std::string signature_of(const Context& cx, Builtin builtin);
std::optional<Callable> find_callable(const Context& cx, const std::string& name, bool skip_values);
std::string did_you_mean(const Context& cx, const std::string& name, bool callable);
void unknown_name(Context& cx, const std::string& name, Span span, bool callable);
// of no function yet
VarId raw_variable(Context& cx, std::string name, Type type, bool is_mutable, Span span);
VarId new_variable(Context& cx, std::string name, Type type, bool is_mutable, Span span);
// gives an immutable i64 an atom
void bind_atom(Context& cx, VarId var, AtomKind kind = AtomKind::Value);
Type current_type(const Context& cx, VarId var);
void capture(Context& cx, VarId var, Span span, const std::string& name);

} // namespace tl::checker

// Scopes, look-up of names, and reports.
#include "parser/check/names.h"
#include "lang/stdlib.h"
#include "lang/suggest.h"
#include "parser/check/foreign_names.h"
#include "parser/check/functions.h"
#include "parser/check/modules.h"
#include "parser/check/session.h"
#include "parser/doc/library.h"
#include <fmt/format.h>

namespace tl::checker {

namespace {
constexpr int kMaxSuggestions = 200; // more than anybody reads, and each asks all names
}

std::string to_string(const Static& value) {
  switch (value.kind) {
  case Static::Kind::Int: return std::to_string(value.number);
  case Static::Kind::Bool: return value.number ? "true" : "false";
  case Static::Kind::String: return fmt::format("{:?}", value.name);
  case Static::Kind::None: return "none";
  case Static::Kind::Element: return std::string(name_of(value.dtype));
  case Static::Kind::Function:
    // Two functions of one name may be meant in different scopes.
    return value.callable.functions.empty() ? value.name
                                            : fmt::format("{}@{}", value.name, value.callable.functions[0]->id);
  case Static::Kind::Tuple: {
    std::vector<std::string> elements;
    for (const Static& element : value.elements)
      elements.push_back(to_string(element));
    return fmt::format("({},)", fmt::join(elements, ","));
  }
  }
  return "";
}

// An error in the body of a generic function belongs to the call that made that instance; one in the prelude is shown
// only there.
void report(Context& cx, Diagnostic d) {
  InstanceId id = cx.function->instance;
  for (int steps = 0; id.valid() && steps < 20; ++steps) {
    const InstanceState& state = cx.instances.states[id.index];
    if (!state.info || !state.info->is_template) break;
    if (d.span.valid() && is_library(cx, d.span.file) && state.call.valid()) {
      d.span = state.call;
      d.labels.clear();
      d.message = fmt::format("in `{}`: {}", state.info->decl->name.text, d.message);
    } else if (state.call.valid() && !is_library(cx, state.call.file)) {
      Label label{state.call, fmt::format("in this call of `{}`", state.info->decl->name.text)};
      if (std::find(d.labels.begin(), d.labels.end(), label) == d.labels.end()) d.labels.push_back(label);
    }
    id = state.caller;
  }
  cx.function->reports.push_back(std::move(d));
}

void error(Context& cx, std::string kind, Span span, std::string message, std::string hint, std::vector<Label> labels) {
  report(cx, {Severity::Error, std::move(kind), on_one_line(message), span, std::move(labels), on_one_line(hint)});
}

Scope* push_scope(Context& cx) {
  cx.names.scopes.push_back({cx.names.scope, cx.function, {}, {}, {}, false, false, {}});
  return cx.names.scope = &cx.names.scopes.back();
}

// A declaration of a file keeps its meaning for the file's functions when a statement binds its name to a value. In a
// session a later piece replaces it.
void enter(Context& cx, const std::string& name, Entity entity) {
  if (name == "_") return;
  if (cx.names.scope->is_file && entity.kind == Entity::Kind::Variable)
    if (auto it = cx.names.scope->names.find(name);
        it != cx.names.scope->names.end() && it->second.span.file == entity.span.file &&
        it->second.kind != Entity::Kind::Variable && it->second.kind != Entity::Kind::Poisoned)
      cx.names.scope->declared.try_emplace(name, it->second);
  if (cx.session.is_active && cx.names.scope->is_file) note_name(cx, *cx.names.scope, name);
  cx.names.scope->names[name] = std::move(entity);
}

const Entity* find(const Context& cx, const std::string& name) {
  bool in_function = false;
  for (const Scope* s = cx.names.scope; s; s = s->parent) {
    in_function = in_function || s->is_function;
    if (const Entity* entity = s->meaning(name, in_function)) return entity;
  }
  return nullptr;
}

const Entity* find_type(const Context& cx, const std::string& name) {
  bool in_function = false;
  for (const Scope* s = cx.names.scope; s; s = s->parent) {
    in_function = in_function || s->is_function;
    const Entity* entity = s->meaning(name, in_function);
    if (entity && (entity->kind == Entity::Kind::Struct || entity->kind == Entity::Kind::TypeParam)) return entity;
    // A statement that binds the name of a struct to a value leaves the type what it is.
    if (auto it = s->declared.find(name); it != s->declared.end() && it->second.kind == Entity::Kind::Struct)
      return &it->second;
  }
  return nullptr;
}

bool may_declare(Context& cx, const ast::Ident& name, const std::string& what) {
  if (name.text == "_") {
    error(cx, "SyntaxError", name.span, fmt::format("`_` cannot be the name of a {}", what));
    return false;
  }
  auto it = cx.names.scope->names.find(name.text);
  if (it == cx.names.scope->names.end()) return true;
  const bool functions = what == "function" && it->second.kind == Entity::Kind::Function;
  error(cx, "DuplicateName", name.span,
        functions ? fmt::format("there are two functions `{}`", name.text)
                  : fmt::format("`{}` is declared twice", name.text),
        "", {{it->second.span, "the first"}});
  return false;
}

// The names of the types that the language has are theirs alone.
bool may_be_type(Context& cx, const ast::Ident& name) {
  if (!dtype_from_name(name.text) && name.text != "List" && name.text != "str" && name.text != "range") return true;
  error(cx, "DuplicateName", name.span, fmt::format("`{}` is a type of the language", name.text),
        "choose another name");
  return false;
}

const Entity* declaration(Context& cx, const ast::Ident& name, Entity::Kind kind) {
  const Entity* entity = find(cx, name.text);
  if (!entity || entity->kind == kind) return entity;
  if (entity->kind == Entity::Kind::Variable)
    error(cx, "DuplicateName", name.span, fmt::format("`{}` is declared twice", name.text),
          "a declaration holds in the whole of its block, also before its line", {{entity->span, "the first"}});
  return nullptr;
}

const std::vector<const ast::Stmt*>& declared(const Context& cx, Builtin builtin) {
  return cx.names.declared_builtins.at(std::string(info(builtin).name));
}

std::string signature_of(const Context& cx, Builtin builtin) {
  const std::string_view name = info(builtin).name;
  std::string all;
  for (const ast::Stmt* function : declared(cx, builtin))
    all += (all.empty() ? "" : ", or ") + std::string(name.substr(0, name.find('.') + 1)) +
           on_one_line(signature_text(source_text(cx, function->span)));
  return all;
}

std::optional<Callable> find_callable(const Context& cx, const std::string& name, bool skip_values) {
  bool in_function = false;
  for (const Scope* s = cx.names.scope; s; s = s->parent) {
    in_function = in_function || s->is_function;
    if (!s->prefix.empty())
      if (auto it = cx.names.builtins.find(s->prefix + name); it != cx.names.builtins.end()) return it->second;
    const Entity* found = s->meaning(name, in_function);
    if (!found) continue;
    const Entity& entity = *found;
    Callable callable;
    if (entity.kind == Entity::Kind::Function) {
      if (s == cx.names.prelude) break; // overloads and builtins of the prelude together
      callable.functions.push_back(entity.function);
      return callable;
    }
    if (entity.kind == Entity::Kind::Struct) {
      callable.structure = entity.structure;
      return callable;
    }
    if (entity.kind == Entity::Kind::Static && entity.value.kind == Static::Kind::Function)
      return entity.value.callable;
    if (entity.kind == Entity::Kind::Variable)
      if (const Type& type = cx.program.variables[entity.var.index].type;
          type.is_function() && type.function && !(type.function & kWritten))
        return function_of(cx, type).callable;
    if (entity.kind == Entity::Kind::Static && entity.value.kind == Static::Kind::Element) {
      callable.conversion = entity.value.dtype;
      return callable;
    }
    if (entity.kind == Entity::Kind::TypeParam) {
      callable.conversion = cx.open.resolved(entity.element).dtype;
      return callable;
    }
    if (!skip_values) return std::nullopt;
  }
  if (auto it = cx.names.builtins.find(name); it != cx.names.builtins.end()) return it->second;
  return std::nullopt;
}

std::string did_you_mean(const Context& cx, const std::string& name, bool callable) {
  if (++cx.names.suggestions > kMaxSuggestions) return {};
  Nearest nearest(name);
  for (const Scope* s = cx.names.scope; s; s = s->parent)
    for (const auto& [candidate, entity] : s->names)
      if ((!callable || entity.kind == Entity::Kind::Function || entity.kind == Entity::Kind::Struct) &&
          (s != cx.names.prelude || !is_inner(candidate)))
        nearest.consider(candidate);
  if (callable)
    for (const auto& [candidate, value] : cx.names.builtins)
      if (!is_inner(candidate)) nearest.consider(candidate);
  return nearest.best();
}

static bool is_module(const std::string& name) {
  const std::vector<EmbeddedFile>& files = embedded_stdlib();
  return std::any_of(files.begin(), files.end(), [&](const EmbeddedFile& file) { return file.name == name + ".tl"; });
}

void unknown_name(Context& cx, const std::string& name, Span span, bool callable) {
  std::string hint;
  if (auto foreign = foreign_hint(name))
    hint = *foreign;
  else if (const std::string module = callable ? module_with(name) : ""; !module.empty() && module != "prelude")
    hint = fmt::format("with `import {0}` it is `{0}.{1}`", module, name);
  else if (std::string other = did_you_mean(cx, name, callable); !other.empty())
    hint = fmt::format("did you mean `{}`?", other);
  if (is_module(name) && (!callable || !foreign_hint(name)))
    hint = fmt::format("it is a module: write `import {0}` at the top of the file{1}", name,
                       callable ? fmt::format(", and call one of its functions: `{}.…`", name) : "");
  error(cx, "UnknownName", span, fmt::format("there is no {} `{}` here", callable ? "function" : "name", name), hint);
}

VarId raw_variable(Context& cx, std::string name, Type type, bool is_mutable, Span span) {
  typed::Variable v;
  v.name = std::move(name);
  v.type = std::move(type);
  v.is_mutable = is_mutable;
  v.span = span;
  cx.program.variables.push_back(std::move(v));
  return {static_cast<uint32_t>(cx.program.variables.size() - 1)};
}

VarId new_variable(Context& cx, std::string name, Type type, bool is_mutable, Span span) {
  VarId id = raw_variable(cx, std::move(name), std::move(type), is_mutable, span);
  cx.function->variables.push_back(id);
  cx.function->own.insert(id.index);
  if (is_mutable) cx.function->current[id] = cx.program.variables[id.index].type;
  return id;
}

void bind_atom(Context& cx, VarId var, AtomKind kind) {
  typed::Variable& v = cx.program.variables[var.index];
  SizeAtom atom;
  atom.kind = kind;
  atom.name = v.name;
  atom.origin = v.span;
  v.atom = cx.program.atoms.add(std::move(atom));
}

Type current_type(const Context& cx, VarId var) {
  const typed::Variable& v = cx.program.variables[var.index];
  if (v.is_mutable)
    for (const FunctionContext* c = cx.function; c; c = c->parent)
      if (auto it = c->current.find(var); it != c->current.end()) return cx.open.resolved(it->second);
  return cx.open.resolved(v.type);
}

// Notes that the function being checked reads a variable of a function, or of the script, around it.
void capture(Context& cx, VarId var, Span span, const std::string& name) {
  if (cx.function->own.count(var.index)) return;
  const FunctionContext* owner = cx.function->parent;
  while (owner && !owner->own.count(var.index))
    owner = owner->parent;
  if (!owner) return; // a parameter of the function whose signature is being made for a call in this one
  if (cx.program.variables[var.index].is_mutable)
    error(cx, "NotCaptured", span, fmt::format("`{}` is a `var` outside this function, which sees only values", name),
          fmt::format("pass it as an argument, or bind its value by `let` first"),
          {{cx.program.variables[var.index].span, "declared here"}});
  if (std::find(cx.function->captures.begin(), cx.function->captures.end(), var) == cx.function->captures.end())
    cx.function->captures.push_back(var);
}

} // namespace tl::checker

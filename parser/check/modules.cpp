// Imported files: their names, their top-level statements, calls through a module's name.
#include "parser/check/modules.h"
#include "lang/suggest.h"
#include "parser/check/arguments.h"
#include "parser/check/calls.h"
#include "parser/check/expressions.h"
#include "parser/check/foreign_names.h"
#include "parser/check/functions.h"
#include "parser/check/names.h"
#include "parser/check/program.h"
#include "parser/check/statements.h"
#include "parser/check/values.h"
#include "parser/doc/library.h"
#include "parser/syntax/names.h"
#include <filesystem>
#include <fmt/format.h>

namespace tl::checker {

std::string library_form(Context& cx, const std::vector<FunctionInfo*>& functions) {
  std::string forms;
  constexpr size_t most = 2;
  size_t count = 0;
  for (size_t k = 0; k < functions.size(); ++k) {
    const ast::Function& decl = *functions[k]->decl;
    if (decl.params.empty() || !is_library(cx, decl.name.span.file)) return "";
    const uint32_t begin = decl.name.span.begin, end = decl.params.back().span.end;
    std::string text;
    int in_types = 0; // of `<T: float>` behind the name
    for (char c : source_text(cx, {decl.name.span.file, begin, end}))
      if (c == '<' && text.find('(') == text.npos)
        ++in_types;
      else if (in_types > 0)
        in_types -= c == '>';
      else if (!(c == '\n' || c == ' ') || (!text.empty() && text.back() != ' ' && text.back() != '('))
        text += c == '\n' ? ' ' : c;
    text = fmt::format("`{})`", text);
    if (forms.find(text) != forms.npos) continue; // for other element types
    if (++count <= most) forms += (count > 1 ? ", " : "") + text;
  }
  if (count > most) forms += ", …";
  return fmt::format("it is {}", forms);
}

std::string layer_hint(Context& cx, const Type& type, const std::string& argument, const std::string& value) {
  auto info = type.is_struct() ? cx.names.struct_of.find(type.record.get()) : cx.names.struct_of.end();
  if (info == cx.names.struct_of.end()) return "";
  std::string name; // BatchNorm: batch_norm
  for (char c : type.record->name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !name.empty() && name.back() >= 'a' && name.back() <= 'z') name += '_';
    name += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  Scope* module = info->second->env;
  if (!module->is_file || !callable_in(cx, module, name))
    return fmt::format("a struct is an argument: `f({}, {})`", value, argument);
  return fmt::format("write `{}{}({}, {})`", module->prefix, name, argument, value);
}

Scope* module_scope(Context& cx, const ast::File& file) {
  auto [it, is_new] = cx.names.modules.try_emplace(&file);
  if (!is_new) return it->second.scope;
  SaveAndRestore saved_scope(cx.names.scope), saved_file(cx.names.file);
  cx.session.new_modules.push_back(&file);
  cx.names.scope = cx.names.prelude;
  Scope* module = push_scope(cx);
  module->is_file = true;
  if (is_library(cx, file.id)) module->prefix = library_module(cx.sources.name(file.id)) + ".";
  it->second.scope = cx.names.file = module;
  hoist_declarations(cx, file.statements);
  return module;
}

std::string name_of_module(const ast::Import& import) {
  if (!import.alias.empty()) return import.alias.text;
  return import.is_file ? std::filesystem::path(import.path).stem().string() : import.path;
}

void import_names(Context& cx, const ast::Import& import) {
  if (!cx.options.imports) {
    error(cx, "ImportNotFound", import.path_span, "imports cannot be read here");
    return;
  }
  auto target = cx.options.imports->targets.find(&import);
  if (target == cx.options.imports->targets.end()) return; // has been reported
  const std::string name = name_of_module(import);
  const bool fits = is_name_text(name) && name != "_";
  Scope* module = module_scope(cx, *target->second);
  if (!fits) {
    error(cx, "SyntaxError", import.path_span, fmt::format("`{}` cannot be the name of a module", name),
          fmt::format("give it one: `import {0}{1}{0} as name`", import.is_file ? "\"" : "", import.path));
    return;
  }
  Entity entity;
  entity.kind = Entity::Kind::Module;
  entity.module = module;
  entity.span = import.alias.empty() ? import.path_span : import.alias.span;
  if (auto it = cx.names.scope->names.find(name); it != cx.names.scope->names.end() && it->second.module != module)
    error(cx, "DuplicateName", entity.span, fmt::format("`{}` is declared twice", name),
          "give the module another name: `import … as other`", {{it->second.span, "the first"}});
  enter(cx, name, entity);
  cx.names.scope->modules.insert(name);
}

void run_import(Context& cx, const ast::Import& import) {
  if (!cx.options.imports) return;
  auto target = cx.options.imports->targets.find(&import);
  if (target == cx.options.imports->targets.end()) return;
  Module& module = cx.names.modules.at(target->second);
  if (module.has_run) return;
  module.has_run = true;
  cx.session.run_modules.push_back(target->second);
  SaveAndRestore scope(cx.names.scope), file(cx.names.file);
  cx.names.scope = cx.names.file = module.scope;
  check_top_level(cx, *target->second);
}

Scope* module_of(const Context& cx, const ast::Expr* e) {
  auto* name = ast::as<ast::Name>(e);
  const Entity* entity = name ? find(cx, name->name) : nullptr;
  return entity && entity->kind == Entity::Kind::Module ? entity->module : nullptr;
}

std::optional<Callable> callable_in(const Context& cx, Scope* module, const std::string& name) {
  if (!module->prefix.empty() || module == cx.names.prelude) // overloads together
    if (auto it = cx.names.builtins.find(module->prefix + name); it != cx.names.builtins.end()) return it->second;
  auto it = module->names.find(name);
  Callable callable;
  if (it != module->names.end() && it->second.kind == Entity::Kind::Function) {
    callable.functions.push_back(it->second.function);
    return callable;
  }
  if (it != module->names.end() && it->second.kind == Entity::Kind::Struct) {
    callable.structure = it->second.structure;
    return callable;
  }
  return std::nullopt;
}

const Entity* find_in(Context& cx, Scope* module, const ast::Ident& name, const std::string& module_name) {
  auto it = module->names.find(name.text);
  if (it != module->names.end() && it->second.kind != Entity::Kind::Module) return &it->second;
  std::string best, begun, longer;
  size_t best_distance = 3;
  for (const auto& [candidate, entity] : module->names) {
    if (entity.kind == Entity::Kind::Module || is_inner(module->prefix + candidate)) continue;
    if (size_t distance = edit_distance(name.text, candidate); distance < best_distance && distance < candidate.size())
      best = candidate, best_distance = distance;
    if (candidate.size() > 2 && name.text.starts_with(candidate)) begun = candidate; // `inv` for `invert`
    if (name.text.size() > 2 && candidate.starts_with(name.text) &&
        (longer.empty() || candidate.size() < longer.size()))
      longer = candidate; // `Linear` for `Lin`
  }
  std::string hint = member_hint(name.text).value_or("");
  if (cx.names.builtins.count(name.text)) { // a function of the prelude; a module may have one that is called nearly so
    std::string own;                        // the first by name
    for (const auto& [candidate, entity] : module->names)
      if (entity.kind != Entity::Kind::Module && candidate.ends_with("_" + name.text) &&
          (own.empty() || candidate < own))
        own = candidate;
    hint = fmt::format("it is a function of the prelude, without a prefix: `{}(…)`", name.text);
    if (!own.empty()) hint += fmt::format("; this module has `{}.{}`", module_name, own);
    error(cx, "UnknownName", name.span, fmt::format("the module `{}` has no `{}`", module_name, name.text), hint);
    return nullptr;
  }
  if (!longer.empty() && best_distance > 1) best = longer;
  if (best.empty() && hint.find(module_name + ".") == hint.npos) best = begun;
  const bool is_foreign = foreign_hint(name.text) && best_distance > 1; // its own hint says more than a guess
  if (!best.empty() && !is_foreign) hint = fmt::format("did you mean `{}.{}`?", module_name, best);
  error(cx, "UnknownName", name.span, fmt::format("the module `{}` has no `{}`", module_name, name.text), hint);
  return nullptr;
}

// util.name as a value: what the name means in that file.
ExprPtr module_name(Context& cx, Scope* module, const ast::Expr& e, const ast::Field& f) {
  const Entity* entity = find_in(cx, module, f.name, source_text(cx, f.object->span));
  if (!entity) return broken(e.span);
  if (entity->kind == Entity::Kind::Variable && cx.program.variables[entity->var.index].is_mutable &&
      cx.function->is_top_level)
    return variable_value(cx, entity->var, e.span);
  if (callable_in(cx, module, f.name.text))
    return make_expr(typed::UnitExpr{}, e.span, function_type(cx, *static_of(cx, &e)));
  SaveAndRestore scope(cx.names.scope, module);
  ExprPtr result = check_name(cx, e, f.name.text);
  return result;
}

ExprPtr module_call(Context& cx, Scope* module, const ast::Expr& e, const ast::MethodCall& c, const Type* expected) {
  std::vector<Arg> args;
  for (const ast::Argument& argument : c.arguments)
    args.push_back(
        {argument.name.text, argument.value, argument.value->span, argument.name.span, nullptr, std::nullopt});
  auto callable = callable_in(cx, module, c.name.text);
  // In the library, where a module hides a function of the prelude by its own, another module leads to it: nn.pad.
  const Scope* file = cx.names.scope;
  while (file && !file->is_file)
    file = file->parent;
  const bool in_library = file && !file->prefix.empty() && !module->prefix.empty();
  if (auto it = cx.names.builtins.find(c.name.text); !callable && in_library && it != cx.names.builtins.end())
    callable = it->second;
  if (!callable) {
    const Entity* entity = find_in(cx, module, c.name, source_text(cx, c.receiver->span));
    if (entity && entity->kind != Entity::Kind::Poisoned)
      error(cx, "NotCallable", c.name.span,
            fmt::format("`{}.{}` is not a function", source_text(cx, c.receiver->span), c.name.text));
    for (Arg& arg : args)
      check_arg(cx, arg);
    return broken(e.span);
  }
  return call_named(cx, *callable, c.name.text, c.name.span, std::move(args), e.span, false, expected);
}

// The function of this name in the module that declares the receiver's struct.
static std::optional<Callable> method_of_record(Context& cx, const ast::Expr* receiver, const std::string& name) {
  Snapshot now = snapshot(cx);
  Type type = cx.open.resolved(check_expr(cx, receiver)->type);
  rollback(cx, now);
  auto info = type.is_struct() ? cx.names.struct_of.find(type.record.get()) : cx.names.struct_of.end();
  return info == cx.names.struct_of.end() || !info->second->env->is_file ? std::nullopt
                                                                         : callable_in(cx, info->second->env, name);
}

std::optional<Callable> find_method(Context& cx, const ast::Ident& name, const ast::Expr* receiver, bool& reported) {
  const Scope* file = cx.names.scope;
  for (; file && !file->is_file; file = file->parent) {
  }
  // Functions of this file, and what holds functions around here, come first.
  bool in_function = false;
  for (const Scope* s = cx.names.scope; s && s != cx.names.prelude; s = s->parent) {
    in_function = in_function || s->is_function;
    const Entity* found = s->meaning(name.text, in_function);
    if (!found) continue;
    const Entity& entity = *found;
    bool calls = entity.kind == Entity::Kind::Function || entity.kind == Entity::Kind::Static ||
                 entity.kind == Entity::Kind::TypeParam;
    if (calls) return find_callable(cx, name.text, true);
  }
  auto callable = find_callable(cx, name.text, true);
  std::string from = "the prelude";
  if (!file) return callable;
  for (const std::string& module : file->modules) {
    auto it = file->names.find(module);
    if (it == file->names.end() || it->second.kind != Entity::Kind::Module) continue;
    auto other = callable_in(cx, it->second.module, name.text);
    if (!other) continue;
    if (callable) {
      if (auto own = method_of_record(cx, receiver, name.text)) return own;
      error(cx, "AmbiguousName", name.span,
            fmt::format("`{}` is a function of {} and of `{}`", name.text, from, module),
            fmt::format("say which: `{}.{}(…)`", module, name.text));
      reported = true;
      return std::nullopt;
    }
    callable = std::move(other);
    from = fmt::format("`{}`", module);
  }
  return callable;
}

} // namespace tl::checker

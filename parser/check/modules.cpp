// Imported files: their names, their top-level statements, calls through a module's name.
#include "lang/suggest.h"
#include "parser/check/context.h"
#include <filesystem>
#include <fmt/format.h>

namespace tl::checker {

Scope* Checker::module_scope(const ast::File& file) {
  auto [it, is_new] = modules_.try_emplace(&file);
  if (!is_new) return it->second.scope;
  Scope *saved_scope = scope_, *saved_file = file_;
  new_modules_.push_back(&file);
  scope_ = prelude_;
  Scope* module = push_scope();
  module->is_file = true;
  if (is_library(file.id)) module->prefix = library_module(sources_.name(file.id)) + ".";
  it->second.scope = file_ = module;
  hoist(file.statements);
  scope_ = saved_scope;
  file_ = saved_file;
  return module;
}

std::string name_of_module(const ast::Import& import) {
  if (!import.alias.empty()) return import.alias.text;
  return import.is_file ? std::filesystem::path(import.path).stem().string() : import.path;
}

void Checker::import_names(const ast::Import& import) {
  if (!options_.imports) {
    error("ImportNotFound", import.path_span, "imports cannot be read here");
    return;
  }
  auto target = options_.imports->targets.find(&import);
  if (target == options_.imports->targets.end()) return; // has been reported
  const std::string name = name_of_module(import);
  bool fits = !name.empty() && name != "_" && (std::isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_');
  for (char c : name)
    fits = fits && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
  Scope* module = module_scope(*target->second);
  if (!fits) {
    error("SyntaxError", import.path_span, fmt::format("`{}` cannot be the name of a module", name),
          fmt::format("give it one: `import {0}{1}{0} as name`", import.is_file ? "\"" : "", import.path));
    return;
  }
  Entity entity;
  entity.kind = Entity::Kind::Module;
  entity.module = module;
  entity.span = import.alias.empty() ? import.path_span : import.alias.span;
  if (auto it = scope_->names.find(name); it != scope_->names.end() && it->second.module != module)
    error("DuplicateName", entity.span, fmt::format("`{}` is declared twice", name),
          "give the module another name: `import … as other`", {{it->second.span, "the first"}});
  enter(name, entity);
  scope_->modules.insert(name);
}

void Checker::run_import(const ast::Import& import) {
  if (!options_.imports) return;
  auto target = options_.imports->targets.find(&import);
  if (target == options_.imports->targets.end()) return;
  Module& module = modules_.at(target->second);
  if (module.has_run) return;
  module.has_run = true;
  run_modules_.push_back(target->second);
  Scope *saved_scope = scope_, *saved_file = file_;
  scope_ = file_ = module.scope;
  check_top_level(*target->second);
  scope_ = saved_scope;
  file_ = saved_file;
}

Scope* Checker::module_of(const ast::Expr* e) const {
  auto* name = ast::as<ast::Name>(e);
  const Entity* entity = name ? find(name->name) : nullptr;
  return entity && entity->kind == Entity::Kind::Module ? entity->module : nullptr;
}

std::optional<Callable> Checker::callable_in(Scope* module, const std::string& name) const {
  if (!module->prefix.empty())
    if (auto it = builtins_.find(module->prefix + name); it != builtins_.end()) return it->second;
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

const Entity* Checker::find_in(Scope* module, const ast::Ident& name, const std::string& module_name) {
  auto it = module->names.find(name.text);
  if (it != module->names.end() && it->second.kind != Entity::Kind::Module) return &it->second;
  std::string best;
  size_t best_distance = 3;
  for (const auto& [candidate, entity] : module->names)
    if (size_t distance = edit_distance(name.text, candidate);
        distance < best_distance && distance < candidate.size() && entity.kind != Entity::Kind::Module)
      best = candidate, best_distance = distance;
  error("UnknownName", name.span, fmt::format("the module `{}` has no `{}`", module_name, name.text),
        best.empty() ? "" : fmt::format("did you mean `{}.{}`?", module_name, best));
  return nullptr;
}

// util.name as a value: what the name means in that file.
ExprPtr Checker::module_name(Scope* module, const ast::Expr& e, const ast::Field& f) {
  const Entity* entity = find_in(module, f.name, text(f.object->span));
  if (!entity) return broken(e.span);
  if (entity->kind == Entity::Kind::Variable && p_.variables[entity->var.index].is_mutable && ctx_->is_top_level)
    return variable(entity->var, e.span);
  if (callable_in(module, f.name.text)) return make(ExprKind::Unit, e.span, function_type(*static_of(&e)));
  Scope* saved = scope_;
  scope_ = module;
  ExprPtr result = name(e, f.name.text);
  scope_ = saved;
  return result;
}

ExprPtr Checker::module_call(Scope* module, const ast::Expr& e, const ast::MethodCall& c, const Type* expected) {
  std::vector<Arg> args;
  for (const ast::Argument& argument : c.arguments)
    args.push_back(
        {argument.name.text, argument.value, argument.value->span, argument.name.span, nullptr, std::nullopt});
  auto callable = callable_in(module, c.name.text);
  // The library's modules also lead to what the prelude has of theirs: data.load.
  bool is_std = std::any_of(modules_.begin(), modules_.end(),
                            [&](const auto& m) { return m.second.scope == module && is_library(m.first->id); });
  if (auto it = builtins_.find(c.name.text); !callable && is_std && it != builtins_.end()) callable = it->second;
  if (!callable) {
    const Entity* entity = find_in(module, c.name, text(c.receiver->span));
    if (entity && entity->kind != Entity::Kind::Poisoned)
      error("NotCallable", c.name.span, fmt::format("`{}.{}` is not a function", text(c.receiver->span), c.name.text));
    for (Arg& arg : args)
      check_arg(arg);
    return broken(e.span);
  }
  return call_named(*callable, c.name.text, c.name.span, std::move(args), e.span, false, expected);
}

// The function of this name in the module that declares the receiver's struct.
std::optional<Callable> Checker::method_of_record(const ast::Expr* receiver, const std::string& name) {
  Snapshot now = snapshot();
  Type type = resolved(expr(receiver)->type);
  rollback(now);
  auto info = type.is_struct() ? struct_of_.find(type.record.get()) : struct_of_.end();
  return info == struct_of_.end() || !info->second->env->is_file ? std::nullopt : callable_in(info->second->env, name);
}

std::optional<Callable> Checker::find_method(const ast::Ident& name, const ast::Expr* receiver, bool& reported) {
  const Scope* file = scope_;
  for (; file && !file->is_file; file = file->parent) {
  }
  // Functions of this file, and what holds functions around here, come first.
  bool in_function = false;
  for (const Scope* s = scope_; s && s != prelude_; s = s->parent) {
    in_function = in_function || s->is_function;
    const Entity* found = s->meaning(name.text, in_function);
    if (!found) continue;
    const Entity& entity = *found;
    bool calls = entity.kind == Entity::Kind::Function || entity.kind == Entity::Kind::Static ||
                 entity.kind == Entity::Kind::TypeParam;
    if (calls) return find_callable(name.text, true);
  }
  auto callable = find_callable(name.text, true);
  std::string from = "the prelude";
  if (!file) return callable;
  for (const std::string& module : file->modules) {
    auto it = file->names.find(module);
    if (it == file->names.end() || it->second.kind != Entity::Kind::Module) continue;
    auto other = callable_in(it->second.module, name.text);
    if (!other) continue;
    if (callable) {
      if (auto own = method_of_record(receiver, name.text)) return own;
      error("AmbiguousName", name.span, fmt::format("`{}` is a function of {} and of `{}`", name.text, from, module),
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

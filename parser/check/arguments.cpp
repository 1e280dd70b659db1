// Arguments of calls: checked, put in the order of the parameters, what they say about generic parts, defaults.
#include "parser/check/arguments.h"
#include "lang/suggest.h"
#include "parser/check/calls.h"
#include "parser/check/expressions.h"
#include "parser/check/foreign_names.h"
#include "parser/check/functions.h"
#include "parser/check/lists.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/structs.h"
#include "parser/check/types.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

void check_arg(Context& cx, Arg& arg, const Type* expected) {
  if (arg.value) return;
  auto has_no_value = [&] {
    return arg.constant && (arg.constant->kind == Static::Kind::None || arg.constant->kind == Static::Kind::Element ||
                            arg.constant->kind == Static::Kind::Function);
  };
  if (has_no_value() || !arg.source) return;
  if (!arg.constant) arg.constant = static_of(cx, arg.source);
  if (!has_no_value()) arg.value = check_value(cx, arg.source, expected);
}

ExprPtr take(Context& cx, Arg& arg, const Type* expected) {
  return arg.value ? std::move(arg.value) : check_value(cx, arg.source, expected);
}

namespace {
// Its evaluation changes nothing and prints nothing.
bool is_quiet(const ast::Expr* e) {
  if (!e) return true;
  auto all = [](const std::vector<ast::Expr*>& parts) { return std::all_of(parts.begin(), parts.end(), is_quiet); };
  if (auto* tuple = ast::as<ast::Tuple>(e)) return all(tuple->elements);
  if (auto* list = ast::as<ast::ListLiteral>(e)) return all(list->elements);
  if (auto* unary = ast::as<ast::Unary>(e)) return is_quiet(unary->operand);
  if (auto* binary = ast::as<ast::Binary>(e)) return is_quiet(binary->left) && is_quiet(binary->right);
  if (auto* field = ast::as<ast::Field>(e)) return is_quiet(field->object);
  return ast::as<ast::IntLiteral>(e) || ast::as<ast::FloatLiteral>(e) || ast::as<ast::BoolLiteral>(e) ||
         ast::as<ast::NoneLiteral>(e) || ast::as<ast::Name>(e) || ast::as<ast::Lambda>(e);
}
} // namespace

// Arguments are evaluated as they are written. Where that is not the order of what they are for (`names`), and one may
// change or print what another one does, they are evaluated in `before`.
void evaluate_as_written(Context& cx, const std::vector<std::string>& names, std::vector<Arg>& args,
                         typed::Block& before) {
  bool in_order = true, quiet = true;
  size_t place = 0; // of the last parameter that got its argument: in order, the next one is found from there on
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].name.empty()) {
      place = i;
    } else {
      while (in_order && place < names.size() && names[place] != args[i].name)
        ++place;
      in_order = in_order && place < names.size();
    }
    quiet = quiet && (args[i].value || is_quiet(args[i].source));
  }
  if (in_order || quiet) return;
  for (Arg& arg : args) {
    if (arg.value) continue;
    check_arg(cx, arg);
    if (!arg.value || arg.constant || refresh(cx, *arg.value).is_error() || has_function(cx, arg.value->type)) continue;
    const std::optional<Size> size = number_of(cx, *arg.value);
    arg.value = kept(cx, std::move(arg.value), before);
    if (const auto* variable = arg.value->get_if<typed::VariableExpr>(); variable && size)
      cx.sizes.known.emplace(variable->var, *size);
  }
}

void no_parameter(Context& cx, const std::string& name, const Arg& arg, const std::vector<FunctionInfo*>& functions) {
  std::vector<std::string> names;
  Nearest nearest(arg.name);
  for (const FunctionInfo* function : functions)
    for (const ast::Param& p : function->decl->params) {
      names.push_back(p.name.text);
      nearest.consider(p.name.text);
    }
  std::string hint;
  if (const std::string own = own_parameter(arg.name, names); !own.empty())
    hint = fmt::format("write `{} = `", own);
  else if (const std::string form = foreign_form(name, arg.name); !form.empty())
    hint = form;
  else if (!nearest.best().empty())
    hint = fmt::format("did you mean `{} = `?", nearest.best());
  else
    hint = library_form(cx, functions);
  error(cx, "WrongArguments", arg.name_span, fmt::format("`{}` has no parameter `{}`", name, arg.name), hint);
}

// Arguments by parameter; null: the default.
std::vector<Arg*> arrange(Context& cx, FunctionInfo& info, std::vector<Arg>& args, Span span, bool& ok) {
  const auto& params = info.decl->params;
  const std::string& name = info.decl->name.text;
  std::vector<Arg*> result(params.size(), nullptr);
  size_t index = 0;
  for (Arg& arg : args) {
    if (arg.name.empty()) {
      if (index >= params.size()) {
        error(cx, "WrongArguments", arg.span,
              fmt::format("`{}` takes {} argument{}, not {}", name, params.size(), params.size() == 1 ? "" : "s",
                          args.size()),
              "", {{info.is_prelude ? span : info.decl->name.span, info.is_prelude ? "" : "declared here"}});
        ok = false;
        break;
      }
      result[index++] = &arg;
      continue;
    }
    size_t found = params.size();
    for (size_t i = 0; i < params.size(); ++i)
      if (params[i].name.text == arg.name) found = i;
    if (found == params.size()) {
      no_parameter(cx, name, arg, {&info});
      ok = false;
      continue;
    }
    if (result[found]) {
      std::string hint;
      if (result[found]->name.empty() && result[found]->source)
        hint = fmt::format("by its place `{}` is `{}`, too", source_text(cx, result[found]->source->span), arg.name);
      if (info.is_prelude && name == "norm" && arg.name == "axis")
        hint += "; a norm by its order is `norm(x, ord = …)`";
      error(cx, "WrongArguments", arg.name_span, fmt::format("`{}` is given twice", arg.name), hint);
      ok = false;
      continue;
    }
    result[found] = &arg;
  }
  if (ok)
    for (size_t i = 0; i < params.size(); ++i)
      if (!result[i] && !params[i].default_value) {
        const std::string form = library_form(cx, {&info});
        error(cx, "WrongArguments", span, fmt::format("`{}` needs an argument for `{}`", name, params[i].name.text),
              form, form.empty() ? std::vector<Label>{{params[i].span, "this parameter"}} : std::vector<Label>{});
        ok = false;
      }
  return result;
}

// Learns type parameters and ranks of ..s from one argument.
bool infer_type(Context& cx, const ast::TypeExpr* type, const Type& actual, FunctionInfo& info, Bindings& bindings,
                const Arg& arg, const std::string& param) {
  if (actual.is_error()) return false;
  if (auto* tuple = ast::as<ast::TupleType>(type)) {
    if (!actual.is_tuple() || actual.elements.size() != tuple->elements.size()) return true; // coerce says it
    for (size_t i = 0; i < tuple->elements.size(); ++i)
      if (!infer_type(cx, tuple->elements[i], actual.elements[i], info, bindings, arg, param)) return false;
    return true;
  }
  auto* named = ast::as<ast::NamedType>(type);
  if (!named) return true;
  if (named->name.text == "List" && named->arguments.size() == 1) {
    if (!actual.is_list() || actual.elements.empty()) return true; // coerce says it
    return infer_type(cx, named->arguments[0], actual.elements[0], info, bindings, arg, param);
  }
  const ast::TypeParam* type_param = nullptr;
  for (const ast::TypeParam& p : info.decl->type_params)
    if (p.name.text == named->name.text) type_param = &p;
  if (!named->arguments.empty() && actual.is_struct()) {
    for (size_t i = 0; i < named->arguments.size() && i < actual.record->types.size(); ++i) {
      const auto& place = actual.record->types[i];
      const Type* part = place ? part_of(actual, place->path) : nullptr;
      if (!part) continue;
      Type inferred = place->is_whole ? *part : cx.open.element_of(*part);
      if (!infer_type(cx, named->arguments[i], inferred, info, bindings, arg, param)) return false;
    }
    return true;
  }
  if (type_param && type_param->default_type && cx.open.resolved(actual).open &&
      !bindings.types.count(named->name.text)) {
    DimContext context; // what a literal is where nothing else says it
    SaveAndRestore scope(cx.names.scope, info.env);
    (void)cx.open.unify(actual, type_of(cx, type_param->default_type, context));
  }
  // A literal is of the type that is written for it, before a later default looks at it.
  if (auto written = dtype_from_name(named->name.text); written && !type_param && cx.open.resolved(actual).open)
    (void)cx.open.unify(actual, Type::scalar(*written));
  if (type_param && is_whole(*type_param, *info.decl)) {
    auto [it, is_new] = bindings.types.try_emplace(named->name.text, actual);
    if (is_new) return fits_bound(cx, *type_param, actual, arg.span, info.decl->name.text);
    if (same_form(cx, it->second, actual)) return true;
    error(cx, "TypeMismatch", arg.span,
          fmt::format("`{}` takes one type {}, but here are {} and {}", info.decl->name.text, named->name.text,
                      show(cx, it->second), show(cx, actual)));
    return false;
  }
  if (type_param && !actual.is_tensor()) {
    const bool has_texts = actual.is_list() && !actual.elements.empty() && actual.elements[0].is_str();
    const std::string form = foreign_form(info.decl->name.text);
    error(cx, "TypeMismatch", arg.span,
          fmt::format("`{}` of `{}` takes a tensor, not {}", param, info.decl->name.text, show(cx, actual)),
          has_texts && form.size() ? form : stack_hint(cx, actual, arg.span));
    return false;
  }
  if (type_param) {
    auto [it, is_new] = bindings.types.try_emplace(named->name.text, cx.open.element_of(actual));
    if (is_new) {
      if (!fits_bound(cx, *type_param, actual, arg.span, info.decl->name.text)) return false;
    } else if (!cx.open.unify(it->second, actual)) {
      error(cx, "MixedTypes", arg.span,
            fmt::format("`{}` takes one element type {}, but here are {} and {}", info.decl->name.text,
                        named->name.text, show(cx, it->second), name_of(cx.open.resolved(actual).dtype)),
            fmt::format("write `{}({})`", show(cx, it->second), source_text(cx, arg.span)),
            {{arg.span, show(cx, actual)}});
      return false;
    }
  }
  size_t plain = 0;
  const ast::Spread* spread = nullptr;
  for (const ast::Expr* dim : named->dims) {
    if (auto* s = ast::as<ast::Spread>(dim))
      spread = s;
    else
      ++plain;
  }
  if (!spread || !actual.is_tensor()) return true;
  if (actual.rank() < plain) {
    error(cx, "TypeMismatch", arg.span,
          fmt::format("`{}` of `{}` needs at least {} ax{}, and this is {}", param, info.decl->name.text, plain,
                      plain == 1 ? "is" : "es", show(cx, actual)));
    return false;
  }
  auto [it, is_new] = bindings.ranks.try_emplace(spread->name.text, actual.rank() - plain);
  if (!is_new && it->second != actual.rank() - plain) {
    error(cx, "TypeMismatch", arg.span,
          fmt::format("`..{}` of `{}` has {} ax{}, but {} in `{}`", spread->name.text, info.decl->name.text, it->second,
                      it->second == 1 ? "is" : "es", actual.rank() - plain, source_text(cx, arg.span)),
          "", {{arg.span, show(cx, actual)}});
    return false;
  }
  return true;
}

// What a parameter's argument is expected to be where that is a list, or a tuple with one, so that `[1, 2]` makes one.
// Nothing if the type depends on the other arguments.
std::optional<Type> list_type(Context& cx, const ast::TypeExpr* written, Scope* scope) {
  if (auto* tuple = ast::as<ast::TupleType>(written)) {
    Type result = Type::tuple({});
    bool any = false;
    for (const ast::TypeExpr* element : tuple->elements) {
      const std::optional<Type> list = list_type(cx, element, scope);
      any = any || list;
      result.elements.push_back(list.value_or(Type::error())); // of the others nothing is expected
    }
    return any ? std::optional(result) : std::nullopt;
  }
  auto* named = ast::as<ast::NamedType>(written);
  if (!named || named->name.text != "List") return std::nullopt;
  SaveAndRestore current(cx.names.scope, scope);
  push_scope(cx);
  DimContext context;
  std::vector<AtomId> bound;
  context.mode = DimMode::Bind;
  context.bound = &bound;
  const size_t errors = cx.function->reports.size();
  Type type = type_of(cx, written, context);
  cx.function->reports.resize(errors);                                      // said where the function is checked
  if (type.is_error() || !bound.empty()) return Type::make(TypeKind::List); // its elements tell what they are
  return type;
}

namespace {

// An earlier parameter as defaults see it: as it is given at this call.
std::optional<Entity> given_param(Context& cx, const ast::Param& param, Arg& arg, typed::Block& before) {
  Entity entity;
  entity.span = param.name.span;
  if (!arg.value) {
    if (!arg.constant) return std::nullopt;
    entity.kind = Entity::Kind::Static;
    entity.value = *arg.constant;
    return entity;
  }
  if (arg.value->type.is_error()) return std::nullopt;
  const auto* variable = arg.value->get_if<typed::VariableExpr>();
  if (!variable || cx.program.variables[variable->var.index].is_mutable) {
    Type type = refresh(cx, *arg.value);
    auto size = size_of(cx, *arg.value);
    VarId var = new_variable(cx, param.name.text, type, false, arg.span);
    if (size)
      cx.sizes.known[var] = *size;
    else if (type.is_scalar() && type.dtype == DType::I64)
      bind_atom(cx, var);
    typed::Stmt let;
    let.kind = StmtKind::Let;
    let.span = arg.span;
    let.pattern.var = var;
    let.value = std::move(arg.value);
    before.statements.push_back(std::move(let));
    arg.value = variable_value(cx, var, arg.span);
  }
  entity.kind = Entity::Kind::Variable;
  entity.var = arg.value->as<typed::VariableExpr>().var;
  return entity;
}

void add_params(Context& cx, const FunctionInfo& info, size_t end, std::vector<Arg*>& args, DefaultNames& known,
                typed::Block& before) {
  auto& names = known.scope->names;
  for (; known.params < end; ++known.params) {
    Arg* arg = args[known.params];
    if (!arg) continue;
    const ast::Param& param = info.decl->params[known.params];
    std::optional<Entity> entity = given_param(cx, param, *arg, before);
    if (!entity) continue;
    // Sizes that this parameter names.
    if (auto* named = ast::as<ast::NamedType>(param.type);
        named && arg->value && named->dims.size() == arg->value->type.rank())
      for (size_t k = 0; k < named->dims.size(); ++k)
        if (auto* name = ast::as<ast::Name>(named->dims[k])) {
          Entity size;
          size.kind = Entity::Kind::SizeName;
          size.size = arg->value->type.shape[k];
          names.try_emplace(name->name, size);
        }
    names[param.name.text] = *std::move(entity);
  }
}

} // namespace

// A default is checked at the call, among the names of the function, with the earlier parameters as they are given
// here.
ExprPtr default_value(Context& cx, FunctionInfo& info, size_t param, std::vector<Arg*>& args, const Bindings& bindings,
                      DefaultNames& known, typed::Block& before) {
  const ast::Param& declared = info.decl->params[param];
  const auto [in_use, is_new] = cx.functions.defaults_in_use.insert(declared.default_value);
  if (!is_new) {
    error(cx, "InstantiationDepth", declared.default_value->span,
          fmt::format("the default of `{}` is defined by itself", declared.name.text));
    return broken(declared.default_value->span);
  }
  SaveAndRestore scope(cx.names.scope, info.env);
  if (!known.scope) {
    known.scope = push_scope(cx);
    known.scope->is_function = true;
  }
  cx.names.scope = known.scope;
  for (const auto& [name, type] : bindings.types) {
    Entity entity;
    entity.kind = Entity::Kind::TypeParam;
    entity.element = type;
    known.scope->names[name] = entity;
  }
  const bool has_names =
      !ast::as<ast::IntLiteral>(declared.default_value) && !ast::as<ast::FloatLiteral>(declared.default_value);
  if (has_names) add_params(cx, info, param, args, known, before);
  std::optional<Type> list = list_type(cx, declared.type, known.scope);
  ExprPtr result = check_value(cx, declared.default_value, list ? &*list : nullptr);
  cx.functions.defaults_in_use.erase(in_use);
  return result;
}

} // namespace tl::checker

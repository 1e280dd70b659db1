// Calls: what a name means, arguments in their places, what types they teach a generic function.
#include "lang/suggest.h"
#include "parser/check/context.h"
#include <fmt/format.h>

namespace tl::checker {

// A value that is known without checking: literals, `none`, names of types and functions, constants of those.
std::optional<Static> Checker::static_of(const ast::Expr* e) {
  Static result;
  if (auto* node = ast::as<ast::IntLiteral>(e)) {
    if (node->value > uint64_t{INT64_MAX}) return std::nullopt;
    result.kind = Static::Kind::Int;
    result.number = static_cast<int64_t>(node->value);
    return result;
  }
  if (auto* node = ast::as<ast::Unary>(e); node && node->op == ast::UnaryOp::Negate) {
    auto* literal = ast::as<ast::IntLiteral>(node->operand);
    if (literal && literal->value == uint64_t{1} << 63) {
      result.kind = Static::Kind::Int;
      result.number = INT64_MIN;
      return result;
    }
    auto inner = static_of(node->operand);
    if (!inner || inner->kind != Static::Kind::Int || inner->number == INT64_MIN) return std::nullopt;
    inner->number = -inner->number;
    return inner;
  }
  if (auto* node = ast::as<ast::BoolLiteral>(e)) {
    result.kind = Static::Kind::Bool;
    result.number = node->value;
    return result;
  }
  if (ast::as<ast::NoneLiteral>(e)) return result;
  auto list = [&](const std::vector<ast::Expr*>& elements) -> std::optional<Static> {
    result.kind = Static::Kind::Tuple;
    for (const ast::Expr* element : elements) {
      auto inner = static_of(element);
      if (!inner) return std::nullopt;
      result.elements.push_back(*inner);
    }
    return result;
  };
  if (auto* node = ast::as<ast::Tuple>(e)) return list(node->elements);
  if (auto* node = ast::as<ast::Field>(e))
    if (Scope* module = module_of(node->object)) {
      if (auto callable = callable_in(module, node->name.text)) {
        result.kind = Static::Kind::Function;
        result.callable = *callable;
        result.name = node->name.text;
        return result;
      }
      auto it = module->names.find(node->name.text);
      if (it != module->names.end() && it->second.kind == Entity::Kind::Const)
        return static_const(*it->second.constant);
      return std::nullopt;
    }
  if (auto* node = ast::as<ast::Name>(e)) {
    const Entity* entity = find(node->name);
    const bool own = entity && !is_prelude_function(*entity);
    if (own) {
      switch (entity->kind) {
      case Entity::Kind::Static: return entity->value;
      case Entity::Kind::TypeParam:
        result.kind = Static::Kind::Element;
        result.dtype = resolved(entity->element).dtype;
        return result;
      case Entity::Kind::Const: return static_const(*entity->constant);
      case Entity::Kind::Function:
      case Entity::Kind::Struct: break;
      case Entity::Kind::Variable:
        if (const Type& type = p_.variables[entity->var.index].type;
            type.is_function() && type.function && !(type.function & kWritten))
          return function_of(type);
        return std::nullopt;
      default: return std::nullopt;
      }
    }
    if (auto dtype = own ? std::nullopt : dtype_from_name(node->name)) {
      result.kind = Static::Kind::Element;
      result.dtype = *dtype;
      return result;
    }
    if (auto callable = find_callable(node->name, false); callable && callable->builtin != Builtin::Cpu) {
      result.kind = Static::Kind::Function;
      result.callable = *callable;
      result.name = node->name;
      return result;
    }
  }
  return std::nullopt;
}

// A const is what its expression is where it was declared.
std::optional<Static> Checker::static_const(ConstInfo& info) {
  if (info.in_use) return std::nullopt; // it is defined by itself: const_value says so
  Scope* saved = scope_;
  scope_ = info.env;
  info.in_use = true;
  auto result = static_of(info.decl->value);
  info.in_use = false;
  scope_ = saved;
  return result;
}

void Checker::check_arg(Arg& arg, const Type* expected) {
  if (arg.value) return;
  auto has_no_value = [&] {
    return arg.constant && (arg.constant->kind == Static::Kind::None || arg.constant->kind == Static::Kind::Element ||
                            arg.constant->kind == Static::Kind::Function);
  };
  if (has_no_value() || !arg.source) return;
  if (!arg.constant) arg.constant = static_of(arg.source);
  if (!has_no_value()) arg.value = value(arg.source, expected);
}

ExprPtr Checker::take(Arg& arg, const Type* expected) {
  return arg.value ? std::move(arg.value) : value(arg.source, expected);
}

ExprPtr Checker::call(const ast::Expr& e, const ast::Call& c, const Type* expected) {
  auto* callee = ast::as<ast::Name>(c.callee);
  if (!callee) {
    ExprPtr function = value(c.callee);
    if (function->type.is_error()) return broken(e.span);
    std::vector<Arg> args;
    for (const ast::Argument& argument : c.arguments)
      args.push_back({argument.name.text, argument.value, argument.value->span, argument.name.span, nullptr, {}});
    return call_expression(std::move(function), std::move(args), e.span, expected);
  }
  if (c.arguments.size() == 1)
    if (auto* comp = ast::as<ast::Comprehension>(c.arguments[0].value); comp && comp->in_call) {
      const Entity* entity = find(callee->name);
      if (entity && entity->kind != Entity::Kind::Poisoned && !is_prelude_function(*entity)) {
        const bool is_function = entity->kind == Entity::Kind::Function;
        error(
            "NotCallable", c.callee->span,
            fmt::format("`{}` is a {} of this file, not a reduction", callee->name, is_function ? "function" : "name"),
            "", {{entity->span, "declared here"}});
        return broken(e.span);
      }
      return comprehension(*c.arguments[0].value, *comp, callee->name, e.span, expected);
    }
  std::vector<Arg> args;
  for (const ast::Argument& argument : c.arguments)
    args.push_back(
        {argument.name.text, argument.value, argument.value->span, argument.name.span, nullptr, std::nullopt});
  // How the library, and it alone, fails: at_least(x, a, b, "Kind", "message of {0}") is x where a >= b.
  if (callee->name == "at_least" && is_library(e.span.file) && args.size() == 5) {
    ExprPtr x = take(args[0]);
    if (refresh(*x).is_error()) return x;
    auto node = make(ExprKind::Recast, e.span, x->type);
    Size a = size_argument(take(args[1]), *node, false, "a number"), b = size_argument(take(args[2]), *node, false, "");
    ExprPtr kind = take(args[3]), message = take(args[4]);
    SizeCheck check = size_check(a, b, message->text, e.span);
    check.relation = SizeCheck::Relation::AtLeast;
    check.kind = kind->text;
    check.notes.clear();
    node->checks.push_back(std::move(check));
    node->operands.push_back(std::move(x));
    return node;
  }
  auto callable = find_callable(callee->name, false);
  if (!callable) // a const may be one
    if (auto known = static_of(c.callee); known && known->kind == Static::Kind::Function) callable = known->callable;
  if (!callable) {
    if (const Entity* entity = find(callee->name); entity && entity->kind != Entity::Kind::Function) {
      if (entity->kind != Entity::Kind::Poisoned) {
        std::string hint;
        if (entity->kind == Entity::Kind::Variable && current_type(entity->var).is_tensor())
          hint = fmt::format("to take an element, write `{}[…]`", callee->name);
        error("NotCallable", c.callee->span, fmt::format("`{}` is not a function", callee->name), hint);
      }
    } else {
      unknown_name(callee->name, c.callee->span, true);
    }
    for (Arg& arg : args)
      check_arg(arg);
    return broken(e.span);
  }
  return call_named(*callable, callee->name, c.callee->span, std::move(args), e.span, false, expected);
}

// A call of what an expression gives.
ExprPtr Checker::call_expression(ExprPtr function, std::vector<Arg> args, Span span, const Type* expected) {
  const Type type = refresh(*function);
  if (!type.is_function() || !type.function || (type.function & kWritten)) {
    error("NotCallable", function->span,
          type.is_function() ? fmt::format("which function `{}` is, is not known here", text(function->span))
                             : fmt::format("`{}` is {}, not a function", text(function->span), show(type)),
          type.is_tensor() && type.rank() ? "to take an element, write brackets: `x[i]`" : "");
    for (Arg& arg : args)
      check_arg(arg);
    return broken(span);
  }
  typed::Block before;
  if (function->kind != ExprKind::Unit && function->kind != ExprKind::Variable) {
    typed::Stmt let;
    let.kind = StmtKind::Let;
    let.span = function->span;
    let.value = std::move(function);
    before.statements.push_back(std::move(let));
  }
  const Static callee = function_of(type);
  ExprPtr result = call_named(callee.callable, callee.name, span, std::move(args), span, false, expected);
  return in_block(std::move(before), std::move(result), span);
}

// A field `f: fn(A) -> B`, or `f: A` of a type parameter, which may be any type.
bool Checker::may_hold_function(const ast::Struct& decl, const ast::TypeExpr* type) {
  auto* named = ast::as<ast::NamedType>(type);
  return returns_function(type) ||
         (named && std::any_of(decl.type_params.begin(), decl.type_params.end(),
                               [&](const ast::TypeParam& param) { return param.name.text == named->name.text; }));
}

ExprPtr Checker::method_call(const ast::Expr& e, const ast::MethodCall& c, const Type* expected) {
  if (Scope* module = module_of(c.receiver)) return module_call(module, e, c, expected);
  if (auto* name = ast::as<ast::Name>(c.receiver); name && !find(name->name) && !dtype_from_name(name->name) &&
                                                   !builtins_.count(name->name) && name->name != "pi" &&
                                                   name->name != "e" && name->name != "inf" && name->name != "nan") {
    unknown_name(name->name, c.receiver->span, false);
    return broken(e.span);
  }
  if (c.name.text == "with" && !find_callable("with", true)) return with_call(e, c);
  // A field that holds a function.
  for (const auto& [record, info] : struct_of_) {
    auto index = record->find(c.name.text);
    if (!index || !may_hold_function(*info->decl, info->decl->fields[*index].type)) continue;
    Snapshot now = snapshot();
    Type type = resolved(expr(c.receiver)->type);
    rollback(now);
    if (!type.is_struct() || !(index = type.record->find(c.name.text)) || !type.elements[*index].is_function()) break;
    std::vector<Arg> args;
    for (const ast::Argument& argument : c.arguments)
      args.push_back({argument.name.text, argument.value, argument.value->span, argument.name.span, nullptr, {}});
    return call_expression(
        get(value(c.receiver), *index, {c.receiver->span.file, c.receiver->span.begin, c.name.span.end}),
        std::move(args), e.span, expected);
  }
  std::vector<Arg> args;
  args.push_back({"", c.receiver, c.receiver->span, {}, nullptr, std::nullopt});
  for (const ast::Argument& argument : c.arguments)
    args.push_back(
        {argument.name.text, argument.value, argument.value->span, argument.name.span, nullptr, std::nullopt});
  bool reported = false;
  auto callable = find_method(c.name, c.receiver, reported);
  if (!callable) {
    if (reported) return broken(e.span);
    args[0].value = value(c.receiver);
    if (args[0].value->type.is_error()) return broken(e.span);
    if (args[0].value->type.is_struct() && args[0].value->type.record->find(c.name.text))
      error("NotCallable", c.name.span, fmt::format("the field `{}` is not a function", c.name.text),
            fmt::format("a field is read by `{}.{}`", text(c.receiver->span), c.name.text));
    else
      unknown_name(c.name.text, c.name.span, true);
    for (Arg& arg : args)
      check_arg(arg);
    return broken(e.span);
  }
  return call_named(*callable, c.name.text, c.name.span, std::move(args), e.span, true, expected);
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
void Checker::evaluate_as_written(const std::vector<std::string>& names, std::vector<Arg>& args, typed::Block& before) {
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
    check_arg(arg);
    if (!arg.value || arg.constant || refresh(*arg.value).is_error() || has_function(arg.value->type)) continue;
    const std::optional<Size> size = number_of(*arg.value);
    arg.value = kept(std::move(arg.value), before);
    if (size && arg.value->kind == ExprKind::Variable) known_sizes_.emplace(arg.value->var, *size);
  }
}

ExprPtr Checker::call_named(const Callable& callable, const std::string& name, Span, std::vector<Arg> args, Span span,
                            bool is_method, const Type* expected) {
  if (callable.conversion) return conversion(*callable.conversion, std::move(args), span);
  if (callable.transformed) {
    // Evaluated in the order in which they are written, whichever of them the transform is about.
    typed::Block before;
    for (Arg& arg : args) {
      check_arg(arg);
      if (arg.value && !has_function(refresh(*arg.value))) arg.value = kept(std::move(arg.value), before);
    }
    ExprPtr result = call_transformed(*callable.transformed, std::move(args), span);
    return in_block(std::move(before), std::move(result), span);
  }
  typed::Block before;
  if (callable.structure) {
    evaluate_as_written(names_of(callable.structure->decl->fields), args, before);
    return in_block(std::move(before), construct(*callable.structure, std::move(args), span, expected), span);
  }
  size_t positional = 0;
  for (const Arg& arg : args)
    positional += arg.name.empty();
  if (callable.scalar && callable.builtin) {
    // min and max: two operands, or one to reduce.
    if (is_method && positional == 2) {
      error("WrongArguments", args[1].span, fmt::format("`x.{0}(…)` takes no second operand", name),
            fmt::format("for an axis write `{0}.{1}(axis = {2})`, for the {3} of two values `{1}({0}, {2})`",
                        text(args[0].span), name, text(args[1].span), name == "min" ? "smaller" : "larger"));
      return broken(span);
    }
    if (positional >= 2) return call_scalar(*callable.scalar, std::move(args), span, name);
    return builtin_call(*callable.builtin, std::move(args), span, is_method, expected);
  }
  if (callable.scalar) return call_scalar(*callable.scalar, std::move(args), span, name);
  if (callable.builtin) return builtin_call(*callable.builtin, std::move(args), span, is_method, expected);
  FunctionInfo* function = callable.functions[0];
  if (callable.functions.size() > 1) {
    function = choose_overload(callable.functions, args, span, name);
    if (!function) return broken(span);
  }
  evaluate_as_written(names_of(function->decl->params), args, before);
  return in_block(std::move(before), call_function(*function, std::move(args), span, expected), span);
}

ExprPtr Checker::call_scalar(ScalarOp op, std::vector<Arg> args, Span span, const std::string& name) {
  auto arity = static_cast<size_t>(info(op).arity);
  for (const Arg& arg : args)
    if (!arg.name.empty()) {
      bool reduces = op == ScalarOp::Min || op == ScalarOp::Max;
      error("WrongArguments", arg.name_span,
            fmt::format("`{}` of {} operands has no parameter `{}`", name, arity, arg.name),
            reduces ? fmt::format("`{}` reduces one tensor along an axis: `{}(x, axis = 0)`", name, name) : "");
      return broken(span);
    }
  if (args.size() != arity) {
    error("WrongArguments", span,
          fmt::format("`{}` takes {} argument{}, not {}", name, arity, arity == 1 ? "" : "s", args.size()));
    return broken(span);
  }
  std::vector<ExprPtr> operands;
  for (Arg& arg : args)
    operands.push_back(take(arg));
  return scalar_node(op, std::move(operands), span, fmt::format("`{}`", name));
}

ExprPtr Checker::conversion(DType type, std::vector<Arg> args, Span span) {
  if (args.size() != 1 || !args[0].name.empty()) {
    error("WrongArguments", span, fmt::format("`{}` converts one value", name_of(type)));
    return broken(span);
  }
  return convert(take(args[0]), type, span);
}

// May these (checked) arguments be meant for this function? Element types and kinds decide; an open literal counts as
// its default.
bool Checker::accepts(const FunctionInfo& info, const std::vector<Arg>& args) {
  const auto& params = info.decl->params;
  size_t index = 0;
  std::set<std::string> given;
  for (const Arg& arg : args) {
    const ast::Param* param = nullptr;
    if (arg.name.empty()) {
      if (index >= params.size()) return false;
      param = &params[index++];
    } else {
      for (const ast::Param& p : params)
        if (p.name.text == arg.name) param = &p;
      if (!param) return false;
    }
    given.insert(param->name.text);
    if (!param->type || !arg.value) continue;
    Type actual = resolved(arg.value->type);
    auto* named = ast::as<ast::NamedType>(param->type);
    if (!named) {
      if (!actual.is_tuple() && !actual.is_error()) return false;
      continue;
    }
    auto fits_rank = [&] {
      size_t own = named->dims.size();
      bool spread =
          std::any_of(named->dims.begin(), named->dims.end(), [](auto* d) { return ast::as<ast::Spread>(d); });
      if (spread) return actual.rank() + 1 >= own;
      if (actual.rank() != own) return false;
      for (size_t k = 0; k < own; ++k) // of overloads for 2 and for 4 numbers, the one that fits
        if (auto* size = ast::as<ast::IntLiteral>(named->dims[k]);
            size && actual.shape[k].is_constant() && !actual.shape[k].is(static_cast<int64_t>(size->value)))
          return false;
      return true;
    };
    auto type_param = std::find_if(info.decl->type_params.begin(), info.decl->type_params.end(),
                                   [&](const ast::TypeParam& p) { return p.name.text == named->name.text; });
    if (auto dtype = dtype_from_name(named->name.text)) {
      if (!actual.is_tensor() || actual.dtype != *dtype || !fits_rank()) return false;
    } else if (type_param != info.decl->type_params.end() && is_whole(*type_param, *info.decl)) {
      continue;
    } else if (type_param != info.decl->type_params.end()) {
      if (!actual.is_tensor() || !fits_rank()) return false;
      const std::string& bound = type_param->bound.text;
      DType t = actual.dtype;
      if (actual.open) t = open_[actual.open].standard();
      if ((bound == "float" && !is_float(t)) || (bound == "int" && !is_int(t)) || (bound == "num" && !is_num(t)))
        return false;
    } else if (named->name.text == "List") {
      if (!actual.is_list()) return false;
    } else if (named->name.text == "str" && !actual.is_str())
      return false;
    else if (named->name.text != "str" && !actual.is_tensor() &&
             !(actual.is_struct() && actual.record->name == named->name.text))
      return false;
  }
  for (const ast::Param& p : params)
    if (!p.default_value && !given.count(p.name.text)) return false;
  return true;
}

FunctionInfo* Checker::choose_overload(const std::vector<FunctionInfo*>& functions, std::vector<Arg>& args, Span span,
                                       const std::string& name) {
  for (Arg& arg : args) {
    check_arg(arg);
    if (arg.value && arg.value->type.is_error()) return nullptr;
  }
  for (FunctionInfo* function : functions)
    if (accepts(*function, args)) return function;
  std::vector<std::string> types;
  for (const Arg& arg : args)
    types.push_back(arg.value ? show(arg.value->type) : to_string(*arg.constant));
  error("WrongArguments", span, fmt::format("`{}` does not take ({})", name, fmt::join(types, ", ")));
  return nullptr;
}

// Arguments by parameter; null where the default stands.
std::vector<Arg*> Checker::arrange(FunctionInfo& info, std::vector<Arg>& args, Span span, bool& ok) {
  const auto& params = info.decl->params;
  const std::string& name = info.decl->name.text;
  std::vector<Arg*> result(params.size(), nullptr);
  size_t index = 0;
  for (Arg& arg : args) {
    if (arg.name.empty()) {
      if (index >= params.size()) {
        error("WrongArguments", arg.span,
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
      std::string hint;
      for (const ast::Param& p : params)
        if (edit_distance(p.name.text, arg.name) <= 2 || (p.name.text == "axis" && arg.name == "dim") ||
            (p.name.text == "keep" && (arg.name == "keepdim" || arg.name == "keepdims")))
          hint = fmt::format("did you mean `{} = `?", p.name.text);
      error("WrongArguments", arg.name_span, fmt::format("`{}` has no parameter `{}`", name, arg.name), hint);
      ok = false;
      continue;
    }
    if (result[found]) {
      error("WrongArguments", arg.name_span, fmt::format("`{}` is given twice", arg.name));
      ok = false;
      continue;
    }
    result[found] = &arg;
  }
  if (ok)
    for (size_t i = 0; i < params.size(); ++i)
      if (!result[i] && !params[i].default_value) {
        error("WrongArguments", span, fmt::format("`{}` needs an argument for `{}`", name, params[i].name.text), "",
              info.is_prelude ? std::vector<Label>{} : std::vector<Label>{{params[i].span, "this parameter"}});
        ok = false;
      }
  return result;
}

// Learns type parameters and ranks of ..s from one argument.
bool Checker::infer_type(const ast::TypeExpr* type, const Type& actual, FunctionInfo& info, Bindings& bindings,
                         const Arg& arg, const std::string& param) {
  if (actual.is_error()) return false;
  if (auto* tuple = ast::as<ast::TupleType>(type)) {
    if (!actual.is_tuple() || actual.elements.size() != tuple->elements.size()) return true; // coerce says it
    for (size_t i = 0; i < tuple->elements.size(); ++i)
      if (!infer_type(tuple->elements[i], actual.elements[i], info, bindings, arg, param)) return false;
    return true;
  }
  auto* named = ast::as<ast::NamedType>(type);
  if (!named) return true;
  if (named->name.text == "List" && named->arguments.size() == 1) {
    if (!actual.is_list() || actual.elements.empty()) return true; // coerce says it
    return infer_type(named->arguments[0], actual.elements[0], info, bindings, arg, param);
  }
  const ast::TypeParam* type_param = nullptr;
  for (const ast::TypeParam& p : info.decl->type_params)
    if (p.name.text == named->name.text) type_param = &p;
  if (!named->arguments.empty() && actual.is_struct()) {
    for (size_t i = 0; i < named->arguments.size() && i < actual.record->types.size(); ++i) {
      const auto& place = actual.record->types[i];
      const Type* part = place ? part_of(actual, place->path) : nullptr;
      if (!part) continue;
      Type inferred = place->is_whole ? *part : element_of(*part);
      if (!infer_type(named->arguments[i], inferred, info, bindings, arg, param)) return false;
    }
    return true;
  }
  if (type_param && type_param->default_type && resolved(actual).open && !bindings.types.count(named->name.text)) {
    DimContext context; // what a literal is where nothing else says it
    Scope* saved = scope_;
    scope_ = info.env;
    (void)unify(actual, type_of(type_param->default_type, context));
    scope_ = saved;
  }
  // A literal is of the type that is written for it, before a later default looks at it.
  if (auto written = dtype_from_name(named->name.text); written && !type_param && resolved(actual).open)
    (void)unify(actual, Type::scalar(*written));
  if (type_param && is_whole(*type_param, *info.decl)) {
    auto [it, is_new] = bindings.types.try_emplace(named->name.text, actual);
    if (is_new) return fits_bound(*type_param, actual, arg.span, info.decl->name.text);
    if (same_form(it->second, actual)) return true;
    error("TypeMismatch", arg.span,
          fmt::format("`{}` takes one type {}, but here are {} and {}", info.decl->name.text, named->name.text,
                      show(it->second), show(actual)));
    return false;
  }
  if (type_param && !actual.is_tensor()) {
    error("TypeMismatch", arg.span,
          fmt::format("`{}` of `{}` takes a tensor, not {}", param, info.decl->name.text, show(actual)));
    return false;
  }
  if (type_param) {
    auto [it, is_new] = bindings.types.try_emplace(named->name.text, element_of(actual));
    if (is_new) {
      if (!fits_bound(*type_param, actual, arg.span, info.decl->name.text)) return false;
    } else if (!unify(it->second, actual)) {
      error("MixedTypes", arg.span,
            fmt::format("`{}` takes one element type {}, but here are {} and {}", info.decl->name.text,
                        named->name.text, show(it->second), name_of(resolved(actual).dtype)),
            fmt::format("write `{}({})`", show(it->second), text(arg.span)), {{arg.span, show(actual)}});
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
    error("TypeMismatch", arg.span,
          fmt::format("`{}` of `{}` needs at least {} ax{}, and this is {}", param, info.decl->name.text, plain,
                      plain == 1 ? "is" : "es", show(actual)));
    return false;
  }
  auto [it, is_new] = bindings.ranks.try_emplace(spread->name.text, actual.rank() - plain);
  if (!is_new && it->second != actual.rank() - plain) {
    error("TypeMismatch", arg.span,
          fmt::format("`..{}` of `{}` has {} ax{}, but {} in `{}`", spread->name.text, info.decl->name.text, it->second,
                      it->second == 1 ? "is" : "es", actual.rank() - plain, text(arg.span)),
          "", {{arg.span, show(actual)}});
    return false;
  }
  return true;
}

// What a parameter's argument is expected to be where that is a list, so that `[1, 2]` makes one. Nothing if the type
// depends on the other arguments.
std::optional<Type> Checker::list_type(const ast::TypeExpr* written, Scope* scope) {
  auto* named = ast::as<ast::NamedType>(written);
  if (!named || named->name.text != "List") return std::nullopt;
  Scope* saved = scope_;
  scope_ = scope;
  push_scope();
  DimContext context;
  std::vector<AtomId> bound;
  context.mode = DimMode::Bind;
  context.bound = &bound;
  const size_t errors = ctx_->reports.size();
  Type type = type_of(written, context);
  ctx_->reports.resize(errors); // said where the function is checked
  scope_ = saved;
  if (type.is_error() || !bound.empty()) return std::nullopt;
  return type;
}

// A default is checked at the call, among the names of the function, with the earlier parameters as they are given
// here.
ExprPtr Checker::default_value(FunctionInfo& info, size_t param, std::vector<Arg*>& args, const Bindings& bindings,
                               typed::Block& before) {
  const auto& params = info.decl->params;
  const auto [in_use, is_new] = defaults_in_use_.insert(params[param].default_value);
  if (!is_new) {
    error("InstantiationDepth", params[param].default_value->span,
          fmt::format("the default of `{}` is defined by itself", params[param].name.text));
    return broken(params[param].default_value->span);
  }
  Scope* saved = scope_;
  scope_ = info.env;
  push_scope();
  scope_->is_function = true;
  Scope* names = scope_;
  for (const auto& [name, type] : bindings.types) {
    Entity entity;
    entity.kind = Entity::Kind::TypeParam;
    entity.element = type;
    names->names[name] = entity;
  }
  for (size_t i = 0; i < param; ++i) {
    Arg* arg = args[i];
    if (!arg) continue;
    Entity entity;
    entity.span = params[i].name.span;
    if (!arg->value) {
      if (!arg->constant) continue;
      entity.kind = Entity::Kind::Static;
      entity.value = *arg->constant;
    } else if (ast::as<ast::IntLiteral>(params[param].default_value) ||
               ast::as<ast::FloatLiteral>(params[param].default_value) || arg->value->type.is_error()) {
      continue; // no names in it
    } else {
      if (arg->value->kind != ExprKind::Variable || p_.variables[arg->value->var.index].is_mutable) {
        Type type = refresh(*arg->value);
        auto size = size_of(*arg->value);
        VarId var = new_variable(params[i].name.text, type, false, arg->span);
        if (size)
          known_sizes_[var] = *size;
        else if (type.is_scalar() && type.dtype == DType::I64)
          bind_atom(var);
        typed::Stmt let;
        let.kind = StmtKind::Let;
        let.span = arg->span;
        let.pattern.var = var;
        let.value = std::move(arg->value);
        before.statements.push_back(std::move(let));
        arg->value = variable(var, arg->span);
      }
      entity.kind = Entity::Kind::Variable;
      entity.var = arg->value->var;
      // Sizes that this parameter names.
      if (auto* named = ast::as<ast::NamedType>(params[i].type); named && named->dims.size() == arg->value->type.rank())
        for (size_t k = 0; k < named->dims.size(); ++k)
          if (auto* name = ast::as<ast::Name>(named->dims[k])) {
            Entity size;
            size.kind = Entity::Kind::SizeName;
            size.size = arg->value->type.shape[k];
            names->names.try_emplace(name->name, size);
          }
    }
    names->names[params[i].name.text] = entity;
  }
  std::optional<Type> list = list_type(params[param].type, names);
  ExprPtr result = value(params[param].default_value, list ? &*list : nullptr);
  scope_ = saved;
  defaults_in_use_.erase(in_use);
  return result;
}

} // namespace tl::checker

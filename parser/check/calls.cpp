// Calls: what a name means, arguments in their places, what types they teach a generic function.
#include "parser/check/calls.h"
#include "lang/suggest.h"
#include "parser/check/arguments.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/comprehensions.h"
#include "parser/check/expressions.h"
#include "parser/check/foreign_names.h"
#include "parser/check/function_calls.h"
#include "parser/check/functions.h"
#include "parser/check/known.h"
#include "parser/check/line_width.h"
#include "parser/check/literal_arguments.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/structs.h"
#include "parser/check/tables.h"
#include "parser/check/transforms.h"
#include "parser/check/types.h"
#include "parser/check/unknown.h"
#include "parser/check/values.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::checker {

static ExprPtr call_once(Context& cx, const Callable& callable, const std::string& name, std::vector<Arg> args,
                         Span span, bool is_method, const Type* expected);

static ExprPtr call_scalar(Context& cx, ScalarOp op, std::vector<Arg> args, Span span, const std::string& name);

static ExprPtr check_conversion(Context& cx, DType type, std::vector<Arg> args, Span span);

static FunctionInfo* choose_overload(Context& cx, const std::vector<FunctionInfo*>& functions, std::vector<Arg>& args,
                                     Span span, const std::string& name);

static std::optional<Static> static_const(Context& cx, ConstInfo& info);

static ExprPtr call_expression(Context& cx, ExprPtr function, std::vector<Arg> args, Span span, const Type* expected);

// A value that is known without checking: literals, `none`, names of types and functions, constants of those.
std::optional<Static> static_of(Context& cx, const ast::Expr* e) {
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
    auto inner = static_of(cx, node->operand);
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
  if (auto* node = ast::as<ast::StringLiteral>(e)) {
    result.kind = Static::Kind::String;
    for (const ast::StringPart& part : node->parts) {
      if (part.value) return std::nullopt;
      result.name += part.text;
    }
    return result;
  }
  auto list = [&](const std::vector<ast::Expr*>& elements) -> std::optional<Static> {
    result.kind = Static::Kind::Tuple;
    for (const ast::Expr* element : elements) {
      auto inner = static_of(cx, element);
      if (!inner) return std::nullopt;
      result.elements.push_back(*inner);
    }
    return result;
  };
  if (auto* node = ast::as<ast::Tuple>(e)) return list(node->elements);
  if (auto* node = ast::as<ast::Field>(e))
    if (Scope* module = module_of(cx, node->object)) {
      if (auto callable = callable_in(cx, module, node->name.text)) {
        result.kind = Static::Kind::Function;
        result.callable = *callable;
        result.name = node->name.text;
        return result;
      }
      auto it = module->names.find(node->name.text);
      if (it != module->names.end() && it->second.kind == Entity::Kind::Const)
        return static_const(cx, *it->second.constant);
      return std::nullopt;
    }
  if (auto* node = ast::as<ast::Name>(e)) {
    const Entity* entity = find(cx, node->name);
    const bool own = entity && !is_prelude_function(*entity);
    if (own) {
      switch (entity->kind) {
      case Entity::Kind::Static: return entity->value;
      case Entity::Kind::TypeParam:
        result.kind = Static::Kind::Element;
        result.dtype = cx.open.resolved(entity->element).dtype;
        return result;
      case Entity::Kind::Const: return static_const(cx, *entity->constant);
      case Entity::Kind::Function:
      case Entity::Kind::Struct: break;
      case Entity::Kind::Variable:
        if (const Type& type = cx.program.variables[entity->var.index].type;
            type.is_function() && type.function && !(type.function & kWritten))
          return function_of(cx, type);
        return std::nullopt;
      default: return std::nullopt;
      }
    }
    if (auto dtype = own ? std::nullopt : dtype_from_name(node->name)) {
      result.kind = Static::Kind::Element;
      result.dtype = *dtype;
      return result;
    }
    if (auto callable = find_callable(cx, node->name, false); callable && callable->builtin != Builtin::Cpu) {
      result.kind = Static::Kind::Function;
      result.callable = *callable;
      result.name = node->name;
      return result;
    }
  }
  if (is_library(cx, e->span.file)) return computed_static(cx, e);
  return std::nullopt;
}

// A const is what its expression is where it was declared.
static std::optional<Static> static_const(Context& cx, ConstInfo& info) {
  if (info.in_use) return std::nullopt; // it is defined by itself: const_value says so
  SaveAndRestore scope(cx.names.scope, info.env);
  info.in_use = true;
  auto result = static_of(cx, info.decl->value);
  info.in_use = false;
  return result;
}

// A function about axes: a tuple of numbers.
static ExprPtr axes_value(Context& cx, const ast::Expr& e) {
  auto known = static_of(cx, &e);
  if (!known) {
    error(cx, "WrongArguments", e.span, "there are no such axes, or one is given twice",
          "several axes are a tuple: `axes = ((0, 2), (0, 1))`");
    return broken(e.span);
  }
  auto tuple = make_expr(typed::TupleExpr{}, e.span, Type::tuple({}));
  for (const Static& axis : known->elements) {
    tuple->operands.push_back(int_value(axis.number, e.span));
    tuple->type.elements.push_back(tuple->operands.back()->type);
  }
  return tuple;
}

ExprPtr check_call(Context& cx, const ast::Expr& e, const ast::Call& c, const Type* expected) {
  auto* callee = ast::as<ast::Name>(c.callee);
  if (!callee) {
    ExprPtr function = check_value(cx, c.callee);
    if (function->type.is_error()) return broken(e.span);
    std::vector<Arg> args;
    for (const ast::Argument& argument : c.arguments)
      args.push_back({argument.name.text, argument.value, argument.value->span, argument.name.span, nullptr, {}});
    return call_expression(cx, std::move(function), std::move(args), e.span, expected);
  }
  if (c.arguments.size() == 1)
    if (auto* comp = ast::as<ast::Comprehension>(c.arguments[0].value); comp && comp->in_call) {
      const Entity* entity = find(cx, callee->name);
      if (entity && entity->kind != Entity::Kind::Poisoned && !is_prelude_function(*entity)) {
        const bool is_function = entity->kind == Entity::Kind::Function;
        error(
            cx, "NotCallable", c.callee->span,
            fmt::format("`{}` is a {} of this file, not a reduction", callee->name, is_function ? "function" : "name"),
            "", {{entity->span, "declared here"}});
        return broken(e.span);
      }
      return check_comprehension(cx, *c.arguments[0].value, *comp, callee->name, e.span, expected);
    }
  std::vector<Arg> args;
  for (const ast::Argument& argument : c.arguments)
    args.push_back(
        {argument.name.text, argument.value, argument.value->span, argument.name.span, nullptr, std::nullopt});
  if (is_about_axes(callee->name) && is_library(cx, e.span.file)) return axes_value(cx, e);
  if (callee->name == "each_column" && is_library(cx, e.span.file)) return each_column(cx, e, c, expected);
  if (callee->name == "pair_columns" && is_library(cx, e.span.file)) return pair_columns(cx, e, c);
  if (callee->name == "line_width" && is_library(cx, e.span.file)) return int_value(table_width(), e.span);
  // How the library, and it alone, fails: at_least(x, a, b, "Kind", "message of {0}") is x where a >= b.
  if (callee->name == "at_least" && is_library(cx, e.span.file) && args.size() == 5) {
    ExprPtr x = take(cx, args[0]);
    if (refresh(cx, *x).is_error()) return x;
    auto node = make_expr(typed::RecastExpr{}, e.span, x->type);
    Size a = size_argument(cx, take(cx, args[1]), *node, false, "a number"),
         b = size_argument(cx, take(cx, args[2]), *node, false, "");
    ExprPtr kind = take(cx, args[3]), message = take(cx, args[4]);
    SizeCheck check = size_check(cx, a, b, message->as<typed::StrExpr>().text, e.span);
    check.relation = SizeCheck::Relation::AtLeast;
    check.kind = kind->as<typed::StrExpr>().text;
    check.notes.clear();
    node->checks.push_back(std::move(check));
    node->operands.push_back(std::move(x));
    return node;
  }
  auto callable = find_callable(cx, callee->name, false);
  if (!callable) // a const may be one
    if (auto known = static_of(cx, c.callee); known && known->kind == Static::Kind::Function)
      callable = known->callable;
  if (!callable) {
    if (const Entity* entity = find(cx, callee->name); entity && entity->kind != Entity::Kind::Function) {
      if (entity->kind != Entity::Kind::Poisoned) {
        std::string hint;
        if (entity->kind == Entity::Kind::Variable) {
          const Type type = current_type(cx, entity->var);
          const std::string given = c.arguments.empty() ? "x" : source_text(cx, c.arguments[0].value->span);
          hint = type.is_tensor() ? fmt::format("to take an element, write `{}[…]`", callee->name)
                                  : layer_hint(cx, type, given, callee->name);
        }
        error(cx, "NotCallable", c.callee->span, fmt::format("`{}` is not a function", callee->name), hint);
      }
    } else {
      unknown_name(cx, callee->name, c.callee->span, true);
    }
    for (Arg& arg : args)
      check_arg(cx, arg);
    return broken(e.span);
  }
  return call_named(cx, *callable, callee->name, c.callee->span, std::move(args), e.span, false, expected);
}

// A call of what an expression gives.
static ExprPtr call_expression(Context& cx, ExprPtr function, std::vector<Arg> args, Span span, const Type* expected) {
  const Type type = refresh(cx, *function);
  if (!type.is_function() || !type.function || (type.function & kWritten)) {
    error(cx, "NotCallable", function->span,
          type.is_function()
              ? fmt::format("which function `{}` is, is not known here", source_text(cx, function->span))
              : fmt::format("`{}` is {}, not a function", source_text(cx, function->span), show(cx, type)),
          type.is_tensor() && type.rank() ? "to take an element, write brackets: `x[i]`" : "");
    for (Arg& arg : args)
      check_arg(cx, arg);
    return broken(span);
  }
  typed::Block before;
  if (!function->is<typed::UnitExpr, typed::VariableExpr>()) {
    typed::Stmt let;
    let.kind = StmtKind::Let;
    let.span = function->span;
    let.value = std::move(function);
    before.statements.push_back(std::move(let));
  }
  const Static callee = function_of(cx, type);
  ExprPtr result = call_named(cx, callee.callable, callee.name, span, std::move(args), span, false, expected);
  return in_block(std::move(before), std::move(result), span);
}

// A field `f: fn(A) -> B`, or `f: A` of a type parameter, which may be any type.
static bool may_hold_function(Context& cx, const ast::Struct& decl, const ast::TypeExpr* type) {
  auto* named = ast::as<ast::NamedType>(type);
  return returns_function(cx, type) ||
         (named && std::any_of(decl.type_params.begin(), decl.type_params.end(),
                               [&](const ast::TypeParam& param) { return param.name.text == named->name.text; }));
}

ExprPtr check_method_call(Context& cx, const ast::Expr& e, const ast::MethodCall& c, const Type* expected) {
  if (Scope* module = module_of(cx, c.receiver)) return module_call(cx, module, e, c, expected);
  if (const ast::Name* root = unknown_root(cx, c.receiver)) {
    unknown_module(cx, root->name, c.name.text, c.receiver->span);
    return broken(e.span);
  }
  if (c.name.text == "with" && !find_callable(cx, "with", true)) return with_call(cx, e, c);
  // A field that holds a function.
  for (const auto& [record, info] : cx.names.struct_of) {
    auto index = record->find(c.name.text);
    if (!index || !may_hold_function(cx, *info->decl, info->decl->fields[*index].type)) continue;
    Snapshot now = snapshot(cx);
    Type type = cx.open.resolved(check_expr(cx, c.receiver)->type);
    rollback(cx, now);
    if (!type.is_struct() || !(index = type.record->find(c.name.text)) || !type.elements[*index].is_function()) break;
    std::vector<Arg> args;
    for (const ast::Argument& argument : c.arguments)
      args.push_back({argument.name.text, argument.value, argument.value->span, argument.name.span, nullptr, {}});
    return call_expression(cx,
                           get_field(check_value(cx, c.receiver), *index,
                                     {c.receiver->span.file, c.receiver->span.begin, c.name.span.end}),
                           std::move(args), e.span, expected);
  }
  std::vector<Arg> args;
  args.push_back({"", c.receiver, c.receiver->span, {}, nullptr, std::nullopt});
  for (const ast::Argument& argument : c.arguments)
    args.push_back(
        {argument.name.text, argument.value, argument.value->span, argument.name.span, nullptr, std::nullopt});
  bool reported = false;
  auto callable = find_method(cx, c.name, c.receiver, reported);
  if (!callable) {
    if (reported) return broken(e.span);
    args[0].value = check_value(cx, c.receiver);
    if (args[0].value->type.is_error()) return broken(e.span);
    const Type& type = args[0].value->type;
    if (auto field = type.is_struct() ? type.record->find(c.name.text) : std::nullopt) {
      const std::string text = fmt::format("{}.{}", source_text(cx, c.receiver->span), c.name.text);
      std::string hint = c.arguments.empty() ? ""
                                             : layer_hint(cx, cx.open.resolved(type.elements[*field]),
                                                          source_text(cx, c.arguments[0].value->span), text);
      if (hint.empty()) hint = fmt::format("a field is read by `{}`", text);
      error(cx, "NotCallable", c.name.span, fmt::format("the field `{}` is not a function", c.name.text), hint);
    } else
      unknown_name(cx, c.name.text, c.name.span, true);
    for (Arg& arg : args)
      check_arg(cx, arg);
    return broken(e.span);
  }
  return call_named(cx, *callable, c.name.text, c.name.span, std::move(args), e.span, true, expected);
}

// A literal has the type that its context wants, and that of a function without types is its body.
ExprPtr call_named(Context& cx, const Callable& callable, const std::string& name, Span, std::vector<Arg> args,
                   Span span, bool is_method, const Type* expected) {
  return with_literals(cx, callable, std::move(args), [&](std::vector<Arg> given) {
    return call_once(cx, callable, name, std::move(given), span, is_method, expected);
  });
}

static bool has_parameter(const ast::Function& function, const std::string& name) {
  return std::any_of(function.params.begin(), function.params.end(),
                     [&](const ast::Param& param) { return param.name.text == name; });
}

// Is an argument named that only a function has which overloads the builtin?
static bool names_overload(const Context& cx, const Callable& callable, const std::vector<Arg>& args) {
  if (callable.functions.empty()) return false;
  const std::vector<const ast::Stmt*>& own = declared(cx, *callable.builtin);
  return std::any_of(args.begin(), args.end(), [&](const Arg& arg) {
    auto in_builtin = [&](const ast::Stmt* function) {
      return has_parameter(*ast::as<ast::Function>(function), arg.name);
    };
    auto in_function = [&](const FunctionInfo* function) { return has_parameter(*function->decl, arg.name); };
    return !arg.name.empty() && std::none_of(own.begin(), own.end(), in_builtin) &&
           std::any_of(callable.functions.begin(), callable.functions.end(), in_function);
  });
}

// The functions that overload a builtin for complex numbers, where it is given such.
static std::vector<FunctionInfo*> for_complex(Context& cx, const Callable& callable, std::vector<Arg>& args) {
  auto is_complex_kind = [](const ast::TypeParam& param) { return param.bound.text == "complex"; };
  std::vector<FunctionInfo*> functions = callable.functions;
  std::erase_if(functions, [&](const FunctionInfo* function) {
    const auto& params = function->decl->type_params;
    return std::none_of(params.begin(), params.end(), is_complex_kind);
  });
  if (args.empty() || functions.empty()) return {};
  check_arg(cx, args[0]);
  return args[0].value && cx.open.is_complex(args[0].value->type) ? functions : std::vector<FunctionInfo*>();
}

// Are there arguments besides the operands of an elementwise function?
static bool takes_more(ScalarOp op, const std::vector<Arg>& args) {
  auto is_named = [](const Arg& arg) { return !arg.name.empty(); };
  return args.size() > static_cast<size_t>(info(op).arity) || std::any_of(args.begin(), args.end(), is_named);
}

static ExprPtr call_once(Context& cx, const Callable& callable, const std::string& name, std::vector<Arg> args,
                         Span span, bool is_method, const Type* expected) {
  if (callable.conversion) return check_conversion(cx, *callable.conversion, std::move(args), span);
  if (callable.transformed) {
    // Evaluated in the order in which they are written, whichever of them the transform is about.
    typed::Block before;
    for (Arg& arg : args) {
      check_arg(cx, arg);
      if (arg.value && !has_function(cx, refresh(cx, *arg.value))) arg.value = kept(cx, std::move(arg.value), before);
    }
    ExprPtr result = call_transformed(cx, *callable.transformed, std::move(args), span);
    return in_block(std::move(before), std::move(result), span);
  }
  typed::Block before;
  if (callable.structure) {
    evaluate_as_written(cx, names_of(callable.structure->decl->fields), args, before);
    return in_block(std::move(before), construct(cx, *callable.structure, std::move(args), span, expected), span);
  }
  size_t positional = 0;
  for (const Arg& arg : args)
    positional += arg.name.empty();
  if (callable.scalar && callable.builtin) {
    // min and max: two operands or more, or one to reduce.
    if (is_method && positional >= 2) {
      check_arg(cx, args[0]);
      const bool has_axes = args[0].value && refresh(cx, *args[0].value).rank() > 0;
      const std::string x = source_text(cx, args[0].span), y = source_text(cx, args[1].span);
      error(cx, "WrongArguments", args[1].span, fmt::format("`x.{0}(…)` takes no second operand", name),
            (has_axes ? fmt::format("for an axis write `{}.{}(axis = {})`, ", x, name, y) : std::string()) +
                fmt::format("for the {} of two values `{}({}, {})`", name == "min" ? "smaller" : "larger", name, x, y));
      return broken(span);
    }
    if (positional >= 2) return call_scalar(cx, *callable.scalar, std::move(args), span, name);
    return builtin_call(cx, *callable.builtin, std::move(args), span, is_method, expected);
  }
  // Overloads in the prelude take more than the operands: round(x, 2).
  const bool overloaded = callable.scalar && !callable.functions.empty() && takes_more(*callable.scalar, args);
  if (callable.scalar && !overloaded) return call_scalar(cx, *callable.scalar, std::move(args), span, name);
  std::vector<FunctionInfo*> functions = callable.functions;
  if (callable.builtin && !names_overload(cx, callable, args)) {
    functions = for_complex(cx, callable, args);
    if (functions.empty()) return builtin_call(cx, *callable.builtin, std::move(args), span, is_method, expected);
  }
  FunctionInfo* function = functions[0];
  if (functions.size() > 1) {
    function = choose_overload(cx, functions, args, span, name);
    if (!function) return broken(span);
  }
  evaluate_as_written(cx, names_of(function->decl->params), args, before);
  return in_block(std::move(before), call_function(cx, *function, std::move(args), span, expected), span);
}

static ExprPtr call_scalar(Context& cx, ScalarOp op, std::vector<Arg> args, Span span, const std::string& name) {
  auto arity = static_cast<size_t>(info(op).arity);
  for (const Arg& arg : args)
    if (!arg.name.empty()) {
      bool reduces = op == ScalarOp::Min || op == ScalarOp::Max;
      error(cx, "WrongArguments", arg.name_span,
            fmt::format("`{}` of {} operands has no parameter `{}`", name, arity, arg.name),
            reduces ? fmt::format("`{}` reduces one tensor along an axis: `{}(x, axis = 0)`", name, name) : "");
      return broken(span);
    }
  const bool takes_many = op == ScalarOp::Min || op == ScalarOp::Max;
  if (args.size() != arity && !(takes_many && args.size() > arity)) {
    error(cx, "WrongArguments", span,
          fmt::format("`{}` takes {} argument{}, not {}", name, arity, arity == 1 ? "" : "s", args.size()),
          args.size() == 1 ? foreign_form(name) : "");
    return broken(span);
  }
  std::vector<ExprPtr> operands;
  for (Arg& arg : args)
    operands.push_back(take(cx, arg));
  const std::string what = fmt::format("`{}`", name);
  while (operands.size() > arity) { // max(a, b, c) is max(max(a, b), c)
    std::vector<ExprPtr> first;
    first.push_back(std::move(operands[0]));
    first.push_back(std::move(operands[1]));
    operands.erase(operands.begin());
    operands[0] = scalar_node(cx, op, std::move(first), span, what);
    if (operands[0]->type.is_error()) return broken(span);
  }
  return scalar_node(cx, op, std::move(operands), span, what);
}

static ExprPtr check_conversion(Context& cx, DType type, std::vector<Arg> args, Span span) {
  if (args.size() != 1 || !args[0].name.empty()) {
    error(cx, "WrongArguments", span, fmt::format("`{}` converts one value", name_of(type)));
    return broken(span);
  }
  return convert(cx, take(cx, args[0]), type, span);
}

// May these (checked) arguments be meant for this function? Element types and kinds decide; an open literal counts as
// its default, or as what it may become.
static bool accepts(Context& cx, const FunctionInfo& info, const std::vector<Arg>& args, bool by_default) {
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
    if (param->type && !arg.value && arg.constant && arg.constant->kind == Static::Kind::None) return false;
    if (!param->type && param->default_value && ast::as<ast::BoolLiteral>(param->default_value) && arg.value &&
        !arg.value->type.is_error() && !arg.value->type.is_scalar())
      return false; // `table.sort_by(t, t.x, t.y)`: no answer to `descending`
    if (!param->type || !arg.value) continue;
    Type actual = cx.open.resolved(arg.value->type);
    auto* named = ast::as<ast::NamedType>(param->type);
    if (!named) {
      const auto* tuple = ast::as<ast::TupleType>(param->type);
      const bool is_other = tuple && actual.is_tuple() && actual.elements.size() != tuple->elements.size();
      if (is_other || (!actual.is_tuple() && !actual.is_error())) return false;
      continue;
    }
    auto fits_rank = [&] {
      size_t own = named->dims.size(), rank = actual.rank();
      auto is_spread = [](auto* d) { return ast::as<ast::Spread>(d) != nullptr; };
      auto spread = std::find_if(named->dims.begin(), named->dims.end(), is_spread);
      if (spread != named->dims.end() ? rank + 1 < own : rank != own) return false;
      for (size_t k = 0; k < own; ++k) { // of overloads for 2 and for 4 numbers, the one that fits
        size_t axis = named->dims.begin() + k > spread ? rank - (own - k) : k; // behind `..s` from the end
        if (auto* size = ast::as<ast::IntLiteral>(named->dims[k]);
            size && actual.shape[axis].is_constant() && !actual.shape[axis].is(static_cast<int64_t>(size->value)))
          return false;
      }
      return true;
    };
    auto type_param = std::find_if(info.decl->type_params.begin(), info.decl->type_params.end(),
                                   [&](const ast::TypeParam& p) { return p.name.text == named->name.text; });
    if (auto dtype = dtype_from_name(named->name.text)) {
      const bool fits = by_default ? actual.dtype == *dtype : cx.open.may_be(actual, *dtype);
      if (!actual.is_tensor() || !fits || !fits_rank()) return false;
    } else if (type_param != info.decl->type_params.end() && is_whole(*type_param, *info.decl)) {
      continue;
    } else if (type_param != info.decl->type_params.end()) {
      if (!actual.is_tensor() || !fits_rank()) return false;
      const std::string& bound = type_param->bound.text;
      const DType t = cx.open.resolved(actual).dtype;
      if (!is_of_kind(bound, t)) return false;
    } else if (named->name.text == "List") {
      if (!actual.is_list()) return false;
    } else if (named->name.text == "str" && !actual.is_str())
      return false;
    else if (named->name.text != "str" && !(actual.is_struct() && actual.record->name == named->name.text))
      return false;
  }
  for (const ast::Param& p : params)
    if (!p.default_value && !given.count(p.name.text)) return false;
  return true;
}

static FunctionInfo* choose_overload(Context& cx, const std::vector<FunctionInfo*>& functions, std::vector<Arg>& args,
                                     Span span, const std::string& name) {
  for (Arg& arg : args) {
    check_arg(cx, arg);
    if (arg.value && arg.value->type.is_error()) return nullptr;
  }
  for (const bool by_default : {true, false})
    for (FunctionInfo* function : functions)
      if (accepts(cx, *function, args, by_default)) return function;
  for (const Arg& arg : args) {
    auto has = [&](const FunctionInfo* function) { return has_parameter(*function->decl, arg.name); };
    if (arg.name.empty() || std::any_of(functions.begin(), functions.end(), has)) continue;
    no_parameter(cx, name, arg, functions);
    return nullptr;
  }
  std::vector<std::string> types;
  for (const Arg& arg : args)
    types.push_back(arg.value ? show(cx, arg.value->type) : to_string(*arg.constant));
  std::string hint = column_hint(cx, args);
  if (hint.empty()) hint = foreign_form(name);
  if (hint.empty()) hint = library_form(cx, functions);
  error(cx, "WrongArguments", span, fmt::format("`{}` does not take ({})", name, fmt::join(types, ", ")), hint);
  return nullptr;
}

} // namespace tl::checker

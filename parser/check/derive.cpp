// Derivatives and other transforms of functions: grad, vjp, jvp, vmap and their kin. Which function it is, is known
// when compiling, so that grad(f) is a function like any other: one with the parameters of f, made here, whose body is
// a Derive node around a call of f.
#include "parser/check/derive.h"
#include "parser/check/arguments.h"
#include "parser/check/calls.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/leaves.h"
#include "parser/check/names.h"
#include "parser/check/transforms.h"
#include "parser/check/values.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::checker {

// the function that grad(f) is
static Static transformed_function(Context& cx, Transformed what, Span span);

// ---- what is written ------------------------------------------------------------------------------------------------

std::optional<Static> function_argument(Context& cx, Arg& arg, const std::string& name) {
  if (!arg.value)
    if (auto known = static_of(cx, arg.source); known && known->kind == Static::Kind::Element)
      arg.value = make_expr(typed::UnitExpr{}, arg.span, function_type(cx, conversion_function(known->dtype)));
  arg.value = take(cx, arg);
  const Type type = refresh(cx, *arg.value);
  if (type.is_error()) return std::nullopt;
  if (type.is_function() && !(type.function & kWritten)) return function_of(cx, type);
  error(cx, "TypeMismatch", arg.span, fmt::format("`{}` is of a function, and this is {}", name, show(cx, type)),
        name == "grad" ? "`grad(f)` is a function: the gradient at x is `grad(f)(x)`" : "");
  return std::nullopt;
}

// stop_gradient(x): its floats without a derivative.
static ExprPtr stop_gradient(Context& cx, std::vector<Arg> args, Span span) {
  if (args.size() != 1 || !args[0].name.empty()) {
    error(cx, "WrongArguments", span, "`stop_gradient` takes one value");
    return broken(span);
  }
  typed::Block before;
  ExprPtr held = take(cx, args[0]);
  if (refresh(cx, *held).is_error()) return broken(span);
  cx.open.settle(held->type);
  std::vector<ExprPtr> values;
  values.push_back(shared(cx, std::move(held), before));
  auto stop = [&](const Type& type, bool, std::vector<ExprPtr> leaf) -> ExprPtr {
    if (!type.is_tensor() || !is_float(type.dtype)) return std::move(leaf[0]);
    auto node = make_expr(typed::BuiltinExpr{Builtin::StopGradient}, span, type);
    node->operands.push_back(std::move(leaf[0]));
    return node;
  };
  ExprPtr result = rebuild(cx, std::move(values), span, stop);
  return in_block(std::move(before), std::move(result), span);
}

namespace {

// A transform as it is written: what it says beside the function. Methods return false where something is wrong, which
// they have reported.
struct WrittenTransform {
  Context& cx;
  std::vector<Arg> args;
  const Span span;
  Transformed what;
  const std::string name{info(what.builtin).name};
  typed::Block before{};

  bool of_one_position() const { return what.builtin == Builtin::Jacobian || what.builtin == Builtin::Hessian; }
  bool of_positions() const {
    return what.builtin == Builtin::Grad || what.builtin == Builtin::ValueAndGrad || of_one_position();
  }
  // the parameter that chooses arguments or axes; empty: none
  std::string choice() const { return of_positions() ? "argnums" : what.builtin == Builtin::Vmap ? "axes" : ""; }

  bool take_rule();
  bool take_options(size_t first);
  bool take_aux(const Arg& arg);
  bool take_choice(const Arg& arg);
  void refuse(const Arg& arg);
  std::string call_hint(const std::string& words, const Arg& arg) const;
};

// The derivative of custom_vjp.
bool WrittenTransform::take_rule() {
  if (args.size() < 2) {
    error(cx, "WrongArguments", span, "`custom_vjp` needs a function and its derivative",
          "it is `custom_vjp(f, |x, y, dy| dx)`");
    return false;
  }
  auto rule = function_argument(cx, args[1], name);
  if (!rule) return false;
  evaluate_function(std::move(args[1].value), args[1].span, before);
  what.rule = std::move(*rule);
  return true;
}

bool WrittenTransform::take_options(size_t first) {
  if (!choice().empty()) what.chosen = {0};
  for (size_t i = first; i < args.size(); ++i) {
    const Arg& arg = args[i];
    if (arg.name == "aux" && what.builtin == Builtin::ValueAndGrad) {
      if (!take_aux(arg)) return false;
    } else if (choice().empty() || (arg.name.empty() ? i != first : arg.name != choice())) {
      refuse(arg);
      return false;
    } else if (!take_choice(arg)) {
      return false;
    }
  }
  return true;
}

bool WrittenTransform::take_aux(const Arg& arg) {
  auto known = static_of(cx, arg.source);
  if (!known || known->kind != Static::Kind::Bool) {
    error(cx, "TypeMismatch", arg.span, "`aux` is `true` or `false`, known when the program is compiled");
    return false;
  }
  what.aux = known->number != 0;
  return true;
}

// argnums or axes: a position, or a tuple of them.
bool WrittenTransform::take_choice(const Arg& arg) {
  auto known = static_of(cx, arg.source);
  std::vector<Static> list;
  if (known) list = known->kind == Static::Kind::Tuple ? known->elements : std::vector<Static>{*known};
  bool fine = !list.empty();
  what.chosen.clear();
  for (const Static& one : list) {
    bool none = one.kind == Static::Kind::None && what.builtin == Builtin::Vmap;
    fine = fine && (none || one.kind == Static::Kind::Int);
    what.chosen.push_back(none ? Transformed::kNoAxis : one.number);
  }
  what.one = known && known->kind != Static::Kind::Tuple;
  if (of_positions())
    for (int64_t position : what.chosen)
      fine = fine && position >= 0 && std::count(what.chosen.begin(), what.chosen.end(), position) == 1;
  if (fine && of_one_position() && !what.one) {
    error(cx, "TypeMismatch", arg.span, fmt::format("`argnums` of `{}` is the position of one argument, from 0", name));
    return false;
  }
  if (fine) return true;
  error(cx, "TypeMismatch", arg.span,
        of_positions() ? "`argnums` is the position of an argument, from 0, or a tuple of several"
                       : "`axes` is an axis, `none`, or a tuple of these, one for each argument",
        arg.name.empty() ? call_hint(fmt::format("`{}` gives", name), arg) : "");
  return false;
}

// An argument that a transform does not take: perhaps it is one of the function.
void WrittenTransform::refuse(const Arg& arg) {
  if (arg.name.empty())
    error(cx, "WrongArguments", arg.span,
          fmt::format("`{}` takes a function{}", name, choice().empty() ? "" : " and `" + choice() + "`"),
          call_hint("it gives", arg));
  else
    error(cx, "WrongArguments", arg.name_span, fmt::format("`{}` has no parameter `{}`", name, arg.name),
          choice().empty() ? "" : fmt::format("it takes `{}`", choice()));
}

std::string WrittenTransform::call_hint(const std::string& words, const Arg& arg) const {
  return fmt::format("{} a function: write `{}({})({})`", words, name, source_text(cx, args[0].span),
                     source_text(cx, arg.span));
}

} // namespace

ExprPtr transform_call(Context& cx, Builtin builtin, std::vector<Arg> args, Span span) {
  if (builtin == Builtin::StopGradient) return stop_gradient(cx, std::move(args), span);
  const std::string name(info(builtin).name);
  if (args.empty() || !args[0].name.empty()) {
    error(cx, "WrongArguments", span, fmt::format("`{}` needs a function", name),
          fmt::format("it is `{}`", signature_of(cx, builtin)));
    return broken(span);
  }
  auto function = function_argument(cx, args[0], name);
  if (!function) return broken(span);
  if (builtin == Builtin::Vjp) return vjp_call(cx, std::move(args), span);
  if (builtin == Builtin::Jvp) return jvp_call(cx, std::move(args), span);
  Transformed what;
  what.builtin = builtin;
  what.function = std::move(*function);
  WrittenTransform written{cx, std::move(args), span, std::move(what)};
  evaluate_function(std::move(written.args[0].value), written.args[0].span, written.before);
  const bool has_rule = builtin == Builtin::CustomVjp;
  if (has_rule && !written.take_rule()) return broken(span);
  if (!written.take_options(has_rule ? 2 : 1)) return broken(span);
  if (builtin == Builtin::Hessian) {
    Transformed gradient = written.what;
    gradient.builtin = Builtin::Grad;
    written.what.function = transformed_function(cx, std::move(gradient), span);
    written.what.builtin = Builtin::Jacobian;
  }
  Static made = transformed_function(cx, std::move(written.what), span);
  return in_block(std::move(written.before), make_expr(typed::UnitExpr{}, span, function_type(cx, made)), span);
}

namespace {

// Of a type as it is written: the element types in it, without sizes.
Type written_elements(const ast::TypeExpr* written) {
  if (auto* named = ast::as<ast::NamedType>(written); named && named->module.text.empty())
    if (auto dtype = dtype_from_name(named->name.text)) return Type::scalar(*dtype);
  auto* tuple = ast::as<ast::TupleType>(written);
  if (!tuple) return Type::error();
  Type result = Type::tuple({});
  for (const ast::TypeExpr* element : tuple->elements)
    result.elements.push_back(written_elements(element));
  return result;
}

} // namespace

// What element type an argument takes that is a literal, by the types that the function's parameters have.
Type wanted_elements(const FunctionInfo& info, size_t parameter) {
  if (parameter < info.elements.size()) return info.elements[parameter];
  const auto& params = info.decl->params;
  return parameter < params.size() && params[parameter].type ? written_elements(params[parameter].type) : Type::error();
}

Type wanted_elements(const Static& function, size_t parameter) {
  const auto& functions = function.callable.functions;
  return functions.size() == 1 ? wanted_elements(*functions[0], parameter) : Type::error();
}

// A literal in a value takes the type that is wanted there; everything else is left as it is.
void take_elements(Context& cx, typed::Expr& value, const Type& wanted) {
  auto visit = [&](auto& self, const Type& given, const Type& to) -> void {
    if (given.is_tensor() && given.open && to.is_tensor()) (void)cx.open.unify(given, Type::scalar(to.dtype));
    if (given.is_tuple() && to.is_tuple() && given.elements.size() == to.elements.size())
      for (size_t i = 0; i < to.elements.size(); ++i)
        self(self, given.elements[i], to.elements[i]);
  };
  visit(visit, refresh(cx, value), wanted);
  refresh(cx, value);
}

// The function that the transform of a function is: of the same parameters, where these are known.
static Static transformed_function(Context& cx, Transformed what, Span span) {
  for (const auto& [known, function] : cx.functions.derived)
    if (*known == what) return function;
  cx.functions.transformed.push_back(what);
  const Transformed* kept = &cx.functions.transformed.back();
  Static inner;
  inner.kind = Static::Kind::Function;
  inner.callable.transformed = kept;
  inner.name = fmt::format("{}({})", info(what.builtin).name, what.function.name);
  Static result = inner;
  const auto& functions = what.function.callable.functions;
  if (functions.size() == 1) {
    const FunctionInfo& of = *functions[0];
    auto new_expr = [&](auto node) {
      cx.functions.made->exprs.push_back({span, false, 1, std::move(node)});
      return &cx.functions.made->exprs.back();
    };
    cx.functions.made->functions.emplace_back();
    ast::Function& decl = cx.functions.made->functions.back();
    decl.name = {inner.name, span};
    decl.params = of.decl->params;
    if (what.builtin == Builtin::Vmap)
      for (ast::Param& param : decl.params) {
        param.type = nullptr; // they have one axis more
        if (param.default_value) param.default_value = new_expr(ast::Name{not_given().name});
      }
    else
      decl.type_params = of.decl->type_params;
    ast::Call call;
    call.callee = new_expr(ast::Name{" transformed"});
    for (const ast::Param& param : decl.params)
      call.arguments.push_back({{}, new_expr(ast::Name{param.name.text})});
    decl.body.expression = new_expr(std::move(call));
    SaveAndRestore scope(cx.names.scope, of.env);
    push_scope(cx);
    Entity entity;
    entity.kind = Entity::Kind::Static;
    entity.value = inner;
    entity.span = span;
    enter(cx, " transformed", entity);
    entity.value = not_given();
    enter(cx, not_given().name, std::move(entity));
    cx.functions.declared.emplace_back();
    FunctionInfo& made = cx.functions.declared.back();
    made.decl = &decl;
    made.made = cx.functions.made;
    made.env = cx.names.scope;
    made.parent = of.parent;
    made.id = static_cast<uint32_t>(cx.functions.declared.size());
    made.is_template = of.is_template || what.builtin == Builtin::Vmap;
    made.is_closure = of.is_closure || (what.builtin == Builtin::CustomVjp && is_closure(what.rule));
    made.facts = of.facts;
    if (what.builtin == Builtin::Vmap)
      for (size_t i = 0; i < decl.params.size(); ++i)
        made.elements.push_back(wanted_elements(of, i));
    if (made.is_closure && !of.is_closure) {
      made.parent = cx.function;
      made.is_template = true;
      made.facts = cx.function->facts;
    }
    result.callable = {};
    result.callable.functions.push_back(&made);
  }
  cx.functions.derived.emplace_back(kept, result);
  return result;
}

} // namespace tl::checker

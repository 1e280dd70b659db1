// Calls of functions under a transform: of grad(f), vjp(f), jvp(f), vmap(f), custom_vjp.
#include "parser/check/transforms.h"
#include "parser/check/arguments.h"
#include "parser/check/builtins/shape.h"
#include "parser/check/calls.h"
#include "parser/check/derive.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/leaves.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/structs.h"
#include "parser/check/types.h"
#include "parser/check/values.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::checker {

static ExprPtr derive_gradient(Context& cx, const Transformed& what, std::vector<Arg> args, Span span);

static ExprPtr derive_vmap(Context& cx, const Transformed& what, std::vector<Arg> args, Span span);

namespace {

std::string count_of(size_t n) { return fmt::format("{} argument{}", n, n == 1 ? "" : "s"); }

// The type of f(x) for each of the positions of an axis in front. False: something in it has no such type.
bool add_axis(Type& type, const Size& count) {
  if (type.is_tensor()) {
    type.shape.insert(type.shape.begin(), count);
    return true;
  }
  if (!type.is_aggregate()) return type.is_unit();
  return std::all_of(type.elements.begin(), type.elements.end(), [&](Type& part) { return add_axis(part, count); });
}

bool drop_axis(Type& type) {
  if (type.is_tensor()) {
    if (type.shape.empty()) return false;
    type.shape.erase(type.shape.begin());
    return true;
  }
  if (!type.is_aggregate()) return false;
  return std::all_of(type.elements.begin(), type.elements.end(), [](Type& part) { return drop_axis(part); });
}

// The first tensor in a value.
const Type* first_tensor(const Type& type) {
  if (type.is_tensor()) return &type;
  for (const Type& element : type.elements)
    if (const Type* found = first_tensor(element)) return found;
  return nullptr;
}

} // namespace

// ---- calls ----------------------------------------------------------------------------------------------------------

// under a name that no text has
static Arg bound_arg(Context& cx, const std::string& name, Entity entity, Span span) {
  entity.span = span;
  enter(cx, name, std::move(entity));
  cx.functions.made->exprs.push_back({span, false, 1, ast::Name{name}});
  return {"", &cx.functions.made->exprs.back(), span, {}, nullptr, std::nullopt};
}

// A transform of a call of `function` with these arguments, those of `chosen` positions as its operands.
static ExprPtr derive(Context& cx, typed::Transform transform, const Static& function, std::vector<Arg> args,
                      const std::vector<int64_t>& chosen, Span span) {
  auto node = make_expr(typed::DeriveExpr{transform}, span, Type::error());
  SaveAndRestore scope(cx.names.scope);
  push_scope(cx);
  bool fine = true;
  for (int64_t position : chosen) {
    auto i = static_cast<size_t>(position);
    if (i >= args.size()) {
      error(cx, "WrongArguments", span,
            fmt::format("`{}` has {} here, so there is no argument {}", function.name, count_of(args.size()), i));
      fine = false;
      break;
    }
    ExprPtr value = take(cx, args[i]);
    cx.open.settle(value->type);
    if (value->type.is_error()) {
      fine = false;
      break;
    }
    Entity entity;
    entity.kind = Entity::Kind::Variable;
    const auto* variable = value->get_if<typed::VariableExpr>();
    entity.var = new_variable(cx, variable ? cx.program.variables[variable->var.index].name : "", value->type, false,
                              args[i].span);
    node->as<typed::DeriveExpr>().params.push_back(entity.var);
    node->operands.push_back(std::move(value));
    std::string given = args[i].name;
    args[i] = bound_arg(cx, fmt::format(" x{}", i), std::move(entity), args[i].span);
    args[i].name = std::move(given);
  }
  if (fine) {
    ExprPtr result = call_named(cx, function.callable, function.name, span, std::move(args), span, false, nullptr);
    cx.open.settle(result->type);
    fine = !result->type.is_error();
    node->type = result->type;
    node->as<typed::DeriveExpr>().body.result = std::move(result);
  }
  if (!fine) return broken(span);
  return node;
}

// Of a node that gives a value and the derivatives by its operands.
static Type with_derivatives(const typed::Expr& node) {
  Type whole = Type::tuple({node.type});
  for (const ExprPtr& operand : node.operands)
    whole.elements.push_back(operand->type);
  return whole;
}

// The derivatives in the value of such a node.
static ExprPtr derivatives_in(Context& cx, const typed::Expr& held, size_t count, Span span) {
  auto result = make_expr(typed::TupleExpr{}, span, Type::tuple({}));
  for (size_t i = 1; i <= count; ++i) {
    result->operands.push_back(get_field(copy_part(cx, held), static_cast<uint32_t>(i), span));
    result->type.elements.push_back(result->operands.back()->type);
  }
  return result;
}

// vjp of the arguments, and a cotangent behind them
static ExprPtr derive_vjp(Context& cx, const Transformed& what, std::vector<Arg> args, Span span) {
  ExprPtr seed = take(cx, args.back());
  args.pop_back();
  std::vector<int64_t> all;
  for (size_t i = 0; i < args.size(); ++i)
    all.push_back(static_cast<int64_t>(i));
  ExprPtr node = derive(cx, typed::Transform::Vjp, what.function, std::move(args), all, span);
  if (node->type.is_error()) return node;
  seed = coerce(cx, std::move(seed), what.result, "the cotangent");
  if (seed->type.is_error()) return broken(span);
  cx.open.settle(seed->type);
  Type whole = with_derivatives(*node);
  size_t count = node->operands.size();
  node->operands.push_back(std::move(seed));
  node->type = std::move(whole);
  node->as<typed::DeriveExpr>().without_effects = true;
  typed::Block before;
  ExprPtr held = shared(cx, std::move(node), before);
  ExprPtr result = count == 1 ? get_field(std::move(held), 1, span) : derivatives_in(cx, *held, count, span);
  return in_block(std::move(before), std::move(result), span);
}

static ExprPtr derive_jacobian(Context& cx, const Transformed& what, std::vector<Arg> args, Span span) {
  ExprPtr node = derive(cx, typed::Transform::Jacobian, what.function, std::move(args), what.chosen, span);
  if (node->type.is_error()) return node;
  const Type &x = node->operands[0]->type, y = node->type;
  const Transformed* inner = what.function.callable.transformed;
  if (inner && inner->builtin == Builtin::Grad && !x.is_tensor()) {
    error(cx, "NotDifferentiable", span,
          fmt::format("`hessian`, which is the `jacobian` of a `grad`, is of a function of one tensor of floats; `{}` "
                      "takes {}",
                      inner->function.name, show(cx, x)),
          "flatten what it takes into one tensor, or take `jvp(grad(f), x, v)`: the Hessian times v");
    return broken(span);
  }
  if (!x.is_tensor() || !y.is_tensor() || !is_float(x.dtype) || x.dtype != y.dtype) {
    error(cx, "NotDifferentiable", span,
          fmt::format("`{}` is of a function from a tensor of floats to another of the same type; `{}` takes {} "
                      "and gives {}",
                      info(what.builtin).name, what.function.name, show(cx, x), show(cx, y)));
    return broken(span);
  }
  node->type.shape.insert(node->type.shape.end(), x.shape.begin(), x.shape.end());
  return node;
}

// Checks the arguments; the positions of those that hold floats.
static std::vector<int64_t> trained_positions(Context& cx, std::vector<Arg>& args) {
  std::vector<int64_t> trained;
  for (size_t i = 0; i < args.size(); ++i) {
    check_arg(cx, args[i]);
    if (!args[i].value) continue;
    cx.open.settle(args[i].value->type);
    if (has_trained_leaf(args[i].value->type)) trained.push_back(static_cast<int64_t>(i));
  }
  return trained;
}

static ExprPtr derive_checkpoint(Context& cx, const Transformed& what, std::vector<Arg> args, Span span) {
  std::vector<int64_t> trained = trained_positions(cx, args);
  return derive(cx, typed::Transform::Checkpoint, what.function, std::move(args), trained, span);
}

namespace {

// What the derivative of custom_vjp is called with. Variables are its own where the values are those of the node.
struct RuleArguments {
  std::vector<Arg> list;
  std::vector<VarId> variables;

  // a variable of this type
  void add(Context& cx, const std::string& name, const Type& type, Span at) {
    Entity entity;
    entity.kind = Entity::Kind::Variable;
    entity.var = new_variable(cx, "", type, false, at);
    variables.push_back(entity.var);
    list.push_back(bound_arg(cx, name, std::move(entity), at));
  }
};

// An argument that is not differentiated: one variable for the function and for its derivative.
Entity shared_argument(Context& cx, Arg& arg, typed::Block& before, Span span) {
  Entity entity;
  entity.kind = Entity::Kind::Variable;
  Type type = arg.value->type;
  ExprPtr held = shared(cx, std::move(arg.value), before);
  if (const auto* variable = held->get_if<typed::VariableExpr>()) {
    entity.var = variable->var;
  } else {
    entity.var = new_variable(cx, "", type, false, arg.span);
    before.statements.push_back(let_variable(entity.var, copy_part(cx, *held), span));
  }
  arg.value = std::move(held);
  return entity;
}

} // namespace

// The derivative sees the arguments, the result and its cotangent.
static ExprPtr derive_custom_vjp(Context& cx, const Transformed& what, std::vector<Arg> args, Span span) {
  std::vector<int64_t> trained = trained_positions(cx, args);
  SaveAndRestore scope(cx.names.scope);
  push_scope(cx);
  typed::Block before;
  RuleArguments again;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string name = fmt::format(" again{}", i);
    if (!args[i].value)
      again.list.push_back({"", args[i].source, args[i].span, {}, nullptr, args[i].constant});
    else if (std::count(trained.begin(), trained.end(), static_cast<int64_t>(i)))
      again.add(cx, name, args[i].value->type, args[i].span);
    else
      again.list.push_back(bound_arg(cx, name, shared_argument(cx, args[i], before, span), args[i].span));
  }
  ExprPtr node = derive(cx, typed::Transform::CustomVjp, what.function, std::move(args), trained, span);
  if (node->type.is_error()) return node;
  for (const char* name : {" y", " dy"})
    again.add(cx, name, node->type, span);
  auto& derived = node->as<typed::DeriveExpr>();
  derived.params.insert(derived.params.end(), again.variables.begin(), again.variables.end());
  ExprPtr rule = call_named(cx, what.rule.callable, what.rule.name, span, std::move(again.list), span, false, nullptr);
  if (rule->type.is_error()) return broken(span);
  Type wanted = trained.size() == 1 ? node->operands[0]->type : Type::tuple({});
  if (trained.size() != 1)
    for (const ExprPtr& operand : node->operands)
      wanted.elements.push_back(operand->type);
  rule = coerce(cx, std::move(rule), wanted, "the derivative that `custom_vjp` is given");
  if (rule->type.is_error()) return broken(span);
  cx.open.settle(rule->type);
  derived.rule.emplace().result = std::move(rule);
  return in_block(std::move(before), std::move(node), span);
}

ExprPtr call_transformed(Context& cx, const Transformed& what, std::vector<Arg> args, Span span) {
  switch (what.builtin) {
  case Builtin::Grad:
  case Builtin::ValueAndGrad: return derive_gradient(cx, what, std::move(args), span);
  case Builtin::Vmap: return derive_vmap(cx, what, std::move(args), span);
  case Builtin::Vjp: return derive_vjp(cx, what, std::move(args), span);
  case Builtin::Jacobian: return derive_jacobian(cx, what, std::move(args), span);
  case Builtin::CustomVjp: return derive_custom_vjp(cx, what, std::move(args), span);
  case Builtin::Checkpoint: return derive_checkpoint(cx, what, std::move(args), span);
  default: return broken(span);
  }
}

static ExprPtr derive_gradient(Context& cx, const Transformed& what, std::vector<Arg> args, Span span) {
  const std::string name(info(what.builtin).name);
  ExprPtr node = derive(cx, typed::Transform::Vjp, what.function, std::move(args), what.chosen, span);
  if (node->type.is_error()) return node;
  for (const ExprPtr& operand : node->operands)
    if (!has_trained_leaf(operand->type)) {
      error(
          cx, "NotDifferentiable", operand->span,
          fmt::format("`{}` is taken in an argument of type {}, which holds no floats", name, show(cx, operand->type)),
          "a float is written `3.0`, or made by `f32(x)`; `argnums` says in which argument, counted from 0");
      return broken(span);
    }
  const Type y = node->type;
  bool pair = what.aux && y.is_tuple() && !y.elements.empty();
  const Type& loss = pair ? y.elements[0] : y;
  if ((what.aux && !pair) || !loss.is_scalar() || !is_float(loss.dtype)) {
    std::string hint = "`jacobian` is for functions that give a tensor, `vjp` for all";
    if (loss.is_tensor() && loss.rank() && is_float(loss.dtype)) hint = "take its `sum` or `mean`, or use `jacobian`";
    if (loss.is_tensor() && !is_float(loss.dtype)) hint = "";
    if (!what.aux && y.is_tuple()) hint = "for a loss with more beside it use `value_and_grad(f, aux = true)`";
    error(cx, "NotDifferentiable", span,
          fmt::format("`{}` is of functions that give {}; `{}` gives {}", name,
                      what.aux ? "a tuple of one float and anything else" : "one float", what.function.name,
                      show(cx, y)),
          hint);
    return broken(span);
  }
  size_t count = node->operands.size();
  node->type = with_derivatives(*node);
  typed::Block before;
  ExprPtr held = shared(cx, std::move(node), before);
  ExprPtr gradient = what.one ? get_field(copy_part(cx, *held), 1, span) : derivatives_in(cx, *held, count, span);
  if (what.builtin == Builtin::Grad) return in_block(std::move(before), std::move(gradient), span);
  auto result = make_expr(typed::TupleExpr{}, span, Type::tuple({y, gradient->type}));
  result->operands.push_back(get_field(copy_part(cx, *held), 0, span));
  result->operands.push_back(std::move(gradient));
  return in_block(std::move(before), std::move(result), span);
}

// vjp(f, x…): f(x…), and a function that remembers x….
ExprPtr vjp_call(Context& cx, std::vector<Arg> args, Span span) {
  typed::Block before;
  Transformed what;
  what.builtin = Builtin::Vjp;
  what.function = function_of(cx, args[0].value->type);
  evaluate_function(std::move(args[0].value), args[0].span, before);
  if (args.size() < 2) {
    error(cx, "WrongArguments", span, "`vjp` needs a function and its arguments", "it is `vjp(f, x…)`");
    return broken(span);
  }
  SaveAndRestore scope(cx.names.scope);
  push_scope(cx);
  std::vector<Arg> values;
  ast::Call call;
  auto new_expr = [&](auto node) {
    cx.functions.made->exprs.push_back({span, false, 1, std::move(node)});
    return &cx.functions.made->exprs.back();
  };
  call.callee = new_expr(ast::Name{" transformed"});
  bool trained = false;
  for (size_t i = 1; i < args.size(); ++i) {
    ExprPtr value = take(cx, args[i]);
    take_elements(cx, *value, wanted_elements(what.function, i - 1));
    cx.open.settle(value->type);
    if (value->type.is_error()) {
      return broken(span);
    }
    trained = trained || has_trained_leaf(value->type);
    Entity entity;
    entity.kind = Entity::Kind::Variable;
    entity.var = new_variable(cx, "", value->type, false, args[i].span);
    before.statements.push_back(let_variable(entity.var, std::move(value), args[i].span));
    std::string name = fmt::format(" x{}", i);
    values.push_back(bound_arg(cx, name, std::move(entity), args[i].span));
    call.arguments.push_back({{}, new_expr(ast::Name{name})});
  }
  if (!trained) {
    error(cx, "NotDifferentiable", span, "`vjp` needs an argument that holds floats");
    return broken(span);
  }
  call.arguments.push_back({{}, new_expr(ast::Name{"dy"})});
  ExprPtr y = call_named(cx, what.function.callable, what.function.name, span, std::move(values), span, false, nullptr);
  cx.open.settle(y->type);
  if (y->type.is_error()) {
    return broken(span);
  }
  // Sizes that only the value tells are told once: those of the cotangent are compared with these.
  what.result = y->type;
  y = shared(cx, std::move(y), before);
  cx.functions.transformed.push_back(what);
  Entity entity;
  entity.kind = Entity::Kind::Static;
  entity.value.kind = Static::Kind::Function;
  entity.value.callable.transformed = &cx.functions.transformed.back();
  entity.value.name = fmt::format("vjp({})", what.function.name);
  entity.span = span;
  cx.functions.made->functions.emplace_back();
  ast::Function& decl = cx.functions.made->functions.back();
  decl.name = {entity.value.name, span};
  decl.params.push_back({{"dy", span}, nullptr, nullptr, {}, span});
  decl.body.expression = new_expr(std::move(call));
  enter(cx, " transformed", std::move(entity));
  cx.functions.declared.emplace_back();
  FunctionInfo& made = cx.functions.declared.back();
  made.decl = &decl;
  made.made = cx.functions.made;
  made.env = cx.names.scope;
  made.parent = cx.function;
  made.id = static_cast<uint32_t>(cx.functions.declared.size());
  made.is_template = made.is_closure = true;
  made.facts = cx.function->facts;
  made.elements = {what.result};
  Static back;
  back.kind = Static::Kind::Function;
  back.callable.functions.push_back(&made);
  back.name = decl.name.text;
  Type type = Type::tuple({y->type, function_type(cx, back)});
  auto result = make_expr(typed::TupleExpr{}, span, type);
  result->operands.push_back(std::move(y));
  result->operands.push_back(make_expr(typed::UnitExpr{}, span, type.elements[1]));
  return in_block(std::move(before), std::move(result), span);
}

// jvp(f, (x…), (dx…)): both at once.
ExprPtr jvp_call(Context& cx, std::vector<Arg> args, Span span) {
  if (args.size() != 3) {
    error(cx, "WrongArguments", span, "`jvp` takes a function, its arguments and their tangents",
          "it is `jvp(f, (x…), (dx…))`");
    return broken(span);
  }
  typed::Block before;
  Static function = function_of(cx, args[0].value->type);
  if (!args[0].value->is<typed::UnitExpr, typed::VariableExpr>())
    before.statements.push_back(let_variable({}, std::move(args[0].value), span));
  ExprPtr values[2];
  for (size_t k = 0; k < 2; ++k) {
    values[k] = take(cx, args[k + 1]);
    if (refresh(cx, *values[k]).is_error()) return broken(span);
    if (k == 1) continue;
    Type wanted = wanted_elements(function, 0);
    if (values[0]->type.is_tuple()) {
      wanted = Type::tuple({});
      for (size_t i = 0; i < values[0]->type.elements.size(); ++i)
        wanted.elements.push_back(wanted_elements(function, i));
    }
    take_elements(cx, *values[0], wanted);
    cx.open.settle(values[0]->type);
  }
  std::vector<ExprPtr> parts[2];
  auto is_whole = [](const typed::Expr& value) { return value.type.is_tuple() && !value.is<typed::TupleExpr>(); };
  const bool first_runs_first = is_whole(*values[1]);
  for (size_t k = 0; k < 2; ++k) {
    if (is_whole(*values[k])) {
      ExprPtr held = kept(cx, std::move(values[k]), before);
      for (size_t i = 0; i < held->type.elements.size(); ++i)
        parts[k].push_back(get_field(copy_part(cx, *held), static_cast<uint32_t>(i), span));
    } else if (values[k]->type.is_tuple()) {
      parts[k] = std::move(values[k]->operands);
    } else {
      parts[k].push_back(std::move(values[k]));
    }
    if (k == 0 && first_runs_first)
      for (ExprPtr& part : parts[0])
        part = kept(cx, std::move(part), before);
  }
  if (parts[0].size() != parts[1].size()) {
    error(cx, "WrongArguments", span,
          fmt::format("`jvp` has {} and {} tangent{}", count_of(parts[0].size()), parts[1].size(),
                      parts[1].size() == 1 ? "" : "s"));
    return broken(span);
  }
  std::vector<Arg> list;
  std::vector<int64_t> all;
  std::vector<ExprPtr> tangents;
  for (size_t i = 0; i < parts[0].size(); ++i) {
    Type type = refresh(cx, *parts[0][i]);
    if (type.is_error()) return broken(span);
    ExprPtr tangent = coerce(cx, std::move(parts[1][i]), type, fmt::format("tangent {}", i));
    if (tangent->type.is_error()) return broken(span);
    tangents.push_back(std::move(tangent));
    Span at = parts[0][i]->span;
    list.push_back({"", nullptr, at, {}, std::move(parts[0][i]), std::nullopt});
    all.push_back(static_cast<int64_t>(i));
  }
  ExprPtr node = derive(cx, typed::Transform::Jvp, function, std::move(list), all, span);
  if (node->type.is_error()) return node;
  for (ExprPtr& tangent : tangents)
    node->operands.push_back(std::move(tangent));
  node->type = Type::tuple({node->type, node->type});
  return in_block(std::move(before), std::move(node), span);
}

namespace {

// Is it made of tensors with this axis, which may count from the end?
bool has_axis(const Type& type, int64_t axis) {
  if (type.is_tensor()) {
    auto rank = static_cast<int64_t>(type.rank());
    return axis < rank && axis >= -rank;
  }
  return type.is_aggregate() && !type.elements.empty() &&
         std::all_of(type.elements.begin(), type.elements.end(),
                     [&](const Type& part) { return has_axis(part, axis); });
}

// The sizes of the first axes of the tensors in a value.
void first_sizes(const Type& type, std::vector<Size>& into) {
  if (type.is_tensor()) into.push_back(type.shape[0]);
  for (const Type& part : type.elements)
    first_sizes(part, into);
}

ExprPtr axis_to_front(Context& cx, ExprPtr value, int64_t axis, typed::Block& before, Span span) {
  std::vector<ExprPtr> held;
  held.push_back(shared(cx, std::move(value), before));
  return rebuild(cx, std::move(held), span, [&](const Type& t, bool, std::vector<ExprPtr> leaf) {
    auto rank = static_cast<int64_t>(t.rank());
    std::vector<int64_t> axes{axis < 0 ? axis + rank : axis};
    for (int64_t k = 0; k < rank; ++k)
      if (k != axes[0]) axes.push_back(k);
    return permute_to(cx, std::move(leaf[0]), axes, span);
  });
}

// The arguments of a call of vmap(f) that are mapped over.
struct MappedArguments {
  Context& cx;
  const Span span;
  typed::Block before{};
  std::vector<int64_t> positions{};
  std::optional<Size> count{}; // of what the function is called for

  // Checks an argument, and brings its axis to the front. False: something is wrong, and reported.
  bool add(Arg& arg, size_t position, int64_t axis);
  void no_axis(const Arg& arg, int64_t axis, const Type& type);
  ExprPtr with_count(ExprPtr value, Span at);
  std::vector<ExprPtr> take_values(std::vector<Arg>& args) const;
};

bool MappedArguments::add(Arg& arg, size_t position, int64_t axis) {
  check_arg(cx, arg);
  if (!arg.value || axis == Transformed::kNoAxis) return true;
  cx.open.settle(arg.value->type);
  const Type type = arg.value->type;
  if (type.is_error()) return false;
  if (!has_axis(type, axis)) {
    no_axis(arg, axis, type);
    return false;
  }
  ExprPtr value = std::move(arg.value);
  if (axis != 0) value = axis_to_front(cx, std::move(value), axis, before, span);
  arg.value = with_count(std::move(value), arg.span);
  positions.push_back(static_cast<int64_t>(position));
  return arg.value != nullptr;
}

void MappedArguments::no_axis(const Arg& arg, int64_t axis, const Type& type) {
  const auto* name = ast::as<ast::Name>(arg.source); // of the parameter, as a rule
  error(cx, "TypeMismatch", arg.span,
        fmt::format("`vmap` maps over axis {} of {}, which is {}", axis,
                    name ? fmt::format("`{}`", name->name) : "this argument", show(cx, type)),
        "`axes` says which axis of each argument, or `none` for one that is the same for all");
}

// The value, once its first axes are of the size that those before have; null where they are not, which is reported.
ExprPtr MappedArguments::with_count(ExprPtr value, Span at) {
  auto checked = make_expr(typed::RecastExpr{}, span, value->type);
  std::vector<Size> sizes;
  first_sizes(value->type, sizes);
  std::optional<Size> other; // what it cannot be
  for (const Size& size : sizes) {
    if (!count)
      count = size;
    else if (!require_equal(cx, *count, size, false, "`vmap` maps over axes of equal size, but these have {0} and {1}",
                            at, checked->checks))
      other = size;
  }
  if (other) {
    std::vector<Label> labels{label_of(cx, *value)};
    add_origins(cx, *count, *other, labels);
    error(cx, "ShapeMismatch", at,
          fmt::format("`vmap` maps over axes of equal size: {}", different(cx, *count, *other)),
          "`none` in `axes` stands for an argument that is the same for all", std::move(labels));
    return nullptr;
  }
  if (checked->checks.empty()) return value;
  checked->operands.push_back(std::move(value));
  return checked;
}

// The values with the axis; what is in their place lacks it, as the function sees them.
std::vector<ExprPtr> MappedArguments::take_values(std::vector<Arg>& args) const {
  std::vector<ExprPtr> whole;
  for (int64_t i : positions) {
    Arg& arg = args[static_cast<size_t>(i)];
    whole.push_back(std::move(arg.value));
    arg.value = make_expr(typed::UnitExpr{}, arg.span, whole.back()->type);
    (void)drop_axis(arg.value->type);
  }
  return whole;
}

} // namespace

Static not_given() {
  Static result;
  result.kind = Static::Kind::Function;
  result.name = " not given";
  return result;
}

// Takes those out that are not given. What is behind one is named then. The positions of the others.
static std::vector<size_t> take_given(const Static& function, std::vector<Arg>& args) {
  std::vector<Arg> given;
  std::vector<size_t> positions;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].constant == not_given()) continue;
    if (given.size() < i && args[i].name.empty())
      args[i].name = function.callable.functions[0]->decl->params[i].name.text;
    given.push_back(std::move(args[i]));
    positions.push_back(i);
  }
  args = std::move(given);
  return positions;
}

// Where in a result the first list is: ` in the field `layers``, empty where it is one itself. Nothing without a list.
static std::optional<std::string> list_within(const Context& cx, const Type& type) {
  if (type.is_list()) return "";
  for (size_t i = 0; i < type.elements.size(); ++i) {
    if (!has_list(cx, type.elements[i])) continue;
    const std::string inner = *list_within(cx, type.elements[i]);
    return inner.empty() && type.record ? fmt::format(" in the field `{}`", type.record->fields[i].name) : inner;
  }
  return std::nullopt;
}

static ExprPtr derive_vmap(Context& cx, const Transformed& what, std::vector<Arg> args, Span span) {
  const size_t most = args.size(); // with those that are not given
  for (Arg& arg : args)
    check_arg(cx, arg);
  const std::vector<size_t> given = take_given(what.function, args);
  const size_t axes = what.chosen.size();
  if (!what.one && axes != most && (axes != args.size() || given.back() >= axes)) {
    error(cx, "WrongArguments", span, fmt::format("`vmap` has {} axes for {}", axes, count_of(args.size())));
    return broken(span);
  }
  MappedArguments mapped{cx, span};
  for (size_t i = 0; i < args.size(); ++i)
    if (!mapped.add(args[i], i, what.chosen[what.one ? 0 : given[i]])) return broken(span);
  if (!mapped.count) {
    error(cx, "WrongArguments", span, "`vmap` needs an argument with an axis to map over");
    return broken(span);
  }
  std::vector<ExprPtr> whole = mapped.take_values(args);
  ExprPtr node = derive(cx, typed::Transform::Vmap, what.function, std::move(args), mapped.positions, span);
  if (node->type.is_error()) return node;
  node->operands = std::move(whole);
  node->as<typed::DeriveExpr>().count = *mapped.count;
  Type type = node->type;
  if (!add_axis(type, *mapped.count) || !first_tensor(type)) {
    const auto list = list_within(cx, node->type);
    error(cx, "TypeMismatch", span,
          fmt::format("`vmap` stacks what the function gives, and `{}` gives {}", what.function.name,
                      show(cx, node->type)),
          list ? fmt::format("a list{} is not stacked: `list(f(x[i]) for i in 0..len(x))` keeps each result", *list)
               : "");
    return broken(span);
  }
  node->type = std::move(type);
  return in_block(std::move(mapped.before), std::move(node), span);
}

} // namespace tl::checker

// Sizes as they are written in types.
#include "parser/check/dims.h"
#include "parser/check/expressions.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include <fmt/format.h>

namespace tl::checker {

std::optional<Size> any_size(Context& cx, Span span, DimContext& context) {
  // A size that each element has of its own; list_of numbers it.
  if (context.in_list) return Size::of(size_atom(cx, AtomKind::Element, "_", span));
  if (context.mode == DimMode::Lookup) {
    error(cx, "UnboundSize", span, "`_` stands for any size, and here a size is needed");
    return std::nullopt;
  }
  AtomId id = size_atom(cx, AtomKind::Fresh,
                        context.of.empty() ? "_" : fmt::format("axis {} of {}", context.axis, context.of), span);
  if (context.mode == DimMode::Result) {
    context.fresh->push_back({id, context.path, context.axis});
    cx.sizes.open_results.insert(id);
  } else {
    context.bound->push_back(id);
  }
  return Size::of(id);
}

// What a name means as a size; null: nothing.
static const Entity* meaning_as_size(Context& cx, const std::string& name) {
  bool in_function = false;
  for (const Scope* s = cx.names.scope; s; s = s->parent) {
    in_function = in_function || s->is_function;
    const Entity* found = s->meaning(name, in_function);
    if (!found) continue;
    // What the script's statements bind doesn't take the place of a size's name in a function.
    bool is_binding = found->kind == Entity::Kind::SizeName || found->kind == Entity::Kind::Variable ||
                      found->kind == Entity::Kind::Poisoned;
    if (s->is_file && is_binding && !cx.function->is_top_level) continue;
    return found;
  }
  return nullptr;
}

static std::optional<Size> constant_size(Context& cx, ConstInfo& constant, const std::string& name, Span span) {
  ExprPtr value = const_value(cx, constant, name, span);
  if (value->type.is_error()) return std::nullopt;
  if (auto size = size_of(cx, *value)) return size;
  const Type type = cx.open.resolved(value->type);
  if (type.is_scalar() && type.dtype == DType::I64)
    error(cx, "TypeMismatch", span,
          fmt::format("the value of `{}` is computed after sizes are compared, and a size is part of a type", name),
          "write the number, or a name that the argument binds, and compare that with `assert`",
          {{constant.decl->value->span, "computed here"}});
  else
    error(cx, "TypeMismatch", span, fmt::format("`{}` is {}, and a size is an i64", name, show(cx, type)));
  return std::nullopt;
}

static std::optional<Size> variable_size(Context& cx, VarId var, const std::string& name, Span span) {
  const typed::Variable& v = cx.program.variables[var.index];
  Type type = cx.open.resolved(v.type);
  if (type.is_error()) return std::nullopt;
  if (!type.is_scalar() || type.dtype != DType::I64 || v.is_mutable) {
    error(cx, "TypeMismatch", span,
          v.is_mutable ? fmt::format("`{}` is a `var`, and a size must not change", name)
                       : fmt::format("`{}` is {}, and a size is an i64", name, show(cx, type)),
          v.is_mutable ? fmt::format("`let m = {}` gives the size a name", name) : "");
    return std::nullopt;
  }
  cx.open.settle(cx.program.variables[var.index].type);
  capture(cx, var, span, name);
  if (auto known = cx.sizes.known.find(var); known != cx.sizes.known.end())
    return cx.program.atoms.unwrapped(known->second);
  if (v.atom.valid()) return Size::of(v.atom);
  return std::nullopt;
}

static Size bind_size(Context& cx, AtomId id, const std::string& name, Span span) {
  Entity entity;
  entity.kind = Entity::Kind::SizeName;
  entity.size = Size::of(id);
  entity.span = span;
  enter(cx, name, entity);
  return Size::of(id);
}

static void unbound_size(Context& cx, const std::string& name, Span span, const DimContext& context) {
  if (context.unbound) {
    context.unbound->push_back({name, span});
    return;
  }
  std::string other = did_you_mean(cx, name, false);
  error(cx, "UnboundSize", span, fmt::format("the size `{}` is not bound", name),
        context.mode == DimMode::Result
            ? fmt::format("name it in the shape of a parameter, or write `_` for a size that only the result tells")
        : other.empty() ? ""
                        : fmt::format("did you mean `{}`?", other));
}

// A name: that of a size, or of a constant or variable; else one that is bound here, where a type may bind it.
static std::optional<Size> named_size(Context& cx, const std::string& name, Span span, DimContext& context) {
  if (const Entity* entity = meaning_as_size(cx, name)) {
    switch (entity->kind) {
    case Entity::Kind::SizeName: return entity->size;
    case Entity::Kind::Static:
      if (entity->value.kind == Static::Kind::Int) return Size(entity->value.number);
      break;
    case Entity::Kind::Poisoned: return std::nullopt;
    case Entity::Kind::Const: return constant_size(cx, *entity->constant, name, span);
    case Entity::Kind::Variable: return variable_size(cx, entity->var, name, span);
    default: break;
    }
  }
  if ((context.mode == DimMode::Bind || context.mode == DimMode::Annotation) && !context.in_struct) {
    AtomId id = size_atom(cx, AtomKind::Named, name, span);
    context.bound->push_back(id);
    return bind_size(cx, id, name, span);
  }
  if (context.in_wrapper && !context.in_struct) {
    AtomId id = size_atom(cx, AtomKind::Fresh, name, span);
    context.fresh->push_back({id, context.path, context.axis});
    return bind_size(cx, id, name, span);
  }
  unbound_size(cx, name, span, context);
  return std::nullopt;
}

static std::optional<Size> binary_size(Context& cx, const ast::Binary& node, Span span, DimContext& context) {
  auto a = dim_of(cx, node.left, context), b = dim_of(cx, node.right, context);
  if (!a || !b) return std::nullopt;
  switch (node.op) {
  case ast::BinaryOp::Add: return *a + *b;
  case ast::BinaryOp::Subtract: return *a - *b;
  case ast::BinaryOp::Multiply: return *a * *b;
  case ast::BinaryOp::FloorDivide:
  case ast::BinaryOp::Remainder:
    if (b->is(0)) {
      error(cx, "DivisionByZero", span, "division by zero in a size");
      return std::nullopt;
    }
    return node.op == ast::BinaryOp::FloorDivide ? cx.program.atoms.floor_div(*a, *b) : cx.program.atoms.mod(*a, *b);
  default:
    error(cx, "UnboundSize", node.op_span, fmt::format("a size takes + - * // %, not `{}`", ast::symbol(node.op)));
    return std::nullopt;
  }
}

// Is it min or max of two?
static std::optional<ScalarOp> min_or_max(Context& cx, const ast::Call& call) {
  auto* callee = ast::as<ast::Name>(call.callee);
  auto callable = callee ? find_callable(cx, callee->name, false) : std::nullopt;
  if (!callable || call.arguments.size() != 2) return std::nullopt;
  if (callable->scalar != ScalarOp::Min && callable->scalar != ScalarOp::Max) return std::nullopt;
  return callable->scalar;
}

// A size expression: literals, names, + - * // %, min, max, x.shape[0] and `_`.
std::optional<Size> dim_of(Context& cx, const ast::Expr* e, DimContext& context) {
  if (auto* node = ast::as<ast::IntLiteral>(e)) {
    if (node->value <= uint64_t{INT64_MAX}) return Size(static_cast<int64_t>(node->value));
    error(cx, "LiteralOutOfRange", e->span, fmt::format("{} does not fit in i64", node->value));
    return std::nullopt;
  }
  if (ast::as<ast::Wildcard>(e)) return any_size(cx, e->span, context);
  if (auto* node = ast::as<ast::Name>(e)) return named_size(cx, node->name, e->span, context);
  if (auto* node = ast::as<ast::Binary>(e)) return binary_size(cx, *node, e->span, context);
  if (auto* node = ast::as<ast::Unary>(e); node && node->op == ast::UnaryOp::Negate) {
    auto a = dim_of(cx, node->operand, context);
    if (!a) return std::nullopt;
    return Size(0) - *a;
  }
  if (auto* node = ast::as<ast::Call>(e))
    if (auto op = min_or_max(cx, *node)) {
      auto a = dim_of(cx, node->arguments[0].value, context), b = dim_of(cx, node->arguments[1].value, context);
      if (!a || !b) return std::nullopt;
      return *op == ScalarOp::Min ? cx.program.atoms.min(*a, *b) : cx.program.atoms.max(*a, *b);
    }
  if (ast::as<ast::Subscript>(e) || ast::as<ast::Field>(e) || ast::as<ast::MethodCall>(e)) {
    ExprPtr v = check_value(cx, e);
    if (v->type.is_error()) return std::nullopt;
    if (auto size = size_of(cx, *v)) return cx.program.atoms.unwrapped(*size);
  }
  error(cx, "UnboundSize", e->span, "this is not a size",
        "a size is a literal, a name, `_`, or + - * // % min max of those");
  return std::nullopt;
}

} // namespace tl::checker

// Values that the library computes while it is checked.
#include "parser/check/known.h"
#include "parser/check/calls.h"
#include "parser/check/names.h"
#include <algorithm>

namespace tl::checker {

namespace {

using Kind = Static::Kind;
using Op = ast::BinaryOp;

Static of_bool(bool value) {
  Static result;
  result.kind = Kind::Bool;
  result.number = value;
  return result;
}

Static of_int(int64_t value) {
  Static result;
  result.kind = Kind::Int;
  result.number = value;
  return result;
}

// Nothing where it does not fit, or divides by zero: then it is computed, and fails, when the program runs.
std::optional<Static> of_ints(Op op, int64_t a, int64_t b) {
  int64_t value = 0;
  switch (op) {
  case Op::Less: return of_bool(a < b);
  case Op::LessEqual: return of_bool(a <= b);
  case Op::Greater: return of_bool(a > b);
  case Op::GreaterEqual: return of_bool(a >= b);
  case Op::Add: return __builtin_add_overflow(a, b, &value) ? std::nullopt : std::optional(of_int(value));
  case Op::Subtract: return __builtin_sub_overflow(a, b, &value) ? std::nullopt : std::optional(of_int(value));
  case Op::Multiply: return __builtin_mul_overflow(a, b, &value) ? std::nullopt : std::optional(of_int(value));
  default: return std::nullopt;
  }
}

std::optional<Static> of_binary(Context& cx, const ast::Binary& node) {
  auto a = static_of(cx, node.left);
  if (!a) return std::nullopt;
  if (node.op == Op::And && a->kind == Kind::Bool && !a->number) return a; // the other side need not be known
  if (node.op == Op::Or && a->kind == Kind::Bool && a->number) return a;
  auto b = static_of(cx, node.right);
  if (!b) return std::nullopt;
  if (node.op == Op::And || node.op == Op::Or) return a->kind == Kind::Bool && b->kind == Kind::Bool ? b : std::nullopt;
  const bool plain = a->kind != Kind::Function && b->kind != Kind::Function;
  if (plain && (node.op == Op::Equal || node.op == Op::NotEqual)) return of_bool((*a == *b) == (node.op == Op::Equal));
  if (node.op == Op::Add && a->kind == Kind::Tuple && b->kind == Kind::Tuple) {
    a->elements.insert(a->elements.end(), b->elements.begin(), b->elements.end());
    return a;
  }
  if (a->kind == Kind::Int && b->kind == Kind::Int) return of_ints(node.op, a->number, b->number);
  return std::nullopt;
}

// The type of a variable.
std::optional<Type> type_of_name(Context& cx, const ast::Expr* e) {
  auto* name = ast::as<ast::Name>(e);
  const Entity* entity = name ? find(cx, name->name) : nullptr;
  if (!entity || entity->kind != Entity::Kind::Variable) return std::nullopt;
  return cx.open.resolved(current_type(cx, entity->var));
}

// The type of a tensor that has a name.
std::optional<Type> tensor_type(Context& cx, const ast::Expr* e) {
  auto type = type_of_name(cx, e);
  return type && type->is_tensor() ? type : std::nullopt;
}

// ---- axes

Static of_tuple(const std::vector<int64_t>& numbers) {
  Static result;
  result.kind = Kind::Tuple;
  for (int64_t number : numbers)
    result.elements.push_back(of_int(number));
  return result;
}

// The axes that `axis` means (a number, a tuple, none for all), counted from the first. Nothing if one is not there, or
// stands there twice.
std::optional<std::vector<int64_t>> numbers_of(const Static& axis, int64_t rank) {
  std::vector<int64_t> axes;
  if (axis.kind == Kind::None)
    for (int64_t k = 0; k < rank; ++k)
      axes.push_back(k);
  std::vector<Static> given = axis.elements;
  if (axis.kind == Kind::Int) given = {axis};
  for (const Static& one : given) {
    const int64_t k = one.number < 0 ? one.number + rank : one.number;
    if (one.kind != Kind::Int || k < 0 || k >= rank || std::count(axes.begin(), axes.end(), k)) return std::nullopt;
    axes.push_back(k);
  }
  return axes;
}

std::vector<int64_t> others(const std::vector<int64_t>& axes, int64_t rank) {
  std::vector<int64_t> rest;
  for (int64_t k = 0; k < rank; ++k)
    if (!std::count(axes.begin(), axes.end(), k)) rest.push_back(k);
  return rest;
}

// The order of axes where those of `from` are in the places `to`.
std::optional<Static> moved(const Static& from, const Static& to, int64_t rank) {
  auto source = numbers_of(from, rank), target = numbers_of(to, rank);
  if (!source || !target || source->size() != target->size()) return std::nullopt;
  std::vector<int64_t> rest = others(*source, rank), order;
  auto next = rest.begin();
  for (int64_t k = 0; k < rank; ++k) {
    auto at = std::find(target->begin(), target->end(), k);
    order.push_back(at == target->end() ? *next++ : (*source)[static_cast<size_t>(at - target->begin())]);
  }
  return of_tuple(order);
}

// The axes of one of two tensors over which `tensordot` sums: the last ones of the first and the first ones of the
// second, or those that a tuple has for each.
std::optional<Static> contracted(const Static& axes, int64_t rank, int64_t side) {
  if (axes.kind == Kind::Int) {
    const int64_t first = side == 0 ? rank - axes.number : 0;
    if (axes.number < 0 || axes.number > rank) return std::nullopt;
    std::vector<int64_t> result;
    for (int64_t k = 0; k < axes.number; ++k)
      result.push_back(first + k);
    return of_tuple(result);
  }
  if (axes.kind != Kind::Tuple || axes.elements.size() != 2) return std::nullopt;
  auto result = numbers_of(axes.elements[static_cast<size_t>(side)], rank);
  auto other = numbers_of(axes.elements[static_cast<size_t>(1 - side)], INT32_MAX);
  const auto& pair = axes.elements;
  const size_t counts[] = {pair[0].kind == Kind::Int ? 1 : pair[0].elements.size(),
                           pair[1].kind == Kind::Int ? 1 : pair[1].elements.size()};
  if (!result || !other || counts[0] != counts[1]) return std::nullopt;
  return of_tuple(*result);
}

// A call of a function about axes, whose arguments are known.
std::optional<Static> of_axes_call(Context& cx, const std::string& name, const ast::Call& node) {
  std::vector<Static> args;
  for (const ast::Argument& argument : node.arguments) {
    auto known = static_of(cx, argument.value);
    if (!known) return std::nullopt;
    args.push_back(*known);
  }
  if (args.size() < 2 || args.size() > 3) return std::nullopt;
  const int64_t rank = name == "moved_axes" ? args[2].number : args[1].number;
  if (name == "moved_axes") return moved(args[0], args[1], rank);
  if (name == "contracted_axes") return contracted(args[0], rank, args[2].number);
  auto axes = numbers_of(args[0], rank);
  if (!axes) return std::nullopt;
  return of_tuple(name == "axes_of" ? *axes : others(*axes, rank));
}

// `rank(x)` of a name, `len(t)` of a tuple that is known or of a tensor of a known length, and what is known of axes.
std::optional<Static> of_call(Context& cx, const ast::Call& node) {
  auto* callee = ast::as<ast::Name>(node.callee);
  if (callee && is_about_axes(callee->name)) return of_axes_call(cx, callee->name, node);
  if (!callee || node.arguments.size() != 1 || !node.arguments[0].name.text.empty()) return std::nullopt;
  if (const Entity* entity = find(cx, callee->name); entity && !is_prelude_function(*entity)) return std::nullopt;
  if (callee->name == "len") {
    auto tuple = static_of(cx, node.arguments[0].value);
    if (tuple && tuple->kind == Kind::Tuple) return of_int(static_cast<int64_t>(tuple->elements.size()));
    auto type = type_of_name(cx, node.arguments[0].value);
    if (type && type->is_tensor() && type->rank() > 0 && type->shape[0].is_constant())
      return of_int(type->shape[0].constant());
    if (!type || !type->is_tuple()) return std::nullopt;
    return of_int(static_cast<int64_t>(type->elements.size()));
  }
  if (callee->name != "rank") return std::nullopt;
  auto type = tensor_type(cx, node.arguments[0].value);
  return type ? std::optional(of_int(static_cast<int64_t>(type->rank()))) : std::nullopt;
}

// `t[i]` of a tuple that is known, `x.shape[i]` where that size is.
std::optional<Static> of_subscript(Context& cx, const ast::Subscript& node) {
  if (node.items.size() != 1 || !node.items[0].index) return std::nullopt;
  auto index = static_of(cx, node.items[0].index);
  if (!index || index->kind != Kind::Int) return std::nullopt;
  auto tuple = static_of(cx, node.object);
  if (auto* field = ast::as<ast::Field>(node.object); !tuple && field && field->name.text == "shape")
    if (auto type = tensor_type(cx, field->object)) {
      tuple.emplace();
      tuple->kind = Kind::Tuple;
      for (const Size& size : type->shape)
        tuple->elements.push_back(size.is_constant() ? of_int(size.constant()) : Static());
    }
  if (!tuple || tuple->kind != Kind::Tuple) return std::nullopt;
  const auto count = static_cast<int64_t>(tuple->elements.size());
  const int64_t k = index->number < 0 ? index->number + count : index->number;
  if (k < 0 || k >= count) return std::nullopt;
  const Static& element = tuple->elements[static_cast<size_t>(k)];
  return element.kind == Kind::None ? std::nullopt : std::optional(element);
}

} // namespace

bool is_about_axes(const std::string& name) {
  return name == "axes_of" || name == "axes_but" || name == "moved_axes" || name == "contracted_axes";
}

std::optional<Static> computed_static(Context& cx, const ast::Expr* e) {
  if (auto* node = ast::as<ast::Binary>(e)) {
    if (auto compared = compared_with_none(cx, e)) return compared;
    return of_binary(cx, *node);
  }
  if (auto* node = ast::as<ast::Unary>(e); node && node->op == ast::UnaryOp::Not) {
    auto inner = static_of(cx, node->operand);
    if (!inner || inner->kind != Kind::Bool) return std::nullopt;
    return of_bool(!inner->number);
  }
  if (auto* node = ast::as<ast::If>(e); node && node->else_block) {
    auto holds = static_of(cx, node->condition);
    if (!holds || holds->kind != Kind::Bool) return std::nullopt;
    const ast::Block& chosen = holds->number ? node->then_block : *node->else_block;
    const auto* value =
        chosen.statements.size() == 1 ? std::get_if<ast::ExprStmt>(&chosen.statements[0]->node) : nullptr;
    return value ? static_of(cx, value->value) : std::nullopt;
  }
  if (auto* node = ast::as<ast::Call>(e)) return of_call(cx, *node);
  if (auto* node = ast::as<ast::Subscript>(e)) return of_subscript(cx, *node);
  return std::nullopt;
}

std::optional<Static> compared_with_none(Context& cx, const ast::Expr* e) {
  auto* node = ast::as<ast::Binary>(e);
  if (!node || (node->op != Op::Equal && node->op != Op::NotEqual) || !ast::as<ast::NoneLiteral>(node->right))
    return std::nullopt;
  auto* name = ast::as<ast::Name>(node->left);
  const Entity* entity = name ? find(cx, name->name) : nullptr;
  if (!entity) return std::nullopt;
  const bool is_static = entity->kind == Entity::Kind::Static;
  if (!is_static && entity->kind != Entity::Kind::Variable) return std::nullopt;
  const bool is_none = is_static && entity->value.kind == Kind::None;
  return of_bool(is_none == (node->op == Op::Equal));
}

} // namespace tl::checker

// Nodes of the typed AST: literals, sizes, variables, conversions; values that are computed once and used again.
#include "parser/check/values.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/type_limits.h"
#include <fmt/format.h>
#include <limits>
#include <numbers>

namespace tl::checker {

// a variable that holds it
static ExprPtr held(Context& cx, ExprPtr value, typed::Block& block);

ExprPtr make_expr(typed::ExprData data, Span span, Type type) {
  auto e = std::make_unique<typed::Expr>();
  e->data = std::move(data);
  e->span = span;
  e->type = std::move(type);
  return e;
}

ExprPtr int_value(int64_t value, Span span) {
  return make_expr(typed::LiteralExpr{Scalar::of(value)}, span, Type::scalar(DType::I64));
}

ExprPtr bool_value(bool value, Span span) {
  return make_expr(typed::LiteralExpr{Scalar::of<uint8_t>(value)}, span, Type::scalar(DType::Bool));
}

// The value is written when the type is known (finalize.cpp).
ExprPtr int_literal(Context& cx, uint64_t magnitude, bool negative, Span span) {
  return make_expr(typed::LiteralExpr{Scalar::of(magnitude), LiteralForm::Int, negative}, span,
                   cx.open.new_open(LiteralKind::Int));
}

ExprPtr float_literal(Context& cx, double value, const std::string& text, bool negative, Span span) {
  return make_expr(typed::LiteralExpr{Scalar::of(value), LiteralForm::Float, negative, false, false, text}, span,
                   cx.open.new_open(LiteralKind::Float));
}

ExprPtr number_literal(Context& cx, const ast::FloatLiteral& written, bool negative, Span span) {
  ExprPtr literal = float_literal(cx, written.value, written.text, negative, span);
  if (!written.is_imaginary) return literal;
  literal->as<typed::LiteralExpr>().is_imaginary = true;
  literal->type = cx.open.new_open(LiteralKind::Complex);
  return literal;
}

ExprPtr size_expr(const Size& size, Span span) {
  return make_expr(typed::SizeExpr{size}, span, Type::scalar(DType::I64));
}

ExprPtr variable_value(Context& cx, VarId var, Span span) {
  return make_expr(typed::VariableExpr{var}, span, current_type(cx, var));
}

bool is_simple(const typed::Expr& e) { return e.is<typed::LiteralExpr, typed::SizeExpr, typed::VariableExpr>(); }

ExprPtr copy_simple(const typed::Expr& e) {
  if (const auto* literal = e.get_if<typed::LiteralExpr>()) return make_expr(*literal, e.span, e.type);
  if (const auto* size = e.get_if<typed::SizeExpr>()) return make_expr(*size, e.span, e.type);
  return make_expr(e.as<typed::VariableExpr>(), e.span, e.type);
}

// A value to be used more than once: held by a variable that `block` binds, unless it is simple.
ExprPtr shared(Context& cx, ExprPtr value, typed::Block& block) {
  return is_simple(*value) ? std::move(value) : held(cx, std::move(value), block);
}

ExprPtr kept(Context& cx, ExprPtr value, typed::Block& block) {
  const auto* variable = value->get_if<typed::VariableExpr>();
  bool may_change = variable && cx.program.variables[variable->var.index].is_mutable;
  return is_simple(*value) && !may_change ? std::move(value) : held(cx, std::move(value), block);
}

static ExprPtr held(Context& cx, ExprPtr value, typed::Block& block) {
  VarId var = new_variable(cx, "", refresh(cx, *value), false, value->span);
  typed::Stmt let;
  let.kind = StmtKind::Let;
  let.span = value->span;
  let.pattern.var = var;
  let.value = std::move(value);
  Span span = let.span;
  block.statements.push_back(std::move(let));
  return variable_value(cx, var, span);
}

// The first variable in it that was an integer until an operation made it a float.
static const typed::Expr* made_float(const Context& cx, const typed::Expr& e) {
  const auto* variable = e.get_if<typed::VariableExpr>();
  if (variable && cx.made_float.contains(variable->var)) return &e;
  for (const ExprPtr& operand : e.operands)
    if (const typed::Expr* found = made_float(cx, *operand)) return found;
  return nullptr;
}

std::string integer_hint(Context& cx, const typed::Expr& value, std::vector<Label>& labels) {
  const Type type = cx.open.resolved(value.type);
  if (!type.is_tensor() || !is_float(type.dtype)) return "";
  const typed::Expr* source = made_float(cx, value);
  if (!source) return fmt::format("write `i64({})`", source_text(cx, value.span));
  const std::string name = source_text(cx, source->span);
  labels.push_back(
      {cx.made_float[source->as<typed::VariableExpr>().var], fmt::format("`{}` becomes a float here", name)});
  return fmt::format("write `{}({})` there", name_of(type.dtype), name);
}

// A u64 beyond the i64 is as far off as the last of these: what is out of range stays so.
static ExprPtr at_most_i64(ExprPtr value) {
  const Span span = value->span;
  auto node = make_expr(typed::ScalarExpr{ScalarOp::Min}, span, value->type);
  node->operands.push_back(std::move(value));
  node->operands.push_back(
      make_expr(typed::LiteralExpr{Scalar::of(uint64_t{INT64_MAX})}, span, Type::scalar(DType::U64)));
  return node;
}

// What was cut to that is no end of a range.
static ExprPtr checked_end(Context& cx, ExprPtr end) {
  const Span span = end->span;
  typed::Block before;
  end = shared(cx, std::move(end), before);
  auto node = make_expr(typed::RecastExpr{}, span, end->type);
  const Size size = size_argument(cx, copy_simple(*end), *node, false, "");
  SizeCheck check =
      size_check(cx, size, INT64_MAX - 1, "the numbers of a range are i64, and an end is beyond them", span);
  check.relation = SizeCheck::Relation::AtMost;
  check.kind = "SizeOverflow";
  check.notes.clear();
  node->checks.push_back(std::move(check));
  node->operands.push_back(std::move(end));
  return in_block(std::move(before), std::move(node), span);
}

ExprPtr positions(Context& cx, ExprPtr value) {
  if (refresh(cx, *value).dtype == DType::U64) value = at_most_i64(std::move(value));
  return value->type.dtype == DType::I64 ? std::move(value) : convert(cx, std::move(value), DType::I64);
}

ExprPtr to_i64(Context& cx, ExprPtr value, const std::string& what) {
  Type& type = refresh(cx, *value);
  if (type.is_error()) return value;
  if (type.is_scalar() && cx.open.unify(type, Type::scalar(DType::I64))) {
    refresh(cx, *value);
    return value;
  }
  if (type.is_scalar() && !type.open && is_int(type.dtype)) {
    const Span span = value->span;
    const bool may_be_more = type.dtype == DType::U64 && what != "a seed"; // of which the bits count
    if (may_be_more) value = at_most_i64(std::move(value));
    auto node = make_expr(typed::ConvertExpr{}, span, Type::scalar(DType::I64));
    node->operands.push_back(std::move(value));
    if (may_be_more && what.ends_with("of a range")) return checked_end(cx, std::move(node));
    return node;
  }
  std::vector<Label> labels{label_of(cx, *value)};
  std::string hint = type.is_scalar() ? integer_hint(cx, *value, labels) : "";
  if (what == "a number of repeats" && type.is_tensor() && type.rank() == 1)
    hint = fmt::format("one for each slice goes by name: `counts = {}`", source_text(cx, value->span));
  error(cx, "TypeMismatch", value->span,
        fmt::format("{} is an integer, not {}", what.empty() ? "a size" : what, show(cx, type)), hint,
        std::move(labels));
  value->type = Type::error();
  return value;
}

ExprPtr convert(Context& cx, ExprPtr value, DType target) {
  const Span span = value->span;
  return convert(cx, std::move(value), target, span);
}

ExprPtr convert(Context& cx, ExprPtr value, DType target, Span span) {
  refresh(cx, *value);
  if (value->type.is_error()) return value;
  if (!value->type.is_tensor() || (value->type.dtype == DType::Key) != (target == DType::Key)) {
    error(cx, "TypeMismatch", span, fmt::format("{} cannot be converted to {}", show(cx, value->type), name_of(target)),
          target == DType::Key   ? "`key(seed)` makes a key"
          : value->type.is_str() ? fmt::format("write `parse({}, {})`", name_of(target), source_text(cx, value->span))
                                 : "",
          {label_of(cx, *value)});
    return broken(span);
  }
  if (cx.open.is_complex(value->type) && !is_complex(target)) {
    error(cx, "TypeMismatch", span, fmt::format("{} cannot be converted to {}", show(cx, value->type), name_of(target)),
          fmt::format("`real({0})` is its real part, `abs({0})` its magnitude", source_text(cx, value->span)),
          {label_of(cx, *value)});
    return broken(span);
  }
  // A literal is of that type at once: f64(0.1) is the nearest f64. In f64 what is computed from float literals is too.
  const DType part = part_of(target);
  bool computes = part == DType::F64 && (is_float(value->type.dtype) || is_complex(value->type.dtype));
  auto is_literal = [&](auto& self, const typed::Expr& e) -> bool {
    if (e.is<typed::LiteralExpr>()) return true;
    if (!e.is<typed::TensorLiteralExpr>() && !(computes && e.is<typed::ScalarExpr>())) return false;
    for (const auto& operand : e.operands)
      if (!self(self, *operand)) return false;
    return true;
  };
  if (value->type.open && is_literal(is_literal, *value) && target != DType::Bool &&
      cx.open.unify(value->type, Type::scalar(target))) {
    refresh(cx, *value);
    value->span = span;
    return value;
  }
  // What is open stays so: a conversion says nothing about it, but that f64 loses nothing on the way to f64.
  if (value->type.open && part == DType::F64) cx.open.prefer_f64(value->type);
  if (!value->type.open && value->type.dtype == target) return value;
  auto node = make_expr(typed::ConvertExpr{}, span, value->type);
  node->type.open = 0;
  node->type.dtype = target;
  node->operands.push_back(std::move(value));
  return node;
}

} // namespace tl::checker

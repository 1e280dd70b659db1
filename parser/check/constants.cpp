#include "parser/check/constants.h"
#include "parser/check/sizes.h"
#include "parser/check/values.h"
#include <algorithm>

namespace tl::checker {
namespace {

bool is_written_out(const typed::Expr& e);

bool is_written_out(const typed::Block& block) {
  return std::all_of(
             block.statements.begin(), block.statements.end(),
             [](const typed::Stmt& s) { return s.kind == StmtKind::Let && s.value && is_written_out(*s.value); }) &&
         block.result && is_written_out(*block.result);
}

// Lowering makes the value of these, or something that costs no more than the value would.
bool keeps(Builtin builtin) {
  switch (builtin) {
  case Builtin::Load:
  case Builtin::Full:
  case Builtin::Eye:
  case Builtin::Arange:
  case Builtin::Linspace:
  case Builtin::Key:
  case Builtin::Reshape:
  case Builtin::BroadcastTo: return true;
  default: return false;
  }
}

bool is_written_out(const typed::Expr& e) {
  auto parts = [&] {
    return std::all_of(e.operands.begin(), e.operands.end(),
                       [](const ExprPtr& operand) { return !operand || is_written_out(*operand); });
  };
  if (e.is<typed::UnitExpr, typed::LiteralExpr, typed::StrExpr, typed::VariableExpr, typed::SizeExpr>()) return true;
  if (e.is<typed::TupleExpr, typed::TupleGetExpr, typed::RecastExpr, typed::TensorLiteralExpr, typed::RangeExpr>())
    return parts();
  if (e.is<typed::ScalarExpr, typed::ConvertExpr>()) return e.type.is_scalar() && parts();
  if (const auto* list = e.get_if<typed::ListExpr>()) return list->op == typed::ListOp::Make && parts();
  if (const auto* function = e.get_if<typed::BuiltinExpr>()) return keeps(function->builtin) && parts();
  if (const auto* index = e.get_if<typed::IndexExpr>()) // one element
    return e.type.is_scalar() && parts() &&
           std::all_of(index->subscripts.begin(), index->subscripts.end(),
                       [](const typed::Subscript& s) { return !s.value || is_written_out(*s.value); });
  if (const auto* branches = e.get_if<typed::IfExpr>())
    return e.type.is_scalar() && parts() && is_written_out(branches->then_block) &&
           is_written_out(branches->else_block);
  if (const auto* block = e.get_if<typed::BlockExpr>())
    return block->constant.name.valid() || (e.operands.empty() && is_written_out(block->block));
  return false;
}

ExprPtr computed_part(Context& cx, ExprPtr value, Span name, uint32_t& next) {
  if (value->is<typed::TupleExpr>()) {
    for (ExprPtr& element : value->operands)
      element = computed_part(cx, std::move(element), name, next);
    return value;
  }
  const Type& type = value->type;
  const bool has_value = type.is_tensor() || type.is_str() || type.is_list() || type.is_aggregate();
  if (!has_value || is_written_out(*value) || size_of(cx, *value)) return value;
  const Span span = value->span;
  Type own = type;
  typed::BlockExpr computed;
  computed.block.result = std::move(value);
  computed.constant = {name, next++};
  return make_expr(std::move(computed), span, std::move(own));
}

} // namespace

ExprPtr computed_const(Context& cx, ExprPtr value, Span name) {
  uint32_t next = 0;
  return value->type.is_error() ? std::move(value) : computed_part(cx, std::move(value), name, next);
}

} // namespace tl::checker

#include "ir/lower_function.h"

namespace tl::ir {
namespace {

void walk_subscripts(const std::vector<typed::Subscript>& subscripts, const VisitExpr& on_expr,
                     const VisitStmt& on_stmt) {
  for (const typed::Subscript& s : subscripts)
    if (s.value) walk(*s.value, on_expr, on_stmt);
}

} // namespace

void walk(const typed::Expr& e, const VisitExpr& on_expr, const VisitStmt& on_stmt) {
  if (on_expr && !on_expr(e)) return;
  for (const typed::ExprPtr& operand : e.operands)
    if (operand) walk(*operand, on_expr, on_stmt);
  for (const typed::SizeBind& bind : e.binds)
    walk(*bind.value, on_expr, on_stmt);
  walk_subscripts(e.subscripts, on_expr, on_stmt);
  for (const typed::Block& block : e.blocks)
    walk(block, on_expr, on_stmt);
  for (const typed::ComprehensionIndex& index : e.indices)
    for (const typed::SizeBind& bind : index.binds)
      walk(*bind.value, on_expr, on_stmt);
  if (e.filter) walk(*e.filter, on_expr, on_stmt);
}

void walk(const typed::Stmt& stmt, const VisitExpr& on_expr, const VisitStmt& on_stmt) {
  if (on_stmt && !on_stmt(stmt)) return;
  if (stmt.value) walk(*stmt.value, on_expr, on_stmt);
  for (const typed::Place& place : stmt.targets)
    walk_subscripts(place.subscripts, on_expr, on_stmt);
  walk(stmt.body, on_expr, on_stmt);
  if (stmt.message) walk(*stmt.message, on_expr, on_stmt);
}

void walk(const typed::Block& block, const VisitExpr& on_expr, const VisitStmt& on_stmt) {
  for (const typed::Stmt& stmt : block.statements)
    walk(stmt, on_expr, on_stmt);
  if (block.result) walk(*block.result, on_expr, on_stmt);
}

} // namespace tl::ir

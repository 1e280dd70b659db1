#include "ir/lower_function.h"

namespace tl::ir {
namespace {

using OnExpr = std::function<void(const typed::Expr&)>;
using OnStmt = std::function<void(const typed::Stmt&)>;

void each_bind(const std::vector<typed::SizeBind>& binds, const OnExpr& on_expr) {
  for (const typed::SizeBind& bind : binds)
    if (bind.value) on_expr(*bind.value);
}

void each_subscript(const std::vector<typed::Subscript>& subscripts, const OnExpr& on_expr) {
  for (const typed::Subscript& s : subscripts)
    if (s.value) on_expr(*s.value);
}

template <class Tree> void walk_parts(const Tree& tree, const VisitExpr& on_expr, const VisitStmt& on_stmt) {
  each_part(
      tree, [&](const typed::Expr& e) { walk(e, on_expr, on_stmt); },
      [&](const typed::Stmt& s) { walk(s, on_expr, on_stmt); });
}

} // namespace

void each_part(const typed::Expr& e, const OnExpr& on_expr, const OnStmt& on_stmt) {
  for (const typed::ExprPtr& operand : e.operands)
    if (operand) on_expr(*operand);
  each_bind(e.binds, on_expr);
  each_subscript(e.subscripts, on_expr);
  for (const typed::Block& block : e.blocks)
    each_part(block, on_expr, on_stmt);
  for (const typed::ComprehensionIndex& index : e.indices)
    each_bind(index.binds, on_expr);
  if (e.filter) on_expr(*e.filter);
}

void each_part(const typed::Stmt& stmt, const OnExpr& on_expr, const OnStmt& on_stmt) {
  each_bind(stmt.binds, on_expr);
  for (const typed::Place& place : stmt.targets)
    each_subscript(place.subscripts, on_expr);
  if (stmt.value) on_expr(*stmt.value);
  each_part(stmt.body, on_expr, on_stmt);
  if (stmt.message) on_expr(*stmt.message);
}

void each_part(const typed::Block& block, const OnExpr& on_expr, const OnStmt& on_stmt) {
  for (const typed::Stmt& stmt : block.statements)
    on_stmt(stmt);
  if (block.result) on_expr(*block.result);
}

void walk(const typed::Expr& e, const VisitExpr& on_expr, const VisitStmt& on_stmt) {
  if (!on_expr || on_expr(e)) walk_parts(e, on_expr, on_stmt);
}

void walk(const typed::Stmt& stmt, const VisitExpr& on_expr, const VisitStmt& on_stmt) {
  if (!on_stmt || on_stmt(stmt)) walk_parts(stmt, on_expr, on_stmt);
}

void walk(const typed::Block& block, const VisitExpr& on_expr, const VisitStmt& on_stmt) {
  walk_parts(block, on_expr, on_stmt);
}

} // namespace tl::ir

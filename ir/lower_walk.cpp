#include "ir/lower_function.h"
#include "lang/typed_walk.h"

namespace tl::ir {

void walk(const typed::Expr& e, const VisitExpr& on_expr, const VisitStmt& on_stmt) {
  if (on_expr && !on_expr(e)) return;
  typed::each_part(
      e, [&](const typed::Expr& part) { walk(part, on_expr, on_stmt); },
      [&](const typed::Block& block) { walk(block, on_expr, on_stmt); });
}

void walk(const typed::Stmt& stmt, const VisitExpr& on_expr, const VisitStmt& on_stmt) {
  if (on_stmt && !on_stmt(stmt)) return;
  typed::each_part_of_statement(
      stmt, [&](const typed::Expr& part) { walk(part, on_expr, on_stmt); },
      [&](const typed::Block& block) { walk(block, on_expr, on_stmt); });
}

void walk(const typed::Block& block, const VisitExpr& on_expr, const VisitStmt& on_stmt) {
  for (const typed::Stmt& stmt : block.statements)
    walk(stmt, on_expr, on_stmt);
  if (block.result) walk(*block.result, on_expr, on_stmt);
}

} // namespace tl::ir

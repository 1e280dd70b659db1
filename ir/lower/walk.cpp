#include "ir/lower/function.h"
#include "lang/typed_walk.h"

namespace tl::ir {
namespace {

using OnExpr = std::function<void(const typed::Expr&)>;
using OnStmt = std::function<void(const typed::Stmt&)>;

template <class Tree> void walk_parts(const Tree& tree, const VisitExpr& on_expr, const VisitStmt& on_stmt) {
  each_child(
      tree, [&](const typed::Expr& e) { walk(e, on_expr, on_stmt); },
      [&](const typed::Stmt& s) { walk(s, on_expr, on_stmt); });
}

} // namespace

void each_child(const typed::Expr& e, const OnExpr& on_expr, const OnStmt& on_stmt) {
  typed::each_part(e, on_expr, [&](const typed::Block& block) { each_child(block, on_expr, on_stmt); });
}

void each_child(const typed::Stmt& stmt, const OnExpr& on_expr, const OnStmt& on_stmt) {
  typed::each_part_of_statement(stmt, on_expr, [&](const typed::Block& block) { each_child(block, on_expr, on_stmt); });
}

void each_child(const typed::Block& block, const OnExpr& on_expr, const OnStmt& on_stmt) {
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

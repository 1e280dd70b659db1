// Code that never runs, and conditions that are always the same.
#include "parser/lint/rules.h"
#include <algorithm>
#include <optional>

namespace tl::lint {
namespace {

// Of a condition that says so itself.
std::optional<bool> constant(const ast::Expr* e) {
  if (const auto* literal = ast::as<ast::BoolLiteral>(e)) return literal->value;
  if (const auto* unary = ast::as<ast::Unary>(e); unary && unary->op == ast::UnaryOp::Not) {
    const auto value = constant(unary->operand);
    return value ? std::optional(!*value) : std::nullopt;
  }
  const auto* binary = ast::as<ast::Binary>(e);
  if (!binary || (binary->op != ast::BinaryOp::And && binary->op != ast::BinaryOp::Or)) return std::nullopt;
  const bool decides = binary->op == ast::BinaryOp::Or; // whatever the other side is
  const auto left = constant(binary->left), right = constant(binary->right);
  if (left == decides || right == decides) return decides;
  return left && right ? std::optional(!decides) : std::nullopt;
}

bool leaves(const ast::Stmt& s);
bool leaves(const ast::Block& block) {
  return std::any_of(block.statements.begin(), block.statements.end(), [](const ast::Stmt* s) { return leaves(*s); });
}

// Does a `break` of the loop with this body stand in it?
bool breaks(const std::vector<ast::Stmt*>& body) {
  bool found = false;
  const std::function<void(const ast::Stmt&)> statement = [&](const ast::Stmt& s) {
    found = found || ast::as<ast::Break>(s);
    if (ast::as<ast::For>(s) || ast::as<ast::While>(s) || ast::as<ast::Function>(s)) return;
    std::function<void(const ast::Expr*)> expr = [&](const ast::Expr* e) {
      ast::each_part(*e, expr, [&](const ast::Block& inner) {
        for (const ast::Stmt* part : inner.statements)
          statement(*part);
      });
    };
    ast::each_part(s, expr, [&](const ast::Block& inner) {
      for (const ast::Stmt* part : inner.statements)
        statement(*part);
    });
  };
  for (const ast::Stmt* s : body)
    statement(*s);
  return found;
}

// Does nothing run behind it?
bool leaves(const ast::Stmt& s) {
  if (ast::as<ast::Return>(s) || ast::as<ast::Break>(s) || ast::as<ast::Continue>(s)) return true;
  if (const auto* loop = ast::as<ast::While>(s))
    return constant(loop->condition) == true && !breaks(loop->body.statements);
  if (const auto* on = ast::as<ast::On>(s)) return leaves(on->body);
  const auto* value = ast::as<ast::ExprStmt>(s);
  const auto* branches = value ? ast::as<ast::If>(value->value) : nullptr;
  return branches && branches->else_block && leaves(branches->then_block) && leaves(*branches->else_block);
}

bool declares(const ast::Stmt& s) {
  return ast::as<ast::Function>(s) || ast::as<ast::Struct>(s) || ast::as<ast::Const>(s) || ast::as<ast::Import>(s);
}

void check_block(const std::vector<ast::Stmt*>& statements, Diagnostics& diagnostics) {
  auto last = std::find_if(statements.begin(), statements.end(), [](const ast::Stmt* s) { return leaves(*s); });
  if (last == statements.end()) return;
  auto dead = std::find_if(last + 1, statements.end(), [](const ast::Stmt* s) { return !declares(*s); });
  if (dead == statements.end()) return;
  diagnostics.warning("UnreachableCode", (*dead)->span, "this never runs", "remove it",
                      {{(*last)->span.length() > 0 ? (*last)->span : (*dead)->span, "nothing gets past this"}});
}

void check_condition(const ast::Expr* condition, const char* dead, const char* always, Diagnostics& diagnostics) {
  if (const auto value = constant(condition))
    diagnostics.warning("ConstantCondition", condition->span,
                        *value ? "this condition is always true" : "this condition is always false",
                        *value ? always : dead);
}

} // namespace

void unreachable_code(const Names& names, Diagnostics& diagnostics) {
  each_block(names.input.file,
             [&](const std::vector<ast::Stmt*>& statements) { check_block(statements, diagnostics); });
  Visitor visitor;
  visitor.on_expr = [&](const ast::Expr& e) {
    if (const auto* branches = ast::as<ast::If>(e))
      check_condition(branches->condition, "remove the branch, which never runs",
                      branches->else_block ? "keep the first branch alone" : "remove the `if` around its block",
                      diagnostics);
    if (const auto* comprehension = ast::as<ast::Comprehension>(e); comprehension && comprehension->filter)
      check_condition(comprehension->filter, "nothing is left", "remove the condition", diagnostics);
  };
  visitor.on_stmt = [&](const ast::Stmt& s) {
    const auto* loop = ast::as<ast::While>(s);
    if (loop && constant(loop->condition) == false)
      check_condition(loop->condition, "remove the loop, which never runs", "", diagnostics);
  };
  visitor.walk(names.input.file.statements);
}

} // namespace tl::lint

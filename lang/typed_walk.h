// What is in a node of the typed AST. Every walk of it is made of the first two, so that none forgets a part:
// literals get their types, called functions are found, effects are seen wherever an expression may be.
#pragma once
#include "lang/typed.h"
#include <functional>

namespace tl::typed {

// The expressions and blocks right inside of `e`. Expr may be const.
template <class Expr, class OnExpr, class OnBlock>
void each_part(Expr& e, const OnExpr& on_expr, const OnBlock& on_block) {
  for (auto& operand : e.operands)
    if (operand) on_expr(*operand);
  for (auto& bind : e.binds)
    on_expr(*bind.value);
  for (auto& subscript : e.subscripts)
    if (subscript.value) on_expr(*subscript.value);
  for (auto& index : e.indices)
    for (auto& bind : index.binds)
      on_expr(*bind.value);
  if (e.filter) on_expr(*e.filter);
  for (auto& block : e.blocks)
    on_block(block);
}

// The same of a statement.
template <class Stmt, class OnExpr, class OnBlock>
void each_part_of_statement(Stmt& s, const OnExpr& on_expr, const OnBlock& on_block) {
  for (auto& place : s.targets)
    for (auto& subscript : place.subscripts)
      if (subscript.value) on_expr(*subscript.value);
  if (s.value) on_expr(*s.value);
  on_block(s.body);
  if (s.message) on_expr(*s.message);
}

// Every size that `e` itself mentions, not those of its parts: a part may mention a size that is in none of its
// own expressions.
template <class OnSize> void each_size(const Expr& e, const OnSize& on_size) {
  on_size(e.size);
  for (const Size& size : e.size_args)
    on_size(size);
  for (const Size& size : e.sizes)
    on_size(size);
  auto of_type = [&](auto& self, const Type& type) -> void {
    for (const Size& size : type.shape)
      on_size(size);
    for (const Type& element : type.elements)
      self(self, element);
  };
  of_type(of_type, e.type);
  for (const Join& join : e.joins)
    of_type(of_type, join.type);
  for (const SizeCheck& check : e.checks)
    on_size(check.a), on_size(check.b);
  for (const Subscript& s : e.subscripts)
    on_size(s.start), on_size(s.length);
  for (const ComprehensionIndex& index : e.indices)
    on_size(index.lo), on_size(index.hi);
}

// Calls on_expr and on_stmt for every node below, parents first.
struct Walker {
  std::function<void(const Expr&)> on_expr;
  std::function<void(const Stmt&)> on_stmt;

  void walk(const Expr& e) const {
    on_expr(e);
    each_part(
        e, [&](const Expr& part) { walk(part); }, [&](const Block& block) { walk(block); });
  }
  void walk(const Stmt& s) const {
    on_stmt(s);
    each_part_of_statement(
        s, [&](const Expr& part) { walk(part); }, [&](const Block& block) { walk(block); });
  }
  void walk(const Block& block) const {
    for (const Stmt& s : block.statements)
      walk(s);
    if (block.result) walk(*block.result);
  }
};

} // namespace tl::typed

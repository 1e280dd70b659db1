// What is in a node of the syntax tree. Walks of it are made of these two, so that none forgets a part; what binds
// a name (Comprehension, Lambda, Let, For) is the walk's own business, if names matter to it.
#pragma once
#include "lang/ast.h"

namespace tl::ast {

// The expressions and blocks right inside of `e`, in the order of the text.
template <class OnExpr, class OnBlock> void each_part(const Expr& e, const OnExpr& on_expr, const OnBlock& on_block) {
  auto maybe = [&](const Expr* part) {
    if (part) on_expr(part);
  };
  auto arguments = [&](const std::vector<Argument>& list) {
    for (const Argument& argument : list)
      on_expr(argument.value);
  };
  std::visit(
      [&](const auto& node) {
        using T = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<T, StringLiteral>) {
          for (const StringPart& part : node.parts)
            maybe(part.value);
        } else if constexpr (std::is_same_v<T, Tuple> || std::is_same_v<T, ListLiteral>) {
          for (const Expr* element : node.elements)
            on_expr(element);
        } else if constexpr (std::is_same_v<T, Comprehension>) {
          on_expr(node.element);
          for (const IndexClause& clause : node.clauses)
            maybe(clause.range);
          maybe(node.filter);
        } else if constexpr (std::is_same_v<T, Unary>) {
          on_expr(node.operand);
        } else if constexpr (std::is_same_v<T, Binary>) {
          on_expr(node.left);
          on_expr(node.right);
        } else if constexpr (std::is_same_v<T, Range>) {
          on_expr(node.first);
          on_expr(node.last);
        } else if constexpr (std::is_same_v<T, Call>) {
          on_expr(node.callee);
          arguments(node.arguments);
        } else if constexpr (std::is_same_v<T, MethodCall>) {
          on_expr(node.receiver);
          arguments(node.arguments);
        } else if constexpr (std::is_same_v<T, Field>) {
          on_expr(node.object);
        } else if constexpr (std::is_same_v<T, Subscript>) {
          on_expr(node.object);
          for (const SubscriptItem& item : node.items)
            for (const Expr* part : {item.index, item.first, item.last, item.step})
              maybe(part);
        } else if constexpr (std::is_same_v<T, If>) {
          on_expr(node.condition);
          on_block(node.then_block);
          if (node.else_block) on_block(*node.else_block);
        } else if constexpr (std::is_same_v<T, Lambda>) {
          for (const Param& param : node.params)
            maybe(param.default_value);
          maybe(node.body.expression);
          if (node.body.block) on_block(*node.body.block);
        } else {
          static_assert(std::is_same_v<T, IntLiteral> || std::is_same_v<T, FloatLiteral> ||
                            std::is_same_v<T, BoolLiteral> || std::is_same_v<T, NoneLiteral> ||
                            std::is_same_v<T, Name> || std::is_same_v<T, Wildcard> || std::is_same_v<T, Spread>,
                        "a kind of expression whose parts are not given");
        }
      },
      e.node);
}

// The same of a statement.
template <class OnExpr, class OnBlock> void each_part(const Stmt& s, const OnExpr& on_expr, const OnBlock& on_block) {
  auto maybe = [&](const Expr* part) {
    if (part) on_expr(part);
  };
  std::visit(
      [&](const auto& node) {
        using T = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<T, ExprStmt> || std::is_same_v<T, Const> || std::is_same_v<T, Return> ||
                      std::is_same_v<T, Let>) {
          maybe(node.value);
        } else if constexpr (std::is_same_v<T, Assign>) {
          on_expr(node.target);
          on_expr(node.value);
        } else if constexpr (std::is_same_v<T, For>) {
          for (const IndexClause& clause : node.clauses)
            maybe(clause.range);
          on_block(node.body);
        } else if constexpr (std::is_same_v<T, While>) {
          on_expr(node.condition);
          on_block(node.body);
        } else if constexpr (std::is_same_v<T, Assert>) {
          on_expr(node.condition);
          maybe(node.message);
        } else if constexpr (std::is_same_v<T, On>) {
          on_expr(node.device);
          on_block(node.body);
        } else if constexpr (std::is_same_v<T, Function>) {
          for (const Param& param : node.params)
            maybe(param.default_value);
          maybe(node.body.expression);
          if (node.body.block) on_block(*node.body.block);
        } else if constexpr (std::is_same_v<T, Test>) {
          on_block(node.body);
        } else {
          static_assert(std::is_same_v<T, Break> || std::is_same_v<T, Continue> || std::is_same_v<T, Struct> ||
                            std::is_same_v<T, Import>,
                        "a kind of statement whose parts are not given");
        }
      },
      s.node);
}

} // namespace tl::ast

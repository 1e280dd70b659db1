// The names that a function mentions.
#include "parser/check/free_names.h"
#include <fmt/format.h>

namespace tl::checker {

namespace {

// The names that syntax mentions, for whatever they stand.
struct NameCollector {
  std::set<std::string>& names;

  void operator()(const ast::Body& body) {
    if (body.expression) (*this)(body.expression);
    if (body.block) (*this)(*body.block);
  }
  void operator()(const ast::Block& block) {
    for (const ast::Stmt* s : block.statements)
      (*this)(s);
  }
  void clauses(const std::vector<ast::IndexClause>& list) {
    for (const ast::IndexClause& clause : list)
      if (clause.range) (*this)(clause.range);
  }
  void operator()(const ast::Stmt* s) {
    std::visit(
        [&](const auto& node) {
          using T = std::decay_t<decltype(node)>;
          if constexpr (std::is_same_v<T, ast::ExprStmt> || std::is_same_v<T, ast::Const> ||
                        std::is_same_v<T, ast::Return> || std::is_same_v<T, ast::Let>) {
            if (node.value) (*this)(node.value);
          } else if constexpr (std::is_same_v<T, ast::Assign>)
            (*this)(node.target), (*this)(node.value);
          else if constexpr (std::is_same_v<T, ast::For>)
            clauses(node.clauses), (*this)(node.body);
          else if constexpr (std::is_same_v<T, ast::While>)
            (*this)(node.condition), (*this)(node.body);
          else if constexpr (std::is_same_v<T, ast::Assert>) {
            (*this)(node.condition);
            if (node.message) (*this)(node.message);
          } else if constexpr (std::is_same_v<T, ast::On>)
            (*this)(node.device), (*this)(node.body);
          else if constexpr (std::is_same_v<T, ast::Function>)
            (*this)(node.body);
        },
        s->node);
  }
  void operator()(const ast::Expr* e) {
    std::visit(
        [&](const auto& node) {
          using T = std::decay_t<decltype(node)>;
          if constexpr (std::is_same_v<T, ast::Name>)
            names.insert(node.name);
          else if constexpr (std::is_same_v<T, ast::StringLiteral>) {
            for (const auto& part : node.parts)
              if (part.value) (*this)(part.value);
          } else if constexpr (std::is_same_v<T, ast::Tuple> || std::is_same_v<T, ast::ListLiteral>) {
            for (const ast::Expr* element : node.elements)
              (*this)(element);
          } else if constexpr (std::is_same_v<T, ast::Comprehension>) {
            (*this)(node.element), clauses(node.clauses);
            if (node.filter) (*this)(node.filter);
          } else if constexpr (std::is_same_v<T, ast::Unary>)
            (*this)(node.operand);
          else if constexpr (std::is_same_v<T, ast::Binary>)
            (*this)(node.left), (*this)(node.right);
          else if constexpr (std::is_same_v<T, ast::Range>)
            (*this)(node.first), (*this)(node.last);
          else if constexpr (std::is_same_v<T, ast::Call> || std::is_same_v<T, ast::MethodCall>) {
            if constexpr (std::is_same_v<T, ast::Call>)
              (*this)(node.callee);
            else
              (*this)(node.receiver), names.insert(node.name.text);
            for (const auto& argument : node.arguments)
              (*this)(argument.value);
          } else if constexpr (std::is_same_v<T, ast::Field>)
            (*this)(node.object);
          else if constexpr (std::is_same_v<T, ast::Subscript>) {
            (*this)(node.object);
            for (const auto& item : node.items)
              for (const ast::Expr* part : {item.index, item.first, item.last, item.step})
                if (part) (*this)(part);
          } else if constexpr (std::is_same_v<T, ast::If>) {
            (*this)(node.condition), (*this)(node.then_block);
            if (node.else_block) (*this)(*node.else_block);
          } else if constexpr (std::is_same_v<T, ast::Lambda>)
            (*this)(node.body);
        },
        e->node);
  }
};

} // namespace

std::set<std::string> names_in(const ast::Body& body) {
  std::set<std::string> names;
  NameCollector{names}(body);
  return names;
}

} // namespace tl::checker

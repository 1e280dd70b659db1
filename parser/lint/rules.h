// What the rules share: the names of a file, found by their places. Each rule is one function.
#pragma once
#include "lang/ast_walk.h"
#include "parser/lint/lint.h"
#include <string>
#include <string_view>
#include <unordered_map>

namespace tl::lint {

class Names {
public:
  explicit Names(const Input& input);

  const Input& input;
  const Index& index;
  // What the name at this place means; null: it is declared elsewhere, built in, or no name.
  const Symbol* meaning(Span name) const;
  const Symbol* declared(Span span) const; // at this place in the file
  // The function of the prelude that an expression names, as written; "" if it names none.
  std::string_view library_function(const ast::Expr* callee) const;
  bool is_at_top(const Symbol& symbol) const { return symbol.extent.end == UINT32_MAX; }

private:
  std::unordered_map<uint32_t, const Symbol*> symbols_; // by the begin of their name
  std::unordered_map<uint32_t, const Mention*> mentions_;
};

// Names that their author has marked: nothing is said of them.
inline bool is_marked(std::string_view name) { return name.empty() || name.front() == '_'; }
// The variable that an assignment changes: `p` of `p.w[i] += 1`; null: `_` or a tuple.
const ast::Expr* root_of(const ast::Expr* target);
// Calls `act` with each block of the file, in and around others.
void each_block(const ast::File& file, const std::function<void(const std::vector<ast::Stmt*>&)>& act);
// Each expression and statement of the file, the outer ones first.
struct Visitor {
  std::function<void(const ast::Expr&)> on_expr;
  std::function<void(const ast::Stmt&)> on_stmt;
  void walk(const ast::Expr& e) const;
  void walk(const ast::Stmt& s) const;
  void walk(const std::vector<ast::Stmt*>& statements) const;
};

void unused_names(const Names& names, Diagnostics& diagnostics);        // UnusedName, UnusedImport
void unchanged_variables(const Names& names, Diagnostics& diagnostics); // UnchangedVariable
void hidden_names(const Names& names, Diagnostics& diagnostics);        // HiddenName
void unreachable_code(const Names& names, Diagnostics& diagnostics);    // UnreachableCode, ConstantCondition
void reused_keys(const Names& names, Diagnostics& diagnostics);         // ReusedKey
void unfinished_timings(const Names& names, Diagnostics& diagnostics);  // UnfinishedWork

} // namespace tl::lint

// What the grammar's actions call: hands out tokens, builds nodes, checks what a grammar cannot say, words the
// messages.
#pragma once
#include "lang/ast.h"
#include "parser/syntax/parse.h"
#include "parser/syntax/token.h"

namespace tl::syntax {

// `so_far` grown to hold `next`; one that is empty so far takes the place of `next`.
Span extend(Span so_far, Span next);

class Driver {
public:
  Driver(const SourceManager& sources, FileId file, Diagnostics& diagnostics, const ParseOptions& options,
         TokenList tokens);

  int next(Grammar::semantic_type* value, Span* location);
  // Reports that the last token cannot be where it is, and finds where a `recovery` can continue.
  void syntax_error(const std::vector<Kind>& expected);
  bool wants_more_errors() const { return diagnostics_.left_out() == 0; }
  // After a syntax error, whatever token the parser still held (and clears): hands out from the end of the statement.
  // False: give up, the parser is stuck.
  bool resume();
  // The same from the next block of the broken header; an empty one is inserted if it has none.
  bool resume_at_block();

  // Building. Spans are those of the whole node.
  template <class Node> ast::Expr* expr(Span span, Node node);
  template <class Node> ast::Stmt* statement(Span span, Node node);
  template <class Node> ast::TypeExpr* type(Span span, Node node);
  ast::Ident ident(const Token* token) const { return {token->text, token->span}; }
  ast::Expr* name(const Token* token);
  ast::Expr* floating(const Token* token);
  uint64_t integer(const Token* token) const { return token->integer; }
  ast::Expr* binary(Span span, ast::BinaryOp op, Span op_span, ast::Expr* left, ast::Expr* right);
  ast::Expr* compare(Span span, ast::BinaryOp op, Span op_span, ast::Expr* left, ast::Expr* right);
  ast::Expr* call(Span span, ast::Expr* callee, std::vector<ast::Argument> arguments);
  ast::Expr* parenthesize(Span span, ast::Expr* inner);
  ast::Expr* tensor_comprehension(Span span, ast::Expr* element, std::vector<ast::IndexClause> clauses,
                                  ast::Expr* filter);
  ast::Expr* missing(Span span); // stands for what could not be read
  ast::Block else_if(ast::Expr* inner);
  ast::Block block(Span span, std::vector<ast::Stmt*> statements);
  ast::Pattern* pattern(ast::Ident name);
  ast::Pattern* pattern(Span span, std::vector<ast::Pattern*> elements);
  ast::StringPart text_part(const Token* token) const;
  ast::StringPart value_part(Span span, ast::Expr* value, const Token* format) const;
  Span slice_span(Span whole, Span colon) const { return whole.length() ? whole : colon; }
  std::vector<ast::Argument> ordered(std::vector<ast::Argument> arguments);
  ast::Stmt* assign(Span span, ast::Expr* target, std::optional<ast::BinaryOp> op, Span op_span, ast::Expr* value);
  ast::Stmt* loop(Span span, std::vector<ast::IndexClause> clauses, ast::Block body);
  ast::Stmt* function(Span span, ast::Function function, bool is_export); // null after a broken header
  ast::Stmt* import(Span span, ast::Ident module, ast::Ident alias);
  ast::Stmt* import(Span span, ast::Expr* path, ast::Ident alias);
  ast::Stmt* test(Span span, ast::Expr* name, ast::Block body);
  std::optional<ast::StructField> marked_field(Span span, const ast::Ident& mark, ast::Ident name, ast::TypeExpr* type);
  // The `##` comment above what begins here, or behind it on its line.
  std::string doc(Span span) const;
  void finish(std::vector<ast::Stmt*> statements);

  ast::File take() { return std::move(result_); }

private:
  void error(std::string kind, Span span, std::string message, std::string hint = {}, std::vector<Label> labels = {}) {
    diagnostics_.error(std::move(kind), span, std::move(message), std::move(hint), std::move(labels));
  }
  bool allowed_depth(int depth, Span span);
  void check_target(const ast::Expr& target, bool compound);
  std::string plain_string(const ast::Expr& string, const char* what);
  std::string_view text(const Token& token) const { return sources_.text(token.span); }
  std::string describe(const Token& token) const;
  std::string hint_for(size_t index, const std::vector<Kind>& expected) const;
  int find_header(size_t index) const;
  bool in_struct(size_t index) const;
  std::optional<std::string> foreign_header(size_t brace) const;
  std::string import_hint(size_t index) const;
  std::string header_colon_hint(size_t index) const;
  std::string type_text(size_t first) const;
  std::string result_hint(size_t first) const;
  bool is_dictionary(size_t brace) const;
  bool ends_statement(size_t index, int level) const;
  size_t statement_end(size_t index) const;
  size_t block_begin(size_t index) const;

  const SourceManager& sources_;
  Diagnostics& diagnostics_;
  ParseOptions options_;
  std::vector<Token> tokens_;
  Docs docs_;
  size_t next_ = 0;               // index of the token to hand out next
  size_t error_index_ = SIZE_MAX; // of the token of the last syntax error
  int errors_here_ = 0;           // how many in a row at that token
  int inserted_ = 0;              // tokens of empty blocks that are to be handed out first
  size_t last_index_ = 0;         // of the token handed out last, or behind the block inserted last
  size_t last_end_ = SIZE_MAX;    // the end of the statement that the last syntax error is in
  bool too_deep_ = false;
  ast::File result_;
};

} // namespace tl::syntax

// Syntax tree and tokens -> document. The tree says what is what; the tokens are taken one after the other as the tree
// is walked, so that no comment between two of them is lost.
#pragma once
#include "lang/ast.h"
#include "parser/format/doc.h"
#include "parser/syntax/token.h"

namespace tl::syntax {

class FormatWriter {
public:
  FormatWriter(const SourceManager& sources, FileId file, const TokenList& tokens);

  const Doc* file(const ast::File& file);

private:
  using Parts = std::vector<const Doc*>;

  // ---- tokens and comments (writer.cpp) ----
  const Token& peek() const { return tokens_[next_]; }
  bool at(Kind kind) const { return peek().kind == kind; }
  bool skip(Kind kind);       // a token that is printed as text where it belongs, or left out
  const Doc* take(Kind kind); // the next token, with the comments before and behind it
  const Doc* take();          // the same, whatever it is
  const Doc* string();        // a whole string literal, as it is
  const Doc* with_comments(std::string text, uint32_t begin, uint32_t end);
  bool newline_before(uint32_t offset) const; // is it the first on its line?
  bool blank_before(uint32_t offset) const;
  bool breaks_next() const { return newline_before(peek().span.begin); }
  std::string clean(Span span) const;
  void own_lines(Parts& parts, uint32_t before, bool& first); // comments on lines of their own
  void drop(int count) { next_ += static_cast<size_t>(count); }
  int redundant_parens(const ast::Expr& e) const;

  // ---- lists and blocks ----
  // `open a, b close`: on one line, or each element on a line of its own and a comma behind the last.
  template <class T, class F>
  const Doc* list(Kind open, const std::vector<T>& elements, Kind close, F element, bool one_tuple = false);
  const Doc* bracketed(const Doc* open, Parts inside, const Doc* comma, Kind close, bool broken);
  const Doc* block(const ast::Block& block);
  void statements(const std::vector<ast::Stmt*>& all, Parts& parts, bool& first, uint32_t end);
  bool must_break(const ast::Block& block) const;
  void block_parts(const ast::Block& block, bool broken, Parts& parts);

  // ---- expressions (expressions.cpp) ----
  const Doc* expr(const ast::Expr& e);
  const Doc* inner(const ast::Expr& e);
  const Doc* operands(const ast::Expr& e, bool indented = false); // `indented`: already, as the first line is
  const Doc* tight(const ast::Expr& e);                           // arithmetic without spaces
  const Doc* size(const ast::Expr& e);                            // products without spaces
  const Doc* chain(const ast::Expr& e);
  const Doc* arguments(const std::vector<ast::Argument>& all);
  const Doc* argument(const ast::Argument& a);
  const Doc* subscripts(const std::vector<ast::SubscriptItem>& items);
  const Doc* elements(const std::vector<ast::Expr*>& all);
  const Doc* comprehension(const ast::Comprehension& c);
  const Doc* clauses(const std::vector<ast::IndexClause>& all);
  const Doc* if_expr(const ast::If& e);
  bool if_breaks(const ast::If& e) const;
  void if_parts(const ast::If& e, bool broken, Parts& parts);
  const Doc* lambda(const ast::Lambda& l);
  bool hugs(const ast::Expr& e) const;  // breaks well inside itself
  const Doc* value(const ast::Expr& e); // behind the `=` just taken

  // ---- types, patterns, statements (statements.cpp) ----
  const Doc* type(const ast::TypeExpr& t);
  const Doc* type_inner(const ast::TypeExpr& t);
  const Doc* pattern(const ast::Pattern& p);
  const Doc* annotation(const ast::TypeExpr* t);
  const Doc* type_params(const std::vector<ast::TypeParam>& all);
  const Doc* param(const ast::Param& p);
  const Doc* name() { return take(NAME); }
  const Doc* statement(const ast::Stmt& s);
  const Doc* form(const ast::ExprStmt& s);
  const Doc* form(const ast::Let& s);
  const Doc* form(const ast::Const& s);
  const Doc* form(const ast::Assign& s);
  const Doc* form(const ast::For& s);
  const Doc* form(const ast::While& s);
  const Doc* form(const ast::Break& s);
  const Doc* form(const ast::Continue& s);
  const Doc* form(const ast::Return& s);
  const Doc* form(const ast::Assert& s);
  const Doc* form(const ast::On& s);
  const Doc* form(const ast::Function& s);
  const Doc* form(const ast::Struct& s);
  const Doc* form(const ast::Import& s);
  const Doc* form(const ast::Test& s);
  const Doc* field(const ast::StructField& f);

  const SourceManager& sources_;
  std::string_view text_;
  const std::vector<Token>& tokens_;
  std::vector<size_t> closing_; // by index of an opening bracket: that of its closing one
  std::vector<Span> comments_;
  size_t next_ = 0, next_comment_ = 0;
  DocArena docs_;
};

template <class T, class F>
const Doc* FormatWriter::list(Kind open, const std::vector<T>& elements, Kind close, F element, bool one_tuple) {
  const Doc* first = take(open);
  if (elements.empty() && at(close)) return docs_.concat({first, take(close)});
  bool broken = breaks_next();
  Parts inside{docs_.soft_line()};
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i) {
      inside.push_back(docs_.text(","));
      inside.push_back(docs_.line());
    }
    inside.push_back(element(elements[i]));
    skip(COMMA);
  }
  return bracketed(first, std::move(inside), one_tuple ? docs_.text(",") : docs_.if_broken(","), close, broken);
}

} // namespace tl::syntax

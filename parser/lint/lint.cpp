#include "parser/lint/lint.h"
#include "parser/lint/rules.h"

namespace tl::lint {

Names::Names(const Input& all) : input(all), index(all.index) {
  for (const Symbol& symbol : index.symbols)
    symbols_.emplace(symbol.span.begin, &symbol);
  for (const Mention& mention : index.mentions)
    mentions_.emplace(mention.span.begin, &mention);
}

const Symbol* Names::declared(Span span) const {
  if (span.file != input.file.id) return nullptr;
  const auto it = symbols_.find(span.begin);
  return it == symbols_.end() || it->second->span != span ? nullptr : it->second;
}

const Symbol* Names::meaning(Span name) const {
  const auto it = mentions_.find(name.begin);
  return it == mentions_.end() || it->second->span != name ? nullptr : declared(it->second->symbol);
}

std::string_view Names::library_function(const ast::Expr* callee) const {
  const auto* name = ast::as<ast::Name>(callee);
  if (!name) return {};
  const auto it = mentions_.find(callee->span.begin);
  const bool is_own =
      it != mentions_.end() && it->second->symbol.valid() && it->second->symbol.file != input.prelude.id;
  return is_own ? std::string_view() : name->name;
}

const ast::Expr* root_of(const ast::Expr* target) {
  for (;;) {
    if (const auto* field = ast::as<ast::Field>(target))
      target = field->object;
    else if (const auto* subscript = ast::as<ast::Subscript>(target))
      target = subscript->object;
    else
      return ast::as<ast::Name>(target) ? target : nullptr;
  }
}

void Visitor::walk(const ast::Expr& e) const {
  if (on_expr) on_expr(e);
  ast::each_part(e, [&](const ast::Expr* part) { walk(*part); }, [&](const ast::Block& b) { walk(b.statements); });
}

void Visitor::walk(const ast::Stmt& s) const {
  if (on_stmt) on_stmt(s);
  ast::each_part(s, [&](const ast::Expr* part) { walk(*part); }, [&](const ast::Block& b) { walk(b.statements); });
}

void Visitor::walk(const std::vector<ast::Stmt*>& statements) const {
  for (const ast::Stmt* s : statements)
    walk(*s);
}

void each_block(const ast::File& file, const std::function<void(const std::vector<ast::Stmt*>&)>& act) {
  const std::function<void(const std::vector<ast::Stmt*>&)> block = [&](const std::vector<ast::Stmt*>& statements) {
    act(statements);
    std::function<void(const ast::Expr*)> expr = [&](const ast::Expr* e) {
      ast::each_part(*e, expr, [&](const ast::Block& inner) { block(inner.statements); });
    };
    for (const ast::Stmt* s : statements)
      ast::each_part(*s, expr, [&](const ast::Block& inner) { block(inner.statements); });
  };
  block(file.statements);
}

void warn(const Input& input, Diagnostics& diagnostics) {
  const Names names(input);
  unused_names(names, diagnostics);
  unchanged_variables(names, diagnostics);
  hidden_names(names, diagnostics);
  unreachable_code(names, diagnostics);
  reused_keys(names, diagnostics);
  unfinished_timings(names, diagnostics);
}

} // namespace tl::lint

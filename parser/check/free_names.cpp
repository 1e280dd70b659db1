// The names that a function mentions.
#include "parser/check/free_names.h"
#include "lang/ast_walk.h"

namespace tl::checker {

static void collect_names(const ast::Block& block, std::set<std::string>& names);

static void collect_names(const ast::Expr* e, std::set<std::string>& names) {
  if (auto* name = ast::as<ast::Name>(e)) names.insert(name->name);
  if (auto* method = ast::as<ast::MethodCall>(e)) names.insert(method->name.text);
  ast::each_part(
      *e, [&](const ast::Expr* part) { collect_names(part, names); },
      [&](const ast::Block& part) { collect_names(part, names); });
}

static void collect_names(const ast::Block& block, std::set<std::string>& names) {
  for (const ast::Stmt* s : block.statements)
    ast::each_part(
        *s, [&](const ast::Expr* part) { collect_names(part, names); },
        [&](const ast::Block& part) { collect_names(part, names); });
}

std::set<std::string> names_in(const ast::Body& body) {
  std::set<std::string> names;
  if (body.expression) collect_names(body.expression, names);
  if (body.block) collect_names(*body.block, names);
  return names;
}

} // namespace tl::checker

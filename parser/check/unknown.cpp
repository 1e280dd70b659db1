#include "parser/check/unknown.h"
#include "parser/check/foreign_names.h"
#include "parser/check/names.h"
#include <fmt/format.h>

namespace tl::checker {

const ast::Name* unknown_root(const Context& cx, const ast::Expr* e) {
  while (auto* field = ast::as<ast::Field>(e))
    e = field->object;
  auto* name = ast::as<ast::Name>(e);
  if (!name || find(cx, name->name) || cx.names.builtins.count(name->name) || dtype_from_name(name->name))
    return nullptr;
  const bool is_constant = name->name == "pi" || name->name == "e" || name->name == "inf" || name->name == "nan";
  return is_constant ? nullptr : name;
}

void unknown_module(Context& cx, const std::string& name, const std::string& member, Span span) {
  const auto hint = is_foreign_module(name) ? member_hint(member) : std::nullopt;
  if (!hint) return unknown_name(cx, name, span, false);
  error(cx, "UnknownName", span, fmt::format("there is no name `{}` here", name), *hint);
}

} // namespace tl::checker

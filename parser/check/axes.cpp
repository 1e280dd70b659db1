// The axes that an index of a comprehension subscripts, which tell its range.
#include "parser/check/axes.h"
#include "lang/ast_walk.h"
#include "parser/check/expressions.h"
#include "parser/check/names.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

void pattern_names(const ast::Pattern& p, std::set<std::string>& into) {
  if (p.kind == ast::Pattern::Kind::Name) into.insert(p.name);
  for (const ast::Pattern* element : p.elements)
    pattern_names(*element, into);
}

// The names less those that a pattern gives to something else.
static void shadow(const ast::Pattern& p, std::set<std::string>& names) {
  std::set<std::string> inner;
  pattern_names(p, inner);
  for (const std::string& name : inner)
    names.erase(name);
}

static bool mentions(const ast::Block& b, std::set<std::string> names) {
  for (const ast::Stmt* s : b.statements) {
    if (auto* node = ast::as<ast::ExprStmt>(s)) {
      if (mentions(node->value, names)) return true;
    } else if (auto* let = ast::as<ast::Let>(s)) {
      if (mentions(let->value, names)) return true;
      shadow(*let->pattern, names);
    } else {
      return true; // other statements do not occur in what is asked about; be careful
    }
  }
  return false;
}

bool mentions(const ast::Expr* e, const std::set<std::string>& names) {
  if (auto* node = ast::as<ast::Name>(e)) return names.count(node->name) != 0;
  if (auto* node = ast::as<ast::Comprehension>(e)) {
    std::set<std::string> inner = names;
    for (const auto& clause : node->clauses) {
      if (clause.range && mentions(clause.range, inner)) return true;
      shadow(*clause.pattern, inner);
    }
    return mentions(node->element, inner) || (node->filter && mentions(node->filter, inner));
  }
  if (auto* node = ast::as<ast::Lambda>(e)) {
    std::set<std::string> inner = names;
    for (const ast::Param& param : node->params)
      inner.erase(param.name.text);
    return node->body.block ? mentions(*node->body.block, inner) : mentions(node->body.expression, inner);
  }
  bool found = false;
  ast::each_part(
      *e, [&](const ast::Expr* part) { found = found || mentions(part, names); },
      [&](const ast::Block& part) { found = found || mentions(part, names); });
  return found;
}

// The axes that the bare index subscripts in one subscript expression.
static void axes_of(Context& cx, const ast::Subscript& s, const std::string& index, const std::set<std::string>& bound,
                    Axes& out) {
  std::vector<size_t> at;
  size_t ellipsis = s.items.size();
  for (size_t i = 0; i < s.items.size(); ++i) {
    if (s.items[i].kind == ast::SubscriptItem::Kind::Ellipsis) ellipsis = i;
    if (s.items[i].kind != ast::SubscriptItem::Kind::Index) continue;
    if (auto* name = ast::as<ast::Name>(s.items[i].index); name && name->name == index) at.push_back(i);
  }
  if (at.empty() || mentions(s.object, bound)) return;
  // The type of the value, checked on the side.
  Snapshot before = snapshot(cx);
  size_t first_new_atom = cx.program.atoms.size();
  ExprPtr base = check_expr(cx, s.object);
  Type type = cx.open.resolved(base->type);
  rollback(cx, before);
  if (type.is_error()) { // it says itself what is wrong
    check_expr(cx, s.object);
    out.wrong = true;
  }
  if (!type.is_tensor()) return;
  std::vector<AtomId> atoms;
  for (const Size& size : type.shape)
    cx.program.atoms.collect(size, atoms);
  if (std::any_of(atoms.begin(), atoms.end(), [&](AtomId atom) { return atom.index >= first_new_atom; })) {
    base = shared(cx, check_expr(cx, s.object), out.around);
    type = cx.open.resolved(base->type);
    if (base->is<typed::VariableExpr>()) {
      cx.held[s.object] = base->as<typed::VariableExpr>().var;
      out.held.push_back(s.object);
    }
  }
  for (size_t i : at) {
    size_t axis = 0;
    auto consumes = [&](size_t k) { return s.items[k].kind != ast::SubscriptItem::Kind::NewAxis ? 1u : 0u; };
    if (i < ellipsis) {
      for (size_t k = 0; k < i; ++k)
        axis += consumes(k);
    } else {
      size_t after = 0;
      for (size_t k = i; k < s.items.size(); ++k)
        after += consumes(k);
      if (after > type.rank()) continue;
      axis = type.rank() - after;
    }
    if (axis < type.rank()) out.found.push_back({type.shape[axis], s.items[i].span, source_text(cx, s.object->span)});
  }
}

void find_axes(Context& cx, const ast::Block& b, const std::string& index, std::set<std::string>& bound, Axes& out) {
  std::set<std::string> inner = bound;
  for (const ast::Stmt* s : b.statements) {
    if (auto* node = ast::as<ast::ExprStmt>(s))
      find_axes(cx, node->value, index, inner, out);
    else if (auto* let = ast::as<ast::Let>(s)) {
      find_axes(cx, let->value, index, inner, out);
      std::set<std::string> names;
      pattern_names(*let->pattern, names);
      if (names.count(index)) return; // another thing has the name now
      inner.insert(names.begin(), names.end());
    } else if (auto* assign = ast::as<ast::Assign>(s)) {
      find_axes(cx, assign->target, index, inner, out);
      find_axes(cx, assign->value, index, inner, out);
    } else if (auto* assertion = ast::as<ast::Assert>(s)) {
      find_axes(cx, assertion->condition, index, inner, out);
    } else if (auto* loop = ast::as<ast::While>(s)) {
      find_axes(cx, loop->condition, index, inner, out);
      find_axes(cx, loop->body, index, inner, out);
    } else if (auto* loop = ast::as<ast::For>(s)) {
      std::set<std::string> names, in_loop = inner;
      for (const auto& clause : loop->clauses) {
        if (clause.range && !names.count(index)) find_axes(cx, clause.range, index, in_loop, out);
        pattern_names(*clause.pattern, names);
        in_loop.insert(names.begin(), names.end());
      }
      if (!names.count(index)) find_axes(cx, loop->body, index, in_loop, out);
    }
  }
}

void find_axes(Context& cx, const ast::Expr* e, const std::string& index, std::set<std::string>& bound, Axes& out) {
  if (auto* node = ast::as<ast::Comprehension>(e)) {
    std::set<std::string> inner = bound;
    for (const auto& clause : node->clauses) {
      if (clause.range) find_axes(cx, clause.range, index, inner, out);
      std::set<std::string> names;
      pattern_names(*clause.pattern, names);
      if (names.count(index)) return; // shadowed
      inner.insert(names.begin(), names.end());
    }
    find_axes(cx, node->element, index, inner, out);
    if (node->filter) find_axes(cx, node->filter, index, inner, out);
    return;
  }
  if (auto* node = ast::as<ast::Lambda>(e)) {
    std::set<std::string> inner = bound;
    for (const ast::Param& param : node->params) {
      if (param.name.text == index) return; // shadowed
      inner.insert(param.name.text);
    }
    if (node->body.expression) find_axes(cx, node->body.expression, index, inner, out);
    if (node->body.block) find_axes(cx, *node->body.block, index, inner, out);
    return;
  }
  if (auto* node = ast::as<ast::Subscript>(e)) axes_of(cx, *node, index, bound, out);
  ast::each_part(
      *e, [&](const ast::Expr* part) { find_axes(cx, part, index, bound, out); },
      [&](const ast::Block& part) { find_axes(cx, part, index, bound, out); });
}

} // namespace tl::checker

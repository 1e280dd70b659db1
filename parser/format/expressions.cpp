// Expressions -> documents.
#include "parser/format/writer.h"
#include <fmt/format.h>
#include <stdexcept>

namespace tl::syntax {

using namespace ast;

namespace {

// Operators of one level of precedence are in one group.
int level(BinaryOp op) {
  switch (op) {
  case BinaryOp::Or: return 1;
  case BinaryOp::And: return 2;
  case BinaryOp::Equal:
  case BinaryOp::NotEqual:
  case BinaryOp::Less:
  case BinaryOp::LessEqual:
  case BinaryOp::Greater:
  case BinaryOp::GreaterEqual: return 3;
  case BinaryOp::Add:
  case BinaryOp::Subtract: return 4;
  case BinaryOp::Power: return 6;
  default: return 5;
  }
}

bool is_link(const Expr& e) { return as<Call>(e) || as<MethodCall>(e) || as<Field>(e) || as<Subscript>(e); }

const Expr* receiver(const Expr& e) {
  if (const Call* n = as<Call>(e)) return n->callee;
  if (const MethodCall* n = as<MethodCall>(e)) return n->receiver;
  if (const Field* n = as<Field>(e)) return n->object;
  return as<Subscript>(e)->object;
}

// A number or name: many of them share a line of a list.
bool is_small(const Expr& e) {
  if (e.parenthesized) return false;
  if (const Unary* n = as<Unary>(e)) return n->op == UnaryOp::Negate && is_small(*n->operand);
  return as<IntLiteral>(e) || as<FloatLiteral>(e) || as<BoolLiteral>(e) || as<Name>(e);
}

// The `if` right behind the `else`: its block has no braces of its own.
const If* else_if(const If& e) {
  const Stmt* only = e.else_block->statements.size() == 1 ? e.else_block->statements[0] : nullptr;
  const ExprStmt* value = as<ExprStmt>(only);
  const If* next = value ? as<If>(value->value) : nullptr;
  return next && e.else_block->span == value->value->span ? next : nullptr;
}

bool has_block(const Expr& e) {
  const Lambda* lambda = as<Lambda>(e);
  return lambda && lambda->body.block;
}

} // namespace

// ---- parentheses ---------------------------------------------------------------------------------------------------

// Pairs of parentheses around the whole of e: those that are its own syntax (of a tuple) left out.
int FormatWriter::redundant_parens(const Expr& e) const {
  if (!e.parenthesized) return 0;
  int count = 0;
  size_t open = next_;
  uint32_t end = e.span.end;
  while (tokens_[open].kind == LPAREN && tokens_[closing_[open]].span.end == end) {
    ++count;
    if (tokens_[open + 1].kind != LPAREN || closing_[open + 1] + 1 != closing_[open]) break;
    ++open;
    end = tokens_[closing_[open]].span.end;
  }
  return as<Tuple>(e) ? count - 1 : count;
}

const Doc* FormatWriter::expr(const Expr& e) {
  int parens = redundant_parens(e);
  if (parens == 0) return inner(e);
  const Doc* open = take(LPAREN);
  bool broken = breaks_next();
  for (int i = 1; i < parens; ++i)
    skip(LPAREN);
  const Doc* inside = inner(e);
  for (int i = 1; i < parens; ++i)
    skip(RPAREN);
  return docs_.group(
      docs_.concat({open, docs_.nest(docs_.concat({docs_.soft_line(), inside})), docs_.soft_line(), take(RPAREN)}),
      broken);
}

const Doc* FormatWriter::inner(const Expr& e) {
  if (as<StringLiteral>(e)) return string();
  if (is_link(e)) return chain(e);
  if (as<Binary>(e)) return operands(e);
  if (as<Spread>(e)) {
    const Doc* dots = take(DOTDOT);
    return docs_.concat({dots, name()});
  }
  if (const Tuple* n = as<Tuple>(e))
    return list(LPAREN, n->elements, RPAREN, [this](const Expr* x) { return expr(*x); }, n->elements.size() == 1);
  if (const ListLiteral* n = as<ListLiteral>(e)) return elements(n->elements);
  if (const Comprehension* n = as<Comprehension>(e)) return comprehension(*n);
  if (const Unary* n = as<Unary>(e)) {
    const Doc* op = take();
    if (n->op == UnaryOp::Not) op = docs_.concat({op, docs_.text(" ")});
    return docs_.concat({op, expr(*n->operand)});
  }
  if (const Range* n = as<Range>(e)) {
    const Doc* first = tight(*n->first);
    const Doc* op = take(DOTDOT);
    return docs_.concat({first, op, tight(*n->last)});
  }
  if (const If* n = as<If>(e)) return if_expr(*n);
  if (const Lambda* n = as<Lambda>(e)) return lambda(*n);
  return take(); // one token: a number, name, word or `_`
}

// ---- operators -----------------------------------------------------------------------------------------------------

const Doc* FormatWriter::operands(const Expr& e, bool indented) {
  const Binary* top = as<Binary>(e);
  int of = level(top->op);
  // The left spine: a + b - c.
  std::vector<const Binary*> spine;
  const Expr* left = &e;
  while (const Binary* b = as<Binary>(left)) {
    if (level(b->op) != of || (left != &e && left->parenthesized) || (of == 6 && left != &e)) break;
    spine.push_back(b);
    left = b->left;
  }
  const Doc* first = expr(*left);
  Parts rest;
  bool broken = false;
  for (size_t i = spine.size(); i-- > 0;) {
    rest.push_back(docs_.text(" "));
    rest.push_back(take());
    broken = broken || breaks_next();
    rest.push_back(docs_.line());
    rest.push_back(expr(*spine[i]->right));
  }
  const Doc* others = docs_.concat(std::move(rest));
  return docs_.group(docs_.concat({first, indented ? others : docs_.nest(others)}), broken);
}

// `2*n+1` in a range or slice: what binds closer than `..` and `:` looks it.
const Doc* FormatWriter::tight(const Expr& e) {
  const Binary* b = as<Binary>(e);
  if (!b || e.parenthesized || level(b->op) < 4) return expr(e);
  const Doc* left = tight(*b->left);
  const Doc* op = take();
  return docs_.concat({left, op, tight(*b->right)});
}

// `2*n + 1` in the shape of a type.
const Doc* FormatWriter::size(const Expr& e) {
  const Binary* b = as<Binary>(e);
  if (!b || e.parenthesized || level(b->op) != 4) return tight(e);
  const Doc* left = size(*b->left);
  const Doc* op = take();
  return docs_.concat({left, docs_.text(" "), op, docs_.text(" "), size(*b->right)});
}

// ---- calls, fields, subscripts -------------------------------------------------------------------------------------

const Doc* FormatWriter::chain(const Expr& e) {
  std::vector<const Expr*> links;
  const Expr* base = &e;
  while (is_link(*base) && (base == &e || !base->parenthesized)) {
    links.push_back(base);
    base = receiver(*base);
  }
  const Doc* first = expr(*base);
  Parts rest;
  int calls = 0;
  bool broken = false;
  for (size_t i = links.size(); i-- > 0;) {
    const Expr& link = *links[i];
    if (const Call* n = as<Call>(link)) {
      rest.push_back(arguments(n->arguments));
    } else if (const Subscript* n = as<Subscript>(link)) {
      rest.push_back(subscripts(n->items));
    } else {
      const MethodCall* call = as<MethodCall>(link);
      bool on_new_line = breaks_next();
      broken = broken || on_new_line;
      if (call || on_new_line) rest.push_back(docs_.soft_line());
      calls += call != nullptr;
      rest.push_back(take(DOT));
      rest.push_back(name());
      if (call) rest.push_back(arguments(call->arguments));
    }
  }
  if (calls < 2 && !broken) { // nothing to line up: breaks inside its brackets
    std::erase_if(rest, [](const Doc* d) { return d->kind == Doc::Kind::SoftLine; });
    rest.insert(rest.begin(), first);
    return docs_.concat(std::move(rest));
  }
  return docs_.group(docs_.concat({first, docs_.nest(docs_.concat(std::move(rest)))}), broken);
}

const Doc* FormatWriter::argument(const Argument& a) {
  if (a.name.empty()) return expr(*a.value);
  const Doc* left = name();
  const Doc* equals = take(ASSIGN);
  return docs_.concat({left, docs_.text(" "), equals, docs_.text(" "), expr(*a.value)});
}

const Doc* FormatWriter::arguments(const std::vector<Argument>& all) {
  if (all.size() == 1 && all[0].name.empty())
    if (const Comprehension* c = as<Comprehension>(all[0].value); c && c->in_call) {
      const Doc* open = take(LPAREN);
      bool broken = breaks_next();
      const Doc* inside = docs_.nest(docs_.concat({docs_.soft_line(), comprehension(*c)}));
      return docs_.group(docs_.concat({open, inside, docs_.soft_line(), take(RPAREN)}), broken);
    }
  // A block, or the one list, as the last argument opens behind the bracket and closes before it.
  bool hug = false;
  if (!all.empty() && !newline_before(tokens_[next_ + 1].span.begin)) {
    const Expr& last = *all.back().value;
    bool alone = all.size() == 1 && all[0].name.empty() && !last.parenthesized;
    hug = has_block(last) ||
          (alone && (as<ListLiteral>(last) || as<Tuple>(last) || as<Comprehension>(last) || as<StringLiteral>(last)));
    for (size_t i = 0; i + 1 < all.size(); ++i)
      hug = hug && !has_block(*all[i].value) && !as<If>(all[i].value);
  }
  if (!hug) return list(LPAREN, all, RPAREN, [this](const Argument& a) { return argument(a); });
  Parts parts{take(LPAREN)};
  for (size_t i = 0; i < all.size(); ++i) {
    if (i) parts.push_back(docs_.text(", "));
    parts.push_back(argument(all[i]));
    skip(COMMA);
  }
  parts.push_back(take(RPAREN));
  return has_block(*all.back().value) ? docs_.hugged(docs_.concat(std::move(parts))) : docs_.concat(std::move(parts));
}

const Doc* FormatWriter::subscripts(const std::vector<SubscriptItem>& items) {
  return list(LBRACKET, items, RBRACKET, [this](const SubscriptItem& item) {
    if (item.kind == SubscriptItem::Kind::Index) return expr(*item.index);
    if (item.kind != SubscriptItem::Kind::Slice) return take();
    Parts parts;
    if (item.first) parts.push_back(tight(*item.first));
    parts.push_back(take(COLON));
    if (item.last) parts.push_back(tight(*item.last));
    if (at(COLON)) { // `x[a:b:]` has no step
      if (item.step) {
        parts.push_back(take(COLON));
        parts.push_back(tight(*item.step));
      } else {
        skip(COLON);
      }
    }
    return docs_.concat(std::move(parts));
  });
}

// ---- brackets ------------------------------------------------------------------------------------------------------

const Doc* FormatWriter::elements(const std::vector<Expr*>& all) {
  bool small = all.size() > 8;
  for (const Expr* e : all)
    small = small && is_small(*e);
  if (!small) return list(LBRACKET, all, RBRACKET, [this](const Expr* x) { return expr(*x); });
  const Doc* open = take(LBRACKET);
  bool broken = breaks_next();
  Parts parts;
  for (size_t i = 0; i < all.size(); ++i) {
    const Doc* element = expr(*all[i]);
    skip(COMMA);
    if (i + 1 < all.size()) element = docs_.concat({element, docs_.text(",")});
    if (i) parts.push_back(docs_.line());
    parts.push_back(element);
  }
  return bracketed(open, {docs_.soft_line(), docs_.fill(std::move(parts))}, docs_.if_broken(","), RBRACKET, broken);
}

const Doc* FormatWriter::comprehension(const Comprehension& c) {
  const Doc* open = c.in_call ? nullptr : take(LBRACKET);
  bool broken = !c.in_call && breaks_next();
  Parts parts;
  if (open) parts.push_back(docs_.soft_line());
  parts.push_back(expr(*c.element));
  parts.push_back(docs_.line());
  parts.push_back(take(FOR));
  parts.push_back(docs_.text(" "));
  parts.push_back(clauses(c.clauses));
  if (c.filter) {
    parts.push_back(docs_.line());
    parts.push_back(take(IF));
    parts.push_back(docs_.text(" "));
    parts.push_back(expr(*c.filter));
  }
  const Doc* all = docs_.concat(std::move(parts));
  if (!open) return all;
  return docs_.group(docs_.concat({open, docs_.nest(all), docs_.soft_line(), take(RBRACKET)}), broken);
}

const Doc* FormatWriter::clauses(const std::vector<IndexClause>& all) {
  Parts parts;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i) {
      parts.push_back(docs_.text(","));
      parts.push_back(docs_.line());
    }
    parts.push_back(pattern(*all[i].pattern));
    if (all[i].range) {
      parts.push_back(docs_.text(" "));
      parts.push_back(take(IN));
      parts.push_back(docs_.text(" "));
      parts.push_back(expr(*all[i].range));
    }
    skip(COMMA);
  }
  return docs_.group(docs_.nest(docs_.concat(std::move(parts))));
}

// ---- if, lambda ----------------------------------------------------------------------------------------------------

// Where one branch breaks, all do: is there one that must?
bool FormatWriter::if_breaks(const If& e) const {
  if (must_break(e.then_block)) return true;
  if (!e.else_block) return false;
  if (const If* next = else_if(e)) return if_breaks(*next);
  return must_break(*e.else_block);
}

void FormatWriter::if_parts(const If& e, bool broken, Parts& parts) {
  parts.push_back(take(IF));
  parts.push_back(docs_.text(" "));
  parts.push_back(docs_.nest(expr(*e.condition)));
  parts.push_back(docs_.text(" "));
  block_parts(e.then_block, broken, parts);
  if (!e.else_block) return;
  parts.push_back(parts.back()->open ? docs_.hard_line() : docs_.text(" "));
  parts.push_back(take(ELSE));
  parts.push_back(docs_.text(" "));
  if (const If* next = else_if(e))
    if_parts(*next, broken, parts);
  else
    block_parts(*e.else_block, broken, parts);
}

const Doc* FormatWriter::if_expr(const If& e) {
  bool broken = if_breaks(e);
  Parts parts;
  if_parts(e, broken, parts);
  const Doc* all = docs_.concat(std::move(parts));
  return broken ? docs_.lines(all) : docs_.group(all);
}

const Doc* FormatWriter::lambda(const Lambda& l) {
  Parts parts;
  if (at(BARBAR)) {
    parts.push_back(take());
  } else if (l.params.empty()) {
    skip(BAR);
    skip(BAR);
    parts.push_back(docs_.text("||"));
  } else {
    parts.push_back(take(BAR));
    Parts params; // comments on lines of their own are indented, with what they are about
    for (size_t i = 0; i < l.params.size(); ++i) {
      if (i) params.push_back(docs_.text(", "));
      params.push_back(param(l.params[i]));
      skip(COMMA);
    }
    parts.push_back(docs_.nest(docs_.concat(std::move(params))));
    parts.push_back(take(BAR));
  }
  parts.push_back(docs_.text(" "));
  parts.push_back(l.body.block ? block(*l.body.block) : expr(*l.body.expression));
  return docs_.concat(std::move(parts));
}

// ---- behind a `=` --------------------------------------------------------------------------------------------------

bool FormatWriter::hugs(const Expr& e) const {
  if (e.parenthesized) return true;
  if (const Unary* n = as<Unary>(e)) return hugs(*n->operand);
  if (const Subscript* n = as<Subscript>(e)) return hugs(*n->object);
  if (const Lambda* n = as<Lambda>(e)) return n->body.block || hugs(*n->body.expression);
  return as<Call>(e) || as<MethodCall>(e) || as<Tuple>(e) || as<ListLiteral>(e) || as<Comprehension>(e) || as<If>(e) ||
         as<StringLiteral>(e);
}

const Doc* FormatWriter::value(const Expr& e) {
  bool on_new_line = breaks_next();
  bool lined_up = as<Binary>(e) && !e.parenthesized; // if it breaks, it is on lines of its own
  return docs_.value(lined_up ? operands(e, true) : expr(e), hugs(e), on_new_line);
}

} // namespace tl::syntax

// Types, patterns and statements -> documents.
#include "parser/format/writer.h"

namespace tl::syntax {

using namespace ast;

// ---- types and patterns --------------------------------------------------------------------------------------------

// Parentheses around a type or a pattern are no part of the tree, and are left out.
const Doc* FormatWriter::type(const TypeExpr& t) {
  int parens = 0;
  for (; at(LPAREN) && peek().span.begin < t.span.begin; ++parens)
    drop(1);
  const Doc* all = type_inner(t);
  drop(parens);
  return all;
}

const Doc* FormatWriter::type_inner(const TypeExpr& t) {
  if (const TupleType* n = as<TupleType>(t))
    return list(LPAREN, n->elements, RPAREN, [this](const TypeExpr* x) { return type(*x); }, n->elements.size() == 1);
  if (const FunctionType* n = as<FunctionType>(t)) {
    const Doc* word = take(FN);
    Parts parts{word, list(LPAREN, n->parameters, RPAREN, [this](const TypeExpr* x) { return type(*x); })};
    if (n->result) {
      parts.push_back(docs_.text(" "));
      parts.push_back(take(ARROW));
      parts.push_back(docs_.text(" "));
      parts.push_back(type(*n->result));
    }
    return docs_.concat(std::move(parts));
  }
  const NamedType* n = as<NamedType>(t);
  Parts parts{name()};
  if (!n->module.empty()) {
    parts.push_back(take(DOT));
    parts.push_back(name());
  }
  if (!n->arguments.empty()) {
    parts.push_back(take(LESS));
    for (size_t i = 0; i < n->arguments.size(); ++i) {
      if (i) parts.push_back(docs_.text(", "));
      parts.push_back(type(*n->arguments[i]));
      skip(COMMA);
    }
    parts.push_back(take(GREATER));
  }
  if (n->has_dims) {
    parts.push_back(take(LBRACKET));
    for (size_t i = 0; i < n->dims.size(); ++i) {
      if (i) parts.push_back(docs_.text(", "));
      parts.push_back(size(*n->dims[i]));
      skip(COMMA);
    }
    parts.push_back(take(RBRACKET));
  }
  return docs_.concat(std::move(parts));
}

const Doc* FormatWriter::pattern(const Pattern& p) {
  int parens = 0;
  for (; at(LPAREN) && peek().span.begin < p.span.begin; ++parens)
    drop(1);
  const Doc* all =
      p.kind != Pattern::Kind::Tuple
          ? name()
          : list(LPAREN, p.elements, RPAREN, [this](const Pattern* x) { return pattern(*x); }, p.elements.size() == 1);
  drop(parens);
  return all;
}

const Doc* FormatWriter::annotation(const TypeExpr* t) {
  if (!t) return docs_.text("");
  const Doc* colon = take(COLON);
  return docs_.concat({colon, docs_.text(" "), type(*t)});
}

const Doc* FormatWriter::type_params(const std::vector<TypeParam>& all) {
  if (all.empty()) return docs_.text("");
  Parts parts{take(LESS)};
  for (size_t i = 0; i < all.size(); ++i) {
    if (i) parts.push_back(docs_.text(", "));
    parts.push_back(name());
    if (!all[i].bound.empty()) {
      parts.push_back(take(COLON));
      parts.push_back(docs_.text(" "));
      parts.push_back(name());
    }
    if (all[i].default_type) {
      parts.push_back(docs_.text(" "));
      parts.push_back(take(ASSIGN));
      parts.push_back(docs_.text(" "));
      parts.push_back(type(*all[i].default_type));
    }
    skip(COMMA);
  }
  parts.push_back(take(GREATER));
  return docs_.concat(std::move(parts));
}

const Doc* FormatWriter::param(const Param& p) {
  Parts parts;
  if (p.is_rest) parts.push_back(take(DOTDOT));
  if (!p.name.empty()) parts.push_back(name());
  parts.push_back(annotation(p.type));
  if (p.default_value) {
    parts.push_back(docs_.text(" "));
    parts.push_back(take(ASSIGN));
    parts.push_back(docs_.text(" "));
    parts.push_back(expr(*p.default_value));
  }
  return docs_.concat(std::move(parts));
}

// ---- statements ----------------------------------------------------------------------------------------------------

const Doc* FormatWriter::statement(const Stmt& s) {
  return std::visit([this](const auto& node) { return form(node); }, s.node);
}

const Doc* FormatWriter::form(const ExprStmt& s) { return expr(*s.value); }

const Doc* FormatWriter::form(const Let& s) {
  Parts parts{take()};
  parts.push_back(docs_.text(" "));
  parts.push_back(pattern(*s.pattern));
  parts.push_back(annotation(s.type));
  parts.push_back(docs_.text(" "));
  parts.push_back(take(ASSIGN));
  parts.push_back(value(*s.value));
  return docs_.concat(std::move(parts));
}

const Doc* FormatWriter::form(const Const& s) {
  Parts parts{take()};
  parts.push_back(docs_.text(" "));
  parts.push_back(name());
  parts.push_back(annotation(s.type));
  parts.push_back(docs_.text(" "));
  parts.push_back(take(ASSIGN));
  parts.push_back(value(*s.value));
  return docs_.concat(std::move(parts));
}

const Doc* FormatWriter::form(const Assign& s) {
  const Doc* target = expr(*s.target);
  const Doc* op = take();
  return docs_.concat({target, docs_.text(" "), op, value(*s.value)});
}

const Doc* FormatWriter::form(const For& s) {
  const Doc* word = take(FOR);
  const Doc* over = docs_.nest(clauses(s.clauses));
  return docs_.concat({word, docs_.text(" "), over, docs_.text(" "), block(s.body)});
}

const Doc* FormatWriter::form(const While& s) {
  const Doc* word = take(WHILE);
  const Doc* condition = docs_.nest(expr(*s.condition));
  return docs_.concat({word, docs_.text(" "), condition, docs_.text(" "), block(s.body)});
}

const Doc* FormatWriter::form(const Break&) { return take(BREAK); }
const Doc* FormatWriter::form(const Continue&) { return take(CONTINUE); }

const Doc* FormatWriter::form(const Return& s) {
  const Doc* word = take(RETURN);
  return s.value ? docs_.concat({word, docs_.text(" "), expr(*s.value)}) : word;
}

const Doc* FormatWriter::form(const Assert& s) {
  Parts parts{take(ASSERT), docs_.text(" ")};
  parts.push_back(expr(*s.condition));
  if (s.message) {
    parts.push_back(take(COMMA));
    bool broken = breaks_next();
    parts.push_back(docs_.nest(docs_.concat({broken ? docs_.hard_line() : docs_.line(), expr(*s.message)})));
  }
  return docs_.group(docs_.concat(std::move(parts)));
}

const Doc* FormatWriter::form(const On& s) {
  const Doc* word = take(ON);
  const Doc* device = docs_.nest(expr(*s.device));
  return docs_.concat({word, docs_.text(" "), device, docs_.text(" "), block(s.body)});
}

const Doc* FormatWriter::form(const Function& s) {
  Parts parts;
  if (s.is_export) {
    parts.push_back(take(EXPORT));
    parts.push_back(docs_.text(" "));
  }
  parts.push_back(take(FN));
  parts.push_back(docs_.text(" "));
  parts.push_back(name());
  parts.push_back(type_params(s.type_params));
  parts.push_back(list(LPAREN, s.params, RPAREN, [this](const Param& p) { return param(p); }));
  if (s.result) {
    parts.push_back(docs_.text(" "));
    parts.push_back(take(ARROW));
    parts.push_back(docs_.text(" "));
    parts.push_back(type(*s.result));
  }
  if (s.body.expression) {
    parts.push_back(docs_.text(" "));
    parts.push_back(take(ASSIGN));
    parts.push_back(value(*s.body.expression));
  } else if (s.body.block) {
    parts.push_back(docs_.text(" "));
    parts.push_back(block(*s.body.block));
  }
  return docs_.concat(std::move(parts));
}

const Doc* FormatWriter::field(const StructField& f) {
  Parts parts;
  if (f.is_state) {
    parts.push_back(name());
    parts.push_back(docs_.text(" "));
  }
  parts.push_back(name());
  parts.push_back(annotation(f.type));
  return docs_.concat(std::move(parts));
}

// On one line `{ a: f32, b: f32 }` with commas, else one field a line without.
const Doc* FormatWriter::form(const Struct& s) {
  Parts parts{take(STRUCT), docs_.text(" ")};
  parts.push_back(name());
  parts.push_back(type_params(s.type_params));
  if (!s.sizes.empty()) {
    parts.push_back(take(LBRACKET));
    for (size_t i = 0; i < s.sizes.size(); ++i) {
      if (i) parts.push_back(docs_.text(", "));
      parts.push_back(name());
      skip(COMMA);
    }
    parts.push_back(take(RBRACKET));
  }
  parts.push_back(docs_.text(" "));
  uint32_t end = tokens_[closing_[next_]].span.begin;
  bool comments = next_comment_ < comments_.size() && comments_[next_comment_].begin < end;
  parts.push_back(take(LBRACE));
  if (s.fields.empty() && !comments) {
    parts.push_back(take(RBRACE));
    return docs_.concat(std::move(parts));
  }
  auto separator = [this] {
    while (skip(COMMA) || skip(END_STATEMENT)) {
    }
  };
  if (!comments && !breaks_next()) {
    Parts inside;
    for (size_t i = 0; i < s.fields.size(); ++i) {
      if (i) inside.push_back(docs_.if_flat(","));
      inside.push_back(docs_.line());
      inside.push_back(field(s.fields[i]));
      separator();
    }
    parts.push_back(
        docs_.group(docs_.concat({docs_.nest(docs_.concat(std::move(inside))), docs_.line(), take(RBRACE)})));
    return docs_.concat(std::move(parts));
  }
  Parts inside;
  bool first = true;
  for (const StructField& f : s.fields) {
    uint32_t begin = peek().span.begin;
    own_lines(inside, begin, first);
    if (!first) inside.push_back(blank_before(begin) ? docs_.blank_line() : docs_.hard_line());
    first = false;
    inside.push_back(field(f));
    separator();
  }
  own_lines(inside, end, first);
  parts.push_back(docs_.nest(docs_.concat({docs_.hard_line(), docs_.concat(std::move(inside))})));
  parts.push_back(docs_.hard_line());
  parts.push_back(take(RBRACE));
  return docs_.lines(docs_.concat(std::move(parts)));
}

const Doc* FormatWriter::form(const Import& s) {
  Parts parts{take(IMPORT), docs_.text(" ")};
  parts.push_back(s.is_file ? string() : name());
  if (!s.alias.empty()) {
    parts.push_back(docs_.text(" "));
    parts.push_back(take(AS));
    parts.push_back(docs_.text(" "));
    parts.push_back(name());
  }
  return docs_.concat(std::move(parts));
}

const Doc* FormatWriter::form(const Test& s) {
  const Doc* word = take(TEST);
  const Doc* title = string();
  return docs_.concat({word, docs_.text(" "), title, docs_.text(" "), block(s.body)});
}

} // namespace tl::syntax

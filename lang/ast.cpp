// The text form of syntax trees: s-expressions.
#include "lang/ast.h"
#include <fmt/format.h>

namespace tl::ast {

std::string_view symbol(UnaryOp op) { return op == UnaryOp::Negate ? "-" : "not"; }

std::string_view symbol(BinaryOp op) {
  switch (op) {
  case BinaryOp::Or: return "or";
  case BinaryOp::And: return "and";
  case BinaryOp::Equal: return "==";
  case BinaryOp::NotEqual: return "!=";
  case BinaryOp::Less: return "<";
  case BinaryOp::LessEqual: return "<=";
  case BinaryOp::Greater: return ">";
  case BinaryOp::GreaterEqual: return ">=";
  case BinaryOp::Add: return "+";
  case BinaryOp::Subtract: return "-";
  case BinaryOp::Multiply: return "*";
  case BinaryOp::Divide: return "/";
  case BinaryOp::FloorDivide: return "//";
  case BinaryOp::Remainder: return "%";
  case BinaryOp::MatrixMultiply: return "@";
  case BinaryOp::Power: return "**";
  }
  return "?";
}

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{{{:x}}}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + '"';
}

// Builds text for one tree; blocks are indented below their statement.
struct Writer {
  int indent = 0;

  template <class T> std::string all(const std::vector<T>& parts) {
    std::string out;
    for (const T& part : parts)
      out += ' ' + text(part);
    return out;
  }
  std::string optional(const Expr* e) { return e ? text(e) : "-"; }

  std::string text(const Ident& name) { return name.text; }
  std::string text(const Expr* e) {
    return std::visit([&](const auto& node) { return form(node); }, e->node);
  }
  std::string text(const TypeExpr* t) {
    return std::visit([&](const auto& node) { return form(node); }, t->node);
  }
  std::string text(const Stmt* s) {
    return std::visit([&](const auto& node) { return form(node); }, s->node);
  }
  std::string text(const Pattern* p) {
    if (p->kind == Pattern::Kind::Name) return p->name;
    if (p->kind == Pattern::Kind::Wildcard) return "_";
    return fmt::format("(tuple{})", all(p->elements));
  }
  std::string text(const IndexClause& c) {
    return c.range ? fmt::format("({} in {})", text(c.pattern), text(c.range)) : text(c.pattern);
  }
  std::string text(const Argument& a) {
    return a.name.empty() ? text(a.value) : fmt::format("({} = {})", a.name.text, text(a.value));
  }
  std::string text(const TypeParam& p) {
    std::string out = p.name.text;
    if (!p.bound.empty()) out += ": " + p.bound.text;
    if (p.default_type) out += " = " + text(p.default_type);
    return out == p.name.text ? out : '(' + out + ')';
  }
  std::string text(const Param& p) {
    std::string out = p.name.text;
    if (p.type) out += ": " + text(p.type);
    if (p.default_value) out += " = " + text(p.default_value);
    if (!p.doc.empty()) out += " doc " + quoted(p.doc);
    return out == p.name.text ? out : '(' + out + ')';
  }
  std::string text(const StructField& f) {
    return fmt::format("({}{}: {}{})", f.is_state ? "state " : "", f.name.text, text(f.type), doc(f.doc));
  }
  std::string text(const SubscriptItem& i) {
    switch (i.kind) {
    case SubscriptItem::Kind::Index: return text(i.index);
    case SubscriptItem::Kind::Ellipsis: return "...";
    case SubscriptItem::Kind::NewAxis: return "new";
    case SubscriptItem::Kind::Slice: break;
    }
    return fmt::format("(slice {} {} {})", optional(i.first), optional(i.last), optional(i.step));
  }
  std::string text(const StringPart& p) {
    if (!p.value) return quoted(p.text);
    if (!p.format_span.valid()) return fmt::format("(insert {})", text(p.value));
    return fmt::format("(insert {} {})", text(p.value), quoted(p.format));
  }

  std::string doc(const std::string& doc) { return doc.empty() ? "" : " doc " + quoted(doc); }
  std::string type_annotation(const TypeExpr* type) { return type ? ": " + text(type) : ""; }
  std::string block(const Block& b) {
    indent += 2;
    std::string out = "(do";
    for (const Stmt* s : b.statements)
      out += '\n' + std::string(static_cast<size_t>(indent), ' ') + text(s);
    indent -= 2;
    return out + ')';
  }
  std::string body(const Body& b) {
    if (b.expression) return text(b.expression);
    return b.block ? block(*b.block) : "builtin";
  }
  std::string type_params(const std::vector<TypeParam>& p) {
    return p.empty() ? "" : fmt::format(" (types{})", all(p));
  }

  std::string form(const IntLiteral& n) { return fmt::format("{}", n.value); }
  std::string form(const FloatLiteral& n) { return n.is_imaginary ? n.text + "i" : n.text; }
  std::string form(const BoolLiteral& n) { return n.value ? "true" : "false"; }
  std::string form(const NoneLiteral&) { return "none"; }
  std::string form(const StringLiteral& n) {
    if (n.parts.empty()) return "\"\"";
    if (n.parts.size() == 1 && !n.parts[0].value) return quoted(n.parts[0].text);
    return fmt::format("(string{})", all(n.parts));
  }
  std::string form(const Name& n) { return n.name; }
  std::string form(const Wildcard&) { return "_"; }
  std::string form(const Spread& n) { return ".." + n.name.text; }
  std::string form(const Tuple& n) { return fmt::format("(tuple{})", all(n.elements)); }
  std::string form(const ListLiteral& n) { return fmt::format("(list{})", all(n.elements)); }
  std::string form(const Comprehension& n) {
    return fmt::format("({} {} for{}{})", n.in_call ? "each" : "build", text(n.element), all(n.clauses),
                       n.filter ? " if " + text(n.filter) : "");
  }
  std::string form(const Unary& n) { return fmt::format("({} {})", symbol(n.op), text(n.operand)); }
  std::string form(const Binary& n) { return fmt::format("({} {} {})", symbol(n.op), text(n.left), text(n.right)); }
  std::string form(const Range& n) { return fmt::format("(.. {} {})", text(n.first), text(n.last)); }
  std::string form(const Call& n) { return fmt::format("(call {}{})", text(n.callee), all(n.arguments)); }
  std::string form(const MethodCall& n) {
    return fmt::format("(method {} {}{})", text(n.receiver), n.name.text, all(n.arguments));
  }
  std::string form(const Field& n) { return fmt::format("(field {} {})", text(n.object), n.name.text); }
  std::string form(const Subscript& n) { return fmt::format("(at {}{})", text(n.object), all(n.items)); }
  std::string form(const If& n) {
    return fmt::format("(if {} {}{})", text(n.condition), block(n.then_block),
                       n.else_block ? ' ' + block(*n.else_block) : "");
  }
  std::string form(const Lambda& n) { return fmt::format("(lambda ({}) {})", list(n.params), body(n.body)); }

  template <class T> std::string list(const std::vector<T>& parts) {
    std::string out = all(parts);
    return out.empty() ? out : out.substr(1);
  }

  std::string form(const ExprStmt& n) { return text(n.value); }
  std::string form(const Let& n) {
    return fmt::format("({} {}{} {}{})", n.is_var ? "var" : "let", text(n.pattern), type_annotation(n.type),
                       text(n.value), doc(n.doc));
  }
  std::string form(const Const& n) {
    return fmt::format("(const {}{} {}{})", n.name.text, type_annotation(n.type), text(n.value), doc(n.doc));
  }
  std::string form(const Assign& n) {
    return fmt::format("({}= {} {})", n.op ? symbol(*n.op) : "", text(n.target), text(n.value));
  }
  std::string form(const For& n) { return fmt::format("(for{} {})", all(n.clauses), block(n.body)); }
  std::string form(const While& n) { return fmt::format("(while {} {})", text(n.condition), block(n.body)); }
  std::string form(const Break&) { return "(break)"; }
  std::string form(const Continue&) { return "(continue)"; }
  std::string form(const Return& n) { return n.value ? fmt::format("(return {})", text(n.value)) : "(return)"; }
  std::string form(const Assert& n) {
    return fmt::format("(assert {}{})", text(n.condition), n.message ? ' ' + text(n.message) : "");
  }
  std::string form(const On& n) { return fmt::format("(on {} {})", text(n.device), block(n.body)); }
  std::string form(const Function& n) {
    return fmt::format("({}fn {}{} ({}){}{} {})", n.is_export ? "export " : "", n.name.text, type_params(n.type_params),
                       list(n.params), n.result ? " -> " + text(n.result) : "", doc(n.doc), body(n.body));
  }
  std::string form(const Struct& n) {
    return fmt::format("(struct {}{}{}{}{})", n.name.text, type_params(n.type_params),
                       n.sizes.empty() ? "" : fmt::format(" (sizes{})", all(n.sizes)), doc(n.doc), all(n.fields));
  }
  std::string form(const Import& n) {
    return fmt::format("(import {}{})", n.is_file ? quoted(n.path) : n.path,
                       n.alias.empty() ? "" : " as " + n.alias.text);
  }
  std::string form(const Test& n) { return fmt::format("(test {}{} {})", quoted(n.name), doc(n.doc), block(n.body)); }

  std::string form(const NamedType& n) {
    std::string out = n.module.empty() ? n.name.text : n.module.text + '.' + n.name.text;
    if (!n.arguments.empty()) out += '<' + list(n.arguments) + '>';
    if (n.has_dims) out += '[' + list(n.dims) + ']';
    return out;
  }
  std::string form(const TupleType& n) { return fmt::format("(tuple{})", all(n.elements)); }
  std::string form(const FunctionType& n) {
    return fmt::format("(fn ({}) {})", list(n.parameters), n.result ? text(n.result) : "(tuple)");
  }
};

} // namespace

std::string to_text(const File& file) {
  Writer writer;
  std::string out;
  if (!file.doc.empty()) out += "(doc " + quoted(file.doc) + ")\n";
  for (const Stmt* statement : file.statements)
    out += writer.text(statement) + '\n';
  return out;
}
std::string to_text(const Expr& expr) { return Writer{}.text(&expr); }
std::string to_text(const TypeExpr& type) { return Writer{}.text(&type); }

} // namespace tl::ast

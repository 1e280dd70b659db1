#include "parser/syntax/driver.h"
#include "lang/deep_stack.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::syntax {

Span extend(Span so_far, Span next) {
  if (next.length() == 0) return so_far;
  if (so_far.length() == 0) return next;
  return {so_far.file, std::min(so_far.begin, next.begin), std::max(so_far.end, next.end)};
}

Driver::Driver(const SourceManager& sources, FileId file, Diagnostics& diagnostics, const ParseOptions& options,
               TokenList tokens)
    : sources_(sources), diagnostics_(diagnostics), options_(options), tokens_(std::move(tokens.tokens)),
      docs_(std::move(tokens.docs)) {
  result_.id = file;
  result_.doc = docs_.file;
}

int Driver::next(Grammar::semantic_type* value, Span* location) {
  if (inserted_ > 0) {
    Span here = tokens_[next_].span; // resuming, so not behind the last token
    *location = {here.file, here.begin, here.begin};
    last_index_ = next_;
    return inserted_-- % 2 == 0 ? LBRACE : RBRACE;
  }
  last_index_ = std::min(next_, tokens_.size() - 1);
  const Token& token = tokens_[last_index_];
  next_ = last_index_ + 1;
  *location = token.span;
  switch (token.kind) {
  case NAME:
  case INT:
  case FLOAT:
  case TEXT:
  case FORMAT: value->emplace<const Token*>(&token); break;
  default: break;
  }
  return token.kind;
}

// ---- depth ---------------------------------------------------------------------------------------------------------

namespace {

// Every walk of the tree recurses, on a stack that holds kMaxDepth nested nodes. What takes later stages more than a
// few calls counts as several.
constexpr int kMaxDepth = 20'000;
constexpr int kMaxDepthOnSmallStack = kMaxDepth / 16; // in the 8 MiB that a program begins with
constexpr int kBlock = 16;                            // so 1,250 nested blocks; each `else if` is one
constexpr int kComprehension = 64;                    // so 312
constexpr int kElements = 200; // of tuples, lists and types: so 100, which are as many axes of a tensor

bool is_else_if(const Stmt& s) {
  const auto* value = std::get_if<ExprStmt>(&s.node);
  return value && std::holds_alternative<If>(value->value->node) && !value->value->parenthesized;
}

// The height of the tallest part of a node, and what the node itself adds.
struct PartDepth {
  int depth = 0;
  int own = 1;

  void add(const Expr* e) {
    if (e) depth = std::max(depth, e->depth);
  }
  void add(const TypeExpr* t) {
    if (t) depth = std::max(depth, t->depth);
  }
  void add(const Stmt* s) { depth = std::max(depth, s->depth); }
  void add(const Block& b) {
    own = std::max(own, kBlock);
    for (const Stmt* s : b.statements)
      add(s);
  }
  void add(const std::optional<Block>& b) {
    if (b) add(*b);
  }
  void add(const Body& b) {
    add(b.expression);
    add(b.block);
  }
  void add(const IndexClause& c) { add(c.range); }
  void add(const Argument& a) { add(a.value); }
  void add(const StringPart& p) { add(p.value); }
  void add(const Param& p) {
    add(p.type);
    add(p.default_value);
  }
  void add(const TypeParam& p) { add(p.default_type); }
  void add(const StructField& f) { add(f.type); }
  void add(const SubscriptItem& i) {
    add(i.index);
    add(i.first);
    add(i.last);
    add(i.step);
  }
  template <class T> void add(const std::vector<T>& all) {
    for (const T& one : all)
      add(one);
  }

  void of(const IntLiteral&) {}
  void of(const FloatLiteral&) {}
  void of(const BoolLiteral&) {}
  void of(const NoneLiteral&) {}
  void of(const StringLiteral& n) { add(n.parts); }
  void of(const Name&) {}
  void of(const Wildcard&) {}
  void of(const Spread&) {}
  void of(const Tuple& n) {
    own = kElements;
    add(n.elements);
  }
  void of(const ListLiteral& n) {
    own = kElements;
    add(n.elements);
  }
  void of(const Comprehension& n) {
    own = kComprehension;
    add(n.element);
    add(n.clauses);
    add(n.filter);
  }
  void of(const Unary& n) { add(n.operand); }
  void of(const Binary& n) {
    add(n.left);
    add(n.right);
  }
  void of(const Range& n) {
    add(n.first);
    add(n.last);
  }
  void of(const Call& n) {
    add(n.callee);
    add(n.arguments);
  }
  void of(const MethodCall& n) {
    add(n.receiver);
    add(n.arguments);
  }
  void of(const Field& n) { add(n.object); }
  void of(const Subscript& n) {
    add(n.object);
    add(n.items);
  }
  // A chain of `else if` is no nest, though its tree is one.
  void of(const If& n) {
    add(n.condition);
    PartDepth blocks;
    blocks.add(n.then_block);
    bool chain = n.else_block && n.else_block->statements.size() == 1 && is_else_if(*n.else_block->statements[0]);
    if (n.else_block && !chain) blocks.add(*n.else_block);
    depth = std::max(depth, blocks.depth + kBlock - 1);
    if (chain) add(n.else_block->statements[0]);
  }
  void of(const Lambda& n) {
    add(n.params);
    add(n.body);
  }

  void of(const ExprStmt& n) { add(n.value); }
  void of(const Let& n) {
    add(n.type);
    add(n.value);
  }
  void of(const Const& n) {
    add(n.type);
    add(n.value);
  }
  void of(const Assign& n) {
    add(n.target);
    add(n.value);
  }
  void of(const For& n) {
    add(n.clauses);
    add(n.body);
  }
  void of(const While& n) {
    add(n.condition);
    add(n.body);
  }
  void of(const Break&) {}
  void of(const Continue&) {}
  void of(const Return& n) { add(n.value); }
  void of(const Assert& n) {
    add(n.condition);
    add(n.message);
  }
  void of(const On& n) {
    add(n.device);
    add(n.body);
  }
  void of(const Function& n) {
    add(n.type_params);
    add(n.params);
    add(n.result);
    add(n.body);
  }
  void of(const Struct& n) {
    add(n.type_params);
    add(n.fields);
  }
  void of(const Import&) {}
  void of(const Test& n) { add(n.body); }

  void of(const NamedType& n) {
    own = kElements;
    add(n.arguments);
    add(n.dims);
  }
  void of(const TupleType& n) {
    own = kElements;
    add(n.elements);
  }
  void of(const FunctionType& n) {
    own = kElements;
    add(n.parameters);
    add(n.result);
  }
};

template <class Node> int depth_with(const Node& node) {
  PartDepth parts;
  parts.of(node);
  return parts.depth + parts.own;
}

} // namespace

bool Driver::allowed_depth(int depth, Span span) {
  if (depth <= (deep_stack_refused() ? kMaxDepthOnSmallStack : kMaxDepth)) return true;
  if (!too_deep_)
    error("TooDeep", span, "this is nested too deep", "name parts of it with `let`, or write a loop or a function");
  too_deep_ = true;
  return false;
}

template <class Node> Expr* Driver::expr(Span span, Node node) {
  int depth = depth_with(node);
  if (!allowed_depth(depth, span)) return missing(span);
  return &result_.arena->exprs.emplace_back(Expr{span, false, depth, std::move(node)});
}
template <class Node> Stmt* Driver::statement(Span span, Node node) {
  int depth = depth_with(node);
  if (!allowed_depth(depth, span)) return statement(span, Break{});
  return &result_.arena->stmts.emplace_back(Stmt{span, depth, std::move(node)});
}
template <class Node> TypeExpr* Driver::type(Span span, Node node) {
  int depth = depth_with(node);
  if (!allowed_depth(depth, span)) return type(span, TupleType{});
  return &result_.arena->types.emplace_back(TypeExpr{span, depth, std::move(node)});
}

// The actions in the generated source use these.
#define TL_EXPR(Node) template Expr* Driver::expr(Span, Node);
TL_EXPR(IntLiteral)
TL_EXPR(BoolLiteral)
TL_EXPR(NoneLiteral)
TL_EXPR(StringLiteral)
TL_EXPR(Spread)
TL_EXPR(Tuple)
TL_EXPR(ListLiteral)
TL_EXPR(Comprehension)
TL_EXPR(Unary)
TL_EXPR(Range)
TL_EXPR(Field)
TL_EXPR(Subscript)
TL_EXPR(If)
TL_EXPR(Lambda)
#undef TL_EXPR
#define TL_STATEMENT(Node) template Stmt* Driver::statement(Span, Node);
TL_STATEMENT(ExprStmt)
TL_STATEMENT(Let)
TL_STATEMENT(Const)
TL_STATEMENT(While)
TL_STATEMENT(Break)
TL_STATEMENT(Continue)
TL_STATEMENT(Return)
TL_STATEMENT(Assert)
TL_STATEMENT(On)
TL_STATEMENT(Struct)
#undef TL_STATEMENT
template TypeExpr* Driver::type(Span, NamedType);
template TypeExpr* Driver::type(Span, TupleType);
template TypeExpr* Driver::type(Span, FunctionType);

// ---- expressions ---------------------------------------------------------------------------------------------------

Expr* Driver::missing(Span span) { return &result_.arena->exprs.emplace_back(Expr{span, false, 1, NoneLiteral{}}); }

Expr* Driver::name(const Token* token) {
  if (token->text == "_") return expr(token->span, Wildcard{});
  return expr(token->span, Name{token->text});
}

Expr* Driver::floating(const Token* token) {
  const bool is_imaginary = token->text.ends_with('i');
  std::string digits = token->text.substr(0, token->text.size() - is_imaginary);
  return expr(token->span, FloatLiteral{token->number, std::move(digits), is_imaginary});
}

Expr* Driver::binary(Span span, BinaryOp op, Span op_span, Expr* left, Expr* right) {
  return expr(span, Binary{op, op_span, left, right});
}

Expr* Driver::compare(Span span, BinaryOp op, Span op_span, Expr* left, Expr* right) {
  const Binary* first = as<Binary>(left);
  bool left_compares = first && first->op >= BinaryOp::Equal && first->op <= BinaryOp::GreaterEqual;
  if (left_compares && !left->parenthesized) {
    std::string middle(sources_.text(first->right->span));
    std::string hint = middle.size() <= 30 && middle.find('\n') == std::string::npos
                           ? fmt::format("write `… {} {} and {} {} …`", symbol(first->op), middle, middle, symbol(op))
                           : "join two comparisons with `and`";
    error("ChainedComparison", op_span, "comparisons do not chain", hint, {{first->op_span, "the first one"}});
  }
  return binary(span, op, op_span, left, right);
}

Expr* Driver::call(Span span, Expr* callee, std::vector<Argument> arguments) {
  if (const Field* field = as<Field>(callee); field && !callee->parenthesized)
    return expr(span, MethodCall{field->object, field->name, std::move(arguments)});
  return expr(span, Call{callee, std::move(arguments)});
}

Expr* Driver::parenthesize(Span span, Expr* inner) {
  inner->span = span;
  inner->parenthesized = true;
  return inner;
}

Expr* Driver::tensor_comprehension(Span span, Expr* element, std::vector<IndexClause> clauses, Expr* filter) {
  if (filter)
    error("SyntaxError", filter->span, "a tensor has an element for every index, so it takes no `if` filter",
          "`list(e for … if c)` leaves elements out; `if c { a } else { b }` chooses between two");
  return expr(span, Comprehension{false, element, std::move(clauses), filter});
}

std::vector<Argument> Driver::ordered(std::vector<Argument> arguments) {
  bool named = false;
  for (const Argument& argument : arguments) {
    if (named && argument.name.empty()) {
      error("ArgumentOrder", argument.value->span, "a positional argument follows a named one",
            "positional arguments come first, then `name = value`");
      break;
    }
    named = named || !argument.name.empty();
  }
  return arguments;
}

Block Driver::else_if(Expr* inner) { return {{statement(inner->span, ExprStmt{inner})}, inner->span}; }

StringPart Driver::text_part(const Token* token) const { return {token->text, nullptr, {}, token->span, {}}; }
StringPart Driver::value_part(Span span, Expr* value, const Token* format) const {
  if (!format) return {{}, value, {}, span, {}};
  return {{}, value, format->text, span, format->span};
}

// ---- patterns, blocks, statements ----------------------------------------------------------------------------------

Pattern* Driver::pattern(Ident name) {
  Pattern::Kind kind = name.text == "_" ? Pattern::Kind::Wildcard : Pattern::Kind::Name;
  return &result_.arena->patterns.emplace_back(Pattern{kind, name.span, std::move(name.text), {}});
}
Pattern* Driver::pattern(Span span, std::vector<Pattern*> elements) {
  return &result_.arena->patterns.emplace_back(Pattern{Pattern::Kind::Tuple, span, {}, std::move(elements)});
}

Block Driver::block(Span span, std::vector<Stmt*> statements) {
  for (const Stmt* statement : statements) {
    const char* what = as<Import>(statement)   ? "`import`"
                       : as<Struct>(statement) ? "`struct`"
                       : as<Test>(statement)   ? "`test`"
                                               : nullptr;
    if (const Function* function = as<Function>(statement); function && function->is_export) what = "`export`";
    // After an unclosed brace everything seems to be inside it.
    if (what && !diagnostics_.has_errors())
      error("SyntaxError", statement->span, fmt::format("{} is only allowed at the top level of a file", what));
  }
  return {std::move(statements), span};
}

void Driver::check_target(const Expr& target, bool compound) {
  if (as<Name>(target) || as<Wildcard>(target)) return;
  if (const Tuple* tuple = as<Tuple>(target); tuple && !compound && !tuple->elements.empty()) {
    for (const Expr* element : tuple->elements)
      check_target(*element, compound);
    return;
  }
  if (const Field* field = as<Field>(target))
    if (!as<Tuple>(field->object) && !as<Wildcard>(field->object)) return check_target(*field->object, compound);
  if (const Subscript* subscript = as<Subscript>(target))
    if (!as<Tuple>(subscript->object) && !as<Wildcard>(subscript->object))
      return check_target(*subscript->object, compound);
  std::string hint = "a target is a variable, or a path of fields and subscripts from one: `p.w[i] = e`";
  if (as<Binary>(target)) hint = "`==` compares; " + hint;
  error("InvalidTarget", target.span, "this cannot be assigned to", hint);
}

Stmt* Driver::assign(Span span, Expr* target, std::optional<BinaryOp> op, Span op_span, Expr* value) {
  if (op && as<Tuple>(target))
    error("InvalidTarget", target->span, fmt::format("`{}=` does not take a tuple", symbol(*op)));
  else
    check_target(*target, op.has_value());
  return statement(span, Assign{target, op, op_span, value});
}

Stmt* Driver::loop(Span span, std::vector<IndexClause> clauses, Block body) {
  for (const IndexClause& clause : clauses)
    if (!clause.range) {
      std::string names;
      for (const IndexClause& other : clauses) {
        names += (names.empty() ? "" : ", ") + std::string(sources_.text(other.pattern->span));
        if (other.range) break;
      }
      error("SyntaxError", clause.span, "a loop index needs something to run over",
            clauses.size() > 1
                ? fmt::format("to take tuples apart write `for ({}) in …`, for two loops `for i in a, j in b`", names)
                : fmt::format("write `for {} in 0..n`", names));
      break;
    }
  return statement(span, For{std::move(clauses), std::move(body)});
}

Stmt* Driver::function(Span span, Function function, bool is_export) {
  if (function.name.empty()) return nullptr;
  function.is_export = is_export;
  function.doc = doc(span);
  if (function.body.empty() && !options_.is_library)
    error("SyntaxError", function.name.span, fmt::format("function `{}` has no body", function.name.text),
          "write `= expression` or `{ … }` after it, on the same line");
  for (const Param& param : function.params)
    if (param.is_rest && (!options_.is_library || !function.body.empty()))
      error("SyntaxError", param.span, "only built-in functions take any number of arguments",
            "a list holds any number of values: `fn f(xs: List<f32>)`");
  return statement(span, std::move(function));
}

std::string Driver::plain_string(const Expr& string, const char* what) {
  const StringLiteral* literal = as<StringLiteral>(string);
  std::string all;
  if (literal)
    for (const StringPart& part : literal->parts) {
      if (part.value) error("SyntaxError", part.span, fmt::format("{} takes no `{{…}}`", what));
      all += part.text;
    }
  return all;
}

Stmt* Driver::import(Span span, Ident module, Ident alias) {
  return statement(span, Import{std::move(module.text), false, module.span, std::move(alias)});
}
Stmt* Driver::import(Span span, Expr* path, Ident alias) {
  return statement(span, Import{plain_string(*path, "the path of an import"), true, path->span, std::move(alias)});
}

Stmt* Driver::test(Span span, Expr* name, Block body) {
  return statement(span, Test{plain_string(*name, "the name of a test"), name->span, std::move(body), doc(span)});
}

std::optional<StructField> Driver::marked_field(Span span, const Ident& mark, Ident name, TypeExpr* type) {
  if (mark.text != "state")
    error("SyntaxError", mark.span, fmt::format("`{}` is no mark of a field", mark.text),
          fmt::format("write `{}: …`; the one mark is `state`", name.text));
  return StructField{std::move(name), true, type, doc(span), span};
}

std::string Driver::doc(Span span) const {
  if (auto above = docs_.above.find(span.begin); above != docs_.above.end()) return above->second;
  auto behind = docs_.behind.lower_bound(span.end);
  if (behind == docs_.behind.end()) return {};
  std::string_view between = sources_.text(Span{span.file, span.end, behind->first});
  return between.find_first_not_of(" \t,;") == std::string_view::npos ? behind->second : std::string();
}

void Driver::finish(std::vector<Stmt*> statements) { result_.statements = std::move(statements); }

} // namespace tl::syntax

namespace tl {

ast::File parse(const SourceManager& sources, FileId file, Diagnostics& diagnostics, const ParseOptions& options) {
  using namespace syntax;
  Driver driver(sources, file, diagnostics, options, lay_out(lex(sources, file, diagnostics), sources, diagnostics));
  Grammar grammar(driver);
  grammar.parse();
  return driver.take();
}

std::string dump_tokens(const SourceManager& sources, FileId file, Diagnostics& diagnostics) {
  using namespace syntax;
  std::string out;
  for (const Token& token : lay_out(lex(sources, file, diagnostics), sources, diagnostics).tokens) {
    LineColumn place = sources.line_column(token.span);
    out += fmt::format("{}:{} {}", place.line, place.column, kind_name(token.kind));
    if (!token.text.empty()) {
      out += ' ';
      for (char c : token.text) {
        if (c == '\n')
          out += "\\n";
        else
          out += c;
      }
    }
    out += '\n';
  }
  return out;
}

} // namespace tl

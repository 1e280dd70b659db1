// The syntax tree: what the text of one file says, before names, types and sizes mean anything.
//
// Nodes live in the arena of their File and point to each other with plain pointers; they are not changed after
// parsing. A pointer is never null unless its comment says so. Each node has the span of its text; names and operators
// have their own, for carets. The parser bounds how deep they nest, so walks may recurse on a large stack.
#pragma once
#include "lang/source.h"
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tl::ast {

struct Expr;
struct Stmt;
struct TypeExpr;
struct Pattern;

// A name where it is written. Empty text: not there.
struct Ident {
  std::string text;
  Span span;
  bool empty() const { return text.empty(); }
};

// `{ let y = x; y * 2 }`: its value is its last statement, if that is an expression.
struct Block {
  std::vector<Stmt*> statements;
  Span span;
};

// ---- types ---------------------------------------------------------------------------------------------------------

// `f32`, `f32[m, 2*n + 1]`, `T[..s, _]`, `List<f32[n]>`, `nn.Linear[784, 256]`, `AdamW<Gpt>`
struct NamedType {
  Ident module; // the `nn` of `nn.Linear`, else empty
  Ident name;
  std::vector<TypeExpr*> arguments; // between < >
  bool has_dims = false;            // `f32[]` is not written: it is `f32`
  std::vector<Expr*> dims;          // size expressions; `_` is Wildcard, `..s` is Spread
};
struct TupleType { // `()`, `(A,)`, `(A, B)`
  std::vector<TypeExpr*> elements;
};
struct FunctionType { // `fn(A, B) -> C`
  std::vector<TypeExpr*> parameters;
  TypeExpr* result = nullptr; // null: `()`
};
struct TypeExpr {
  Span span;
  int depth = 1; // height of the tree below
  std::variant<NamedType, TupleType, FunctionType> node;
};

// ---- patterns ------------------------------------------------------------------------------------------------------

struct Pattern { // `x`, `_`, `(a, (b, _))`
  enum class Kind { Name, Wildcard, Tuple };
  Kind kind = Kind::Name;
  Span span;
  std::string name;
  std::vector<Pattern*> elements;
};

// ---- functions' parts ----------------------------------------------------------------------------------------------

struct TypeParam { // `T: float = f32` between < >
  Ident name;
  Ident bound;                      // float, int, num, any; empty: any
  TypeExpr* default_type = nullptr; // null: none
};

struct Param { // `by: f32 = 2.0`
  Ident name;
  TypeExpr* type = nullptr;      // null: generic, checked at each call
  Expr* default_value = nullptr; // null: none
  std::string doc;               // from `##`, lines separated by \n
  Span span;
  bool is_rest = false; // `..values`: any number of arguments; without a name (`..`): none. Only of built-in functions
};

// `= expression` or `{ … }`: exactly one is set, but for declarations without a body (only the prelude has those: they
// are built in).
struct Body {
  Expr* expression = nullptr;
  std::optional<Block> block;
  bool empty() const { return !expression && !block; }
};

// One index of a comprehension or loop: `i in 0..n`, `(a, b) in list`, or `i` with the range left out.
struct IndexClause {
  Pattern* pattern = nullptr;
  Expr* range = nullptr; // null: inferred from subscripts (comprehensions only)
  Span span;
};

struct Argument { // `x` or `axis = 0`; positional ones come first
  Ident name;     // empty: positional
  Expr* value = nullptr;
};

// ---- expressions ---------------------------------------------------------------------------------------------------

struct IntLiteral { // `42`, `1_000`, `0xff`
  uint64_t value = 0;
};
struct FloatLiteral { // `1.5`, `1e-3`, `2i`
  double value = 0;   // nearest; inf if it is too large
  std::string text;   // as written, without `_` and `i`, for rounding to another type once
  bool is_imaginary = false;
};
struct BoolLiteral {
  bool value = false;
};
struct NoneLiteral {};
// Literal text (escapes resolved, `{{` is `{`) when `value` is null, else `{value:format}`.
struct StringPart {
  std::string text;
  Expr* value = nullptr;
  std::string format; // what is after the `:`
  Span span, format_span;
};
struct StringLiteral { // `"epoch {epoch}: {loss:.4}"`; no two literal parts in a row, none for ""
  std::vector<StringPart> parts;
};
struct Name {
  std::string name;
};
struct Wildcard {}; // `_`: in dims, and in targets like `(a, _) = f()`
struct Spread {     // `..s` in dims and in `zeros([..s, n])`
  Ident name;
};
struct Tuple { // `()`, `(a,)`, `(a, b)`; `(a)` is a with `parenthesized`
  std::vector<Expr*> elements;
};
struct ListLiteral { // `[a, b]`: a tensor, or a list where one is expected
  std::vector<Expr*> elements;
};
// `[e for i in 0..m, j in 0..n]`, or, as the only argument of a call, `sum(e for k if c)`.
struct Comprehension {
  bool in_call = false;
  Expr* element = nullptr;
  std::vector<IndexClause> clauses;
  Expr* filter = nullptr; // null: none
};

enum class UnaryOp { Negate, Not };
enum class BinaryOp {
  Or,
  And,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Remainder,
  MatrixMultiply,
  Power,
};
std::string_view symbol(UnaryOp op);  // "-", "not"
std::string_view symbol(BinaryOp op); // "+", "and"

struct Unary {
  UnaryOp op{};
  Span op_span;
  Expr* operand = nullptr;
};
struct Binary {
  BinaryOp op{};
  Span op_span;
  Expr *left = nullptr, *right = nullptr;
};
struct Range { // `first..last`
  Span op_span;
  Expr *first = nullptr, *last = nullptr;
};
struct Call { // `f(a, axis = 0)`, `m.f(…)` is a MethodCall, `(m.f)(…)` a Call
  Expr* callee = nullptr;
  std::vector<Argument> arguments;
};
struct MethodCall { // `x.f(a)`: a call of the field f, or f(x, a), or a function of the module x
  Expr* receiver = nullptr;
  Ident name;
  std::vector<Argument> arguments;
};
struct Field { // `p.w`, `x.T`
  Expr* object = nullptr;
  Ident name;
};
struct SubscriptItem {
  enum class Kind { Index, Slice, Ellipsis, NewAxis };
  Kind kind = Kind::Index;
  Span span;
  Expr* index = nullptr;                                   // Index
  Expr *first = nullptr, *last = nullptr, *step = nullptr; // Slice; each may be null
};
struct Subscript { // `x[i, 1:3, ..., new]`
  Expr* object = nullptr;
  std::vector<SubscriptItem> items;
};
// `if c { } else { }`. `else if` is an else block whose one statement is the inner `if`.
struct If {
  Expr* condition = nullptr;
  Block then_block;
  std::optional<Block> else_block;
};
struct Lambda { // `|x, y| x + y`, `|x: f64| { … }`
  std::vector<Param> params;
  Body body;
};

struct Expr {
  Span span; // with its parentheses, if any
  bool parenthesized = false;
  int depth = 1; // height of the tree below
  std::variant<IntLiteral, FloatLiteral, BoolLiteral, NoneLiteral, StringLiteral, Name, Wildcard, Spread, Tuple,
               ListLiteral, Comprehension, Unary, Binary, Range, Call, MethodCall, Field, Subscript, If, Lambda>
      node;
};

// ---- statements and declarations -----------------------------------------------------------------------------------

struct ExprStmt {
  Expr* value = nullptr;
};
struct Let { // `let p = e`, `var x: f64 = e`
  bool is_var = false;
  Pattern* pattern = nullptr;
  TypeExpr* type = nullptr; // null: inferred
  Expr* value = nullptr;
  std::string doc;
};
struct Const { // `const H = 128`
  Ident name;
  TypeExpr* type = nullptr; // null: inferred
  Expr* value = nullptr;
  std::string doc;
};
// `x = e`, `p.w[i, :] += e`, `(a, b) = (b, a)`. The target is a path of fields and subscripts from a name, `_`, or
// (without an operator) a tuple of targets; the parser has checked that much.
struct Assign {
  Expr* target = nullptr;
  std::optional<BinaryOp> op; // the `+` of `+=`
  Span op_span;
  Expr* value = nullptr;
};
struct For { // every clause has a range; several are nested loops, the first outermost
  std::vector<IndexClause> clauses;
  Block body;
};
struct While {
  Expr* condition = nullptr;
  Block body;
};
struct Break {};
struct Continue {};
struct Return {
  Expr* value = nullptr; // null: `()`
};
struct Assert {
  Expr* condition = nullptr;
  Expr* message = nullptr; // null: none
};
struct On { // `on gpu(1) { … }`
  Expr* device = nullptr;
  Block body;
};
struct Function { // `export fn f<T: float>(x: T[n]) -> T = …`
  Ident name;
  bool is_export = false;
  std::vector<TypeParam> type_params;
  std::vector<Param> params;
  TypeExpr* result = nullptr; // null: inferred
  Body body;
  std::string doc;
};
struct StructField {
  Ident name;
  bool is_state = false; // `state mean: f32[c]`: not trained
  TypeExpr* type = nullptr;
  std::string doc;
  Span span;
};
struct Struct { // `struct Linear<T: float = f32>[i, o] { w: T[i, o], b: T[o] }`
  Ident name;
  std::vector<TypeParam> type_params;
  std::vector<Ident> sizes;
  std::vector<StructField> fields;
  std::string doc;
};
struct Import { // `import nn`, `import "./util.tl" as util`
  std::string path;
  bool is_file = false; // written as a string
  Span path_span;
  Ident alias; // empty: none
};
struct Test { // `test "name" { … }`
  std::string name;
  Span name_span;
  Block body;
  std::string doc;
};

struct Stmt {
  Span span;
  int depth = 1; // height of the tree below
  std::variant<ExprStmt, Let, Const, Assign, For, While, Break, Continue, Return, Assert, On, Function, Struct, Import,
               Test>
      node;
};

// ---- a file --------------------------------------------------------------------------------------------------------

// Owner of nodes; addresses stay.
struct Arena {
  std::deque<Expr> exprs;
  std::deque<Stmt> stmts;
  std::deque<TypeExpr> types;
  std::deque<Pattern> patterns;
};

struct File {
  FileId id;
  std::string doc;               // a `##` block at the top that a blank line sets apart
  std::vector<Stmt*> statements; // declarations too, in order of the text
  std::unique_ptr<Arena> arena = std::make_unique<Arena>();
};

// `if (auto* call = as<Call>(expr)) …`: the node if it is of that form, else null.
template <class T, class Node>
  requires requires(const Node& n) { n.node; }
const T* as(const Node& node) {
  return std::get_if<T>(&node.node);
}
template <class T, class Node> const T* as(Node* node) { return node ? std::get_if<T>(&node->node) : nullptr; }

// S-expressions, one statement a line at the top and nested blocks indented; without spans. For `tl dump --stage ast`.
std::string to_text(const File& file);
std::string to_text(const Expr& expr);
std::string to_text(const TypeExpr& type);

} // namespace tl::ast

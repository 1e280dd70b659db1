// What the checker knows while it works: what names mean, functions and their instances, the state of the function that
// is being checked. The checker itself: parser/check/context.h.
#pragma once
#include "lang/ast.h"
#include "lang/diagnostics.h"
#include "lang/typed.h"
#include "parser/check/check.h"
#include "parser/check/open_types.h"
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <unordered_map>

namespace tl::checker {

using typed::ExprPtr;
using typed::InstanceId;
using typed::SizeCheck;
using typed::SizeChecks;
using typed::StmtKind;
using typed::VarId;
using LiteralForm = typed::LiteralExpr::Form;

struct FunctionContext;
struct FunctionInfo;
struct StructInfo;
struct Transformed;

// What a called name may mean: overloads written in tl, an elementwise operation, a builtin, a conversion, a struct.
struct Callable {
  std::vector<FunctionInfo*> functions;
  std::optional<ScalarOp> scalar;
  std::optional<Builtin> builtin;
  std::optional<DType> conversion;
  StructInfo* structure = nullptr;
  const Transformed* transformed = nullptr; // what the body of a derived function calls
  bool empty() const { return functions.empty() && !scalar && !builtin && !conversion && !structure && !transformed; }
  bool operator==(const Callable&) const = default;
};

// A value that is known while checking: constants for `axis` and `keep`, `none`, element types, functions.
struct Static {
  enum class Kind { Int, Bool, String, None, Tuple, Element, Function } kind = Kind::None;
  int64_t number = 0;
  DType dtype{};
  std::vector<Static> elements;
  Callable callable;
  std::string name; // of the function; the text of a string
  bool operator==(const Static&) const = default;
};
std::string to_string(const Static& value);

// A function under a transform: what grad(f), vmap(f) and the like stand for.
struct Transformed {
  Builtin builtin{};           // Grad, ValueAndGrad, Vjp (from arguments and cotangent), Vmap, Jacobian, CustomVjp …
  Static function, rule;       // rule: of custom_vjp
  std::vector<int64_t> chosen; // positions of arguments; Vmap: for each the axis, or kNoAxis
  bool one = true;             // a single one was named, not a tuple of them
  bool aux = false;
  Type result{}; // Vjp: of the function, where it was called; the cotangent has it
  static constexpr int64_t kNoAxis = INT64_MIN;
  bool operator==(const Transformed&) const = default;
};

// A declaration `struct P<T>[n] { … }`.
struct StructInfo {
  const ast::Struct* decl = nullptr;
  struct Scope* env = nullptr;
  std::shared_ptr<const Record> record;      // made when it is first asked for
  bool in_use = false;                       // being made: a cycle if asked again
  bool is_bad = false;                       // and reported
  std::shared_ptr<struct MadeSyntax> made{}; // decl is in it; null: in the text
};

struct ConstInfo {
  const ast::Const* decl = nullptr;
  struct Scope* env = nullptr;
  bool in_use = false; // being evaluated: a cycle if asked again
};

// What a name means.
struct Entity {
  enum class Kind {
    Variable,
    SizeName,
    Spread,
    Const,
    Function,
    Struct,
    Static,
    TypeParam,
    Module,
    Poisoned
  } kind = Kind::Poisoned;
  VarId var;
  Size size;
  std::vector<Size> sizes; // of a spread
  ConstInfo* constant = nullptr;
  FunctionInfo* function = nullptr;
  StructInfo* structure = nullptr;
  Static value;
  Type element; // of a type parameter; may be open, or a struct
  struct Scope* module = nullptr;
  Span span;
};

// Names of a block, or of the rest of a block from a `let` on. Scopes live as long as the checker.
struct Scope {
  Scope* parent = nullptr;
  FunctionContext* function = nullptr; // the function whose block this is; null: the file
  std::map<std::string, Entity> names;
  // Of a file: declarations whose names its own statements have bound to values since. Its functions go on seeing
  // these.
  std::map<std::string, Entity> declared;
  std::set<std::string> modules; // of a file: names that its imports have entered
  bool is_file = false;
  bool is_function = false; // the parameters of a function
  // What a name means here, or null. `in_function`: between this scope and the one of the name are a function's
  // parameters.
  const Entity* meaning(const std::string& name, bool in_function) const {
    if (in_function)
      if (auto it = declared.find(name); it != declared.end()) return &it->second;
    auto it = names.find(name);
    return it == names.end() ? nullptr : &it->second;
  }
  std::string prefix; // of a module of the standard library ("linalg."): its functions are builtins_ of these names
};

// An imported file.
struct Module {
  Scope* scope = nullptr;
  bool has_run = false;
};

// A function type where it is written, with the names that it sees.
struct WrittenFunction {
  const ast::FunctionType* type;
  Scope* env;
};

// Syntax that the checker makes itself.
struct MadeSyntax : ast::Arena {
  std::deque<ast::Function> functions;
  std::deque<ast::Struct> structs;
};

struct FunctionInfo {
  const ast::Function* decl = nullptr;
  std::shared_ptr<MadeSyntax> made;  // decl is in it; null: in the text
  Scope* env = nullptr;              // where it is declared
  FunctionContext* parent = nullptr; // the function around it
  uint32_t id = 0;
  bool is_prelude = false;
  bool is_template = false; // has type parameters, `..s`, parameters without a type or of function types
  // A lambda, a function inside another, or a parameter of function type: it sees the sizes of what is around it, so
  // its instances, and those of functions that it is passed to, have the very sizes of a call and none of their own.
  bool is_closure = false;
  const ast::FunctionType* wraps = nullptr; // a function under this type
  SizeFacts facts;                          // known where a closure was made
  // Of a function that a transform made: the element types of what its parameters without a type are given, for
  // literals. An error type where they are not known.
  std::vector<Type> elements;
  std::map<std::string, InstanceId> instances;
};

// What one call says about the generic parts of a function.
struct Bindings {
  std::map<std::string, Type> types;   // T -> scalar type, perhaps still open, or a struct
  std::map<std::string, size_t> ranks; // ..s -> number of axes
  struct Param {
    Type type;                      // of an untyped parameter, or one with functions in it: the argument's
    std::optional<Static> constant; // known while compiling: not passed at run time
    Span span;                      // of a constant
  };
  std::vector<Param> params;
  Type result;                       // of a closure: what the call wants, for literals; an error type if nothing
  bool exact = false;                // see FunctionInfo::is_closure
  std::map<std::string, Size> sizes; // exact: the sizes that parameters name
  std::map<std::string, std::vector<Size>> spreads; // exact: of ..s
};

// An element of a parameter, a short vector or a tuple of integers, that is used as a size: a variable of the body.
struct ParameterElement {
  VarId parameter, variable;
  int64_t index;
};

struct Signature {
  struct Param {
    VarId var; // invalid: static
    Type type;
  };
  Scope* scope = nullptr;
  std::vector<Param> params;
  std::vector<AtomId> size_params;
  bool has_result = false;
  Type result;
  std::vector<typed::FreshAtom> result_atoms;
  std::map<AtomId, Size> told_by_elements; // of these, the ones that follow from elements of parameters
  std::vector<ParameterElement> elements;
};

struct InstanceState {
  FunctionInfo* info = nullptr;
  Signature signature;
  enum class Stage { Waiting, Running, Done } stage = Stage::Waiting;
  Type wanted;       // Bindings::result
  Span call;         // the first call, for "called here"
  InstanceId caller; // instance in which that call is
  int depth = 0;     // of the chain of instantiations
  std::vector<Diagnostic> reports;
  FunctionContext* context = nullptr; // of its body
};

// The names of parameters or fields.
template <class Named> std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all)
    names.push_back(one.name.text);
  return names;
}

// An argument as written; checked when its role is known.
struct Arg {
  std::string name; // empty: positional
  const ast::Expr* source = nullptr;
  Span span, name_span;
  ExprPtr value;                  // checked
  std::optional<Static> constant; // known
};

// A call of a generic function whose element types were still open.
struct PendingCall {
  typed::Expr* node;
  FunctionInfo* function;
  Bindings bindings;
  size_t defined; // as of a TopLevelCall
  bool in_const;
};

struct Loop {
  std::vector<std::map<VarId, Type>> exits;     // types of the vars at each break
  std::vector<std::map<VarId, Type>> continues; // and at each continue
  bool in_condition = false;                    // of a while, is being checked
};

// A call at the top level, which reads what is defined by then.
struct TopLevelCall {
  InstanceId instance;
  Span span;
  size_t defined; // what the top level has bound by then
};

// A call in the value of a const.
struct ConstCall {
  InstanceId instance;
  Span span;
};

// The function (or the top level) being checked.
struct FunctionContext {
  FunctionContext* parent = nullptr; // lexically around it
  InstanceId instance;               // invalid: top level
  bool is_top_level = false;
  Signature* signature = nullptr;
  std::vector<Type> returned; // when the result is inferred
  std::vector<Span> returned_spans;
  std::map<VarId, Type> current; // the types of `var`s, here
  std::vector<VarId> variables;  // made by this function
  std::set<uint32_t> own;        // the same, by index
  bool reachable = true;
  std::vector<Loop> loops;
  SizeFacts facts;
  std::vector<VarId> captures;
  std::vector<ParameterElement> elements;
  std::vector<PendingCall> calls;
  std::vector<Diagnostic> reports;
};

struct Snapshot {
  size_t reports;
  SizeFacts facts;
  std::map<VarId, Type> current;
  bool reachable;
  std::vector<Loop> loops;
  Scope* scope;
  size_t instances;
};

} // namespace tl::checker

// What the functions of the checker share: everything they know about the program, and where in it they are. They are
// free functions over it, declared by subject in the headers beside this one; the entry is parser/check/check.h. Start
// reading in program.cpp.
#pragma once
#include "lang/save_and_restore.h"
#include "parser/check/open_types.h"
#include "parser/check/state.h"

namespace tl::checker {

// Names, and what they mean.
struct Names {
  std::deque<Scope> scopes;
  Scope *prelude = nullptr, *file = nullptr; // their outermost scopes
  Scope* scope = nullptr;                    // the current one
  FileId prelude_file;
  std::map<std::string, Callable> builtins;
  std::map<std::string, std::vector<const ast::Stmt*>> declared_builtins; // in the standard library, by name
  std::deque<ConstInfo> constants;
  std::deque<StructInfo> structs;
  std::map<const Record*, StructInfo*> struct_of;
  std::map<const ast::File*, Module> modules;
  mutable int suggestions = 0; // "did you mean" looked for in this piece
};

// Functions as they are declared or made, and those that are values.
struct Functions {
  std::deque<FunctionInfo> declared;
  std::vector<Static> values{1}; // by Type::function
  std::deque<Transformed> transformed;
  std::deque<std::pair<const Transformed*, Static>> derived;         // the functions made for them
  std::vector<WrittenFunction> written;                              // by Type::function, less kWritten
  std::shared_ptr<MadeSyntax> made = std::make_shared<MadeSyntax>(); // calls of function values, for one
  std::map<const ast::Lambda*, const ast::Function*> of_lambdas;
  std::set<const ast::Expr*> defaults_in_use; // being checked: a cycle if asked again
  int expansions = 0;                         // calls being checked in place
  bool expanding = false;
};
constexpr uint32_t kWritten = 0x80000000;

// Instances of functions, one for the types of each call.
struct Instances {
  std::deque<InstanceState> states; // by InstanceId
  std::vector<InstanceId> waiting;
  std::vector<TopLevelCall> top_level_calls;
  std::vector<ConstCall> const_calls;
  // Variables, and sizes that types name, in the order in which the top level binds them.
  std::map<VarId, size_t> top_level_order;
  std::map<AtomId, size_t> top_level_sizes;
  size_t bound_at_top_level() const { return top_level_order.size() + top_level_sizes.size(); }
};

// What is known of sizes beside their atoms (SizeAtoms) and the facts of a function (SizeFacts).
struct KnownSizes {
  std::map<VarId, Size> known;   // immutable i64 variables that are a size
  std::set<AtomId> mask_counts;  // of targets like x[mask]: the assignment itself compares them
  std::set<AtomId> open_results; // `_` in the result types that functions declare: only what they return tells
  std::set<AtomId> never_known;  // in the types of values after a jump: nothing ever needs them
};

// A program that comes in pieces: where this piece began, and what a failure goes back to. What a failed piece left
// otherwise is not reachable, and is gone with the next renewal (renewal.cpp).
struct Session {
  bool is_active = false;
  size_t first_function = 0, first_struct = 0, pieces = 0;
  struct NameBefore {
    Scope* scope;
    std::string name;
    std::optional<Entity> before;
  };
  struct Before {
    std::vector<NameBefore> names; // in the order in which they changed
    std::map<VarId, Type> current;
    SizeFacts::Mark facts;
    size_t variables;
    bool uses_devices;
  };
  std::optional<Before> before;
  std::vector<const ast::File*> new_modules, run_modules;
  std::vector<FunctionInfo*> with_instances; // made for this piece
  std::set<AtomId> known_atoms;              // sizes that have a value
  std::set<VarId> given, new_given;          // variables that have one; by this piece
  std::set<VarId> hidden;                    // those that functions which are values may read
  std::string shown_type;
  std::set<const ast::Expr*> shown_ifs; // that stand alone, and those that are their last expressions
};

// An element type that literals are tried as: only those that are floats, or integers too?
struct LiteralChoice {
  DType element;
  bool integers;
};

struct Context {
  Context(const SourceManager& sources, const CheckOptions& options);

  const SourceManager& sources;
  const CheckOptions& options;
  typed::Program program;
  Names names;
  OpenTypes open;
  KnownSizes sizes;
  Functions functions;
  Instances instances;
  Session session;
  FunctionInfo* main = nullptr;

  // Where it is.
  std::deque<FunctionContext> contexts;
  FunctionContext *top = nullptr, *function = nullptr; // the top level; the function being checked
  std::map<const ast::Expr*, VarId> held;              // expressions that have been evaluated already, for Axes
  std::map<VarId, std::string> open_at_first;          // variables whose value had no type yet: its text
  std::map<VarId, Span> made_float;                    // variables that were integers without a type, until this
  bool is_incomplete = false;                          // a warning stands for a part that could not be checked
  bool in_const = false;
  uint32_t const_variables = 0; // in a const: variables before this one are not its own
  int literal_retries = 0;      // calls that failed and are being checked again, one in the other
  // Of calls that stand in another one in `literals_of`, what their literals were when they were right, by their first
  // argument: a call that is checked again does not try all of it for each call in it.
  std::map<const ast::Expr*, LiteralChoice> literal_choices;
  const FunctionContext* literals_of = nullptr;
  std::optional<DType> annotated; // the element type of the `let` whose value is being checked
  int in_comprehension = 0;
  uint32_t comprehension_variables = 0; // variables before this one are outside the comprehension
  int depth = 0;
};

// The type of an expression with what is known by now.
inline Type& refresh(Context& cx, typed::Expr& e) { return e.type = cx.open.resolved(e.type); }

// Speculation: check something, look at the outcome, and take it back.
Snapshot snapshot(const Context& cx);
void rollback(Context& cx, const Snapshot& s);

} // namespace tl::checker

// The checker: scopes, calls, sizes, one part of Checker in each check_*.cpp, its rules for built-in functions in
// builtins/. The entry is parser/check/check.h; what it keeps is in parser/check/state.h. Start reading in
// check.cpp.
#pragma once
#include "parser/check/state.h"

namespace tl::checker {
class Checker {
public:
  Checker(const SourceManager& sources, const CheckOptions& options);
  typed::Program run(const ast::File& file, const ast::File& prelude, Diagnostics& diagnostics);

  // --- session.cpp
  void begin(const ast::File& prelude);
  const typed::Program& piece(const ast::File& file, Diagnostics& diagnostics);
  void undo();
  void accept(const std::vector<AtomId>& sizes);
  SizeAtoms& atoms() { return p_.atoms; }
  bool is_worn() const { return pieces_ >= kLeastPieces && pieces_ >= 2 * (file_->names.size() + given_.size()); }
  const std::string& shown_type() const { return shown_type_; }
  std::vector<std::string> names() const;

private:
  // --- session.cpp
  void forget_declared(const ast::File& file);
  void show_value(const ast::Expr& e, typed::Block& into); // an expression that stands alone is printed
  std::string function_text(const Static& function);
  void append_type(typed::Expr& interp, const Type& type, Span span);
  void find_state();
  void note_name(Scope& scope, const std::string& name);        // it is about to mean something else
  void held_variables(const Type& type, std::set<VarId>& into); // that functions in a value of this type may read

  // --- check.cpp: the program as a whole
  void declare(const std::vector<ast::Stmt*>& statements, bool is_prelude);
  void check_top_level(const ast::File& file);
  void check_main(const ast::File& file);
  bool has_known_types(const FunctionInfo& entry, const std::string& why);
  InstanceId entry_instance(FunctionInfo& entry, const Bindings& bindings);
  void check_tests(const ast::File& file);
  void check_uncalled();
  std::optional<Bindings> plain_bindings(const FunctionInfo& info); // of a generic function that nobody calls
  void check_waiting();
  void flush_reports(Diagnostics& diagnostics);

  // --- export.cpp: what a library gives
  void check_export(const std::string& name);
  void check_export_top_level(const std::string& name);
  std::string why_not_exported(const Type& type, bool is_part);
  std::string record_name(const Type& type);
  void export_results(typed::Block& block);

  // --- main.cpp: the command line
  bool returns_struct(const ast::NamedType& type) const;                    // does it name one?
  ExprPtr main_file(const ast::Param& param, std::set<std::string>& sizes); // sizes: those that have a name
  void free_elements(Type& type);
  ExprPtr entry_leaves(const ast::Param& param, Type type, const std::string& path, std::set<std::string>& sizes);
  ExprPtr main_list(ExprPtr given, std::optional<DType> dtype, typed::Block& before);
  void main_results(typed::Block& block);

  // --- finish.cpp: effects, captures, unused values, once everything is known
  struct Uses { // what a body takes from around it, and from where
    std::set<uint32_t> callees;
    std::set<AtomId> used, defined;
    std::set<VarId> captures;
    std::set<VarId> variables; // that it mentions
  };
  void add_uses(const typed::Block& block, Uses& uses);
  void add_uses(const Type& type, Uses& uses);
  void add_uses(const Size& size, Uses& uses);
  void finish_program();
  std::vector<bool> reachable_instances();
  bool has_effects(const typed::Expr& e);
  bool has_effects(const typed::Block& block);
  bool has_effects(const typed::Stmt& s);
  void check_uses(const typed::Block& block);
  void check_derivatives(const typed::Block& block, const std::vector<std::set<uint32_t>>& callees);
  void check_uses(const typed::Expr& e);
  void check_uses(const typed::Stmt& s);

  // --- modules.cpp: imported files
  void import_names(const ast::Import& import); // enters the module, with its declarations
  void run_import(const ast::Import& import);   // its top-level statements, the first time
  Scope* module_scope(const ast::File& file);
  Scope* module_of(const ast::Expr* e) const; // of a name that means a module, else null
  const Entity* find_in(Scope* module, const ast::Ident& name, const std::string& module_name); // null: reported
  ExprPtr module_name(Scope* module, const ast::Expr& e, const ast::Field& f);
  ExprPtr module_call(Scope* module, const ast::Expr& e, const ast::MethodCall& c, const Type* expected);
  std::optional<Callable> callable_in(Scope* module, const std::string& name) const;
  // x.f(…): f of this file's scopes, else of the prelude or one imported module. Null and `reported`: of several.
  std::optional<Callable> find_method(const ast::Ident& name, const ast::Expr* receiver, bool& reported);
  std::optional<Callable> method_of_record(const ast::Expr* receiver, const std::string& name);
  bool is_library(FileId file) const {
    return file == prelude_file_ || (options_.imports && options_.imports->library.count(file.index));
  }

  // --- names.cpp: scopes, look-up, messages
  void report(Diagnostic d);
  void error(std::string kind, Span span, std::string message, std::string hint = {}, std::vector<Label> labels = {});
  std::string text(Span span) const { return std::string(sources_.text(span)); }
  void unknown_field(const Type& type, const ast::Ident& name);
  std::string show(const Type& type) { return to_string(resolved(type), p_.atoms); }
  std::string show(const Size& size) { return p_.atoms.to_string(size); }
  Label label(const typed::Expr& e) { return {e.span, show(e.type)}; }
  Scope* push_scope();
  void enter(const std::string& name, Entity entity);
  const Entity* find(const std::string& name) const; // what it means as a value
  const Entity*
  find_type(const std::string& name) const; // a struct or a type parameter: values may be named like types
  bool is_prelude_function(const Entity& entity) const {
    return entity.kind == Entity::Kind::Function && entity.function->is_prelude;
  }
  // Before a name is declared in the current scope: may it be? `what`: "const".
  bool may_declare(const ast::Ident& name, const std::string& what);
  bool may_be_type(const ast::Ident& name);
  // What the declaration of this name has entered, at its own line; null where the name is another's (reported).
  const Entity* declaration(const ast::Ident& name, Entity::Kind kind);
  // The declarations of a built-in function, and their text: "dot<T: num>(a: T[n], b: T[n]) -> T".
  const std::vector<const ast::Stmt*>& declared(Builtin builtin) const;
  std::string signature_of(Builtin builtin) const;
  std::optional<Callable> find_callable(const std::string& name, bool skip_values) const;
  std::string did_you_mean(const std::string& name, bool callable) const;
  void unknown_name(const std::string& name, Span span, bool callable);
  VarId raw_variable(std::string name, Type type, bool is_mutable, Span span); // of no function yet
  VarId new_variable(std::string name, Type type, bool is_mutable, Span span);
  void bind_atom(VarId var, AtomKind kind = AtomKind::Value); // gives an immutable i64 an atom
  Type current_type(VarId var) const;
  void capture(VarId var, Span span, const std::string& name);

  // --- unify.cpp: open element types
  Type new_open(LiteralKind kind);
  uint32_t root(uint32_t var) const;
  Type resolved(Type type) const;
  Type& refresh(typed::Expr& e) { return e.type = resolved(e.type); }
  void settle(Type& type); // closes it by its default
  void settle(typed::Expr& e) { settle(e.type); }
  bool unify(const Type& a, const Type& b); // element types only
  bool constrain_float(const Type& type);   // false: not a float
  bool constrain_int(const Type& type);     // false: not an integer
  Type element_of(const Type& type) const;  // its element type as a scalar type
  void finalize(typed::Block& block);
  void finalize(typed::Stmt& s);
  void finalize(typed::Expr& e);
  void finalize_pattern(const typed::Pattern& pattern);
  Snapshot snapshot() const;
  void rollback(const Snapshot& s);

  // --- sizes.cpp
  Compare compare(const Size& a, const Size& b) { return p_.atoms.compare(a, b, ctx_->facts); }
  SizeFacts sure_facts() const { return ctx_->facts.sure(); } // by which sizes are computed and checks left out
  std::optional<Size>
  number_of(const typed::Expr& e);                   // what an i64 expression is where it runs: for what is known of it
  std::optional<Size> size_of(const typed::Expr& e); // the same, where it can be computed as a size
  bool subtracts(const Size& number) const;
  Size steps(const Size& distance, int64_t by); // how many of length |by| begin within a distance of at least 0
  void add_origins(const Size& a, const Size& b, std::vector<Label>& labels);
  SizeCheck size_check(const Size& a, const Size& b, std::string message, Span span);
  // Two sizes that have to be equal. Adds a check to `checks` where that cannot be decided; false where they differ.
  // implied: by an operation rather than written down, so that two names are two sizes. reads: something is read by it
  // that has no check of its own, so a claim is checked again.
  bool require_equal(const Size& a, const Size& b, bool implied, const std::string& message, Span span,
                     std::vector<SizeCheck>& checks, bool reads = false);
  void require_bound(const Size& a, SizeCheck::Relation relation, int64_t bound, const char* kind, std::string message,
                     Span span, std::vector<SizeCheck>& checks);
  // a is no longer than an axis may be; {0} in `what` is a.
  void require_axis(const Size& a, const std::string& what, Span span, std::vector<SizeCheck>& checks);
  // a is a size of at least `least`.
  void require_size(const Size& a, int64_t least, const std::string& message, Span span,
                    std::vector<SizeCheck>& checks);
  std::string different(const Size& a, const Size& b);     // "n and m are different sizes", "3 is not 4"
  std::string equality_hint(const Size& a, const Size& b); // "write `assert n == m` …"
  std::optional<std::vector<Size>> broadcast(const std::vector<typed::Expr*>& operands, const std::string& what,
                                             Span span, std::vector<SizeCheck>& checks, size_t skip_last_axes = 0);
  // e as a value of the written type: unifies element types, compares or checks sizes.
  // `written`: the declaration's type, whose names for sizes the messages take.
  ExprPtr coerce(ExprPtr e, const Type& target, const std::string& what, const ast::TypeExpr* written = nullptr);
  void distinct(const std::vector<const ast::Ident*>& names, const std::string& what); // no two of one name
  void distinct_params(const std::vector<ast::TypeParam>& types, const std::vector<ast::Param>& params);
  Size size_argument(ExprPtr value, typed::Expr& node, bool not_negative, const std::string& what);
  void learn(const typed::Expr& condition, bool holds);
  void learn_index(const Size& index, const Size& first, const Size& end); // first <= index < end
  Type fresh_join(const Type& a, const Type& b, std::vector<typed::FreshAtom>& fresh, const std::string& what,
                  Span span, std::vector<uint32_t> path = {});
  std::vector<typed::Join> join_variables(std::vector<std::map<VarId, Type>> states, Span span);

  // --- types.cpp: types as written, signatures
  enum class DimMode { Lookup, Bind, Annotation, Result };
  struct DimContext {
    DimMode mode = DimMode::Lookup;
    std::vector<AtomId>* bound = nullptr;           // Bind: size parameters; Annotation: names to be solved
    std::vector<typed::FreshAtom>* fresh = nullptr; // Result: `_`
    std::vector<uint32_t> path;
    uint32_t axis = 0;
    std::string of;          // parameter's name, for origins
    bool in_struct = false;  // the field of a struct: names are not bound by it
    bool in_wrapper = false; // the result of a function type: names that are not bound are like `_`
    bool in_list = false;    // in the type of a list's elements
  };
  Type type_of(const ast::TypeExpr* type, DimContext& context);
  void bind_names(const ast::TypeExpr* type, DimContext& context);
  std::optional<Size> dim_of(const ast::Expr* e, DimContext& context);
  Signature make_signature(FunctionInfo& info, const Bindings& bindings, Span call);
  Type abstracted(const Type& type, std::map<Size, Size>& names, Signature& signature, Span origin);
  bool fits_bound(const ast::TypeParam& param, const Type& type, Span span, const std::string& function);

  // --- statements.cpp
  typed::Block block(const ast::Block& block, bool want, const Type* expected = nullptr);
  void statements(const std::vector<ast::Stmt*>& list, typed::Block& into, bool want, const Type* expected);
  Type behind_jump(Type type, const std::function<bool(AtomId)>& is_untold);
  void statement(const ast::Stmt& s, typed::Block& into);
  void let(const ast::Let& s, Span span, typed::Block& into);
  ExprPtr annotated_value(const ast::TypeExpr* type, const ast::Expr* value_expr, Scope* outer, const std::string& what,
                          std::vector<std::pair<AtomId, Size>>& defs);
  typed::Pattern pattern(const ast::Pattern& p, const Type& type, bool is_mutable, const typed::Expr* value);
  VarId bind_name(const std::string& key, const std::string& name, const Type& type, bool is_mutable,
                  const typed::Expr* value, Span span);
  void for_loop(const ast::For& s, size_t clause, Span span, typed::Block& into);
  void loop_variables(const ast::Pattern& p, const typed::Expr& iterated, typed::Stmt& loop);
  void while_loop(const ast::While& s, Span span, typed::Block& into);
  void check_loop(Span span, typed::Stmt& loop, const std::function<bool(typed::Stmt&)>& body);
  void return_statement(const ast::Return& s, Span span, typed::Block& into);
  void assert_statement(const ast::Assert& s, Span span, typed::Block& into);
  void hoist(const std::vector<ast::Stmt*>& list);

  // --- assignments.cpp
  void assign(const ast::Assign& s, Span span, typed::Block& into);
  void assign_tuple(const ast::Tuple& targets, const ast::Expr* value, Span span, typed::Block& into);
  void assign_one(const ast::Assign& s, Span span, typed::Block& into);
  ast::Expr* held_target(ast::Expr* target, typed::Block& into); // with every subscript in it held
  ast::Expr* held_subscript(ast::Expr* e, typed::Block& into);
  std::optional<typed::Place> place(const ast::Expr* target, typed::Stmt& s, typed::Block& into);
  Type wanted_by(const typed::Place& place, const Type& have);
  void set_current(const typed::Place& place, const Type& type);
  bool broadcast_to_place(const typed::Place& place, typed::Expr& value, typed::Stmt& s);

  // --- expressions.cpp
  ExprPtr make(ExprKind kind, Span span, Type type);
  ExprPtr broken(Span span) { return make(ExprKind::Unit, span, Type::error()); }
  ExprPtr expr(const ast::Expr* e, const Type* expected = nullptr, bool want = true);
  ExprPtr value(const ast::Expr* e, const Type* expected = nullptr); // an error if it has no run-time value
  ExprPtr literal(int64_t value, Span span);
  ExprPtr literal_bool(bool value, Span span);
  ExprPtr int_literal(uint64_t magnitude, bool negative, Span span);
  ExprPtr float_literal(double value, const std::string& text, bool negative, Span span);
  ExprPtr size_value(const Size& size, Span span);
  ExprPtr variable(VarId var, Span span);
  ExprPtr name(const ast::Expr& e, const std::string& name);
  ExprPtr static_value(const Static& value, Span span);
  ExprPtr const_value(ConstInfo& info, const std::string& name, Span span);
  ExprPtr unary(const ast::Expr& e, const ast::Unary& u, const Type* expected);
  ExprPtr binary(const ast::Expr& e, const ast::Binary& b, const Type* expected);
  ExprPtr binary_op(ast::BinaryOp op, ExprPtr a, ExprPtr b, Span span, Span op_span);
  ExprPtr struct_op(ast::BinaryOp op, ExprPtr a, ExprPtr b, Span span, Span op_span);
  ExprPtr short_circuit(const ast::Expr& e, const ast::Binary& b);
  ExprPtr join_conditions(ast::BinaryOp op, ExprPtr left, ExprPtr right, Span span);
  ExprPtr power(ExprPtr base, const ast::Expr* exponent, Span span, Span op_span);
  ExprPtr matmul(ExprPtr a, ExprPtr b, Span span, const std::string& what);
  ExprPtr scalar_node(ScalarOp op, std::vector<ExprPtr> operands, Span span, const std::string& what);
  bool same_element(std::vector<ExprPtr>& operands, size_t first, const std::string& what, Span span);
  void mixed_types(const typed::Expr& a, const typed::Expr& b, const std::string& what, Span span);
  std::string conversion_hint(const typed::Expr& from, const Type& to, const typed::Expr* target = nullptr);
  bool is_made_here() const; // what is checked stands nowhere in the text: the body of a function that is made
  ExprPtr list_literal(const ast::Expr& e, const ast::ListLiteral& list, const Type* expected);
  ExprPtr if_expr(const ast::Expr& e, const ast::If& node, const Type* expected, bool want);
  ExprPtr condition(const ast::Expr* e);
  ExprPtr range(const ast::Expr& e, const ast::Range& r);
  ExprPtr field(const ast::Expr& e, const ast::Field& f);
  ExprPtr convert(ExprPtr value, DType target, Span span);
  ExprPtr convert(ExprPtr value, DType target); // at the value's own place
  ExprPtr to_i64(ExprPtr value, const std::string& what);
  ExprPtr copy_simple(const typed::Expr& e); // of a variable, literal or size
  bool is_simple(const typed::Expr& e) const;
  ExprPtr shared(ExprPtr value, typed::Block& block); // a variable that holds it, or itself when simple
  // The same, and it stays what it is now: a `var` may be assigned before it is looked at.
  ExprPtr kept(ExprPtr value, typed::Block& block);
  ExprPtr held(ExprPtr value, typed::Block& block); // a variable that holds it

  // --- strings.cpp
  ExprPtr string(const ast::Expr& e, const ast::StringLiteral& s);
  void append_value(typed::Expr& interp, ExprPtr value, const std::string& spec, Span span);
  void check_formats(typed::Expr& interp); // of values whose types were open before
  void append_element(typed::Expr& interp, ExprPtr value, const std::string& spec, Span span);
  void append_text(typed::Expr& interp, std::string_view text);
  ExprPtr new_interp(Span span);
  ExprPtr finish_interp(ExprPtr interp);

  // --- calls.cpp
  ExprPtr call(const ast::Expr& e, const ast::Call& c, const Type* expected);
  ExprPtr method_call(const ast::Expr& e, const ast::MethodCall& c, const Type* expected);
  ExprPtr call_named(const Callable& callable, const std::string& name, Span name_span, std::vector<Arg> args,
                     Span span, bool is_method, const Type* expected);
  ExprPtr call_function(FunctionInfo& info, std::vector<Arg> args, Span span, const Type* expected);
  ExprPtr call_scalar(ScalarOp op, std::vector<Arg> args, Span span, const std::string& name);
  ExprPtr conversion(DType type, std::vector<Arg> args, Span span);
  FunctionInfo* choose_overload(const std::vector<FunctionInfo*>& functions, std::vector<Arg>& args, Span span,
                                const std::string& name);
  bool accepts(const FunctionInfo& info, const std::vector<Arg>& args);
  std::optional<Static> static_of(const ast::Expr* e);
  std::optional<Static> static_const(ConstInfo& info);
  void check_arg(Arg& arg, const Type* expected = nullptr);
  void evaluate_as_written(const std::vector<std::string>& names, std::vector<Arg>& args, typed::Block& before);
  ExprPtr take(Arg& arg, const Type* expected = nullptr); // its value
  std::vector<Arg*> arrange(FunctionInfo& info, std::vector<Arg>& args, Span span, bool& ok);
  bool infer(FunctionInfo& info, const std::vector<Arg*>& args, Bindings& bindings, Span span);
  bool infer_type(const ast::TypeExpr* type, const Type& actual, FunctionInfo& info, Bindings& bindings, const Arg& arg,
                  const std::string& param);
  std::string key_of(const FunctionInfo& info, const Bindings& bindings);
  InstanceId instance_for(FunctionInfo& info, const Bindings& bindings, Span call);
  void check_instance(InstanceId id);
  ExprPtr finish_call(FunctionInfo& info, const Signature& signature, std::vector<ExprPtr> args, Span span,
                      InstanceId instance);
  // Solves sizes that parameters' types name for those of the arguments; what is found goes to `known`.
  void solve_sizes(const std::vector<const Type*>& params, const std::vector<const Type*>& args,
                   const std::set<AtomId>& unknown, const std::string& of, Span span, std::map<AtomId, Size>& known,
                   std::vector<SizeCheck>& checks);
  bool fits_solved(const Type& written, const Type& actual, const std::map<AtomId, Size>& known,
                   const std::string& what, const typed::Expr& arg);
  // Reports sizes of a signature that no argument can tell.
  void check_solvable(const Signature& signature);
  void exact_sizes(FunctionInfo& info, Bindings& bindings, const std::vector<ExprPtr>& values, Span span);
  ExprPtr call_expression(ExprPtr function, std::vector<Arg> args, Span span, const Type* expected);
  bool is_called_deeply(const FunctionInfo& info) const;
  std::optional<Type> list_type(const ast::TypeExpr* written, Scope* scope);
  ExprPtr default_value(FunctionInfo& info, size_t param, std::vector<Arg*>& args, const Bindings& bindings,
                        typed::Block& before);
  void infer_result(InstanceState& state, typed::Block& body, size_t first_local_atom, typed::Instance& instance);
  Type substitute(const Type& type, const std::map<AtomId, Size>& by);

  // --- functions.cpp: functions as values
  Type function_type(const Static& function);
  Static conversion_function(DType type) const;
  const Static& function_of(const Type& type) const { return function_values_[type.function]; }
  bool has_function(const Type& type) const;
  bool has_closure(const Type& type) const;
  bool has_range(const Type& type) const;
  bool is_closure(const Static& function) const;
  bool returns_function(const ast::TypeExpr* type);
  bool may_hold_function(const ast::Struct& decl, const ast::TypeExpr* type);
  ExprPtr lambda(const ast::Expr& e, const ast::Lambda& l);
  // The `var`s of the function being checked that a closure names, as values of now: `let`s in `into`.
  void keep_values(const std::set<std::string>& names, Span span, typed::Block& into);
  Type written_function(const ast::FunctionType& type);
  Static under_type(const Static& function, uint32_t written, Span span, bool& ok);
  // Function types as written, in `to`, become the functions that `have` holds there.
  bool fill_functions(Type& to, const Type& have, Span span);
  ExprPtr expand_call(FunctionInfo& info, const Bindings& bindings, std::vector<ExprPtr> args, Span span,
                      typed::Block& before);
  ExprPtr call_value(const Static& function, std::vector<ExprPtr> args, Span span);
  ExprPtr call_leaves(bool is_map, std::vector<Arg> args, Span span);
  // Element types of `type` that are still open become those of `wanted`, where these fit.
  void close_to(const Type& type, const Type& wanted);
  ExprPtr in_block(typed::Block block, ExprPtr result, Span span); // the result after the block's statements

  // --- derive.cpp: derivatives and other transforms of functions
  ExprPtr transform_call(Builtin builtin, std::vector<Arg> args, Span span); // grad(f), vjp(f, x) … as written
  // What element type an argument takes that is a literal, by the types that the function's parameters have.
  Type wanted_elements(const FunctionInfo& info, size_t parameter);
  Type wanted_elements(const Static& function, size_t parameter);
  void take_elements(typed::Expr& value, const Type& wanted);
  Static transformed_function(Transformed what, Span span); // the function that grad(f) is
  ExprPtr call_transformed(const Transformed& what, std::vector<Arg> args, Span span);
  // A transform of a call of `function` with these arguments, those of `chosen` positions as its operands.
  ExprPtr derive(typed::Transform transform, const Static& function, std::vector<Arg> args,
                 const std::vector<int64_t>& chosen, Span span);
  ExprPtr derive_gradient(const Transformed& what, std::vector<Arg> args, Span span);
  ExprPtr derive_vmap(const Transformed& what, std::vector<Arg> args, Span span);
  ExprPtr vjp_call(std::vector<Arg> args, Span span);
  ExprPtr jvp_call(std::vector<Arg> args, Span span);
  Arg bound_arg(const std::string& name, Entity entity, Span span); // under a name that no text has
  ExprPtr seed_for(ExprPtr seed, const Type& type, const std::string& what);
  std::optional<Static> function_argument(Arg& arg, const std::string& name);

  // --- structs.cpp
  std::shared_ptr<const Record> record_of(StructInfo& info);
  Type struct_type(StructInfo& info, const ast::NamedType& named, Span span, DimContext& context);
  bool has_atom(const Type& type, const std::vector<AtomId>& atoms) const; // does a size in it use one of these?
  void learn_types(const ast::TypeExpr* written, const Type& actual, const ast::Struct& decl,
                   std::map<std::string, Type>& learned);
  // The fields' types for these type and size parameters.
  std::vector<Type> field_types(StructInfo& info, const std::map<std::string, Type>& types,
                                const std::vector<Size>& sizes, DimContext& context);
  ExprPtr construct(StructInfo& info, std::vector<Arg> args, Span span, const Type* expected);
  ExprPtr with_call(const ast::Expr& e, const ast::MethodCall& c);
  ExprPtr get(ExprPtr object, uint32_t index, Span span);
  ExprPtr unary_struct(ast::UnaryOp op, ExprPtr operand, Span span);
  ExprPtr part(const typed::Expr& held, const std::vector<uint32_t>& path, Span span);
  void free_sizes(Type& target, const Type& have) const; // axes that fields declare as `_` take the sizes of `have`

  // --- leaves.cpp: what goes through the parts of values
  ExprPtr again(const typed::Expr& e); // a copy of a part of a variable, or of what is simple
  // A value of the form of these (of one form all), whose leaves are leaf(type, theirs): tensors, text, keys. Functions
  // stay. Lists are gone through by a loop. in_state: the leaf stands in a field marked `state`.
  using Leaf = std::function<ExprPtr(const Type&, bool in_state, std::vector<ExprPtr>)>;
  ExprPtr rebuild(std::vector<ExprPtr> values, Span span, const Leaf& leaf, bool in_state = false);
  // step(step(start, first leaf), second leaf) and so on.
  using FoldStep = std::function<ExprPtr(ExprPtr, bool in_state, ExprPtr)>;
  ExprPtr fold_leaves(ExprPtr start, ExprPtr value, typed::Block& before, const FoldStep& step, Span span,
                      bool in_state = false);
  // The head of a loop over the elements of lists of one length, which `body` binds.
  std::vector<ExprPtr> enter_lists(std::vector<ExprPtr> lists, Span span, typed::Block& before, typed::Stmt& loop);
  ExprPtr equality(bool equal, ExprPtr a, ExprPtr b, Span span); // == or != of lists, tuples, structs: one bool
  ExprPtr equal_parts(ExprPtr a, ExprPtr b, typed::Block& before, Span span);
  ExprPtr equal_tensors(ExprPtr a, ExprPtr b, typed::Block& before, Span span);
  ExprPtr bool_op(ScalarOp op, ExprPtr a, ExprPtr b, Span span);
  typed::Stmt set_variable(VarId var, ExprPtr value, Span span);
  typed::Stmt let_variable(VarId var, ExprPtr value, Span span);

  // --- indexing.cpp
  ExprPtr subscript(const ast::Expr& e, const ast::Subscript& s);
  ExprPtr index_node(ExprPtr base, const std::vector<ast::SubscriptItem>& items, Span span);
  // Fills subscripts; result: the shape of the part. Binds and checks go to `node`.
  std::optional<std::vector<Size>> subscripts(const Type& base, const std::string& base_text,
                                              const std::vector<ast::SubscriptItem>& items, Span span,
                                              typed::Expr& node, std::vector<typed::Subscript>& out);
  void slice(typed::Subscript& s, const Size& axis, std::optional<Size> first, std::optional<Size> last, int64_t step);
  void slice_by(const SizeFacts& facts, typed::Subscript& s, const Size& axis, std::optional<Size> first,
                std::optional<Size> last, int64_t step);
  void slice(typed::Subscript& s, const Size& axis, std::optional<Size> first, std::optional<Size> last,
             const Size& step, typed::Expr& node);

  struct Rule; // reads the arguments of one call of a builtin

  // --- lists.cpp: the types of lists, operations on them
  // A list of such elements: sizes that `varies` says are each element's own become Element atoms.
  Type list_of(const Type& element, const std::function<bool(const Size&)>& varies = nullptr);
  Type list_element(const Type& list, std::vector<typed::FreshAtom>& fresh, Span span); // with fresh sizes of its own
  // One type for values of these two: sizes that differ are each value's own. Of one form already (same_form).
  Type either_element(const Type& a, const Type& b);
  bool same_form(const Type& a, const Type& b); // same kinds, ranks and, as unified now, element types
  bool has_list(const Type& type) const;
  Type any_sizes(const Type& type); // with lists whose elements are of any sizes
  ExprPtr list_node(typed::ListOp op, Span span, Type type);
  ExprPtr list_make(std::vector<ExprPtr> elements, Span span, const Type* expected);
  ExprPtr list_length(ExprPtr list, Span span);
  ExprPtr list_get(ExprPtr list, ExprPtr index, bool in_range, Span span);
  ExprPtr list_concat(ExprPtr a, ExprPtr b, Span span);
  ExprPtr list_subscript(ExprPtr list, const ast::Subscript& s, Span span);
  ExprPtr list_stacked(ExprPtr list, Span span); // one tensor, or null where the elements are no tensors
  ExprPtr list_call(std::vector<Arg> args, Span span, const Type* expected);
  ExprPtr unpacked(ExprPtr list, size_t count, Span span); // its elements as a tuple, of which there must be so many
  bool assign_element(const ast::Assign& s, Span span, typed::Block& into); // xs[i] = e; false: not of a list
  ExprPtr coerce_list(ExprPtr e, const Type& target, const std::string& what);
  // list(f(element) for element in list), of elements of this type
  ExprPtr map_list(ExprPtr list, const Type& element, const std::function<ExprPtr(ExprPtr)>& f, Span span);
  // A loop that appends `element(position)` for each of `count` positions to a list of this type.
  // A new atom for a size, which is not negative.
  AtomId size_atom(AtomKind kind, std::string name, Span origin);
  typed::Stmt append_to(VarId built, const Type& list, ExprPtr element, Span span);
  ExprPtr build_list(const Type& list, const Size& count, typed::Block before,
                     const std::function<ExprPtr(ExprPtr)>& element, Span span);
  std::vector<ExprPtr> slice_bounds(const ast::SubscriptItem& item, std::vector<int64_t>& given);

  // --- iteration.cpp: what loops and comprehensions go over besides ranges
  // Positions 0, 1, … count - 1, and what stands at each.
  struct Iteration {
    Size count;
    std::function<ExprPtr(const Size& position, Span span)> element; // null: not iterable, reported
    bool is_list = false; // elements come from a list: they are taken one by one
  };
  bool iterates(const ast::Expr* e); // a call of enumerate, zip or batches
  // numbers_together: a list of numbers becomes a tensor first, so that the loop may become a kernel.
  Iteration iterate(const ast::Expr* e, typed::Block& before, bool numbers_together = false);
  Iteration iterate_value(ExprPtr value, typed::Block& before, bool numbers_together = false);
  ExprPtr reduce_list(const ast::Comprehension& c, const std::string& reduction, Span span, const Type* expected);
  ExprPtr iteration_call(Builtin builtin, Rule& r); // enumerate, zip, batches as values
  Iteration iterate_call(Builtin builtin, std::vector<Arg>& args, Span span, typed::Block& before,
                         bool numbers_together = false);
  Iteration iterate_batches(std::vector<Arg>& args, Span span, typed::Block& before);
  ExprPtr list_comprehension(const ast::Comprehension& c, Span span, const Type* expected);
  Size bound_size(ExprPtr value, const std::string& name, typed::Block& before); // held by a variable of `before`
  // A bar that advances with the iterations of a loop: for … in progress(xs, show = e).
  struct Progress {
    bool is_shown = false;
    const ast::Expr* show = nullptr;
  };
  void for_each(const ast::For& s, size_t clause, Span span, Iteration over, const Progress& bar, typed::Block& into);
  const ast::Expr* progress_of(const ast::Expr* e, Progress& bar); // what it goes over; e itself: no such call
  typed::Stmt progress_tick(const Progress& bar, const Size& done, const Size& total, std::vector<ExprPtr> computed,
                            Span span);

  // --- text.cpp
  ExprPtr text_node(TextOp op, std::vector<ExprPtr> operands, Span span);
  ExprPtr text_compare(ast::BinaryOp op, ExprPtr a, ExprPtr b, Span span);
  ExprPtr text_subscript(ExprPtr text, const ast::Subscript& s, Span span);
  ExprPtr text_rule(Builtin builtin, Rule& r);

  // --- comprehensions.cpp
  ExprPtr comprehension(const ast::Expr& e, const ast::Comprehension& c, const std::string& reduction, Span span,
                        const Type* expected);
  struct Axis {
    Size size;
    Span span;
    std::string base;
  };
  // What tells the range of an index. A value whose sizes are known only when it is there is evaluated in `around`.
  struct Axes {
    typed::Block& around;
    std::vector<Axis> found{};
    std::vector<const ast::Expr*> held{}; // these values
    bool wrong = false;                   // a value that is subscripted has an error
  };
  void find_axes(const ast::Expr* e, const std::string& index, std::set<std::string>& bound, Axes& out);
  void find_axes(const ast::Block& b, const std::string& index, std::set<std::string>& bound, Axes& out);
  void axes_of(const ast::Subscript& s, const std::string& index, const std::set<std::string>& bound, Axes& out);

  // --- builtins/devices.cpp
  void on_device(const ast::On& s, Span span, typed::Block& into);
  ExprPtr device_rule(Builtin builtin, Rule& r);
  ExprPtr device_node(Builtin builtin, Span span, Type type, std::vector<ExprPtr> operands);
  ExprPtr device_number(Builtin kind, ExprPtr number, Span span);         // cpu(number)
  ExprPtr device_of(ExprPtr x, Span span);                                // x.device
  ExprPtr on_leaves(Builtin builtin, ExprPtr x, ExprPtr more, Span span); // builtin(leaf, more) of each tensor
  ExprPtr prelude_call(const std::string& name, std::vector<Arg> args, Span span);
  ExprPtr data_parallel(std::vector<Arg> args, Span span);
  static bool is_device(const Type& type) { return type.is_scalar() && !type.open && type.dtype == DType::Device; }

  // --- builtins/
  ExprPtr builtin_call(Builtin builtin, std::vector<Arg> args, Span span, bool is_method, const Type* expected);
  ExprPtr reduction(Builtin builtin, Rule& r);
  ExprPtr builder(Builtin builtin, Rule& r, const Type* expected);
  ExprPtr shape_rule(Builtin builtin, Rule& r);
  ExprPtr choosing_rule(Builtin builtin, Rule& r);
  ExprPtr einsum_rule(Rule& r);
  ExprPtr linalg_rule(Builtin builtin, Rule& r);
  ExprPtr plot_rule(Builtin builtin, Rule& r);
  ExprPtr stopwatch_rule(Builtin builtin, Rule& r);
  ExprPtr matmul_in(Rule& r, ExprPtr a, ExprPtr b);
  ExprPtr broadcast_reshaped(ExprPtr node, ExprPtr x, std::vector<Size> from, std::vector<Size> wide,
                             std::vector<Size> to);
  ExprPtr random_rule(Builtin builtin, Rule& r, const Type* expected);
  ExprPtr effect_rule(Builtin builtin, Rule& r);
  ExprPtr print_call(Rule& r);
  ExprPtr debug_call(ExprPtr x, Span span);
  // ---- builtins/files.cpp ----
  ExprPtr file_rule(Builtin builtin, Rule& r, const Type* expected);
  std::optional<FileHeader> header_of(const std::string& path, const std::string& name, LoadOptions options,
                                      const Type* wanted, const std::string& what, const std::string& hint, Rule& r);
  bool file_sizes(Type& type, const std::string& path, const std::string& name, std::istringstream& names,
                  LoadOptions options, Rule& r);
  ExprPtr load_call(Builtin builtin, Rule& r, const Type* expected);
  ExprPtr save_call(Rule& r);
  void fresh_axes(typed::Expr& node, Type& type, std::vector<uint32_t> path);
  bool leaf_names(const Type& type, const std::string& prefix, std::string& names);
  using LeafPath = std::vector<std::variant<std::string, VarId>>; // VarId: the position in a list
  ExprPtr leaf_name(const LeafPath& path, Span span);
  static bool has_only_tensors(const Type& type);
  ExprPtr load_parts(const Type& type, const LeafPath& path, const typed::Expr& load, typed::Block& before);
  void collect_leaves(ExprPtr value, const LeafPath& path, VarId names, VarId leaves, typed::Block& into, Span span);
  ExprPtr reshape_to(ExprPtr x, std::vector<Size> shape, Span span);
  ExprPtr permute_to(ExprPtr x, std::vector<int64_t> axes, Span span);
  ExprPtr join_tensors(Builtin builtin, Rule& r);
  std::optional<std::vector<Size>> dims(const ast::Expr* e, typed::Expr& node, const std::string& function,
                                        int* minus_one = nullptr);
  ExprPtr join_list(ExprPtr list, bool stack, Rule& r);
  ExprPtr split_tensor(Rule& r);
  ExprPtr split_text(Rule& r);
  std::vector<ExprPtr> sequence(Arg& arg, const std::string& function); // (a, b) or [a, b] of tensors

  const SourceManager& sources_;
  const CheckOptions& options_;
  typed::Program p_;
  std::deque<Scope> scopes_;
  std::deque<FunctionInfo> functions_;
  std::deque<ConstInfo> constants_;
  std::deque<InstanceState> states_; // by InstanceId
  std::deque<FunctionContext> contexts_;
  std::map<std::string, Callable> builtins_;
  std::map<std::string, std::vector<const ast::Stmt*>> declared_builtins_; // in the standard library, by name
  struct Module {
    Scope* scope = nullptr;
    bool has_run = false;
  };
  std::map<const ast::File*, Module> modules_;
  Scope *prelude_ = nullptr, *file_ = nullptr, *scope_ = nullptr;
  FunctionContext *top_ = nullptr, *ctx_ = nullptr;
  std::vector<InstanceId> waiting_;
  std::vector<Static> function_values_{1}; // by Type::function
  std::deque<Transformed> transformed_;
  std::deque<std::pair<const Transformed*, Static>> derived_; // the functions made for them
  struct WrittenFunction {
    const ast::FunctionType* type;
    Scope* env;
  };
  std::vector<WrittenFunction> written_functions_; // by Type::function, less kWritten
  static constexpr uint32_t kWritten = 0x80000000;
  std::deque<StructInfo> structs_;
  std::map<const Record*, StructInfo*> struct_of_;
  std::shared_ptr<MadeSyntax> made_ = std::make_shared<MadeSyntax>(); // calls of function values, for one
  std::map<const ast::Expr*, VarId> held_; // expressions that have been evaluated already, for Axes
  std::map<const ast::Lambda*, const ast::Function*> lambda_functions_;
  std::set<const ast::Expr*> defaults_in_use_; // being checked: a cycle if asked again
  int expansions_ = 0;                         // calls being checked in place
  bool expanding_ = false;
  std::map<VarId, Size> known_sizes_;          // immutable i64 variables that are a size
  std::map<VarId, std::string> open_at_first_; // variables whose value was a literal without a type: its text
  struct OpenVar {
    uint32_t parent = 0;
    std::optional<DType> fixed;
    LiteralKind kind = LiteralKind::Int;
    bool integer = false;     // no literal may make it a float
    bool prefers_f64 = false; // it is converted to that somewhere: what nothing fixes is f64 then, not f32
    DType standard() const { return kind == LiteralKind::Int ? DType::I64 : prefers_f64 ? DType::F64 : DType::F32; }
  };
  mutable std::vector<OpenVar> open_{1}; // paths to roots get shorter when they are asked for
  struct TopLevelCall {
    InstanceId instance;
    Span span;
    size_t defined; // number of top-level variables then
  };
  std::vector<TopLevelCall> top_level_calls_;
  std::map<VarId, size_t> top_level_order_;
  FunctionInfo* main_ = nullptr;
  FileId prelude_file_;
  // Of a session: where this piece began, and what a failure goes back to. What a failed piece left otherwise is not
  // reachable, and is gone with the next renewal (renewal.cpp).
  bool is_session_ = false;
  size_t first_function_ = 0, first_struct_ = 0, pieces_ = 0;
  static constexpr size_t kLeastPieces = 256; // between renewals
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
  std::optional<Before> before_;
  std::vector<const ast::File*> new_modules_, run_modules_;
  std::vector<FunctionInfo*> with_instances_; // made for this piece
  std::set<AtomId> known_atoms_;              // sizes that have a value
  std::set<VarId> given_, new_given_;         // variables that have one; by this piece
  std::set<VarId> hidden_;                    // those that functions which are values may read
  std::string shown_type_;
  bool is_incomplete_ = false; // a warning stands for a part that could not be checked
  bool in_const_ = false;
  int in_comprehension_ = 0;
  uint32_t comprehension_variables_ = 0; // variables before this one stand outside the comprehension
  std::set<AtomId> mask_counts_;         // of targets like x[mask]: the assignment itself compares them
  std::set<AtomId> open_results_;        // `_` in the result types that functions declare: only what they return tells
  std::set<AtomId> never_known_;         // in the types of values that stand behind a jump: nothing ever needs them
  int depth_ = 0;
  mutable int suggestions_ = 0; // looked for in this piece

  friend struct Rule;
  friend class Renewer;
};

// Does a type parameter stand for a whole type, as M in `m: M` (else for an element type, as T in `x: T[n]`)? It does
// if it has no bound and no axes follow it in the declaration.
bool is_whole(const ast::TypeParam& param, const ast::Struct& decl);
bool is_whole(const ast::TypeParam& param, const ast::Function& decl);

// Brings what later pieces of a session can refer to from a checker, between two pieces, to one that knows the prelude
// alone.
CheckSession::Renewal renew(Checker& from, Checker& to);
// The name that an import gives to its module.
std::string name_of_module(const ast::Import& import);
// All names that the body of a function mentions.
std::set<std::string> names_in(const ast::Body& body);
// Is a Python format specification fit for a value of this type? An empty string, or what is wrong.
std::string check_format(const std::string& spec, const Type& type);

} // namespace tl::checker

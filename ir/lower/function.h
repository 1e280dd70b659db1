// Lowering of one function of the typed AST: the state, and what the files *.cpp share. Internal to ir/.
//
//   lower.cpp                functions, calls, the entry
//   sizes.cpp          sizes as values, size checks, locations
//   statements.cpp     blocks, bindings, assignments
//   jumps.cpp          return, break and continue: what follows them
//   branches.cpp       if, and where two ways meet
//   loops.cpp          loops
//   expressions.cpp    expressions
//   indexing.cpp       subscripts, read and written
//   comprehensions.cpp comprehensions: Map, Reduce, Contract
//   scalarize.cpp, scalarize_elements.cpp   bodies of maps down to scalars
//   lists.cpp          lists and text
//   constants.cpp      consts that were computed before
//   devices.cpp        devices, and where new values go
//   builtins.cpp, effects.cpp, random.cpp
//   complex.cpp        complex numbers, as two leaves
#pragma once
#include "abi/linalg_op.h"
#include "ir/lower/lower.h"
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>

namespace tl::ir {

// A value of the typed AST: the leaves of its tuple; unit, ranges, types: none. Of complex numbers: the real parts, and
// the imaginary parts.
using Leaves = std::vector<ValueId>;
using VarKey = uint32_t; // a VarId's index, or one of the pseudo variables below

// How an instance is called: parameters and results of its graph function.
//   parameters: token (if effects), size_params, captured_atoms, sizes, then leaves of captures and parameters
//   results:    token (if effects), leaves of the result, result_sizes
struct Signature {
  bool effects = false;
  std::vector<AtomId> atoms;      // size_params, captured_atoms
  std::vector<Size> sizes;        // that parameters' types mention and that are not plain atoms
  std::vector<tl::Type> leaves;   // types of the leaves of captures and parameters
  std::vector<tl::Type> results;  // types of the leaves of the result
  std::vector<Size> result_sizes; // that the results' types mention and that the caller cannot name itself
};

// What all functions of a program share.
struct LowerProgram {
  const typed::Program& program;
  const SourceManager& sources;
  Module module;
  std::vector<AtomId> session_sizes; // that the entry gives, see Piece
  SizeAtoms& atoms;                  // lowering makes compound atoms
  int64_t default_device = 0;        // the number of the one where new tensors go
  const size_t checked_atoms;        // how many the program had before
  std::vector<typed::InstanceId> called;
  std::map<uint32_t, uint32_t> function_of; // by instance: its graph function
  std::map<uint32_t, Signature> signatures; // by instance
  struct LocKey {
    uint32_t file, begin, end, caller;
    std::string function;
    auto operator<=>(const LocKey&) const = default;
  };
  std::map<LocKey, LocId> locations;
  // Files that consts are read from: path, name, element type, rank, options; where Module::tensors has them.
  std::map<std::tuple<std::string, std::string, DType, size_t, uint32_t>, uint32_t> files;

  const Constants& constants;                             // that are computed already
  std::map<const std::byte*, uint32_t> tensors_of_consts; // where Module::tensors has them

  LowerProgram(const typed::Program& program, const SourceManager& sources, SizeAtoms& atoms,
               const Constants& constants);
  // Fills `called`: what the program calls, or what the const `only` calls.
  void find_called(const typed::Expr* only = nullptr);
  const ConstantValue* value_of_const(const typed::Expr& e) const; // null: it is none, or one that is not computed yet
  LocId location(Span span, const std::string& function, LocId caller); // one for all that is there
  // One of its own. Locations are numbered in program order, which tells the first of several failures (vm/value.h): a
  // check comes after what it checks, though something that was evaluated before may be at the very place.
  LocId new_location(Span span, const std::string& function, LocId caller);
  // Of the beginning of a span; counted from the one asked for before where both are in one line, which may be long.
  LineColumn line_column(Span span);
  Span last_span;
  LineColumn last_place;
};

// The leaves of a type, in order.
void leaf_types(const tl::Type& type, std::vector<tl::Type>& into);
std::vector<tl::Type> leaf_types(const tl::Type& type);
// Which leaf the element at this path is (its first leaf).
size_t leaf_index(const tl::Type& type, const std::vector<uint32_t>& path);

// What is directly in an expression, statement or block: each expression and statement once.
void each_child(const typed::Expr& expr, const std::function<void(const typed::Expr&)>& on_expr,
                const std::function<void(const typed::Stmt&)>& on_stmt);
void each_child(const typed::Stmt& stmt, const std::function<void(const typed::Expr&)>& on_expr,
                const std::function<void(const typed::Stmt&)>& on_stmt);
void each_child(const typed::Block& block, const std::function<void(const typed::Expr&)>& on_expr,
                const std::function<void(const typed::Stmt&)>& on_stmt);
// Walks of all that is in it, itself too. `visit` returns false to leave out what is inside.
using VisitExpr = std::function<bool(const typed::Expr&)>;
using VisitStmt = std::function<bool(const typed::Stmt&)>;
void walk(const typed::Expr& expr, const VisitExpr& on_expr, const VisitStmt& on_stmt);
void walk(const typed::Stmt& stmt, const VisitExpr& on_expr, const VisitStmt& on_stmt);
void walk(const typed::Block& block, const VisitExpr& on_expr, const VisitStmt& on_stmt);

class FunctionLowerer {
public:
  FunctionLowerer(LowerProgram& shared, std::string name);

  Function instance(typed::InstanceId id); // the graph function of an instance
  Function entry();                        // top-level statements and main
  Function test(const typed::Test& test);  // top-level statements and a test
  // The entry of lower_constant; `sizes` as there.
  Function computing(const typed::Expr& constant, std::vector<bool>& sizes);

private:
  // ---- state -------------------------------------------------------------------------------------------------------
  enum class ScopeKind : uint8_t { Plain, Lazy, MapBody, Inline };
  // A region under construction, or an inlined call in one. Sizes are looked up from the innermost to the outermost.
  struct Scope {
    Region* region;
    ScopeKind kind;
    std::map<Size, ValueId> sizes;
  };
  std::vector<const typed::Stmt*> binding_; // whose values are being computed, and tell sizes
  using Env = std::map<VarKey, Leaves>;
  static constexpr VarKey kToken = 0xffffffff; // pseudo variables count down from here
  struct Loop {
    VarKey broke, continued; // 0: the loop has none
  };
  // A function whose body is being lowered: this one, or one inlined into it.
  struct Callee {
    const tl::Type* result_type = nullptr;
    VarKey returned = 0, result = 0;
    std::vector<Loop> loops;
    std::string name;
    LocId caller;
  };
  // Does control come to this place?
  enum class Flow : uint8_t {
    Goes,    // yes, unless a flag says at run time that it has left before
    Leaves,  // never: a break or continue comes before it on some way, jumps come before it on all
    Returns, // never: returns come before it on all ways, so that no variable is looked at any more
  };
  // An expression that is evaluated before what it is in; with a valid atom, its value is that atom's.
  struct Child {
    const typed::Expr* expr = nullptr;
    AtomId atom;
    bool is_index = false; // a subscript: an index tensor that is written there goes along with what it selects from
  };
  // An index of a comprehension: lo, lo + 1, … `extent` of them.
  struct IndexRange {
    const typed::ComprehensionIndex* index = nullptr;
    Size lo, extent;
    VarKey var() const { return index->var.index; }
  };
  // A comprehension whose body is being lowered into a Map.
  struct MapFrame {
    std::vector<IndexRange> ranges;
    std::vector<ValueId> params;
    size_t scope;  // index of its scope
    uint32_t mark; // values before this one are known outside
  };
  struct Snapshot {
    std::vector<size_t> node_counts;
    std::vector<std::map<Size, ValueId>> sizes;
    size_t sites;
  };

  // ---- lower.cpp: functions ----------------------------------------------------------------------------------------
  void function_body(const typed::Block& body, const tl::Type& result);
  Leaves call(const typed::Expr& e, std::vector<Leaves> arguments);
  Leaves inline_call(const typed::Expr& e, const typed::Instance& callee, std::vector<Leaves> arguments);
  Leaves call_instance(typed::InstanceId id, const std::vector<Size>& size_args, std::vector<Leaves> arguments,
                       Span span);
  void bind_parameters(const std::vector<typed::VarId>& vars, const Leaves& leaves);
  void top_level();
  void entry_parameters();
  void session_parameters();
  void session_results();

  // ---- sizes.cpp ---------------------------------------------------------------------------------------------
  LocId loc(Span span);
  Builder at(size_t scope) { return Builder(shared_.module, f_, *scopes_[scope].region); }
  Builder here() { return at(scopes_.size() - 1); }
  ValueId i64(int64_t value) { return here().i64(value); }
  ValueId scalar(ScalarOp op, std::vector<ValueId> operands, LocId loc = {}) {
    return here().scalar(op, std::move(operands), loc);
  }
  ValueId constant(DType type, double value); // converted to type
  bool knows(const Size& size);               // all its atoms have values
  Size as_size(ValueId value);
  Dim dim(const Size& size);
  std::vector<Dim> dims(const std::vector<Size>& shape);
  ValueId size_value(const Size& size);
  const Size* told_size(AtomId atom) const;
  std::optional<size_t> scope_of(const Size& size) const;
  size_t scope_for(const Size& size) const;
  ValueId compound_value(AtomId atom, size_t scope);
  ValueId factor(AtomId atom, size_t scope);
  ValueId polynomial(const Size& size, size_t scope);
  ValueId checked_number(const Size& size, size_t scope);
  struct Approximation {
    ValueId value, magnitude;
  };
  Approximation approximation(const Size& size, size_t scope);
  ValueId wide_quotient(const Size& dividend, int64_t divisor, size_t scope);
  ValueId as_f64(ValueId i64, size_t scope);
  void bind_atom(AtomId atom, ValueId value);
  bool mentions(const Size& size, AtomId atom) const;
  bool is_outdated(const Size& size, size_t scope) const;
  void bind_fresh(const std::vector<typed::FreshAtom>& fresh, const tl::Type& type, const Leaves& leaves);
  void bind_all(std::span<const typed::SizeBind> binds);
  Type graph_type(const tl::Type& type); // of one leaf
  const Type& type(ValueId value) const { return f_[value].type; }
  // The same value under other sizes (equal ones, as has been checked or proven).
  ValueId retyped(ValueId value, const std::vector<Dim>& dims);
  ValueId as_type(ValueId value, const tl::Type& type);
  Leaves as_type(Leaves leaves, const tl::Type& type);
  uint32_t site(std::string kind, std::string message, Span span, std::string hint = {},
                std::vector<std::pair<std::string, LocId>> notes = {});
  static bool keeps_checks();
  ValueId proven(ValueId value, ValueId condition, Span span); // the checker has shown that the condition holds
  ValueId proven_below(ValueId index, ValueId size, Span span);
  ValueId slice_start(const typed::Subscript& item, const Dim& size); // of an axis of this size
  ValueId guard(ValueId value, ValueId condition, uint32_t site, std::vector<ValueId> payload, Span span);
  ValueId checked(ValueId value, const std::vector<typed::SizeCheck>& checks);
  Leaves checked(Leaves leaves, const std::vector<typed::SizeCheck>& checks, bool all);
  Leaves checked_operands(Leaves values, const typed::Expr& e);
  Dim checked(Dim dim, std::vector<typed::SizeCheck> checks);
  bool is_outer(ValueId value, uint32_t mark) const; // known outside of what began when there were `mark` values
  size_t push(Region& region, ScopeKind kind);
  void pop() { scopes_.pop_back(); }
  Snapshot snapshot() const;
  void restore(const Snapshot& snapshot);

  // ---- devices.cpp -------------------------------------------------------------------------------------------
  Leaves device_builtin(const typed::Expr& e, const Leaves& operands);
  ValueId device(int64_t number) { return here().constant(DType::Device, Scalar::of(number)); }
  ValueId device_of(ValueId x, LocId loc); // i64; -1: none
  ValueId put(ValueId x, ValueId device, LocId loc);
  ValueId existing(ValueId device, Span span); // guarded: it may not be there
  // The value of an expression that makes something new, on the device of the `on` around it.
  Leaves placed(const typed::Expr& e, Leaves value);
  void place_parameters(Leaves& leaves);

  // ---- statements.cpp ----------------------------------------------------------------------------------------
  using Rest = std::function<Leaves()>;
  using Use = std::function<Leaves(const Leaves&)>;
  // `then` stands for all that comes after, and takes the block's value.
  Leaves block(const typed::Block& block, const Use& then) { return statements(block, 0, then); }
  Leaves statements(const typed::Block& block, size_t from, const Use& then);
  Leaves with_statement(const typed::Stmt& stmt, const Rest& rest); // of one that may leave
  Leaves with_assignment(const typed::Stmt& stmt, const Rest& rest);
  void finish(const typed::Stmt& stmt, const Leaves& value);
  void bind(const typed::Pattern& pattern, const tl::Type& type, const Leaves& leaves, size_t& next);
  void assign(const typed::Stmt& stmt, const Leaves& value);
  void assign_place(const typed::Stmt& stmt, const typed::Place& place, const tl::Type& value_type, Leaves value);
  void assertion(const typed::Stmt& stmt, ValueId condition);
  ValueId token() { return env_.at(kToken)[0]; }
  void set_token(ValueId value) { env_[kToken] = {value}; }
  VarKey new_pseudo() { return --next_pseudo_; }
  VarKey new_flag();

  // ---- jumps.cpp: the rule is at its top -----------------------------------------------------------------
  void find_jumps(const typed::Block& body);
  bool may_leave(const typed::Expr& e) const { return jumping_.contains(&e); }
  bool may_leave(const typed::Stmt& stmt) const { return jumping_.contains(&stmt); }
  // Evaluates e and goes on with its value.
  Leaves with_value(const typed::Expr& e, const Use& use);
  // Evaluates it: expr() gives the value until it is forgotten.
  void evaluate(const Child& child);
  void remember(const Child& child, const Leaves& value);
  // Evaluates these one after the other, all or as far as something among them may leave, and goes on.
  Leaves with_children(const std::vector<Child>& children, size_t from, const Rest& rest, bool all = false);
  // What is evaluated before the operation of e, in order; empty for kinds that take care of themselves.
  std::vector<Child> children(const typed::Expr& e) const;
  std::vector<Child> children(const typed::Stmt& assignment) const;
  void add_subscripts(const std::vector<typed::Subscript>& items, std::span<const typed::SizeBind> binds,
                      std::vector<Child>& into) const;
  // How many of the binds an expression of this size needs: those up to the last one that it mentions.
  size_t binds_of(const Size& size, std::span<const typed::SizeBind> binds) const;
  // How many of the binds are evaluated before this operand of e: what its size mentions, and arguments of a builtin
  // that are written before it.
  size_t binds_before(const typed::Expr& operand, const typed::Expr& e, std::span<const typed::SizeBind> binds) const;
  Leaves unless_exited(const Rest& rest, Span span);
  std::optional<ValueId> exited(); // a bool: some flag is set; nothing: surely none is
  bool surely_down(VarKey flag);
  std::vector<VarKey> flags_up(); // of this function and loop: those that may be
  void jump(const typed::Stmt& stmt, Leaves result);

  // ---- loops.cpp ---------------------------------------------------------------------------------------------
  // What a loop carries. Each leaf is carried after the sizes of its axes that change (`varying`).
  struct Carried {
    struct Leaf {
      VarKey var;
      size_t leaf;
      std::set<uint32_t> varying;
    };
    std::vector<Leaf> leaves;
  };
  void loop(const typed::Stmt& stmt);
  void for_loop(const typed::Stmt& stmt, const Loop& exits, bool returns); // its range may not leave any more
  void while_loop(const typed::Stmt& stmt, const Loop& exits, bool returns);
  Carried carried_by(const typed::Stmt& stmt, const Loop& exits, bool returns);
  std::vector<ValueId> current(const Carried& carried, const std::vector<ValueId>& params = {}); // sizes and leaves
  std::vector<ValueId> enter(const Carried& carried, Region& region); // new parameters; the variables become these
  void leave(const Carried& carried, const std::vector<ValueId>& params, NodeId loop);
  void forget_variables(const Carried& carried, const std::vector<ValueId>& params);
  void bind_condition(const typed::Stmt& loop);
  void bind_joins(const std::vector<typed::Join>& joins);
  Flow loop_body(const typed::Stmt& stmt, const Loop& exits, const Leaves& value, const tl::Type& value_type);
  Leaves placeholder(const tl::Type& type);
  ValueId placeholder(const Type& type, const std::vector<Dim>& dims);

  // ---- expressions.cpp ---------------------------------------------------------------------------------------
  Leaves expr(const typed::Expr& e);
  Leaves evaluate(const typed::Expr& e);
  ValueId one(const typed::Expr& e); // its only leaf
  Leaves operation(const typed::Expr& e);
  Leaves scalar_operation(const typed::Expr& e, std::vector<Leaves> operands);
  std::optional<ValueId> known_power(ValueId x, double exponent, const std::vector<Dim>& shape, LocId at);
  // The right operand of an operation that it can make fail (a divisor, an exponent), guarded.
  ValueId guarded_operand(ScalarOp op, ValueId operand, Span span);
  ValueId elementwise(ScalarOp op, std::vector<ValueId> operands, const std::vector<Dim>& dims, LocId loc);
  // Operands may be of any rank up to the dims'; equal sizes count as such where `shape` says 1 is not meant.
  ValueId broadcast(ValueId value, const std::vector<Size>& from, const std::vector<Size>& to, LocId loc);
  ValueId splat(ValueId scalar, const std::vector<Dim>& dims, LocId loc);
  ValueId convert(ValueId value, DType to, LocId loc = {});
  ValueId tensor_literal(const typed::Expr& e);
  ValueId format(const typed::Expr& e);
  ValueId iota(const Dim& count, LocId loc);
  ValueId reduce(ReduceOp op, ValueId x, std::vector<int64_t> axes, ValueId mask, LocId loc);
  ValueId slice(ValueId x, std::vector<ValueId> starts, std::vector<int64_t> steps, std::vector<Dim> dims, LocId loc);

  // ---- constants.cpp -----------------------------------------------------------------------------------------
  Leaves constant_value(const typed::Expr& e, const ConstantValue& value);
  ValueId constant_leaf(const Argument& leaf, const tl::Type& type, LocId loc);

  // ---- branches.cpp ------------------------------------------------------------------------------------------
  Leaves if_expression(const typed::Expr& e, const Use& use);
  Leaves block_expression(const typed::Expr& e, const Use& use);
  // An If: both ways start from the variables of now and go on with those that they end with. A way that gives no value
  // (it has left the loop or function) is filled up with zeros.
  Leaves merge(ValueId condition, const Rest& then, const Rest& otherwise, LocId loc);
  struct Meeting;
  using Merged = std::pair<ValueId, size_t>; // of a leaf: its value, or (if that is invalid) which result
  void go_both_ways(Meeting& m, const Rest& then, const Rest& otherwise);
  size_t merged_result(Meeting& m, ValueId a, ValueId b);
  std::optional<Scalar> same_constant(ValueId a, ValueId b) const;
  Merged merge_leaf(Meeting& m, VarKey var, size_t i, bool is_state);
  std::map<VarKey, std::vector<Merged>> merge_variables(Meeting& m); // what each variable is afterwards

  // ---- indexing.cpp ------------------------------------------------------------------------------------------
  struct Subscripts { // evaluated
    const std::vector<typed::Subscript>* items = nullptr;
    std::vector<ValueId> values; // At and Tensor: wrapped and checked; Mask: the mask; Slice: a step of the run's
    size_t tensors = 0, masks = 0;
    bool steps = false;                                      // some slice has a step that only the run tells
    std::shared_ptr<std::vector<typed::Subscript>> expanded; // owns items where a mask became index tensors
    ValueId count;                                           // of the true ones in that mask
    std::optional<AtomId> count_atom;
  };
  // `shape`: of the part. `checks`: what must hold for a mask to fit. The count of a mask becomes known.
  // `binds`: what bounds of slices mention, evaluated in their place.
  Subscripts evaluate(const std::vector<typed::Subscript>& items, const std::vector<Dim>& base,
                      const std::vector<Size>& shape, const std::vector<typed::SizeCheck>& checks,
                      std::span<const typed::SizeBind> binds);
  ValueId guard_count(const Subscripts& subscripts, ValueId value, const std::vector<Size>& from,
                      const std::vector<Size>& to, Span span);
  Subscripts without_mask(Subscripts subscripts, const std::vector<Size>& shape);
  ValueId wrapped(ValueId index, const Dim& size, size_t axis, const typed::Subscript& item);
  Leaves index(const typed::Expr& e);
  ValueId read(ValueId base, const Subscripts& subscripts, const std::vector<Size>& shape, LocId loc);
  ValueId read_mask(ValueId base, const Subscripts& subscripts, LocId loc);
  // Base under its first `axes` axes as one.
  ValueId with_leading_flat(ValueId base, size_t axes);
  ValueId mask_positions(ValueId mask, LocId loc); // of the true ones, in order: i64[count]
  ValueId linear_indices(ValueId base, const Subscripts& subscripts, const std::vector<Dim>& result, LocId loc);
  ValueId write(ValueId base, const Subscripts& subscripts, ValueId value, const typed::Place& place,
                const std::vector<Size>& value_shape, UpdateMode mode, Span span);
  // `rank`: of the value as written; `combine` (may be empty): of what is there and the value.
  using Combine = std::function<Leaves(const Leaves&, const Leaves&)>; // of what is there and what comes; or none
  Leaves write_mask(const Leaves& bases, const Subscripts& subscripts, Leaves values, size_t rank,
                    const Combine& combine, Span span);
  ValueId gather(ValueId x, ValueId idx, int64_t axis, LocId loc);
  ValueId scatter(ValueId x, ValueId idx, ValueId value, UpdateMode mode, LocId loc);
  // Row-major positions in a tensor of sizes `base`, for each position of `result`: its axis k is at axis to[k] of the
  // result, except `axis`, which idx gives (of the result's sizes).
  ValueId positions_along(const std::vector<Dim>& base, const std::vector<Dim>& result, ValueId idx, size_t axis,
                          const std::vector<size_t>& to, LocId loc);
  Dim product(const std::vector<Dim>& dims);
  ValueId convert_index(ValueId value);                                      // other integers to i64
  ValueId splat_to(ValueId value, const std::vector<Dim>& shape, LocId loc); // where it is a scalar

  // ---- lists.cpp ---------------------------------------------------------------------------------------------
  ValueId list_index(ValueId list, ValueId index, Span span);
  Leaves list_operation(const typed::Expr& e, const std::vector<Leaves>& operands);
  Leaves text_operation(const typed::Expr& e, const std::vector<Leaves>& operands);

  // ---- comprehensions.cpp ------------------------------------------------------------------------------------
  Leaves comprehension(const typed::Expr& e);
  void bind_index(const IndexRange& range, ValueId position);
  Dim axis(const Size& extent, Span span);
  void check_axes(const typed::Expr& e);
  std::optional<double> number_of(ValueId value) const;
  Leaves tensor_comprehension(const typed::Expr& e);
  Leaves reduction(const typed::Expr& e);
  // The reduced value, and (if `count`) how many elements took part, over the indices of e from the given one on.
  Leaves reduce_over(const typed::Expr& e, const std::vector<IndexRange>& ranges, size_t from, bool count);
  std::pair<std::vector<IndexRange>, std::vector<Dim>> independent(const typed::Expr& e,
                                                                   const std::vector<IndexRange>& ranges, size_t from);
  struct Best { // of a range of positions: the value, where, how many positions there are and how many take part
    ValueId value, position, size, count;
  };
  Best arg_over(const typed::Expr& e, const std::vector<IndexRange>& ranges, size_t from);
  bool joins_tensors(const typed::Expr& e, const std::vector<IndexRange>& ranges);
  std::optional<Leaves> written_out(const typed::Expr& e, const std::vector<IndexRange>& ranges,
                                    const std::vector<Dim>& extents, const std::vector<tl::Type>& elements);
  Leaves filtered(const typed::Expr& e, const std::vector<tl::Type>& elements, const std::vector<IndexRange>& ranges);
  // Tensors of body()'s leaves over all positions: of sizes extents + those of the element.
  Leaves map(const std::vector<IndexRange>& ranges, const std::vector<Dim>& extents,
             const std::vector<tl::Type>& elements, const Rest& body, LocId loc);
  Leaves map_by_loop(const std::vector<IndexRange>& ranges, const std::vector<Dim>& extents,
                     const std::vector<tl::Type>& elements, const Rest& body, LocId loc);

  // ---- products.cpp: sums of products ------------------------------------------------------------------------
  struct Factor {
    const typed::Expr* expr = nullptr;
    std::set<size_t> uses; // which labels
    bool bare = false;     // a tensor under subscripts that are distinct labels
    bool free = true;      // it uses nothing from inside the regions that the product is lifted out of
  };
  std::optional<ValueId> product_sum(const typed::Expr& e, const std::vector<IndexRange>& ranges);
  std::vector<size_t> frames_to_leave() const;
  Factor factor(const typed::Expr& e, const std::vector<IndexRange>& labels, size_t outside, uint32_t mark);
  bool known_at(const Size& size, size_t scopes);
  ValueId contract(const typed::Expr& e, const std::vector<IndexRange>& labels, size_t kept, Factor a, Factor b);
  ValueId factor_tensor(const Factor& factor, const std::vector<IndexRange>& labels, std::vector<int64_t>& axes,
                        const std::vector<typed::SizeCheck>& checks, LocId loc);

  // ---- einsum.cpp
  ValueId einsum(const typed::Expr& e, std::vector<ValueId> operands);
  Leaves linalg(const typed::Expr& e, const Leaves& operands); // linalg.cpp
  ValueId einsum_of_one(const typed::Expr& e, ValueId x);
  ValueId transpose(ValueId x, const std::vector<int64_t>& axes, LocId loc);
  // x with its axis i as axis axes[i] of `to`, stretched along the others.
  ValueId spread(ValueId x, const std::vector<int64_t>& axes, const std::vector<Dim>& to, LocId loc);

  // ---- complex.cpp
  struct Complex {
    ValueId re, im;
  };
  static bool works_on_complex(const typed::Expr& e); // is it complex, or one of its operands?
  bool is_zero(ValueId value) const;
  Complex complex_literal(const typed::Expr& e);
  Leaves complex_convert(const typed::Expr& e, const Leaves& x);
  Complex complex_arithmetic(ScalarOp op, Complex a, Complex b, const std::vector<Dim>& shape, LocId at);
  Leaves complex_scalar(const typed::Expr& e, const std::vector<Leaves>& operands);
  Leaves complex_tensor_literal(const typed::Expr& e);
  ValueId parts_together(ValueId re, ValueId im, size_t axis, LocId at);
  // Complex numbers in files: as real ones, under another last axis.
  static tl::Type pairs_of(tl::Type type);
  ValueId part_of_pairs(ValueId x, int64_t part, LocId at);
  // The leaves of a value that is saved, and their names, one a line, with a mark for what are pairs.
  Leaves as_in_files(const tl::Type& type, const Leaves& leaves, std::string& names, LocId at);
  // The operands of a text with values in it: of complex numbers one, as the format then says.
  Leaves as_shown(const typed::Expr& text, const std::vector<Leaves>& operands, FormatTemplate& format);
  Leaves complex_builtin(const typed::Expr& e, const std::vector<Leaves>& operands);
  Leaves complex_of_parts(const typed::Expr& e, const std::vector<Leaves>& operands);
  Leaves fourier(const typed::Expr& e, LinalgOp op, const Leaves& z);

  // ---- derive.cpp: transforms of functions -------------------------------------------------------------------
  // The function of a Derive node as a region over new parameters.
  struct Derived {
    Region region;
    Leaves y;             // in the region
    bool effects = false; // then the token is its first yield; the sizes of y that only the region knows are next
    std::vector<Dim> own; // these
    std::vector<Type> results;
  };
  Leaves derive(const typed::Expr& e);
  Leaves derive_vjp(const typed::Expr& e, const std::vector<Leaves>& operands);
  Leaves derive_jvp(const typed::Expr& e, const std::vector<Leaves>& operands);
  Leaves derive_vmap(const typed::Expr& e, const std::vector<Leaves>& operands);
  Leaves derive_jacobian(const typed::Expr& e, const std::vector<Leaves>& operands);
  Leaves derive_block(const typed::Expr& e, const std::vector<Leaves>& operands); // checkpoint, custom_vjp
  Derived derived_region(const typed::Expr& e, const std::vector<Leaves>& operands);
  // The leaves of y behind a node of these results; its token and sizes become known.
  Leaves derived_results(const typed::Expr& e, const Derived& derived, NodeId node);
  // Of values of these types, the leaves that derivatives see; `given` has all of them.
  Leaves trained(const tl::Type& type, const Leaves& given);
  // The cotangent or tangent of a value with these leaves: `moved` for those that are trained, else nothing moves.
  Leaves with_still_leaves(const tl::Type& type, const Leaves& given, const Leaves& moved);

  // ---- builtins.cpp, effects.cpp, random.cpp ------------------------------------------------------------------------
  Leaves builtin(const typed::Expr& e, const std::vector<Leaves>& operands);
  Leaves builtin_operation(const typed::Expr& e, const std::vector<Leaves>& operands);
  ValueId builtin_scan(const typed::Expr& e, ReduceOp op, ValueId x);
  ValueId sort(const typed::Expr& e, SortOp op, ValueId x);
  ValueId builtin_reduce(const typed::Expr& e, ReduceOp op, ValueId x);
  ValueId matmul(const typed::Expr& e, ValueId a, ValueId b);
  ValueId gather_along(const typed::Expr& e, ValueId x, ValueId idx);
  ValueId scatter_add(const typed::Expr& e, ValueId x, ValueId idx, ValueId value);
  ValueId concat(std::vector<ValueId> parts, int64_t axis, const std::vector<Dim>& dims, LocId loc);
  ValueId guard_not_empty(ValueId x, ValueId count, Span span);
  ValueId stack(const typed::Expr& e, Leaves parts);
  ValueId pad(const typed::Expr& e, ValueId x, ValueId value);
  ValueId flip(const typed::Expr& e, ValueId x);
  ValueId full(const typed::Expr& e, const Leaves& operands);
  ValueId eye(const typed::Expr& e);
  ValueId arange(const typed::Expr& e, ValueId start, ValueId step);
  ValueId linspace(const typed::Expr& e, ValueId lo, ValueId hi);
  ValueId take(const typed::Expr& e, ValueId x, ValueId idx);
  ValueId string(std::string text, LocId loc);
  Leaves effect_builtin(const typed::Expr& e, const Leaves& operands);
  Leaves load(const typed::Expr& e, const Leaves& operands);
  uint32_t constant_file(const typed::Expr& e, const std::string& name, const tl::Type& type, LoadOptions options);
  // operands[0] is a place for the token; gives the results after the token.
  Leaves effect(Op op, std::vector<ValueId> operands, std::vector<Type> results, Attrs attrs, LocId loc);
  ValueId positions(const typed::Expr& e, LocId loc); // 0, 1, … under its shape, i64
  ValueId random_unit(ValueId key, ValueId positions, int64_t stride, int64_t word, DType type, LocId loc);
  Leaves split_key(const typed::Expr& e, ValueId key);
  ValueId uniform(const typed::Expr& e, ValueId key, ValueId lo, ValueId hi);
  ValueId normal(const typed::Expr& e, ValueId key);
  ValueId randint(const typed::Expr& e, ValueId key, ValueId lo, ValueId hi);
  ValueId bernoulli(const typed::Expr& e, ValueId key, ValueId p);

  [[noreturn]] void unsupported(const std::string& what, Span span, std::string hint = {}) const {
    throw Unsupported(what + " is not supported yet", span, std::move(hint));
  }

  LowerProgram& shared_;
  Function f_;
  std::vector<Scope> scopes_;
  Span at_;                            // the expression that is being lowered
  std::map<uint32_t, size_t> hoisted_; // values that were put into an outer scope: into which
  std::set<ValueId> axes_;             // numbers that were checked to be lengths of axes
  Env env_;
  std::vector<Callee> callees_;
  std::vector<MapFrame> frames_;
  ValueId placing_; // valid: the device that new tensors are put on here
  std::vector<typed::InstanceId> inlining_;
  Flow flow_ = Flow::Goes;
  std::set<const void*> jumping_;                  // expressions and statements that may leave themselves
  std::set<ValueId> known_down_;                   // flags that are down at this place
  std::map<const typed::Expr*, Leaves> evaluated_; // before what they are in
  VarKey next_pseudo_ = kToken;
};

// Bodies of maps down to scalars. `body` was lowered with tensors as values; its parameters are the indices. Gives Map
// nodes in `into`, one tensor per yield of `body`, of sizes dims + those of the yield. Nothing if the body holds what
// cannot be done one element at a time; then `into` is unchanged, unreachable nodes aside.
std::optional<std::vector<ValueId>> scalarize(Module& module, Function& function, Builder& into, const Region& body,
                                              const std::vector<Dim>& dims, LocId loc);

} // namespace tl::ir

// The typed AST: what the checker makes of a program. Complete and desugared: every name is an id, every type final,
// every overload chosen, every implied equality of sizes proven or written down as a SizeCheck.
//
// Where the run-time value of a SizeAtom comes from (Named, Value and Fresh; compound ones are computed from these):
//   - an atom of an Instance's `size_params`: the caller passes it (CallExpr::size_args, over the caller's atoms)
//   - Variable::atom of an immutable i64 variable: the variable's value, from where it is bound
//   - Expr::binds: the value of an i64 expression, evaluated with that node
//   - Expr::fresh, Join::fresh: the size of an axis of a value, once that value exists
//   - Stmt::size_defs: another Size, from that statement on
//   - a parameter of the entry function: each axis of a tensor has an atom of its own there
// An instance may also read atoms of the function or script around it: Instance::captured_atoms.
//
// The sizes in an operand's type may differ, as polynomials, from those that the operation needs: then a check of this
// node or an `assert` before it has made them equal, and the operand is to be read under the needed sizes (a Reshape).
#pragma once
#include "abi/format_template.h"
#include "abi/interface.h"
#include "abi/load_options.h"
#include "abi/reduce_op.h"
#include "abi/text_op.h"
#include "lang/boxed.h"
#include "lang/rare_vector.h"
#include "lang/source.h"
#include "lang/type.h"
#include <variant>

namespace tl {

enum class Builtin : uint8_t {
#define TL_BUILTIN(Enum, ...) Enum,
#include "abi/ops.def"
};

enum class Acts : uint8_t { Pure, Effect }; // as abi/ops.def says

struct BuiltinInfo {
  std::string_view name;
  Acts acts;
};
inline constexpr BuiltinInfo kBuiltins[] = {
#define TL_BUILTIN(Enum, name, acts, ...) {name, Acts::acts},
#include "abi/ops.def"
};
inline constexpr int kBuiltinCount = sizeof(kBuiltins) / sizeof(kBuiltins[0]);
constexpr const BuiltinInfo& info(Builtin b) { return kBuiltins[static_cast<int>(b)]; }

} // namespace tl

namespace tl::typed {

struct VarId {
  uint32_t index = UINT32_MAX;
  bool valid() const { return index != UINT32_MAX; }
  auto operator<=>(const VarId&) const = default;
};
struct InstanceId {
  uint32_t index = UINT32_MAX;
  bool valid() const { return index != UINT32_MAX; }
  auto operator<=>(const InstanceId&) const = default;
};

// A variable of the whole program (ids are not reused between functions).
struct Variable {
  std::string name;
  Type type; // when bound; a `var`'s sizes may change later, its element type and rank do not
  bool is_mutable = false;
  AtomId atom; // valid: immutable and i64, and this atom has its value
  Span span;
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;
struct Stmt;

// a == b (or a >= b) has to hold when it runs. Message as in ErrorSite: {0} and {1} stand for the values of a and b.
struct SizeCheck {
  enum class Relation : uint8_t { Equal, AtLeast, AtMost } relation = Relation::Equal;
  Size a, b;
  std::string kind, message, hint;
  Span span;
  std::vector<std::pair<std::string, Span>> notes; // "n is axis 0 of x", where
  bool claimed = false; // it follows from what an assertion or another check says (SizeFacts): sizes stay what they are
};
using SizeChecks = RareVector<SizeCheck>;

// The atom is the value of an i64 expression.
struct SizeBind {
  AtomId atom;
  ExprPtr value;
};

// The atom is the size of an axis of a value: of element path[0] of element path[1] … where that is a tuple.
struct FreshAtom {
  AtomId atom;
  std::vector<uint32_t> path;
  uint32_t axis = 0;
};

// Where control flow meets, a `var` has this type from there on; its fresh atoms are the axes of its value there.
// Variables whose type is the same on all ways are not listed.
struct Join {
  VarId var;
  Type type;
  std::vector<FreshAtom> fresh;
};

// A variable that is bound in a Block which is an expression stays bound after it: ids are unique.
struct Block {
  std::vector<Stmt> statements;
  ExprPtr result;        // may be null: the block is ()
  bool diverges = false; // its end is never reached (return, break, continue on all ways); type of its value is any
};

// One entry of x[ , , ]. The entries cover all axes of x in order, NewAxis aside (an ellipsis is expanded to Full).
struct Subscript {
  enum class Kind : uint8_t {
    At,      // value: an integer scalar (converted to i64); wraps, then must be in range of the axis
    Slice,   // start, start + step, … `length` of them (start and length are clipped already); step is a nonzero
             // constant, or 0: then `value` is the step
    Full,    // the whole axis
    NewAxis, // an axis of size 1
    Tensor,  // value: i64 tensor; several of them broadcast together and pair up, as in NumPy
    Mask,    // value: bool tensor over value.rank axes, all of which it covers; like an index tensor for each of them.
             // Its count is known, and compared with the others, only once it is evaluated: no check stands for that
  } kind = Kind::Full;
  ExprPtr value;
  bool in_range = false; // At: proven to be in 0 <= i < size, needs neither wrap nor check
  Size start, length;
  bool claimed = false; // Slice: clipped by what an assertion or a check says (SizeFacts), so it is to be checked
  int64_t step = 1;
  Span span;
};

struct Pattern {
  VarId var; // invalid: `_`
  bool is_tuple = false;
  std::vector<Pattern> elements; // of a tuple
};

enum class AssignMode : uint8_t {
  Set,        // x = e, x[subs] = e
  Combine,    // x[subs] op= e: read, scalar_op, write; the subscripts are evaluated once
  Accumulate, // x[subs] += e with an index tensor: adds in index order (-= has negated e)
};

// A variable, or a part of it: element path[0] of element path[1] … and then subscripts. Under a mask the value has one
// row for each true (a run-time check of the statement itself) or is the same for all; the size of that axis in `type`
// has no value of its own.
struct Place {
  VarId var;                         // invalid: `_ = e`
  std::vector<uint32_t> path;        // of tuple elements and fields; empty: the variable itself
  std::vector<Subscript> subscripts; // none: all of it
  Type type; // of the part; for Accumulate and Combine broadcast of the value to it happened as in Scalar
  Span span;
};

enum class StmtKind : uint8_t {
  Let,      // pattern = value (also `var`); size_defs
  Assign,   // target = value. What its subscripts need has been evaluated before (by Lets): they are variables, sizes
            // and literals. `(a, b) = e` is a Let of e's elements, and then one of these for each
  For,      // pattern in value: a Range, or the rows (axis 0) of a tensor; body; head, after
  While,    // cond (value), body; head: at every test of the condition; after
  Break,    //
  Continue, //
  Return,   // value (null: unit)
  Assert,   // value: bool scalar; message (Interp or Str, evaluated only on failure; may be null); text: as written
  Expr,     // value, for its effects
};

struct Stmt {
  StmtKind kind = StmtKind::Expr;
  Span span;
  ExprPtr value;
  Pattern pattern;
  std::vector<Place>
      targets; // Assign: one. The value is broadcast to it: aligned right, rank 0 and constant-1 axes stretch
  AssignMode mode = AssignMode::Set;
  ScalarOp scalar_op{};
  std::vector<std::pair<AtomId, Size>> size_defs; // once the value is there
  SizeChecks checks;                              // after value, subscripts; before the write
  Block body;
  std::vector<Join> head;  // loops: types at the start of every iteration (and at the test of a while)
  std::vector<Join> after; // loops: types after the loop
  ExprPtr message;
  std::string text;
};

// ---- expressions -------------------------------------------------------------------------------------------------
// What each kind of expression holds, beside its operands.

struct UnitExpr {};

struct LiteralExpr { // a scalar of type.dtype; of complex numbers, one part in the type of the parts, the other is 0
  enum class Form : uint8_t { Value, Int, Float };
  Scalar value;
  // While the checker does not know the type: what is written. Int: `value` is its magnitude; Float: a double.
  Form form = Form::Value;
  bool negative = false;
  bool is_fill = false;      // of zeros, ones, pad: also a bool
  bool is_imaginary = false; // the part that is written
  std::string text = {};     // of Float
};

struct StrExpr {
  std::string text;
};

struct VariableExpr { // with the type that it has here
  VarId var;
};

struct SizeExpr { // as an i64
  Size size;
};

// op on the operands, broadcast to type.shape: aligned right, rank 0 and constant-1 axes stretch. The operands have one
// element type (Where: bool, T, T; KeyBits, KeyFold: key, i64). Integer // % by zero and ** with a negative exponent
// are run-time errors of this node.
struct ScalarExpr {
  ScalarOp op{};
};

struct ConvertExpr {}; // operand 0 to type.dtype

struct CallExpr { // the operands are in the order of the parameters
  InstanceId instance;
  std::vector<Size> size_args = {}; // for its size_params
  // While the checker does not know the instance: which of the waiting calls of the function around it this is.
  std::optional<uint32_t> pending = {};
};

struct TupleExpr {}; // of the operands: a tuple, or (by its type) a struct of these fields

struct TupleGetExpr { // of operand 0, a tuple or struct
  uint32_t index = 0;
};

// Operand 0 under subscripts. With index tensors they pair up as in NumPy: Tensor (and then also At, as rank 0) entries
// broadcast together; the broadcast axes are where the first of them was if they are adjacent, else before all
// others.
struct IndexExpr {
  std::vector<Subscript> subscripts;
};

// The operands, all of one shape, stacked along a new first axis (no operands: type.shape[0] is 0).
struct TensorLiteralExpr {};

struct IfExpr { // operand 0: a bool scalar
  Block then_block, else_block;
  std::vector<Join> joins; // afterwards
};

// Of a const: the block reads no variables, and its value is computed when the program is compiled. `name`: where the
// const is declared; it has as many values as parts and types, whatever uses it.
struct ConstPart {
  Span name = {};
  uint32_t part = 0; // of a const that is a tuple: each part that has to be computed is one of its own
};

struct BlockExpr { // with an operand, a device: what is made in it is put there (`on`)
  Block block;
  bool builds_list = false; // list(… for …): no effects in its loops
  ConstPart constant = {};  // with a valid name: this is its value
};

struct ComprehensionIndex {
  VarId var;
  std::vector<SizeBind> binds; // evaluated for each value of the earlier indices that they use
  Size lo, hi;                 // lo <= i < hi; none where hi <= lo
  Span span;
};

// Operand 0 for all index positions: a reduction of it (in the order of the axes as written), or a tensor, whose shape
// is the extents and the operand's shape.
struct ComprehensionExpr {
  std::vector<ComprehensionIndex> indices;
  ExprPtr filter; // may be null
  bool is_reduction = false;
  bool is_mean = false; // sum over count
  ReduceOp reduce{};
};

struct InterpExpr { // filled with the operands: scalars, tensors, strings
  FormatTemplate format;
};

struct RangeExpr {}; // type says it: lo, hi, step. binds give the atoms in them

struct SliceBounds { // which are given, as operands
  bool first = false, last = false, step = false;
};

enum class ListOp : uint8_t {
  Make,   // operands: the elements
  Length, // (list) -> i64
  Get,    // (list, i) -> the element; i wraps, then must be in range. fresh: the sizes of its own
  Set,    // (list, i, element) -> the list with that element; i as for Get
  Append, // (list, element)
  Concat, // (a, b)
  Slice,  // (list, bounds…): Python's slice
  Join,   // (list of tensors or numbers) -> one tensor; fresh: its sizes
};

struct ListExpr {
  ListOp op{};
  bool in_range = false;   // Get: proven, needs neither wrap nor check
  SliceBounds bounds = {}; // Slice
  bool stack = false;      // Join: along a new axis
  int64_t axis = 0;        // Join
};

struct TextExpr { // Parse: to type.dtype; fresh: the axis of Bytes
  TextOp op{};
  SliceBounds bounds = {}; // Slice
};

// Transforms of a function: of its body, a call in which `params` stand for the operands that are asked about.
enum class Transform : uint8_t {
  // (x…) or (x…, dy): (y, dx…), the cotangents of x for the cotangent dy of y; without it y is one float, and dy is 1
  Vjp,
  Jvp,        // (x…, dx…): (y, dy)
  Vmap,       // (x…): y for each position of the first axis of every x
  Jacobian,   // (x): the derivatives, with the axes of y and then of x
  Checkpoint, // (x…): y
  CustomVjp,  // (x…): y
};

struct DeriveExpr {
  Transform transform{};
  bool without_effects = false; // Vjp: effects are left out
  std::vector<VarId> params = {};
  Block body = {};
  std::optional<Block> rule = {}; // CustomVjp: it gives dx… from params behind the first ones: x…, y, dy
  Size count = {};                // Vmap: of the positions
};

struct RecastExpr {}; // operand 0, whose type is written otherwise: checks run once it is there, the value is the same

// ---- built-in functions ------------------------------------------------------------------------------------------
// Those that remain are below; the others become simpler nodes: shape, rank, len -> SizeExpr, zeros, ones, *_like ->
// Full, flatten, expand_dims, squeeze -> Reshape, transpose, T -> Permute, range -> RangeExpr, read_csv, read_table,
// read_idx, read_npz, read_safetensors -> Load. The result's element type and sizes are in the node's type. Without
// attributes:
//   Wait (x)   WaitAll ()   Time ()   Interrupted ()   Exit (code)   ReadLine ()
//   Exists (path)   ReadText (path)   WriteText (path, s)   TensorNames (path): str, one a line
//   Cpu Gpu (i)   To (x, d)   DeviceOf (x)   DeviceFacts MemoryFacts ReleaseCache (d)
//   ProcessRank ()   WorldSize ()   AllReduce (x)   BroadcastFrom (x, root)
//   Reshape (x)   BroadcastTo (x)   SortRows ArgSortRows ArgTopRows (x)   StopGradient (x)
//   Full (value) or (value, x): on the device of x   Eye ()   Arange (start, step): start + i * step
//   Linspace (lo, hi)   Matmul (a, b): a[…, m, k], b[…, k, n], leading axes broadcast; a rank-1 operand has no m or n
//   Dot (a, b)   Key (seed)   SplitKey (k): a tuple of two, or key[n], by the type   Bits (k)   Uniform (k, lo, hi)
//   Normal (k)   RandInt (k, lo, hi)   Bernoulli (k, p)
//   StopwatchStart ()   StopwatchLap StopwatchTotal StopwatchCount (stopwatch)
struct NoAttrs {};

// CumSum CumProd CumMax CumMin (x), x converted like that of Sum; Concat Stack (x…); Gather (x, idx: i64); FftRows
// InverseFftRows RealFftRows RealFftTransposedRows (x); Take (x, idx: i64), whose result has x's axes before, idx's
// axes, x's axes after.
struct AxisAttrs {
  int64_t axis = 0;
};

struct AxesAttrs { // Permute, Flip (x)
  std::vector<int64_t> axes;
};

// Sum Mean Prod ReduceMin ReduceMax Any All ArgMin ArgMax (x). Of sum and prod x is converted from bool and narrow
// integers to i64 already; a mean of no elements is NaN; an empty min, max, argmin, argmax is a run-time error of this
// node.
struct ReduceAttrs {
  std::vector<int64_t> axes; // the reduced ones, ascending
  bool keep = false;         // with size 1
};

struct EinsumAttrs {             // Einsum (a) or (a, b)
  std::vector<int64_t> lhs, rhs; // the labels of the operands' axes; those of the result are 0, 1, …
};

struct ScatterAddAttrs { // ScatterAdd (x, idx: i64, values)
  int64_t axis = 0;
  bool along_axis = false;       // all have the same number of axes: the reverse of Gather; else that of Take
  std::vector<Size> places = {}; // the shape that the values are broadcast to
};

struct PadAttrs { // Pad (x, value)
  struct Margins {
    Size before, after;
  };
  std::vector<Margins> margins; // of each axis
};

struct LinalgAttrs {       // Cholesky LuFactor Solve TriangularSolve Qr Svd Eigh EigParts (a) or (a, b)
  std::vector<Size> shape; // of a, with the leading axes of all operands together
  bool lower = false;      // TriangularSolve
};

struct PrintAttrs { // Print (str)
  bool to_stderr = false;
};

struct ProgressAttrs { // Progress (done, total, show: str, values…): done once the values are there
  bool last = false;
};

struct DeviceCountAttrs { // DeviceCount ()
  bool of_gpus = false;
};

struct DebugAttrs { // Debug (x)
  std::string name; // what x is called
};

struct LoadAttrs { // Load (path) or (path, name): type and fresh
  LoadOptions options;
  bool is_constant = false; // in a const: its type has the file's own sizes, and lowering reads the file. No effect
  std::string names = {};   // of a tuple's leaves, one a line
};

struct SaveAttrs {   // Save (path, x)
  std::string names; // of x's leaves, one a line; none for a tensor
};

// PlotLine PlotDescribed PlotImage (description, file?, tensors…), as abi/plot_op.h says, in f64 (images also in u8).
struct PlotAttrs {
  bool has_path = false, has_x = false;
  std::string labels; // of the lines, one a line
};

// Every node has room for the largest that is not boxed.
template <class T> using HeldAttrs = Held<T, 32>;
template <class... T> using AttrsOf = std::variant<HeldAttrs<T>...>;
using BuiltinAttrs =
    AttrsOf<NoAttrs, AxisAttrs, AxesAttrs, ReduceAttrs, EinsumAttrs, ScatterAddAttrs, PadAttrs, LinalgAttrs, PrintAttrs,
            ProgressAttrs, DeviceCountAttrs, DebugAttrs, LoadAttrs, SaveAttrs, PlotAttrs>;

struct BuiltinExpr {
  Builtin builtin{};
  BuiltinAttrs attrs = {};
};

// ---- an expression -----------------------------------------------------------------------------------------------

template <class T> using HeldExpr = Held<T, 48>;
template <class... T> using ExprOf = std::variant<HeldExpr<T>...>;
using ExprData = ExprOf<UnitExpr, LiteralExpr, StrExpr, VariableExpr, SizeExpr, ScalarExpr, ConvertExpr, BuiltinExpr,
                        CallExpr, TupleExpr, TupleGetExpr, IndexExpr, TensorLiteralExpr, IfExpr, BlockExpr,
                        ComprehensionExpr, InterpExpr, RangeExpr, ListExpr, TextExpr, DeriveExpr, RecastExpr>;

struct Expr {
  Type type;
  Span span;
  // Order of evaluation: binds, operands (and the values in subscripts) left to right, checks, the operation, fresh.
  std::vector<ExprPtr> operands;
  RareVector<SizeBind> binds;
  SizeChecks checks;
  RareVector<FreshAtom> fresh;
  ExprData data;

  // Is it of one of these kinds?
  template <class... Kinds> bool is() const { return (std::holds_alternative<HeldExpr<Kinds>>(data) || ...); }
  bool is(Builtin builtin) const { return is<BuiltinExpr>() && as<BuiltinExpr>().builtin == builtin; }
  bool is(ScalarOp op) const { return is<ScalarExpr>() && as<ScalarExpr>().op == op; }
  // What it holds, of the kind that it is of: where it is of another, as() throws and get_if() gives null.
  template <class Kind> Kind& as() { return unboxed(std::get<HeldExpr<Kind>>(data)); }
  template <class Kind> const Kind& as() const { return unboxed(std::get<HeldExpr<Kind>>(data)); }
  template <class Kind> Kind* get_if() { return is<Kind>() ? &as<Kind>() : nullptr; }
  template <class Kind> const Kind* get_if() const { return is<Kind>() ? &as<Kind>() : nullptr; }
  // Calls the visitor with what it holds.
  template <class Visitor> decltype(auto) visit(const Visitor& visitor) {
    return std::visit([&](auto& held) { return visitor(unboxed(held)); }, data);
  }
  template <class Visitor> decltype(auto) visit(const Visitor& visitor) const {
    return std::visit([&](const auto& held) { return visitor(unboxed(held)); }, data);
  }
  // The attributes of a built-in function; others throw.
  template <class Attrs> Attrs& attrs() { return unboxed(std::get<HeldAttrs<Attrs>>(as<BuiltinExpr>().attrs)); }
  template <class Attrs> const Attrs& attrs() const {
    return unboxed(std::get<HeldAttrs<Attrs>>(as<BuiltinExpr>().attrs));
  }
};
static_assert(sizeof(Expr) <= 200);

// A function for one combination of element types, ranks and constants.
struct Instance {
  std::string name; // "softmax"
  std::string key;  // "softmax(f32[2], axis=-1)": unique
  Span span;        // of the declaration's name
  std::vector<VarId> params;
  std::vector<AtomId> size_params; // passed by every caller
  std::vector<VarId> captures;     // variables of functions or the script around, also those that its calls capture
  std::vector<AtomId> captured_atoms;
  Type result;                         // over size_params, captured_atoms and result_atoms
  std::vector<FreshAtom> result_atoms; // sizes that only the result's value tells
  Block body;                          // its result, or the `return`s, have the result's type
  bool has_effects = false;            // prints, saves, asserts, reads the clock …
};

// The entry: runs the top-level statements and then, if there is one, main.
struct EntryParam {
  VarId var;   // as given on the command line; each axis of a tensor has an atom of its own
  VarId given; // valid: the parameter has a default, and this bool says whether `var` was given
};
struct Test {
  std::string name;
  Span span;
  InstanceId instance; // without parameters; reads top-level variables by capture
};

inline bool is_constant_load(const Expr& e) { return e.is(Builtin::Load) && e.attrs<LoadAttrs>().is_constant; }

// What a piece of a session (parser/check/check.h) takes from the pieces before it and leaves to those after it.
struct SessionState {
  bool is_piece = false;      // false: a whole program
  std::vector<VarId> given;   // variables that it uses of earlier pieces, under the types that `variables` has
  std::vector<AtomId> sizes;  // sizes that it uses of earlier pieces
  std::vector<VarId> kept;    // variables whose values this piece binds or may change
  std::vector<VarId> dropped; // variables of earlier pieces that later ones cannot refer to any more
  size_t first_atom = 0;      // atoms from here on are this piece's
};

struct Program {
  SizeAtoms atoms;
  std::vector<Variable> variables;      // by VarId
  std::vector<Instance> instances;      // by InstanceId
  std::vector<EntryParam> entry_params; // in the order of interface.params
  Block top_level;                      // top-level statements; scope of the tests too
  Block main_call; // after top_level, in its scope: defaults, checks of the command line's sizes, the call of main;
                   // its result is main's result
  bool has_main = false;
  std::vector<Test> tests; // `tl test`: top_level, then each
  ProgramInterface interface;
  SessionState session;
  bool uses_devices =
      false;       // it names a device somewhere: then each tensor of the script, of main and of tests is on one
  InstanceId main; // if has_main
  bool ok = true;  // no errors; otherwise nothing but diagnostics may be used
};

// Does this expression itself (what is inside it aside) act on the world, or look at what acts? The one rule for
// what may not be left out, repeated or put into another order: the checker and lowering ask it.
inline bool is_effect(const Program& program, const Expr& e) {
  if (const auto* call = e.get_if<CallExpr>())
    return call->instance.valid() && program.instances[call->instance.index].has_effects;
  const auto* function = e.get_if<BuiltinExpr>();
  return function && info(function->builtin).acts == Acts::Effect && !is_constant_load(e);
}

// As text, for `tl dump --stage typed`.
std::string to_text(const Program& program);

} // namespace tl::typed

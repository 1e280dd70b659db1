// The typed AST: what the checker makes of a program. Complete and desugared: every name is an id, every type final,
// every overload chosen, every implied equality of sizes proven or written down as a SizeCheck.
//
// Where the run-time value of a SizeAtom comes from (Named, Value and Fresh; compound ones are computed from these):
//   - an atom of an Instance's `size_params`: the caller passes it (Call::size_args, over the caller's atoms)
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
#include "abi/reduce_op.h"
#include "abi/text_op.h"
#include "lang/source.h"
#include "lang/type.h"
#include <memory>

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

// With index tensors, subscripts pair up as in NumPy: Tensor (and then also At, as rank 0) entries broadcast together;
// the broadcast axes are in the place of the first of them if they are adjacent, else before all others.
enum class ExprKind : uint8_t {
  Literal,   // literal: a scalar of type.dtype
  Str,       // text
  Unit,      //
  Variable,  // var, with the type that it has here
  SizeValue, // size, as an i64
  Scalar,    // scalar_op on operands, broadcast to type.shape: aligned right, rank 0 and constant-1 axes stretch. The
             // operands have one element type (Where: bool, T, T; KeyBits, KeyFold: key, i64). Integer // % by zero and
             // ** with a negative exponent are run-time errors of this node
  Convert,   // operand 0 to type.dtype
  Builtin,   // builtin on operands with ints, flag, sizes: see the table below
  Call,      // instance on operands in the order of its parameters, size_args for its size_params
  Tuple,     // operands: a tuple, or (by its type) a struct of these fields
  TupleGet,  // element `index` of operand 0, a tuple or struct
  Index,     // operand 0 under subscripts
  TensorLiteral, // operands, all of one shape, stacked along a new first axis (no operands: type.shape[0] is 0)
  If,            // operand 0: a bool scalar; blocks[0], blocks[1]; joins afterwards
  Block,         // blocks[0]; with an operand, a device: what is made in it is put there (`on`)
  Comprehension, // indices, filter (may be null), body = operand 0. is_reduction: `reduce` over all index positions
                 // (axis order: as written), mean: sum over count; else a tensor: type.shape = extents + body's shape
  Interp,        // format filled with operands (scalars, tensors, strings)
  Range,         // type says it: lo, hi, step. binds give the atoms in them
  List,          // list_op on operands
  Text,          // text_op on operands (abi/text_op.h); Parse: to type.dtype; fresh: the axis of Bytes
  Derive,        // a transform of the function whose body is blocks[0], over params: see Transform
  Recast,        // operand 0, whose type is written otherwise: checks run once it is there, the value is the same
};

// Builtins that remain (the others become simpler nodes: shape, rank, len -> SizeValue, zeros, ones, *_like -> Full,
// flatten, expand_dims, squeeze -> Reshape, transpose, T -> Permute, matmul -> Matmul, range -> Range):
//   Wait (x)   WaitAll ()   Time ()   Interrupted ()   Exit (code)
//   Load (path) or (path, name): type, fresh, index = LoadOptions, packed; a tuple's leaves are loaded by the names in
//     text, one a line   (read_csv, read_idx, read_npz, read_safetensors -> Load)
//   Save (path, x): text = names of x's leaves, one a line; none for a tensor
//   Cpu Gpu (i)   DeviceCount (): flag = of GPUs   To (x, d)   DeviceOf (x)   DeviceFacts MemoryFacts ReleaseCache (d)
//   ProcessRank ()   WorldSize ()   AllReduce (x)   BroadcastFrom (x, root)
//   Exists (path)   ReadText (path)   WriteText (path, s)   TensorNames (path): str, one a line
//   Print (str): flag = to stderr   Debug (x): text = what it is called
//   Progress (done, total, show: str, values…): flag = the last; done once the values are there
//   Sum Mean Prod ReduceMin ReduceMax Any All ArgMin ArgMax (x): ints = the reduced axes, ascending; flag = keep
//     (sum and prod of bool and narrow integers: x is converted to i64 already; a mean of no elements is NaN; an empty
//      min, max, argmin, argmax is a run-time error of this node)
//   CumSum CumProd (x): ints = [axis]; x converted like that of Sum
//   Reshape (x)   Permute (x): ints   BroadcastTo (x)   Concat Stack (x…): ints = [axis]   Flip (x): ints = axes
//   Pad (x, value): sizes = before_0, after_0, before_1, …
//   Full (value) or (value, x): on the device of x   Eye ()   Arange (start, step): start + i * step
//   Linspace (lo, hi)   Take (x, idx: i64): ints = [axis]; result: x's axes before, idx's axes, x's axes after
//   Matmul (a, b): a[…, m, k], b[…, k, n], leading axes broadcast; a rank-1 operand has no m or n   Dot (a, b)
//   Key (seed)   SplitKey (k): a tuple of two, or key[n], by the type   Bits (k)   Uniform (k, lo, hi)   Normal (k)
//   RandInt (k, lo, hi)
// The result's element type and sizes are in the node's type.

enum class ListOp : uint8_t {
  Make,   // operands: the elements
  Length, // (list) -> i64
  Get, // (list, i) -> the element; i wraps, then must be in range, unless flag says it is. fresh: the sizes of its own
  Set, // (list, i, element) -> the list with that element; i as for Get
  Append, // (list, element)
  Concat, // (a, b)
  Slice,  // (list, bounds…): Python's slice; ints = which of first, last and step are given (0 or 1 each)
  Join,   // (list of tensors or numbers) -> one tensor: ints = [axis, 1 to stack or 0 to concatenate]; fresh: its sizes
};

// Transforms of a function: of blocks[0], a call in which `params` stand for the operands that are asked about.
enum class Transform : uint8_t {
  Vjp, // (x…) or (x…, dy): (y, dx…), the cotangents of x for the cotangent dy of y; without it y is one float, and dy
       // is 1. flag: effects are left out
  Jvp,        // (x…, dx…): (y, dy)
  Vmap,       // (x…): y for each position of the first axis of every x, of which there are sizes[0]
  Jacobian,   // (x): the derivatives, with the axes of y and then of x
  Checkpoint, // (x…): y
  CustomVjp,  // (x…): y. blocks[1] gives dx… from params behind the first ones: x…, y, dy
};

struct ComprehensionIndex {
  VarId var;
  std::vector<SizeBind> binds; // evaluated for each value of the earlier indices that they use
  Size lo, hi;                 // lo <= i < hi; none where hi <= lo
  Span span;
};

struct Expr {
  ExprKind kind = ExprKind::Unit;
  Type type;
  Span span;
  // Order of evaluation: binds, operands (and the values in subscripts) left to right, checks, the operation, fresh.
  std::vector<ExprPtr> operands;
  std::vector<SizeBind> binds;
  std::vector<SizeCheck> checks;
  std::vector<FreshAtom> fresh;

  Scalar literal;
  std::string text;
  VarId var;
  Size size;
  ScalarOp scalar_op{};
  Builtin builtin{};
  ListOp list_op{};
  TextOp text_op{};
  InstanceId instance;
  std::vector<Size> size_args;
  std::vector<int64_t> ints;
  std::vector<Size> sizes;
  uint32_t index = 0;
  bool flag = false;
  std::vector<Subscript> subscripts;
  std::vector<Block> blocks;
  std::vector<Join> joins;
  bool is_reduction = false, is_mean = false;
  ReduceOp reduce{};
  std::vector<ComprehensionIndex> indices;
  ExprPtr filter;
  FormatTemplate format;
  Transform transform{};
  std::vector<VarId> params; // Derive
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
  Assert, // value: bool scalar; message (Interp or Str, evaluated only on failure; may be null); text: as it was written
  Expr,   // value, for its effects
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
  std::vector<SizeCheck> checks;                  // after value, subscripts; before the write
  Block body;
  std::vector<Join> head;  // loops: types at the start of every iteration (and at the test of a while)
  std::vector<Join> after; // loops: types after the loop
  ExprPtr message;
  std::string text;
};

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

// A `load` in a const: its flag is set, its type has the file's own sizes, and lowering reads the file. No effect.
inline bool is_constant_load(const Expr& e) {
  return e.kind == ExprKind::Builtin && e.builtin == Builtin::Load && e.flag;
}

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
  if (e.kind == ExprKind::Call) return e.instance.valid() && program.instances[e.instance.index].has_effects;
  return e.kind == ExprKind::Builtin && info(e.builtin).acts == Acts::Effect && !is_constant_load(e);
}

// As text, for `tl dump --stage typed`.
std::string to_text(const Program& program);

} // namespace tl::typed

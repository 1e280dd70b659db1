// The dataflow graph: structured SSA.
//
// A Function owns its nodes and values. A Region is an ordered list of nodes with parameters and yields. A node has
// operands, results, attributes and regions; regions may use values of the regions around them (they are not isolated).
// Effects are ordered by tokens: an effect node takes a token as its first operand and gives one as its first result.
//
// Sizes: the type of a tensor names each size as a constant or as a host i64 value. Equal sizes are the same value
// (lowering makes one value per normalised polynomial), so that "same shape" is a comparison of ids and never depends
// on run-time sizes. A type may refer to a parameter or result beside it: `%n: i64, %x: f32[%n, 3]`.
//
// Text form (ir/text.h), printed and read back:
//   func @scale(%t: token, %n: i64, %x: f32[%n, 784]) {
//     %2: f32 = constant f32 2
//     %3: f32[%n, 784] = mul %x, %2
//     yield %t, %3
//   }
#pragma once
#include "vm/abi/bytecode.h"
#include "vm/abi/error.h"
#include "vm/abi/orders.h"
#include "vm/abi/scalar_op.h"
#include "vm/abi/tensor.h"
#include <compare>
#include <string>
#include <vector>

namespace tl::ir {

struct ValueId {
  uint32_t index = UINT32_MAX;
  bool valid() const { return index != UINT32_MAX; }
  auto operator<=>(const ValueId&) const = default;
};
struct NodeId {
  uint32_t index = UINT32_MAX;
  bool valid() const { return index != UINT32_MAX; }
  auto operator<=>(const NodeId&) const = default;
};

struct Dim {
  int64_t constant = 0;
  ValueId value; // valid: the size is this host i64 value
  bool is_constant() const { return !value.valid(); }
  static Dim of(int64_t n) { return {n, {}}; }
  static Dim of(ValueId v) { return {0, v}; }
  bool operator==(const Dim&) const = default;
};

struct Type {
  enum class Kind : uint8_t { Tensor, Str, List, Token };
  Kind kind = Kind::Tensor;
  DType dtype = DType::F32;
  std::vector<Dim> dims; // rank 0: a scalar
  std::vector<Type> elements =
      {}; // List: the leaves of an element, with sizes of 0 that say the rank alone; none: unknown

  static Type scalar(DType t) { return {Kind::Tensor, t, {}, {}}; }
  static Type tensor(DType t, std::vector<Dim> dims) { return {Kind::Tensor, t, std::move(dims), {}}; }
  static Type str() { return {Kind::Str, DType::U8, {}, {}}; }
  static Type list(std::vector<Type> elements = {}) { return {Kind::List, DType::U8, {}, std::move(elements)}; }
  static Type token() { return {Kind::Token, DType::U8, {}, {}}; }
  bool is_tensor() const { return kind == Kind::Tensor; }
  bool is_scalar() const { return kind == Kind::Tensor && dims.empty(); }
  bool is_list() const { return kind == Kind::List; }
  bool operator==(const Type&) const = default;
};

// Operations. {a} is attrs.a. "dims" are those of the result type unless told otherwise.
enum class Op : uint8_t {
  // constants
  Constant,    // {literal} a scalar of the result's dtype
  ConstTensor, // {index} into Module::tensors
  ConstStr,    // {text}
  Iota,        // result i64[n]: 0, 1, … n-1
  // elementwise: operands have exactly the result's dims, or rank 0 (splat)
  Elementwise, // {scalar} op on operands of one dtype (Where: bool, T, T; KeyBits, KeyFold: key, i64)
  Convert,     // element type of the operand to that of the result
  // views (index maps inside kernels)
  Broadcast, // (x) {ints}: for each axis of x, the axis of the result that it becomes, ascending; an axis of x whose
             // size
             // is the constant 1 stretches
  Reshape,   // (x) row-major reinterpretation; equal element counts are the producer's duty (a Guard before if needed)
  Transpose, // (x) {ints}: result axis i is x's axis ints[i]
  Slice,  // (x, start_0, …, start_{r-1}) {ints}: step per axis (may be negative); result dims are the lengths; starts
          // are
          // i64 scalars, in range by construction (clipped)
  Pad,    // (x, value, before_0, …) result dims given; outside x the value
  Concat, // (x_0, x_1, …) {ints}: [axis]
  // indexing
  Index, // (x, i_0, …, i_{k-1}) scalars i64, already wrapped and checked: the element or sub-tensor x[i_0, …, i_{k-1}]
  Gather, // (x, idx) {ints}: [axis]; idx i64 of any rank, wrapped and checked: x's axis replaced by idx's axes
  Update, // (x, value, start_0, …, start_{r-1}) {ints}: step per axis, {update}: Set or Add. x with the slice replaced;
  // value has one axis per axis of x (its sizes are the slice's) — or rank 0 with no steps: the element at start…
  Scatter, // (x, idx, value) {update} along axis 0: x[idx[j]] = or += value[j], j ascending (last of repeats wins);
           // idx i64 rank 1, wrapped and checked; value dims: [len(idx), x's other axes]
  // reductions and products
  Reduce, // (x) or (x, mask) {reduce, ints: axes ascending}: in the order of sums over the row-major index of the
          // reduced
  // axes; reduced axes disappear. mask: bool, x's dims; elements where it is false do not take part. Sum and Prod
  // of the accumulator type (operand already converted: bool and narrow ints to i64). ArgMin, ArgMax: i64
  Scan,     // (x) {reduce: Sum or Prod, ints: [axis]} running fold, sequential along the axis
  Contract, // (a, b) {ints: for each axis of a its label, then for each axis of b its label; text: see below}
            // dot-general:
  // labels are 0 … ; result axes are the labels in {labels}, in that order; the other labels are summed, in order
  // of contractions, row-major over the summed labels in ascending label order
  // index-space map: a comprehension
  Map, // () region(i_0: i64, …, i_{r-1}: i64) yields scalars; results are tensors whose dims are the index ranges
       // (start at 0). The region may use Index, Elementwise, Convert, If (lazy), Reduce and Contract of nested Maps,
  // Guard, For and While over scalars. Its values may also be tensors of constant or outer size made by nested Maps.
  // control
  If, // (c: bool scalar) two regions without parameters; their yields are the results
  For, // (lo, hi, step, init…) region(i: i64, carried…) yields carried…; results: the final carried. step is nonzero
  While, // (init…) regions: cond(carried…) yields bool; body(carried…) yields carried…
  Call,  // (args…) {index}: function
  // lists: of elements of `width` leaves each (tensors, scalars, strings or lists)
  ListMake,   // (leaves of the first element, of the second …) {ints: [width, count]}
  ListLength, // (list) -> i64
  ListGet, // (list, i) {ints: leaf and axis of each size} -> leaves of element i, then these sizes as i64s, which the
           // leaves' types refer to. i is in range
  ListSet, // (list, i, leaves…) -> the list with that element. i is in range
  ListAppend, // (list, leaves…) {ints: [width]}
  ListConcat, // (a, b)
  ListSlice,  // (list, bounds…) {ints: which of first, last and step are operands (0 or 1)}: Python's slice
  ListJoin, // (list) {index: site; ints: [axis, stack]} -> one tensor of its elements (of one leaf each), joined along
  // the axis or (stack 1) a new one; then its sizes, which its type refers to. Other sizes that differ, and an
  // empty list, fail as the site says
  // decompositions
  Linalg, // (a) or (a, b) {index: site; ints: [LinalgOp]}: see vm/abi/linalg_op.h; leading axes are the same
          // everywhere. What
  // has no such decomposition fails as the site says: {0} is the number of the matrix in the batch, {1} LAPACK's info
  // text
  Text,     // {index: TextOp, ints} see vm/abi/text_op.h; Bytes gives the size too, which the tensor's type refers to
  ReadLine, // (token) -> token, str
  // failures: a total op plus a check
  Guard, // (x, cond, payload…) {index: site}: x (any type), poisoned where cond is false. cond: bool scalar, or a bool
         // tensor
  // all of whose elements must hold. payload: up to two i64, of cond's dims or scalar, for the message.
  Await, // (x: scalar) the same value, known to the host (passes/place inserts it)
  // effects: token first
  Format, // (values…) -> str {format}          pure; values: scalars, tensors, strings
  Print,  // (token, str…) {index: 1 for stderr} -> token
  Assert, // (token, cond, values…) -> token {index: site, format}
  Load,   // (token, path) or (token, path, name) {index: LoadOptions, packed} -> token, tensor, sizes… (i64 each; the
          // tensor's dims refer to them)
  Save,   // (token, path, x) or (token, path, names, x…) -> token; names: str, one a line
  Exists, // (token, path) -> token, bool
  ReadText,    // (token, path) {index: 1 for the names of its tensors, one a line} -> token, str
  WriteText,   // (token, path, str) -> token
  Wait,        // (token, values…) -> token, values…
  WaitAll,     // (token) -> token
  Time,        // (token) -> token, f64
  Interrupted, // (token) -> token, bool
  Exit,        // (token, code) -> token
  Debug,       // (token, x) {format: what x is called, without values} -> token, x
  Plot, // (token, title: str, path: str if ints[0], labels: str (one a line), tensors…) {index: PlotKind; ints: has a
        // path, has x}
        // -> token. The tensors: vm/abi/plot_op.h
  Stopwatch, // (token) or (token, number) {index: StopwatchOp} -> token, i64 or f64 (of Lap too: vm/abi/stopwatch.h)
  Progress, // (token, done, total, show: str, values…) {index: 1 for the last} -> token: a bar, once values are there
  // devices. A tensor (never a scalar) may belong to one at run time; an operation's result belongs to the device that
  // its
  // operands have in common, and passes/devices puts Guards before what could mix two
  DeviceCount,  // {index: DeviceKind} -> i64
  DeviceOf,     // (x) -> i64: the device of a tensor, or -1. Known while issuing
  Transfer,     // (x, d: device) -> x in the memory of d (of -1: anywhere, and belongs to no device)
  Place,        // (x, d) -> x where it has a device, else on d. x: a tensor, or a list, whose elements are placed
  DeviceInfo,   // (d) -> name: str, memory: i64, cores: i64, compute capability: str
  MemoryStats,  // (token, d) -> token, bytes in use, peak, cached, limit: i64
  ReleaseCache, // (token, d) -> token
  // processes (one, without MPI)
  ProcessRank,   // -> i64
  WorldSize,     // -> i64
  AllReduce,     // (x) -> the sum of every process's x
  BroadcastFrom, // (x, root: i64) -> x of that process
  // transforms: expanded by passes/derive, before everything that computes. {ints[0]}: 1 if the first result is a token
  Vjp, // (x_0 … x_{n-1}, seeds…) region(x'…) -> [token,] y…  {ints: token, 1 to leave effects out, n, then which of y
  // the
  // seeds are cotangents of} -> [token,] y…, dx_0 … dx_{n-1}. x are floats and lists; seeds have the sizes of y
  Jvp, // (x…, tangents…) region(x'…) -> [token,] y…  {ints: token, n, then which of y} -> [token,] y…, their tangents
  Vmap, // (count: i64, x…) region(x'…) -> y…  {ints: 0, then for each x 1 if its first axis is the one gone over} ->
        // y… with
        // an axis of size count in front
  Checkpoint, // (x…) region(x'…) -> [token,] y… -> [token,] y…: derivatives compute it again
  CustomVjp, // (x…) regions (x'…) -> y… and (x'…, y'…, dy'… of the floats in y) -> dx… of the floats in x -> y…
  StopGradient, // (x) -> x, a constant to derivatives
  // made by passes
  Kernel, // (captured…) one region without parameters whose yields are the results; operands: every outer value that
          // the
          // region uses (sizes in types included), each once. {kernel}
};

// The parts of a Vjp node's operands, results and attributes.
constexpr size_t kVjpSeeds = 3; // where the positions of the seeds begin in ints

enum class UpdateMode : uint8_t { Set, Add };

// What a Kernel node becomes.
enum class KernelKind : uint8_t {
  Nest,     // elementwise, views, reductions, maps: one loop nest over the outputs, rows kept in cache
  Contract, // one matrix product (dot-general), elementwise consumers as its epilogue
  Update,   // one Update or Scatter in place, with a fused value
  Loop,     // an outlined host loop: sequential native code over scalars and subscripts
};

struct Attrs {
  ScalarOp scalar{};
  ReduceOp reduce{};
  UpdateMode update{};
  KernelKind kernel{};
  uint32_t index = 0;
  Scalar literal;
  std::vector<int64_t> ints;
  std::vector<int64_t> labels; // Contract: labels of the result's axes
  std::string text;
  FormatTemplate format;
};

struct Region {
  std::vector<ValueId> params;
  std::vector<NodeId> nodes;
  std::vector<ValueId> yields;
};

struct Node {
  Op op;
  Attrs attrs;
  LocId loc;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<Region> regions;
};

struct Value {
  Type type;
  NodeId producer;     // invalid for parameters of functions and regions
  uint32_t result = 0; // which result of the producer, or which parameter
  std::string name;    // the user's name where there is one, for dumps and messages
};

struct Function {
  std::string name;
  std::vector<Node> nodes;   // by NodeId; a node belongs to exactly one region (unreachable ones are garbage)
  std::vector<Value> values; // by ValueId
  Region body;               // params: the function's parameters; yields: its results

  Node& operator[](NodeId id) { return nodes[id.index]; }
  const Node& operator[](NodeId id) const { return nodes[id.index]; }
  Value& operator[](ValueId id) { return values[id.index]; }
  const Value& operator[](ValueId id) const { return values[id.index]; }
};

struct Module {
  std::vector<Function> functions;
  uint32_t entry = 0; // its parameters and results are as Program says, with a token first in both
  std::vector<HostTensor> tensors;
  std::vector<ErrorSite> sites;
  std::vector<Location> locations{Location{}}; // by LocId; [0] is nowhere
  ProgramInterface interface;
};

// Appends nodes to a region of a function. Result types are given by the caller; the verifier checks them.
class Builder {
public:
  Builder(Module& module, Function& function, Region& region);

  ValueId param(Type type, std::string name = {}); // a new parameter of the current region
  // A node with these operands and result types. Returns the node; its results are function()[id].results.
  // Regions are built first, as locals with a Builder of their own on the same function, and moved in (references into
  // function.nodes do not survive another node).
  NodeId node(Op op, std::vector<ValueId> operands, std::vector<Type> results, Attrs attrs = {}, LocId loc = {},
              std::vector<Region> regions = {});
  ValueId one(Op op, std::vector<ValueId> operands, Type result, Attrs attrs = {}, LocId loc = {}); // single result
  ValueId scalar(ScalarOp op, std::vector<ValueId> operands, LocId loc = {}); // Elementwise on rank-0 operands
  ValueId constant(DType type, Scalar value);
  ValueId i64(int64_t value);
  ValueId size(const Dim& dim); // the i64 value of a size
  Module& module() { return module_; }
  Function& function() { return function_; }
  Region& region() { return *region_; }
  void set_region(Region& region) { region_ = &region; }

private:
  Module& module_;
  Function& function_;
  Region* region_;
};

} // namespace tl::ir

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
// Text form (ir/graph/text.h), printed and read back:
//   func @scale(%t: token, %n: i64, %x: f32[%n, 784]) {
//     %2: f32 = constant f32 2
//     %3: f32[%n, 784] = mul %x, %2
//     yield %t, %3
//   }
#pragma once
#include "abi/error.h"
#include "abi/interface.h"
#include "abi/tensor.h"
#include "ir/graph/attrs.h"
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

// Operations: ir/graph/graph_ops.def has what each takes and gives.
enum class Op : uint8_t {
#define TL_GRAPH_OP(Enum, ...) Enum,
#include "ir/graph/graph_ops.def"
};

struct Region {
  std::vector<ValueId> params;
  std::vector<NodeId> nodes;
  std::vector<ValueId> yields;
};

struct Node {
  Op op;
  LocId loc;
  Attrs attrs;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<Region> regions;

  // The attributes, of the kind that the operation has (ir/graph/graph_ops.def); another throws.
  template <class T> T& as() { return unboxed(std::get<HeldAttrs<T>>(attrs)); }
  template <class T> const T& as() const { return unboxed(std::get<HeldAttrs<T>>(attrs)); }
  bool is(ScalarOp scalar) const { return op == Op::Elementwise && as<ElementwiseAttrs>().op == scalar; }
};
// Large programs have some 100'000 nodes, which every pass walks over and many passes copy: attributes that few nodes
// have are boxed (ir/graph/attrs.h), so that they do not make all others larger.
static_assert(sizeof(Node) <= 120);

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

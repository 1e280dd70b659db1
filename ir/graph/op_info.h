// What ir/graph/graph_ops.def says of the graph's operations, for text, messages and passes.
#pragma once
#include "ir/graph/graph.h"
#include <optional>
#include <string_view>

namespace tl::ir {

constexpr int kOpCount = static_cast<int>(Op::Kernel) + 1;

// What may be done with a node because of its operation.
enum class OpKind : uint8_t {
  Value,    // what it gives depends on its operands and attributes alone: equal ones are one, unused ones may go
  Fallible, // the same, but it can fail: stays even if nobody uses what it gives
  Effect,   // takes a token first and gives one first
  Control,  // runs regions or a function: what these do, it does
};

// What an operation does with the devices of its tensors.
enum class DeviceRule : uint8_t {
  Joins, // its results belong to the device of its tensors, which must be one
  Same,  // a result belongs to that of the operand at its index (after the token, if there is one)
  Own,   // its results' devices are known when it runs
};

// What fusion makes of an operation.
enum class FusionClass : uint8_t {
  Outside,   // nothing: it stays between kernels
  Scalar,    // a scalar of its operands' elements for each element; on the host where all of it is known there
  View,      // no work: an index map. A Reshape only where sizes of 1 come or go
  Guard,     // checked inside the kernel
  HostGuard, // a Guard whose condition the host knows (passes/fuse/build.cpp finds it): checked before the kernel runs
  Map,
  Reduce,
  Scan,
  Contract,
  Update,
};

// Whether the host knows a scalar result while it issues.
enum class Home : uint8_t {
  Host,     // always: what gives it waits for it, or there is nothing to wait for
  Operands, // where it knows all operands, which are scalars
  Device,   // never
};

// When an operation may leave a loop that changes none of its operands.
enum class Hoist : uint8_t {
  Never,
  Always,
  Scalars, // where its result is one
  Untimed, // unless the loop looks at the clock: measuring would be in vain
};

enum class Derivative : uint8_t { Again, Saved };

constexpr uint32_t kDear = 1000; // a cost: computed again only at the price of time that shows

struct OpInfo {
  std::string_view name; // "const_tensor"; Elementwise prints as its scalar op
  size_t attrs;          // which alternative of Attrs it has
  Attrs (*default_attrs)();
  OpKind kind;
  DeviceRule devices;
  FusionClass fusion;
  Home home;
  Hoist hoist;
  Derivative derivative;
  uint32_t cost;
};
const OpInfo& info(Op op);
inline std::string_view name_of(Op op) { return info(op).name; }
inline OpKind kind_of(Op op) { return info(op).kind; }
std::string_view name_of(const Node& node); // in the text form and in messages

std::optional<Op> op_from_name(std::string_view name);
std::optional<ScalarOp> scalar_from_name(std::string_view name);

// Takes a token first and gives one first: stays, in its place in the chain.
bool is_effect(const Function& function, const Node& node);
// Must stay even if nobody uses its results: effects, Guards, calls and loops that may not end; also what contains one.
bool must_stay(const Function& function, const Node& node);

// Element type that a reduction or contraction of T accumulates in (f32 for f16 and bf16).
constexpr DType accumulator_of(DType type) { return type == DType::F16 || type == DType::BF16 ? DType::F32 : type; }

} // namespace tl::ir

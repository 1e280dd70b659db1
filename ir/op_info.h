// Names and kinds of the graph's operations, for text, messages and passes.
#pragma once
#include "ir/graph.h"
#include <optional>
#include <string_view>

namespace tl::ir {

constexpr int kOpCount = static_cast<int>(Op::Kernel) + 1;

// What may be done with a node because of its operation. Each operation says it in its row (op_info.cpp); lowering, the
// verifier, the interpreter and the passes ask the row.
enum class OpKind : uint8_t {
  Value,    // what it gives depends on its operands and attributes alone: equal ones are one, unused ones may go
  Fallible, // the same, but it can fail: stays even if nobody uses what it gives
  Effect,   // takes a token first and gives one first
  Control,  // runs regions or a function: what these do, it does
};
OpKind kind_of(Op op);

std::string_view name_of(Op op); // "const_tensor"; Elementwise prints as its scalar op
std::optional<Op> op_from_name(std::string_view name);
std::string_view name_of(ReduceOp op);
std::optional<ReduceOp> reduce_from_name(std::string_view name);
std::optional<ScalarOp> scalar_from_name(std::string_view name);

// Takes a token first and gives one first: stays, in its place in the chain.
bool is_effect(const Function& function, const Node& node);
// Must stay even if nobody uses its results: effects, Guards, calls and loops that may not end; also what contains one.
bool must_stay(const Function& function, const Node& node);

// Element type that a reduction or contraction of T accumulates in (f32 for f16 and bf16).
constexpr DType accumulator_of(DType type) { return type == DType::F16 || type == DType::BF16 ? DType::F32 : type; }

} // namespace tl::ir

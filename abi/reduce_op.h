// The ways to fold elements, straight from the op table, and their rows. The orders in which they fold: abi/orders.h.
#pragma once
#include "abi/scalar_op.h"
#include <optional>

namespace tl {

enum class ReduceOp : uint8_t {
#define TL_REDUCTION(Enum, ...) Enum,
#include "abi/ops.def"
};

struct ReduceOpInfo {
  enum class Identity : uint8_t { Zero, One, Least, Greatest };
  enum class Total : uint8_t { Same, Wide };
  enum class Gives : uint8_t { Value, Position };
  std::string_view name;
  ScalarOp combine;
  Identity identity;
  Total total;
  Gives gives;
};

inline constexpr ReduceOpInfo kReduceOps[] = {
#define TL_REDUCTION(Enum, name, Combine, identity, total, gives)                                                      \
  {name, ScalarOp::Combine, ReduceOpInfo::Identity::identity, ReduceOpInfo::Total::total, ReduceOpInfo::Gives::gives},
#include "abi/ops.def"
};

constexpr const ReduceOpInfo& info(ReduceOp op) { return kReduceOps[static_cast<int>(op)]; }
constexpr std::string_view name_of(ReduceOp op) { return info(op).name; }
std::optional<ReduceOp> reduce_from_name(std::string_view name);

constexpr bool gives_position(ReduceOp op) { return info(op).gives == ReduceOpInfo::Gives::Position; }
// A sum or a product: rounded at each step, so that the order matters and totals are kept in a wider type.
constexpr bool is_wide(ReduceOp op) { return info(op).total == ReduceOpInfo::Total::Wide; }
// One of the elements: there must be one, unless no elements are false (any) and true (all).
constexpr bool chooses(ReduceOp op) { return info(op).combine == ScalarOp::Min || info(op).combine == ScalarOp::Max; }

// Type of the totals of chunks that are folded in `accumulator`.
constexpr DType total_type(ReduceOp op, DType accumulator) {
  return is_wide(op) && is_float(accumulator) ? DType::F64 : accumulator;
}

// The element that changes nothing. (A sum of nothing is +0.0 all the same.)
Scalar identity_of(ReduceOp op, DType type);

} // namespace tl

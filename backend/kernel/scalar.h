// Scalar operations of the graph as instructions: the bodies of abi/scalar_functions.h, appended instead of
// computed.
#pragma once
#include "abi/scalar_op.h"
#include "backend/kernel/builder.h"

namespace tl::kir {

// One elementwise operation on values whose graph type is `type` (for Where: the branches' type; for KeyBits and
// KeyFold the first operand is a key). f16 and bf16 compute in f32 and round once.
ValueId expand(Builder& builder, ScalarOp op, DType type, const std::vector<ValueId>& operands);

// Conversion between graph types, as the language defines it.
ValueId convert(Builder& builder, DType from, DType to, ValueId value);

// Rounds a value to graph type `type`: Round16 for f16 and bf16, else the value.
ValueId round_to(Builder& builder, DType type, ValueId value);

// A constant of a graph type (f16 and bf16 as the f32 of the same value).
ValueId literal(Builder& builder, DType type, Scalar value);

// Folds two values of one reduction, in value type `type`: what combines chunks. Not for ArgMin and ArgMax.
ValueId combine(Builder& builder, ReduceOp op, DType type, ValueId a, ValueId b);

// What ArgMin and ArgMax give: where nothing took part the fold ends with the identity's position, and the result is 0.
ValueId position(Builder& b, ValueId best);

// Is the operation worth keeping rather than computing again?
bool is_dear(ScalarOp op, DType type);

} // namespace tl::kir

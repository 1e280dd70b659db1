// The meaning of every elementwise operation: one template body per row of TL_ELEMENTWISE in abi/ops.def, under the
// name of its enum, over a Math policy and its values (abi/scalar_math.h).
//
//   body::Exp(m, x)              one body
//   body::f64_to_odd_f32(m, x)   the first half of a conversion from f64 to f16 or bf16 (then round the f32)
//   apply_body(m, op, args)      the body of op on a policy whose values have one C++ type (the Kernel IR builder)
#pragma once
#include "abi/scalar_exp.h"
#include "abi/scalar_log.h"
#include "abi/scalar_op.h"
#include "abi/scalar_simple.h"
#include "abi/scalar_trig.h"

namespace tl {

// Appends (or computes) op on args[0 .. arity). Result: a value of result_type(op, type of the operands).
template <class M, class V> V apply_body(M& m, ScalarOp op, const V* args) {
#define TL_ARGS_1 args[0]
#define TL_ARGS_2 args[0], args[1]
#define TL_ARGS_3 args[0], args[1], args[2]
  switch (op) {
    // clang-format off
#define TL_ELEMENTWISE(Enum, name, arity, ...)                                                                         \
  case ScalarOp::Enum: return body::Enum(m, TL_ARGS_##arity);
#include "abi/ops.def"
    // clang-format on
  }
#undef TL_ARGS_1
#undef TL_ARGS_2
#undef TL_ARGS_3
  __builtin_unreachable();
}

} // namespace tl

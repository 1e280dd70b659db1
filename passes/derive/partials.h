// The derivatives of the elementwise operations, as one table for both modes.
#pragma once
#include "passes/emit.h"
#include <span>

namespace tl {

// d · ∂op/∂operand i, which is what a tangent d of that operand adds to the tangent of the result, and what a cotangent
// d of the result adds to that of the operand. Invalid: nothing (the derivative is zero everywhere).
//   operands   those of the operation; y: its result
//   moving     which of the operands move: where two that do are equal, min, max and clamp follow the first, which is
//              right where they always move together. Against a constant, their derivative there is zero
//   guarded    d may be zero for elements that have been left out (by a Where, a slice …) and whose derivative may be
//              infinite or NaN; or d may be infinite where a factor that it meets is zero, as in sqrt(x * x) at 0: both
//              give zero, as there is nothing to move or to be moved
ir::ValueId scaled_partial(Emit& e, ScalarOp op, std::span<const ir::ValueId> operands, ir::ValueId y, size_t i,
                           ir::ValueId d, const std::vector<bool>& moving, bool guarded);

// What the derivative of an operation reads, and so what reverse mode keeps.
enum class Slope : uint8_t {
  None,       // zero wherever it is defined, or no float comes out
  Constant,   // neither operands nor result
  Choice,     // which operand is taken; the others are left out
  OfOperands, // the operands
  OfResult,   // the result
  OfBoth,     // operands and result
};
Slope slope_of(ScalarOp op);

// Is there any operand of it through which a derivative goes?
bool has_derivative(ScalarOp op);
// Does its derivative leave elements out? Then what comes from it is `guarded`.
bool leaves_out(ScalarOp op);
// Is its derivative infinite at a place where its value is not? Then too.
bool is_steep(ScalarOp op);

// Of a product over axes of x: for each element the product of the others, whatever is 0 among them.
ir::ValueId products_of_others(Emit& e, ir::ValueId x, const std::vector<int64_t>& axes);
// Of Min or Max over axes of x (where the mask, if it is valid, is true): is an element the one that is taken, the
// first of the extreme ones? Invalid where the axes are none: it is the only one.
ir::ValueId is_first_extreme(Emit& e, ReduceOp op, ir::ValueId x, ir::ValueId mask, const std::vector<int64_t>& axes);

} // namespace tl

// Instructions as the interpreter goes through them: those that are brief and common, decoded once. Each does at once
// what its Instruction says where its operands are plain (there, and not poisoned), and else leaves it to that.
#pragma once
#include "abi/program/bytecode.h"

namespace tl {

// X(type, C++ type, ScalarOp): operations of two operands with bodies in abi/scalar_functions.h.
#define TL_QUICK_SCALARS(X)                                                                                            \
  X(I64, int64_t, Add)                                                                                                 \
  X(I64, int64_t, Sub)                                                                                                 \
  X(I64, int64_t, Mul)                                                                                                 \
  X(I64, int64_t, FloorDiv)                                                                                            \
  X(I64, int64_t, Mod)                                                                                                 \
  X(I64, int64_t, Min)                                                                                                 \
  X(I64, int64_t, Max)                                                                                                 \
  X(I64, int64_t, Eq)                                                                                                  \
  X(I64, int64_t, Ne)                                                                                                  \
  X(I64, int64_t, Lt)                                                                                                  \
  X(I64, int64_t, Le)                                                                                                  \
  X(I64, int64_t, Gt)                                                                                                  \
  X(I64, int64_t, Ge)                                                                                                  \
  X(F64, double, Add)                                                                                                  \
  X(F64, double, Sub)                                                                                                  \
  X(F64, double, Mul)                                                                                                  \
  X(F64, double, Div)                                                                                                  \
  X(F64, double, Eq)                                                                                                   \
  X(F64, double, Ne)                                                                                                   \
  X(F64, double, Lt)                                                                                                   \
  X(F64, double, Le)                                                                                                   \
  X(F64, double, Gt)                                                                                                   \
  X(F64, double, Ge)                                                                                                   \
  X(Bool, bool, And)                                                                                                   \
  X(Bool, bool, Or)

// The comparisons among them, which a JumpIfNot may follow.
#define TL_QUICK_TESTS(X)                                                                                              \
  X(I64, int64_t, Eq)                                                                                                  \
  X(I64, int64_t, Ne)                                                                                                  \
  X(I64, int64_t, Lt)                                                                                                  \
  X(I64, int64_t, Le)                                                                                                  \
  X(I64, int64_t, Gt)                                                                                                  \
  X(I64, int64_t, Ge)

struct Quick {
  enum class Kind : uint8_t {
    Step, // as the Instruction says
    End,  // behind the last one
    Const,
    Move,
    Where,
    Guard,
    Index, // kIndexed instructions: a subscript `a` of a list or an axis of `b` elements, counted from its start
    Jump,
    JumpIfNot,
    Call,
    Return,
    Launch, // of numbers: Interpreter::launch_here
    Text,
    Format,
    ListLength,
    ListGet,    // of one leaf, and no sizes
    ListLeaves, // another ListGet
    ListSet,
    ListAppend,
#define TL_QUICK(type, native, op) op##type,
    TL_QUICK_SCALARS(TL_QUICK)
#undef TL_QUICK
#define TL_QUICK(type, native, op) op##type##Jump, // and the JumpIfNot behind it
        TL_QUICK_TESTS(TL_QUICK)
#undef TL_QUICK
  };
  static constexpr size_t kIndexed = 7;
  static constexpr uint32_t kNone = UINT32_MAX;
  Kind kind = Kind::Step;
  DType type{};
  uint8_t gives = 0;                     // which operands are given away, a bit each
  bool takes = false;                    // a ListGet of an element that a ListSet replaces before anybody looks
  uint32_t a = 0, b = 0, c = 0, out = 0; // slots; `c` of a jump: its target
  Scalar imm;
  uint32_t index = kNone, holds = kNone; // Index: slots of its parts, where others read them
};

// The function's instructions, and End. `plain`: all but jumps and calls are steps.
std::vector<Quick> quick_code(const BcFunction& function, bool plain);

} // namespace tl

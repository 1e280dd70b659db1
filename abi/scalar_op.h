// The elementwise operations as an enum, straight from the op table, and their rows.
#pragma once
#include "abi/dtype.h"
#include <span>
#include <string_view>

namespace tl {

enum class ScalarOp : uint8_t {
#define TL_ELEMENTWISE(Enum, ...) Enum,
#include "abi/ops.def"
};

enum class TypeRule : uint8_t {
  NumSame,
  FloatSame,
  IntSame,
  EqBool,
  OrdBool,
  FloatBool,
  BoolSame,
  Select,
  Bits,
  KeyFold
};

struct ScalarOpInfo {
  std::string_view name;
  int arity;
  TypeRule rule;
  double lo, hi; // tested domain
  double ulp;    // tested accuracy; 0 is exact
  std::string_view doc, example;
};

// One row per ScalarOp, in the order of the enum.
inline constexpr ScalarOpInfo kScalarOps[] = {
#define TL_ELEMENTWISE(Enum, name, arity, Rule, lo, hi, ulp, doc, example)                                             \
  {name, arity, TypeRule::Rule, lo, hi, ulp, doc, example},
#include "abi/ops.def"
};
inline constexpr int kScalarOpCount = sizeof(kScalarOps) / sizeof(kScalarOps[0]);

constexpr const ScalarOpInfo& info(ScalarOp op) { return kScalarOps[static_cast<int>(op)]; }

// The result's element type for operands of type T (for Where, T is the type of the branches; for Bits and KeyFold the
// key).
constexpr DType result_type(ScalarOp op, DType operand) {
  switch (info(op).rule) {
  case TypeRule::EqBool:
  case TypeRule::OrdBool:
  case TypeRule::FloatBool: return DType::Bool;
  case TypeRule::Bits: return DType::I64;
  default: return operand;
  }
}

// Reference evaluation of one element (defined through abi/scalar_functions.h; same bits as every kernel).
//   type   element type of the operands (for Where: of the branches; for Bits and KeyFold operand 0 is a key, 1 an i64)
//   args   one slot per operand
// f16 and bf16 compute in f32 and round once. Total: integer division by zero gives 0.
Scalar eval_scalar(ScalarOp op, DType type, std::span<const Scalar> args);

// Conversion as the language defines it: float to integer truncates and saturates (NaN is 0), integer to narrower
// wraps, to bool is `!= 0`, to a narrower float rounds to nearest even.
Scalar convert_scalar(DType from, DType to, Scalar value);

// f16 and bf16 bits to and from float; rounding to nearest even, NaN stays NaN.
float f16_to_float(uint16_t bits);
uint16_t float_to_f16(float value);
float bf16_to_float(uint16_t bits);
uint16_t float_to_bf16(float value);

} // namespace tl

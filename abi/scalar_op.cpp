// Elementwise operations on scalars whose element type is known at run time, through the bodies of scalar_functions.h.
#include "abi/scalar_op.h"
#include "abi/scalar_functions.h"
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace tl {
namespace {

// f with a value of the C++ type of an element type; f16 and bf16 are not among them.
template <class F> Scalar with_int(DType type, F f) {
  switch (type) {
  case DType::U8: return f(uint8_t());
  case DType::I8: return f(int8_t());
  case DType::U16: return f(uint16_t());
  case DType::I16: return f(int16_t());
  case DType::U32: return f(uint32_t());
  case DType::I32: return f(int32_t());
  case DType::U64:
  case DType::Key: return f(uint64_t());
  case DType::Device:
  case DType::I64: return f(int64_t());
  default: return {};
  }
}

float narrow_to_float(DType type, Scalar s) {
  return type == DType::F16 ? f16_to_float(s.as<uint16_t>()) : bf16_to_float(s.as<uint16_t>());
}
Scalar float_to_narrow(DType type, float value) {
  return Scalar::of(type == DType::F16 ? float_to_f16(value) : float_to_bf16(value));
}

// A result: bools and i64 as they are; a float of an operand of f16 or bf16 is rounded.
template <class R> Scalar pack(DType type, R result) {
  if constexpr (std::is_same_v<R, float>)
    if (type != DType::F32) return float_to_narrow(type, result);
  return Scalar::of(result);
}

// body on the slots read as T each.
template <class T, class Body, size_t... I>
Scalar apply(DType type, std::span<const Scalar> args, Body body, std::index_sequence<I...>) {
  if constexpr (std::is_same_v<T, float>)
    if (type != DType::F32) return pack(type, body(narrow_to_float(type, args[I])...));
  return pack(type, body(args[I].template as<T>()...));
}

template <int arity, class Body> Scalar float_same(DType type, std::span<const Scalar> args, Body body) {
  constexpr std::make_index_sequence<arity> indices;
  return type == DType::F64 ? apply<double>(type, args, body, indices) : apply<float>(type, args, body, indices);
}
template <int arity, class Body> Scalar int_same(DType type, std::span<const Scalar> args, Body body) {
  return with_int(type,
                  [&](auto t) { return apply<decltype(t)>(type, args, body, std::make_index_sequence<arity>()); });
}
template <int arity, class Body> Scalar bool_same(DType type, std::span<const Scalar> args, Body body) {
  return apply<bool>(type, args, body, std::make_index_sequence<arity>());
}
template <int arity, class Body> Scalar num_same(DType type, std::span<const Scalar> args, Body body) {
  return is_float(type) ? float_same<arity>(type, args, body) : int_same<arity>(type, args, body);
}

// One function per type rule: evaluate<rule, arity>(type, args, body).
template <TypeRule rule, int arity, class Body> Scalar evaluate(DType type, std::span<const Scalar> args, Body body) {
  if constexpr (rule == TypeRule::NumSame || rule == TypeRule::OrdBool) {
    return num_same<arity>(type, args, body);
  } else if constexpr (rule == TypeRule::FloatSame || rule == TypeRule::FloatBool) {
    return float_same<arity>(type, args, body);
  } else if constexpr (rule == TypeRule::IntSame) {
    return int_same<arity>(type, args, body);
  } else if constexpr (rule == TypeRule::BoolSame) {
    return bool_same<arity>(type, args, body);
  } else if constexpr (rule == TypeRule::EqBool) {
    return type == DType::Bool ? bool_same<arity>(type, args, body) : num_same<arity>(type, args, body);
  } else if constexpr (rule == TypeRule::Select) {
    return Scalar{body(args[0].as<bool>(), args[1].bits, args[2].bits)}; // the slots themselves: any type
  } else {
    static_assert(rule == TypeRule::Bits || rule == TypeRule::KeyFold);
    return Scalar::of(body(args[0].as<uint64_t>(), args[1].as<int64_t>()));
  }
}

// Float to integer: truncates and saturates, NaN is 0.
template <class To> To saturate(double value) {
  if (std::isnan(value)) return 0;
  // The least value is a power of two, so exact; the greatest plus one likewise.
  const double least = static_cast<double>(std::numeric_limits<To>::min());
  const double past = std::ldexp(1.0, std::numeric_limits<To>::digits);
  if (value <= least) return std::numeric_limits<To>::min();
  if (value >= past) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <class From> Scalar convert_from(From value, DType to) {
  if (to == DType::Bool) return Scalar::of(value != From(0));
  switch (to) {
  case DType::F64: return Scalar::of(static_cast<double>(value));
  case DType::F32: return Scalar::of(static_cast<float>(value));
  case DType::F16:
  case DType::BF16:
    if constexpr (std::is_same_v<From, float>) {
      return float_to_narrow(to, value);
    } else { // integers through f64, which is exact below 2^53
      NativeMath m;
      return float_to_narrow(to, body::f64_to_odd_f32(m, static_cast<double>(value)));
    }
  default: break;
  }
  return with_int(to, [&](auto t) {
    using To = decltype(t);
    if constexpr (std::is_floating_point_v<From>)
      return Scalar::of(saturate<To>(value));
    else
      return Scalar::of(static_cast<To>(value));
  });
}

} // namespace

Scalar eval_scalar(ScalarOp op, DType type, std::span<const Scalar> args) {
  NativeMath m;
  switch (op) {
#define TL_ELEMENTWISE(Enum, name, arity, Rule, ...)                                                                   \
  case ScalarOp::Enum:                                                                                                 \
    return evaluate<TypeRule::Rule, arity>(type, args, [&m](auto... x) { return body::Enum(m, x...); });
#include "abi/ops.def"
  }
  return {};
}

Scalar convert_scalar(DType from, DType to, Scalar value) {
  if (from == to) return value;
  switch (from) {
  case DType::Bool: return convert_from<uint8_t>(value.as<uint8_t>() != 0, to);
  case DType::F16:
  case DType::BF16: return convert_from(narrow_to_float(from, value), to);
  case DType::F32: return convert_from(value.as<float>(), to);
  case DType::F64: return convert_from(value.as<double>(), to);
  default: return with_int(from, [&](auto t) { return convert_from(value.as<decltype(t)>(), to); });
  }
}

// f16: 1 sign, 5 exponent (bias 15), 10 mantissa bits.
float f16_to_float(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = bits & 0x7FFF;
  if (rest >= 0x7C00) return std::bit_cast<float>(sign | 0x7F800000 | (rest & 0x3FF) << 13);
  if (rest >= 0x400) return std::bit_cast<float>(sign | ((rest << 13) + ((127 - 15) << 23)));
  const float magnitude = static_cast<float>(rest) * 0x1p-24f; // subnormal or zero
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

uint16_t float_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000, size = bits & 0x7FFFFFFF;
  if (size > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00 | (size >> 13 & 0x3FF));
  if (size >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00); // 65520 and above round to infinity
  if (size < 0x38800000) {
    // Below 2^-14 the unit is 2^-24: adding 1/2 puts the rounded multiple into the low bits of the sum.
    const float sum = std::bit_cast<float>(size) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3F000000));
  }
  const uint32_t rebased = size - ((127 - 15) << 23);
  return static_cast<uint16_t>(sign | (rebased + 0xFFF + (rebased >> 13 & 1)) >> 13);
}

// bf16: the upper half of an f32.
float bf16_to_float(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

uint16_t float_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>(bits >> 16 | 0x40); // a quiet NaN
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

} // namespace tl

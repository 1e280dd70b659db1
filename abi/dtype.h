// Element types, and how one scalar of each is stored.
//
// A scalar travels in an 8-byte slot: the value's own little-endian bytes first, the rest zero. Kernels get the address
// of the slot, so a scalar and the first element of a tensor are read in the same way. Bool is one byte, 0 or 1. Key (a
// random key) is a u64. Device is the number of a device (abi/device.h) as an i64, and only ever a scalar. C64 and C128
// are complex numbers, in the checker and in files alone: the graph has a tensor of the real and one of the imaginary
// parts (ir/lower/complex.cpp), so no scalar or kernel is of these types.
#pragma once
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace tl {

enum class DType : uint8_t { Bool, U8, I8, U16, I16, U32, I32, U64, I64, F16, BF16, F32, F64, C64, C128, Key, Device };

constexpr int kDTypeCount = 17;

constexpr int size_of(DType type) {
  switch (type) {
  case DType::Bool:
  case DType::U8:
  case DType::I8: return 1;
  case DType::U16:
  case DType::I16:
  case DType::F16:
  case DType::BF16: return 2;
  case DType::U32:
  case DType::I32:
  case DType::F32: return 4;
  case DType::U64:
  case DType::I64:
  case DType::F64:
  case DType::C64:
  case DType::Key:
  case DType::Device: return 8;
  case DType::C128: return 16;
  }
  return 0;
}

constexpr std::string_view name_of(DType type) {
  constexpr std::string_view names[] = {"bool", "u8",   "i8",  "u16", "i16", "u32",  "i32", "u64",   "i64",
                                        "f16",  "bf16", "f32", "f64", "c64", "c128", "key", "device"};
  return names[static_cast<int>(type)];
}

constexpr std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  return std::nullopt;
}

constexpr bool is_float(DType t) { return t >= DType::F16 && t <= DType::F64; }
constexpr bool is_int(DType t) { return t >= DType::U8 && t <= DType::I64; }
constexpr bool is_complex(DType t) { return t == DType::C64 || t == DType::C128; }
// Numbers that have an order, and that operations of the graph take.
constexpr bool is_num(DType t) { return is_int(t) || is_float(t); }
// The type of the parts of a complex number; any other type is its own.
constexpr DType part_of(DType t) { return t == DType::C64 ? DType::F32 : t == DType::C128 ? DType::F64 : t; }
// The complex numbers with such parts, if there are any.
constexpr std::optional<DType> complex_of(DType part) {
  if (part == DType::F32) return DType::C64;
  return part == DType::F64 ? std::optional(DType::C128) : std::nullopt;
}
// Has it a zero, as numbers and bools do?
constexpr bool has_zero(DType t) { return t < DType::Key; }
constexpr bool is_unsigned(DType t) {
  return t == DType::U8 || t == DType::U16 || t == DType::U32 || t == DType::U64 || t == DType::Key;
}

// An 8-byte slot with one scalar in it.
struct Scalar {
  uint64_t bits = 0;

  template <class T> static Scalar of(T value) {
    Scalar s;
    std::memcpy(&s.bits, &value, sizeof(T));
    return s;
  }
  template <class T> T as() const {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }
  bool operator==(const Scalar&) const = default;
};

} // namespace tl

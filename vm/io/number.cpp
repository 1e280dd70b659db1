#include "vm/io/number.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>

namespace tl {

double float_value(DType type, Scalar value) {
  switch (type) {
  case DType::F16: return f16_to_float(value.as<uint16_t>());
  case DType::BF16: return bf16_to_float(value.as<uint16_t>());
  case DType::F32: return value.as<float>();
  default: return value.as<double>();
  }
}

// Reads "-1.25e+03" and "-1250.0", as printf and fmt write them.
static Decimal parse_decimal(std::string_view text) {
  Decimal result;
  if (text.starts_with('-')) {
    result.negative = true;
    text.remove_prefix(1);
  }
  const size_t e = std::min(text.find('e'), text.size());
  const std::string_view mantissa = text.substr(0, e);
  const size_t dot = std::min(mantissa.find('.'), mantissa.size());
  result.digits = std::string(mantissa.substr(0, dot));
  if (dot < mantissa.size()) result.digits += mantissa.substr(dot + 1);
  const size_t leading = result.digits.find_first_not_of('0');
  if (leading == std::string::npos) {
    result.digits = "0";
    result.point = 1;
    return result;
  }
  const int exponent = e < text.size() ? std::atoi(std::string(text.substr(e + 1)).c_str()) : 0;
  result.digits.erase(0, leading);
  result.digits.resize(result.digits.find_last_not_of('0') + 1);
  result.point = static_cast<int>(dot) - static_cast<int>(leading) + exponent;
  return result;
}

static bool special(double value, Decimal& result) {
  if (std::isfinite(value)) return false;
  result.special = std::isnan(value) ? "nan" : "inf";
  result.negative = std::isinf(value) && value < 0;
  return true;
}

// The narrow floats: the fewest digits that round to the same bits. Above a power of two the gap is twice that below,
// so the next decimal above may be one where the nearest is not (0.01563 for 1/64 in f16; the nearest to even is
// 0.01562).
static std::string shortest_narrow(DType type, uint16_t bits, double value) {
  std::string text;
  for (int digits = 1; digits <= 9; ++digits) {
    text = fmt::format("{:.{}e}", value, digits - 1);
    const size_t e = text.find('e');
    std::string above = text; // one more in the last place of the mantissa
    for (size_t i = e; i-- > 0;) {
      if (above[i] < '0') continue; // the sign, the point
      if (above[i]++ < '9') break;
      above[i] = '0';
    }
    for (const std::string& candidate : {text, above}) {
      const float back = std::strtof(candidate.c_str(), nullptr);
      if ((type == DType::F16 ? float_to_f16(back) : float_to_bf16(back)) == bits) return candidate;
    }
  }
  return text;
}

Decimal shortest_decimal(DType type, Scalar value) {
  Decimal result;
  double wide = float_value(type, value);
  if (special(wide, result)) return result;
  if (type == DType::F16 || type == DType::BF16)
    return parse_decimal(shortest_narrow(type, value.as<uint16_t>(), wide));
  return parse_decimal(type == DType::F32 ? fmt::format("{}", value.as<float>()) : fmt::format("{}", wide));
}

Decimal significant_decimal(double value, int digits) {
  Decimal result;
  if (special(value, result)) return result;
  return parse_decimal(fmt::format("{:.{}e}", value, digits - 1));
}

Decimal fixed_decimal(double value, int decimals) {
  Decimal result;
  if (special(value, result)) return result;
  // printf rounds the exact value, half to even, at any length.
  int length = std::snprintf(nullptr, 0, "%.*f", decimals, value);
  std::string text(static_cast<size_t>(length), 0);
  std::snprintf(text.data(), text.size() + 1, "%.*f", decimals, value);
  return parse_decimal(text);
}

static Integer from_signed(int64_t v) {
  return {v < 0, v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v)};
}

Integer integer_value(DType type, Scalar value) {
  switch (type) {
  case DType::Bool: return {false, value.as<uint8_t>() ? 1u : 0u};
  case DType::U8: return {false, value.as<uint8_t>()};
  case DType::U16: return {false, value.as<uint16_t>()};
  case DType::U32: return {false, value.as<uint32_t>()};
  case DType::I8: return from_signed(value.as<int8_t>());
  case DType::I16: return from_signed(value.as<int16_t>());
  case DType::I32: return from_signed(value.as<int32_t>());
  case DType::I64: return from_signed(value.as<int64_t>());
  default: return {false, value.bits};
  }
}

size_t code_points(std::string_view utf8) {
  size_t count = 0;
  for (char c : utf8)
    count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

} // namespace tl

// Decimal numbers to the types that no function of the system reads: f16 and bf16.
#pragma once
#include "abi/scalar_op.h"
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace tl {

namespace decimal_detail {

// Digits without zeros at the ends, and the power of ten of the first: 0.0120 is {"12", -2}.
struct Digits {
  std::string digits;
  int64_t exponent = 0;
};

inline Digits digits_of(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  Digits result;
  bool behind_point = false;
  int64_t before = 0;
  size_t i = 0;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.')
      behind_point = true;
    else if (text[i] != '0' || !result.digits.empty()) {
      result.digits += text[i];
      before += behind_point ? 0 : 1;
    } else
      before -= behind_point ? 1 : 0;
  }
  int64_t power = 0;
  bool negative = false;
  for (++i; i < text.size(); ++i) {
    if (text[i] == '-') negative = true;
    if (text[i] >= '0' && text[i] <= '9' && power < 1'000'000) power = power * 10 + (text[i] - '0');
  }
  result.exponent = before - 1 + (negative ? -power : power);
  while (!result.digits.empty() && result.digits.back() == '0')
    result.digits.pop_back();
  return result;
}

} // namespace decimal_detail

// `number`, the f64 next to the decimal `text`, in a type. Rounded twice it would be wrong where the first rounding
// ends on the border between two numbers of the type: there it is first moved to the side on which the decimal is.
inline Scalar rounded_once(DType type, double number, std::string_view text) {
  auto to_type = [&](double x) { return convert_scalar(DType::F64, type, Scalar::of(x)); };
  const bool is_half = type == DType::F16 || type == DType::BF16;
  if (is_half && std::isfinite(number) && number != 0 && (std::bit_cast<uint64_t>(number) & 1) == 0) {
    const double below = std::nextafter(number, -HUGE_VAL), above = std::nextafter(number, HUGE_VAL);
    if (to_type(below).bits != to_type(above).bits) {
      const decimal_detail::Digits given = decimal_detail::digits_of(text),
                                   exact = decimal_detail::digits_of(fmt::format("{:.800e}", number));
      const int larger = given.exponent != exact.exponent ? (given.exponent > exact.exponent ? 1 : -1)
                                                          : given.digits.compare(exact.digits);
      if (larger != 0) return to_type((larger > 0) == (number > 0) ? above : below);
    }
  }
  return to_type(number);
}

} // namespace tl

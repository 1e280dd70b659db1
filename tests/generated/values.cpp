#include "values.h"
#include "abi/scalar_op.h"
#include <cmath>
#include <limits>

namespace tl::generated {

Scalar from_double(DType type, double value) {
  return convert_scalar(DType::F64, type == DType::Key ? DType::U64 : type, Scalar::of(value));
}

bool is_nan(DType type, Scalar value) {
  return is_float(type) && std::isnan(convert_scalar(type, DType::F64, value).as<double>());
}

std::vector<Scalar> special_values(DType type) {
  std::vector<Scalar> values;
  if (type == DType::Bool) return {Scalar::of(false), Scalar::of(true)};
  if (is_float(type)) {
    constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    for (double x : {0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 0.5, -1.5, 2.5, 3.0, 1e4, -1e30, 1e300})
      values.push_back(from_double(type, x));
    // The least subnormal and normal value, and the greatest.
    const int bits = 8 * size_of(type), mantissa = type == DType::F16    ? 10
                                                   : type == DType::BF16 ? 7
                                                   : type == DType::F32  ? 23
                                                                         : 52;
    const uint64_t infinity = ((uint64_t(1) << (bits - 1 - mantissa)) - 1) << mantissa;
    for (uint64_t pattern : {uint64_t(1), uint64_t(1) << mantissa, infinity - 1})
      values.push_back(Scalar{pattern});
    return values;
  }
  const int bits = 8 * size_of(type);
  const uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  for (uint64_t x : {uint64_t(0), uint64_t(1), uint64_t(2), uint64_t(3), uint64_t(7), uint64_t(8), uint64_t(31),
                     uint64_t(64), uint64_t(100), ~uint64_t(0), ~uint64_t(1), ~uint64_t(6), uint64_t(1) << (bits - 1),
                     (uint64_t(1) << (bits - 1)) - 1})
    values.push_back(Scalar{x & mask});
  return values;
}

Scalar sample(DType type, double lo, double hi, Random& random) {
  if (type == DType::Bool) return Scalar::of(bool(random() & 1));
  if (type == DType::Key) return Scalar::of(uint64_t(random()));
  double x = std::uniform_real_distribution<double>(lo, hi)(random);
  // Some of the samples near zero, where relative errors live.
  if (is_float(type) && random() % 8 == 0) x *= std::exp2(-double(random() % 20));
  if (is_int(type)) x = std::floor(x);
  if (is_unsigned(type)) x = std::fabs(x);
  return from_double(type, x);
}

HostTensor samples(DType type, std::vector<int64_t> dims, double lo, double hi, Random& random) {
  return mixed(type, std::move(dims), lo, hi, 0, 1, random);
}

HostTensor mixed(DType type, std::vector<int64_t> dims, double lo, double hi, int64_t specials, int64_t repeat,
                 Random& random) {
  HostTensor tensor = HostTensor::make(type, std::move(dims));
  const std::vector<Scalar> special = special_values(type);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i,
               i < specials ? special[static_cast<size_t>(i / repeat) % special.size()] : sample(type, lo, hi, random));
  return tensor;
}

HostTensor scalar(DType type, Scalar value) {
  HostTensor tensor = HostTensor::make(type, {});
  tensor.set(0, value);
  return tensor;
}

} // namespace tl::generated

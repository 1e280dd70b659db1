// Tensors as text against NumPy's own str(array) (as NumPy 1.24 to 2.2 print; later ones switch to exponents earlier).
// TL_PRINT gives the elements, TL_PRINT_MANY the formula (i * 7919 % modulus) / divisor - modulus / (2 * divisor).
#include "abi/scalar_op.h"
#include "vm/io/io.h"
#include <cmath>
#include <doctest/doctest.h>

using namespace tl;

static Scalar scalar_of(DType type, double value) {
  switch (type) {
  case DType::Bool: return Scalar::of(uint8_t{value != 0});
  case DType::U8: return Scalar::of(static_cast<uint8_t>(value));
  case DType::I32: return Scalar::of(static_cast<int32_t>(value));
  case DType::I64: return Scalar::of(static_cast<int64_t>(value));
  case DType::F16: return Scalar::of(float_to_f16(static_cast<float>(value)));
  case DType::F32: return Scalar::of(static_cast<float>(value));
  default: return Scalar::of(value);
  }
}

static HostTensor tensor(DType type, std::vector<int64_t> dims, const std::vector<double>& values) {
  HostTensor x = HostTensor::make(type, std::move(dims));
  for (size_t i = 0; i < values.size(); ++i)
    x.set(static_cast<int64_t>(i), scalar_of(type, values[i]));
  return x;
}

static HostTensor many(DType type, std::vector<int64_t> dims, int64_t modulus, double divisor) {
  HostTensor x = HostTensor::make(type, std::move(dims));
  for (int64_t i = 0; i < x.count(); ++i) {
    double value = static_cast<double>(i * 7919 % modulus) / divisor - static_cast<double>(modulus) / (2 * divisor);
    x.set(i, scalar_of(type, value));
  }
  return x;
}

#define TL_STRIP(...) __VA_ARGS__
TEST_CASE("tensors print as NumPy prints arrays") {
#define TL_PRINT(type, dims, values, expected)                                                                         \
  CHECK(format_tensor(tensor(DType::type, TL_STRIP dims, TL_STRIP values)) == expected);
#define TL_PRINT_MANY(type, dims, modulus, divisor, expected)                                                          \
  CHECK(format_tensor(many(DType::type, TL_STRIP dims, modulus, divisor)) == expected);
#include "print_table.inc"
}

TEST_CASE("a specification holds for each element, in columns of one width") {
  HostTensor x = tensor(DType::F32, {2, 2}, {1, -2.25, 100, 0.5});
  CHECK(format_tensor(x, ".2f") == "[[  1.00  -2.25]\n [100.00   0.50]]");
  CHECK(format_tensor(tensor(DType::I64, {3}, {1, 10, 255}), "#x") == "[ 0x1  0xa 0xff]");
  CHECK(format_tensor(tensor(DType::Bool, {2}, {1, 0}), "d") == "[1 0]");
}

TEST_CASE("empty tensors and rank 0") {
  CHECK(format_tensor(HostTensor::make(DType::F32, {0})) == "[]");
  CHECK(format_tensor(HostTensor::make(DType::F32, {3, 0, 2})) == "[]");
  CHECK(format_tensor(tensor(DType::F32, {}, {2})) == "2.0");
  CHECK(format_tensor(tensor(DType::F64, {}, {0.5}), ".1%") == "50.0%");
  CHECK(format_tensor(HostTensor::make(DType::BF16, {2})) == "[0. 0.]");
}

TEST_CASE("a hundred axes print") {
  std::vector<int64_t> dims(100, 1);
  std::string text = format_tensor(tensor(DType::I64, dims, {7}));
  CHECK(text == std::string(100, '[') + "7" + std::string(100, ']'));
}

TEST_CASE("debug tells type, least, mean, greatest and NaNs") {
  HostTensor x = tensor(DType::F32, {2, 2}, {1, NAN, 4, -2});
  CHECK(debug_summary(x.dtype, x.dims, x.data()) == "f32[2, 2] min -2.0 mean 1 max 4.0, 1 NaN");
  HostTensor none = HostTensor::make(DType::F32, {0});
  CHECK(debug_summary(none.dtype, none.dims, none.data()) == "f32[0]");
}

// Format specifications against Python's own results. The tables were made by evaluating format(value, specification)
// over a product of values and specifications; rows that Python rejects are left out of the first and are in the
// second.
#include "abi/scalar_op.h"
#include "vm/io/io.h"
#include <cmath>
#include <cstdint>
#include <doctest/doctest.h>

using namespace tl;

template <class T> struct Row {
  T value;
  const char *spec, *expected;
};

#define TL_INT(value, spec, expected) {value, spec, expected},
#define TL_FLOAT(value, spec, expected)
#define TL_TEXT(value, spec, expected)
static const Row<int64_t> kIntegers[] = {
#include "format_table.inc"
};
#undef TL_INT
#undef TL_FLOAT
#define TL_INT(value, spec, expected)
#define TL_FLOAT(value, spec, expected) {value, spec, expected},
static const Row<double> kFloats[] = {
#include "format_table.inc"
};
#undef TL_FLOAT
#undef TL_TEXT
#define TL_FLOAT(value, spec, expected)
#define TL_TEXT(value, spec, expected) {value, spec, expected},
static const Row<const char*> kTexts[] = {
#include "format_table.inc"
};

struct Fit {
  char kind; // Integer, Float, String
  const char* spec;
  bool fits;
};
#define TL_FITS(kind, spec, fits) {kind, spec, fits},
static const Fit kFits[] = {
#include "format_valid.inc"
};

TEST_CASE("format specifications give what Python gives") {
  for (const auto& row : kIntegers)
    CHECK_MESSAGE(format_scalar(DType::I64, Scalar::of(row.value), row.spec) == row.expected, row.value, " ", row.spec);
  for (const auto& row : kFloats)
    CHECK_MESSAGE(format_scalar(DType::F64, Scalar::of(row.value), row.spec) == row.expected, row.value, " ", row.spec);
  for (const auto& row : kTexts)
    CHECK_MESSAGE(format_string(row.value, row.spec) == row.expected, row.value, row.spec);
}

TEST_CASE("a specification fits a type where Python accepts it") {
  for (const Fit& row : kFits) {
    auto wrong = row.kind == 'I'   ? check_format(row.spec, DType::I64)
                 : row.kind == 'F' ? check_format(row.spec, DType::F64)
                                   : check_format_of_string(row.spec);
    CHECK_MESSAGE(!wrong.has_value() == row.fits, row.kind, " ", row.spec);
  }
}

TEST_CASE("plain scalars print by their own type") {
  CHECK(format_scalar(DType::F32, Scalar::of(0.1f)) == "0.1");
  CHECK(format_scalar(DType::F32, Scalar::of(2.0f)) == "2.0");
  CHECK(format_scalar(DType::F32, Scalar::of(1e16f)) == "1e+16");
  CHECK(format_scalar(DType::F32, Scalar::of(16777216.0f)) == "16777216.0");
  CHECK(format_scalar(DType::F32, Scalar::of(1.0f / 3)) == "0.33333334");
  CHECK(format_scalar(DType::F64, Scalar::of(1.0 / 3)) == "0.3333333333333333");
  CHECK(format_scalar(DType::F32, Scalar::of(0.1f), ">8") == "     0.1");
  CHECK(format_scalar(DType::F32, Scalar::of(0.1f), ".12f") == "0.100000001490");
  CHECK(format_scalar(DType::F16, Scalar::of(float_to_f16(0.1f))) == "0.1");
  CHECK(format_scalar(DType::F16, Scalar::of(float_to_f16(65504.0f))) == "65500.0");
  CHECK(format_scalar(DType::BF16, Scalar::of(float_to_bf16(0.1f))) == "0.1");
  CHECK(format_scalar(DType::BF16, Scalar::of(float_to_bf16(3.0e38f))) == "3e+38");
  CHECK(format_scalar(DType::Bool, Scalar::of(uint8_t{1})) == "true");
  CHECK(format_scalar(DType::Bool, Scalar::of(uint8_t{0}), "7") == "false  ");
  CHECK(format_scalar(DType::Bool, Scalar::of(uint8_t{1}), ">6") == "  true");
  CHECK(format_scalar(DType::Bool, Scalar::of(uint8_t{1}), "d") == "1");
  CHECK(format_scalar(DType::I8, Scalar::of(int8_t{-128})) == "-128");
  CHECK(format_scalar(DType::U64, Scalar::of(UINT64_MAX)) == "18446744073709551615");
  CHECK(format_scalar(DType::U8, Scalar::of(uint8_t{200}), "#x") == "0xc8");
  CHECK(format_scalar(DType::I64, Scalar::of(int64_t{-1}), "c") == "\xef\xbf\xbd");
}

TEST_CASE("every f16 and bf16 prints digits that read back to it, and no more than needed") {
  for (uint32_t bits = 0; bits < 0x10000; bits += 7) {
    auto narrow = static_cast<uint16_t>(bits);
    for (DType type : {DType::F16, DType::BF16}) {
      float value = type == DType::F16 ? f16_to_float(narrow) : bf16_to_float(narrow);
      if (!std::isfinite(value)) continue;
      std::string text = format_scalar(type, Scalar::of(narrow));
      float back = std::strtof(text.c_str(), nullptr);
      uint16_t again = type == DType::F16 ? float_to_f16(back) : float_to_bf16(back);
      CHECK_MESSAGE(again == narrow, text);
    }
  }
}

TEST_CASE("hostile specifications are refused, not obeyed") {
  CHECK(check_format("999999999999999999999", DType::F32));
  CHECK(check_format(".99999999", DType::F32));
  CHECK(check_format("+", DType::Bool));
  CHECK(check_format(".3", DType::I64));
  CHECK(!check_format(".3", DType::BF16));
  CHECK(check_format("s", DType::F32));
  CHECK(check_format(std::string("\0", 1), DType::F32));
  CHECK_THROWS_AS(format_scalar(DType::F32, {}, "d"), std::invalid_argument);
  CHECK(format_scalar(DType::F64, Scalar::of(1e308), ".10000f").size() == 309 + 1 + 10000);
}

TEST_CASE("templates fill their holes in order") {
  FormatTemplate format{{"epoch ", ": ", "\n"}, {"", ".2f"}};
  FormatValue values[] = {[](std::string_view spec) { return format_scalar(DType::I64, Scalar::of(int64_t{3}), spec); },
                          [](std::string_view spec) { return format_scalar(DType::F32, Scalar::of(0.5f), spec); }};
  CHECK(fill_template(format, values) == "epoch 3: 0.50\n");
}

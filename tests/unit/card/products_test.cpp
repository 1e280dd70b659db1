// How factors of products are told to cuBLASLt.
#include "vm/gpu/card/products.h"
#include <doctest/doctest.h>

using namespace tl;

namespace {

// Of a matrix of rows by columns, at these strides: whether it is transposed, and its leading dimension; -1: none.
std::pair<bool, int64_t> told(int64_t rows, int64_t columns, int64_t row, int64_t column) {
  const auto matrix = cublas_matrix(rows, columns, row, column);
  return matrix ? std::pair{matrix->transposed, matrix->leading} : std::pair{false, int64_t{-1}};
}
using Told = std::pair<bool, int64_t>;
const Told kNone{false, -1};

} // namespace

TEST_CASE("a stride of 1 makes a matrix of cuBLASLt, as it is or transposed") {
  CHECK(told(3, 5, 1, 3) == Told{false, 3});
  CHECK(told(3, 5, 1, 9) == Told{false, 9});
  CHECK(told(3, 5, 5, 1) == Told{true, 5});
  CHECK(told(3, 5, 9, 1) == Told{true, 9});
  CHECK(told(3, 5, 2, 9) == kNone);
}

TEST_CASE("elements that share memory, or go backwards, do not") {
  CHECK(told(3, 5, 1, 2) == kNone);
  CHECK(told(3, 5, 4, 1) == kNone);
  CHECK(told(3, 5, 0, 1) == kNone);
  CHECK(told(3, 5, 1, 0) == kNone);
  CHECK(told(3, 5, 1, 1) == kNone);
  CHECK(told(3, 5, 1, -3) == kNone);
  CHECK(told(3, 5, -5, 1) == kNone);
}

TEST_CASE("the stride of an axis of one element is of no matter") {
  CHECK(told(3, 1, 1, 0) == Told{false, 3});
  CHECK(told(3, 1, 7, 0) == Told{true, 7}); // every seventh
  CHECK(told(1, 5, 0, 1) == Told{true, 5});
  CHECK(told(1, 5, -2, 7) == Told{false, 7});
  CHECK(told(1, 1, 0, 0) == Told{true, 1});
  CHECK(told(1, 5, 3, 0) == kNone);
  CHECK(told(3, 1, 0, 0) == kNone);
}

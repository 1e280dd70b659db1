#include "abi/kernel.h"
#include "abi/tensor.h"
#include <doctest/doctest.h>
#include <new>

using namespace tl;
using F = SizeFormula;

static int64_t evaluate(std::vector<F::Step> steps, std::vector<int64_t> numbers = {}) {
  std::vector<void*> args;
  for (int64_t& n : numbers)
    args.push_back(&n);
  return F{std::move(steps)}.evaluate(args.data());
}

static int64_t apply(F::Op op, int64_t a, int64_t b) {
  return evaluate({{F::Op::Arg, 0}, {F::Op::Arg, 1}, {op}}, {a, b});
}

TEST_CASE("size formulas evaluate in postfix order") {
  CHECK(evaluate({}) == 0);
  CHECK(F::constant(7).evaluate(nullptr) == 7);
  // (n + 3) * m - 1
  CHECK(evaluate({{F::Op::Arg, 0},
                  {F::Op::Const, 3},
                  {F::Op::Add},
                  {F::Op::Arg, 1},
                  {F::Op::Mul},
                  {F::Op::Const, 1},
                  {F::Op::Sub}},
                 {4, 5}) == 34);
  CHECK(apply(F::Op::Min, -2, 3) == -2);
  CHECK(apply(F::Op::Max, -2, 3) == 3);
}

TEST_CASE("divisions of sizes round as they say and are total") {
  for (int64_t a = -20; a <= 20; ++a)
    for (int64_t b = -5; b <= 5; ++b) {
      if (b == 0) continue;
      int64_t floor = apply(F::Op::FloorDiv, a, b), ceil = apply(F::Op::CeilDiv, a, b);
      CHECK(floor == static_cast<int64_t>(__builtin_floor(static_cast<double>(a) / static_cast<double>(b))));
      CHECK(ceil == static_cast<int64_t>(__builtin_ceil(static_cast<double>(a) / static_cast<double>(b))));
    }
  CHECK(apply(F::Op::FloorDiv, 5, 0) == 0);
  CHECK(apply(F::Op::CeilDiv, 5, 0) == 0);
  CHECK(apply(F::Op::FloorDiv, INT64_MIN, -1) == INT64_MIN);
  CHECK(apply(F::Op::Mul, INT64_MAX, 2) == -2);
}

TEST_CASE("long formulas need no stack of fixed size") {
  std::vector<F::Step> steps;
  for (int i = 0; i < 100; ++i)
    steps.push_back({F::Op::Const, 1});
  for (int i = 0; i < 99; ++i)
    steps.push_back({F::Op::Add});
  CHECK(evaluate(steps) == 100);
}

TEST_CASE("tensors start as zeros, aligned; sizes beyond memory are refused") {
  HostTensor x = HostTensor::make(DType::F32, {3, 5});
  CHECK(reinterpret_cast<uintptr_t>(x.data()) % 64 == 0);
  for (int64_t i = 0; i < x.count(); ++i)
    CHECK(x.get(i).bits == 0);
  CHECK(HostTensor::make(DType::F64, {0, INT64_MAX}).count() == 0);
  CHECK_THROWS_AS(HostTensor::make(DType::F64, {INT64_MAX, 3}), std::bad_alloc);
  CHECK_THROWS_AS(HostTensor::make(DType::F64, {-1}), std::bad_alloc);
}

#include "kernel_harness.h"
#include <doctest/doctest.h>

using namespace tl::test;

namespace {

// a: f32[m, k], b: f32[k, n] and their transposes.
std::string with_factors(int m, int k, int n, const std::string& dtype, const std::string& rest) {
  auto size = [](const char* name, int value) {
    return std::string("  %") + name + ": i64 = constant i64 " + std::to_string(value) + "\n";
  };
  std::string text = "func @main(%t: token) {\n" + size("m", m) + size("k", k) + size("n", n);
  int id = 0;
  for (auto [name, rows, columns] :
       {std::tuple{"a", "m", "k"}, {"b", "k", "n"}, {"at", "k", "m"}, {"bt", "n", "k"}, {"c", "m", "n"}}) {
    std::string s = std::to_string(id++);
    text += std::string("  %") + name + ": " + dtype + "[%" + rows + ", %" + columns + "] = map (%ia" + s +
            ": i64, %ja" + s + ": i64) {\n    %c" + s + ": i64 = constant i64 " + std::to_string(37 + id) + "\n    %d" +
            s + ": i64 = mul %ia" + s + ", %c" + s + "\n    %e" + s + ": i64 = add %d" + s + ", %ja" + s + "\n    %f" +
            s + ": f32 = convert %e" + s + "\n    %g" + s + ": f32 = sin %f" + s + "\n    %h" + s + ": " + dtype +
            " = convert %g" + s + "\n    yield %h" + s + "\n  }\n";
  }
  return text + rest + "}\n";
}

} // namespace

TEST_CASE("products of views become matrix products with strides and an epilogue") {
  for (std::string type : {"f32", "f64", "f16"}) {
    auto l = lower_text(with_factors(
        7, 530, 5, type, "  %y: " + type + R"([%m, %n] = kernel %a, %bt, %c, %m, %n, %k {kernel = contract} {
    %uses_k: i64 = neg %k
    %b2: )" + type + R"([%k, %n] = transpose %bt {ints = [1, 0]}
    %p: )" + type + R"([%m, %n] = contract %a, %b2 {ints = [0, 2, 2, 1], labels = [0, 1]}
    %q: )" + type + R"([%m, %n] = add %p, %c
    %r: )" + type + R"([%m, %n] = tanh %q
    yield %r
  }
  yield %t, %y
)"));
    compare(l);
    CHECK(count(l.text, "gemm") == 1);
  }
  // the result's axes the other way round: the factors change places
  auto l = lower_text(with_factors(7, 20, 5, "f32", R"(
  %y: f32[%n, %m] = kernel %at, %b, %n, %m, %k {kernel = contract} {
    %uses_k: i64 = neg %k
    %p: f32[%n, %m] = contract %at, %b {ints = [2, 0, 2, 1], labels = [1, 0]}
    yield %p
  }
  yield %t, %y
)"));
  compare(l);
  CHECK(count(l.text, "gemm f32 $1 $0") == 1);
  // a slice with a start, and a batch by broadcast
  l = lower_text(with_factors(7, 20, 5, "f32", R"(
  %m2: i64 = constant i64 3
  %y: f32[%m2, %n] = kernel %a, %b, %m2, %n, %k, %m {kernel = contract} {
    %uses_sizes: i64 = mul %k, %m
    %one: i64 = constant i64 1
    %zero: i64 = constant i64 0
    %s: f32[%m2, %k] = slice %a, %one, %zero {ints = [2, 1]}
    %p: f32[%m2, %n] = contract %s, %b {ints = [0, 2, 2, 1], labels = [0, 1]}
    yield %p
  }
  yield %t, %y
)"));
  compare(l);
  CHECK(count(l.text, "gemm") == 1);
}

TEST_CASE("a matrix times a vector, and a vector times a matrix, are products of one row") {
  auto l = lower_text(with_factors(7, 1100, 5, "f32", R"(
  %v: f32[%k] = map (%q: i64) {
    %qf: f32 = convert %q
    %qs: f32 = cos %qf
    yield %qs
  }
  %y: f32[%m] = kernel %a, %v, %m, %k {kernel = contract} {
    %uses_k: i64 = neg %k
    %p: f32[%m] = contract %a, %v {ints = [0, 1, 1], labels = [0]}
    %e: f32[%m] = exp %p
    yield %e
  }
  yield %t, %y
)"));
  compare(l);
  CHECK(count(l.text, "gemm") == 1);
  l = lower_text(with_factors(7, 1100, 5, "f32", R"(
  %v: f32[%m] = map (%q: i64) {
    %qf: f32 = convert %q
    %qs: f32 = cos %qf
    yield %qs
  }
  %y: f32[%k] = kernel %a, %v, %m, %k {kernel = contract} {
    %uses_k: i64 = neg %k
    %p: f32[%k] = contract %v, %a {ints = [1, 1, 0], labels = [0]}
    yield %p
  }
  yield %t, %y
)"));
  compare(l);
  CHECK(count(l.text, "gemm") == 1);
}

TEST_CASE("for a library a vector times a matrix, and two vectors, are matrix products, too") {
  const std::string vectors = R"(
  %v: f32[%m] = map (%q: i64) {
    %qf: f32 = convert %q
    %qs: f32 = cos %qf
    yield %qs
  }
)";
  auto l = lower_text(with_factors(7, 1100, 5, "f32", vectors + R"(
  %y: f32[%k] = kernel %a, %v, %m, %k {kernel = contract} {
    %uses_k: i64 = neg %k
    %p: f32[%k] = contract %v, %a {ints = [1, 1, 0], labels = [0]}
    yield %p
  }
  yield %t, %y
)"),
                      tl::Target::GpuWithLibrary);
  compare(l);
  CHECK(count(l.text, "gemm f32") == 1);
  l = lower_text(with_factors(1100, 7, 5, "f32", vectors + R"(
  %y: f32 = kernel %v, %m {kernel = contract} {
    %uses_m: i64 = neg %m
    %p: f32 = contract %v, %v {ints = [0, 0], labels = []}
    %e: f32 = exp %p
    yield %e
  }
  yield %t, %y
)"),
                 tl::Target::GpuWithLibrary);
  compare(l);
  CHECK(count(l.text, "gemm f32") == 1);
}

TEST_CASE("other contractions are loop nests in the same order") {
  auto l = lower_text(with_factors(7, 1100, 5, "f32", R"(
  %y: f32 = kernel %a, %at, %k, %m {kernel = contract} {
    %uses_k: i64 = mul %k, %m
    %p: f32 = contract %a, %at {ints = [0, 1, 1, 0], labels = []}
    yield %p
  }
  yield %t, %y
)"));
  compare(l);
  l = lower_text(with_factors(4, 6, 5, "i32", R"(
  %y: i32[%m, %n] = kernel %a, %b, %m, %n, %k {kernel = contract} {
    %uses_k: i64 = neg %k
    %p: i32[%m, %n] = contract %a, %b {ints = [0, 2, 2, 1], labels = [0, 1]}
    yield %p
  }
  yield %t, %y
)"));
  compare(l);
}

TEST_CASE("updates write the slice alone") {
  auto l = lower_text(with_factors(9, 20, 5, "f32", R"(
  %r: i64 = constant i64 3
  %y: f32[%m, %k] = kernel %a, %r, %k, %m {kernel = update} {
    %one: i64 = constant i64 1
    %two: i64 = constant i64 2
    %s: f32[%r, 4] = slice %a, %one, %two {ints = [2, 5]}
    %v: f32[%r, 4] = exp %s
    %u: f32[%m, %k] = update %a, %v, %one, %two {mode = add, ints = [2, 5]}
    yield %u
  }
  yield %t, %y
)"));
  compare(l, {0});
  l = lower_text(with_factors(9, 20, 5, "f32", R"(
  %at3: i64 = constant i64 3
  %y: f32[%m, %k] = kernel %a, %at3, %m, %k {kernel = update} {
    %v: f32 = constant f32 2.5
    %u: f32[%m, %k] = update %a, %v, %at3, %at3 {mode = set}
    yield %u
  }
  yield %t, %y
)"));
  compare(l, {0});
}

TEST_CASE("scatters take rows in order") {
  for (std::string mode : {"set", "add"}) {
    auto l = lower_text(with_factors(9, 20, 5, "f32",
                                     R"(
  %idx: i64[%n] = map (%q: i64) {
    %two: i64 = constant i64 2
    %h: i64 = floor_div %q, %two
    yield %h
  }
  %v: f32[%n, %k] = map (%q2: i64, %q3: i64) {
    %sum: i64 = add %q2, %q3
    %f: f32 = convert %sum
    yield %f
  }
  %y: f32[%m, %k] = kernel %a, %idx, %v, %m, %k, %n {kernel = update} {
    %uses_n: i64 = neg %n
    %u: f32[%m, %k] = scatter %a, %idx, %v {mode = )" +
                                         mode + R"(}
    yield %u
  }
  yield %t, %y
)"));
    compare(l, {0});
  }
}

TEST_CASE("outlined loops carry scalars in registers and tensors in place") {
  // a matrix product element by element
  auto l = lower_text(with_factors(4, 6, 5, "f32", R"(
  %zero: i64 = constant i64 0
  %one: i64 = constant i64 1
  %y: f32[%m, %n] = kernel %zero, %m, %one, %c, %n, %k, %a, %b {kernel = loop} {
    %r: f32[%m, %n] = for %zero, %m, %one, %c (%i: i64, %ci: f32[%m, %n]) {
      %rj: f32[%m, %n] = for %zero, %n, %one, %ci (%j: i64, %cj: f32[%m, %n]) {
        %none: f32 = constant f32 0.0
        %acc: f32 = for %zero, %k, %one, %none (%q: i64, %s: f32) {
          %av: f32 = index %a, %i, %q
          %bv: f32 = index %b, %q, %j
          %p: f32 = mul %av, %bv
          %s2: f32 = add %s, %p
          yield %s2
        }
        %u: f32[%m, %n] = update %cj, %acc, %i, %j {mode = set}
        yield %u
      }
      yield %rj
    }
    yield %r
  }
  yield %t, %y
)"));
  compare(l, {3});
  // if with an update on one side, while, and a scalar result
  l = lower_text(with_factors(4, 6, 5, "f32", R"(
  %start: i64 = constant i64 0
  %y: i64, %z: f32[%m, %n] = kernel %start, %c, %m, %n {kernel = loop} {
    %last: i64, %r: f32[%m, %n] = while %start, %c (%i: i64, %ci: f32[%m, %n]) {
      %go: bool = lt %i, %m
      yield %go
    } (%i2: i64, %ci2: f32[%m, %n]) {
      %zero: i64 = constant i64 0
      %step: i64 = constant i64 1
      %v: f32 = index %ci2, %i2, %zero
      %nought: f32 = constant f32 0.0
      %pos: bool = gt %v, %nought
      %u: f32[%m, %n] = if %pos {
        %neg: f32 = neg %v
        %w: f32[%m, %n] = update %ci2, %neg, %i2, %zero {mode = add}
        yield %w
      } {
        yield %ci2
      }
      %next: i64 = add %i2, %step
      yield %next, %u
    }
    yield %last, %r
  }
  yield %t, %y, %z
)"));
  compare(l, {-1, 1});
}

TEST_CASE("a failed guard in a loop keeps memory safe and ends a while") {
  auto l = lower_text("site 0 \"IndexOutOfRange\" \"{0} of {1}\" hint \"\" @0\n" + with_factors(4, 6, 5, "f32", R"(
  %start: i64 = constant i64 0
  %y: i64 = kernel %start, %k, %a, %m {kernel = loop} {
    %uses_m: i64 = neg %m
    %last: i64 = while %start (%i: i64) {
      %yes: bool = constant bool true
      yield %yes
    } (%i2: i64) {
      %zero: i64 = constant i64 0
      %one: i64 = constant i64 1
      %ok: bool = lt %i2, %k
      %safe: i64 = guard %i2, %ok, %i2, %k {site = 0}
      %v: f32 = index %a, %zero, %safe
      %f: i64 = convert %v
      %nothing: i64 = mul %f, %zero
      %next: i64 = add %i2, %one
      %n2: i64 = add %next, %nothing
      yield %n2
    }
    yield %last
  }
  yield %t, %y
)"));
  auto failure = compare(l);
  REQUIRE(failure);
  CHECK(failure->a == 6);
}

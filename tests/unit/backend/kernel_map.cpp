#include "kernel_harness.h"
#include <doctest/doctest.h>

using namespace tl::test;

namespace {

// x: f32[n, m], with values that no rounding leaves alone.
std::string with_matrix(const std::string& n, const std::string& m, const std::string& rest) {
  return "func @main(%t: token) {\n  %n: i64 = constant i64 " + n + "\n  %m: i64 = constant i64 " + m + R"(
  %x: f32[%n, %m] = map (%i0: i64, %j0: i64) {
    %c0: i64 = constant i64 131
    %d0: i64 = mul %i0, %c0
    %e0: i64 = add %d0, %j0
    %f0: f32 = convert %e0
    %g0: f32 = sin %f0
    yield %g0
  }
  %b: f32[%m] = map (%k0: i64) {
    %h0: f32 = convert %k0
    %l0: f32 = cos %h0
    yield %l0
  }
)" + rest +
         "}\n";
}

} // namespace

TEST_CASE("elementwise kernels are one linear vector loop") {
  for (std::string m : {"0", "1", "7", "300"}) {
    auto l = lower_text(with_matrix("130", m, R"(
  %y: f32[%n, %m] = kernel %x, %n, %m {kernel = nest} {
    %two: f32 = constant f32 2.5
    %p: f32[%n, %m] = mul %x, %two
    %q: f32[%n, %m] = tanh %p
    %r: f32[%n, %m] = sub %q, %x
    yield %r
  }
  yield %t, %y
)"));
    compare(l);
    CHECK(count(l.text, "for vector") == 1);
    CHECK(count(l.text, "load $0") == 1); // x is read once
    CHECK(count(l.text, "urem") == 0);
  }
}

TEST_CASE("a broadcast row keeps the last axis as the vector loop and the column scalar outside") {
  auto l = lower_text(with_matrix("37", "300", R"(
  %y: f32[%n, %m] = kernel %x, %b, %n, %m {kernel = nest} {
    %bb: f32[%n, %m] = broadcast %b {ints = [1]}
    %z: i64 = constant i64 0
    %s: f32[%n, 1] = slice %x, %z, %z {ints = [1, 1]}
    %sb: f32[%n, %m] = broadcast %s {ints = [0, 1]}
    %p: f32[%n, %m] = add %x, %bb
    %q: f32[%n, %m] = div %p, %sb
    yield %q
  }
  yield %t, %y
)"));
  compare(l);
  CHECK(count(l.text, "for vector") == 1);
  size_t loop = l.text.find("for vector");
  CHECK(l.text.substr(loop).find("urem") == std::string::npos);
  CHECK(l.text.find("load $0") < loop); // the column is read once per row
}

TEST_CASE("views: transpose, reverse slice, reshape, pad, concat, gather") {
  auto l = lower_text(with_matrix("6", "35", R"(
  %five: i64 = constant i64 5
  %seven: i64 = constant i64 7
  %y: f32[%m, %n] = kernel %x, %n, %m {kernel = nest} {
    %p: f32[%m, %n] = transpose %x {ints = [1, 0]}
    yield %p
  }
  yield %t, %y
)"));
  compare(l);
  l = lower_text(with_matrix("6", "35", R"(
  %w: i64 = constant i64 17
  %y: f32[%n, %w] = kernel %x, %n, %w, %m {kernel = nest} {
    %uses_m: i64 = neg %m
    %z: i64 = constant i64 0
    %s: i64 = constant i64 34
    %p: f32[%n, %w] = slice %x, %z, %s {ints = [1, -2]}
    %q: f32[%n, %w] = exp %p
    yield %q
  }
  yield %t, %y
)"));
  compare(l);
  l = lower_text(with_matrix("6", "35", R"(
  %y: f32[%n, 5, 7] = kernel %x, %b, %n, %m {kernel = nest} {
    %uses_m: i64 = neg %m
    %p: f32[%n, 5, 7] = reshape %x
    %q: f32[5, 7] = reshape %b
    %r: f32[%n, 5, 7] = broadcast %q {ints = [1, 2]}
    %s: f32[%n, 5, 7] = add %p, %r
    yield %s
  }
  yield %t, %y
)"));
  compare(l);
  l = lower_text(with_matrix("6", "35", R"(
  %n2: i64 = constant i64 9
  %m2: i64 = constant i64 40
  %y: f32[%n2, %m2] = kernel %x, %n2, %m2, %n, %m {kernel = nest} {
    %uses_n: i64 = neg %n
    %uses_m: i64 = neg %m
    %one: i64 = constant i64 1
    %two: i64 = constant i64 2
    %v: f32 = constant f32 9.5
    %p: f32[%n2, %m2] = pad %x, %v, %one, %two
    yield %p
  }
  yield %t, %y
)"));
  compare(l);
  l = lower_text(with_matrix("6", "35", R"(
  %m2: i64 = constant i64 105
  %y: f32[%n, %m2] = kernel %x, %b, %m2, %n, %m {kernel = nest} {
    %q: f32[%n, %m] = broadcast %b {ints = [1]}
    %r: f32[%n, %m] = exp %x
    %p: f32[%n, %m2] = concat %x, %q, %r {ints = [1]}
    %s: f32[%n, %m2] = neg %p
    yield %s
  }
  yield %t, %y
)"));
  compare(l);
  CHECK(count(l.text, " if ") == 0); // a loop per piece
  CHECK(count(l.text, "for vector") == 3);
  l = lower_text(with_matrix("6", "35", R"(
  %k: i64 = constant i64 4
  %idx: i64[%k] = map (%a: i64) {
    %three: i64 = constant i64 3
    %six: i64 = constant i64 6
    %a3: i64 = mul %a, %three
    %a6: i64 = mod %a3, %six
    yield %a6
  }
  %y: f32[%k, %m] = kernel %x, %idx, %k, %m, %n {kernel = nest} {
    %uses_n: i64 = neg %n
    %p: f32[%k, %m] = gather %x, %idx {ints = [0]}
    yield %p
  }
  yield %t, %y
)"));
  compare(l);
}

TEST_CASE("16-bit floats round after every operation; conversions round once") {
  for (std::string half : {"f16", "bf16"}) {
    auto l = lower_text(with_matrix("5", "33",
                                    "  %y: " + half + "[%n, %m], %u: f64[%n, %m], %w: " + half +
                                        R"([%n, %m] = kernel %x, %n, %m {kernel = nest} {
    %h: )" + half + R"([%n, %m] = convert %x
    %c: )" + half + " = constant " + half +
                                        R"( 1.7
    %p: )" + half + R"([%n, %m] = mul %h, %c
    %q: )" + half + R"([%n, %m] = add %p, %h
    %r: )" + half + R"([%n, %m] = exp %q
    %d: f64[%n, %m] = convert %r
    %e: f64 = constant f64 0.1
    %f: f64[%n, %m] = mul %d, %e
    %g: )" + half + R"([%n, %m] = convert %f
    yield %r, %f, %g
  }
  yield %t, %y, %u, %w
)"));
    compare(l);
  }
}

TEST_CASE("maps: nested reductions, lazy if, loops, failing guards") {
  auto l = lower_text(with_matrix("9", "20", R"(
  %y: f32[%n] = kernel %x, %n, %m {kernel = nest} {
    %p: f32[%n] = map (%i2: i64) {
      %z: i64 = constant i64 0
      %row: f32[%m] = map (%j2: i64) {
        %a: f32 = index %x, %i2, %j2
        %pos: bool = gt %j2, %z
        %v: f32 = if %pos {
          %one: i64 = constant i64 1
          %before: i64 = sub %j2, %one
          %l: f32 = index %x, %i2, %before
          yield %l
        } {
          %none: f32 = constant f32 0.0
          yield %none
        }
        %s: f32 = sub %a, %v
        %s2: f32 = mul %s, %s
        yield %s2
      }
      %r: f32 = reduce %row {op = sum, ints = [0]}
      yield %r
    }
    yield %p
  }
  yield %t, %y
)"));
  compare(l);
  l = lower_text(with_matrix("9", "20", R"(
  %y: f32[%n] = kernel %x, %n, %m {kernel = nest} {
    %uses_m: i64 = neg %m
    %p: f32[%n] = map (%i2: i64) {
      %z: i64 = constant i64 0
      %one: i64 = constant i64 1
      %none: f32 = constant f32 0.0
      %s: f32 = for %z, %i2, %one, %none (%k: i64, %acc: f32) {
        %a: f32 = index %x, %i2, %k
        %next: f32 = add %acc, %a
        yield %next
      }
      yield %s
    }
    yield %p
  }
  yield %t, %y
)"));
  compare(l);
  CHECK(count(l.text, "for vector") == 0); // the inner bound differs from lane to lane
  l = lower_text("site 0 \"IndexOutOfRange\" \"{0} of {1}\" hint \"\" @0\n" + with_matrix("9", "20", R"(
  %y: f32[%n] = kernel %b, %n, %m {kernel = nest} {
    %p: f32[%n] = map (%i2: i64) {
      %four: i64 = constant i64 4
      %at: i64 = mul %i2, %four
      %ok: bool = lt %at, %m
      %safe: i64 = guard %at, %ok, %at, %m {site = 0}
      %v: f32 = index %b, %safe
      yield %v
    }
    yield %p
  }
  yield %t, %y
)"));
  auto failure = compare(l);
  REQUIRE(failure);
  CHECK(failure->element == 5);
  CHECK(failure->a == 20);
  CHECK(failure->b == 20);
}

TEST_CASE("what a map takes is checked in its own loop") {
  for (const char* length : {"9", "40"}) {
    auto l = lower_text("site 0 \"IndexOutOfRange\" \"{0} of {1}\" hint \"\" @0\n" + with_matrix(length, "20", R"(
  %four: i64 = constant i64 4
  %i: i64[%n] = iota
  %at: i64[%n] = mul %i, %four
  %y: f32[%n] = kernel %b, %at, %n, %m {kernel = nest} {
    %ok: bool[%n] = lt %at, %m
    %safe: i64[%n] = guard %at, %ok, %at, %m {site = 0}
    %p: f32[%n] = gather %b, %safe {ints = [0]}
    yield %p
  }
  yield %t, %y
)"));
    auto failure = compare(l);
    REQUIRE(failure);
    CHECK(failure->element == 5);
    CHECK(failure->a == 20);
    CHECK(count(l.text, "for vector") == 1);
    CHECK(count(l.text, "check site") == 1);
  }
}

TEST_CASE("random bits and integers") {
  auto l = lower_text(R"(func @main(%t: token) {
  %n: i64 = constant i64 19
  %key: key = constant key 77
  %r: i64[%n], %f: f32[%n], %d: i32[%n] = kernel %key, %n {kernel = nest} {
    %i: i64[%n] = iota
    %k2: key[%n] = fold_in %key, %i
    %bits: i64[%n] = key_bits %k2, %i
    %s: f32[%n] = convert %bits
    %c: i64 = constant i64 -7
    %q: i64[%n] = floor_div %bits, %c
    %w: i32[%n] = convert %q
    %m: i32 = constant i32 5
    %e: i32[%n] = mod %w, %m
    yield %bits, %s, %e
  }
  yield %t, %r, %f, %d
}
)");
  compare(l);
}

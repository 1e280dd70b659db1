#include "kernel_harness.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <tuple>

using namespace tl::test;

namespace {

std::string with_matrix(int n, int m, const std::string& rest) {
  return "func @main(%t: token) {\n  %n: i64 = constant i64 " + std::to_string(n) + "\n  %m: i64 = constant i64 " +
         std::to_string(m) + R"(
  %x: f32[%n, %m] = map (%i0: i64, %j0: i64) {
    %c0: i64 = constant i64 131
    %d0: i64 = mul %i0, %c0
    %e0: i64 = add %d0, %j0
    %f0: f32 = convert %e0
    %g0: f32 = sin %f0
    yield %g0
  }
)" + rest +
         "}\n";
}

// The phase of rows that are not short, which comes last.
std::string long_rows(const std::string& text) { return text.substr(text.rfind("phase tiles")); }

const char* kSoftmax = R"(
  %y: f32[%n, %m] = kernel %x, %n, %m {kernel = nest} {
    %a: f32[%n] = reduce %x {op = max, ints = [1]}
    %ab: f32[%n, %m] = broadcast %a {ints = [0]}
    %d: f32[%n, %m] = sub %x, %ab
    %e: f32[%n, %m] = exp %d
    %s: f32[%n] = reduce %e {op = sum, ints = [1]}
    %sb: f32[%n, %m] = broadcast %s {ints = [0]}
    %q: f32[%n, %m] = div %e, %sb
    yield %q
  }
  yield %t, %y
)";

} // namespace

TEST_CASE("softmax computes exp once and keeps it: of short rows side by side in workspace, else in the output's row") {
  for (int m : {0, 1, 31, 33, 5000}) {
    auto l = lower_text(with_matrix(m == 5000 ? 2 : 5, m, kSoftmax));
    compare(l);
    compare(l, {0}); // the output in a copy of x: what it holds before does not matter
    CHECK(count(l.text, "phase tiles") == 2);
    CHECK(count(l.text, "at_most 12") == 2);
    CHECK(count(l.text, ": local") == 1); // for short rows
    const std::string text = long_rows(l.text);
    CHECK(count(text, "= div ") == 1);
    CHECK(count(text, "load $0") == 2); // by the greatest, and by exp
    CHECK(count(text, "store $3") == 2);
  }
}

TEST_CASE("a row value that no output can hold is kept in workspace") {
  auto l = lower_text(with_matrix(5, 70, R"(
  %y: f32[%n, %m], %z: f32[%n] = kernel %x, %n, %m {kernel = nest} {
    %g: f32[%n, %m] = tanh %x
    %s: f32[%n] = reduce %g {op = sum, ints = [1]}
    %c: f32[%n] = convert %s
    %sb: f32[%n, %m] = broadcast %c {ints = [0]}
    %q: f32[%n, %m] = sub %g, %sb
    %r: f32[%n, %m] = add %q, %x
    %w: f32[%n] = mul %s, %s
    yield %r, %w
  }
  yield %t, %y, %z
)"));
  compare(l);
  CHECK(count(l.text, ": local f32[arg2]") == 1);
  CHECK(count(long_rows(l.text), "load $0") == 2);
}

TEST_CASE("layer norm keeps nothing: what its passes share is cheap") {
  auto l = lower_text(with_matrix(6, 100, R"(
  %y: f32[%n, %m] = kernel %x, %n, %m {kernel = nest} {
    %count: f32 = convert %m
    %s: f32[%n] = reduce %x {op = sum, ints = [1]}
    %mean: f32[%n] = div %s, %count
    %mb: f32[%n, %m] = broadcast %mean {ints = [0]}
    %d: f32[%n, %m] = sub %x, %mb
    %sq: f32[%n, %m] = mul %d, %d
    %v: f32[%n] = reduce %sq {op = sum, ints = [1]}
    %var: f32[%n] = div %v, %count
    %r: f32[%n] = rsqrt %var
    %rk: f32[%n, 1] = reshape %r
    %rb: f32[%n, %m] = broadcast %rk {ints = [0, 1]}
    %q: f32[%n, %m] = mul %d, %rb
    yield %q
  }
  yield %t, %y
)"));
  compare(l);
  CHECK(count(l.text, ": local") == 0);
  const std::string text = long_rows(l.text);
  CHECK(count(text, "store") == 1);
  CHECK(count(text, " = sqrt ") == 1);
  CHECK(text.find(" = sqrt ") < text.find("for vector")); // once per row
}

TEST_CASE("full reductions fold chunks in parallel, then combine in order") {
  for (int m : {0, 1, 4096, 4097, 13000}) {
    auto l = lower_text(with_matrix(1, m, R"(
  %sum: f32, %best: f32, %at: i64, %mean: f32 = kernel %x, %n, %m {kernel = nest} {
    %e: f32[%n, %m] = mul %x, %x
    %s: f32 = reduce %e {op = sum, ints = [0, 1]}
    %b: f32 = reduce %x {op = max, ints = [0, 1]}
    %a: i64 = reduce %x {op = argmax, ints = [0, 1]}
    %count: f32 = convert %m
    %quotient: f32 = div %s, %count
    yield %s, %b, %a, %quotient
  }
  yield %t, %sum, %best, %at, %mean
)"));
    if (m > 0) compare(l); // nothing has no greatest element
    CHECK(count(l.text, "phase tiles") == 2);
  }
}

TEST_CASE("dependent full reductions: variance") {
  for (int m : {5, 9000}) {
    auto l = lower_text(with_matrix(1, m, R"(
  %y: f32 = kernel %x, %n, %m {kernel = nest} {
    %count: f32 = convert %m
    %s: f32 = reduce %x {op = sum, ints = [0, 1]}
    %mean: f32 = div %s, %count
    %d: f32[%n, %m] = sub %x, %mean
    %sq: f32[%n, %m] = mul %d, %d
    %v: f32 = reduce %sq {op = sum, ints = [0, 1]}
    %var: f32 = div %v, %count
    yield %var
  }
  yield %t, %y
)"));
    compare(l);
    CHECK(count(l.text, "phase tiles") == 4);
  }
}

TEST_CASE("columns: reductions over leading axes are vectors over columns") {
  for (auto [n, m] : {std::pair{3, 5}, {4100, 3}, {2, 600}, {0, 4}, {5, 0}}) {
    auto l = lower_text(with_matrix(n, m, R"(
  %y: f32[%m], %z: i64[%m] = kernel %x, %n, %m {kernel = nest} {
    %s: f32[%m] = reduce %x {op = sum, ints = [0]}
    %count: f32 = convert %n
    %mean: f32[%m] = div %s, %count
    %a: i64[%m] = reduce %x {op = argmin, ints = [0]}
    yield %mean, %a
  }
  yield %t, %y, %z
)"));
    compare(l);
    CHECK(count(l.text, "for vector") == 2);
  }
}

TEST_CASE("columns of short stretches that are far apart are folded stretch by stretch, long ones along themselves") {
  // Near, far, long; a chunk begins in the middle of a stretch, and of a piece of one.
  for (auto [rows, columns, length] : {std::tuple{30, 5, 9}, {400, 66, 11}, {130, 40, 100}, {3, 4, 1400}, {0, 4, 9}}) {
    auto l = lower_text(with_matrix(rows * columns, length, R"(
  %c: i64 = constant i64 )" + std::to_string(columns) + R"(
  %r: i64 = constant i64 )" + std::to_string(rows) + R"(
  %z: f32[%r, %c, %m] = reshape %x
  %y: f32[%c], %w: f32[%c] = kernel %z, %r, %c, %m {kernel = nest} {
    %s: f32[%c] = reduce %z {op = sum, ints = [0, 2]}
    %sb: f32[%r, %c, %m] = broadcast %s {ints = [1]}
    %d: f32[%r, %c, %m] = sub %z, %sb
    %v: f32[%c] = reduce %d {op = sum, ints = [0, 2]}
    %most: f32[%c] = reduce %z {op = max, ints = [0, 2]}
    yield %v, %most
  }
  yield %t, %y, %w
)"));
    compare(l);
    CHECK(count(l.text, "phase tiles") == 2 * 4); // each way of the parts, and what combines them
    CHECK(count(l.text, ": local f32[2048]") == 3);
  }
}

TEST_CASE("reductions in the middle, of integers, of bools, under masks, of constant sizes") {
  auto l = lower_text(with_matrix(12, 30, R"(
  %y: f32[%n, 5] = kernel %x, %n, %m {kernel = nest} {
    %uses_m: i64 = neg %m
    %p: f32[%n, 6, 5] = reshape %x
    %s: f32[%n, 5] = reduce %p {op = prod, ints = [1]}
    yield %s
  }
  yield %t, %y
)"));
  compare(l);
  CHECK(count(l.text, "phase tiles") == 1); // 6 elements are one chunk
  l = lower_text(with_matrix(12, 70, R"(
  %y: i64[%n], %z: bool[%n], %w: f32[%n], %v: f32[%n] = kernel %x, %n, %m {kernel = nest} {
    %zero: f32 = constant f32 0.0
    %pos: bool[%n, %m] = gt %x, %zero
    %wide: i64[%n, %m] = convert %pos
    %count: i64[%n] = reduce %wide {op = sum, ints = [1]}
    %any: bool[%n] = reduce %pos {op = any, ints = [1]}
    %least: f32[%n] = reduce %x, %pos {op = min, ints = [1]}
    %big: f32 = constant f32 7.0
    %never: bool[%n, %m] = gt %x, %big
    %none: f32[%n] = reduce %x, %never {op = sum, ints = [1]}
    yield %count, %any, %least, %none
  }
  yield %t, %y, %z, %w, %v
)"));
  compare(l);
}

TEST_CASE("running folds along either axis") {
  for (auto [n, m] : {std::pair{0, 33}, {1, 33}, {40, 33}, {40, 7}, {70, 20}, {5, 270}, {3, 256}, {2, 1100}})
    for (std::string axis : {"0", "1"}) {
      auto l = lower_text(with_matrix(n, m,
                                      R"(
  %y: f32[%n, %m] = kernel %x, %n, %m {kernel = nest} {
    %e: f32[%n, %m] = exp %x
    %s: f32[%n, %m] = scan %e {op = sum, ints = [)" +
                                          axis + R"(]}
    yield %s
  }
  yield %t, %y
)"));
      compare(l);
      // Columns: wide ones, and few in one loop. Rows: those of a few segments, a node, and one as one of many.
      CHECK(count(l.text, "for vector") == (axis == "0" ? 5 : 11));
      CHECK(count(l.text, "transposed") == (axis == "0" ? 0 : 8)); // segments are lanes
    }
}

TEST_CASE("a sum of sums whose inner length depends on the outer index") {
  for (int m : {0, 1, 40, 4100}) {
    // in a full reduction, where chunks are tiles, and inside an element
    auto l = lower_text(with_matrix(1, std::max(m, 3), "  %k: i64 = constant i64 " + std::to_string(m) + R"(
  %y: f32, %at: i64 = kernel %x, %k, %n, %m {kernel = nest} {
    %uses_n: i64 = mul %n, %m
    %rows: f32[%k] = map (%i: i64) {
      %z: i64 = constant i64 0
      %three: i64 = constant i64 3
      %len: i64 = mod %i, %three
      %inner: f32[%len] = map (%j: i64) {
        %a: f32 = index %x, %z, %j
        yield %a
      }
      %s: f32 = reduce %inner {op = sum, ints = [0]}
      yield %s
    }
    %t1: f32 = reduce %rows {op = sum, ints = [0]}
    %t2: i64 = reduce %rows {op = argmax, ints = [0]}
    yield %t1, %t2
  }
  yield %t, %y, %at
)"));
    compare(l);
    l = lower_text(with_matrix(1, std::max(m, 3), "  %k: i64 = constant i64 " + std::to_string(m) + R"(
  %y: f32[2] = kernel %x, %k, %n, %m {kernel = nest} {
    %uses_n: i64 = mul %n, %m
    %both: f32[2] = map (%q: i64) {
      %rows: f32[%k] = map (%i: i64) {
        %z: i64 = constant i64 0
        %three: i64 = constant i64 3
        %iq: i64 = add %i, %q
        %len: i64 = mod %iq, %three
        %inner: f32[%len] = map (%j: i64) {
          %a: f32 = index %x, %z, %j
          yield %a
        }
        %s: f32 = reduce %inner {op = sum, ints = [0]}
        yield %s
      }
      %t1: f32 = reduce %rows {op = sum, ints = [0]}
      yield %t1
    }
    yield %both
  }
  yield %t, %y
)"));
    compare(l);
    CHECK(count(l.text, "for vector") == 0);
    CHECK(count(l.text, "local f32[4096]") == 1);
  }
}

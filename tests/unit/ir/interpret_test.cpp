// The reference interpreter, by hand-made graphs and values.
#include "ir/graph/text.h"
#include "ir/graph/verify.h"
#include "ir/interpret/interpret.h"
#include <cmath>
#include <doctest/doctest.h>

using namespace tl;
using namespace tl::ir;

namespace {

struct Run {
  Outcome outcome;
  std::string printed;
};

Run run(const std::string& text, const std::vector<Argument>& arguments = {}) {
  Module module = parse_text(text);
  std::vector<std::string> faults = verify(module);
  for (const std::string& fault : faults)
    FAIL_CHECK(fault);
  Run r;
  if (faults.empty()) r.outcome = interpret(module, arguments, [&](std::string_view s) { r.printed += s; });
  return r;
}

template <class T> std::vector<T> values(const Argument& a) {
  const HostTensor& t = std::get<HostTensor>(a);
  std::vector<T> result;
  for (int64_t i = 0; i < t.count(); ++i)
    result.push_back(t.get(i).as<T>());
  return result;
}

HostTensor floats(std::vector<int64_t> dims, const std::function<float(int64_t)>& f) {
  HostTensor t = HostTensor::make(DType::F32, std::move(dims));
  for (int64_t i = 0; i < t.count(); ++i)
    t.set(i, Scalar::of(f(i)));
  return t;
}

} // namespace

TEST_CASE("views and indexing") {
  Run r = run(R"(tensor 0 i64[2, 3] = 0 1 2 3 4 5
tensor 1 i64[2] = 2 0
tensor 2 i64[2] = 1 1
entry @main
func @main(%t: token) {
  %x: i64[2, 3] = const_tensor {tensor = 0}
  %idx: i64[2] = const_tensor {tensor = 1}
  %same: i64[2] = const_tensor {tensor = 2}
  %a: i64[3, 2] = transpose %x {ints = [1, 0]}
  %one: i64 = constant i64 1
  %two: i64 = constant i64 2
  %nine: i64 = constant i64 9
  %zero: i64 = constant i64 0
  %b: i64[2, 2] = slice %x, %zero, %two {ints = [1, -2]}
  %c: i64[2, 2] = gather %x, %idx {ints = [1]}
  %d: i64[3] = index %x, %one
  %e: i64[4, 3] = pad %x, %nine, %one, %zero
  %f: i64[2, 5] = concat %x, %c {ints = [1]}
  %g: i64[2, 3] = update %x, %nine, %one, %one {mode = set}
  %h: i64[2, 3] = scatter %x, %same, %x {mode = add}
  %i: i64[2, 3] = scatter %x, %same, %x {mode = set}
  %j: i64[2, 3] = scan %x {op = sum, ints = [1]}
  %k: i64[2, 2] = broadcast %idx {ints = [1]}
  yield %t, %a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %x
}
)");
  using V = std::vector<int64_t>;
  REQUIRE(r.outcome.results.size() == 12);
  auto is = [&](size_t i, V expected) { CHECK(values<int64_t>(r.outcome.results[i]) == expected); };
  is(0, {0, 3, 1, 4, 2, 5});
  is(1, {2, 0, 5, 3});
  is(2, {2, 0, 5, 3});
  is(3, {3, 4, 5});
  is(4, {9, 9, 9, 0, 1, 2, 3, 4, 5, 9, 9, 9});
  is(5, {0, 1, 2, 2, 0, 3, 4, 5, 5, 3});
  is(6, {0, 1, 2, 3, 9, 5});
  is(7, {0, 1, 2, 6, 9, 12});
  is(8, {0, 1, 2, 3, 4, 5});
  is(9, {0, 1, 3, 3, 7, 12});
  is(10, {2, 0, 2, 0});
  is(11, {0, 1, 2, 3, 4, 5}); // updates left the constant alone
}

TEST_CASE("sums in the order of sums, products in the order of contractions") {
  const char* text = R"(param "x" f32 tensor 1 type "" doc ""
param "y" f32 tensor 1 type "" doc ""
entry @main
func @main(%t: token, %n: i64, %x: f32[%n], %m: i64, %y: f32[%m]) {
  %s: f32 = reduce %x {op = sum, ints = [0]}
  %z: f32[%n] = reshape %y
  %d: f32 = contract %x, %z {ints = [0, 0], labels = []}
  %best: i64 = reduce %x {op = argmax, ints = [0]}
  yield %t, %s, %d, %best
}
)";
  for (int64_t n : {0, 1, 31, 33, 4096, 5000}) {
    CAPTURE(n);
    HostTensor x = floats({n}, [](int64_t i) { return 1.0f / static_cast<float>(3 + i * 7 % 101); });
    HostTensor y = floats({n}, [](int64_t i) { return static_cast<float>(i % 13) - 6.3f; });
    Run r = run(text, {x, y});
    REQUIRE(r.outcome.results.size() == 3);
    // The same by hand: 32 lanes in chunks of 4096, halving; chunks added in f64.
    double total = 0;
    for (int64_t begin = 0; begin < n; begin += 4096) {
      float lanes[32];
      for (float& lane : lanes)
        lane = -0.0f;
      for (int64_t k = begin; k < std::min<int64_t>(n, begin + 4096); ++k)
        lanes[k % 32] += x.get(k).as<float>();
      for (int step = 16; step > 0; step /= 2)
        for (int l = 0; l < step; ++l)
          lanes[l] += lanes[l + step];
      total = begin == 0 ? lanes[0] : total + lanes[0];
    }
    CHECK(values<float>(r.outcome.results[0])[0] == static_cast<float>(total));
    CHECK(std::signbit(values<float>(r.outcome.results[0])[0]) == false);
    float product = 0;
    for (int64_t begin = 0; begin < n; begin += 512) {
      float chain = 0;
      for (int64_t k = begin; k < std::min<int64_t>(n, begin + 512); ++k)
        chain = std::fma(x.get(k).as<float>(), y.get(k).as<float>(), chain);
      product = begin == 0 ? chain : product + chain;
    }
    CHECK(values<float>(r.outcome.results[1])[0] == product);
    CHECK(values<int64_t>(r.outcome.results[2])[0] == 0); // the greatest is first
  }
}

TEST_CASE("masked reductions, NaN, and reductions of nothing") {
  Run r = run(R"(tensor 0 f32[4] = 3 nan -1 5
tensor 1 bool[4] = true false true false
tensor 2 bool[4] = false false false false
entry @main
func @main(%t: token) {
  %x: f32[4] = const_tensor {tensor = 0}
  %m: bool[4] = const_tensor {tensor = 1}
  %none: bool[4] = const_tensor {tensor = 2}
  %a: f32 = reduce %x, %m {op = sum, ints = [0]}
  %b: f32 = reduce %x, %m {op = min, ints = [0]}
  %c: i64 = reduce %x, %m {op = argmin, ints = [0]}
  %d: i64 = reduce %x {op = argmin, ints = [0]}
  %e: f32 = reduce %x {op = max, ints = [0]}
  %f: f32 = reduce %x, %none {op = sum, ints = [0]}
  %g: bool = reduce %m {op = any, ints = [0]}
  yield %t, %a, %b, %c, %d, %e, %f, %g
}
)");
  REQUIRE(r.outcome.results.size() == 7);
  CHECK(values<float>(r.outcome.results[0])[0] == 2.0f);
  CHECK(values<float>(r.outcome.results[1])[0] == -1.0f);
  CHECK(values<int64_t>(r.outcome.results[2])[0] == 2);
  CHECK(values<int64_t>(r.outcome.results[3])[0] == 1); // the NaN
  CHECK(std::isnan(values<float>(r.outcome.results[4])[0]));
  CHECK(values<float>(r.outcome.results[5])[0] == 0.0f);
  CHECK_FALSE(std::signbit(values<float>(r.outcome.results[5])[0]));
  CHECK(values<uint8_t>(r.outcome.results[6])[0] == 1);
}

TEST_CASE("maps, lazy branches and loops") {
  Run r = run(R"(entry @main
func @fib(%n: i64) {
  %two: i64 = constant i64 2
  %small: bool = lt %n, %two
  %r: i64 = if %small {
    yield %n
  } {
    %one: i64 = constant i64 1
    %a: i64 = sub %n, %one
    %b: i64 = sub %n, %two
    %c: i64 = call %a {function = @fib}
    %d: i64 = call %b {function = @fib}
    %e: i64 = add %c, %d
    yield %e
  }
  yield %r
}
func @main(%t: token) {
  %fifteen: i64 = constant i64 15
  %f: i64 = call %fifteen {function = @fib}
  %x: i64[4, 3] = map (%i: i64, %j: i64) {
    %ten: i64 = constant i64 10
    %a: i64 = mul %i, %ten
    %b: i64 = add %a, %j
    yield %b
  }
  %zero: i64 = constant i64 0
  %three: i64 = constant i64 3
  %three2: i64 = constant i64 2
  %step: i64 = constant i64 -1
  %y: i64[4, 3] = for %three, %step, %step, %x (%k: i64, %c: i64[4, 3]) {
    %z: i64[4, 3] = update %c, %k, %k, %zero {mode = set}
    yield %z
  }
  %hundred: i64 = constant i64 100
  %p: i64 = while %three (%v: i64) {
    %more: bool = lt %v, %hundred
    yield %more
  } (%w: i64) {
    %twice: i64 = add %w, %w
    yield %twice
  }
  %q: i64[2] = map (%i2: i64) {
    %first: bool = eq %i2, %zero
    %e: i64 = if %first {
      yield %fifteen
    } {
      %row: i64 = index %x, %i2, %three2
      yield %row
    }
    yield %e
  }
  yield %t, %f, %x, %y, %p, %q
}
)");
  REQUIRE(r.outcome.results.size() == 5);
  using V = std::vector<int64_t>;
  CHECK(values<int64_t>(r.outcome.results[0]) == V{610});
  CHECK(values<int64_t>(r.outcome.results[1]) == V{0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32});
  CHECK(values<int64_t>(r.outcome.results[2]) == V{0, 1, 2, 1, 11, 12, 2, 21, 22, 3, 31, 32});
  CHECK(values<int64_t>(r.outcome.results[3]) == V{192});
  CHECK(values<int64_t>(r.outcome.results[4]) == V{15, 12});
}

TEST_CASE("failures are values") {
  // The guard of b poisons b alone; printing a goes on; printing b stops.
  const std::string head = R"(site 0 "IndexOutOfRange" "index {0} of {1}, element {e}" hint "" @0
entry @main
func @main(%t: token) {
  %five: i64 = constant i64 5
  %yes: bool = constant bool true
  %no: bool = constant bool false
  %a: i64 = guard %five, %yes, %five, %five {site = 0}
  %b: i64 = guard %five, %no, %five, %a {site = 0}
  %c: i64 = add %b, %five
  %s: str = format %a {format = ["", "", "\n"]}
  %u: str = format %c {format = ["", "", "\n"]}
  %t1: token = print %t, %s
)";
  Run used = run(head + "  %t2: token = print %t1, %u\n  %t3: token = print %t2, %s\n  yield %t3\n}\n");
  CHECK(used.printed == "5\n");
  REQUIRE(used.outcome.error);
  CHECK(used.outcome.error->kind == "IndexOutOfRange");
  CHECK(used.outcome.error->message == "index 5 of 5, element 0");
  CHECK(used.outcome.exit_code == 3);
  Run unused = run(head + "  %t2: token = print %t1, %s\n  yield %t2\n}\n");
  CHECK(unused.printed == "5\n5\n");
  CHECK(unused.outcome.exit_code == 3);
  Run exits = run(head + "  %t2: token = exit %t1, %five\n  yield %t2\n}\n");
  CHECK(exits.outcome.exit_code == 3); // the end of the program needs everything
}

TEST_CASE("elementwise guards name the first element") {
  Run r = run(R"(site 0 "IndexOutOfRange" "index {0} of {1}, element {e}" hint "" @0
tensor 0 i64[3] = 1 7 9
entry @main
func @main(%t: token) {
  %x: i64[3] = const_tensor {tensor = 0}
  %n: i64 = constant i64 5
  %ok: bool[3] = lt %x, %n
  %y: i64[3] = guard %x, %ok, %x, %n {site = 0}
  yield %t, %y
}
)");
  REQUIRE(r.outcome.error);
  CHECK(r.outcome.error->message == "index 7 of 5, element 1");
}

TEST_CASE("recursion has an end") {
  Run r = run(R"(entry @main
func @forever(%n: i64) {
  %m: i64 = call %n {function = @forever}
  yield %m
}
func @main(%t: token) {
  %n: i64 = constant i64 5
  %m: i64 = call %n {function = @forever}
  yield %t, %m
}
)");
  REQUIRE(r.outcome.error);
  CHECK(r.outcome.error->kind == "StackOverflow");
}

// Loops, branches, failures and effects: on the host, waiting for computed values, and outlined to native code.
#include "sections.h"
#include <fmt/format.h>

namespace tl::generated {
namespace {

// x: f32[n], y: f32[n], k: i64 scalar, c: f32 scalar.
struct Program {
  const char* name;
  const char* body;
  std::vector<std::string> results;
  const char* token = "t";
};

// Places are in the order of the cases: among failures the first place is reported.
constexpr const char* kTables = "location 1 \"test.tl\" 3:5 10..20 in \"main\" caller 0\n"
                                "location 2 \"test.tl\" 4:5 30..40 in \"main\" caller 0\n"
                                "site 0 \"IndexOutOfRange\" \"index {0} is out of range for {1}\" hint \"\" @2\n"
                                "site 1 \"DivisionByZero\" \"element {e} is divided by zero\" hint \"check it\" @1\n"
                                "site 2 \"AssertionFailed\" \"\" hint \"\" @2\n";

constexpr const char* kConstants =
    "  %z: i64 = constant i64 0\n  %one: i64 = constant i64 1\n  %two: i64 = constant i64 2\n  %three: i64 = constant "
    "i64 3\n  %zero: f32 = constant f32 0\n  %unit: f32 = constant f32 1\n";

const std::vector<Program> kPrograms = {
    {"host loop over a tensor",
     R"(
  %r: f32[%n] = for %z, %k, %one, %x (%i: i64, %v: f32[%n]) {
    %f: f32 = convert %i
    %d: f32[%n] = add %v, %f
    %e: f32[%n] = sin %d
    yield %e
  }
)",
     {"r"}},
    {"loop down with two carried tensors",
     R"(
  %minus: i64 = constant i64 -2
  %p: f32[%n], %q: f32[%n] = for %k, %z, %minus, %x, %y (%i: i64, %v: f32[%n], %w: f32[%n]) {
    %d: f32[%n] = mul %v, %c
    %e: f32[%n] = sub %w, %d
    yield %e, %v
  }
)",
     {"p", "q"}},
    {"recurrence over elements",
     R"(
  %r: f32[%n] = for %one, %n, %one, %x (%i: i64, %v: f32[%n]) {
    %p: i64 = sub %i, %one
    %a: f32 = index %v, %p
    %b: f32 = index %v, %i
    %h: f32 = mul %a, %c
    %s: f32 = add %h, %b
    %u: f32[%n] = update %v, %s, %i {mode = set}
    yield %u
  }
)",
     {"r"}},
    {"nested loops with a branch",
     R"(
  %r: f32[%n], %hits: i64 = for %z, %k, %one, %x, %z (%j: i64, %v: f32[%n], %m: i64) {
    %inner: f32[%n], %m2: i64 = for %z, %n, %one, %v, %m (%i: i64, %w: f32[%n], %g: i64) {
      %a: f32 = index %w, %i
      %p: bool = lt %a, %zero
      %s: f32, %h: i64 = if %p {
        %na: f32 = neg %a
        %g1: i64 = add %g, %one
        yield %na, %g1
      } {
        %sub: f32 = sub %a, %unit
        yield %sub, %g
      }
      %u: f32[%n] = update %w, %s, %i {mode = set}
      yield %u, %h
    }
    yield %inner, %m2
  }
)",
     {"r", "hits"}},
    {"while on host scalars",
     R"(
  %v: i64, %steps: i64 = while %k, %z (%a: i64, %s: i64) {
    %go: bool = lt %one, %a
    yield %go
  } (%b: i64, %s2: i64) {
    %rest: i64 = mod %b, %two
    %even: bool = eq %rest, %z
    %half: i64 = floor_div %b, %two
    %triple: i64 = mul %b, %three
    %odd: i64 = add %triple, %one
    %next: i64 = where %even, %half, %odd
    %s3: i64 = add %s2, %one
    yield %next, %s3
  }
)",
     {"v", "steps"}},
    {"while on a computed value",
     R"(
  %v: f32[%n], %steps: i64 = while %x, %z (%a: f32[%n], %s: i64) {
    %b: f32[%n] = abs %a
    %m: f32 = reduce %b {op = max, ints = [0]}
    %go: bool = lt %unit, %m
    yield %go
  } (%d: f32[%n], %s2: i64) {
    %half: f32 = constant f32 0.5
    %e: f32[%n] = mul %d, %half
    %s3: i64 = add %s2, %one
    yield %e, %s3
  }
)",
     {"v", "steps"}},
    {"branch on a host scalar",
     R"(
  %p: bool = lt %k, %three
  %r: f32[%n] = if %p {
    %a: f32[%n] = add %x, %y
    yield %a
  } {
    %b: f32[%n] = sub %x, %y
    %d: f32[%n] = exp %b
    yield %d
  }
)",
     {"r"}},
    {"branch on a computed scalar",
     R"(
  %s: f32 = reduce %x {op = sum, ints = [0]}
  %p: bool = lt %zero, %s
  %r: f32[%n], %q: f32 = if %p {
    %a: f32[%n] = mul %x, %s
    yield %a, %s
  } {
    yield %y, %c
  }
)",
     {"r", "q"}},
    {"guarded host division",
     R"(
  %ok: bool = ne %k, %z
  %g: i64 = guard %k, %ok, %k {site = 1}
  %d: i64 = floor_div %n, %g
  %f: f32 = convert %d
  %r: f32[%n] = mul %x, %f
)",
     {"r", "d"}},
    {"guarded elements",
     R"(
  %t1: bool[%n] = lt %x, %c
  %at: i64[%n] = iota
  %g: f32[%n] = guard %x, %t1, %at, %n {site = 1}
  %r: f32[%n] = exp %g
  %s: f32 = reduce %r {op = sum, ints = [0]}
)",
     {"r", "s"}},
    {"the first of two failures",
     R"(
  %t1: bool[%n] = lt %x, %c
  %g: f32[%n] = guard %x, %t1 {site = 1}
  %t2: bool = lt %k, %three
  %h: f32[%n] = guard %y, %t2, %k, %three {site = 0}
  %r: f32[%n] = add %g, %h
  %s: f32 = reduce %h {op = max, ints = [0]}
)",
     {"r", "s"}},
    {"a guarded index in a loop",
     R"(
  %r: f32 = for %z, %k, %one, %zero (%i: i64, %sum: f32) {
    %ok: bool = lt %i, %n
    %g: i64 = guard %i, %ok, %i, %n {site = 0}
    %e: f32 = index %x, %g
    %next: f32 = add %sum, %e
    yield %next
  }
)",
     {"r"}},
    {"an assertion that may fail",
     R"(
  %s: f32 = reduce %x {op = max, ints = [0]}
  %ok: bool = lt %s, %c
  %t1: token = assert %t, %ok, %s {site = 2, format = ["largest is ", "", ""]}
  %str: str = format %s {format = ["largest ", ".3f", "\n"]}
  %t2: token = print %t1, %str
)",
     {"s"},
     "t2"},
    {"prints in order",
     R"(
  %a: str = format %k {format = ["k = ", "", "\n"]}
  %t1: token = print %t, %a
  %t2: token = for %z, %k, %one, %t1 (%i: i64, %t3: token) {
    %e: f32 = convert %i
    %y1: f32[%n] = add %y, %e
    %s: f32 = reduce %y1 {op = max, ints = [0]}
    %b: str = format %i, %s {format = ["", "", ": ", ".6g", "\n"]}
    %t4: token = print %t3, %b
    yield %t4
  }
  %d: str = format %x {format = ["", "", "\n"]}
  %t5: token = print %t2, %d
)",
     {},
     "t5"},
    {"in place while another holds it",
     R"(
  %e: f32 = index %x, %z
  %u: f32[%n] = update %x, %c, %z {mode = set}
  %w: f32[%n] = update %u, %e, %z {mode = add}
  %r: f32[%n] = add %x, %u
)",
     {"r", "w", "u"}},
    {"results that are parameters", "", {"x", "k", "x"}},
};

} // namespace

void control(Tester& tester) {
  Random random(tester.options.seed);
  for (const Program& p : kPrograms) {
    Case test{
        p.name,
        program({{"x", DType::F32, {"n"}}, {"y", DType::F32, {"n"}}, {"k", DType::I64, {}}, {"c", DType::F32, {}}},
                std::string(kConstants) + p.body, p.results, kTables, p.token),
        {}};
    for (int64_t n : {1, 2, 33, 5000})
      for (int64_t k : {0, 1, 7})
        for (double c : {0.25, 100.0}) {
          if (n == 5000 && k == 1) continue;
          test.inputs.push_back({samples(DType::F32, {n}, -5, 5, random), samples(DType::F32, {n}, -5, 5, random),
                                 scalar(DType::I64, Scalar::of(k)), scalar(DType::F32, from_double(DType::F32, c))});
        }
    tester.run(test);
  }
}

} // namespace tl::generated

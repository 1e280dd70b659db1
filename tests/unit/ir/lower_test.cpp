// Lowering: programs through the parser and the checker, their graphs verified and interpreted.
#include "ir/graph/text.h"
#include "ir/graph/verify.h"
#include "ir/interpret/interpret.h"
#include "ir/lower/lower.h"
#include "lang/stdlib.h"
#include "parser/check/check.h"
#include "parser/syntax/parse.h"
#include <doctest/doctest.h>

using namespace tl;

namespace {

std::string prelude_text() {
  for (const EmbeddedFile& file : embedded_stdlib())
    if (file.name == "prelude.tl") return file.text;
  FAIL("there is no prelude");
  return {};
}

ir::Module lowered(const std::string& text) {
  SourceManager sources;
  Diagnostics diagnostics;
  FileId prelude = sources.add("std:prelude.tl", prelude_text());
  FileId file = sources.add("a.tl", text);
  ast::File prelude_ast = parse(sources, prelude, diagnostics, {.is_library = true}),
            ast = parse(sources, file, diagnostics);
  REQUIRE_MESSAGE(!diagnostics.has_errors(), render(diagnostics, sources));
  typed::Program program = check(ast, prelude_ast, sources, diagnostics);
  REQUIRE_MESSAGE(!diagnostics.has_errors(), render(diagnostics, sources));
  ir::Module module = ir::lower(program, sources);
  for (const std::string& fault : ir::verify(module))
    FAIL_CHECK(fault << "\n" << ir::to_text(module));
  std::string printed = ir::to_text(module);
  CHECK(ir::to_text(ir::parse_text(printed)) == printed);
  return module;
}

// What the program prints, then how it fails, if it does.
std::string run(const std::string& text, const std::vector<Argument>& arguments = {}) {
  ir::Module module = lowered(text);
  std::string output;
  Outcome outcome = ir::interpret(module, arguments, [&](std::string_view s) { output += s; });
  if (outcome.error) {
    const Location& at = module.locations.at(outcome.error->loc.index);
    output += std::to_string(at.line) + ": " + outcome.error->kind + ": " + outcome.error->message + "\n";
  }
  return output;
}

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++n;
  return n;
}

} // namespace

TEST_CASE("early exits") {
  CHECK(run(R"(
fn sign_of(n: i64) -> str {
  if n < 0 { return "negative" }
  if n == 0 { return "zero" }
  "positive"
}
fn first_above(n: i64) -> i64 {
  for i in 0..100 {
    if i * i > n { return i }
  }
  -1
}
fn count_primes(n: i64) -> i64 {
  var count = 0
  for i in 2..n {
    var prime = true
    for j in 2..i {
      if j * j > i { break }
      if i % j == 0 { prime = false; break }
    }
    if not prime { continue }
    count += 1
  }
  count
}
print(sign_of(-3), sign_of(0), sign_of(7))
print(first_above(50), first_above(20000), count_primes(100))
var i = 0
while true {
  i += 1
  if i == 2 { continue }
  if i > 4 { break }
  print("loop {i}")
}
for k in range(10, 0, -4) { print(k) }
for k in range(0, 10, 3) { if k > 5 { break }; print(k) }
)") == "negative zero positive\n8 -1 25\nloop 1\nloop 3\nloop 4\n10\n6\n2\n0\n3\n");
}

TEST_CASE("variables through branches and loops") {
  CHECK(run(R"(
fn fact(n: i64) -> i64 = if n <= 1 { 1 } else { n * fact(n - 1) }
fn grow(n: i64) -> f32[_] {
  var x = zeros([1])
  for i in 0..n { x = concat((x, ones([i + 1]))) }
  x
}
fn until(x: f32[n], limit: f32) -> (f32, i64) {
  var s = 0.0
  var k = 0
  for i in 0..n {
    if s + x[i] > limit { break }
    s += x[i]
    k += 1
  }
  (s, k)
}
let (s, k) = until(arange(10.0), 11.0)
print(fact(10), grow(3), s, k)
var p = 1
var q = 2
(p, q) = (q, p)
let v = if p > q { "swapped" } else { "not" }
print(p, q, v)
for row in [[1, 2], [3, 4]] { print(row) }
)") == "3628800 [0. 1. 1. 1. 1. 1. 1.] 10.0 5\n2 1 swapped\n[1 2]\n[3 4]\n");
}

TEST_CASE("reading by subscripts") {
  CHECK(run(R"(
let x = arange(12).reshape([3, 4])
print(x[1], x[-1, -1], x[:, 1], x[::-1, 0])
print(x[1:, ::2])
print(x[[2, 0]][:, 0], x[0, [1, 1]], x[[0, 1], [2, 3]])
print(x[x > 8], x[5:].shape, x[new, 0].shape)
)") == "[4 5 6 7] 11 [1 5 9] [8 4 0]\n[[ 4  6]\n [ 8 10]]\n[8 0] [1 1] [2 7]\n[ 9 10 11] (0, 4) (1, 4)\n");
}

TEST_CASE("writing by subscripts") {
  CHECK(run(R"(
var y = arange(12).reshape([3, 4])
y[0] = 7
y[1, 2] = -1
y[:, 3] = [100, 200, 300]
y[2, ::2] += 1000
print(y)
y[y > 50] = 0
print(y[2], y[:, 3])
var h = zeros([4], i64)
h[[0, 1, 1, 3]] += 1
print(h)
h[[0, 0]] = [5, 6]
print(h)
var z = zeros([2, 3], i64)
z[:, [0, 2]] += 1
z[[0, 1], [1, 1]] = [8, 9]
print(z[0], z[1])
var m = zeros([3], i64)
m[[true, false, true]] = [1, 2]
print(m)
)") == "[[   7    7    7  100]\n [   4    5   -1  200]\n [1008    9 1010  300]]\n[0 9 0 0] [0 0 0]\n"
       "[1 2 0 1]\n[6 2 0 1]\n[1 8 1] [1 9 1]\n[1 0 2]\n");
}

TEST_CASE("failures name their place") {
  CHECK(run("let x = [1, 2, 3]\nvar i = 5\nprint(\"before\")\nlet y = x[i]\nprint(\"after\")\nprint(y)\n") ==
        "before\nafter\n4: IndexOutOfRange: index 5 is out of range for axis 0 of size 3\n");
  CHECK(run("var z = 0\nlet y = 7 // z\nprint(\"so far\")\nif y > 1 { print(1) }\n") ==
        "so far\n2: DivisionByZero: division by zero\n");
  CHECK(run("let x = [1, 2, 3]\nlet idx = [0, 9, -4]\nprint(x[idx])\n") ==
        "3: IndexOutOfRange: index 9 is out of range for axis 0 of size 3\n");
  CHECK(run("var n = 3\nassert n < 3, \"n is {n}\"\n") == "2: AssertionFailed: n is 3\n");
  // A message is evaluated only on failure.
  CHECK(run("var n = 3\nlet x = [1, 2]\nassert n == 3, \"x is {x[n]}\"\nprint(\"fine\")\n") == "fine\n");
  // A failure that nobody used still fails the program, at its end.
  CHECK(run("let x = [1, 2, 3]\nvar i = 5\nvar y = x[i]\nprint(\"end\")\n") ==
        "end\n3: IndexOutOfRange: index 5 is out of range for axis 0 of size 3\n");
  // A lazy branch guards a subscript.
  CHECK(run("let b = [1, 2, 3]\nprint([if i > 0 { b[i - 1] } else { 0 } for i in 0..4])\n") == "[0 1 2 3]\n");
}

TEST_CASE("comprehensions") {
  CHECK(run(R"(
let a = [[1, 2, 3], [4, 5, 6]]
let b = [10, 20, 30]
print([sum(a[i, j] * b[j] for j) for i], [max(a[i, j] for j) for i], sum(a[i, j] for i, j))
print([a[i] * 2 for i][1], [if i == j { 1 } else { 0 } for i in 0..2, j in 0..2][0])
print(sum(1 for i in 0..10 if i % 3 == 0), sum(b[i] for i if b[i] > 15), argmax(b[i] for i))
print(any(b[i] > 25 for i), all(b[i] > 25 for i), prod(b[i] for i), min(b[i] for i))
print(sum(i * j for i in 0..4, j in 0..i), [i for i in 2..5])
print([sum((a[i, k] - a[j, k]) * (a[i, k] - a[j, k]) for k) for i, j][0])
print([argmin(sum((a[i, k] - a[c, k]) * (a[i, k] - a[c, k]) for k) for c) for i])
print(sum(b[k] * b[k] for k in 1..3), [sum(b[k + 1] * b[k] for k in 0..2) for i in 0..2])
fn twice(x: i64) -> i64 { var s = 0; for k in 0..2 { s += x }; s }
print([twice(b[i]) for i])
fn rows(x: i64[n], k: i64) -> i64[n] { var y = x; y[0] = k; y }
print([rows(b, i) for i in 0..2][1])
)") == "[140 320] [3 6] 21\n[ 8 10 12] [1 0]\n4 50 2\ntrue false 6000 10\n11 [2 3 4]\n[ 0 27]\n[0 1]\n1300 [800 800]\n"
       "[20 40 60]\n[ 1 20 30]\n");
}

TEST_CASE("sums of products become one contraction") {
  auto text = [](const std::string& body) {
    return ir::to_text(lowered("fn main(a: f32[m, p], b: f32[p, n]) -> f32[m, n] = " + body + "\n"));
  };
  std::string product = text("[sum(a[i, k] * b[k, j] for k) for i, j]");
  CHECK(count(product, "= contract") == 1);
  CHECK(count(product, "= map") == 0);
  std::string inside = text("[max(sum(a[i, k] * b[k, j] for k) + 1.0, 0.0) for i, j]");
  CHECK(count(inside, "= contract") == 1);
  CHECK(count(inside, "= map") == 1);
  std::string mapped = text("[sum(exp(a[i, k]) * b[k, j] for k) for i, j]");
  CHECK(count(mapped, "= contract") == 1);
  CHECK(count(mapped, "= map") == 1); // the exp of a
  std::string plain = text("[sum(a[i, k] + b[k, j] for k) for i, j]");
  CHECK(count(plain, "= contract") == 0);
  CHECK(count(plain, "= reduce") == 1);
}

TEST_CASE("sizes are computed once") {
  std::string text = ir::to_text(lowered(R"(
fn f(x: f32[n]) -> f32[2 * n + 1] {
  let y = concat((x, x, [1.0]))
  let z = if sum(y) > 0.0 { y * 2.0 } else { y + zeros([2 * n + 1]) }
  z
}
fn main(x: f32[n]) -> f32[_] = f(x)
)"));
  size_t begin = text.find("func @f");
  std::string f = text.substr(begin, text.find("func", begin + 1) - begin);
  CHECK(count(f, "= mul %n") == 1);
}

TEST_CASE("main's parameters") {
  HostTensor x = HostTensor::make(DType::F32, {2, 3});
  for (int64_t i = 0; i < 6; ++i)
    x.set(i, Scalar::of(static_cast<float>(i)));
  HostTensor k = HostTensor::make(DType::I64, {});
  k.set(0, Scalar::of(int64_t{4}));
  const char* text = "fn main(x: f32[n, 3], k: i64 = 2, name: str = \"you\") { print(name, n, k, x.sum() * f32(k)) }\n";
  CHECK(run(text, {x, k, std::string("me")}) == "me 2 4 60.0\n");
  CHECK(run(text, {x, {}, {}}) == "you 2 2 30.0\n");
  HostTensor wrong = HostTensor::make(DType::F32, {2, 4});
  CHECK(run(text, {wrong, {}, {}}).find("ShapeMismatch") != std::string::npos);
}

TEST_CASE("tests are entries of their own") {
  ir::Module module = lowered("let x = 3\ntest \"good\" { assert x == 3 }\ntest \"bad\" { assert x == 4 }\n");
  std::vector<ir::TestEntry> tests = ir::tests(module);
  REQUIRE(tests.size() == 2);
  CHECK(tests[0].name == "good");
  CHECK_FALSE(ir::interpret(ir::with_entry(module, tests[0]), {}, [](std::string_view) {}).error);
  Outcome bad = ir::interpret(ir::with_entry(module, tests[1]), {}, [](std::string_view) {});
  REQUIRE(bad.error);
  CHECK(bad.error->message == "`x == 4` is false");
}

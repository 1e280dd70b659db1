// What the checker finds out: types, sizes, and the checks that it leaves to run time.
#include "check_helper.h"
#include <doctest/doctest.h>

using namespace tl;

namespace {

void expect_type(const std::string& program, const std::string& name, const std::string& type) {
  Checked c = check_text(program);
  INFO(program);
  INFO(c.messages());
  CHECK(c.kinds() == "");
  CHECK(c.type_of(name) == type);
}

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++n;
  return n;
}

} // namespace

TEST_CASE("literals take the type that their context wants") {
  expect_type("let a = 2", "a", "i64");
  expect_type("let a = 2.0", "a", "f32");
  expect_type("let a = [1, 2.5]", "a", "f32[2]");
  expect_type("let a: f64 = 1", "a", "f64");
  expect_type("fn f(x: f64[n]) { let y = x * 2\n print(y) }", "y", "f64[n]");
  expect_type("fn f(x: f64[n]) { var s = 0.0\n for i in 0..n { s += x[i] }\n print(s) }", "s", "f64");
  expect_type("let a = f64(0.1)", "a", "f64");
  expect_type("let a = where(true, 1, 2.0)", "a", "f32");
  expect_type("let a: f64[3] = zeros([3])", "a", "f64[3]");
  expect_type("let a = zeros([3]) + 1", "a", "f32[3]");
  expect_type("let a = zeros([3], i32)", "a", "i32[3]");
  expect_type("let a: bool[3] = zeros([3])", "a", "bool[3]");
  expect_type("let a = full([2], inf)", "a", "f32[2]");
  expect_type("let a = arange(5)", "a", "i64[5]");
  expect_type("let a = softmax([1, 2])", "a", "f32[2]");
  expect_type("fn f(x: f64[2]) { let y = relu([1.0, 2.0]) * x\n print(y) }", "y", "f64[2]");
  expect_type("const G = 3\nlet a = G * 1.5", "a", "f32");
}

TEST_CASE("shapes of operators and builtins") {
  expect_type("fn f(x: f32[n, m]) { let y = x.T @ x\n print(y) }", "y", "f32[m, m]");
  expect_type("fn f(x: f32[b, n, m], w: f32[m, k]) { let y = x @ w\n print(y) }", "y", "f32[b, n, k]");
  expect_type("fn f(x: f32[n, m]) { let y = x.sum(axis = 0)\n print(y) }", "y", "f32[m]");
  expect_type("fn f(x: f32[n, m]) { let y = x.max(axis = -1, keep = true)\n print(y) }", "y", "f32[n, 1]");
  expect_type("fn f(x: u8[n]) { let y = sum(x)\n print(y) }", "y", "i64");
  expect_type("fn f(x: f32[n]) { let y = x[new, :] + x[:, new]\n print(y) }", "y", "f32[n, n]");
  expect_type("fn f(x: f32[n, 6]) { let y = x.reshape([n, 2, -1])\n print(y) }", "y", "f32[n, 2, 3]");
  expect_type("fn f(x: f32[n, m]) { let y = x.reshape([m, -1])\n print(y) }", "y", "f32[m, n]");
  expect_type("fn f(x: f32[n, m]) { let y = x.flatten()\n print(y) }", "y", "f32[n*m]");
  expect_type("fn f(a: f32[n], b: f32[m]) { let y = concat((a, b))\n print(y) }", "y", "f32[n + m]");
  expect_type("fn f(a: f32[n], b: f32[n]) { let y = stack((a, b), axis = 1)\n print(y) }", "y", "f32[n, 2]");
  expect_type("fn f(a: f32[n]) { let y = a.pad([(1, 2)])\n print(y) }", "y", "f32[n + 3]");
  expect_type("let (a, b) = split(key(0))\nlet c = split(a, 4)", "c", "key[4]");
  expect_type("fn f(x: f32[n, m], i: i64[k]) { let y = x[i]\n print(y) }", "y", "f32[k, m]");
  expect_type("fn f(x: f32[n, m], i: i64[k]) { let y = x[i, i]\n print(y) }", "y", "f32[k]");
  expect_type("fn f(x: f32[n, m], i: i64[k]) { let y = x[:, i]\n print(y) }", "y", "f32[n, k]");
  expect_type("fn f(x: f32[n, m]) { let y = x.shape\n print(y) }", "y", "(i64, i64)");
  expect_type("let a = [1, 2, 3] > 2", "a", "bool[3]");
  expect_type("let a = linspace(0.0, 1.0, 5)", "a", "f32[5]");
  expect_type("let a = uniform(key(1), [2, 3])", "a", "f32[2, 3]");
  expect_type("let a = eye(3)", "a", "f32[3, 3]");
  expect_type("let a = argmax([[1.0], [2.0]], axis = 0)", "a", "i64[1]");
  expect_type("let a = variance([[1.0], [2.0]], axis = 0)", "a", "f32[1]");
  expect_type("let a = logsumexp([[1.0], [2.0]], axis = 0, keep = true)", "a", "f32[1, 1]");
  expect_type("let a = one_hot([1, 0], 3)", "a", "f32[2, 3]");
  expect_type("let a = f16(1.0)\nlet b = gelu(a)", "b", "f16");
  expect_type("let product = outer([1.0, 2.0], [3.0])", "product", "f32[2, 1]");
}

TEST_CASE("sizes are polynomials") {
  expect_type("fn f(x: f32[n], y: f32[m]) { let z = zeros([2 * (n + m)]) + zeros([m * 2 + n * 2])\n print(z) }", "z",
              "f32[2*n + 2*m]");
  expect_type("fn f(x: f32[n]) { let y = x[1:] - x[:-1]\n print(y) }", "y", "f32[max(n - 1, 0)]");
  expect_type("fn f(x: f32[n]) { let h = n // 2\n let y = x[:h] + x[h:h + h]\n print(y) }", "h", "i64");
  expect_type("fn f(x: f32[n]) { let y = x[::2]\n print(y) }", "y", "f32[(n + 1) // 2]");
  expect_type("fn f(x: f32[n]) { let y = x[::-1]\n print(y) }", "y", "f32[n]");
  expect_type("fn f(x: f32[n + 1]) { let y = zeros([n])\n print(y) }\nf([1.0, 2.0, 3.0])", "y", "f32[n]");
  expect_type("fn f(x: f32[2 * n]) -> f32[n] = x[:n]\nlet y = f(zeros([6]))", "y", "f32[3]");
  expect_type("const H = 128\nfn f(x: f32[n, H]) { let y = x @ zeros([H, 2])\n print(y) }", "y", "f32[n, 2]");
  expect_type("fn f(x: f32[n]) -> f32[n] { let m = x.shape[0]\n let y: f32[m] = x * 2\n y }", "y", "f32[n]");
  expect_type("let x: f32[n, 3] = [[1.0, 2.0, 3.0]]\nlet y = zeros([n])", "y", "f32[n]");
}

TEST_CASE("proven equalities leave no check, others leave one") {
  struct Row {
    const char* program;
    size_t checks;
  };
  const Row rows[] = {
      {"fn f(x: f32[n]) -> f32[n] = x + x", 0},
      {"fn f(x: f32[n], m: i64) = x + zeros([m])", 3}, // m >= 0, m <= kLongestAxis, and n == m
      {"fn f(x: f32[n], y: f32[m]) { assert n == m\n print(x + y) }", 0},
      {"fn f(x: f32[n], y: f32[m]) -> f32[n] = y", 1},
      {"fn f(x: f32[n]) { let y = x[x > 0]\n print(y + x) }", 1},
      {"fn f(x: f32[n], m: i64) { let y = x + zeros([m])\n let z = y + zeros([m])\n print(z) }", 5}, // of sizes twice
      {"fn f(x: f32[n]) = x.reshape([3, -1])", 1},
      {"fn f(x: f32[n, 4]) = x.reshape([2 * n, 2])", 1}, // 2*n <= kLongestAxis
      {"fn f(x: f32[n]) { let h = n // 2\n print(x[:h] + x[h:2 * h]) }", 0},
      {"fn f(x: f32[n]) { assert n >= 1\n let y: f32[n - 1] = x[1:]\n print(y) }", 0},
      {"fn f(x: f32[n]) { for i in 0..n - 1 { let y: f32[2] = x[i:i + 2]\n print(y) } }", 0},
  };
  for (const Row& row : rows) {
    Checked c = check_text(row.program);
    INFO(row.program);
    INFO(c.messages());
    INFO(c.text());
    CHECK(c.kinds() == "");
    CHECK(count(c.text(), " check(") == row.checks);
  }
}

TEST_CASE("unknown bounds of slices stay small") {
  Checked c = check_text(
      "fn f(x: f32[n], i: i64, j: i64) { let y = x[i:j]\n let z = y[i:j]\n let w: f32[3] = z[i:j]\n print(w) }");
  CHECK(c.kinds() == "");
  CHECK(c.text().size() < 20000);
}

TEST_CASE("subscripts that are in range are known to be") {
  Checked c = check_text("fn f(x: f32[n, m]) {\n"
                         "  for i in 0..n { for j in 1..m { print(x[i, j] - x[i, j - 1]) } }\n"
                         "  print([x[i, j] for i, j])\n"
                         "}");
  CHECK(c.kinds() == "");
  CHECK(c.text().find('?') == std::string::npos);
  CHECK(check_text("fn f(x: f32[n]) = x[0]").text().find("0: i64?") != std::string::npos);
  CHECK(check_text("fn f(x: f32[n], i: i64) { if i >= 0 and i < n { print(x[i]) } }").text().find('?') ==
        std::string::npos);
}

TEST_CASE("variables whose sizes change in loops and branches") {
  Checked c = check_text("fn f(x: f32[n]) -> f32[_] {\n"
                         "  var y = x\n"
                         "  for i in 0..3 { y = concat((y, x)) }\n"
                         "  y\n"
                         "}\n"
                         "fn g(x: f32[n]) -> f32[n] {\n"
                         "  var y = x\n"
                         "  for i in 0..3 { y = y * 2.0 }\n"
                         "  y\n"
                         "}\n"
                         "fn h(x: f32[n], c: bool) -> f32[_] {\n"
                         "  var y = x\n"
                         "  if c { y = x[1:] }\n"
                         "  y\n"
                         "}\n");
  INFO(c.messages());
  CHECK(c.kinds() == "");
  const typed::Instance* f = nullptr;
  const typed::Instance* g = nullptr;
  const typed::Instance* h = nullptr;
  for (const auto& i : c.program.instances)
    (i.name == "f" ? f : i.name == "g" ? g : h) = &i;
  REQUIRE((f && g && h));
  CHECK(f->body.statements[1].head.size() == 1);
  CHECK(f->body.statements[1].after.size() == 1);
  CHECK(g->body.statements[1].head.empty());
  CHECK(g->body.statements[1].after.empty());
  CHECK(h->body.statements[1].value->as<typed::IfExpr>().joins.size() == 1);
}

TEST_CASE("functions are instantiated per element type and rank, not per size") {
  Checked c = check_text("fn scale<T: num>(x: T[..s], by: T) -> T[..s] = x * by\n"
                         "print(scale([1.0, 2.0], 2.0), scale([1.0, 2.0, 3.0], 2), scale([[1]], 3))\n");
  INFO(c.messages());
  CHECK(c.kinds() == "");
  size_t instances = 0;
  for (const auto& i : c.program.instances)
    instances += i.name == "scale";
  CHECK(instances == 2);
}

TEST_CASE("defaults, named arguments, methods and functions as arguments") {
  expect_type("fn f(a: i64, b: i64 = a * 2, c: f64 = 1.0) -> f64 = f64(a + b) * c\nlet x = f(1, c = 2)", "x", "f64");
  expect_type("fn f(x: f32[n], k: f32[n] = zeros([n])) -> f32[n] = x + k\nlet y = [1.0].f()", "y", "f32[1]");
  expect_type("fn twice(f, x) = f(f(x))\nlet y = twice(sin, 1.0)", "y", "f32");
  expect_type("fn twice(f, x) = f(f(x))\nfn inc(x: i64) -> i64 = x + 1\nlet y = twice(inc, 1)", "y", "i64");
  expect_type("fn fact(n: i64) -> i64 = if n <= 1 { 1 } else { n * fact(n - 1) }\nlet y = fact(5)", "y", "i64");
  expect_type("fn f(n: i64) {\n  let scale = 2.0\n  fn g(x: f32[m]) -> f32[m] = x * scale\n  let y = g(zeros([n]))\n  "
              "print(y)\n}",
              "y", "f32[n]");
}

TEST_CASE("main is the command line") {
  Checked c = check_text("## Scales.\nfn main(\n  ## the data\n  x: f32[n, 3],\n  by: f32 = 2.0, name: str = \"a\"\n) "
                         "-> f32[n, 3] = x * by");
  INFO(c.messages());
  REQUIRE(c.kinds() == "");
  const ProgramInterface& i = c.program.interface;
  CHECK(i.doc == "Scales.");
  REQUIRE(i.params.size() == 3);
  CHECK(i.params[0].kind == ParamInfo::Kind::Tensor);
  CHECK(i.params[0].doc == "the data");
  CHECK(i.params[0].type_text == "f32[n, 3]");
  CHECK(i.params[0].rank == 2);
  CHECK(i.params[1].has_default);
  CHECK(i.params[1].default_text == "2.0");
  CHECK(i.params[2].kind == ParamInfo::Kind::Str);
  REQUIRE(i.results.size() == 1);
  CHECK(i.results[0].rank == 2);
  CHECK(c.program.entry_params[1].given.valid());
  CHECK(count(c.text(), " check(") == 1); // the 3 of the file
}

TEST_CASE("load without a type reads the header") {
  CheckOptions options;
  options.read_header = [](const std::string& path, const std::string& name, LoadOptions load,
                           const Type*) -> FileHeader {
    if (path == "x.npy") return {DType::F64, {3, 4}, "", false};
    if (path == "x.npz" && name == "b" && load.kind == FileKind::Npz) return {DType::I8, {5}, "", false};
    return {DType::F32, {}, "it is not there", true};
  };
  Checked c = check_text("let x = load(\"x.npy\")\nlet y = x.sum(axis = 0)", options);
  INFO(c.messages());
  CHECK(c.kinds() == "");
  CHECK(c.type_of("y").starts_with("f64["));
  CHECK(check_text("let x = load(\"y.npy\")", options).kinds() == "IoError");
  CHECK(check_text("let x = read_npz(\"x.npz\", \"b\")", options).type_of("x").starts_with("i8["));
  CHECK(check_text("let x = read_npz(\"x.npz\", \"c\")", options).kinds() == "IoError");
  CHECK(check_text("let x = read_csv(\"x.csv\")", options).type_of("x").starts_with("f64["));
  CHECK(check_text("let (a, b): (f32[n], i64) = load(\"x.npz\")", options).kinds() == "");
  CHECK(check_text("let x: f32[_] = load(\"x.png\", channels = 5)", options).kinds() == "WrongArguments");
  CHECK(check_text("save(\"x.npz\", \"text\")", options).kinds() == "TypeMismatch");
  CHECK(check_text("let s: str = read_text(1)", options).kinds() == "TypeMismatch");
}

TEST_CASE("tests see top-level lets, and functions capture them") {
  Checked c = check_text("let scale = 2.0\nfn f(x: f32) -> f32 = x * scale\nfn g(x: f32) -> f32 = f(x)\n"
                         "test \"scaled\" { assert g(1.0) == scale }\nprint(g(1.0))");
  INFO(c.messages());
  REQUIRE(c.kinds() == "");
  REQUIRE(c.program.tests.size() == 1);
  for (const auto& i : c.program.instances)
    CHECK(i.captures.size() == 1);
}

TEST_CASE("sizes: what fits, what wraps, and what is proven of it") {
  SizeAtoms atoms;
  auto add = [&](AtomKind kind, const char* name) {
    SizeAtom atom;
    atom.kind = kind;
    atom.name = name;
    atom.not_negative = kind == AtomKind::Named;
    return Size::of(atoms.add(atom));
  };
  const Size n = add(AtomKind::Named, "n"), k = add(AtomKind::Value, "k"), j = add(AtomKind::Value, "j");
  const Size most = INT64_MAX;
  CHECK((most + Size(1)).is_too_large());
  CHECK((n * most * Size(2)).is_too_large());
  CHECK_FALSE(atoms.proves_not_negative(most * n + most * n));
  CHECK(atoms.fits(Size(2) * n + Size(1)));
  CHECK_FALSE(atoms.fits(n * n));
  CHECK_FALSE(atoms.fits(k + Size(1)));
  // 7*k may wrap: nothing is known of it, until k is known to be small.
  const Size seven = atoms.i64_product(k, 7);
  CHECK(seven.as_atom());
  CHECK(atoms.unwrapped(seven) == Size(7) * k);
  SizeFacts facts;
  facts.not_negative.push_back(k);
  CHECK_FALSE(atoms.proves_not_negative(seven, facts));
  facts.not_negative.push_back(n - k - Size(1));
  CHECK(atoms.proves_not_negative(seven, facts));
  CHECK(atoms.proves_not_negative(Size(7) * n - seven - Size(7), facts));
  // The same polynomial is the same number, however it came about.
  CHECK(atoms.i64_sum(atoms.i64_product(k, 3), atoms.i64_product(k, 4)) == seven);
  CHECK(atoms.i64_sum(atoms.i64_sum(k, 5), -5) == k);
  CHECK(atoms.i64_sum(most, 1).is(INT64_MIN));
  // Remainders and choices have the bounds of what they are, not of what they are put together from.
  CHECK(atoms.fits(atoms.mod(k, 8) + Size(1)));
  CHECK_FALSE(atoms.proves_not_negative(n - atoms.mod(k, 4294967296) - Size(1)));
  CHECK(atoms.range_of(atoms.mod(k, 8)) == std::pair<int64_t, int64_t>(0, 7));
  CHECK(atoms.range_of(atoms.clip(k, 3, 9)) == std::pair<int64_t, int64_t>(3, 9));
  CHECK(atoms.range_of(atoms.min(atoms.max(j, 0), n)) == std::pair<int64_t, int64_t>(0, kLongestAxis));
  CHECK(atoms.computes(atoms.max(k, j)));
  CHECK_FALSE(atoms.computes(atoms.floor_div(n * n, 2)));
}

TEST_CASE("sizes: normal forms, comparison and printing") {
  SizeAtoms atoms;
  auto named = [&](const char* name) {
    SizeAtom atom;
    atom.kind = AtomKind::Named;
    atom.name = name;
    atom.not_negative = true;
    return Size::of(atoms.add(atom));
  };
  Size n = named("n"), m = named("m");
  CHECK(Size(1) + n == n + Size(1));
  CHECK(Size(2) * (n + m) == n * Size(2) + m * Size(2));
  CHECK(atoms.to_string(Size(2) * n + Size(1)) == "2*n + 1");
  CHECK(atoms.to_string(n - m) == "n - m");
  CHECK(atoms.to_string(atoms.min(n, m)) == "min(n, m)");
  CHECK(atoms.to_string(atoms.floor_div(n, 2)) == "n // 2");
  CHECK(atoms.to_string(atoms.mod(n, 4)) == "n % 4");
  CHECK(atoms.min(n, m) == atoms.min(m, n));
  CHECK(atoms.max(n, m) == atoms.max(m, n));
  CHECK(atoms.floor_div(Size(4) * n + Size(3), 4) == n);
  CHECK(atoms.floor_div(n, 4) * Size(4) + atoms.mod(n, 4) == n);
  CHECK(atoms.clip(n + Size(5), 0, n) == n);
  CHECK(n - atoms.min(n, 1) == atoms.clip(n - Size(1), 0, n));
  CHECK(atoms.compare(n, n + Size(1)) == Compare::Different);
  CHECK(atoms.compare(n, m) == Compare::Unknown);
  CHECK(atoms.compare(n, Size(2) * n) == Compare::Unknown);
  SizeFacts facts;
  facts.equal.push_back({*m.as_atom(), n + Size(1)});
  CHECK(atoms.compare(m, n + Size(1), facts) == Compare::Equal);
  CHECK(atoms.compare(m, n, facts) == Compare::Different);
  facts.not_negative.push_back(n - Size(3));
  CHECK(atoms.proves_not_negative(n - Size(2), facts));
  CHECK_FALSE(atoms.proves_not_negative(n - Size(4), facts));
  CHECK(atoms.proves_not_negative(n - atoms.floor_div(n, 2)));
  CHECK(divide_exactly(n * m, n) == m);
  CHECK_FALSE(divide_exactly(n + Size(1), n));
  auto value = [&](AtomId id) { return atoms[id].name == "n" ? int64_t{7} : int64_t{3}; };
  CHECK(atoms.evaluate(atoms.mod(n, 4), value) == 3);
  CHECK(atoms.evaluate(atoms.min(n, m), value) == 3);
  CHECK(atoms.evaluate(atoms.max(n, m) * m + Size(1), value) == 22);
}

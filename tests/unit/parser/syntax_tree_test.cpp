#include "parse_helper.h"
#include <doctest/doctest.h>

using namespace tl;
using test::tree;

TEST_CASE("operators bind as the language page says, loosest first") {
  CHECK(tree("a or b and not c == d") == "(or a (and b (not (== c d))))");
  CHECK(tree("a < b..c + d * e") == "(< a (.. b (+ c (* d e))))");
  CHECK(tree("a - b - c") == "(- (- a b) c)");
  CHECK(tree("a * b / c // d % e @ f") == "(@ (% (// (/ (* a b) c) d) e) f)");
  CHECK(tree("-a * b") == "(* (- a) b)");
  CHECK(tree("-a ** b") == "(- (** a b))");
  CHECK(tree("a ** -b ** c") == "(** a (- (** b c)))");
  CHECK(tree("a ** b ** c") == "(** a (** b c))");
  CHECK(tree("- - a") == "(- (- a))");
  CHECK(tree("not not a") == "(not (not a))");
  CHECK(tree("-x.f(a)[0].g") == "(- (field (at (method x f a) 0) g))");
  CHECK(tree("(a + b) * c") == "(* (+ a b) c)");
  CHECK(tree("(a < b) == c") == "(== (< a b) c)");
}

TEST_CASE("numbers") {
  CHECK(tree("42; 1_000; 0xff; 0b101; 0o17; 0") == "42\n1000\n255\n5\n15\n0");
  CHECK(tree("18446744073709551615") == "18446744073709551615");
  CHECK(tree("1.5; 1e-3; 1_0.2_5E+1") == "1.5\n1e-3\n10.25E+1");
  CHECK(tree("1..n") == "(.. 1 n)");
  CHECK(tree("1.0..n") == "(.. 1.0 n)");
  CHECK(tree("2.sqrt()") == "(method 2 sqrt)");
  CHECK(tree("2.5.sqrt()") == "(method 2.5 sqrt)");
  CHECK(tree("2.e3") == "(field 2 e3)");
}

TEST_CASE("strings are literal parts and inserted expressions") {
  CHECK(tree(R"("")") == R"("")");
  CHECK(tree(R"("a\n\t\"\\\r\0\u{3b1}")") == "\"a\\n\\t\\\"\\\\\\u{d}\\u{0}\xCE\xB1\"");
  CHECK(tree(R"("{{}}")") == R"("{}")");
  CHECK(tree(R"("{x}")") == "(string (insert x))");
  CHECK(tree(R"("a{x}b{y:.3}")") == R"((string "a" (insert x) "b" (insert y ".3")))");
  CHECK(tree(R"("{x[1:3]:>8}")") == R"((string (insert (at x (slice 1 3 -)) ">8")))");
  CHECK(tree(R"("{f("b{c}")}")") == R"((string (insert (call f (string "b" (insert c))))))");
  CHECK(tree(R"("{if a { 1 } else { 2 }}")") == "(string (insert (if a (do\n  1) (do\n  2))))");
  CHECK(tree(R"("{x:}")") == R"((string (insert x "")))");
  CHECK(tree("\"\"\"a \"b\"\n{x\n+ y}c\"\"\"") == R"((string "a \"b\"\n" (insert (+ x y)) "c"))");
  CHECK(tree("# { \"\nx") == "x");
}

TEST_CASE("tuples, lists, calls and subscripts") {
  CHECK(tree("(); (a,); (a); (a, b,); []; [a, [b],]") ==
        "(tuple)\n(tuple a)\na\n(tuple a b)\n(list)\n(list a (list b))");
  CHECK(tree("f(); f(a, b = c,); f(a)(b); (m.f)(a)") ==
        "(call f)\n(call f a (b = c))\n(call (call f a) b)\n(call (field m f) a)");
  CHECK(tree("x[i, -1, 1:3, ::2, :, a::b, ..., new, 0..n,]") ==
        "(at x i (- 1) (slice 1 3 -) (slice - - 2) (slice - - -) (slice a - b) ... new (.. 0 n))");
  CHECK(tree("zeros([..s, n])") == "(call zeros (list ..s n))");
  CHECK(tree("x.in.for.let()") == "(method (field (field x in) for) let)");
  CHECK(tree("none; true; false; _") == "none\ntrue\nfalse\n_");
}

TEST_CASE("comprehensions") {
  CHECK(tree("[e for i in 0..m, j]") == "(build e for (i in (.. 0 m)) j)");
  CHECK(tree("sum(e for k)") == "(call sum (each e for k))");
  CHECK(tree("list(e for (a, b) in xs if a > b)") == "(call list (each e for ((tuple a b) in xs) if (> a b)))");
  CHECK(tree("[sum(a[i,k] * b[k,j] for k) for i, j]") ==
        "(build (call sum (each (* (at a i k) (at b k j)) for k)) for i j)");
  CHECK(tree("x.sum(e for k)") == "(method x sum (each e for k))");
}

TEST_CASE("lambdas reach as far right as they can") {
  CHECK(tree("f(|x, y| x + y, z)") == "(call f (lambda (x y) (+ x y)) z)");
  CHECK(tree("let f = |x: f64, n| |y| x or y") == "(let f (lambda ((x: f64) n) (lambda (y) (or x y))))");
  CHECK(tree("let f = || 1; let g = |x| { x; 2 }") == "(let f (lambda () 1))\n(let g (lambda (x) (do\n  x\n  2)))");
}

TEST_CASE("if is an expression") {
  CHECK(tree("let x = if a { 1 } else if b { 2 } else { 3 }") ==
        "(let x (if a (do\n  1) (do\n  (if b (do\n    2) (do\n    3)))))");
  CHECK(tree("if a { }") == "(if a (do))");
  CHECK(tree("if a { 1 }\n\n# comment\nelse { 2 }") == "(if a (do\n  1) (do\n  2))");
  CHECK(tree("1 + if a { 1 } else { 2 }") == "(+ 1 (if a (do\n  1) (do\n  2)))");
}

TEST_CASE("statements") {
  CHECK(tree("let (a, (_, b)): (i64, (i64, i64)) = e") == "(let (tuple a (tuple _ b)): (tuple i64 (tuple i64 i64)) e)");
  CHECK(tree("var x: f64[n] = e; const H = 128; const G: f64 = e") ==
        "(var x: f64[n] e)\n(const H 128)\n(const G: f64 e)");
  CHECK(tree("x = e; x[i, 1:3] = e; p.w[i].b += e; (a, _) = (b, a)") ==
        "(= x e)\n(= (at x i (slice 1 3 -)) e)\n(+= (field (at (field p w) i) b) e)\n(= (tuple a _) (tuple b a))");
  CHECK(tree("x -= 1; x *= 1; x /= 1; x //= 1; x %= 1; x @= 1; x **= 1") ==
        "(-= x 1)\n(*= x 1)\n(/= x 1)\n(//= x 1)\n(%= x 1)\n(@= x 1)\n(**= x 1)");
  CHECK(tree("for i in 0..n, (a, b) in list { break; continue }") ==
        "(for (i in (.. 0 n)) ((tuple a b) in list) (do\n  (break)\n  (continue)))");
  CHECK(tree("while c { return }\nreturn x") == "(while c (do\n  (return)))\n(return x)");
  CHECK(tree("assert c; assert c, \"m {x}\"") == "(assert c)\n(assert c (string \"m \" (insert x)))");
}

TEST_CASE("declarations") {
  CHECK(tree("fn f(x: f32[..s], by: f32 = 2.0,) -> f32[..s] = x * by") ==
        "(fn f ((x: f32[..s]) (by: f32 = 2.0)) -> f32[..s] (* x by))");
  CHECK(tree("fn norm<T: float, U, V: int = i64, W = f32>(x: T[2*n + 1, _]) { x }") ==
        "(fn norm (types (T: float) U (V: int = i64) (W = f32)) ((x: T[(+ (* 2 n) 1) _])) (do\n  x))");
  CHECK(tree("fn f(g: fn(A, B) -> fn() -> C, h: fn(A)) -> () { }") ==
        "(fn f ((g: (fn (A B) (fn () C))) (h: (fn (A) (tuple)))) -> (tuple) (do))");
  CHECK(tree("export fn f() = 1") == "(export fn f () 1)");
  CHECK(tree("struct L<T: float = f32>[i, o] { w: T[i, o], b: T[o] }") ==
        "(struct L (types (T: float = f32)) (sizes i o) (w: T[i o]) (b: T[o]))");
  CHECK(tree("struct P {\n  a: List<f32>\n  state b: nn.Linear<f32>[1, n]\n\n  c: (A,),\n}") ==
        "(struct P (a: List<f32>) (state b: nn.Linear<f32>[1 n]) (c: (tuple A)))");
  CHECK(tree("import nn; import \"./u.tl\" as util; import optim as o") ==
        "(import nn)\n(import \"./u.tl\" as util)\n(import optim as o)");
  CHECK(tree("test \"name\" { assert c }") == "(test \"name\" (do\n  (assert c)))");
  CHECK(tree("fn f(x: T) -> T", {.is_library = true}) == "(fn f ((x: T)) -> T builtin)");
}

TEST_CASE("words that are keywords only in their place") {
  CHECK(tree("on gpu(1) { x }") == "(on (call gpu 1) (do\n  x))");
  CHECK(tree("on d { }; on (d) { }") == "(on d (do))\n(on d (do))");
  CHECK(tree("on(3); on = 4; on + 1; on; let test = export") ==
        "(call on 3)\n(= on 4)\n(+ on 1)\non\n(let test export)");
  CHECK(tree("test = 1; as + state; export(x)") == "(= test 1)\n(+ as state)\n(call export x)");
}

TEST_CASE("documentation comments belong to what they stand above or behind") {
  CHECK(tree("## The file.\n## Two lines.\n\n## Of f.\nfn f(\n  ## first\n  a: i64,\n  b: i64, ## second\n  c) = 1 ## "
             "no") == "(doc \"The file.\\nTwo lines.\")\n"
                      "(fn f ((a: i64 doc \"first\") (b: i64 doc \"second\") c) doc \"Of f.\" 1)");
  CHECK(tree("struct S {\n  ## of a\n  a: A\n  b: B ## of b\n}") ==
        "(struct S (a: A doc \"of a\") (b: B doc \"of b\"))");
  CHECK(tree("## of H\nconst H = 1\n# plain\nlet x = 1 ## of x") == "(const H 1 doc \"of H\")\n(let x 1 doc \"of x\")");
  CHECK(tree("## too far\n\n\nx\n## too far\n\nlet y = 1") == "(doc \"too far\")\nx\n(let y 1)");
}

TEST_CASE("spans reach from the first to the last byte") {
  SourceManager sources;
  Diagnostics diagnostics;
  std::string text = "let q = \"a {b + c:.2}\"; x[ :2] = (y + z).f(1)";
  FileId file = sources.add("t.tl", text);
  ast::File parsed = parse(sources, file, diagnostics);
  REQUIRE(parsed.statements.size() == 2);
  auto written = [&](Span span) { return std::string(sources.text(span)); };
  const ast::Expr* string = ast::as<ast::Let>(parsed.statements[0])->value;
  CHECK(written(string->span) == "\"a {b + c:.2}\"");
  const ast::StringPart& part = ast::as<ast::StringLiteral>(string)->parts[1];
  CHECK(written(part.span) == "{b + c:.2}");
  CHECK(written(part.format_span) == ":.2");
  CHECK(written(part.value->span) == "b + c");
  CHECK(written(ast::as<ast::Binary>(part.value)->op_span) == "+");
  const ast::Assign* assign = ast::as<ast::Assign>(parsed.statements[1]);
  CHECK(written(parsed.statements[1]->span) == "x[ :2] = (y + z).f(1)");
  CHECK(written(ast::as<ast::Subscript>(assign->target)->items[0].span) == ":2");
  const ast::MethodCall* call = ast::as<ast::MethodCall>(assign->value);
  REQUIRE(call);
  CHECK(written(call->receiver->span) == "(y + z)");
  CHECK(written(call->name.span) == "f");
  CHECK(written(assign->value->span) == "(y + z).f(1)");
}

#include "parse_helper.h"
#include <doctest/doctest.h>

using namespace tl;
using test::errors;
using test::tree;

TEST_CASE("a newline ends a statement") {
  CHECK(tree("a\nb\n\n  c;;d\n;\ne") == "a\nb\nc\nd\ne");
  CHECK(tree("a\r\nb\r\n") == "a\nb");
  CHECK(tree("x\n(a, b)") == "x\n(tuple a b)");
  CHECK(tree("x\n[a]") == "x\n(list a)");
  CHECK(tree("x\n-y") == "x\n(- y)");
  CHECK(tree("\xEF\xBB\xBFx") == "x"); // a byte order mark is not a statement
}

TEST_CASE("the innermost bracket decides") {
  CHECK(tree("f(a\n,\nb\n)") == "(call f a b)");
  CHECK(tree("[a\n+ b]") == "(list (+ a b))");
  CHECK(tree("f(|x| {\n let y = x\n y\n}\n, 2)") == "(call f (lambda (x) (do\n  (let y x)\n  y)) 2)");
  CHECK(tree("fn f() { a\nb }") == "(fn f () (do\n  a\n  b))");
  CHECK(tree("if c { a; b }") == "(if c (do\n  a\n  b))");
}

TEST_CASE("a line goes on after an operator, a comma, `=`, `->`, `and or not in`") {
  for (std::string op : {"+", "-", "*", "/", "//", "%", "@", "**", "==", "!=", "<", "<=", ">", ">=", "and", "or"})
    CHECK(tree("a " + op + "\n\n # comment\n b") == "(" + op + " a b)");
  CHECK(tree("a ..\nb") == "(.. a b)");
  CHECK(tree("x = not\n a") == "(= x (not a))");
  CHECK(tree("let x =\n 1\ny +=\n 2") == "(let x 1)\n(+= y 2)");
  CHECK(tree("fn f() ->\n i64 = 1") == "(fn f () -> i64 1)");
  CHECK(tree("assert a,\n \"m\"") == "(assert a \"m\")");
  CHECK(tree("for i in\n x { }") == "(for (i in x) (do))");
}

TEST_CASE("a line goes on where the next begins with .name or else") {
  CHECK(tree("x\n  .f()\n\n  # comment\n  .g") == "(field (method x f) g)");
  CHECK(tree("x\n.in") == "(field x in)");
  CHECK(tree("if a { }\nelse { }") == "(if a (do) (do))");
  CHECK(tree("if a { }\nelse if b { }\n\nelse { }") == "(if a (do) (do\n  (if b (do) (do))))");
}

TEST_CASE("nothing else continues a line") {
  CHECK(errors("a\n+ b") == "2:1 SyntaxError expected a statement, but found `+`");
  CHECK(errors("let x\n= 1") == "1:6 SyntaxError expected `:` or `=`, but the line ends\n"
                                "2:1 SyntaxError expected a statement, but found `=`");
  CHECK(errors("if a\n{ }") == "1:5 SyntaxError expected `{`, but the line ends\n"
                               "2:1 SyntaxError expected a statement, but found `{`");
}

TEST_CASE("`>` after a type is no operator") {
  CHECK(tree("let x: List<f32>= e") == "(let x: List<f32> e)");
  CHECK(tree("let x: List<List<f32>>= e") == "(let x: List<List<f32>> e)");
  CHECK(tree("fn f(x: nn.P<f32>= 1) = x >= 2") == "(fn f ((x: nn.P<f32> = 1)) (>= x 2))");
  CHECK(tree("struct S {\n a: List<f32>\n b: A\n}") == "(struct S (a: List<f32>) (b: A))");
  CHECK(tree("x[a:b < c, d >= e]") == "(at x (slice a (< b c) -) (>= d e))");
  CHECK(tree("let y = a < b; let z = c >= d") == "(let y (< a b))\n(let z (>= c d))");
}

TEST_CASE("`||` is a lambda where an operand may stand") {
  CHECK(tree("f(|| 1)") == "(call f (lambda () 1))");
  CHECK(errors("a || b") == "1:3 BadCharacter `||` is written `or`");
}

TEST_CASE("tokens are dumped one a line") {
  SourceManager sources;
  Diagnostics diagnostics;
  FileId file = sources.add("t.tl", "let x =\n  \"a{b:.1}\"\nx >= 0x10");
  CHECK(dump_tokens(sources, file, diagnostics) == "1:1 let\n1:5 name x\n1:7 =\n2:3 string begin\n2:4 text a\n"
                                                   "2:5 interpolation begin\n2:6 name b\n2:7 format .1\n"
                                                   "2:10 interpolation end\n2:11 string end\n2:12 end of statement\n"
                                                   "3:1 name x\n3:3 >=\n3:6 integer 0x10\n3:10 end of file\n");
}

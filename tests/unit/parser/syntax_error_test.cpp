#include "parse_helper.h"
#include <doctest/doctest.h>
#include <random>

using namespace tl;
using test::errors;
using test::hint;

TEST_CASE("characters and literals that are none") {
  CHECK(errors("a && b") == "1:3 BadCharacter `&&` is written `and`");
  CHECK(errors("!a") == "1:1 BadCharacter `!` is written `not`");
  CHECK(errors("a ^ b") == "1:3 BadCharacter `^` is not used in tl");
  CHECK(errors("a \xE2\x89\xA4 b") == "1:3 BadCharacter `\xE2\x89\xA4` is not used in tl");
  CHECK(errors("a = 'x'") == "1:5 BadCharacter strings stand in double quotes");
  CHECK(errors(std::string("a\0b", 3)) == "1:2 BadCharacter stray control character 0x00");
  CHECK(errors("a = \"\xFF\"") == "1:6 InvalidUtf8 byte 0xff is not valid UTF-8");
  CHECK(errors("# \xC0\x80\nx") == "1:3 InvalidUtf8 byte 0xc0 is not valid UTF-8");
  CHECK(errors("x = 12ab") == "1:5 BadNumber `12ab` is not a number");
  CHECK(errors("x = 1__0 + 1_") == "1:5 BadNumber `_` stands only between digits\n"
                                   "1:12 BadNumber `_` stands only between digits");
  CHECK(errors("x = 0xfg") == "1:5 BadNumber `0xfg` has a digit that base 16 does not have");
  CHECK(errors("x = 99999999999999999999") ==
        "1:5 BadNumber `99999999999999999999` is larger than any integer type holds");
  CHECK(hint("x = 2j") == "an imaginary number is written `2i`");
  CHECK(hint("x = 1.5f") == "a literal takes the type that its context wants; or write `f32(1.5)`");
}

TEST_CASE("strings that go wrong") {
  CHECK(errors("x = \"ab\ny = \"c") == "1:5 UnterminatedString this string is not closed on its line\n"
                                       "2:5 UnterminatedString this string is not closed on its line");
  CHECK(errors("x = \"\"\"ab\n\"") == "1:5 UnterminatedString this string is never closed");
  CHECK(errors("x = \"a {b\" + 1\ny = ]") == "1:5 UnterminatedString this string is not closed on its line\n"
                                             "2:5 UnclosedBracket this `]` closes nothing");
  CHECK(errors("x = \"a } b \\q \\u{110000}\"") == "1:8 BadEscape a lone `}` in a string\n"
                                                   "1:12 BadEscape `\\q` is not an escape\n"
                                                   "1:15 BadEscape `\\u{110000}` names no character");
  CHECK(errors("x = \"{}\"") == "1:7 SyntaxError expected an expression, but found `}`");
  CHECK(errors("x = \"{a b}\"") == "1:9 SyntaxError expected `:` and a format or `}`, but found `b`");
}

TEST_CASE("brackets that do not match are reported where they open, once") {
  CHECK(errors("f(a,\nlet x = 1\nlet y = ") == "1:2 UnclosedBracket this `(` is never closed\n"
                                               "3:8 SyntaxError expected an expression, but the file ends");
  CHECK(errors("fn f() {\n  g(a\n}\nlet = 1") == "2:4 UnclosedBracket this `(` is never closed\n"
                                                 "4:5 SyntaxError expected a name, but found `=`");
  CHECK(errors("fn f() {\n  x\n") == "1:8 UnclosedBracket this `{` is never closed");
  CHECK(errors("fn f() {\n  if a {\n  b\n}\n\nfn g() { }\n") == "1:8 UnclosedBracket this `{` is never closed");
  CHECK(errors("x = [1, 2)\ny") == "1:5 UnclosedBracket this `[` is never closed\n"
                                   "1:10 UnclosedBracket this `)` closes nothing");
  CHECK(errors("a }\nb") == "1:3 UnclosedBracket this `}` closes nothing");
}

TEST_CASE("every broken statement is reported, and the ones between are read") {
  CHECK(errors("let = 1\nlet y = 2\ny y\nfn f() {\n  x +\n}\nlet z = )\n1 2") ==
        "1:5 SyntaxError expected a name, but found `=`\n"
        "3:3 SyntaxError expected the end of the statement, but found `y`\n"
        "5:6 SyntaxError expected an expression, but the line ends\n"
        "7:9 UnclosedBracket this `)` closes nothing\n"
        "8:3 SyntaxError expected the end of the statement, but found `2`");
}

TEST_CASE("a broken header does not hide its block") {
  for (std::string header : {"if x = 3", "while x = 3", "for x = 3", "fn f(x y)", "fn 3()", "on x = 3", "test \"a\" b",
                             "let q = if x = 3", "f(if x = 3", "if a { } else if b = c"})
    CHECK_MESSAGE(errors(header + " {\n  let\n}" + (header.starts_with("f(") ? ")" : "") + "\nlet")
                      .ends_with("\n2:6 SyntaxError expected a name, but the line ends\n"
                                 "4:4 SyntaxError expected a name, but the file ends"),
                  header);
  CHECK(errors("while if x: y\nz z") == "1:11 SyntaxError expected `{`, but found `:`\n"
                                        "2:3 SyntaxError expected the end of the statement, but found `z`");
  CHECK(errors("fn g(x y) -> f32 = if c { 1 } else { 2 }\nz") ==
        "1:8 SyntaxError expected `)`, `,`, `:` or `=`, but found `y`");
}

TEST_CASE("fields of a struct recover one by one") {
  CHECK(errors("struct S {\n a f32\n b: 3\n c: A\n}\nlet") == "2:7 SyntaxError expected `:`, but the line ends\n"
                                                              "3:5 SyntaxError expected a type, but found `3`\n"
                                                              "6:4 SyntaxError expected a name, but the file ends");
}

TEST_CASE("what the grammar alone would accept") {
  CHECK(errors("a < b < c") == "1:7 ChainedComparison comparisons do not chain");
  CHECK(errors("a + b < c; (a < b) == c; not a < b; a < b and c < d") == "");
  CHECK(errors("a == b != c") == "1:8 ChainedComparison comparisons do not chain");
  CHECK(hint("a < b < c") == "write `… < b and b < …`");
  CHECK(errors("f(x) = 1") == "1:1 InvalidTarget this cannot be assigned to");
  CHECK(errors("(a, b) += c") == "1:1 InvalidTarget `+=` does not take a tuple");
  CHECK(errors("a + b = c") == "1:1 InvalidTarget this cannot be assigned to");
  CHECK(errors("f(a = 1, 2)") == "1:10 ArgumentOrder a positional argument follows a named one");
  CHECK(errors("[e for i if c]") ==
        "1:13 SyntaxError a tensor has an element for every index, so it takes no `if` filter");
  CHECK(errors("for i, j in x { }") == "1:5 SyntaxError a loop index needs something to run over");
  CHECK(errors("fn f(x)") == "1:4 SyntaxError function `f` has no body");
  CHECK(errors("import \"a{b}\"") == "1:10 SyntaxError the path of an import takes no `{…}`");
  CHECK(errors("fn f() { import nn }") == "1:10 SyntaxError `import` is only allowed at the top level of a file");
}

TEST_CASE("hints for the habits of other languages") {
  CHECK(hint("def f(x) { }") == "a function is declared with `fn`: `fn f(x) = …`");
  CHECK(hint("let f = lambda x: x") == "a function without a name is written `|x| x + 1`");
  CHECK(hint("if a { } elif b { }") == "write `else if`");
  CHECK(hint("let x = 3_i64") == "a literal takes the type that its context wants; or write `i64(3)`");
  CHECK(hint("struct A { x: f32\n fn get(a) = a }") ==
        "functions stand outside of structs: `fn f(a: A)`, and `a.f()` calls it");
  CHECK(hint("let x: [f32] = [1.0]") == "the type of a tensor is `f32[n]`, of a list `List<f32>`");
  CHECK(hint("let f = x -> x + 1") == "a function without a name is written `|x| x + 1`");
  CHECK(hint("print(a .* b)") == "operators work on each element of a tensor: `a * b`");
  CHECK(hint("let a = [1 2]") ==
        "elements are separated by commas, and rows are lists of their own: `[[1, 2], [3, 4]]`");
  CHECK(hint("switch (3) {\n}") == "choose with `if c { } else if d { } else { }`");
  CHECK(hint("fn f(x) x + 1") == "the body of a function follows `=`, or stands in braces: `fn f(x) = x + 1`");
  CHECK(hint("fn f(x) List<f32> = x") == "the type of a result is written `-> List<f32>`");
  CHECK(hint("import linalg, nn") == "each module has a line of its own: `import linalg`");
  CHECK(hint("enum E { A, B }") == "there are no enumerations: name numbers, `const red = 0`");
  CHECK(hint("use linalg") == "write `import name`");
  CHECK(hint("x = 1.5 as i64") == "a conversion is written as a call: `i64(1.5)`");
  CHECK(hint("for i = 1:3 { }") == "write `for i in 0..n { }`");
  CHECK(hint("fn f(a: f32[:, :]) = a").starts_with("an axis of any size is `_`"));
  CHECK(hint("x = P(x: 1.0)") == "an argument is named by `=`: `f(x = 1.0)`");
  CHECK(hint("let [a, b] = c") == "a tuple is taken apart by `let (a, b) = e`; elements are `x[0]`");
  CHECK(hint("if b not in v { }").starts_with("to look something up write `not any(x == a)`"));
  CHECK(hint("if b in v { }").starts_with("`in` belongs to `for`"));
  CHECK(hint("struct S { x: f32 = 0.1 }").starts_with("fields have no values of their own"));
  CHECK(hint("struct S {\n  y: i64,\n  x: f32 = 0.1\n}").starts_with("fields have no values of their own"));
  CHECK(hint("if a { }\nelif b { }") == "write `else if`");
  CHECK(hint("if a: b") == "a block is written in braces: `{ … }`");
  CHECK(hint("if a = b { }") == "`==` compares; `=` only assigns, as a statement of its own");
  CHECK(hint("let a, b = c") == "to take a tuple apart write `let (a, b) = e`");
  CHECK(hint("return a, b") == "a tuple is written in parentheses: `(a, b)`");
  CHECK(hint("x++") == "to add one write `x += 1`");
  CHECK(hint("let mut x = 1") == "a variable that changes is declared with `var`");
  CHECK(hint("print x") == "a call takes parentheses: `print(x)`");
  CHECK(hint("x: f32 = 1") == "a variable is declared with `let` or `var`: `let x: f32 = e`");
  CHECK(hint("x = .5") == "a number begins with a digit: `0.5`");
  CHECK(hint("t.0") == "an element of a tuple is `t[0]`");
  CHECK(hint("fn f(n) = if n == 0 { 1 } else { 2 } print(f(5))") ==
        "statements go on lines of their own, or are separated by `;`");
  CHECK(hint("if x > 3 print(x)") == "the block is written in braces: `{ … }`");
  CHECK(hint("fn f(n: i64): i64 { n }") == "the type of a result is written `-> i64`");
  CHECK(hint("let f = x => x + 1") == "a function without a name is written `|x| x + 1`");
  CHECK(hint("let f = fn(x) { x + 1 }") == "a function without a name is written `|x| x + 1`");
  CHECK(hint("let f = |(a, b)| a + b") == "a lambda takes a tuple as one: `|p| p[0] + p[1]`");
  CHECK(hint("fn f(x: f32[3, ...]) = x") == "axes that there may be are `..s`: `f32[..s, n]`");
  CHECK(hint("for i in 0...n { }") == "a range is `a..b`, and ends before b");
  CHECK(hint("for i in 0..=n { }") == "a range ends before its second number: `0..n + 1`");
  CHECK(hint("for (i in 0..3) { }") == "write `for i in 0..n { }`, without parentheses");
  CHECK(hint("import linalg.inv") == "write `import linalg`, and then `linalg.name`");
  CHECK(hint("\"{:.2f}\"") == "the value stands before its format: `{x:.2f}`");
  CHECK(hint("sum(e for k, 1)") == "");
  CHECK(hint("f(a, e for k)") == "a comprehension must be the only argument of its call, or be written in `[ ]`");
}

TEST_CASE("depth is limited with a message, not by the stack") {
  auto repeat = [](std::string piece, int n) {
    std::string out;
    for (int i = 0; i < n; ++i)
      out += piece;
    return out;
  };
  auto too_deep = [](const std::string& text) { return errors(text).find("TooDeep") != std::string::npos; };
  CHECK_FALSE(too_deep("x = " + repeat("(", 15000) + "1" + repeat(")", 15000)));
  CHECK_FALSE(too_deep("x = 0" + repeat(" + 1", 15000)));
  CHECK_FALSE(too_deep("x = 0" + repeat(".f()", 15000)));
  CHECK_FALSE(too_deep("if a { }" + repeat(" else if a { }", 9000)));
  CHECK_FALSE(too_deep(repeat("if a { ", 1000) + repeat("}", 1000)));
  CHECK(too_deep(repeat("if a { ", 1500) + repeat("}", 1500)));
  CHECK(too_deep("x = " + repeat("[", 150) + repeat("]", 150)));
  CHECK(too_deep("fn f(x: " + repeat("List<", 150) + "f32" + repeat(">", 150) + ") = 1"));
  for (int n : {25000, 100000}) {
    CHECK(too_deep("x = " + repeat("(", n)));
    CHECK(too_deep("x = " + repeat("[", n) + repeat("]", n)));
    CHECK(too_deep("x = 0" + repeat(" + 1", n)));
    CHECK(too_deep("x = " + repeat("-", n) + "1"));
    CHECK(too_deep("x = " + repeat("2 ** ", n) + "1"));
    CHECK(too_deep("x = " + repeat("not ", n) + "a"));
    CHECK(too_deep("x = " + repeat("|a| ", n) + "a"));
    CHECK(too_deep("x" + repeat(".a", n)));
    CHECK(too_deep("x" + repeat("()", n)));
    CHECK(too_deep("if a { }" + repeat(" else if a { }", n)));
    CHECK(too_deep("fn f(x: " + repeat("fn() -> ", n) + "i64) = 1"));
    CHECK(too_deep(repeat("fn f() {", n)));
  }
}

// Random damage to real text: any outcome but a crash, a hang or a span outside the file will do.
TEST_CASE("no input makes the parser crash") {
  const std::string text = "## doc\nfn f<T: float>(x: T[n, ..s], by: List<f32>= 2.0) -> T {\n"
                           "  for i, j in 0..n { x[i, 1:3, ...] += [sum(a[i,k] for k) for i] }\n"
                           "  if a and not b { \"x {y:.3} {\"z\"}\" } else if |q| q { 1 }\n}\n"
                           "struct S[n] { w: f32[n], ## w\n state b: A\n}\nimport \"./u.tl\" as u\non gpu(1) { }\n"
                           "test \"t\" { assert a < 1e-3, \"\"\"m\n{c}\"\"\" }\n";
  const std::string pieces[] = {"{", "}", "(", ")", "[", "]",  "\"",   "\"\"\"", "\n", ";",    "if ",  "else ",
                                "=", ":", "|", ">", "<", "..", "for ", "fn ",    "##", "\xC3", "\\u{", "while if "};
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = text.substr(random() % text.size(), random() % text.size());
    for (unsigned i = random() % 8; i > 0 && !damaged.empty(); --i) {
      size_t at = random() % damaged.size();
      if (random() % 2)
        damaged.insert(at, pieces[random() % std::size(pieces)]);
      else
        damaged.erase(at, 1 + random() % 6);
    }
    SourceManager sources;
    Diagnostics diagnostics;
    FileId file = sources.add("t.tl", damaged);
    ast::File parsed = parse(sources, file, diagnostics);
    ast::to_text(parsed);
    for (const Diagnostic& d : diagnostics.sorted()) {
      REQUIRE(d.span.begin <= d.span.end);
      REQUIRE(d.span.end <= damaged.size());
      REQUIRE(!render(d, sources).empty());
    }
  }
}

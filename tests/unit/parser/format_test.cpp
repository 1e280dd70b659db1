// The formatter: layouts worked out by hand, and what must hold for every program that parses: same tree, same comments
// (format_source checks both) and a result that formatting leaves alone.
#include "parser/format/format.h"
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

using namespace tl;

namespace {

std::optional<std::string> formatted(const std::string& text) {
  SourceManager sources;
  Diagnostics diagnostics;
  return format_source(sources, sources.add("x.tl", text), diagnostics);
}

void check_layout(const std::string& text, const std::string& expected) {
  INFO(text);
  CHECK(formatted(text).value_or("(rejected)") == expected);
  CHECK(formatted(expected).value_or("(rejected)") == expected);
}

// Newlines and comments at random where brackets allow them: at blanks, behind opening brackets and before closing
// ones.
std::string mangled(const std::string& text, uint32_t seed) {
  std::mt19937 random(seed);
  std::string out, open;
  auto shake = [&] {
    switch (random() % 8) {
    case 0: out += "\n"; break;
    case 1: out += "   "; break;
    case 2: out += " # a comment behind\n\n\n"; break;
    case 3: out += "\n# one on its own\n"; break;
    case 4: out += " ## documentation\n"; break;
    default: break;
    }
  };
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool joins = !open.empty() && open.back() != '{';
    if (c == '#') {
      while (i < text.size() && text[i] != '\n')
        out += text[i++];
      out += '\n';
    } else if (c ==
               '"') { // up to the closing quote; texts with other strings inside end early and are only less mangled
      size_t end = text.find('"', i + 1);
      while (end != std::string::npos && text[end - 1] == '\\')
        end = text.find('"', end + 1);
      if (end == std::string::npos) return out + text.substr(i);
      out += text.substr(i, end + 1 - i);
      i = end;
    } else if (c == '(' || c == '[' || c == '{') {
      open += c;
      out += c;
      if (c != '{') shake();
    } else if (c == ')' || c == ']' || c == '}') {
      if (joins && c != '}') shake();
      if (!open.empty()) open.pop_back();
      out += c;
    } else {
      out += c;
      if (c == ' ' && joins) shake();
    }
  }
  return out;
}

} // namespace

TEST_CASE("spaces") {
  check_layout("let   x=1+2*  3", "let x = 1 + 2 * 3\n");
  check_layout("f( a,b , axis=0 , )", "f(a, b, axis = 0)\n");
  check_layout("x [ i+1 : n-1 : 2 , ... , new , : ]", "x[i+1:n-1:2, ..., new, :]\n");
  check_layout("for i in 0 .. n-1{ }", "for i in 0..n-1 {}\n");
  check_layout("fn f<T:float=f32>(x:T[..s,2 * n+1],by :T=2.0)->(T[n],)=- x",
               "fn f<T: float = f32>(x: T[..s, 2*n + 1], by: T = 2.0) -> (T[n],) = -x\n");
  check_layout("let g=|x,y:f32|not x==- y ** - 2", "let g = |x, y: f32| not x == -y ** -2\n");
  check_layout("let g=(|a,\n## of b\nb| a)", "let g = (\n  |a,\n    ## of b\n    b| a\n)\n");
  check_layout("let h = | | 1; let k = || 2", "let h = || 1\nlet k = || 2\n");
  check_layout("let f: fn(A,B)->List < f32 [n] >=g", "let f: fn(A, B) -> List<f32[n]> = g\n");
  check_layout("((a)) + (((b, c)))", "(a) + ((b, c))\n");
  check_layout("let (((a)), (b)): ((f32), (i64,)) = e", "let (a, b): (f32, (i64,)) = e\n");
  check_layout("print ( \"{ x :.3}  }}\" )", "print(\"{ x :.3}  }}\")\n");
  check_layout("struct P [ i,o ]{ w:f32[i,o],state b : f32[o] , }",
               "struct P[i, o] { w: f32[i, o], state b: f32[o] }\n");
  check_layout("import  \"./u.tl\"  as  u", "import \"./u.tl\" as u\n");
  check_layout("export   fn f( ) = 1", "export fn f() = 1\n");
  check_layout("on gpu( 1 ){ x }", "on gpu(1) { x }\n");
  check_layout("p . w [ i ] **= 2", "p.w[i] **= 2\n");
  check_layout("", "");
}

TEST_CASE("lines") {
  check_layout("a = 1; b = 2\n\n\n\nc = 3\n\n", "a = 1\nb = 2\n\nc = 3\n");
  check_layout("fn f() { let x = 1; x }", "fn f() {\n  let x = 1\n  x\n}\n");
  check_layout("fn f() {\n\n  x\n\n}", "fn f() {\n  x\n}\n");
  check_layout("if a { b } else { c }", "if a { b } else { c }\n");
  check_layout("if a { b } else {\nc }", "if a {\n  b\n} else {\n  c\n}\n");
  check_layout("if a { b }\nelse if c { d }\nelse { e; f }",
               "if a {\n  b\n} else if c {\n  d\n} else {\n  e\n  f\n}\n");
  check_layout("struct P {\n a: f32, b: i64\n\n\n c: str }", "struct P {\n  a: f32\n  b: i64\n\n  c: str\n}\n");
  check_layout("let k = [\n1, 2,\n3]", "let k = [\n  1,\n  2,\n  3,\n]\n");
  check_layout("x\n.f()\n  .g(1)", "x\n  .f()\n  .g(1)\n");
  check_layout("let y = a +\nb - c", "let y =\n  a +\n  b -\n  c\n");
  check_layout("fn f(x: f32[n]) -> f32[n] =\n  x * 2", "fn f(x: f32[n]) -> f32[n] =\n  x * 2\n");
  check_layout("let y = map(x, |a| { let b = a; b })", "let y = map(x, |a| {\n  let b = a\n  b\n})\n");
  check_layout("print(\"\"\"a \n  b\"\"\")", "print(\"\"\"a \n  b\"\"\")\n");
  check_layout("let a = 1\r\nlet b = 2\r\n", "let a = 1\nlet b = 2\n");
}

TEST_CASE("long lines") {
  std::string a(36, 'a'), b(36, 'b'), c(36, 'c');
  check_layout("let x = " + a + " + " + b + " * " + c, "let x =\n  " + a + " +\n  " + b + " * " + c + "\n");
  check_layout("f(" + a + ", " + b + ", " + c + ")", "f(\n  " + a + ",\n  " + b + ",\n  " + c + ",\n)\n");
  check_layout("fn f(" + a + ": f32, " + b + ": f32) -> f32 = 1",
               "fn f(" + a + ": f32, " + b + ": f32) -> f32 =\n  1\n");
  check_layout("fn f(" + a + ": f32, " + b + ": f32, c: i64) -> f32 = 1",
               "fn f(\n  " + a + ": f32,\n  " + b + ": f32,\n  c: i64,\n) -> f32 = 1\n");
  check_layout("let x = [" + a + "[i] + " + b + "[j] for i, j]", "let x = [" + a + "[i] + " + b + "[j] for i, j]\n");
  check_layout("let x = [" + a + "[i] + " + b + "[j] for i in 0..length, j in 0..m]",
               "let x = [\n  " + a + "[i] + " + b + "[j]\n  for i in 0..length, j in 0..m\n]\n");
  check_layout("let y = " + a + ".f(1)." + b + "(2)." + c + "()",
               "let y = " + a + "\n  .f(1)\n  ." + b + "(2)\n  ." + c + "()\n");
  check_layout("assert " + a + " == " + b + ", \"" + c + "\"", "assert " + a + " == " + b + ",\n  \"" + c + "\"\n");
  std::string numbers, rows;
  for (int i = 0; i < 60; ++i)
    numbers += (i ? ", " : "") + std::to_string(i % 10);
  check_layout("let x = [" + numbers + "]",
               "let x = [\n  " + numbers.substr(0, 98) + "\n  " + numbers.substr(99) + ",\n]\n");
}

TEST_CASE("comments") {
  check_layout("#!/usr/bin/env tl\n# a  \nlet x = 1# b\n\n\n## c\nfn f() = 1\n# d",
               "#!/usr/bin/env tl\n# a\nlet x = 1  # b\n\n## c\nfn f() = 1\n# d\n");
  check_layout("f(a, # first\nb # second\n)", "f(\n  a,  # first\n  b,  # second\n)\n");
  check_layout("f(a, b) # all", "f(a, b)  # all\n");
  check_layout("f( # why\n) # all", "f()  # why\n# all\n"); // one comment is not part of another
  check_layout("let x = [ # why\n] # all\nlet y = 1", "let x = []  # why\n# all\nlet y = 1\n");
  check_layout("f(\n# why\na)", "f(\n  # why\n  a,\n)\n");
  check_layout("f(a\n# the end\n)", "f(\n  a,\n  # the end\n)\n");
  check_layout("let x = a + # one\nb", "let x =\n  a +  # one\n  b\n");
  check_layout("let x = # why\n1", "let x =  # why\n  1\n");
  check_layout("let x =\n# why\n1", "let x =\n  # why\n  1\n");
  check_layout("fn f() { # what\n1 }", "fn f() {  # what\n  1\n}\n");
  check_layout("fn f() {\n# nothing\n}", "fn f() {\n  # nothing\n}\n");
  check_layout("fn f() { 1\n\n# end\n}", "fn f() {\n  1\n\n  # end\n}\n");
  check_layout("struct P { a: f32 ## one\nb: i64, ## two\n}", "struct P {\n  a: f32  ## one\n  b: i64  ## two\n}\n");
  check_layout("let a = 1     # x\nlet bc = 23   # y\nlet d = 4 # z",
               "let a = 1    # x\nlet bc = 23  # y\nlet d = 4  # z\n");
  check_layout("if a { b } # one\nelse { c } # two", "if a {\n  b\n}  # one\nelse {\n  c\n}  # two\n");
}

TEST_CASE("what does not parse is left alone") {
  SourceManager sources;
  Diagnostics diagnostics;
  CHECK(!format_source(sources, sources.add("x.tl", "let x = (1"), diagnostics));
  CHECK(diagnostics.has_errors());
}

TEST_CASE("every program of the repository, as it is and mangled") {
  namespace fs = std::filesystem;
  const char* elsewhere = std::getenv("TL_SOURCE_DIR"); // tests/run.sh says where it is
  const fs::path root = elsewhere ? elsewhere : TL_SOURCE_DIR;
  int programs = 0;
  for (const char* folder : {"samples", "stdlib", "tests", "bench"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".tl") continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      for (uint32_t seed = 0; seed < 4; ++seed) {
        INFO(entry.path().string(), " seed ", seed);
        std::string before = seed ? mangled(text.str(), seed) : text.str();
        INFO(before);
        std::optional<std::string> once;
        CHECK_NOTHROW(once = formatted(before));
        if (!once) continue;
        ++programs;
        CHECK(formatted(*once).value_or("(rejected)") == *once);
      }
    }
  CHECK(programs > 50);
}

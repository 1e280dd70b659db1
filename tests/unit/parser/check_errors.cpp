// What the checker rejects, and how it says so: a row is a program and the kinds of its diagnostics.
#include "check_helper.h"
#include <doctest/doctest.h>

using namespace tl;

namespace {

struct Row {
  const char* program;
  const char* kinds;        // in order of the text
  const char* message = ""; // must occur in what is shown
};

const Row rows[] = {
    // names
    {"print(x)", "UnknownName"},
    {"let value = 1\nprint(valeu)", "UnknownName", "did you mean `value`?"},
    {"print(sofmax([1.0]))", "UnknownName", "did you mean `softmax`?"},
    {"print(np.sum([1.0]))", "UnknownName", "without a prefix"},
    {"print(torch.zeros([1]))", "UnknownName", "without a prefix"},
    {"let a = True", "UnknownName", "write `true`"},
    {"print(exp10(2.0))", "UnknownName", "write `10.0 ** x`"},
    {"print([1.0].ravel())", "UnknownName", "write `flatten(x)`"},
    {"print(bartlett(3))", "UnknownName", "tl's has nothing like it"},
    {"print(inv([[1.0]]))", "UnknownName", "with `import linalg` it is `linalg.inv`"},
    {"print(linalg.inv([[1.0]]))", "UnknownName", "write `import linalg` at the top of the file"},
    {"let x = [[1.0]]\nprint(x[:, None])", "WrongIndex", "a new axis is written `new`"},
    {"let x = [[1.0]]\nprint(x[none])", "WrongIndex", "a new axis is written `new`"},
    {"fn f(a: f32[n, 3]) = a.shape[0] * 2.0", "MixedTypes", "`f32(a.shape[0])`"},
    {"fn f(x: f32[n]) = x\nprint(f(ones([3, 3])))", "TypeMismatch", "has to be f32[n], and this is f32[3, 3]"},
    {"print(abs(-3).max(2))", "WrongArguments", "hint: for the larger of two values `max(abs(-3), 2)`"},
    {"fn soft(x, axis) = softmax(x, axis = axis)\nprint(soft([1.0], 0))", "NotConstant", "a constant as its default"},
    {"let x = [1.0]\nprint(len x)", "SyntaxError", "a call takes parentheses: `len(x)`"},
    {"assert(1 > 0, \"text\")", "TypeMismatch", "`assert c, \"message\"`"},
    {"print(list(range(5)))", "NotSupported", "`list(i for i in 0..n)` a list"},
    {"let x = [1]\nprint(x.length)", "UnknownName", "write `len(x)`"},
    {"var l = list(1)\nl.pop()", "UnknownName", "`xs[:-1]` are the others"},
    {"if true then print(1)", "SyntaxError", "written in braces: `if c { a } else { b }`"},
    {"while true do print(1)", "SyntaxError", "written in braces: `while c { }`"},
    {"fn f() = 1\nfn f() = 2", "DuplicateName", "the first"},
    {"let x = 1\nx(2)", "NotCallable"},
    {"let x = [1.0]\nprint(x(0))", "NotCallable", "x[…]"},
    {"let x = 1\nx = 2", "NotAssignable", "`var y = x`"},
    {"fn f(x: i64) { x += 1 }", "NotAssignable"},
    {"for i in 0..3 { i = 1 }", "NotAssignable"},
    {"var x = 1\nfn f() = x\nprint(f())", "NotCaptured"},
    {"print(f())\nlet x = 1\nfn f() -> i64 = x", "UsedBeforeSet", "set here"},
    {"const A = B\nconst B = A\nprint(A)", "UnknownName UnknownName"},
    {"let v = 2\nconst C = v", "NotConstant"},
    {"fn f(x: f32[n]) -> f32[k] = x", "UnboundSize"},
    {"fn f(x: flot) = 1", "UnknownType"},
    {"fn f(x: float) = 1", "UnknownType", "write `f32`"},
    // numbers
    {"fn f(x: f32[n], i: i64) = x * i", "MixedTypes", "`f32(i)`"},
    {"fn f(a: f32, b: f64) = a + b", "MixedTypes", "`f64(a)`"},
    {"fn f(a: i64) = a / 2", "TypeMismatch", "`//` divides integers"},
    {"fn f(a: i64) = a + 1.5", "MixedTypes"},
    {"fn f(a: i64) = sqrt(a)", "TypeMismatch", "f32(a)"},
    {"let x: u8 = 300", "LiteralOutOfRange"},
    {"let x: i8 = -129", "LiteralOutOfRange"},
    {"let x: u8 = -1", "LiteralOutOfRange"},
    {"let x = 1e60\nlet y: f32 = 1e60", "LiteralOutOfRange LiteralOutOfRange"},
    {"print(mean([1, 2]))", "TypeMismatch", "f32("},
    {"print(true + 1)", "MixedTypes"},
    {"print(not 1)", "TypeMismatch", "!= 0"},
    {"let k = key(0)\nprint(k + k)", "TypeMismatch"},
    // conditions
    {"if 1 { }", "TypeMismatch", "`1 != 0`"},
    {"let a = [1.0]\nif a == a { }", "TypeMismatch", "`all(a == a)`"},
    {"let x = if true { 1 } else { \"a\" }", "TypeMismatch"},
    {"fn f(c: bool) -> i64 { if c { 1 } }", "MissingResult"},
    {"fn f(c: bool) -> i64 { }", "MissingResult"},
    // shapes
    {"fn f(x: f32[n], y: f32[m]) = x + y", "ShapeMismatch", "assert n == m"},
    {"fn f(x: f32[n], y: f32[n + 1]) = x + y", "ShapeMismatch", "n and n + 1"},
    {"fn f(x: f32[n, 784], w: f32[10, 784]) = x @ w", "ShapeMismatch", "`w.T`"},
    {"fn f(x: f32[n, k], w: f32[m, n]) = x @ w", "ShapeMismatch"},
    {"print([1.0, 2.0] + [1.0, 2.0, 3.0])", "ShapeMismatch", "2 and 3"},
    {"let x: f32[3] = [1.0, 2.0]", "ShapeMismatch"},
    {"print([[1.0], [1.0, 2.0]])", "ShapeMismatch"},
    {"fn f(x: f32[n]) -> f32[n + 1] = x", "ShapeMismatch", "axis 0 is n, not n + 1"},
    {"fn f(x: f32[2, 3]) = x.reshape([7])", "ShapeMismatch"},
    {"fn f(x: f32[2]) = 1\nprint(f([1.0]))", "ShapeMismatch"},
    {"fn f(x: f32[n], y: f32[m]) = [x[i] * y[i] for i]", "ShapeMismatch"},
    {"fn f(x: f32[n], y: f32[m]) { var z = x\n z[:] = y }", "ShapeMismatch"},
    {"print(zeros(3))", "TypeMismatch", "`[3]`"},
    {"print(zeros(3, 4))", "TypeMismatch", "brackets"},
    {"print(zeros([-1]))", "NegativeSize"},
    {"print(stack(([1.0], [1.0, 2.0])))", "ShapeMismatch"},
    {"let m = 1\nfn f(x: f32[n]) = x + ones([2])\nprint(f(ones([2])))\nprint(f(ones([m])))", ""},
    // arguments
    {"print(sum([1.0], dim = 0))", "WrongArguments", "`axis = `"},
    {"print([1.0].sum(0))", "WrongArguments", "axis = 0"},
    {"print([1.0].max(1))", "WrongArguments", "axis = 1"},
    {"print(sum([1.0], axis = 3))", "WrongAxis"},
    {"fn f(a: i64, b: i64 = 1) = a\nf()", "WrongArguments", "`a`"},
    {"fn f(a: i64) = a\nprint(f(1, 2))", "WrongArguments"},
    {"fn f(alpha: i64) = alpha\nprint(f(alpa = 2))", "WrongArguments", "alpha"},
    {"fn f(a: i64) = a\nprint(f(1, a = 2))", "WrongArguments", "twice"},
    {"fn f(a: i64) = a\nprint(f(1.5))", "TypeMismatch"},
    {"print(sqrt(1.0, 2.0))", "WrongArguments"},
    {"fn norm2<T: float>(x: T[n]) -> T = sqrt(sum(x * x))\nprint(norm2([true]))", "TypeMismatch"},
    {"fn add(a, b) = a + b\nprint(add([1.0], [true]))", "MixedTypes", "in this call of `add`"},
    {"print(softmax([true]))", "TypeMismatch"},
    {"fn f(n) = if n == 0 { 0 } else { f(n - 1) }\nprint(f(3))", "TypeMismatch", "needs a result type"},
    // indexing
    {"let x = [1.0, 2.0]\nprint(x[5])", "IndexOutOfRange"},
    {"let x = [1.0, 2.0]\nprint(x[-3])", "IndexOutOfRange"},
    {"let x = [1.0, 2.0]\nprint(x[0, 0])", "WrongIndex"},
    {"let x = [1.0, 2.0]\nprint(x[0.5])", "TypeMismatch"},
    {"let x = [1.0, 2.0]\nprint(x[::0])", "WrongIndex"},
    {"let t = (1, 2)\nprint(t[2])", "IndexOutOfRange"},
    {"var x = [1.0]\nx[[0]] *= 2.0", "NotAssignable"},
    {"var x = [1.0]\nx[0] = 1 == 1", "MixedTypes"},
    {"var x = [1.0]\nx = 2.0", "TypeMismatch"},
    {"var x = 1\nx = 2.0\nprint(x)", "TypeMismatch"},
    {"print([1.0].foo)", "UnknownName"},
    {"print([1.0].sum)", "UnknownName", "`[1.0].sum()`"},
    // comprehensions
    {"print([i for i])", "UnboundIndex"},
    {"print([zeros([i]) for i in 0..3])", "ShapeMismatch"},
    {"print([1 for i in 0..3, j in 0..i])", "ShapeMismatch"},
    {"fn f(x: f32[n]) = [wait(x[i]) for i]", "EffectInComprehension"},
    {"print(foo(i for i in 0..3))", "NotCallable"},
    {"var t = 0\nprint([if true { t = i\n i } else { 0 } for i in 0..3])", "NotAssignable", "`for` loop"},
    // statements
    {"1 + 2", "UnusedValue"},
    {"fn f(x: f32[n]) { x + 1.0\n print(x) }", "UnusedValue"},
    {"\"text\"", "UnusedValue", "print"},
    {"let (a, b) = (1, 2, 3)", "TypeMismatch"},
    {"break", "NotInLoop"},
    {"return 1", "NotInFunction"},
    {"for i in 3 { }", "TypeMismatch", "`0..3`"},
    {"assert 1", "TypeMismatch"},
    // text
    {"print(\"{1.5:d}\")", "FormatMismatch"},
    {"print(\"{1:.2}\")", "FormatMismatch"},
    {"print(\"{[1.0]:.2x}\")", "FormatMismatch"},
    {"print(\"{\"a\":5.1f}\")", "FormatMismatch"},
    {"print(\"a\" - 2)", "TypeMismatch"},
    // main and load
    {"fn main(x) { }", "TypeMismatch", "command line"},
    {"let x = load(\"missing.npy\")", "IoError", "let x: f32[n, 3]"},
    // names and types of other libraries
    {"print(sort([1], reverse = true))", "WrongArguments", "write `descending = `"},
    {"print(std([1.0], correction = 1))", "WrongArguments", "write `ddof = `"},
    {"print(linspace(0.0, 1.0, num = 3))", "WrongArguments", "write `n = `"},
    {"fn f(x: f32) = x\nprint(vmap(f, in_axes = 0)([1.0]))", "WrongArguments", "it takes `axes`"},
    {"print(split([1, 2, 3], 2))", "ShapeMismatch", "`split([1, 2, 3], [2, 1])`"},
    {"for c in \"abc\" { print(c) }", "TypeMismatch", "`\"abc\"[i] for i in 0..len(\"abc\")`"},
    {"fn f(x: Vec<f32>) = x", "UnknownType", "a list is `List<f32>`"},
    {"let x = 1e400", "LiteralOutOfRange", "`inf`"},
    {"let x = 1e300", "LiteralOutOfRange", "`f64(1e300)`"},
    {"print(grad(|x| x * x)(3))", "NotDifferentiable", "a float is written `3.0`"},
    {"struct Box<T: any> { v: T }\nfn show(b: Box) { print(b.v) }", "UnknownType", "fn f<T: any>(a: Box<T>)"},
    // all errors, no cascades
    {"let a = b\nlet c = a + 1\nprint(c[0], a.sum())\nprint(d)", "UnknownName UnknownName"},
    {"fn f() = g()\nfn h() -> f32 = true\nprint(f(), h())", "UnknownName TypeMismatch"},
};

} // namespace

TEST_CASE("rejected programs") {
  for (const Row& row : rows) {
    Checked c = check_text(row.program);
    INFO(row.program);
    INFO(c.messages());
    CHECK(c.kinds() == row.kinds);
    CHECK(c.messages().find(row.message) != std::string::npos);
  }
}

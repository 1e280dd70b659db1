#!/usr/bin/env python3
"""The names of other libraries that tl has hints for (parser/check/foreign_names.def), and words of other languages: foreign_names.py TL [FILTER].

  - what a hint says to write passes the checker, in one of the contexts below
  - a program that uses the name gets the hint
  - `tl doc` of the name, with the prefix that it has elsewhere, says the same
  - no name is tl's own, and each stands there once
  - what people write out of habit (WORDS) gets a message that says what tl writes
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TABLE = pathlib.Path(__file__).resolve().parents[1] / "parser/check/foreign_names.def"
MODULES = ["linalg", "nn", "optim", "data", "plot", "onnx"]

# What the names in hints may be: each hint passes in one of these.
CONTEXTS = {
    "vectors": "x: f32[n], y: f32[n], z: f32[n], k: i64, i: i64, mask: bool[n], a: f32, b: f32, indices: i64[n]",
    "masks": "x: bool[n], y: bool[n], i: i64[n], k: key, a: f32, mask: bool[n], indices: i64[n]",
    "matrices": "x: f32[n, n], y: f32[n, n], z: f32[n, n], k: key, i: i64[n], a: f32[n, n], b: f32[n, n], c: f32[n, n], d: f32[n, n], mask: bool[n, n], indices: i64[n, n]",
    "images": "x: f32[n, m, h0, w0], y: f32[n, m, h0, w0], k: key, i: i64[n], a: f32, b: f32, c: i64, h: i64, w: i64, q: f32[n, m, h0, w0], v: f32[n, m, h0, w0]",
    "integers": "x: i64[n], y: i64[n], i: i64[n], k: key, a: i64, b: i64, mask: bool[n], indices: i64[n]",
    "cubes": "x: f32[n, n, n], y: f32[n, n, n], i: i64[n, n], k: key, a: f32, b: f32, indices: i64[n, n, n]",
    "scores": "x: f32[n, m], y: i64[n], k: key, i: i64[n], a: f32[n, m], b: f32[m]",
    "lists": "x: f32, xs: List<f32>, ys: List<f32>, k: key, i: i64, a: f32, y: f32",
    "models": "m: nn.Linear[3, 4], g: nn.Linear[3, 4], p: nn.Linear[3, 4], x: f32[n, 3], k: key, state: optim.Adam<nn.Linear[3, 4]>",
    "heads": "q: f32[n, m, h0, w0], k: f32[n, m, h0, w0], v: f32[n, m, h0, w0]",
    "grids": "theta: f32[n, 2, 3], c: i64, h: i64, w: i64, x: f32[n, m, h0, w0], grid: f32[n, h0, w0, 2], positions: i64[n, m, h0, w0]",
}
OTHERS = {"n": "i64", "m": "i64", "lo": "f32", "hi": "f32", "c": "bool[n]", "h": "f32", "w": "f32", "lr": "f32", "s": "str", "path": "str", "f": "i64", "p": "f32[n, n]", "coefficients": "f32[n]",
          "slopes": "f32[n]", "step": "i64", "window": "f32[n]", "values": "f32[n]", "scale": "f32", "zero_point": "u8", "edges": "f32[n]", "q": "f32", "r": "i64", "inputs": "i64",
          "outputs": "i64", "channels": "i64", "features": "i64", "words": "i64", "v": "f32[n]", "d": "f32[n]", "rows": "i64", "columns": "i64", "j": "i64", "g": "f32[n]"}

TYPE = r"new|none|bf16|[fiu]\d+"  # which are no values

# Programs that people write, and what the message has to say.
WORDS = [
    ("def f(x):\n  x", "a function is declared with `fn`"),
    ("def f(x) { x }", "a function is declared with `fn`"),
    ("let y = lambda v: v + 1", "a function without a name is written `|x| x + 1`"),
    ("let x = 1\nif x > 0 { print(1) } elif x < 0 { print(2) }", "write `else if`"),
    ("let x = [1]\nprint(len x)", "a call takes parentheses: `len(x)`"),
    ("print 1", "a call takes parentheses: `print(x)`"),
    ("x = 5\nprint(x)", "a variable is declared before it is assigned: `var x = …`"),
    ("total = 5", "a variable is declared before it is assigned: `var total = …`"),
    ("print(True)", "write `true`"),
    ("let y = None", "write `none`"),
    ("let x = 1\nprint(f\"{x}\")", "every string fills in `{x}`"),
    ("// a comment", "a comment begins with `#`"),
    ("let x = 1 // the first of them", "a comment begins with `#`"),
    ("let x = 1 /* one */", "a comment begins with `#`"),
    ("var x = 1\nx++", "to add one write `x += 1`"),
    ("let x = 1\nif x <> 2 { print(1) }", "write `!=`"),
    ("let x = true\nif !x { print(1) }", "`!` is written `not`"),
    ("let x = true\nif x && x { print(1) }", "`&&` is written `and`"),
    ("with open(\"x\") as f { }", "a file is read at once, and closes by itself"),
    ("for i in range(3) do\n  print(i)", "`for i in 0..n { }`"),
    ("plot([1.0])", "it is a module: write `import plot`"),
    ("fn f(x: flaot32[n]) = x", "did you mean `f32`?"),
    ("import table\nprint(table.head(3))", "the first ones are `x[:5]`"),
    ("import linalg\nprint(linalg.inv(ones([2])))", "it is `inv(a: T[..s, n, n])`"),
    ("let x = true\nif x || x { print(1) }", "`||` is written `or`"),
    ("let x = true\nlet y = x ? 1 : 2", "`if c { a } else { b }`"),
    ("let y = 1 if true else 2", "a choice is written `if c { a } else { b }`"),
    ("for i in range(3):\n  print(i)", "a block is written in braces: `{ … }`"),
    ("while true:\n  print(1)", "a block is written in braces: `{ … }`"),
    ("let x = 3\nif x is 3 { print(1) }", "write `==`"),
    ("import numpy as np", "functions are called without a prefix: `sum(x)`"),
    ("import torch", "functions are called without a prefix: `sum(x)`"),
    ("from math import sqrt", "functions are called without a prefix: `sqrt(…)`"),
    ("from linalg import solve", "write `import linalg`, and then `linalg.solve`"),
    ("import linag", "did you mean `linalg`?"),
    ("fn f(x: f64) f64[2, 2] { x }", "the type of a result is written `-> f64[2, 2]`"),
    ("fn f(x: f64): (f64, i64) = x", "the type of a result is written `-> (f64, i64)`"),
    ("for i in 1:3 { print(i) }", "a range ends before its second number: `1..3 + 1`"),
    ("let n = 3\nfor i in 1:n { print(i) }", "a range is `a..b + 1`"),
    ("struct A { x: f64 }\nimpl A { fn f(a: A) -> f64 = a.x }", "functions stand outside of structs"),
    ("let d = {\"a\": 1}", "there are no dictionaries"),
    ("let d = {}", "there are no dictionaries"),
    ("let x = [[1.0]]\nprint(x')", "transposed is `x.T`"),
    ("let x = [[1.0]]\nprint(x' @ x')", "transposed is `x.T`"),
    ("print(f'a')", "strings stand in double quotes"),
    ("let a = eye(2)\nlet x = a \\ a[0]", "`linalg.solve(a, b)` solves a system of equations"),
    ("let a = 1 + \\\n  2", "a line continues after an operator"),
    ("fn f(x: &f64) -> f64 { x }", "there are no references"),
    ("fn f(x: f64) -> f64 { *x }", "there are no references"),
    ("let a = 1 & 2", "`bit_and(a, b)`"),
    ("println!(\"{}\", 3)", "write `print(\"{x}\")`"),
    ("let v = vec![1]", "a list or tensor is written in brackets"),
    ("let x = 3 as f64", "a conversion is written as a call: `f64(3)`"),
    ("print(\"a\" + 1)", "`str(x)`"),
    ("let xs: List<f64> = list(1.0)\nprint(sum(xs))", "`stack(xs)` is a tensor of the elements of the list"),
    ("let x = [1.0]\nprint(x[end])", "the last element is `x[-1]`"),
    ("let x = [1.0]\nprint(sin.(x))", "`sin(x)`"),
    ("for (let i = 0; i < 3; i++) { print(i) }", "write `for i in 0..n { }`"),
    ("print(zeros([3], float64))", "write `f64`"),
    ("struct Hmm { p: f64[k], a: f64[k, k], b: f64[k, m] }", "`struct Hmm[k, m] { … }`"),
    ("{ print(1) }", "a block of its own is written `if true { … }`"),
    ("class A:\n  pass", "a record is declared with `struct`"),
    ("let x = [1, 2]\nprint(x.append(3))", "concat"),
    ("let a = np.cov([[1.0, 2.0]])", "functions are called without a prefix: `cov(…)`"),
    ("let a = np.linalg.norm([1.0])", "functions are called without a prefix: `norm(…)`"),
    ("let a = np.linalg.det([[1.0]])", "with `import linalg` it is `linalg.det`"),
    ("let a = torch.nn.functional.relu([1.0])", "functions are called without a prefix: `relu(…)`"),
    ("let a = torch.cat(([1.0], [2.0]))", "write `concat((x, y))`"),
    ("let a = np.float32(1)", "write `f32`"),
    ("let a = math.pi", "write `pi`"),
    ("let a = [i for i in range(3) if i > 1]", "filter"),
    ("try { print(1) }", "a failure ends the program"),
    ("raise 3", "`assert c, \"message\"` stops a program"),
    ("let x = 2\nlet y = x^2", "a power is `**`"),
    ("import linalg\nprint(linalg.rank(eye(3)))", "without a prefix: `rank(…)`; this module has `linalg.matrix_rank`"),
    ("import nn\nprint(nn.sum([1.0]))", "it is a function of the prelude, without a prefix: `sum(…)`"),
    ("print(\"{\\\"a\\\": 1}\")", "a `{` that belongs to the text is written `{{`"),
    ("let a = zeros([3, 4])\nprint(a / a.sum(axis = 1))", "`a.sum(axis = 1, keep = true)`"),
    ("let a = zeros([3, 4])\nlet s = a.sum(axis = 1)\nprint(a / s)", "`s[:, new]`"),
    ("var z = [3, 1]\nz.sort()", "nothing changes `z` but an assignment: `z = z.sort()`"),
    ("let r = reduce(|a, b| a + b, arange(10))", "a value to begin with is the second argument"),
    ("let r = reduce(add, 0, arange(10))", "as a function `|x, y| x + y`"),
    ("let r = bincount([1, 2])", "`bincount(x, max(x) + 1)`"),
    ("let r = bincount([1, 2], weights = [1.0, 2.0])", "scatter_add"),
    ("let z = eye(3)\nprint(z[(1, 2)])", "without parentheses: `[1, 2]`"),
    ("let z = eye(3)\nprint(z[unravel_index(4, (3, 3))])", "write `let i = unravel_index(4, (3, 3))`, then `[i[0], i[1]]`"),
    ("let z = eye(3)\nlet p = (1, 2)\nprint(z[p])", "write `[p[0], p[1]]`"),
    ("print(sum(zeros([2, 3, 4]), axis = [-2, -1]))", "axes are a tuple: `(-2, -1)`"),
    ("var r = zeros([5, 5])\nr[1:-1, 1:-1][ones([3, 3]) > 0.0] = 1.0", "`x[a:b] = where(mask, y, x[a:b])`"),
    ("print(tensordot(eye(3), eye(3), axes = [[0, 1], [0, 1]]))", "`axes = ((0, 2), (0, 1))`"),
    ("fn f() -> i64 {\n  var c = 0\n  let g = || { c += 1; c }\n  g()\n}\nprint(f())", "which sees only its value (return the new value instead)"),
    ("fn hanoi(n: i64) { if n > 0 { hanoi(n - 1) } }\nhanoi(3)", "`fn hanoi(…) -> ()` where it gives nothing"),
    ("print(sort(list(\"b\", \"a\")))", "`table.sorted_texts(xs)`"),
    ("print(unique(list(\"b\", \"a\")))", "`table.texts(xs).values`"),
    ("print(max(\"a\", \"b\"))", "`if a > b { a } else { b }`"),
    ("print((1, 2) < (1, 3))", "compare their parts"),
    ("import nn\nprint(nn.mse([1.0], [2.0], reduction = \"mean\"))", "`mean(…)` of it is one number"),
    ("import linalg\nlet (a, b) = linalg.lstsq([[1.0], [2.0]], [1.0, 2.0])", "it is one value"),
    ("let n = 3\nlet dx = 1 / (n - 1)", "`f32(1) / f32(n - 1)` is a float"),
    ("let n = 3\nlet dx = 1.0 / (n - 1)", "write `f32(n - 1)` to convert it"),
    ("let y = [i * j for i in 0..3 for j in 0..3]", "`for i in 0..n, j in 0..m`"),
    ("let y = [1, 2; 3, 4]", "rows are lists of their own: `[[1, 2], [3, 4]]`"),
    ("let y = [{ let w = i; w } for i in 0..3]", "a block is only allowed after"),
    ("print(repeat([1, 2], [1, 2]))", "`counts = [1, 2]`"),
    ("print(where([true, false]))", "`nonzero(c)`"),
    ("print(diff([1, 2, 3], n = 2))", "`diff(diff(x))`"),
    ("print(eye(2, 3))", "`[i64(i == j) for i in 0..n, j in 0..m]`"),
    ("print(meshgrid([1]))", "`meshgrid(x, y)`"),
    ("print(unique([[1, 2]], axis = 0))", "`unique_rows(x)`"),
    ("print(linspace(0.0, 1.0, 11, endpoint = false))", "`linspace(lo, hi, n + 1)[:-1]`"),
    ("for b in batches((eye(3), arange(3)), 2) { print(1) }", "`batches(x, y, 32)`"),
    ("import nn\nlet m = nn.linear_init(key(0), 3, 2)\nprint(m(zeros([1, 3])))", "write `nn.linear(zeros([1, 3]), m)`"),
    ("import nn\nstruct M { e: nn.Embedding[5, 3] }\nlet m = M(e = nn.embedding_init(key(0), 5, 3))\nprint(m.e([1]))", "write `nn.embedding([1], m.e)`"),
    ("let w = [1.0]\nprint(w.grad)", "gradients are of functions: `grad(f)(x)`"),
    ("import nn\nlet m = nn.linear_init(3, 2)", "it is `linear_init(k: key, i: i64, o: i64)`"),
    ("import nn\nlet m = nn.dropout([1.0], 0.5)", "it is `dropout(k: key, x: T[..s], p: P)`"),
    ("import nn\nfn loss(x: f32[b, t], y: i64[b]) -> f32 = nn.cross_entropy(x, y)\nprint(loss(zeros([2, 3]), [1, 2]))", "`mean(…)` or `sum(…)` of it"),
    ("import nn\nprint(nn.cross_entropy(zeros([2, 3]), zeros([2, 3])))", "`argmax(y, axis = -1)`"),
    ("import nn\nlet k = nn.ReLU()", "write `relu(x)`"),
    ("let x = zeros([2, 3])\nlet y = zeros([3, 4])\nprint(x @ y.T)", "the second as it is: `y`"),
    ("fn f(x: f64, y: f64 = none) -> f64 = x\nprint(f(1.0))", "is declared without a type: `y = none`"),
    ("print(\"banana\".count(\"a\"))", "`len(split(s, part)) - 1`"),
]


def rows():
    for line in TABLE.read_text().splitlines():
        match = re.fullmatch(r'TL_(SPELLED|SAID|NOWHERE)\("(\w+)"(?:, "(.*)")?\)', line)
        if match:
            yield match[1], match[2], (match[3] or "").replace('\\"', '"')
        elif line.startswith("TL_"):
            sys.exit(f"{TABLE.name}: not a row: {line}")


def hint_of(kind, text):
    if kind == "SPELLED":
        return f"write `{text}`"
    return text if kind == "SAID" else "other libraries have this; tl's has nothing like it"


def diagnostics(tl, text, folder):
    """The messages about a program: dictionaries with line, message, hint."""
    path = os.path.join(folder, "program.tl")
    pathlib.Path(path).write_text(text)
    done = subprocess.run([tl, "check", "--warnings=off", "--message-format=json", path], capture_output=True, text=True, timeout=300)
    if done.returncode not in (0, 1):
        sys.exit(f"tl check: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]


def unwritable(tl, codes, folder):
    """Which of the pieces of code pass the checker in no context."""
    left = dict(enumerate(codes))
    for given in CONTEXTS.values():
        named = dict(part.split(": ", 1) for part in re.split(r", (?=\w+: )", given))
        parameters = {**OTHERS, **named}
        lines = [f"import {module}" for module in MODULES]
        numbers = {}
        for number, code in left.items():
            used = {name for name in parameters if re.search(rf"\b{name}\b", code)} | {"n"}
            declared = ", ".join(f"{name}: {parameters[name]}" for name in parameters if name in used)
            statement = code if re.match(r"(while|for|assert|print|save)\b", code) else f"let out = {code}"
            variables = [f"var {name} = {name}" for name in used if re.search(rf"(?<![=<>!]){name}(\[.*\])? [-+*/]?= |\({name}, |, {name}\) = ", code)]
            lines.append(f"fn test{number}({declared}) {{ {'; '.join([*variables, statement])} }}")
            numbers[len(lines)] = number
        wrong = {numbers.get(one["line"]) for one in diagnostics(tl, "\n".join(lines) + "\n", folder)}
        left = {number: code for number, code in left.items() if number in wrong}
    return list(left.values())


def main():
    tl, only = os.path.realpath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    table = [row for row in rows() if only in row[1]]
    wrong, checks = [], 0
    names = [name for _, name, _ in table]
    wrong += [f"{name} stands in the table twice" for name in set(names) if names.count(name) > 1]

    with tempfile.TemporaryDirectory() as folder:
        # What hints say.
        codes = [text for kind, _, text in table if kind == "SPELLED" and not re.fullmatch(TYPE, text)]
        checks += len(codes)
        wrong += [f"no context lets this pass: {code}" for code in unwritable(tl, codes, folder)]

        # Programs that use the names, called and not.
        for form in ("let q = {}(1.0)", "let q = {}"):
            found = {}
            keywords = [row for row in table if row[1] == "var"]  # a program with a syntax error says no more than that
            pending = [row for row in table if row not in keywords]
            for part in [*(pending[first:first + 100] for first in range(0, len(pending), 100)), keywords]:
                for one in diagnostics(tl, "".join(f"fn f{number}() {{ {form.format(row[1])} }}\nf{number}()\n" for number, row in enumerate(part)), folder):
                    if one["line"] % 2:
                        found.setdefault(part[one["line"] // 2][1], []).append(one.get("hint") or "")
            for kind, name, text in table:
                if name in ("T", "to"):  # which tl has, too, with another meaning
                    continue
                hints = found.get(name, [])
                if hint_of(kind, text) in hints or any(hint.startswith(("with `import", "it is a module")) for hint in hints):
                    checks += 1
                elif form.endswith("(1.0)"):
                    wrong.append(f"{form.format(name)}: {hints}, and not {hint_of(kind, text)}")

        # tl doc.
        for number, (kind, name, text) in enumerate(table):
            if number % 20 and not only:
                continue
            done = subprocess.run([tl, "doc", f"np.{name}"], capture_output=True, text=True, timeout=60)
            checks += 1
            operator = re.fullmatch(r"x (\W+) y", text)  # whose own page is shown
            told = [hint_of(kind, text), name] + ([f" {operator[1]} "] if operator else [])
            if done.returncode or not any(one in done.stdout for one in told):
                wrong.append(f"tl doc np.{name}: exit code {done.returncode}: {done.stdout[:300]}{done.stderr[:300]}")
        if not only:
            for name, want in [("np.cov", "cov(x, y = none"), ("torch.einsum", "einsum("), ("torch.nn.functional.relu", "relu<T"), ("np.linalg.norm", "norm<T"), ("np.linalg.solve", "linalg.solve<T"),
                               ("torch.cat", "concat((x, y))"), ("concatenate", "concat((x, y))"), ("np.random.poisson", "poisson<T"), ("scipy.special.erfc", "erfc(x:"), ("math.lgamma", "lgamma<T")]:
                done = subprocess.run([tl, "doc", name], capture_output=True, text=True, timeout=60)
                checks += 1
                if done.returncode or want not in done.stdout:
                    wrong.append(f"tl doc {name}: no {want}: {done.stdout[:200]}{done.stderr[:200]}")
            done = subprocess.run([tl, "doc", "np.nonsense"], capture_output=True, text=True, timeout=60)
            checks += 1
            if done.returncode != 2 or "there is no documentation of 'np.nonsense'" not in done.stderr:
                wrong.append(f"tl doc np.nonsense: {done}")

        # Words.
        for program, want in WORDS:
            if only not in program:
                continue
            checks += 1
            said = [f"{one['message']} ({one.get('hint') or ''})" for one in diagnostics(tl, program + "\n", folder)]
            if not any(want in one for one in said):
                wrong.append(f"{program!r}: {said}, and not {want}")

    for problem in wrong:
        print("FAIL", problem)
    print(f"{checks - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

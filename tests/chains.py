#!/usr/bin/env python3
"""Long chains in which each value is used several times, wherever a kernel may compute them: tests/chains.py TL [FILTER].

What walks such a graph as a tree takes 2 to the power of its depth: such a program does not end. Each is compiled without the cache and run;
its results are those of the interpreter. Ends with `N passed, N failed`."""
import pathlib
import subprocess
import sys
import tempfile

from counted import count

LINKS = 36
SECONDS = 100  # of a program, which takes a fraction of one
LINES = ["3.9 * {a} * (1.0 - {a})", "where({a} > 0.5, {a} * 0.5, {a} + 0.1)", "sin({a} * 1.1) + 0.1 * {a}"]

PLACES = {
    "map": "chain(x)",
    "last axis": "sum(chain(x), axis = -1)",
    "first axis": "sum(chain(x), axis = 0)",
    "middle axis": "mean(chain(y), axis = 1)",
    "two axes": "max(chain(y), axis = (0, 2))",
    "all": "sum(chain(x))",
    "rows": "softmax(chain(x))",
    "columns": "softmax(chain(x), axis = 0)",
    "moments": "std(chain(y), axis = (0, 2))",
    "norm": "chain(x) / sqrt(sum(chain(x) * chain(x), axis = 0, keep = true))",
    "running": "cumsum(chain(x), axis = 0)",
    "running rows": "cumsum(chain(x), axis = 1)",
    "position": "argmax(chain(x), axis = 0)",
    "product": "chain(x) @ x.T",
    "behind a product": "chain(x @ x.T)",
    "einsum": 'einsum("ij,kj->ik", chain(x), x)',
    "transposed": "chain(x).T + 0.0",
    "read across": "chain(x.T) + chain(x.T) * 2.0",
    "taken": "chain(x)[[0, 2, 1]]",
    "window": "chain(x)[1:] + chain(x)[:-1]",
    "joined": "concat((chain(x), x))",
    "margins": "pad(chain(x), [(1, 1), (0, 0)])",
    "sorted": "sort(chain(x), axis = 0)",
    "middle one": "median(chain(x), axis = 0)",
    "convolved": "convolve(chain(x[0]), x[1])",
    "comprehension": "[chain(x[i, j]) for i, j]",
    "fold": "scan(|c, v| chain(c + v), x[0], x)[1]",
    "loop": "loop(x)",
    "update": "updated(x)",
    "scalars": "scalars(0.3)",
    "while": "until(0.3)",
    "grad": "grad(|v| sum(chain(v * x)))(x[0])",
    "jacobian": "jacobian(|v| chain(v))(x[0])",
    "vmap": "vmap(grad(|v| sum(chain(v))))(x)",
    "forward over reverse": "jvp(grad(|v| sum(chain(v * x))), x[0], x[1])[1]",
    "hessian": "hessian(|v| sum(chain(v * x)))(x[0])",
}

FUNCTIONS = """
fn loop(x) {
  var c = x
  for i in 0..3 { c = chain(c) + x }
  c
}
fn updated(x) {
  var c = x + 0.0
  c[0] = chain(c[1])
  c
}
fn scalars(a: f64) {
  var s = a
  for i in 0..9 { s = chain(s) * 0.5 + 0.1 }
  s
}
fn until(a: f64) {
  var s = a
  var i = 0
  while i < 9 and s > -100.0 {
    s = chain(s) * 0.5 + 0.1
    i += 1
  }
  s
}
"""


def program(place):
    text = "fn chain(a0) {\n"
    for k in range(LINKS):
        text += f"  let a{k + 1} = {LINES[k % len(LINES)].format(a=f'a{k}')}\n"
    text += f"  a{LINKS}\n}}\n" + FUNCTIONS + f"fn f(x: f64[m, n], y: f64[k, m, n]) = {place}\n"
    return text + "print(f(uniform(key(0), [5, 6], f64), uniform(key(1), [4, 5, 6], f64)))\n"


def problem(tl, folder, place):
    path = folder / "chain.tl"
    path.write_text(program(place))
    printed = []
    for words in [["--no-cache"], ["--interp"]]:
        try:
            done = subprocess.run([tl, "run", *words, path], capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return f"{words[0]}: no end after {SECONDS} s"
        if done.returncode:
            return f"{words[0]}: ends with {done.returncode}: {done.stderr}"
        printed.append(done.stdout)
    return None if printed[0] == printed[1] else f"{printed[0]}, and not {printed[1]}"


def main():
    tl, only = pathlib.Path(sys.argv[1]).resolve(), "".join(sys.argv[2:3])
    with tempfile.TemporaryDirectory() as folder:
        return count(PLACES.items(), lambda place: problem(tl, pathlib.Path(folder), place), only)


if __name__ == "__main__":
    sys.exit(main())

"""Comprehensions whose elements are folds and products of rows, beside NumPy's, element by element.

An element is a random expression of numbers made of rows, columns and parts of them: folds, products of vectors and of a vector and a matrix,
folds of such elements over a second index. Lengths lie on both sides of those where vectors run along rows.
"""
import random

import numpy as np

from batches import SHOWN, is_shown, weighed

SEED, COUNT = 0, 120

# As text and as functions: of a vector another one; of two vectors a number; of one a number.
MAPS = [
    ("tanh({})", np.tanh), ("abs({})", np.abs), ("({} * 2.0)", lambda v: v * 2), ("({0} - mean({0}))", lambda v: v - v.mean()),
    ("softmax({})", lambda v: np.exp(v - v.max()) / np.exp(v - v.max()).sum()),
]
PAIRS = [
    ("sum(abs({r} - y[k]))", lambda r, q: np.abs(r - q).sum()), ("dot({r}, y[k])", lambda r, q: r @ q),
    ("exp(-sum(({r} - y[k]) ** 2))", lambda r, q: np.exp(-((r - q) ** 2).sum())),
]
FOLDS = [
    ("sum({})", np.sum), ("mean({})", np.mean), ("max({})", np.max), ("sqrt(sum({} ** 2))", lambda v: np.sqrt((v**2).sum())),
    ("min(abs({}))", lambda v: np.abs(v).min()),
]


class Case:
    def __init__(self, rng, noise, number):
        self.name, self.rng = f"case{number}", rng
        length = rng.choice([1, 2, 5, 15, 16, 17, 31, 32, 33, 40, 64, 100])
        n, m = rng.choice([0, 1, 2, 7, 20, 60]), rng.choice([1, 2, 5, 18])
        self.type = rng.choice(["f64", "f64", "f32"])
        dtype = np.float64 if self.type == "f64" else np.float32
        scale = 1.0 / np.sqrt(length)
        make = lambda *shape: (noise.standard_normal(shape) * scale).astype(dtype)
        self.tensors = {"x": make(n, length), "y": make(m, length), "w": make(length), "a": make(length, length)}
        known = rng.random() < 0.4 and length
        self.two = rng.random() < 0.5
        n_text, d_text = "n", str(length) if known else "d"
        element, function = self.number(rng.randint(1, 3))
        indices = "i in 0..n, j in 0..m" if self.two else "i in 0..n"
        self.text = (
            f"fn {self.name}(x: {self.type}[{n_text}, {d_text}], y: {self.type}[m, {d_text}], w: {self.type}[{d_text}], a: {self.type}[{d_text}, {d_text}]) =\n"
            f"  [{element} for {indices}]"
        )
        shape = (n, m) if self.two else (n,)
        wide = {name: x.astype(np.float64) for name, x in self.tensors.items()}
        result = [function(wide, i, j) for i in range(n) for j in (range(m) if self.two else [0])]
        self.expected = weighed(np.array(result, float).reshape(shape))
        self.size = float(max(len(result), 1))

    def row(self, depth):
        rng = self.rng
        kind = rng.choice(["x", "x", "y", "w", "parts"] + ["map", "difference", "matrix"] * (depth > 0))
        if kind == "x":
            return "x[i]", lambda t, i, j: t["x"][i]
        if kind == "y":
            return ("y[j]", lambda t, i, j: t["y"][j]) if self.two else ("y[0]", lambda t, i, j: t["y"][0])
        if kind == "parts":
            return "x[i][::-1]", lambda t, i, j: t["x"][i][::-1]
        if kind == "map":
            inner, f = self.row(depth - 1)
            text, g = rng.choice(MAPS)
            return text.format(inner), lambda t, i, j: g(f(t, i, j))
        if kind == "difference":
            (a, f), (b, g) = self.row(depth - 1), self.row(depth - 1)
            return f"({a} - {b})", lambda t, i, j: f(t, i, j) - g(t, i, j)
        if kind == "matrix":
            inner, f = self.row(depth - 1)
            if rng.random() < 0.5:
                return f"(a @ {inner})", lambda t, i, j: t["a"] @ f(t, i, j)
            return f"({inner} @ a)", lambda t, i, j: f(t, i, j) @ t["a"]
        return "w", lambda t, i, j: t["w"]

    def number(self, depth):
        rng = self.rng
        kind = rng.choice(["fold", "fold", "dot", "dot"] + ["sum", "over", "argmin"] * (depth > 1))
        if kind == "dot":
            (a, f), (b, g) = self.row(depth - 1), self.row(depth - 1)
            return f"dot({a}, {b})", lambda t, i, j: float(f(t, i, j) @ g(t, i, j))
        if kind == "sum":
            (a, f), (b, g) = self.number(depth - 1), self.number(depth - 1)
            text, h = rng.choice([("({} + {})", lambda p, q: p + q), ("({} * {})", lambda p, q: p * q), ("max({}, {})", max)])
            return text.format(a, b), lambda t, i, j: h(f(t, i, j), g(t, i, j))
        if kind in ("over", "argmin"):
            (a, f) = self.row(depth - 1)
            text, g = rng.choice(PAIRS)
            if kind == "argmin":
                return f"{self.type}(argmin([{text.format(r=a)} for k]))", lambda t, i, j: float(np.argmin([g(f(t, i, j), q) for q in t["y"]]))
            return f"sum({text.format(r=a)} for k in 0..m)", lambda t, i, j: float(sum(g(f(t, i, j), q) for q in t["y"]))
        text, g = rng.choice(FOLDS)
        inner, f = self.row(depth - 1)
        return text.format(inner), lambda t, i, j: float(g(f(t, i, j)))


def run(oracle):
    rng, noise = random.Random(oracle.seed), np.random.default_rng(oracle.seed)
    for start in range(0, oracle.count, 10):
        cases = [Case(rng, noise, start + k) for k in range(min(10, oracle.count - start))]
        with oracle.folder() as folder:
            main = ["fn main() {"]
            for case in cases:
                arguments = []
                for name, x in case.tensors.items():
                    np.save(f"{folder}/{case.name}.{name}.npy", x)
                    main.append(f'  let {case.name}_{name}: {case.type}[{", ".join("_" * x.ndim)}] = load("{case.name}.{name}.npy")')
                    arguments.append(f"{case.name}_{name}")
                main.append(f"  shown({case.name}({', '.join(arguments)}))")
            done = oracle.run(folder, SHOWN + "\n\n".join(case.text for case in cases) + "\n\n" + "\n".join(main) + "\n}\n")
            lines = done.stdout.splitlines()
            oracle.check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[:600]}")
            for case, line in zip(cases, lines):
                same = is_shown(case.expected, line, 1e-9 if case.type == "f64" else 3e-4, case.size)
                oracle.check(same, f"{case.text}\n  x: {case.tensors['x'].shape}: {line}, expected {case.expected}")

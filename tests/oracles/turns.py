"""Loops whose turns make small tensors against the same loops in Python, statement by statement, with NumPy's arrays.

All numbers are i64, which wrap in both, so that every result is exact in any order. The statements are what native code of a turn is made
of: tensors kept from one turn to the next, some that exchange places, slices, rows and elements that are assigned (in branches and inner
loops, too), values from before an assignment that are read after it, products, sums and comprehensions.
"""
import os
import random
import warnings

import numpy as np

SIZES = [1, 2, 3, 4, 5, 8, 9, 17]
GROUP = 20  # functions of one program


class Maker:
    """Writes one function in tl and in Python, at the same time."""

    def __init__(self, rng, number):
        self.rng, self.number = rng, number
        self.n, self.k = rng.choice(SIZES), rng.choice(SIZES)
        self.turns = rng.choice([1, 2, 3, 7, 20])
        self.open = rng.random() < 0.5  # are the sizes known only when it runs?
        self.size = ("n", "k") if self.open else (self.n, self.k)  # as tl has them
        self.names = 0
        self.scope = {"v": ["p", "q"], "m": ["g", "h"], "s": ["x", "y"]}  # what may be assigned: vectors, matrices, scalars
        self.fixed = {"v": ["a"], "m": ["b"], "s": []}  # what may not
        self.budget = rng.choice([4, 8, 14])

    def name(self):
        self.names += 1
        return f"t{self.names}"

    def any_of(self, kind):
        return self.rng.choice(self.scope[kind] + self.fixed[kind])

    def index(self, size):
        """A subscript in range: the same text in both."""
        if self.rng.random() < 0.5 or not self.fixed["s"]:
            return str(self.rng.randrange(size))
        return f"({self.rng.choice(self.fixed['s'] + self.scope['s'])} + {self.rng.randrange(3)}) % {size}"

    def both(self, kind, depth, op):
        """Two operands of an operator, the same in both languages; one may be a scalar."""
        left, right = self.expr(kind, depth - 1), self.expr(kind if self.rng.random() < 0.7 else "s", depth - 1)
        return tuple(f"({x} {op} {y})" for x, y in zip(left, right))

    def expr(self, kind, depth=2):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.15:
            leaf = str(rng.randrange(-4, 9)) if kind == "s" and rng.random() < 0.3 else self.any_of(kind)
            return leaf if not leaf.startswith("-") else f"({leaf})", (f"I({leaf})" if leaf.lstrip("-").isdigit() else leaf)
        if rng.random() < 0.35:
            return self.both(kind, depth, rng.choice(["+", "-", "*", "+"]))
        if rng.random() < 0.15:
            x, y, z, w = (self.expr(kind, depth - 1) for _ in range(4))
            return f"where({x[0]} < {y[0]}, {z[0]}, {w[0]})", f"np.where({x[1]} < {y[1]}, {z[1]}, {w[1]})"
        return {"v": self.vector, "m": self.matrix, "s": self.scalar}[kind](depth)

    def vector(self, depth):
        rng, n, k = self.rng, self.n, self.k
        N, K = self.size
        v, m = self.expr("v", depth - 1), self.expr("m", depth - 1)
        j = self.index(k)
        cut = rng.randrange(n + 1)
        i, name, row = self.name(), self.any_of("v"), f"X[{self.index(5)}]"
        return rng.choice([
            lambda: (f"{v[0]}[::-1]", f"{v[1]}[::-1]"),
            lambda: (f"concat([{v[0]}[{cut}:], {v[0]}[:{cut}]])", f"np.concatenate([{v[1]}[{cut}:], {v[1]}[:{cut}]])"),
            lambda: (f"({m[0]} @ w)", f"({m[1]} @ w)"),
            lambda: (f"{m[0]}[:, {j}]", f"{m[1]}[:, {j}]"),
            lambda: (f"sum({m[0]}, axis = 1)", f"np.sum({m[1]}, axis=1)"),
            lambda: (f"max({m[0]}, axis = 1)", f"np.max({m[1]}, axis=1)"),
            lambda: (f"[{name}[{i}] * 3 + {i} for {i} in 0..{N}]", f"np.array([{name}[{i}] * 3 + {i} for {i} in range({n})], I)"),
            lambda: (f"[sum({m[0]}[{i}, e] * e for e in 0..{K}) for {i} in 0..{N}]", f"({m[1]} @ np.arange({k}))"),
            lambda: (f"{v[0]}[order]", f"{v[1]}[order]"),
            lambda: (row, row),
        ])()

    def matrix(self, depth):
        rng = self.rng
        N, K = self.size
        n, k = self.n, self.k
        v, m = self.expr("v", depth - 1), self.expr("m", depth - 1)
        i, j, name = self.name(), self.name(), self.any_of("v")
        return rng.choice([
            lambda: (f"{m[0]}[::-1, ::-1]", f"{m[1]}[::-1, ::-1]"),
            lambda: (f"[{name}[{i}] * {j} - {j} for {i} in 0..{N}, {j} in 0..{K}]",
                     f"np.array([[{name}[{i}] * {j} - {j} for {j} in range({k})] for {i} in range({n})], I)"),
            lambda: (f"({m[0]} + expand_dims({v[0]}, axis = 1))", f"({m[1]} + ({v[1]})[:, None])"),
            lambda: ("c.T", "c.T"),
            lambda: (f"({m[0]} @ d)", f"({m[1]} @ d)"),
        ])()

    def scalar(self, depth):
        rng, n, k, N = self.rng, self.n, self.k, self.size[0]
        v, u, m = self.expr("v", depth - 1), self.expr("v", depth - 1), self.expr("m", depth - 1)
        i, name = self.name(), self.any_of("v")
        return rng.choice([
            lambda: self.pair("{}[%s]" % self.index(n), v),
            lambda: self.pair("{}[%s, %s]" % (self.index(n), self.index(k)), m),
            lambda: (f"sum({v[0]})", f"np.sum({v[1]})"),
            lambda: (f"min({v[0]})", f"np.min({v[1]})"),
            lambda: (f"dot({v[0]}, {u[0]})", f"np.dot({v[1]}, {u[1]})"),
            lambda: (f"sum({name}[{i}] * {i} for {i} in 0..{N})", f"np.dot({name}, np.arange({n}))"),
        ])()

    @staticmethod
    def pair(form, x):
        return form.format(x[0]), form.format(x[1])

    def condition(self):
        x, y = self.expr("s", 1), self.expr("s", 1)
        op = self.rng.choice(["<", ">", "==", "<="])
        return f"{x[0]} {op} {y[0]}", f"{x[1]} {op} {y[1]}"

    def assign(self):
        """One that changes something from before the turn."""
        rng, n, k = self.rng, self.n, self.k
        kind = rng.choice("vvvmms")
        name = rng.choice(self.scope[kind])
        if kind == "s" or rng.random() < 0.4:
            x = self.expr(kind)
            return [f"{name} = {x[0]}"], [f"{name} = copy({x[1]})"]
        op = rng.choice(["=", "+="])
        if kind == "v":
            place, what = rng.choice([(self.index(n), "s"), ("::-1", "v"), (None, "cut"), ("::2", "even")])
            if what == "cut":
                begin, x = rng.randrange(n), self.expr("v", 1)
                end = rng.randrange(begin, n) + 1
                return self.both_lines(f"{name}[{begin}:{end}] {op} ", x, f"[{n - end}:{n - begin}]")
            if what == "even":
                x = self.expr("v", 1)
                return self.both_lines(f"{name}[::2] {op} ", x, f"[:{(n + 1) // 2}]")
            x = self.expr(what, 1)
            return self.both_lines(f"{name}[{place}] {op} ", x)
        x, y, i, j = self.expr("v", 1), self.expr("s", 1), self.index(n), self.index(k)
        if rng.random() < 0.5:
            return self.both_lines(f"{name}[:, {j}] {op} ", x)
        return self.both_lines(f"{name}[{i}, {j}] {op} ", y)

    @staticmethod
    def both_lines(place, x, part=""):
        """In Python the value is a copy: NumPy 2.4 reads `q[:4]` wrongly in `q[::2] = q[:4]`."""
        return [f"{place}{x[0]}{part}"], [f"{place}copy({x[1]}{part})"]

    def local(self):
        """A tensor of the turn's own: a value, or one that is filled; or an older version of one that changes."""
        rng = self.rng
        kind = rng.choice("vvm")
        name = self.name()
        if rng.random() < 0.3:
            other = rng.choice(self.scope[kind])
            lines = [f"let {name} = {other}"], [f"{name} = {other}.copy()"]
            self.fixed[kind].append(name)
            return lines
        x = self.expr(kind)
        if kind == "v" and rng.random() < 0.5:
            i = self.name()
            other = self.any_of("v")
            tl = [f"var {name} = {x[0]}", f"for {i} in 0..{self.n} {{", f"  {name}[{i}] = {other}[{i}] - {name}[{self.n - 1} - {i}]", "}"]
            py = [f"{name} = copy({x[1]})", f"for {i} in range({self.n}):", f"    {name}[{i}] = {other}[{i}] - {name}[{self.n - 1} - {i}]"]
            self.scope[kind].append(name)
            return tl, py
        self.fixed[kind].append(name)
        return [f"let {name} = {x[0]}"], [f"{name} = copy({x[1]})"]

    def block(self, depth, count):
        """Statements, with what they declare in scope until the end of the block."""
        before = {kind: list(names) for kind, names in self.scope.items()}, {kind: list(names) for kind, names in self.fixed.items()}
        tl, py = [], []
        for _ in range(count):
            what = self.rng.random()
            if what < 0.25:
                some = self.local()
            elif what < 0.4 and depth > 0:
                some = self.branch(depth)
            elif what < 0.5 and depth > 0:
                some = self.loop(depth)
            elif what < 0.6:
                kind = self.rng.choice("vm")
                one, other, name = self.rng.choice(self.scope[kind]), self.rng.choice(self.scope[kind]), self.name()
                some = [f"let {name} = {one}", f"{one} = {other}", f"{other} = {name}"], [f"{one}, {other} = {other}.copy(), {one}.copy()"]
            else:
                some = self.assign()
            tl, py = tl + list(some[0]), py + list(some[1])
        self.scope, self.fixed = before
        return [f"  {line}" for line in tl], [f"    {line}" for line in py]

    def branch(self, depth):
        condition = self.condition()
        one = self.block(depth - 1, self.rng.choice([1, 2]))
        other = self.block(depth - 1, 1) if self.rng.random() < 0.5 else ([], [])
        tl = [f"if {condition[0]} {{", *one[0]] + (["} else {", *other[0]] if other[0] else []) + ["}"]
        py = [f"if {condition[1]}:", *one[1]] + (["else:", *other[1]] if other[1] else [])
        return tl, py

    def loop(self, depth):
        name, count = self.name(), self.rng.choice([0, 1, 2, 5])
        self.fixed["s"].append(name)
        body = self.block(depth - 1, self.rng.choice([1, 2]))
        self.fixed["s"].remove(name)
        return [f"for {name} in 0..{count} {{", *body[0], "}"], [f"for {name} in range({count}):", *body[1]]

    def function(self):
        self.fixed["s"].append("t")
        body = self.block(2, self.budget)
        name = f"case{self.number}"
        N, K = self.size
        take = f"a: i64[{N}], b: i64[{N}, {K}], c: i64[{K}, {N}], d: i64[{K}, {K}], w: i64[{K}], X: i64[5, {N}], order: i64[{N}]"
        tl = [f"fn {name}({take}) -> (i64[{N}], i64[{N}, {K}], i64[{N}], i64[{N}, {K}], i64, i64) {{",
              "  var p = a\n  var q = a * 2 - 1\n  var g = b\n  var h = b - 3\n  var x = 1\n  var y = 2",
              f"  for t in 0..{self.turns} {{", *[f"  {line}" for line in body[0]], "  }", "  (p, g, q, h, x, y)", "}"]
        py = [f"def {name}(a, b, c, d, w, X, order):", "    p, q, g, h, x, y = a.copy(), a * 2 - 1, b.copy(), b - 3, I(1), I(2)",
              f"    for t in range({self.turns}):", *[f"    {line}" for line in body[1]], "    return p, g, q, h, x, y"]
        return "\n".join(tl), "\n".join(py)


SEED, COUNT = 0, 400


def copy(x):
    return np.array(x, np.int64)


def run(oracle):
    rng, noise = random.Random(oracle.seed), np.random.default_rng(oracle.seed)
    warnings.simplefilter("ignore", RuntimeWarning)  # numbers wrap
    for begin in range(0, oracle.count, GROUP):
        makers = [Maker(rng, number) for number in range(begin, min(begin + GROUP, oracle.count))]
        text, stored, wanted = [], {}, {}
        for maker in makers:
            n, k, number = maker.n, maker.k, maker.number
            inputs = {"a": (n,), "b": (n, k), "c": (k, n), "d": (k, k), "w": (k,), "X": (5, n)}
            values = {name: noise.integers(-9, 10, shape) for name, shape in inputs.items()} | {"order": noise.permutation(n)}
            tl, py = maker.function()
            names = [f"{name}{number}" for name in values]
            text.append(tl + "\n" + "\n".join(f'let {name} = load("in.npz", "{name}")' for name in names))
            text.append(f'let r{number} = case{number}({", ".join(names)})')
            text += [f'save("out{number}_{i}.npy", {f"r{number}[{i}]" if i < 4 else f"[r{number}[{i}]]"})' for i in range(6)]
            stored |= {f"{name}{number}": value for name, value in values.items()}
            scope = {"np": np, "I": np.int64, "copy": copy}
            exec(py, scope)
            wanted[number] = scope[f"case{number}"](*values.values())
        for options in ([], ["--interp"]):
            with oracle.folder() as folder:
                np.savez(os.path.join(folder, "in.npz"), **stored)
                done = oracle.run(folder, "\n".join(text) + "\n", options)
                if done.returncode != 0:
                    oracle.count_cases(len(makers), [done.stderr] * len(makers))
                    continue
                for maker in makers:
                    found = [np.load(os.path.join(folder, f"out{maker.number}_{i}.npy")) for i in range(6)]
                    parts = "pgqhxy"
                    wrong = [parts[i] for i, (x, y) in enumerate(zip(found, wanted[maker.number])) if not np.array_equal(x, np.asarray(y).reshape(x.shape))]
                    oracle.check(not wrong, f"case{maker.number} {' '.join(options)}: {', '.join(wrong)}")

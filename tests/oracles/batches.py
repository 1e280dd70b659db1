"""Loops and comprehensions whose turns are independent and work on whole tensors, beside NumPy's, turn by turn.

What a turn does is random: where it reads (rows, columns, windows, backwards, a row that another tensor says), the functions of the row, and
how the results are kept (one number or a row, by one index or two, from a first turn on).
"""
import random

import numpy as np

SEED, COUNT = 0, 120
SHOWN = "fn shown(x) { print(x.shape, sum(f64(x) * (f64(reshape(arange(len(flatten(x))), x.shape)) % 7.0 + 1.0))) }\n\n"
HEAD = "import linalg\n\n" + SHOWN


def weighed(x):
    x = np.asarray(x, np.float64)
    return x.shape, float(np.sum(x * (np.arange(x.size).reshape(x.shape) % 7 + 1.0)))


def is_shown(weighed, line, close, size):
    """Is the line what `shown` prints of such a tensor?"""
    shape, total = line.rsplit(" ", 1)
    want, value = weighed
    return tuple(int(s) for s in shape.strip("()").split(",") if s.strip()) == want and abs(float(total) - value) <= close * max(1.0, abs(value), size)


# Of a row r: what a turn makes of it in both languages; `row`: the result has the row's length.
ROW = [
    ("sort({r})", np.sort), ("cumsum({r})", np.cumsum), ("flip(cumsum({r}), axis = 0)", lambda r: np.cumsum(r)[::-1]), ("{r} - mean({r})", lambda r: r - r.mean()),
    ("sort({r} * {r}) - {r}", lambda r: np.sort(r * r) - r), ("f64(argsort({r}))", lambda r: np.argsort(r, kind="stable").astype(float)),
    ("where({r} > median({r}), {r}, 0.0)", lambda r: np.where(r > np.median(r), r, 0.0)), ("cummax({r})", np.maximum.accumulate),
    ("roll(sort({r}), 1)", lambda r: np.roll(np.sort(r), 1)), ("take({r}, argsort({r}))", np.sort),
]
NUMBER = [
    ("median({r})", np.median), ("quantile({r}, 0.3)", lambda r: np.quantile(r, 0.3)), ("sort({r})[0]", np.min), ("sum(cumsum({r}))", lambda r: np.cumsum(r).sum()),
    ("f64(searchsorted(sort({r}), 0.25))", lambda r: float(np.searchsorted(np.sort(r), 0.25))), ("max(diff(sort({r})))", lambda r: np.diff(np.sort(r)).max()),
    ("if {r}[0] > 0.0 {{ sum({r}) }} else {{ median({r}) }}", lambda r: r.sum() if r[0] > 0 else np.median(r)),
    ("sum(outer({r}, sort({r})))", lambda r: np.outer(r, np.sort(r)).sum()), ("linalg.det(outer({r}[:2], {r}[:2]) + f64(eye(2)))", lambda r: np.linalg.det(np.outer(r[:2], r[:2]) + np.eye(2))),
    ("f64(sum(bincount(i64(abs({r}) * 3.0), 60)[1:4]))", lambda r: float(np.bincount(np.minimum((np.abs(r) * 3).astype(int), 59), minlength=60)[1:4].sum())),
]


class Case:
    def __init__(self, rng, noise, number):
        self.name = f"case{number}"
        n, m = rng.choice([0, 1, 2, 5, 9, 40, 700, 3000]), rng.choice([2, 3, 4, 9, 17, 40])
        if n * m > 40000 and rng.random() < 0.7:
            n = 40
        self.x = np.clip(noise.standard_normal((n, m)), -6, 6)
        self.at = noise.integers(0, max(n, 1), n)
        x, at = self.x, self.at
        kind = rng.choice(["row", "row", "window", "column", "backwards", "gathered", "shifted"])
        kind = "row" if n < 2 and kind == "window" else kind
        rows, index = {
            "row": (lambda i: x[i], "x[i]"), "backwards": (lambda i: x[n - 1 - i], "x[n - 1 - i]"), "gathered": (lambda i: x[at[i]], "x[at[i]]"),
            "shifted": (lambda i: x[i] + i % 3, "(x[i] + f64(i % 3))"), "column": (lambda i: x[:, i], "x[:, i]"),
            "window": (lambda i: x[i : i + 2, :2].ravel(), "flatten(x[i..i + 2, 0..2])"),
        }[kind]
        turns = {"column": m, "window": max(n - 1, 0)}.get(kind, n)
        count = {"column": "m", "window": "n - 1"}.get(kind, "n")
        length = {"column": n, "window": 4}.get(kind, m)
        size = {"column": "n", "window": "4"}.get(kind, "m")
        if length < 2:  # a row of nothing has no median
            turns, count = 0, "0"
        is_row = rng.random() < 0.5
        text, function = rng.choice(ROW if is_row else NUMBER)
        value = text.format(r="r")
        form = rng.choice(["comprehension", "loop", "from", "two"])
        first = rng.choice([0, 1, 2]) if form == "from" else 0
        lines = [f"fn {self.name}(x: f64[n, m], at: i64[n]) {{"]
        zero = np.zeros((turns, length) if is_row else turns)
        if form == "comprehension":
            lines.append(f"  let y = [turn{number}({index}) for i in 0..{count}]")
            result = [function(rows(i)) for i in range(turns)]
        elif form == "two":
            lines.append(f"  let y = [turn{number}({index} * f64(k + 1)) for i in 0..{count}, k in 0..2]")
            result = [[function(rows(i) * (k + 1)) for k in range(2)] for i in range(turns)]
            zero = np.zeros((turns, 2) + ((length,) if is_row else ()))
        else:
            lines.append(f"  var y = zeros([{count}, {size}], f64)" if is_row else f"  var y = zeros([{count}], f64)")
            lines.append(f"  for i in {first}..{count} {{ y[i] = turn{number}({index}) }}")
            result = zero.copy()
            for i in range(first, turns):
                result[i] = function(rows(i))
        lines += ["  y", "}"]
        result_type = "f64[n]" if is_row else "f64"
        self.text = f"fn turn{number}(r: f64[n]) -> {result_type} = {value}\n" + "\n".join(lines)
        self.expected = weighed(np.array(result, float).reshape(zero.shape))


def run(oracle):
    rng, noise = random.Random(oracle.seed), np.random.default_rng(oracle.seed)
    for start in range(0, oracle.count, 12):
        cases = [Case(rng, noise, start + k) for k in range(min(12, oracle.count - start))]
        with oracle.folder() as folder:
            main = ["fn main() {"]
            for case in cases:
                np.save(f"{folder}/{case.name}.x.npy", case.x)
                np.save(f"{folder}/{case.name}.at.npy", case.at)
                main.append(f'  let {case.name}_x: f64[_, _] = load("{case.name}.x.npy")')
                main.append(f'  let {case.name}_at: i64[_] = load("{case.name}.at.npy")')
                main.append(f"  shown({case.name}({case.name}_x, {case.name}_at))")
            text = HEAD + "\n\n".join(case.text for case in cases) + "\n\n" + "\n".join(main) + "\n}\n"
            done = oracle.run(folder, text)
            lines = done.stdout.splitlines()
            oracle.check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[:600]}")
            for case, line in zip(cases, lines):
                same = is_shown(case.expected, line, 1e-8, float(case.x.size))
                oracle.check(same, f"{case.text}\n  x: {case.x.shape}: {line}, expected {case.expected}")

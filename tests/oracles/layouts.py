"""Random nests: reductions, scans, permutations, positions, softmax, gathers and chains over random axes of random shapes, bit for bit.

Sizes are 0, 1, primes and what lies around a vector, a lane array or a chunk; they are known when compiling or only when the program runs.
Elements include NaN, infinities and both zeros. What selects or moves elements, and sums of integers, are compared with NumPy's; everything
with the interpreter, on one thread and two, and with code for processors without AVX-512.
"""
import os
import random

import numpy as np

import contractions

TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i32": np.int32, "u8": np.uint8, "i64": np.int64}
SIZES = [0, 1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 31, 32, 33, 47, 48, 49, 61, 64, 65, 100, 129, 255, 257, 300, 1023, 4099]
MOST = 60_000  # elements of one case
SEED, COUNT = 0, 240


def same(a, b):
    """The same bits, but for those of a NaN."""
    if a.dtype.kind == "f" and a.dtype == b.dtype:
        a, b = (np.where(np.isnan(x), x.dtype.type(np.nan), x) for x in (a, b))
    return contractions.same(a, b)


def axes_text(axes):
    return str(axes[0]) if len(axes) == 1 else f"({', '.join(map(str, axes))})"


class Case:
    def __init__(self, rng, noise, number):
        self.number = number
        rank = rng.randint(1, 5)
        while True:
            shape = [rng.choice(SIZES) for _ in range(rank)]
            if np.prod([float(max(n, 1)) for n in shape]) <= MOST:
                break
        self.type = rng.choice(["f32", "f32", "f32", "f64", "f64", "f16", "i32", "u8", "i64"])
        self.x = self.elements(rng, noise, shape)
        self.known = rng.random() < 0.3
        self.order = rng.sample(range(rank), rank) if rng.random() < 0.35 else None  # read through a permutation
        self.exact = None  # NumPy's result, where it is one bit for bit
        self.text = self.draw(rng, noise)

    def elements(self, rng, noise, shape):
        if self.type in ("i32", "i64", "u8"):
            return noise.integers(0 if self.type == "u8" else -50, 100, shape).astype(TYPES[self.type])
        x = np.asarray(noise.standard_normal(shape)).astype(TYPES[self.type])
        kind = rng.random()
        if kind < 0.25 and x.size:
            flat = x.reshape(-1)
            for value in rng.choice([[np.nan], [np.inf, -np.inf], [0.0, -0.0], [np.nan, -0.0, np.inf]]):
                flat[noise.integers(0, x.size, max(1, x.size // rng.choice([3, 50, x.size])))] = value
        elif kind < 0.35:
            x = np.round(x).astype(x.dtype)  # many equal ones
        elif kind < 0.4:
            x = np.full(shape, rng.choice([np.inf, -np.inf, np.nan, -0.0]), x.dtype)
        return x

    def draw(self, rng, noise):
        x = self.x.transpose(self.order) if self.order else self.x
        v = f"x{self.number}"
        v = f"permute({v}, {self.order})" if self.order else v
        rank, real = x.ndim, self.type in ("f32", "f64", "f16")
        axes = sorted(rng.sample(range(rank), rng.randint(1, rank)))
        axis = rng.randrange(rank)
        full = all(x.shape[a] > 0 for a in axes)
        kinds = ["sum", "sum", "mean", "max", "min", "std", "arg", "arg", "scan", "scan", "permute", "permute", "softmax", "centred", "gather", "pair", "masked"]
        kind = rng.choice(kinds)
        if kind in ("max", "min") and full:
            if not real or not np.any((x == 0) & np.signbit(x)) and not np.isnan(x.astype(np.float64)).any():
                self.exact = getattr(np, kind)(x, tuple(axes))
            return f"{kind}({v}, axis = {axes_text(axes)})"
        if kind == "arg" and x.shape[axis] > 0:
            op = rng.choice(["argmax", "argmin"])
            self.exact = getattr(np, op)(x, axis).astype(np.int64)
            return f"{op}({v}, axis = {axis})"
        if kind == "scan":
            op = rng.choice(["cumsum", "cummax", "cummin", "cumprod"]) if real else rng.choice(["cumsum", "cummax"])
            return f"{op}({v}, axis = {axis})"
        if kind in ("permute", "max", "min", "arg"):
            order = rng.sample(range(rank), rank)
            moved = x.transpose(order)
            self.exact = moved + moved.dtype.type(1) if not real else None
            return f"permute({v}, {order}) + {self.type}(1)"
        if kind == "softmax" and real and x.shape[axis] > 0:
            return f"softmax({v}, axis = {axis})"
        if kind == "centred" and real:
            return f"{v} - mean({v}, axis = {axes_text(axes)}, keep = true)"
        if kind == "gather" and x.shape[axis] > 0:
            picked = noise.integers(0, x.shape[axis], rng.choice([1, 5, 40]))
            self.exact = np.take(x, picked, axis)
            return f"take({v}, [{', '.join(map(str, picked))}], axis = {axis})"
        if kind == "pair" and real:
            return f"sum({v} * {v}, axis = {axes_text(axes)}) + max({v}, axis = {axes_text(axes)})" if full else f"sum({v} * {v}, axis = {axes_text(axes)})"
        if kind == "masked":
            return f"sum(where({v} > {self.type}(0), {v}, {self.type}(0)), axis = {axes_text(axes)})"
        if kind in ("mean", "std") and real and full:
            return f"{kind}({v}, axis = {axes_text(axes)})"
        return f"sum({v}, axis = {axes_text(axes)})"

    def program(self):
        k = self.number
        sizes = ", ".join(str(n) if self.known else f"n{k}_{i}" for i, n in enumerate(self.x.shape))
        return f'let x{k}: {self.type}[{sizes}] = load("x{k}.npy")\nsave("out{k}.npy", {self.text})\n'


def results(oracle, folder, cases, options, processor):
    for case in cases:
        np.save(os.path.join(folder, f"x{case.number}.npy"), case.x)
    if processor:
        os.environ["TL_CPU"] = processor
    done = oracle.run(folder, "".join(case.program() for case in cases), options)
    os.environ.pop("TL_CPU", None)
    if done.returncode != 0:
        return done.stderr
    return [np.load(os.path.join(folder, f"out{case.number}.npy")) for case in cases]


def run(oracle, case_type=Case):
    rng, noise = random.Random(oracle.seed), np.random.default_rng(oracle.seed)
    for begin in range(0, oracle.count, 20):
        cases = [case_type(rng, noise, begin + i) for i in range(20)]
        with oracle.folder() as folder:
            ways = {name: results(oracle, folder, cases, options, processor) for name, options, processor in
                    (("--interp", ["--interp"], None), ("--threads 1", ["--threads", "1"], None), ("--threads 2", ["--threads", "2"], None),
                     ("x86-64-v3", ["--threads", "1"], "x86-64-v3"))}
            errors = [way for way in ways.values() if isinstance(way, str)]
            if errors:
                oracle.count_cases(len(cases), errors[:1] * len(cases))
                continue
            for i, case in enumerate(cases):
                what = f"{case.type}{list(case.x.shape)}{' known' if case.known else ''} {case.text}"
                if case.exact is not None:
                    ours, wanted = ways["--threads 2"][i], np.asarray(case.exact)
                    oracle.check(ours.shape == wanted.shape and np.array_equal(ours, wanted, equal_nan=ours.dtype.kind == "f"), f"not NumPy's: {what}")
                for name in ("--threads 1", "--threads 2", "x86-64-v3"):
                    oracle.check(same(ways[name][i], ways["--interp"][i]), f"not the interpreter's bits, {name}: {what}")

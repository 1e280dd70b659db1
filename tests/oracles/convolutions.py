"""Convolutions and their derivatives against NumPy, exactly: random sizes, strides, paddings, dilations and element types.

The elements are small integers, whose sums are exact in any order. Of normally distributed elements the bits are those of the interpreter.
Each case gives the convolution, the gradients of sum(y * r) for filters, images and biases, a derivative of a derivative, and a convolution
of 8-bit integers of the same sizes, less their zero points.
"""
import os
import random

import numpy as np

TYPES = {"f32": np.float32, "f64": np.float64}
WHOLE = {"u8": np.uint8, "i8": np.int8}
NAMES = ["y", "dw", "dx", "db", "second", "whole"]
MOST = 400_000  # products of one case

HEAD = """import nn
import onnx
fn dilated<T: float>(x: T[n, c, h, v], w: T[o, c, k, l], stride: i64, by: i64) =
  [sum(w[f, b, p, q] * x[a, b, i * stride + p * by, j * stride + q * by] for b in 0..c, p in 0..k, q in 0..l)
   for a in 0..n, f in 0..o, i in 0..(h - (k - 1) * by - 1)//stride+1, j in 0..(v - (l - 1) * by - 1)//stride+1]
"""


class Case:
    def __init__(self, rng, number):
        self.number, self.type = number, rng.choice(["f32", "f32", "f64"])
        self.whole = [rng.choice(sorted(WHOLE)) for _ in range(2)]  # of images and filters
        self.zeros = [rng.choice([None, 0, 100]), rng.choice([None, 0, 7, "each"])]
        while True:
            self.n, self.c, self.o = rng.choice([0, 1, 1, 2, 3, 5]), rng.choice([1, 1, 2, 3, 8]), rng.choice([1, 2, 5, 6, 7, 13, 20])
            self.k, self.l = rng.choice([1, 2, 3, 3, 5, 7, 9]), rng.choice([1, 2, 3, 3, 4, 5, 18])
            self.stride, self.padding = rng.choice([1, 1, 1, 2, 3]), rng.choice([0, 0, 1, 2])
            self.by = rng.choice([1, 1, 2, 3])  # the dilation, of what is written as a comprehension
            self.written = self.by > 1 or rng.random() < 0.3
            if self.written:
                self.padding = 0
            self.h = max(1, (self.k - 1) * self.by + 1 - 2 * self.padding + rng.choice([0, 1, 2, 6, 8, 15, 17]))
            self.v = max(1, (self.l - 1) * self.by + 1 - 2 * self.padding + rng.choice([0, 1, 2, 3, 7, 9, 16, 24]))
            self.rows = (self.h + 2 * self.padding - (self.k - 1) * self.by - 1) // self.stride + 1
            self.columns = (self.v + 2 * self.padding - (self.l - 1) * self.by - 1) // self.stride + 1
            if self.n * self.o * self.rows * self.columns * self.c * self.k * self.l <= MOST:
                break

    def __str__(self):
        return " ".join(f"{name}={value}" for name, value in vars(self).items() if name != "number")

    def arrays(self, noise, exact):
        some = lambda *shape: noise.integers(-2, 3, shape) if exact else noise.standard_normal(shape)
        x, w, b = some(self.n, self.c, self.h, self.v), some(self.o, self.c, self.k, self.l), some(self.o)
        r, q = some(self.n, self.o, self.rows, self.columns), some(self.n, self.c, self.h, self.v)
        arrays = {name: np.asarray(a).astype(TYPES[self.type]) for name, a in zip("xwbrq", (x, w, b, r, q))}
        whole = lambda t, *shape: noise.integers(np.iinfo(WHOLE[t]).min, np.iinfo(WHOLE[t]).max + 1, shape).astype(WHOLE[t])
        arrays["a"], arrays["c"] = whole(self.whole[0], *x.shape), whole(self.whole[1], *w.shape)
        arrays["z"] = whole(self.whole[1], self.o) if self.zeros[1] == "each" else np.full(self.o, self.zeros[1] or 0, WHOLE[self.whole[1]])
        return arrays

    # Places of x that position (i, j) of the result sees: views of x with padding.
    def windows(self, x):
        for p in range(self.k):
            for q in range(self.l):
                at = lambda first, count: slice(first * self.by, first * self.by + (count - 1) * self.stride + 1, self.stride)
                yield p, q, x[:, :, at(p, self.rows), at(q, self.columns)]

    def forward(self, x, w):
        y = np.zeros((self.n, self.o, self.rows, self.columns))
        for p, q, window in self.windows(self.padded(x)):
            y += np.einsum("nchw,oc->nohw", window, w[:, :, p, q])
        return y

    def padded(self, x):
        m = self.padding
        return np.pad(x, ((0, 0), (0, 0), (m, m), (m, m)))

    def filters(self, x, r):
        dw = np.zeros((self.o, self.c, self.k, self.l))
        for p, q, window in self.windows(self.padded(x)):
            dw[:, :, p, q] = np.einsum("nchw,nohw->oc", window, r)
        return dw

    def images(self, w, r):
        dx = self.padded(np.zeros((self.n, self.c, self.h, self.v)))
        for p, q, window in self.windows(dx):
            window += np.einsum("nohw,oc->nchw", r, w[:, :, p, q])
        m = self.padding
        return dx[:, :, m : m + self.h, m : m + self.v]

    def wanted(self, arrays):
        x, w, b, r, q = (arrays[name].astype(np.float64) for name in "xwbrq")
        y = self.forward(x, w) + b[:, None, None]
        # Of sum(y * y) / 2 the gradient for x, times q, summed: <C q, C x + b> where C is the convolution by w.
        second = self.filters(q, y) + self.filters(x, self.forward(q, w))
        a, c, z = (arrays[name].astype(np.float64) for name in "acz")
        whole = self.forward(a - (self.zeros[0] or 0), c - z[:, None, None, None]).astype(np.int32)
        return [a.astype(TYPES[self.type]) for a in (y, self.filters(x, r), self.images(w, r), r.sum((0, 2, 3)), second)] + [whole]

    def program(self):
        k, t = self.number, self.type
        call = f"dilated(x, w, {self.stride}, {self.by}) + b[:, new, new]" if self.written else \
            f"nn.conv2d(x, nn.Conv2d(w = w, b = b), {self.stride}, {self.padding})"
        load = lambda name, axes: f'load("in.npz", "{name}{k}")'
        sizes = {"x": f"{t}[_, {self.c}, {self.h}, {self.v}]", "w": f"{t}[{self.o}, {self.c}, {self.k}, {self.l}]", "b": f"{t}[{self.o}]",
                 "r": f"{t}[_, {self.o}, {self.rows}, {self.columns}]", "q": f"{t}[_, {self.c}, {self.h}, {self.v}]"}
        lines = [f'let {name}{k}: {sizes[name]} = load("in.npz", "{name}{k}")' for name in "xwbrq"]
        y = f"fn y{k}(w: {sizes['w']}, x: {t}[n, {self.c}, {self.h}, {self.v}], b: {sizes['b']}) = {call}"
        lines = [y] + lines + [f'save("y{k}.npy", y{k}(w{k}, x{k}, b{k}))',
                 f"let (dw{k}, dx{k}, db{k}) = grad(|w, x, b| sum(y{k}(w, x, b) * r{k}), argnums = (0, 1, 2))(w{k}, x{k}, b{k})",
                 f"let second{k} = grad(|w| sum(grad(|x| sum(y{k}(w, x, b{k}) ** 2) * 0.5)(x{k}) * q{k}))(w{k})"]
        (t, s), (zero, zeros) = self.whole, self.zeros
        lines += [f'let a{k}: {t}[_, {self.c}, {self.h}, {self.v}] = {load("a", 4)}', f'let c{k}: {s}[_, _, _, _] = {load("c", 4)}',
                  f'let z{k}: {s}[_] = {load("z", 1)}']
        zeros = "none" if zeros is None else f"z{k}" if zeros == "each" else f"{s}({zeros})"
        lines.append(f'let whole{k} = onnx.conv_integer(a{k}, c{k}, {"none" if zero is None else f"{t}({zero})"}, {zeros}, '
                     f'{self.stride}, {self.padding}, {self.by})')
        return "\n".join(lines + [f'save("{name}{k}.npy", {name}{k})' for name in NAMES[1:]])


def results(oracle, folder, cases, arrays, options):
    """What a program of all cases gives; a text where it fails."""
    stored = {f"{name}{case.number}": a for case, some in zip(cases, arrays) for name, a in some.items()}
    np.savez(os.path.join(folder, "in.npz"), **stored)
    done = oracle.run(folder, HEAD + "\n".join(case.program() for case in cases) + "\n", options)
    if done.returncode != 0:
        return done.stderr
    return [[np.load(os.path.join(folder, f"{name}{case.number}.npy")) for name in NAMES] for case in cases]


SEED, COUNT = 0, 24


def run(oracle):
    rng, noise = random.Random(oracle.seed), np.random.default_rng(oracle.seed)
    for begin in range(0, oracle.count, 8):
        cases = [Case(rng, begin + i) for i in range(min(8, oracle.count - begin))]
        for exact in (True, False):
            arrays = [case.arrays(noise, exact) for case in cases]
            with oracle.folder() as folder:
                ways = [results(oracle, folder, cases, arrays, options) for options in (["--threads", "2"], ["--interp"])]
                errors = [way for way in ways if isinstance(way, str)]
                if errors:
                    oracle.count_cases(len(cases), errors[:1] * len(cases))
                    continue
                for case, some, ours, theirs in zip(cases, arrays, *ways):
                    for name, a, b in zip(NAMES, ours, theirs):
                        oracle.check(a.shape == b.shape and a.tobytes() == b.tobytes(), f"{name} is not of the interpreter's bits: {case}")
                    for name, a, b in zip(NAMES, ours, case.wanted(some) if exact else []):
                        oracle.check(a.dtype == b.dtype and np.array_equal(a, b), f"{name} is not NumPy's: {case}")

"""Chains of elementwise operations, views and selections over rows of 1 to 18 elements, bit for bit, as random nests are (layouts.py).

NumPy's results are those of single operations that round once, so all of them are compared.
"""
import numpy as np

import layouts

TYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "u8": np.uint8, "i64": np.int64}
ROWS = [0, 1, 2, 3, 5, 7, 8, 13, 16, 17, 33, 100, 257]
SEED, COUNT = 0, 160


class Case(layouts.Case):
    def __init__(self, rng, noise, number):
        self.number, self.order = number, None
        shape = [rng.choice(ROWS) for _ in range(rng.randint(1, 2))] + [rng.randint(1, 18)]
        if len(shape) == 3:
            shape[rng.randrange(2)] = rng.randint(1, 5)
        self.type = rng.choice(["f32", "f32", "f32", "f64", "i32", "u8", "i64"])
        x = noise.integers(0, 100, shape) if self.type[0] in "iu" else noise.standard_normal(shape)
        self.x = x.astype(TYPES[self.type])
        self.known = rng.random() < 0.2
        value, text = self.x, f"x{number}"
        with np.errstate(all="ignore"):
            for _ in range(rng.randint(1, 4)):
                value, text = self.step(rng, value, text)
        self.exact, self.text = value, text

    def step(self, rng, v, t):
        """One operation more. What else it reads is made from the value itself."""
        last, rank = v.shape[-1], v.ndim
        colons = ":, " * (rank - 1)
        kind = rng.choice(["row", "column", "flip", "slice", "slice", "pad", "concat", "where", "diff", "take", "stack", "swap", "scalar", "rows"])
        op = rng.choice(["+", "-", "*"])
        apply = {"+": np.add, "-": np.subtract, "*": np.multiply}[op]
        if kind == "row" and v.shape[0] > 0 and rank > 1:
            return apply(v, v[0]), f"({t} {op} {t}[0])"
        if kind == "column" and last > 0:
            return apply(v, v[..., :1]), f"({t} {op} {t}[{colons}0][{colons}new])"
        if kind == "flip":
            axis = rng.randrange(rank)
            return np.flip(v, axis), f"flip({t}, axis = {axis})"
        if kind == "slice" and last > 1:
            first, step = rng.randrange(last), rng.choice([1, 1, 2])
            return v[..., first::step], f"{t}[{colons}{first}::{step}]"
        if kind == "pad" and last < 14:
            before, after = rng.randint(0, 2), rng.randint(0, 3)
            margins = [(0, 0)] * (rank - 1) + [(before, after)]
            return np.pad(v, margins), f"pad({t}, [{', '.join(map(str, margins))}])"
        if kind == "concat" and 1 < last < 10:
            return np.concatenate((v, v[..., :2]), -1), f"concat(({t}, {t}[{colons}:2]), axis = {rank - 1})"
        if kind == "where" and last > 0:
            first, final = (f"{t}[{colons}{k}][{colons}new]" for k in (0, -1))
            return np.where(v > v[..., -1:], v, v[..., :1]), f"where({t} > {final}, {t}, {first})"
        if kind == "diff" and last > 1:
            return apply(v[..., 1:], v[..., :-1]), f"({t}[{colons}1:] {op} {t}[{colons}:-1])"
        if kind == "take" and last > 0:
            chosen = [rng.randrange(last) for _ in range(rng.randint(1, 6))]
            return np.take(v, chosen, -1), f"take({t}, {chosen}, axis = {rank - 1})"
        if kind == "stack" and rank < 3:
            return np.stack((v, apply(v, v)), -1), f"stack(({t}, {t} {op} {t}), axis = {rank})"
        if kind == "swap":
            order = rng.sample(range(rank), rank)
            return v.transpose(order), f"permute({t}, {order})"
        if kind == "rows" and v.shape[0] > 1:
            return v[1::2], f"{t}[1::2]"
        return apply(v, v.dtype.type(3)), f"({t} {op} {self.type}(3))"


def run(oracle):
    layouts.run(oracle, Case)

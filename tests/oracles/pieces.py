"""Tensors put together from pieces, and conversions of numbers beyond a type's range, bit for bit NumPy's: random trees of `concat`, `pad`, `roll`,
`where` by position and slices along random axes of random shapes; by the interpreter, on one thread and two, and with code for processors without
AVX-512. A kernel chooses a piece by its position: loops are cut where that changes, so that lengths lie around few vectors, too.
"""
import numpy as np

import layouts

SEED, COUNT = 0, 240
TYPES = dict(layouts.TYPES, i8=np.int8, i16=np.int16, u16=np.uint16, u32=np.uint32, u64=np.uint64)


def converted(x, to):
    """Toward 0; beyond the range the least or the greatest number, NaN 0."""
    if np.dtype(to).kind not in "iu" or x.dtype.kind != "f":
        return x.astype(to)
    bounds = np.iinfo(to)
    wide = np.trunc(np.where(np.isnan(x), 0, x).astype(np.longdouble))
    inside = np.clip(wide, np.longdouble(bounds.min), np.longdouble(bounds.max))
    return np.array([int(v) for v in inside.reshape(-1)], to).reshape(x.shape)


class Case(layouts.Case):
    def draw(self, rng, noise):
        if rng.random() < 0.25:
            return self.draw_conversion(rng)
        x = self.x.transpose(self.order) if self.order else self.x
        v = f"permute(x{self.number}, {self.order})" if self.order else f"x{self.number}"
        axis = rng.randrange(x.ndim)
        text, self.exact = self.tree(rng, v, x, axis, rng.randint(1, 3))
        return text

    def draw_conversion(self, rng):
        if self.x.dtype.kind == "f":
            with np.errstate(over="ignore", invalid="ignore"):
                self.x = self.x * self.x.dtype.type(10.0 ** rng.choice([0, 2, 4, 9, 10, 18, 19]))
        to = rng.choice(list(TYPES))
        with np.errstate(over="ignore", invalid="ignore"):
            self.exact = converted(self.x, TYPES[to])
        self.order = None
        return f"{to}(x{self.number})"

    def tree(self, rng, v, x, axis, depth):
        n = x.shape[axis]
        kind = rng.choice(["concat", "concat", "pad", "roll", "where", "add"]) if depth else "slice"
        if kind == "slice":
            return self.piece(rng, v, x, axis)
        if kind == "concat":
            parts = [self.tree(rng, v, x, axis, depth - 1) for _ in range(rng.randint(2, 4))]
            return f"concat(({', '.join(p[0] for p in parts)}), axis = {axis})", np.concatenate([p[1] for p in parts], axis)
        text, y = self.tree(rng, v, x, axis, depth - 1)
        n = y.shape[axis]
        if kind == "pad":
            margins = [(0, 0)] * x.ndim
            margins[axis] = (rng.choice([0, 1, 3, 40]), rng.choice([0, 1, 2, 70]))
            return f"pad({text}, ({', '.join(f'({a}, {b})' for a, b in margins)},), value = 7)", np.pad(y, margins, constant_values=7)
        if kind == "roll":
            k = rng.choice([0, 1, -1, 3, n, n + 2, -5, 1000])
            return f"roll({text}, {k}, axis = {axis})", np.roll(y, k, axis)
        if kind == "where":
            at = rng.randint(0, n + 1)
            shape = [1] * x.ndim
            shape[axis] = n
            chosen = (np.arange(n) < at).reshape(shape)
            mask = f"(arange(shape_of({text})[{axis}]) < {at})[{', '.join(':' if i == axis else 'new' for i in range(x.ndim))}]"
            return f"where({mask}, {text}, {self.type}(3))", np.where(chosen, y, x.dtype.type(3))
        return f"({text} + {self.type}(1))", y + x.dtype.type(1)

    def piece(self, rng, v, x, axis):
        n = x.shape[axis]
        a, b = sorted((rng.randint(0, n), rng.randint(0, n)))
        if rng.random() < 0.3:
            a, b = 0, n
        step = rng.choice([1, 1, 1, 2, -1, -1, -3])
        before, behind = ":, " * axis, ", :" * (x.ndim - axis - 1)
        text = f"{v}[{before}{a}:{b}{behind}]"
        y = np.take(x, np.arange(a, b), axis)
        if step == 1:
            return text, y
        return f"{text}[{before}::{step}{behind}]", np.take(y, np.arange(b - a)[::step], axis)


def run(oracle):
    layouts.run(oracle, Case)

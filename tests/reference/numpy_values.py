"""Values of NumPy that tests/golden/run/numpy_values.tl compares with: python3 numpy_values.py, writes numpy_values.npz."""

import math

import numpy as np

r = np.random.default_rng(7)
x, y = r.normal(size=(4, 5)), r.normal(size=(4, 5))
p = r.uniform(0.2, 3.0, size=(4, 5))
sq = r.normal(size=(3, 4, 4))
spd = sq @ sq.transpose(0, 2, 1) + 0.5 * np.eye(4)
b = r.normal(size=(3, 4, 2))
i = r.integers(0, 6, size=20)
lower = np.tril(sq) + 3 * np.eye(4)
counts, edges = np.histogram(x, bins=6)
w, v = np.linalg.eigh(spd)
values, inverse, times = np.unique(i, return_inverse=True, return_counts=True)
sign, logdet = np.linalg.slogdet(sq)
out = {
    "x": x, "y": y, "p": p, "sq": sq, "spd": spd, "b": b, "i": i, "lower": lower,
    "exp": np.exp(x), "log": np.log(p), "log1p": np.log1p(p), "expm1": np.expm1(x), "sqrt": np.sqrt(p),
    "sin": np.sin(x), "cos": np.cos(x), "tan": np.tan(x), "tanh": np.tanh(x), "sinh": np.sinh(x), "cosh": np.cosh(x),
    "asin": np.arcsin(x / 4), "acos": np.arccos(x / 4), "atan": np.arctan(x), "atan2": np.arctan2(y, x),
    "erf": np.vectorize(math.erf)(x), "pow": p**y, "floor_div": x // y, "mod": x % y,
    "std": np.std(x, axis=0), "variance": np.var(x, axis=1), "prod": np.prod(x, axis=1), "norm": np.linalg.norm(x, axis=1),
    "cumsum": np.cumsum(x, axis=1), "cumprod": np.cumprod(x, axis=0), "sort": np.sort(x, axis=0),
    "argsort": np.argsort(x, axis=1), "argmax": np.argmax(x, axis=0), "diff": np.diff(x, axis=1),
    "roll": np.roll(x, 2, axis=1), "repeat": np.repeat(x, 2, axis=0), "tile": np.tile(x, (2, 1)), "tril": np.tril(x, -1),
    "outer": np.outer(x[0], y[0]), "einsum": np.einsum("ij,kj->ik", x, y), "linspace": np.linspace(-1, 2, 7),
    "bincount": np.bincount(i, minlength=6), "unique": values, "inverse": inverse, "times": times,
    "searchsorted": np.searchsorted(np.sort(x[0]), y[0]), "counts": counts, "edges": edges,
    "cholesky": np.linalg.cholesky(spd), "solve": np.linalg.solve(sq, b), "triangular": np.linalg.solve(lower, b),
    "det": np.linalg.det(sq), "inv": np.linalg.inv(sq), "sign": sign, "logdet": logdet, "eigenvalues": w,
    "singular": np.linalg.svd(sq[:, :, :3])[1], "pinv": np.linalg.pinv(sq[0][:, :2]),
    "lstsq": np.linalg.lstsq(sq[1][:, :2], b[1], rcond=None)[0], "qr": np.abs(np.linalg.qr(sq)[1]),
}
np.savez("numpy_values.npz", **{k: a.astype(np.int64) if a.dtype.kind == "i" else np.asarray(a) for k, a in out.items()})

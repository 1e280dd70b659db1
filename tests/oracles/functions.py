"""The functions of the library that NumPy and SciPy have, too, against theirs: random shapes of rank 0 to 4 with sizes 0, 1 and primes, element
types, axes and parameters. What only SciPy has is skipped, and says so, where it is not installed.

A case is an expression of tl over arrays and the same for NumPy. Many cases are one program, which reads and writes .npz files; it runs by kernels
and by the interpreter. If it fails, each case runs alone. Derivatives are compared with central differences in f64.
"""
import os
import re
import warnings

import numpy as np

import numpy_functions as theirs

try:
    import scipy.linalg
    import scipy.special
except ImportError:
    scipy = None

SEED = 0
COUNT = 10  # cases of each function
SIZES = [0, 1, 2, 3, 5, 7, 11]
FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
INTS = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
TYPES = {"bool": np.bool_, **INTS, **FLOATS}
COMPLEX = {"c64": np.complex64, "c128": np.complex128}
NAMES = {np.dtype(of): name for name, of in {**TYPES, **COMPLEX}.items()}
PROGRAM = 40  # cases


class Case:
    def __init__(self, text, arrays, want, wide=1.0, derivative=False):
        self.text, self.arrays, self.want, self.wide, self.derivative = text, arrays, want, wide, derivative


# ---- arrays

class Maker:
    """Arrays at random."""

    def __init__(self, rng):
        self.rng = rng

    def pick(self, options):
        return options[int(self.rng.integers(len(options)))]

    def shape(self, least=0, most=4, empty=True):
        sizes = SIZES if empty else SIZES[1:]
        return tuple(self.pick(sizes) for _ in range(int(self.rng.integers(least, most + 1))))

    def type(self, *kinds):
        names = [name for kind in kinds for name in {"float": FLOATS, "int": INTS, "bool": ["bool"]}[kind]]
        return self.pick(names)

    def array(self, type, shape, nan=0.0, ties=False):
        of = TYPES[type]
        if type == "bool":
            return self.rng.integers(0, 2, shape).astype(of)
        if type in INTS:
            return self.rng.integers(0 if type == "u8" else -9, 10, shape).astype(of)
        x = self.rng.integers(-3, 4, shape) / 2 if ties else self.rng.standard_normal(shape) * 3
        x = np.asarray(x).astype(of)
        return np.where(self.rng.random(shape) < nan, of(np.nan), x).astype(of)

    def axis(self, rank):
        """An axis, a tuple of some, or None; as tl writes it and as NumPy takes it."""
        kind = self.pick(["none", "one", "one", "some"]) if rank else "none"
        if kind == "none":
            return None
        axes = [int(k) for k in self.rng.permutation(rank)[: 1 if kind == "one" else max(1, rank - 1)]]
        axes = [k - rank if self.rng.random() < 0.5 else k for k in axes]
        return axes[0] if kind == "one" else tuple(axes)

    def one_axis(self, rank):
        return int(self.rng.integers(-rank, rank))


def written(value):
    """A value of Python as tl writes it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))},)" if value else "()"
    if isinstance(value, str):
        return f'"{value}"'
    return str(value)


def call(name, *arguments, **named):
    """A call in tl; arguments that are None by name are left out."""
    parts = list(arguments) + [f"{key} = {written(value)}" for key, value in named.items() if value is not None]
    return f"{name}({', '.join(parts)})"


# ---- subjects: each gives a case

def reducing(m, name, function, kinds=("float", "int"), empty=True, nan=0.0, extra=(), differentiable=False):
    type, shape = m.type(*kinds), m.shape(empty=empty)
    x = m.array(type, shape, nan)
    axis, keep = m.axis(len(shape)), m.pick([True, False])
    named = {key: m.pick(options) for key, options in extra}
    text = call(name, "x", axis=axis, keep=keep, **named)
    return Case(text, {"x": x}, lambda: function(x, axis=axis, keepdims=keep, **named), 4,
                differentiable and type == "f64" and x.size > 0 and nan == 0.0)


def quantiles(m, name, function, nan):
    type, shape = m.type("float", "int"), m.shape(empty=False)
    x = m.array(type, shape, nan)
    axis, keep = m.axis(len(shape)), m.pick([True, False])
    q = np.asarray(m.rng.integers(0, 21, m.shape(0, 2, empty=False)) / 20)
    scale = 100 if "percentile" in name else 1
    method = m.pick([None, *theirs.METHODS])
    q = q * scale
    return Case(call(name, "x", "q", axis=axis, keep=keep, method=method), {"x": x, "q": q},
                lambda: function(x.astype(np.float64) if type == "f16" else x, q, axis=axis, keepdims=keep, method=method or "linear").astype(
                    x.dtype if type in FLOATS else np.float64), 4)


def covariances(m, name):
    type = m.type("float", "int")
    n = m.pick([2, 3, 5, 7])
    rowvar = m.pick([None, True, False])
    x = m.array(type, m.pick([(n,), (2, n), (3, n), (5, n)] + [(1, n)] * (rowvar is not False)))
    named = {"rowvar": rowvar}
    if name == "cov":
        named.update(bias=m.pick([None, True]), ddof=m.pick([None, 0, 1]))
    arrays = {"x": x}
    both = m.pick([False, True])
    if both:
        arrays["y"] = m.array(type, x.shape)
    text = call(name, *(["x", "y"] if both else ["x"]), **named)
    given = {key: value for key, value in named.items() if value is not None}
    wide = {key: a.astype(np.float32) if type == "f16" else a for key, a in arrays.items()}

    def want():  # which NumPy squeezes
        result = np.asarray(getattr(np, name)(*wide.values(), **given)).astype(x.dtype if type in FLOATS else np.float64)
        return result.reshape((1, 1)) if x.ndim == 2 and result.ndim == 0 else result

    return Case(text, arrays, want, 20)


def elementwise(m, name, function, low=-9.0, high=9.0, kinds=("float",), special=True, count=1, broadcast=False):
    type = m.type(*kinds)
    shape = m.shape()
    arrays = {}
    for key in "xyz"[:count]:
        x = m.array(type, shape)
        if type in FLOATS:
            x = m.rng.uniform(low, high, shape).astype(TYPES[type])
            if special and x.size and m.rng.random() < 0.5:
                x = np.where(m.rng.random(shape) < 0.2, TYPES[type](m.pick([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 2.0])), x).astype(TYPES[type])
        arrays[key] = np.asarray(x)
    if broadcast and count == 2 and shape and m.rng.random() < 0.5:
        arrays["y"] = np.ascontiguousarray(arrays["y"][(0,) * len(shape)]) if 0 not in shape else arrays["y"]

    def want():
        wide = [x.astype(np.float64) if type in FLOATS else x for x in arrays.values()]
        with np.errstate(all="ignore"):
            got = function(*wide)
        return np.asarray(got).astype(TYPES[type]) if type in FLOATS and np.asarray(got).dtype.kind == "f" else np.asarray(got)

    return Case(call(name, *arrays), arrays, want, 3, type == "f64" and not special)


def infinities_replaced(m):
    case = elementwise(m, "nan_to_num", np.copy)
    x = case.arrays["x"]
    return Case("nan_to_num(x, posinf = 9.0, neginf = -9.0)", {"x": x}, lambda: np.nan_to_num(x, posinf=9.0, neginf=-9.0))


def rounding(m):
    type, decimals = m.type("float", "int"), m.pick([-2, -1, 0, 1, 2, 3])
    x = m.array(type, m.shape())
    if type in FLOATS:
        x = (x * 10).astype(TYPES[type])
    wide = np.float32 if type == "f16" else x.dtype
    return Case(f"round(x, {decimals})", {"x": x}, lambda: np.asarray(np.round(x.astype(wide), decimals)).astype(x.dtype))


def closeness(m, name):
    type = m.type("float")
    shape = m.shape()
    x = m.array(type, shape, 0.1)
    y = np.asarray(np.where(m.rng.random(shape) < 0.7, x * TYPES[type](1 + 1e-6), x + 1)).astype(TYPES[type])
    equal_nan = m.pick([None, True])
    named = {"equal_nan": equal_nan}
    if m.rng.random() < 0.5:
        named.update(rtol=1e-3, atol=0.1)
    given = {key: value for key, value in named.items() if value is not None}
    return Case(call(name, "x", "y", **named), {"x": x, "y": y}, lambda: np.asarray(getattr(np, name)(x, y, **given)))


def equal_arrays(m):
    x = m.array("i64", m.shape())
    y = m.pick([x, m.array("i64", m.shape(x.ndim, x.ndim)), m.array("i64", m.shape())])
    return Case("array_equal(x, y)", {"x": x, "y": y}, lambda: np.asarray(np.array_equal(x, y)))


def extremes(m, name, function):
    type, shape = m.type("float", "int"), m.shape(1, 3)
    arrays = {key: m.array(type, shape, 0.1 if type in FLOATS else 0) for key in "xyzw"[: m.pick([3, 4])]}

    def want():
        result = arrays["x"]
        for other in list(arrays.values())[1:]:
            result = function(result, other)
        return result

    return Case(call(name, *arrays), arrays, want)


def grids(m):
    count, indexing = m.pick([2, 3]), m.pick(["xy", "ij"])
    arrays = {key: m.array(m.type("float", "int"), (m.pick(SIZES),)) for key in "xyz"[:count]}
    return Case(call("meshgrid", *arrays, indexing=indexing), arrays, lambda: list(np.meshgrid(*arrays.values(), indexing=indexing)))


def moved(m):
    shape = m.shape(1, 4)
    rank, count = len(shape), int(m.rng.integers(1, len(shape) + 1))
    source, target = ([int(k) - (rank if m.rng.random() < 0.5 else 0) for k in m.rng.permutation(rank)[:count]] for _ in range(2))
    pair = (source[0], target[0]) if count == 1 else (tuple(source), tuple(target))
    x = m.array(m.type("float", "int", "bool"), shape)
    return Case(f"moveaxis(x, {written(pair[0])}, {written(pair[1])})", {"x": x}, lambda: np.moveaxis(x, *pair))


def swapped(m):
    x = m.array(m.type("float", "int", "bool"), m.shape(2, 4))
    i, j = m.one_axis(x.ndim), m.one_axis(x.ndim)
    return Case(f"swapaxes(x, {i}, {j})", {"x": x}, lambda: np.swapaxes(x, i, j))


def like(m):
    type = m.type("float", "int")
    x = m.array(type, m.shape())
    return Case("full_like(x, 7)", {"x": x}, lambda: np.full_like(x, 7))


def traces(m):
    x = m.array(m.pick(["f32", "f64", "i64"]), m.shape(2, 3))
    offset = m.pick([0, 0, 1, -1, 2, -3, 20])
    return Case(call("trace", "x", offset=offset), {"x": x}, lambda: np.asarray(np.trace(x, offset=offset)), 10)


def kronecker(m):
    type = m.pick(["f32", "f64", "i64"])
    x, y = m.array(type, m.shape(0, 3)), m.array(type, m.shape(0, 3))
    return Case("kron(x, y)", {"x": x, "y": y}, lambda: np.asarray(np.kron(x, y)))


def crossed(m):
    type, shape = m.pick(["f32", "f64", "i64"]), list(m.shape(0, 2))
    axis = int(m.rng.integers(len(shape) + 1))
    shape.insert(axis, 3)
    x, y = m.array(type, shape), m.array(type, shape)
    axis = m.pick([axis, axis - len(shape)])
    return Case(f"cross(x, y, axis = {axis})", {"x": x, "y": y}, lambda: np.cross(x, y, axis=axis), 4)


def tensordots(m):
    type = m.pick(["f32", "f64", "i64"])
    common = m.shape(0, 2)
    left, right = m.shape(0, 2), m.shape(0, 2)
    if m.rng.random() < 0.5:
        x, y, axes = m.array(type, left + common), m.array(type, common + right), len(common)
    else:
        x, y = m.array(type, left + common), m.array(type, right + common[::-1])
        p = tuple(range(len(left), x.ndim))
        q = tuple(range(y.ndim - 1, len(right) - 1, -1))
        axes = (p, q) if len(common) != 1 else m.pick([(p, q), (p[0], q[0])])
    return Case(f"tensordot(x, y, {written(axes)})", {"x": x, "y": y}, lambda: np.asarray(np.tensordot(x, y, axes)), 30)


def where_not_zero(m):
    x = m.array(m.type("float", "int", "bool"), m.shape(1, 4), ties=True)
    return Case("argwhere(x)", {"x": x}, lambda: np.argwhere(x))


def counted(m):
    shape = m.shape()
    x = m.array(m.type("float", "int", "bool"), shape, 0.1, ties=True)
    axis, keep = m.axis(len(shape)), m.pick([True, False])
    return Case(call("count_nonzero", "x", axis=axis, keep=keep), {"x": x}, lambda: np.asarray(np.count_nonzero(x, axis=axis, keepdims=keep)))


def members(m):
    type = m.type("float", "int")
    x, y, invert = m.array(type, m.shape(), 0.1, ties=True), m.array(type, m.shape(), 0.1, ties=True), m.pick([True, False])
    return Case(f"isin(x, y, invert = {written(invert)})", {"x": x, "y": y}, lambda: np.asarray(np.isin(x, y, invert=invert)))


def searched(m):
    type = m.type("float", "int")
    x, y, side = np.sort(m.array(type, (m.pick(SIZES),), 0.1, ties=True)), m.array(type, m.shape(), 0.1, ties=True), m.pick([None, "left", "right"])
    return Case(call("searchsorted", "x", "y", side=side), {"x": x, "y": y}, lambda: np.asarray(np.searchsorted(x, y, side or "left")))


def searched_in_order(m):
    x, y = m.array("f64", (m.pick(SIZES),), 0.1, ties=True), m.array("f64", m.shape(), 0.1, ties=True)
    z, side = np.argsort(x, kind="stable"), m.pick(["left", "right"])
    return Case(call("searchsorted", "x", "y", side=side, sorter=None).replace(")", ", sorter = z)"), {"x": x, "y": y, "z": z},
                lambda: np.asarray(np.searchsorted(x, y, side, sorter=z)))


def intervals(m):
    type = m.type("float", "int")
    edges, right = np.sort(m.array(type, (m.pick(SIZES),), ties=True)), m.pick([True, False])
    if m.rng.random() < 0.5:
        edges = np.ascontiguousarray(edges[::-1])
    x = m.array(type, m.shape(), ties=True)
    return Case(f"digitize(x, y, right = {written(right)})", {"x": x, "y": edges}, lambda: np.asarray(np.digitize(x, edges, right)))


def histograms(m):
    x = m.array("f64", m.shape(), ties=True)
    arrays, density = {"x": x}, m.pick([None, None, True])
    named, given = {"density": density}, {"density": bool(density)}
    if m.rng.random() < 0.5:
        arrays["w"] = m.array(m.pick(["f64", "i64"]), x.shape)
        given["weights"] = arrays["w"]
        if density:
            arrays["w"] = given["weights"] = np.abs(arrays["w"]) + 1
    if m.rng.random() < 0.5:
        edges = np.linspace(-3, 3, m.pick([2, 3, 8]))
        arrays["y"] = edges
        text = call("histogram", "x", "y", **named)
        run = lambda: np.histogram(x, edges, **given)  # noqa: E731
    else:
        bins = m.pick([1, 2, 5, 10])
        named["range"] = m.pick([None, (-2.0, 1.0)])
        text = call("histogram", "x", str(bins), **named)
        run = lambda: np.histogram(x, bins, range=named["range"], **given)  # noqa: E731
    if "w" in arrays:
        text = text[:-1] + ", weights = w)"
    return Case(text, arrays, lambda: list(run()), 10)


def histograms_2d(m):
    n = m.pick([1, 2, 7, 30])
    x, y = m.array("f64", (n,), ties=True), m.array("f64", (n,))
    bins, density = m.pick([3, (2, 4)]), m.pick([None, True])
    text = call("histogram2d", "x", "y", bins=bins, density=density)

    def want():
        counts, u, v = np.histogram2d(x, y, bins, density=bool(density))
        return [counts if density else counts.astype(np.int64), u, v]

    return Case(text, {"x": x, "y": y}, want, 10)


def interpolated(m):
    n = m.pick([1, 2, 3, 7])
    type = m.pick(["f32", "f64"])
    xp = np.unique(m.rng.uniform(-5, 5, n).astype(TYPES[type]))
    fp, x = m.array(type, xp.shape), m.rng.uniform(-7, 7, m.shape()).astype(TYPES[type])
    ends = {"left": m.pick([None, -1.5]), "right": m.pick([None, 2.5])}
    return Case(call("interp", "x", "y", "z", **ends), {"x": np.asarray(x), "y": xp, "z": fp},
                lambda: np.asarray(np.interp(x, xp, fp, **ends)).astype(TYPES[type]), 20)


def convolved(m, name):
    type = m.pick(["f32", "f64", "i64"])
    x, y, mode = m.array(type, (m.pick(SIZES[1:]),)), m.array(type, (m.pick(SIZES[1:]),)), m.pick([None, "full", "same", "valid"])
    if type == "f64" and m.rng.random() < 0.5:
        x, y = x + 1j * m.array(type, x.shape), y - 1j * m.array(type, y.shape)
    default = "full" if name == "convolve" else "valid"
    return Case(call(name, "x", "y", mode=mode), {"x": x, "y": y}, lambda: getattr(np, name)(x, y, mode or default), 20)


def trapezoids(m):
    type, shape = m.pick(["f32", "f64", "i64"]), m.shape(1, 3)
    y, axis = m.array(type, shape), m.one_axis(len(shape))
    kind = m.pick(["plain", "dx", "x", "all"])
    real = type if type in FLOATS else "f64"
    if kind == "plain":
        return Case(f"trapezoid(y, axis = {axis})", {"y": y}, lambda: np.asarray(theirs.trapezoid(y, axis=axis)).astype(TYPES[real]), 10)
    if kind == "dx":
        return Case(f"trapezoid(y, dx = 0.5, axis = {axis})", {"y": y}, lambda: np.asarray(theirs.trapezoid(y, dx=0.5, axis=axis)).astype(TYPES[real]), 10)
    x = m.array(real, shape if kind == "all" else (shape[axis],))
    return Case(f"trapezoid(y, x, axis = {axis})", {"y": y, "x": x}, lambda: np.asarray(theirs.trapezoid(y, x, axis=axis)).astype(TYPES[real]), 20)


def gradients(m):
    type = m.pick(["f32", "f64", "i64"])
    shape = tuple(m.pick([3, 5, 7]) for _ in range(m.pick([1, 2, 3])))
    x, order = m.array(type, shape), m.pick([None, 2])
    real = type if type in FLOATS else "f64"
    axis = m.pick([None, m.one_axis(len(shape))])
    arrays, spacing, text = {"x": x}, [], ""
    if axis is not None and m.rng.random() < 0.6:
        if m.rng.random() < 0.5:
            spacing, text = [0.5], ", 0.5"
        else:
            arrays["y"] = np.cumsum(m.rng.uniform(0.5, 2, shape[axis])).astype(TYPES[real])
            spacing, text = [arrays["y"]], ", y"

    def want():
        result = np.gradient(x, *spacing, axis=axis, edge_order=order or 1)
        return [a.astype(TYPES[real]) for a in result] if isinstance(result, (list, tuple)) else result.astype(TYPES[real])

    return Case(call("gradient", "x" + text, axis=axis, edge_order=order), arrays, want, 40)


def polynomials(m, name):
    type = m.pick(["f32", "f64", "i64"]) if name == "polyval" else m.pick(["f32", "f64"])
    p = m.array(type, (m.pick([1, 2, 3, 5]),))
    if name == "polyval":
        x = m.array(type, m.shape())
        return Case("polyval(p, x)", {"p": p, "x": x}, lambda: np.asarray(np.polyval(p, x)).astype(TYPES[type]), 400)
    return Case(f"{name}(p)", {"p": p}, lambda: getattr(np, name)(p).astype(TYPES[type]) if p.size > 1 or name == "polyint" else np.zeros(0, TYPES[type]), 4)


def fitted(m):
    n, degree = m.pick([4, 7, 11]), m.pick([0, 1, 2, 3])
    x, y = np.sort(m.array("f64", (n,))), m.array("f64", (n,))
    if m.rng.random() < 0.5:
        w = np.abs(m.array("f64", (n,))) + 0.1
        return Case(f"linalg.polyfit(x, y, {degree}, w)", {"x": x, "y": y, "w": w}, lambda: np.polyfit(x, y, degree, w=w), 1e6)
    return Case(f"linalg.polyfit(x, y, {degree})", {"x": x, "y": y}, lambda: np.polyfit(x, y, degree), 1e6)


def descending(m, name):
    x = m.array(m.type("float", "int"), m.shape(1, 3), 0.1, ties=True)
    axis = m.one_axis(x.ndim)

    def want():
        order = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
        return order if name == "argsort" else np.take_along_axis(x, order, axis)

    return Case(f"{name}(x, axis = {axis}, descending = true)", {"x": x}, want)


def norms(m):
    type, shape = m.pick(["f32", "f64"]), m.shape(1, 3, empty=False)
    x = m.array(type, shape)
    rank, keep = len(shape), m.pick([True, False])
    order = m.pick([None, 0, 1, 2, 3, 0.5, np.inf, -np.inf, -1])
    axis = m.one_axis(rank)
    if rank > 1 and m.rng.random() < 0.5:
        axes = [int(k) for k in m.rng.permutation(rank)[:2]]
        axis, order = tuple(axes), m.pick(["fro", 1, -1, np.inf, -np.inf])
    text = call("norm", "x", axis=axis, keep=keep, ord=order)
    return Case(text, {"x": x}, lambda: np.asarray(np.linalg.norm(x, ord=order, axis=axis, keepdims=keep)).astype(TYPES[type]), 10)


def matrix_norms(m):
    type, shape = m.pick(["f32", "f64"]), m.shape(2, 3, empty=False)
    x, order = m.array(type, shape), m.pick(["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
    keep = m.pick([True, False])
    return Case(call("linalg.matrix_norm", "x", ord=order, keep=keep), {"x": x},
                lambda: np.asarray(np.linalg.norm(x, ord=order, axis=(-2, -1), keepdims=keep)).astype(TYPES[type]), 100)


def matrix_powers(m):
    type = m.pick(["f64", "i64"])
    n, power = m.pick([0, 1, 2, 3, 5]), m.pick([0, 1, 2, 3, 5, 8])
    batch = m.shape(0, 1)
    x = m.array(type, (*batch, n, n))
    if type == "f64":
        x = x + 4 * np.eye(n)
        power = m.pick([power, -2])
    return Case(f"linalg.matrix_power(x, {power})", {"x": x}, lambda: np.linalg.matrix_power(x, power), 1e4)


def ranks(m):
    shape = m.shape(2, 3, empty=False)
    x = m.array("f64", shape)
    if m.rng.random() < 0.5:
        x = x[..., :1] * x[..., :1, :]
    tol = m.pick([None, 0.5])
    return Case(call("linalg.matrix_rank", "x", tol=tol), {"x": x}, lambda: np.asarray(np.linalg.matrix_rank(x, tol=tol)))


def conditions(m):
    x = m.array("f64", m.shape(2, 3, empty=False))
    x[..., 0, 0] += 10
    return Case("linalg.cond(x)", {"x": x[..., :1]}, lambda: np.asarray(np.linalg.cond(x[..., :1])), 1e3)


def exponentials(m):
    n = m.pick([1, 2, 3, 5])
    x = m.array("f64", (*m.shape(0, 1, empty=False), n, n)) * m.pick([0.01, 1.0])
    return Case("linalg.expm(x)", {"x": x}, lambda: scipy.linalg.expm(x), 1e5)


def operators(m, name):
    type, n = m.pick(["f64", "i64", "i32"]), m.pick([0, 1, 2, 7, 100, 200, 5000])
    x = m.array(type, (n,))
    if name == "reduce":
        start = TYPES[type](3)
        return Case("reduce(|a, b| max(a, b), s, x)", {"x": x, "s": np.asarray(start)}, lambda: np.asarray(max([start, *x]), TYPES[type]))
    if name == "scan":
        start = TYPES[type](3)
        return Case("scan(|a, b| min(a, b), s, x)", {"x": x, "s": np.asarray(start)}, lambda: np.minimum(start, np.minimum.accumulate(x)))
    start, at = m.array(type, (5,)), m.rng.integers(0, 5, n)

    def want():
        y = start.copy()
        np.maximum.at(y, at, x)
        return y

    return Case("reduce_by_index(|a, b| max(a, b), s, i, x)", {"x": x, "s": start, "i": at}, want)


def continued(m):
    type, shape, mode = m.type("float", "int", "bool"), m.shape(1, 3, empty=False), m.pick(["edge", "reflect", "symmetric", "wrap"])
    x = m.array(type, shape)
    margins = [(int(a), int(b)) for a, b in m.rng.integers(0, 5, (len(shape), 2))]
    at = [theirs.continued(n, a, b, mode) for n, (a, b) in zip(shape, margins)]
    return Case(f'pad(x, {margins}, mode = "{mode}")', {"x": x}, lambda: x[np.ix_(*at)])


def repeated(m):
    x = m.array(m.type("float", "int", "bool"), m.shape(1, 3))
    axis = m.one_axis(x.ndim)
    counts = m.rng.integers(0, 4, x.shape[axis])
    return Case(f"repeat(x, counts = c, axis = {axis})", {"x": x, "c": counts}, lambda: np.repeat(x, counts, axis=axis))


def rows_once(m):
    x = m.array(m.type("int"), m.shape(2, 3, empty=False)) // 5
    return Case("unique_rows(x)", {"x": x}, lambda: [np.ravel(a) if k == 1 else a for k, a in enumerate(np.unique(x, axis=0, return_inverse=True, return_counts=True))])


def ordered_by_keys(m):
    n = m.pick(SIZES)
    arrays = {key: m.array(m.type("float", "int"), (n,), 0.1, ties=True) for key in "xyz"[: m.pick([2, 3])]}
    return Case(f"lexsort(({', '.join(arrays)}))", arrays, lambda: np.lexsort(tuple(arrays.values())))


def unwrapped(m):
    type, shape = m.pick(["f32", "f64"]), m.shape(1, 3)
    x, axis, period = m.array(type, shape) * 2, m.one_axis(len(shape)), m.pick([None, 4.0, 6.0])
    named = {} if period is None else {"period": period}
    return Case(call("unwrap", "x", axis=axis, **named), {"x": x}, lambda: np.unwrap(x, axis=axis, **named).astype(x.dtype), 40)


def divided(m):
    u, v = m.array("f64", (m.pick([1, 2, 3, 5]),)), m.array("f64", (m.pick([1, 2, 3]),))
    v[0] = m.pick([1.0, 2.0, -4.0])
    return Case("polydiv(u, v)", {"u": u, "v": v}, lambda: list(np.polydiv(u, v)), 1e3)


def zeros_of(m):
    roots = np.sort(m.rng.permutation(9)[: m.pick([1, 2, 3, 4])].astype(float) - 4)
    p = np.concatenate((np.zeros(m.pick([0, 1])), np.poly(roots)))
    return Case("sort(linalg.roots(p).real)", {"p": p}, lambda: np.sort(np.roots(p).real), 1e5)


def places(m):
    sizes = m.pick([(3, 4), (2, 3, 5), (7,)])
    k = m.rng.integers(0, int(np.prod(sizes)), m.shape(0, 2))
    return Case(f"(unravel_index(k, {written(sizes)}), ravel_multi_index(unravel_index(k, {written(sizes)}), {written(sizes)}))", {"k": np.asarray(k)},
                lambda: [*np.unravel_index(k, sizes), k])


def averages(m):
    type, shape = m.pick(["f32", "f64"]), m.shape(1, 3, empty=False)
    x, axis = m.array(type, shape), m.one_axis(len(shape))
    w = np.abs(m.array(type, m.pick([shape, (shape[axis],)]))) + TYPES[type](1)
    return Case(f"average(x, w, axis = {axis})", {"x": x, "w": w}, lambda: np.asarray(np.average(x, axis, w)).astype(TYPES[type]), 20)


def nan_scans(m, name):
    x = m.array(m.pick(["f32", "f64"]), m.shape(1, 3), 0.3)
    axis = m.one_axis(x.ndim)
    return Case(f"{name}(x, axis = {axis})", {"x": x}, lambda: getattr(np, name)(x, axis=axis), 20)


def nan_positions(m, name):
    x = m.array(m.pick(["f32", "f64", "i64"]), m.shape(1, 3, empty=False), 0.0, ties=True)
    axis = m.pick([None, m.one_axis(x.ndim)])
    if x.dtype.kind == "f":
        x = np.where(m.rng.random(x.shape) < 0.3, x.dtype.type(np.nan), x)
        x[np.isnan(x).all(axis=axis, keepdims=True) & np.ones(x.shape, bool)] = 1
    return Case(call(name, "x", axis=axis), {"x": x}, lambda: np.asarray(getattr(np, name)(x, axis=axis)))


def wide(function):
    """A function of NumPy that computes f16 in f64, as tl does in f32, rounded once."""
    def run(x, **named):
        result = np.asarray(function(x.astype(np.float64) if x.dtype == np.float16 else x, **named))
        return result.astype(x.dtype) if x.dtype.kind == "f" else result
    return run


def subjects():
    table = {
        "median": lambda m: reducing(m, "median", wide(np.median), ("float", "int", "bool"), empty=False),
        "nanmedian": lambda m: reducing(m, "nanmedian", wide(np.nanmedian), empty=False, nan=0.3),
        "quantile": lambda m: quantiles(m, "quantile", np.quantile, 0.02),
        "nanquantile": lambda m: quantiles(m, "nanquantile", theirs.nanquantile, 0.3),
        "percentile": lambda m: quantiles(m, "percentile", np.percentile, 0.0),
        "nanpercentile": lambda m: quantiles(m, "nanpercentile", theirs.nanpercentile, 0.3),
        "std": lambda m: reducing(m, "std", wide(np.std), ("float",), extra=[("ddof", [None, 0, 1, 3])][0:0], differentiable=True),
        "std(ddof=)": lambda m: reducing(m, "std", wide(np.std), ("float", "int"), extra=[("ddof", [0, 1, 2, 5])]),
        "variance(ddof=)": lambda m: reducing(m, "variance", wide(np.var), ("float",), extra=[("ddof", [0, 1, 2, 5])], differentiable=True),
        "cov": lambda m: covariances(m, "cov"),
        "corrcoef": lambda m: covariances(m, "corrcoef"),
        "nansum": lambda m: reducing(m, "nansum", theirs.in_i64(np.nansum), nan=0.3),
        "nanprod": lambda m: reducing(m, "nanprod", theirs.in_i64(np.nanprod), ("int",)),
        "nanmean": lambda m: reducing(m, "nanmean", wide(np.nanmean), nan=0.3),
        "nanvar": lambda m: reducing(m, "nanvar", wide(np.nanvar), nan=0.3, extra=[("ddof", [0, 1, 3])]),
        "nanstd": lambda m: reducing(m, "nanstd", wide(np.nanstd), nan=0.3, extra=[("ddof", [0, 1])]),
        "nanmin": lambda m: reducing(m, "nanmin", np.nanmin, empty=False, nan=0.5),
        "nanmax": lambda m: reducing(m, "nanmax", np.nanmax, empty=False, nan=0.5),
        "nanargmin": lambda m: nan_positions(m, "nanargmin"),
        "nanargmax": lambda m: nan_positions(m, "nanargmax"),
        "nancumsum": lambda m: nan_scans(m, "nancumsum"),
        "nancumprod": lambda m: nan_scans(m, "nancumprod"),
        "average": averages,
        "ptp": lambda m: reducing(m, "ptp", np.ptp, empty=False),
        "log10": lambda m: elementwise(m, "log10", np.log10, 0.01, 1000.0),
        "cbrt": lambda m: elementwise(m, "cbrt", np.cbrt),
        "hypot": lambda m: elementwise(m, "hypot", np.hypot, count=2),
        "asinh": lambda m: elementwise(m, "asinh", np.arcsinh),
        "acosh": lambda m: elementwise(m, "acosh", np.arccosh, 1.0, 9.0),
        "atanh": lambda m: elementwise(m, "atanh", np.arctanh, -1.0, 1.0),
        "round(decimals)": rounding,
        "isclose": lambda m: closeness(m, "isclose"),
        "allclose": lambda m: closeness(m, "allclose"),
        "array_equal": equal_arrays,
        "max of many": lambda m: extremes(m, "max", np.maximum),
        "min of many": lambda m: extremes(m, "min", np.minimum),
        "popcount": lambda m: elementwise(m, "popcount", theirs.popcount, kinds=("int",)),
        "clz": lambda m: elementwise(m, "clz", theirs.clz, kinds=("int",)),
        "meshgrid": grids, "full_like": like, "trace": traces, "kron": kronecker, "cross": crossed, "tensordot": tensordots,
        "moveaxis": moved, "swapaxes": swapped, "argwhere": where_not_zero, "count_nonzero": counted, "isin": members, "digitize": intervals,
        "searchsorted": searched, "searchsorted(sorter=)": searched_in_order, "histogram": histograms, "histogram2d": histograms_2d,
        "interp": interpolated,
        "convolve": lambda m: convolved(m, "convolve"), "correlate": lambda m: convolved(m, "correlate"),
        "trapezoid": trapezoids, "gradient": gradients, "polyval": lambda m: polynomials(m, "polyval"),
        "polyder": lambda m: polynomials(m, "polyder"), "polyint": lambda m: polynomials(m, "polyint"), "polyfit": fitted,
        "sort(descending=)": lambda m: descending(m, "sort"), "argsort(descending=)": lambda m: descending(m, "argsort"),
        "norm(ord=)": norms, "matrix_norm": matrix_norms, "matrix_power": matrix_powers, "matrix_rank": ranks, "cond": conditions,
        "pad(mode=)": continued, "repeat(counts=)": repeated, "unique_rows": rows_once, "lexsort": ordered_by_keys, "unwrap": unwrapped, "polydiv": divided,
        "roots": zeros_of, "unravel_index": places,
        "polyfromroots": lambda m: (lambda r: Case("polyfromroots(r)", {"r": r}, lambda: np.poly(r), 100))(m.array("f64", (m.pick([1, 2, 3, 5]),))),
        "gcd": lambda m: elementwise(m, "gcd", np.gcd, kinds=("int",), count=2),
        "lcm": lambda m: elementwise(m, "lcm", lambda x, y: np.lcm(x.astype(np.int64), y.astype(np.int64)).astype(x.dtype), kinds=("int",), count=2),
        "copysign": lambda m: elementwise(m, "copysign", np.copysign, count=2),
        "logaddexp": lambda m: elementwise(m, "logaddexp", np.logaddexp, count=2),
        "nan_to_num": lambda m: infinities_replaced(m),
        "reduce": lambda m: operators(m, "reduce"), "scan": lambda m: operators(m, "scan"),
        "reduce_by_index": lambda m: operators(m, "reduce_by_index"),
    }
    if scipy is not None:
        table.update({
            "lgamma": lambda m: elementwise(m, "lgamma", lambda x: np.where(x == -np.inf, np.inf, scipy.special.gammaln(x))),  # as C has it
            "erfc": lambda m: elementwise(m, "erfc", scipy.special.erfc),
            "expm": exponentials,
        })
    return table


# ---- derivatives, by central differences

SMOOTH = """median(x) quantile(x, 0.3) percentile(x, 30) nanmedian(x) std(x, ddof = 1) variance(x, ddof = 2) sum(cov(x, x * x)) corrcoef(x, x * x)[0, 1]
nanmean(x) nanvar(x) nanstd(x, ddof = 1) nansum(x) nanprod(x) nanmax(x) nanmin(x) average(x, x * x + 1.0) ptp(x) sum(log10(x * x)) sum(log10(10.0 + 0.0 * x) * x)
sum(hypot(x, 2.0)) sum(hypot(x, x * x)) sum(cbrt(x)) sum(asinh(x)) sum(acosh(x * x + 1.5)) sum(atanh(x / 9.0)) sum(lgamma(x)) sum(lgamma(x * x)) sum(erfc(x))
sum(erfc(x / 9.0)) max(sum(x), sum(x * x), x[0]) sum(moveaxis(x[new], 0, 1) ** 2) sum(full_like(x, 2.0) * x) trace(x[:, new] * x) sum(kron(x, x[:2]) ** 2)
sum(cross(x[:3], x[2:5] ** 2) ** 2) sum(tensordot(x[:, new] * x, x, 1) ** 2) sum(interp(x / 3.0, f64([-1.0, 0.0, 1.5]), f64([2.0, 1.0, 5.0])) ** 2)
sum(interp(f64([0.3]), f64([-1.0, 0.0, 1.5]), x[:3]) ** 2) sum(convolve(x, x[:3], "same") ** 2) sum(correlate(x, x[:3]) ** 2) trapezoid(x * x) trapezoid(x, x * x)
sum(gradient(x) ** 2) sum(gradient(x, 0.5, edge_order = 2) ** 2) sum(polyval(x, x) ** 2) sum(polyder(x) ** 2) sum(polyint(x) ** 2) sum(sort(x, descending = true)[:2])
norm(x, ord = 1) norm(x, ord = 3) norm(x, ord = inf) norm(x[:, new] * x, ord = 1) linalg.matrix_norm(x[:, new] * x, "nuc") sum(linalg.matrix_power(x[:2, new] + x[2:4], 3))
sum(linalg.expm((x[:2, new] + x[2:4]) / 9.0)) sum(linalg.polyfit(f64(arange(5)), x, 2) ** 2) sum(pad(x, [(1, 2)], mode = "reflect") ** 2)
sum(repeat(x, counts = [1, 0, 2, 1, 3]) ** 2) sum(logaddexp(x, x * x)) sum(polyfromroots(x) ** 2) sum(unwrap(x) ** 2) sum(copysign(x, -1.0) * x) sum(nan_to_num(x) ** 2)
sum(polydiv(x, x[:2] + 9.0)[0] ** 2) reduce(|a, b| a * b, f64(1.0), x) sum(scan(|a, b| a * b, f64(1.0), x) ** 2)
sum(reduce_by_index(|a, b| a * b, f64([1.0, 2.0]), [0, 1, 0, 0, 1], x) ** 2) sum(round(x, 1) + x) sum(histogram(x, f64([-9.0, 0.0, 9.0]), weights = x * x)[0] ** 2)"""


def expressions(text):
    """They end where a blank follows and all brackets are closed."""
    found, begin, depth = [], 0, 0
    for at, c in enumerate(text + "\n"):
        depth += (c in "([") - (c in ")]")
        if depth == 0 and c in " \n" and re.match(r"\s+[a-z_.]+\(|\s*$|\s+corr", text[at:]):
            found.append(" ".join(text[begin:at].split()))
            begin = at + 1
    return [one for one in found if one]


def slopes_differ(oracle, head, variable, texts):
    """Where the derivatives of these texts, functions of a variable, are not the slopes that the program's `slopes` gives."""
    lines = list(head)
    for text in texts:
        f, x = f"|{variable}| {text}", variable
        lines.append(f"print(max(abs(grad({f})({x}) - slopes({f}, {x})) / (1.0 + abs(slopes({f}, {x})))))")
    with oracle.folder() as folder:
        done = oracle.run(folder, "\n".join(lines) + "\n")
    if done.returncode:
        return len(texts), [f"derivatives: {done.stdout}{done.stderr}"]
    errors = zip(texts, done.stdout.split(), strict=True)
    return len(texts), [f"the derivative of {text}: {error}" for text, error in errors if not float(error) < 1e-5]


def derivatives(oracle):
    head = ["import linalg", "fn slopes(f, x: f64[n]) -> f64[n] {", "  var d = x", "  for i in 0..n {", "    var a = x", "    var b = x", "    a[i] += 1e-6", "    b[i] -= 1e-6",
             "    d[i] = (f(a) - f(b)) / 2e-6", "  }", "  d", "}", "let x = f64([0.7, -1.3, 2.1, 0.4, -0.6])"]
    return slopes_differ(oracle, head, "x", expressions(SMOOTH))


# ---- wrong arguments: what the message says, and that it is at the user's line

WRONG = [
    ("median(x, axis = 2)", "there are no such axes"), ("median(x, axis = (0, 0))", "given twice"), ("quantile(x, 1.5)", "from 0 to 1"),
    ("percentile(x, 101)", "from 0 to 1"), ("quantile(x, 0.5, method = \"cubic\")", "tl doc quantile"), ("std(x, axis = 5)", "axis"),
    ("nanargmin(x * nan)", "every element is NaN"), ("nanmin(x[:0])", "no elements"), ("cross(x, x)", "3"), ("trace(x[0])", "axes"),
    ("moveaxis(x, 0, 5)", "there are no such axes"), ("moveaxis(x, (0, 1), 0)", "there are no such axes"),
    ("tensordot(x, x, 3)", "there are no such axes"), ("tensordot(x, x[:1], 1)", "different sizes"), ("swapaxes(x, 0, 7)", "axis"),
    ("meshgrid(x[0], x[0], indexing = \"yx\")", "\"xy\" or \"ij\""), ("searchsorted(x[0], 1.0, side = \"middle\")", "\"left\" or \"right\""),
    ("digitize(1.0, [1.0, 3.0, 2.0])", "ascend or to descend"), ("histogram(x, 0)", "one interval at least, not 0"),
    ("histogram(x * nan, 2)", "finite"), ("histogram(x, 2, weights = [1.0])", "one weight for each"), ("histogram(x, 2, range = (1.0, 0.0))", "the lower one first"),
    ("interp(1.0, x[0][:0], x[0][:0])", "at least one point"), ("interp(1.0, x[0], x[1][:1])", "axis"), ("convolve(x[0], x[0][:0])", "one element at least"),
    ("convolve(x[0], x[0], \"half\")", "\"full\", \"same\" or \"valid\""), ("trapezoid(x, x[0][:1])", "one place for each"), ("gradient(x[0][:1])", "one element more than"),
    ("norm(x, ord = 3)", "linalg.matrix_norm"), ("norm(x, ord = \"nuc\")", "linalg.matrix_norm"), ("linalg.matrix_power(i64(x), -1)", "no power -1"),
    ("linalg.matrix_power(x[:1], 2)", "matrix_power"), ("linalg.polyfit(x[0], x[1], -1)", "the degree of a polynomial is not -1"), ("round(true, 2)", "does not take"),
    ("x.max(1, 2)", "takes no second operand"), ("choice(key(0), 0, [2])", "no integers from 0 to 0"),
    ("choice(key(0), 3, [4], replace = false)", "no more can be chosen"), ("choice(key(0), 3, [2], p = [0.5, 0.6, 0.7])", "their sum is 1"),
    ("poisson(key(0), -1.0, [2])", "rate of a Poisson"), ("gamma(key(0), -1.0, [2])", "shape of a gamma"), ("binomial(key(0), 3, 1.5, [2])", "probability from 0 to 1"),
    ("multinomial(key(0), 3, [0.5, 0.7])", "their sum is 1"), ("reduce_by_index(|a, b| a + b, [0, 0], [2], [1])", "out of range"), ("hypot(x, f64(x))", "f64"),
    ("isclose(x, f64(x))", "f64"), ("kron(x, f64(x))", "f64"), ("popcount(1.5)", "popcount"), ("sort(x, axis = 4)", "axis"),
]


def failures(oracle):
    complaints = []
    with oracle.folder() as folder:
        for text, want in WRONG:
            done = oracle.run(folder, f"import linalg\nlet x = [[1.0, 2.0], [3.0, 4.0]]\nprint({text})\n", timeout=60)
            if done.returncode not in (1, 3) or want not in done.stderr or "program.tl:3:" not in done.stderr:
                complaints.append(f"{text}: exit code {done.returncode}, no `{want}` in: {done.stdout[:200]}{done.stderr[:500]}")
    return len(WRONG), complaints


# ---- running

def program(cases):
    lines = ["import linalg"]
    for i, case in enumerate(cases):
        text = case.text
        lines.append(f"fn f{i}({', '.join(f'{key}: {kind(x)}' for key, x in case.arrays.items())}) {text if text.startswith('{') else '= ' + text}")
        arguments = []
        for key, x in case.arrays.items():
            lines.append(f'let {key}{i}: {kind(x)} = load("in.npz", "{key}{i}")')
            arguments.append(f"{key}{i}")
        lines.append(f'save("out{i}.npz", (f{i}({", ".join(arguments)}),))')
    return "\n".join(lines) + "\n"


def kind(x):
    return NAMES[x.dtype] + (f"[{', '.join('_' * x.ndim)}]" if x.ndim else "")


def leaves(value):
    if isinstance(value, (list, tuple)):
        return [leaf for element in value for leaf in leaves(element)]
    return [np.asarray(value)]


def differs(case, got):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = leaves(case.want())
    if len(want) != len(got):
        return f"{len(got)} results, and NumPy has {len(want)}"
    for a, b in zip(want, got, strict=True):
        if a.shape != b.shape:
            return f"shape {b.shape}, and NumPy has {a.shape}"
        if a.dtype != b.dtype:
            return f"type {b.dtype}, and NumPy has {a.dtype}"
        if a.dtype.kind not in "fc":
            if not np.array_equal(a, b):
                return f"{b}, and NumPy has {a}"
            continue
        epsilon = float(np.finfo(a.dtype).eps)
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        scale = float(np.abs(a[np.isfinite(a)].astype(wide)).max(initial=1e-3))
        with np.errstate(all="ignore"):
            if not np.allclose(b.astype(wide), a.astype(wide), rtol=4 * case.wide * epsilon, atol=4 * case.wide * epsilon * scale, equal_nan=True):
                return f"{b}, and NumPy has {a}"
    return None


def run_cases(oracle, cases, options):
    """Complaints about cases of one program."""
    with oracle.folder() as folder:
        np.savez(os.path.join(folder, "in.npz"), **{f"{key}{i}": x for i, case in enumerate(cases) for key, x in case.arrays.items()})
        done = oracle.run(folder, program(cases), options)
        if done.returncode != 0:
            if len(cases) > 1:
                return [complaint for case in cases for complaint in run_cases(oracle, [case], options)]
            return [f"{cases[0].text} of {described(cases[0])}: {done.stderr.strip()[:600]}"]
        complaints = []
        for i, case in enumerate(cases):
            with np.load(os.path.join(folder, f"out{i}.npz")) as file:
                problem = differs(case, [file[name] for name in file.files])
            if problem:
                complaints.append(f"{case.text} of {described(case)}: {problem} {' '.join(options)}")
        return complaints


def described(case):
    return ", ".join(f"{key}: {NAMES[x.dtype]}{list(x.shape)}" for key, x in case.arrays.items())


def run(oracle):
    if scipy is None:
        print("SKIPPED: functions: lgamma, erfc, expm (there is no SciPy)")
    maker = Maker(np.random.default_rng(oracle.seed))
    only = os.environ.get("TL_ORACLE_FUNCTION", "")
    cases = [make(maker) for name, make in subjects().items() if only in name for _ in range(oracle.count)]
    order = maker.rng.permutation(len(cases)) if not only else range(len(cases))
    cases = [cases[int(i)] for i in order]
    for first in range(0, len(cases), PROGRAM):
        part = cases[first:first + PROGRAM]
        options = [["--threads", "2"], ["--interp"]][first // PROGRAM % 2]
        oracle.count_cases(len(part), run_cases(oracle, part, options))
    if not only:
        oracle.count_cases(*derivatives(oracle))
        oracle.count_cases(*failures(oracle))

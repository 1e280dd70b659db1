"""What the twins run on: the meaning of tl's operations on NumPy values, from the language's contract alone.

Numbers are NumPy scalars of the right type, tensors are arrays that are never changed in place, tuples, lists and structs are Python's
(never changed either). An operation whose last bits the contract leaves open (the order of a sum, a transcendental function) adds noise when `NOISE.on`:
the runs with noise show how far a right answer may lie from the first one, and whether an integer or a branch depends on those bits.
"""
from __future__ import annotations

import math
import random

import numpy as np

from printing import fmt, show  # noqa: F401 (twins use them)

np.seterr(all="ignore")

i8, i16, i32, i64 = np.int8, np.int16, np.int32, np.int64
u8, u16, u32, u64 = np.uint8, np.uint16, np.uint32, np.uint64
f16, f32, f64 = np.float16, np.float32, np.float64
TYPES = {"bool": np.bool_, "i8": i8, "i16": i16, "i32": i32, "i64": i64, "u8": u8, "u16": u16, "u32": u32, "u64": u64,
         "f16": f16, "f32": f32, "f64": f64}
MAX_ELEMENTS = 5000


def bf16(x):
    """The nearest number of 8 binary digits, ties to even, kept as f32."""
    x = np.asarray(x).astype(f64)
    _, exponent = np.frexp(np.where(np.isfinite(x), x, 1))
    step = np.ldexp(1.0, np.maximum(exponent - 8, -133))
    return np.where(np.isfinite(x), np.rint(x / step) * step, x).astype(f32)[()]


class TlError(Exception):
    """A failure that the program must report: its kind is that of the diagnostic, `words` stand in the message."""

    def __init__(self, kind, words=()):
        super().__init__(kind)
        self.kind, self.words = kind, words


class Skip(Exception):
    """The call leaves what the twin models (a result too large, an undefined case): it is not tested."""


class Noise:
    on = False
    used = False
    rng = random.Random(0)


class Out:
    """The lines that the program prints."""
    text: list = []
    count = 0


def out(*parts, end="\n"):
    Out.count += 1
    if Out.count > 400:
        raise Skip("prints much")
    Out.text.append(" ".join(show(p) for p in parts) + end)


def text(*parts):
    return "".join(parts)


class Struct:
    """The base of the twins' structs; `fields` are their names. Arithmetic goes leaf by leaf."""
    fields: tuple = ()

    def __init__(self, *values):
        for n, v in zip(self.fields, values):
            setattr(self, n, v)

    def parts(self):
        return [getattr(self, n) for n in self.fields]

    __array_ufunc__ = None  # so that `number * struct` comes here

    def combine(self, other, op):
        """Floats beside a struct change floats alone; what is no number stays that of the left side."""
        def leaf(a, b):
            if isinstance(a, Struct):
                return a.combine(b, op)
            if isinstance(a, str) or kind_of(a) == "b" or (not isinstance(other, Struct) and kind_of(a) != kind_of(other)):
                return a
            return op(a, b)
        return type(self)(*[leaf(a, b) for a, b in zip(self.parts(), other.parts() if isinstance(other, Struct) else [other] * len(self.fields))])

    def __add__(self, o):
        return self.combine(o, lambda a, b: a + b)

    def __sub__(self, o):
        return self.combine(o, lambda a, b: a - b)

    def __mul__(self, o):
        return self.combine(o, lambda a, b: a * b)

    def __truediv__(self, o):
        return self.combine(o, lambda a, b: a / b)

    def __radd__(self, o):
        return self.combine(o, lambda a, b: b + a)

    def __rsub__(self, o):
        return self.combine(o, lambda a, b: b - a)

    def __rmul__(self, o):
        return self.combine(o, lambda a, b: b * a)


def with_(s, **values):
    return type(s)(*[values.get(n, getattr(s, n)) for n in s.fields])


def is_float(x):
    return np.asarray(x).dtype.kind == "f"


def kind_of(x):
    return x.dtype.kind if isinstance(x, (np.ndarray, np.generic)) else np.asarray(x).dtype.kind


def noisy(x, scale=None):
    """x where its last bits are open: with noise of a few units in the last place (of `scale`, where sums cancel)."""
    Noise.used = True
    if not Noise.on:
        return x
    x = np.asarray(x)
    eps = max(np.finfo(x.dtype).eps, np.finfo(f32).eps * 0.01 if x.dtype == f32 else 0)
    size = np.abs(x) if scale is None else scale
    wobble = np.array([Noise.rng.uniform(-6, 6) for _ in range(x.size)]).reshape(x.shape)
    with np.errstate(all="ignore"):
        change = (wobble * eps * size).astype(x.dtype)
        change = np.where(np.isfinite(change), change, 0).astype(x.dtype)
        return (x + change).astype(x.dtype)[()]


def checked(x):
    if isinstance(x, np.ndarray) and x.size > MAX_ELEMENTS:
        raise Skip("large")
    return x


# ---- arithmetic ---------------------------------------------------------------------------------------------------------------------

def floordiv(a, b):
    if isinstance(a, i64) and isinstance(b, i64) and b > 0:
        return i64(int(a) // int(b))
    if kind_of(a) == "f":
        return np.floor_divide(a, b)
    if np.any(np.asarray(b) == 0) and np.broadcast(a, b).size > 0:
        raise TlError("DivisionByZero")
    if kind_of(a) == "i" and np.any(np.asarray(b) == -1):
        return np.where(np.asarray(b) == -1, -np.asarray(a), np.floor_divide(a, np.where(np.asarray(b) == -1, 1, b).astype(b.dtype))).astype(a.dtype)[()]
    return np.floor_divide(a, b)


def mod(a, b):
    if isinstance(a, i64) and isinstance(b, i64) and b > 0:
        return i64(int(a) % int(b))
    if kind_of(a) == "f":
        return np.mod(a, b)
    if np.any(np.asarray(b) == 0) and np.broadcast(a, b).size > 0:
        raise TlError("DivisionByZero")
    if kind_of(a) == "i" and np.any(np.asarray(b) == -1):
        b = np.where(np.asarray(b) == -1, 1, b).astype(b.dtype)[()]
    return np.mod(a, b)


def power(a, b):
    if kind_of(a) != "f":
        if np.any(np.asarray(b) < 0):
            raise TlError("NegativeExponent")
        one = np.ones_like(a)
        result = one if not isinstance(a, np.generic) else type(a)(1)
        for _ in range(int(b)):
            result = result * a
        return result
    if np.ndim(b) == 0 and float(b) in (1.0, 2.0):
        return a if float(b) == 1.0 else a * a
    if np.ndim(b) == 0 and float(b) == 0.0:
        return np.ones_like(a)[()]
    return noisy(np.power(a, b))


def convert(name, x):
    """`T(x)`: floats to integers truncate and saturate, NaN is 0; integers wrap; to bool is x != 0."""
    if name == "bf16":
        return bf16(x)
    to = TYPES[name] if isinstance(name, str) else name
    x = np.asarray(x)
    if to is np.bool_:
        return (x != 0)[()]
    if x.dtype.kind == "f" and np.issubdtype(to, np.integer):
        info = np.iinfo(to)
        wide = np.trunc(x.astype(f64))
        result = np.zeros(x.shape, to)
        flat, values = result.reshape(-1), wide.reshape(-1)
        for k, v in enumerate(values):
            flat[k] = 0 if np.isnan(v) else info.min if v <= info.min else info.max if v >= info.max else int(v)
        return result[()]
    if to is f16 and x.dtype.kind in "iu":
        return x.astype(f64).astype(f16)[()]
    return x.astype(to)[()]


def like(value, x):
    """A literal of the type parameter: of the element type of x."""
    return np.asarray(x).dtype.type(value)


# ---- elementwise functions ----------------------------------------------------------------------------------------------------------

def zero_ties(a, b, r):
    """max(0.0, -0.0) may be either zero."""
    if kind_of(a) == "f" and np.any((np.asarray(a) == 0) & (np.asarray(b) == 0) & (np.signbit(a) != np.signbit(b))):
        raise Skip("sign of zero")
    return r


def max2(a, b):
    return zero_ties(a, b, np.maximum(a, b))


def min2(a, b):
    return zero_ties(a, b, np.minimum(a, b))


def clamp(x, lo, hi):
    if np.any(np.asarray(lo) > np.asarray(hi)):
        raise Skip("clamp with lo > hi")
    return min2(max2(x, lo), hi)


def abs_(x):
    return x if kind_of(x) == "u" else np.abs(x)


def sign(x):
    return np.sign(x)


def neg(x):
    return -x


def round_(x):
    return np.round(x) if kind_of(x) == "f" else x


def floor(x):
    return np.floor(x)


def ceil(x):
    return np.ceil(x)


def sqrt(x):
    return np.sqrt(x)


def where(c, a, b):
    return np.where(c, a, b).astype(np.asarray(a).dtype)[()]


def relu(x):
    if np.any(np.isnan(x)) or np.any((np.asarray(x) == 0) & np.signbit(x)):
        raise Skip("relu of nan or -0.0")
    return np.where(np.asarray(x) > 0, x, 0).astype(x.dtype)[()]


def _skip():
    raise Skip("open")


def _loose(f):
    return lambda *a: noisy(np.asarray(f(*[np.asarray(x) for x in a])).astype(np.asarray(a[0]).dtype)[()])


exp, log, sin, cos, tanh, log1p, expm1, exp2, atan = (_loose(f) for f in (np.exp, np.log, np.sin, np.cos, np.tanh, np.log1p, np.expm1, np.exp2, np.arctan))
tan, sinh, cosh, log2, asin, acos = (_loose(f) for f in (np.tan, np.sinh, np.cosh, np.log2, np.arcsin, np.arccos))
atan2, pow = _loose(np.arctan2), _loose(np.power)
rsqrt = _loose(lambda x: 1 / np.sqrt(x.astype(f64)))
sigmoid = _loose(lambda x: 1 / (1 + np.exp(-x.astype(f64))))
softplus = _loose(lambda x: np.logaddexp(0, x.astype(f64)))
silu = _loose(lambda x: x / (1 + np.exp(-x.astype(f64))))
_erf = np.vectorize(math.erf, otypes=[f64])
erf = _loose(lambda x: _erf(x.astype(f64)))


def gelu(x):
    """Half of x * (1 + erf), which cancels for negative x."""
    wide = np.asarray(x).astype(f64)
    return noisy((0.5 * wide * (1 + _erf(wide / math.sqrt(2)))).astype(x.dtype)[()], np.abs(np.asarray(x)))


isnan, isinf, isfinite = np.isnan, np.isinf, np.isfinite


def bit_and(a, b):
    return a & b


def bit_or(a, b):
    return a | b


def bit_xor(a, b):
    return a ^ b


def bit_not(a):
    return ~a


def _bits(x):
    return np.asarray(x).dtype.itemsize * 8


def shift_left(a, b):
    if np.any(np.asarray(b) < 0) or np.any(np.asarray(b) >= _bits(a)):
        raise Skip("shift out of range")
    return np.left_shift(a, b)


def shift_right(a, b):
    if np.any(np.asarray(b) < 0) or np.any(np.asarray(b) >= _bits(a)):
        raise Skip("shift out of range")
    return np.right_shift(a, b)


# ---- control ------------------------------------------------------------------------------------------------------------------------

def rng(lo, hi, step=1):
    if (int(hi) - int(lo)) // int(step) > 10000:
        raise Skip("long loop")
    for k in range(int(lo), int(hi), int(step)):
        yield i64(k)


def rows(x):
    """What a `for` runs over."""
    return list(x)


def check(c, message=""):
    if not c:
        raise TlError("AssertionFailed", [message])


def size(x, axis=0):
    return i64(len(x)) if axis == 0 else i64(x.shape[axis])


MISSING = object()


# ---- tensors, subscripts, updates ---------------------------------------------------------------------------------------------------

def tensor(items):
    same_shapes(items)
    return np.array(items)


def same_shapes(items):
    if isinstance(items[0], np.ndarray) and any(i.shape != items[0].shape for i in items):
        raise TlError("ShapeMismatch")


def index(x, subs):
    if isinstance(x, (list, tuple)):
        (s,) = subs
        if isinstance(s, slice):
            return x[s]
        if not -len(x) <= s < len(x):
            raise TlError("IndexOutOfRange", [s, len(x)])
        return x[int(s)]
    try:
        return x[subs]
    except IndexError as failure:
        raise out_of_range(x, subs) from failure


def out_of_range(x, subs):
    """The failure names the index and the size of its axis: the first of those that are out of range, where that is plain."""
    if all(isinstance(s, np.integer) for s in subs):
        s, n = next((s, n) for s, n in zip(subs, x.shape) if not -n <= s < n)
        return TlError("IndexOutOfRange", [s, n])
    if len(subs) == 1 and isinstance(subs[0], np.ndarray):
        n = len(x)
        return TlError("IndexOutOfRange", [next(s for s in subs[0].reshape(-1) if not -n <= s < n), n])
    return TlError("IndexOutOfRange")


OPERATIONS = {"+=": lambda a, b: a + b, "-=": lambda a, b: a - b, "*=": lambda a, b: a * b, "/=": lambda a, b: a / b, "//=": floordiv, "%=": mod,
              "**=": power, "@=": lambda a, b: matmul(a, b)}


def combine(op, a, b):
    return b if op == "=" else OPERATIONS[op](a, b)


def store(base, steps, op, value):
    """A copy of `base` in which `steps op value` was done."""
    if not steps:
        return combine(op, base, value)
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        return with_(base, **{step: store(getattr(base, step), rest, op, value)})
    if isinstance(base, (list, tuple)):
        old = index(base, step)
        copy = list(base)
        copy[int(step[0])] = store(old, rest, op, value)
        return type(base)(copy)
    if rest:
        raise Skip("a subscript of a subscript")
    copy = base.copy()
    try:
        arrays = [s for s in step if isinstance(s, np.ndarray) and s.dtype != np.bool_]
        if arrays and op in ("+=", "-="):
            (np.add if op == "+=" else np.subtract).at(copy, step, value)
        elif op == "=":
            copy[step] = value
        else:
            copy[step] = combine(op, copy[step], value)
    except IndexError as failure:
        raise out_of_range(copy, step) from failure
    return copy


def collect(items, shape, inner, elem):
    """The tensor of a comprehension."""
    if items:
        same_shapes(items)
        return checked(np.array(items).reshape(tuple(shape) + np.shape(items[0])))
    if None in inner:
        raise Skip("nothing tells the shape")
    return np.zeros(tuple(shape) + inner, TYPES.get(elem, elem))


def total(x, axis=None):
    """A sum: integers wrap in i64 (u64), floats are accumulated in f32 or wider and rounded once."""
    x = np.asarray(x)
    if x.dtype.kind == "f":
        wide = x.astype(f64)
        return noisy(np.asarray(wide.sum(axis=axis)).astype(x.dtype)[()], np.abs(wide).sum(axis=axis)) if x.size else np.asarray(wide.sum(axis=axis)).astype(x.dtype)[()]
    return x.astype(wide_type(x)).sum(axis=axis)


def wide_type(x):
    return np.uint64 if x.dtype == np.uint64 else np.int64


def reduce_list(kind, items, elem):
    """`sum(e for …)` and the others."""
    to = TYPES.get(elem, elem)
    if kind in ("any", "all"):
        return (any if kind == "any" else all)(bool(i) for i in items)
    if items and isinstance(items[0], np.ndarray):
        raise Skip("reduction of tensors")
    x = np.array(items, to)
    if kind == "sum":
        return total(x)
    if kind == "prod":
        return product(x)
    if kind == "mean":
        return mean(x)
    if len(items) == 0:
        raise TlError("EmptyReduction")
    return {"min": min_, "max": max_, "argmin": argmin, "argmax": argmax}[kind](x)


def product(x, axis=None):
    if x.dtype.kind == "f":
        return noisy(np.asarray(np.prod(x.astype(f64), axis=axis)).astype(x.dtype)[()])
    return np.prod(x.astype(wide_type(x)), axis=axis)


def mean(x, axis=None):
    n = x.size if axis is None else x.shape[axis]
    return noisy(np.asarray(x.astype(f64).sum(axis=axis) / f64(n)).astype(x.dtype)[()], np.abs(x.astype(f64)).sum(axis=axis) / max(n, 1))


def min_(x, axis=None, keep=False):
    return _extreme(np.min, x, axis, keep)


def max_(x, axis=None, keep=False):
    return _extreme(np.max, x, axis, keep)


def _extreme(f, x, axis, keep):
    if x.size == 0:
        raise TlError("EmptyReduction") if (axis is None or x.shape[axis] == 0) else Skip("empty")
    if x.dtype.kind == "f" and np.any((x == 0) & np.signbit(x)):
        raise Skip("sign of zero")
    return f(x, axis=axis, keepdims=keep)


def argmin(x, axis=None):
    if x.size == 0:
        raise TlError("EmptyReduction") if axis is None else Skip("empty")
    return np.argmin(x, axis=axis)


def argmax(x, axis=None):
    if x.size == 0:
        raise TlError("EmptyReduction") if axis is None else Skip("empty")
    return np.argmax(x, axis=axis)


def map_(f, *values):
    return rebuild(values[0], iter([f(*parts) for parts in zip(*map(leaves, values))]))


def fold(f, init, value):
    for leaf in leaves(value):
        init = f(init, leaf)
    return init


def loud(tag, x):
    """The function of this name that every program has: prints when it is evaluated."""
    out("loud", tag)
    return x


# ---- tensors: building, rearranging, reducing ---------------------------------------------------------------------------------------

def shape(x):
    return tuple(i64(d) for d in x.shape)


def _dims(dims):
    dims = [int(d) for d in dims]
    if any(d < 0 for d in dims):
        raise TlError("NegativeSize")
    return tuple(dims)


def zeros(dims, elem="f32"):
    return checked(np.zeros(_dims(dims), TYPES[elem]))


def ones(dims, elem="f32"):
    return checked(np.ones(_dims(dims), TYPES[elem]))


def full(dims, value):
    return checked(np.full(_dims(dims), value, np.asarray(value).dtype))


def arange(*bounds):
    return checked(np.arange(*[int(b) for b in bounds], dtype=i64))


def flip(x, axis=None):
    return np.flip(x, axis)


def roll(x, k, axis=None):
    if axis is None:
        return np.roll(x, int(k) % max(x.size, 1))
    return np.roll(x, int(k) % max(x.shape[axis], 1), axis)


def sort_(x, axis=-1):
    return np.sort(x, axis=axis, kind="stable")


def argsort(x, axis=-1):
    return np.argsort(x, axis=axis, kind="stable")


def cumsum(x, axis=-1):
    if x.dtype.kind == "f":
        return noisy(np.cumsum(x.astype(f64), axis=axis).astype(x.dtype), np.cumsum(np.abs(x.astype(f64)), axis=axis)) if x.size else x
    return np.cumsum(x, axis=axis, dtype=wide_type(x))


def tril(x, k=0):
    return np.tril(x, int(k))


def triu(x, k=0):
    return np.triu(x, int(k))


def diag(x):
    return np.diag(x).copy()


def eye(n, elem):
    return np.eye(int(n), dtype=TYPES[elem])


def linspace(lo, hi, n, elem):
    ends = max(abs(float(lo)), abs(float(hi)))
    return noisy(np.linspace(float(lo), float(hi), int(n)).astype(TYPES[elem]), ends) if int(n) > 1 else np.array([lo])


def transpose(x, i, j):
    return np.swapaxes(x, int(i), int(j))


def gather(x, idx, axis):
    if np.any((idx < -x.shape[axis]) | (idx >= x.shape[axis])):
        raise TlError("IndexOutOfRange")
    return np.take_along_axis(x, idx, axis)


def einsum(form, *operands):
    if operands[0].dtype.kind == "f":
        wide = [x.astype(f64) for x in operands]
        return noisy(np.asarray(np.einsum(form, *wide)).astype(operands[0].dtype)[()], np.einsum(form, *map(np.abs, wide)))
    return np.einsum(form, *operands)


def histogram(x, bins):
    """The ends of the intervals are rounded: what lies right at one of them may fall to either side."""
    if x.size == 0 or not np.all(np.isfinite(x)):
        raise Skip("histogram of nothing")
    counts, edges = np.histogram(x.astype(f64), int(bins))
    inner = edges[1:-1]
    if np.any((np.abs(x.astype(f64).reshape(-1, 1) - inner) < 1e-9) & (inner != np.round(inner * 64) / 64)):
        raise Skip("an end of an interval")
    return counts.astype(i64), edges


def take(x, idx, axis=0):
    if np.any((idx < -x.shape[axis]) | (idx >= x.shape[axis])):
        raise TlError("IndexOutOfRange")
    return np.take(x, idx, axis=axis)


def concat(parts, axis=0):
    return checked(np.concatenate(parts, axis=axis))


def stack(parts, axis=0):
    return checked(np.stack(parts, axis=axis))


def reshape(x, dims):
    if np.prod(_dims(dims), dtype=int) != x.size:
        raise TlError("ShapeMismatch")
    return x.reshape(_dims(dims))


def pad(x, widths, value=0):
    return checked(np.pad(x, widths, constant_values=value))


def repeat_(x, n, axis=0):
    if int(n) < 0:
        raise Skip("negative count")
    return checked(np.repeat(x, int(n), axis=axis))


def tile(x, counts):
    return checked(np.tile(x, _dims(counts)))


def nonzero(x):
    return tuple(np.asarray(i, i64) for i in np.nonzero(x))


def unique(x):
    if x.dtype.kind == "f" and (np.any(np.isnan(x)) or np.any((x == 0) & np.signbit(x))):
        raise Skip("unique of nan or -0.0")
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    return values, inverse.astype(i64), counts.astype(i64)


def sum_(x, axis=None, keep=False):
    r = total(x, axis)
    return np.expand_dims(r, axis) if keep and axis is not None else r


prod = product


def any_(x, axis=None, keep=False):
    return np.any(x, axis=axis, keepdims=keep)


def all_(x, axis=None, keep=False):
    return np.all(x, axis=axis, keepdims=keep)


def dot(a, b):
    if a.dtype.kind == "f":
        return noisy(np.dot(a.astype(f64), b.astype(f64)).astype(a.dtype), np.dot(np.abs(a.astype(f64)), np.abs(b.astype(f64))))
    return np.dot(a, b)


def matmul(a, b):
    if a.dtype.kind == "f":
        wide = np.matmul(a.astype(f64), b.astype(f64))
        return noisy(np.asarray(wide).astype(a.dtype)[()], np.matmul(np.abs(a.astype(f64)), np.abs(b.astype(f64))))
    return np.matmul(a, b)


def enumerate_(x):
    return [(i64(k), v) for k, v in enumerate(x)]


def zip_(a, b):
    if len(a) != len(b):
        raise TlError("ShapeMismatch")
    return list(zip(a, b))


def searchsorted(a, v):
    return np.searchsorted(a, v).astype(i64)


def bincount(i, n):
    if np.any((i < 0) | (i >= int(n))):
        raise Skip("counts of numbers outside")
    return np.bincount(i, minlength=int(n)).astype(i64)


def cumprod(x, axis=-1):
    if x.dtype.kind == "f":
        return noisy(np.cumprod(x.astype(f64), axis=axis).astype(x.dtype))
    return np.cumprod(x, axis=axis, dtype=wide_type(x))


def topk(x, k):
    if x.dtype.kind == "f" and np.any(np.isnan(x)):
        raise Skip("topk of nan")
    order = np.array(sorted(range(x.size), key=lambda i: (-x[i].item(), i))[:int(k)], i64)
    return x[order], order


def diff(x, axis=-1):
    return np.diff(x, axis=axis)


def split(x, sizes=None, axis=0):
    if isinstance(x, str):
        return x.split(sizes)
    if np.ndim(sizes) == 0:
        return np.split(x, int(sizes), axis)
    return np.split(x, np.cumsum([int(s) for s in sizes])[:-1])


def scatter_add(x, idx, v):
    return store(x, [(idx,)], "+=", v)


def flatten(x):
    return x.reshape(-1)


def permute(x, axes):
    return np.transpose(x, [int(a) for a in axes])


def outer(a, b):
    return np.outer(a, b).astype(a.dtype)


def one_hot(i, n, elem):
    if np.any((i < 0) | (i >= int(n))):
        raise Skip("one_hot of numbers outside")
    return (np.asarray(i)[..., None] == np.arange(int(n))).astype(TYPES[elem])


def expand_dims(x, axis):
    return np.expand_dims(x, axis)


def squeeze(x, axis):
    return np.squeeze(x, axis=axis)[()]


def broadcast_to(x, dims):
    return np.broadcast_to(x, _dims(dims)).copy()


def zeros_like(x):
    return np.zeros_like(x)


def ones_like(x):
    return np.ones_like(x)


def _wide(f, default=None):
    """A reduction or normalisation of several operations: its last bits are open, and where it cancels the scale is that of what went in."""
    def call(x, axis=default):
        if x.size == 0:
            raise Skip("of nothing")
        wide = x.astype(f64)
        scale = np.max(np.abs(np.where(np.isfinite(wide), wide, 0)), axis=axis, keepdims=default is not None)
        return noisy(np.asarray(f(wide, axis)).astype(x.dtype)[()], 4 * (scale + scale * scale) + (1 if f is not np.var else 0))
    return call


def _softmax(x, axis):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _log_softmax(x, axis):
    d = x - np.max(x, axis=axis, keepdims=True)
    return d - np.log(np.exp(d).sum(axis=axis, keepdims=True))


def _logsumexp(x, axis):
    m = np.max(x, axis=axis, keepdims=True)
    m = np.where(np.isfinite(m), m, 0)
    return np.squeeze(m + np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True)), axis=axis)


def std(x, axis=None):
    """The root makes much of the last bits of a variance near zero."""
    if x.size and np.any(np.std(x.astype(f64), axis=axis) < 1e-3):
        raise Skip("std near zero")
    return _wide(lambda x, axis: np.std(x, axis=axis))(x, axis)


def norm(x, axis=None):
    wide = x.astype(f64)
    return noisy(np.asarray(np.sqrt((wide * wide).sum(axis=axis))).astype(x.dtype)[()])


softmax, log_softmax, variance, logsumexp = _wide(_softmax, -1), _wide(_log_softmax, -1), _wide(np.var), _wide(_logsumexp)


# ---- text ---------------------------------------------------------------------------------------------------------------------------

def find(s, part):
    return i64(s.find(part))


def replace(s, old, new):
    return s.replace(old, new)


def strip(s, chars=None):
    return s.strip(chars)


def join(parts, separator=""):
    return separator.join(parts)


def lines(s):
    return s.splitlines()


def bytes_(s):
    return np.array(list(s.encode()), u8)


def str_(x):
    return bytes(x).decode() if isinstance(x, np.ndarray) and x.dtype == u8 else show(x)


def parse(to, s):
    return TYPES[to](s)


# ---- derivatives and batches --------------------------------------------------------------------------------------------------------

def leaves(x) -> list:
    """The numbers, tensors and texts of a value, in order."""
    if isinstance(x, Struct):
        x = x.parts()
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, (tuple, list)) else [x]


def rebuild(x, parts):
    """A value like x of other leaves, which are taken from an iterator."""
    if isinstance(x, Struct):
        return type(x)(*[rebuild(p, parts) for p in x.parts()])
    return type(x)(rebuild(p, parts) for p in x) if isinstance(x, (tuple, list)) else next(parts)


def floats(x):
    """All floats of a value, in a row."""
    return np.concatenate([np.zeros(0)] + [np.ravel(leaf) for leaf in leaves(x) if not isinstance(leaf, str) and kind_of(leaf) == "f"])


def with_floats(x, row):
    """A value like x whose floats are those of `row`; its other numbers are zeros."""
    found, at = [], 0
    for leaf in leaves(x):
        n = np.size(leaf)
        if isinstance(leaf, str):
            found.append(leaf)
        elif kind_of(leaf) == "f":
            found.append(np.reshape(row[at:at + n], np.shape(leaf)).astype(f64)[()])
            at += n
        else:
            found.append(np.zeros_like(leaf)[()])
    return rebuild(x, iter(found))


def moved(x, change):
    """x with `change` added to its floats."""
    change, found, at = np.asarray(change), [], 0
    for leaf in leaves(x):
        if not isinstance(leaf, str) and kind_of(leaf) == "f":
            n = np.size(leaf)
            found.append((leaf + change[at:at + n].reshape(np.shape(leaf)))[()])
            at += n
        else:
            found.append(leaf)
    return rebuild(x, iter(found))


class Slopes:
    taken = 0   # how many differences were taken: those of differences need larger steps
    known = {}  # what the runs with noise need not compute again


def fingerprint(x):
    """What tells values and functions apart."""
    if isinstance(x, Struct):
        x = x.parts()
    if isinstance(x, (tuple, list)):
        return tuple(map(fingerprint, x))
    if hasattr(x, "__code__"):
        return x.__code__, fingerprint(x.__defaults__ or ()), fingerprint([c.cell_contents for c in x.__closure__ or ()])
    return x if x is None or isinstance(x, str) or x is MISSING else (np.shape(x), np.asarray(x).dtype.str, np.asarray(x).tobytes())


def silently(f, *args):
    """What f gives, without noise; what it prints is dropped. Where infinities come up on the way, slopes are not numbers."""
    saved = (Noise.on, Out.text, Out.count)
    Noise.on, Out.text, Out.count = False, [], 0
    try:
        with np.errstate(divide="raise", invalid="raise"):
            return f(*args)
    except FloatingPointError as failure:
        raise Skip("not finite") from failure
    finally:
        Noise.on, Out.text, Out.count = saved


def slope(f):
    """The derivative at 0 of f, from a number to a row of floats, by central differences. Kinks and jumps are skipped."""
    taken = Slopes.taken
    base = silently(f, 0.0)
    first = 1e-4 if Slopes.taken == taken else 3e-3
    if not np.all(np.abs(base) < 1e5):
        raise Skip("large")

    def moved_by(h):
        try:
            row = silently(f, h)
        except TlError as failure:
            raise Skip("fails nearby") from failure
        if row.shape != base.shape or not np.all(np.isfinite(row)):
            raise Skip("not finite")
        return row
    found = []
    for h in (first, 0.3 * first):
        right, left = (moved_by(h) - base) / h, (base - moved_by(-h)) / h
        found.append((np.abs(right - left), (right + left) / 2))
    (gap, rough), (smaller, fine) = found
    result = fine + (fine - rough) * 0.09 / 0.91
    # One-sided differences differ by h times the second derivative: by a third with the smaller step, unless there is a kink.
    size = 1 + np.abs(result)
    if np.any(smaller > 0.5 * gap + 1e-6 * size) or np.any(np.abs(fine - rough) > 1e-5 * size * first / 1e-4) or np.any(size > 1e5):
        raise Skip("a kink or too steep")
    Slopes.taken += 1
    return result


def rough(row):
    """What differences give: right to some digits."""
    Noise.used = True
    if not Noise.on:
        return row
    return row + np.array([Noise.rng.uniform(-1, 1) for _ in range(row.size)]).reshape(row.shape) * 1e-5 * (1 + np.abs(row))


def unit(n, k):
    row = np.zeros(n)
    row[k] = 1.0
    return row


def jacobian_rows(f, args, at):
    """For each float of the arguments `at`: how the floats of the result move with it."""
    key = fingerprint((f, args)), at
    if key not in Slopes.known:
        Slopes.known[key] = jacobian_of(f, args, at)
    return Slopes.known[key]


def jacobian_of(f, args, at):
    x = tuple(args[k] for k in at)
    n = floats(x).size

    def along(k, h):
        here = moved(x, h * unit(n, k))
        return floats(f(*[here[at.index(i)] if i in at else a for i, a in enumerate(args)]))
    return np.array([slope(lambda h: along(k, h)) for k in range(n)]) if n else np.zeros((0, floats(silently(f, *args)).size))


def transform(op, f, at, nothing):
    """The function that a transform makes of f; its value comes from one call of f, which alone prints."""
    at = at or (0,)
    if op == "vmap":
        return lambda *args: batched(f, at if len(at) == len(args) else at * len(args), args, nothing)
    if op == "checkpoint":
        return f

    def call(*args):
        value = f(*args)
        rows = jacobian_rows(lambda *a: transform("grad", f, at, None)(*a), args, at) if op == "hessian" else jacobian_rows(f, args, at)
        if op in ("jacobian", "hessian"):
            of = np.shape(args[0]) if op == "hessian" else np.shape(value)
            return rough(rows.T.reshape(of + np.shape(args[0])))
        x = tuple(args[k] for k in at)
        g = with_floats(x, rough(rows.reshape(-1)))
        g = g[0] if len(at) == 1 else g
        return (value, g) if op == "value_and_grad" else g
    return call


def jvp(f, xs, dxs):
    """The value, and how it moves along dxs."""
    value = f(*xs)
    along = floats(dxs)
    return value, with_floats(value, rough(slope(lambda h: floats(f(*moved(xs, h * along))))))


def vjp(f, xs):
    """The value, and what takes a cotangent back."""
    value = f(*xs)
    rows = jacobian_rows(f, xs, tuple(range(len(xs))))

    def back(dy):
        dxs = with_floats(xs, rough(rows @ floats(dy)))
        return dxs[0] if len(xs) == 1 else dxs
    return value, back


def batched(f, axes, args, nothing):
    """f for each position, one after the other. Where several fail, in different ways, which comes first is open."""
    sizes = {np.shape(a)[axis] for a, axis in zip(args, axes) if axis is not None}
    if len(sizes) > 1:
        raise TlError("ShapeMismatch")
    found, failures = [], set()
    for k in range(sizes.pop()):
        try:
            found.append(f(*[a if axis is None else np.take(a, k, axis)[()] for a, axis in zip(args, axes)]))
        except TlError as failure:
            failures.add(failure.kind)
    if len(failures) > 1:
        raise Skip("which failure")
    if failures:
        raise TlError(failures.pop())
    if not found:
        return nothing if nothing is not None else _skip()
    columns = list(zip(*map(leaves, found)))
    if any(np.shape(x) != np.shape(c[0]) for c in columns for x in c):
        raise Skip("sizes that differ in a batch")
    return rebuild(found[0], iter([np.array(c) for c in columns]))

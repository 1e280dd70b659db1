"""What the twins run on: numbers, elementwise functions, control, subscripts and updates, text."""
from __future__ import annotations

import contextlib
import math
import random
from fractions import Fraction

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


@contextlib.contextmanager
def left_open():
    """Whether a failure in here ends the program is open."""
    try:
        yield
    except TlError as failure:
        raise Skip("fails for nobody") from failure


class Noise:
    on = False
    used = False
    rng = random.Random(0)
    side = None  # 1, -1: all noise of this run is to this side, so that an integer at an edge is seen to fall to either
    short = False  # in this run a number is the short one beside it, which `==` sees

    @staticmethod
    def draw(count, most):
        drawn = np.array([Noise.rng.uniform(-most, most) for _ in range(count)])
        return drawn if Noise.side is None else Noise.side * (np.abs(drawn) + most) / 2


class Slopes:
    inside = False  # is a difference being taken?
    taken = 0   # how many differences were taken: those of differences need larger steps
    known = {}  # what the runs with noise need not compute again


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
    wobble = Noise.draw(x.size, 6).reshape(x.shape)
    with np.errstate(all="ignore"):
        change = (wobble * eps * size).astype(x.dtype)
        change = np.where(np.isfinite(change), change, 0).astype(x.dtype)
        moved = (x + change).astype(x.dtype)
        if Noise.short:
            digits = int(-np.log10(np.finfo(x.dtype).eps)) - 1
            short = np.array([float(f"{v:.{digits}g}") for v in np.ravel(x).astype(f64)]).reshape(x.shape).astype(x.dtype)
            moved = np.where(np.abs(short - x) <= 6 * eps * size, short, moved)
        return moved[()]


def checked(x):
    if isinstance(x, np.ndarray) and x.size > MAX_ELEMENTS:
        raise Skip("large")
    return x


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


# ---- arithmetic ---------------------------------------------------------------------------------------------------------------------

def exact_floordiv(a, b):
    """The floor of the exact quotient, rounded once. NumPy's is further off where the quotient has more digits than a float."""
    plain = np.floor_divide(a, b)
    long = np.isfinite(plain) & (np.abs(plain) >= 0.5 / np.finfo(plain.dtype).eps)
    if not np.any(long):
        return plain
    a, b, result = *np.broadcast_arrays(a, b), np.array(plain)
    for at in zip(*np.nonzero(long)) if result.shape else [()]:
        result[at] = float(Fraction(float(a[at])) // Fraction(float(b[at])))
    return result[()]


def floordiv(a, b):
    if isinstance(a, i64) and isinstance(b, i64) and b > 0:
        return i64(int(a) // int(b))
    if kind_of(a) == "f":
        return exact_floordiv(a, b)
    if np.any(np.asarray(b) == 0) and np.broadcast(a, b).size > 0:
        raise TlError("DivisionByZero")
    if kind_of(a) == "i" and np.any(np.asarray(b) == -1):
        return np.where(np.asarray(b) == -1, -np.asarray(a), np.floor_divide(a, np.where(np.asarray(b) == -1, 1, b).astype(b.dtype))).astype(a.dtype)[()]
    return np.floor_divide(a, b)


def mod(a, b):
    if isinstance(a, i64) and isinstance(b, i64) and b > 0:
        return i64(int(a) % int(b))
    if kind_of(a) == "f":
        digits = np.finfo(np.asarray(a).dtype).nmant + 1
        with np.errstate(all="ignore"):
            if np.any(np.abs(np.asarray(a, f64) / np.asarray(b, f64)) >= 2.0 ** (2 * digits - 2)):
                raise Skip("a divisor is nothing beside it")
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
    if Slopes.inside and x.dtype.kind in "iu" and np.any(np.abs(x.astype(f64)) > 1e6):
        raise Skip("a step is nothing beside it")
    if to is np.bool_:
        return (x != 0)[()]
    if x.dtype.kind == "f" and np.issubdtype(to, np.integer):
        if beside_step(x):
            raise Skip("a step")
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


def beside_step(x):
    """Inside a difference, a slope that was taken before: nearly an integer, where it is one."""
    return Slopes.inside and Slopes.taken and np.any((x != np.rint(x)) & (np.abs(x - np.rint(x)) < 1e-4))


def round_(x):
    return np.round(x) if kind_of(x) == "f" else x


def floor(x):
    if beside_step(x):
        raise Skip("a step")
    return np.floor(x)


def ceil(x):
    if beside_step(x):
        raise Skip("a step")
    return np.ceil(x)


def sqrt(x):
    if Slopes.inside and np.any(np.asarray(x) == 0):
        raise Skip("infinitely steep")
    return np.sqrt(x)


def where(c, a, b):
    return np.where(c, a, b).astype(np.asarray(a).dtype)[()]


def relu(x):
    if np.any(np.isnan(x)) or np.any((np.asarray(x) == 0) & np.signbit(x)):
        raise Skip("relu of nan or -0.0")
    return np.where(np.asarray(x) > 0, x, 0).astype(x.dtype)[()]


def skip_call():
    raise Skip("open")


def _loose(f):
    return lambda *a: noisy(np.asarray(f(*[np.asarray(x) for x in a])).astype(np.asarray(a[0]).dtype)[()])


def _periodic(f):
    """Beyond 2**47 tl gives NaN (docs/accuracy.md)."""
    def call(x):
        if np.any(np.abs(x) >= 2.0 ** 47):
            raise Skip("a period is nothing beside it")
        return f(x)
    return _loose(call)


exp, log, tanh, log1p, expm1, exp2, atan = (_loose(f) for f in (np.exp, np.log, np.tanh, np.log1p, np.expm1, np.exp2, np.arctan))
sinh, cosh, log2, asin, acos = (_loose(f) for f in (np.sinh, np.cosh, np.log2, np.arcsin, np.arccos))
sin, cos, tan = map(_periodic, (np.sin, np.cos, np.tan))
pow = _loose(np.power)
_atan2 = _loose(np.arctan2)


def atan2(a, b):
    if Slopes.inside and np.any(np.asarray(b) == 0) and (np.broadcast(a, b).size == 0 or np.any((np.asarray(a) == 0) & (np.asarray(b) == 0))):
        raise Skip("infinitely steep, perhaps for nobody")
    return _atan2(a, b)


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
    return b if op == "=" else grown(OPERATIONS[op](a, b))


def grown(x):
    """Inside a difference, nothing may be so large that a step is nothing beside it; and no list may double without end."""
    if isinstance(x, list) and len(x) > MAX_ELEMENTS:
        raise Skip("large")
    if Slopes.inside and kind_of(x) == "f" and np.any(np.abs(x) > 1e8):
        raise Skip("a step is nothing beside it")
    return x


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


def matmul(a, b):
    if a.dtype.kind == "f":
        wide = np.matmul(a.astype(f64), b.astype(f64))
        return noisy(np.asarray(wide).astype(a.dtype)[()], np.matmul(np.abs(a.astype(f64)), np.abs(b.astype(f64))))
    return np.matmul(a, b)


def total(x, axis=None):
    """A sum: integers wrap in i64 (u64), floats are accumulated in f32 or wider and rounded once."""
    x = np.asarray(x)
    if x.dtype.kind == "f":
        wide = x.astype(f64)
        return noisy(np.asarray(wide.sum(axis=axis)).astype(x.dtype)[()], np.abs(wide).sum(axis=axis)) if x.size else np.asarray(wide.sum(axis=axis)).astype(x.dtype)[()]
    return x.astype(wide_type(x)).sum(axis=axis)


def wide_type(x):
    return np.uint64 if x.dtype == np.uint64 else np.int64


class Positions:
    """Of what a filter lets through, among all."""

    def __init__(self):
        self.at, self.kept = -1, []

    def next(self):
        self.at += 1

    def keep(self):
        self.kept.append(self.at)

    def of(self, k):
        return i64(self.kept[k])


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

"""What the twins run on: tensors built, rearranged, reduced."""
from __future__ import annotations

import math

import numpy as np

from twin_core import *


def rank(x):
    return i64(np.ndim(x))


def shape(x):
    return tuple(i64(d) for d in x.shape)


def _dims(dims):
    dims = [int(d) for d in dims]
    if any(d < 0 for d in dims):
        raise TlError("NegativeSize")
    return tuple(dims)


def _alike(x):
    """Of elements that are all alike operations are computed once, also where there are none: there a slope may be no number."""
    if x.size == 0 and Slopes.inside:
        raise Skip("a slope of no elements")
    return x


def zeros(dims, elem="f32"):
    return _alike(checked(np.zeros(_dims(dims), TYPES[elem])))


def ones(dims, elem="f32"):
    return _alike(checked(np.ones(_dims(dims), TYPES[elem])))


def full(dims, value):
    return _alike(checked(np.full(_dims(dims), value, np.asarray(value).dtype)))


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
        result = np.asarray(np.einsum(form, *wide)).astype(operands[0].dtype)
        if Noise.on:  # a sum of zeros may be either
            result = np.where(result == 0, np.copysign(result, Noise.draw(result.size, 1).reshape(result.shape)), result).astype(result.dtype)
        return noisy(result[()], np.einsum(form, *map(np.abs, wide)))
    return np.einsum(form, *operands)


def histogram(x, bins):
    """The ends of the intervals are rounded: what lies right at one of them may fall to either side."""
    if x.size == 0 or not np.all(np.isfinite(x)):
        raise Skip("histogram of nothing")
    try:
        counts, edges = np.histogram(x.astype(f64), int(bins))
    except IndexError as failure:  # NumPy's own, for intervals of no width
        raise Skip("histogram") from failure
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


def cummax(x, axis=-1):
    return np.maximum.accumulate(x, axis=axis)


def cummin(x, axis=-1):
    return np.minimum.accumulate(x, axis=axis)


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
    return _alike(np.zeros_like(x))


def ones_like(x):
    return _alike(np.ones_like(x))


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

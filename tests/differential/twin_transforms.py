"""What the twins run on: derivatives (central differences) and batches."""
from __future__ import annotations

import numpy as np

from twin_core import *


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
    saved = (Noise.on, Out.text, Out.count, Slopes.inside)
    Noise.on, Out.text, Out.count, Slopes.inside = False, [], 0, True
    try:
        with np.errstate(divide="raise", invalid="raise"):
            return f(*args)
    except FloatingPointError as failure:
        raise Skip("not finite") from failure
    finally:
        Noise.on, Out.text, Out.count, Slopes.inside = saved


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
    """What differences give: right to some digits, perhaps to all, which `==` sees."""
    Noise.used = True
    if not Noise.on:
        return row
    if Noise.short:
        nice = np.round(row, 2)
        return np.where(np.abs(row - nice) < 1e-6 * (1 + np.abs(row)), nice, row)
    return row + Noise.draw(row.size, 1).reshape(row.shape) * 1e-5 * (1 + np.abs(row))


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


def value_of(f, args):
    """What f gives. Where it takes derivatives itself, what it decides by them must not hang on their last digits."""
    before, Noise.used = Noise.used, False
    value = f(*args)
    if Noise.used:
        loud, quiet = floats(value), floats(silently(f, *args))
        if loud.shape != quiet.shape or not np.allclose(loud, quiet, rtol=1e-3, atol=1e-3, equal_nan=True):
            raise Skip("decided by a derivative")
    Noise.used = Noise.used or before
    return value


def transform(op, f, at, nothing):
    """The function that a transform makes of f; its value comes from one call of f, which alone prints."""
    at = at or (0,)
    if op == "vmap":
        return lambda *args: batched(f, at if len(at) == len(args) else at * len(args), args, nothing)
    if op == "checkpoint":
        return f

    def call(*args):
        value = value_of(f, args)
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
    value = value_of(f, xs)
    along = floats(dxs)
    return value, with_floats(value, rough(slope(lambda h: floats(f(*moved(xs, h * along))))))


def vjp(f, xs):
    """The value, and what takes a cotangent back."""
    value = value_of(f, xs)
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
        with left_open():  # what needs no element may run for none
            silently(f, *[a if axis is None else np.zeros_like(a, shape=np.delete(np.shape(a), axis))[()] for a, axis in zip(args, axes)])
        return nothing if nothing is not None else skip_call()
    columns = list(zip(*map(leaves, found)))
    if any(np.shape(x) != np.shape(c[0]) for c in columns for x in c):
        raise Skip("sizes that differ in a batch")
    return rebuild(found[0], iter([np.array(c) for c in columns]))

"""What some versions of NumPy lack, and what is Python's."""
import numpy as np

METHODS = ["linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased", "normal_unbiased", "inverted_cdf",
           "averaged_inverted_cdf", "interpolated_inverted_cdf", "closest_observation"]
trapezoid = getattr(np, "trapezoid", None) or np.trapz


def of_rows(function, x, q, axis, keepdims, method):
    """A quantile of what is not NaN, row by row: NumPy's own takes other ways for some types and shapes."""
    axes = tuple(range(x.ndim)) if axis is None else tuple(k % x.ndim for k in ((axis,) if isinstance(axis, int) else axis))
    rest = [k for k in range(x.ndim) if k not in axes]
    rows = np.transpose(x, (*rest, *axes)).reshape([x.shape[k] for k in rest] + [-1])
    result = np.full(np.shape(q) + rows.shape[:-1], np.nan)
    for at in np.ndindex(*rows.shape[:-1]):
        row = rows[at][~np.isnan(rows[at])]
        if row.size:
            result[(..., *at)] = function(row, q, method=method)
    if keepdims:
        result = result.reshape(np.shape(q) + tuple(1 if k in axes else x.shape[k] for k in range(x.ndim)))
    return result


def nanquantile(x, q, axis, keepdims, method):
    return of_rows(np.quantile, x, q, axis, keepdims, method)


def nanpercentile(x, q, axis, keepdims, method):
    return of_rows(np.percentile, x, q, axis, keepdims, method)


def in_i64(function):
    """A sum or product of integers in i64, as tl has it; of f16 in f64, rounded once."""
    def run(x, **named):
        result = np.asarray(function(x.astype(np.float64) if x.dtype == np.float16 else x, **named))
        return result.astype(x.dtype if x.dtype.kind == "f" else np.int64)
    return run


def bits(x):
    """The numbers of a type's bits, as Python's integers."""
    width = x.dtype.itemsize * 8
    return [int(value) % 2**width for value in x.ravel()], width


def popcount(x):
    numbers, _ = bits(x)
    return np.array([value.bit_count() for value in numbers], np.int64).reshape(x.shape)


def clz(x):
    numbers, width = bits(x)
    return np.array([width - value.bit_length() for value in numbers], np.int64).reshape(x.shape)


def continued(n, before, behind, mode):
    """The positions that margins repeat, as `np.pad` has them (whose versions differ where a margin is wider than the axis)."""
    once = list(range(n))
    cycle = {"edge": once, "wrap": once, "symmetric": once + once[::-1], "reflect": once + once[-2:0:-1]}[mode]
    return [min(max(k, 0), n - 1) if mode == "edge" else cycle[k % len(cycle)] for k in range(-before, n + behind)]

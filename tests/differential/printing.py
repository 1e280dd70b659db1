"""The text of values as tl prints and formats them, from the contract: tensors as NumPy, the rest as Python, bools in small letters."""
from __future__ import annotations

import numpy as np


def scalar(x) -> str:
    if isinstance(x, (bool, np.bool_)):
        return "true" if x else "false"
    if isinstance(x, np.floating):
        return number(x)
    return str(int(x))


def number(x) -> str:
    """The shortest digits that read back alike, in Python's layout."""
    if np.isnan(x):
        return "nan"
    if np.isinf(x):
        return "inf" if x > 0 else "-inf"
    if isinstance(x, np.float64):
        return repr(float(x))
    size = abs(float(x))
    if size == 0 or 1e-4 <= size < 1e16:
        return np.format_float_positional(x, unique=True, trim="0")
    return np.format_float_scientific(x, unique=True, trim="-", exp_digits=2)


def show(x, inside=False) -> str:
    if isinstance(x, str):
        return repr(x) if inside else x
    if isinstance(x, np.ndarray):
        return tensor(x)
    if isinstance(x, tuple):
        return "(" + ", ".join(show(i, True) for i in x) + ("," if len(x) == 1 else "") + ")"
    if isinstance(x, list):
        return "[" + ", ".join(show(i, True) for i in x) + "]"
    if hasattr(x, "fields"):
        return f"{type(x).__name__}({', '.join(f'{n} = {show(getattr(x, n), True)}' for n in x.fields)})"
    return scalar(x)


def tensor(x) -> str:
    if x.dtype == np.bool_:
        return np.array2string(x).replace("True", "true").replace("False", "false")
    return np.array2string(x)


def fmt(x, spec: str) -> str:
    """`{x:spec}`."""
    if isinstance(x, str):
        return format(x, spec)
    if isinstance(x, (bool, np.bool_)):
        return format(scalar(x), spec)
    if isinstance(x, np.floating):
        return format(float(x), spec)
    if isinstance(x, np.integer):
        return format(int(x), spec)
    if isinstance(x, (tuple, list)) or hasattr(x, "fields"):
        return show(x)
    raise TypeError(type(x))

"""Tensors of tl, made of arrays."""

import os
import threading

from . import _tl
from ._support import TL_NAMES

_sessions = {}  # that make them, by whether these are keys, and by the process
_lock = threading.Lock()


def tensor(values, dtype=None):
    """A tl.Tensor of an array, a number or nested lists; dtype: "f32" and so on. It has its own copy of the elements.

    With dtype="key" it is a random key, or several, of the integers that keys are outside of tl.
    """
    is_key = dtype == "key"
    with _lock:
        session = _sessions.get((is_key, os.getpid()))
        if session is None:
            session = _tl.Session()
            if is_key:
                session._add_source("<tensor>", "fn keys(k: key[..s]) -> key[..s] = k")
            _sessions[is_key, os.getpid()] = session
    if dtype not in (None, "key") and dtype not in TL_NAMES.values():
        raise ValueError("tl has no element type %r" % (dtype,))
    made = _tl._tensor(session, values, dtype or "")
    if dtype is not None and made.dtype != dtype:
        raise TypeError("the elements are %s: convert them to %s first" % (made.dtype, dtype))
    return made

"""tl in Python: programs are compiled here, and their functions take and give arrays.

    import tl
    program = tl.load("model.tl")
    y = program.predict(x)  # x: an array of NumPy, PyTorch or JAX; y: one of the same kind
"""

import atexit as _atexit
import os as _os
import threading as _threading

from . import _support, _tl

_tl._support(_support)

from ._errors import ArgumentError, CompileError, InternalError, RunError  # noqa: E402
from ._program import Program, Struct, compile, load  # noqa: E402
from ._tl import Function, Pending, Tensor, __version__  # noqa: E402

_atexit.register(_tl._finish)

_values = None  # (process, session) that makes tensors
_lock = _threading.Lock()


def tensor(values, dtype=None):
    """A tl.Tensor of an array, a number or nested lists; dtype: "f32" and so on. It has its own copy of the elements.

    With dtype="key" it is a random key, or several, of the integers that keys are outside of tl.
    """
    global _values
    with _lock:
        if _values is None or _values[0] != _os.getpid():
            session = _tl.Session()
            session._add_source("<tensor>", "fn keys(k: key[..s]) -> key[..s] = k")
            _values = _os.getpid(), session
    if dtype not in (None, "key") and dtype not in _support.TL_NAMES.values():
        raise ValueError("tl has no element type %r" % (dtype,))
    made = _tl._tensor(_values[1], values, dtype or "")
    if dtype is not None and made.dtype != dtype:
        raise TypeError("the elements are %s: convert them to %s first" % (made.dtype, dtype))
    return made


def __getattr__(name):  # what needs other packages is imported when it is asked for
    if name == "torch_op":
        from .torch_op import torch_op as value
    elif name == "jax_fn":
        from .jax_fn import jax_fn as value
    else:
        raise AttributeError("module 'tl' has no attribute '%s'" % name)
    globals()[name] = value  # and not the module, which the import has put here
    return value


def load_ipython_extension(shell):
    """%load_ext tl"""
    from .magic import load_ipython_extension as load_magic
    load_magic(shell)


__all__ = [
    "ArgumentError", "CompileError", "Function", "InternalError", "Pending", "Program", "RunError", "Struct", "Tensor",
    "compile", "load", "tensor", "__version__"
]

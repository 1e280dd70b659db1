"""tl in Python: programs are compiled here, and their functions take and give arrays.

    import tl
    program = tl.load("model.tl")
    y = program.predict(x)  # x: an array of NumPy, PyTorch or JAX; y: one of the same kind
"""

import atexit as _atexit

from . import _support, _tl

_tl._support(_support)

from ._errors import ArgumentError, CompileError, InternalError, RunError  # noqa: E402
from ._program import Program, Struct, compile, load  # noqa: E402
from ._tensor import tensor  # noqa: E402
from ._tl import Function, Pending, Tensor, __version__  # noqa: E402

_atexit.register(_tl._finish)

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

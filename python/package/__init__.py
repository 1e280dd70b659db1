
import atexit as _atexit
import keyword as _keyword

from . import _support, _tl

_tl._support(_support)

from ._errors import ArgumentError, CompileError, InternalError, RunError  # noqa: E402
from ._program import Program as _Program  # noqa: E402
from ._tensor import tensor  # noqa: E402
from ._tl import Function, Pending, Tensor  # noqa: E402

_atexit.register(_tl._finish)

program = _Program({})  # as tl.load would give it
program._begin(__name__, None, __name__)


def configure(flag, value="true"):
    """Sets a flag of `tl run` for the calls from now on: configure("threads", 4)."""
    program._set(flag, str(value).lower() if isinstance(value, bool) else str(value))


__all__ = ["ArgumentError", "CompileError", "Function", "InternalError", "Pending", "RunError", "Tensor", "configure", "program", "tensor"]
for _name in program:  # a function of the program comes before what is above
    _word = _name + "_" if _keyword.iskeyword(_name) else _name
    globals()[_word] = program[_name]
    __all__.append(_word)

"""tl in IPython and notebooks: %load_ext tl, then cells that begin with %%tl."""
import re
import shlex

from IPython.core.error import UsageError

from . import _tl
from ._errors import CompileError, RunError
from ._program import compile as _compile

_KEYWORDS = set("let var const fn struct import as if else for in while break continue return true false and or not assert test on export new "
                "none".split())
# Comments and texts apart from what is between them.
_PARTS = re.compile(r'#[^\n]*|"""(?:\\.|.)*?"""|"(?:\\.|[^"\\\n])*"|[^#"]+|.', re.S)
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*(?!\w|\s*\()|(?<=\.\.)[^\W\d]\w*(?!\w|\s*\()")
_BINDING = re.compile(r"\b(?:let|var)\b([^=]*)=")
_ASSIGNED = re.compile(r"(?:^|[;{}\n])\s*([^\W\d]\w*)(?=\s*(?:\[[^=]*\]|\.\w+)*\s*(?:[-+*/%@]|//|\*\*)?=(?!=))")


def load_ipython_extension(shell):
    """%load_ext tl"""
    cells = Cells(shell)
    shell.register_magic_function(cells.run, "line_cell", "tl")
    shell.register_magic_function(cells.reset, "line", "tl_reset")


class Cells:
    """A program that grows by a cell at a time, as in `tl repl`, and shares names with the Python of a shell."""

    def __init__(self, shell):
        self.shell = shell
        self.reset("")

    def reset(self, line):
        """%tl_reset [threads=2 …]: forgets what the cells before have declared, and takes these settings, flags of `tl run`."""
        settings = dict(word.partition("=")[::2] if "=" in word else (word, "true") for word in shlex.split(line))
        try:
            self.session = _compile("", "<cells>", **settings)
        except ValueError as error:
            raise UsageError(str(error)) from None
        self.given = {}  # what Python has of tl's: an object that is still there under its name has not been changed
        self.count = 0

    def run(self, line, cell=None):
        """%%tl: a cell of tl, as an input of `tl repl`. %tl CODE: a line of it.

        Arrays, numbers and texts of Python that a cell names are there, as they are at that moment. Names that it binds or assigns are Python's
        variables afterwards: read-only NumPy arrays, numbers, texts.
        """
        text = line if cell is None else cell
        if cell is not None and line.strip():
            raise UsageError("%%tl takes nothing on its line: settings go to %tl_reset")
        plain, names = mentioned(text)
        variables = self.shell.user_ns
        bound = set()
        for name in sorted(names):
            value = variables.get(name)
            if _can_be_bound(value) and value is not self.given.get(name):
                try:
                    _tl._bind_piece(self.session, name, value)
                except (TypeError, ValueError) as error:
                    raise UsageError(f"`{name}` of Python is no value of tl: {error}") from None
                bound.add(name)
        self.count += 1
        try:
            _tl._run_piece(self.session, f"<cell {self.count}>", text)
        except (CompileError, RunError) as error:
            lines = str(error).splitlines()  # the program's and not Python's: IPython asks an exception for its traceback
            error._render_traceback_ = lambda *_: lines
            raise
        finally:
            # A cell that failed may have changed nothing, or what came before its failure.
            self.give(names - (bound - assigned(plain)))

    def give(self, names):
        for name in names & set(_tl._piece_names(self.session)):
            value = _tl._lookup_piece(self.session, name)
            # The fields of their structs only pieces can take; and a list that came back would be a tensor.
            if not isinstance(value, (_tl.Struct, list)):
                self.given[name] = self.shell.user_ns[name] = value


def mentioned(text):
    """The program without comments and texts but for what these insert, and the names in it that may be values."""
    plain = ""
    for part in _PARTS.findall(text):
        if part.startswith('"'):
            part = " ".join(["", *re.findall(r"\{([^{}]*)", part.replace("{{", "")), ""])
        elif part.startswith("#"):
            part = ""
        plain += part
    return plain, set(_NAME.findall(plain)) - _KEYWORDS - {"_"}  # `_` is a size without a name, a part that is left out


def assigned(plain):
    """The names that a program binds or assigns."""
    found = set(_ASSIGNED.findall(plain))
    for pattern in _BINDING.findall(plain):
        found |= set(re.findall(r"\b[^\W\d]\w*", re.sub(r":[^,)]*", "", pattern)))
    return found


def _can_be_bound(value):
    """Arrays, numbers, texts, and lists of these."""
    if isinstance(value, (bool, int, float, complex, str, _tl.Tensor)):
        return True
    if isinstance(value, (list, tuple)):
        return bool(value) and all(_can_be_bound(each) and not isinstance(each, str) for each in value)
    return not isinstance(value, (type, _tl.Struct)) and any(
        hasattr(type(value), name) for name in ("__dlpack__", "__array_struct__", "__array_interface__"))


__all__ = ["Cells", "load_ipython_extension"]

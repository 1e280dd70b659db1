"""What calls raise."""

import re


class _Located:
    """kind, file, line, column, hint and text, as the command `tl` shows them; message: one line."""

    kind = ""
    message = ""
    hint = ""
    file = ""
    line = 0
    column = 0
    text = ""

    def __reduce__(self):
        return _again, (type(self), self.args, self.__dict__)


def _again(cls, args, attributes):
    error = cls(*args)
    error.__dict__.update(attributes)
    return error


class CompileError(_Located, ValueError):
    """The program is wrong, or a function is for arguments of these types. Nothing has run."""


class RunError(_Located, RuntimeError):
    """The program failed while it ran."""


class ArgumentError(RunError, ValueError):
    """An argument does not fit: its sizes are not those that the program asks for."""


class InternalError(_Located, RuntimeError):
    """A fault of tl."""


# Kinds of failures that are about sizes of arguments.
_FITTING = {"ShapeMismatch", "BroadcastMismatch", "SizeMismatch"}


def make_error(status, kind, message, hint, file, line, column, text):
    """The exception for a tl_error of the library."""
    if status == 2:
        if hint and hint not in message:
            message = "%s (%s)" % (message, hint)
        return (TypeError if kind == "WrongType" else ValueError)(_with_conversion(message))
    if status == 1:
        cls = CompileError
    elif status == 3:
        cls = ArgumentError if kind in _FITTING else RunError
    else:
        cls = InternalError
    error = cls((text or message).rstrip())
    error.kind, error.message, error.hint = kind, message, hint
    error.file, error.line, error.column, error.text = file, line, column, text
    return error


_NUMPY = {"f16": "float16", "f32": "float32", "f64": "float64", "bool": "bool", "c64": "complex64",
          "c128": "complex128"}
_NUMPY.update(("%s%d" % (letter, bits), "%s%d" % (word, bits))
              for letter, word in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64))
_TENSOR = r"(bool|u8|u16|u32|u64|i8|i16|i32|i64|f16|bf16|f32|f64|c64|c128)(?:\[[^\]]*\])?"
_OTHER_TYPE = re.compile(r".*: (?:List<)?%s>? is wanted, and this is (?:List<)?%s>?$" % (_TENSOR, _TENSOR))


def _with_conversion(message):
    """Where another element type is wanted: how to convert the argument to it."""
    match = _OTHER_TYPE.match(message)
    if match and match[1] != match[2] and match[1] in _NUMPY:
        return '%s; convert it, for example by .astype("%s")' % (message, _NUMPY[match[1]])
    return message

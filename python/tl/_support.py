"""What the extension module calls: everything that is not worth writing in C++."""

import inspect
import keyword

from ._errors import make_error  # noqa: F401

TL_NAMES = {"bool": "bool", "bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64",
            "complex64": "c64", "complex128": "c128"}
TL_NAMES.update(("%s%d" % (word, bits), "%s%d" % (word[0], bits)) for word in ("int", "uint") for bits in (8, 16, 32, 64))
_FORMATS = {"?": "bool", "e": "f16", "f": "f32", "d": "f64"}


def did_you_mean(name, names):
    """The end of a message about a name that is not there; nothing where none of the others is near."""
    import difflib
    near = difflib.get_close_matches(name, names, 1)
    return ": did you mean '%s'?" % near[0] if near else ""


def _numpy():
    try:
        import numpy
        return numpy
    except ImportError:
        return None


# ---- arguments


def native_array(array):
    """A dense copy with the bytes in the order of this machine."""
    import numpy
    return numpy.array(array, dtype=array.dtype.newbyteorder("="), order="C")


def foreign_array(value):
    """An array of anything that NumPy takes; without NumPy (list, element type) of a buffer; None of anything else."""
    numpy = _numpy()
    if numpy and isinstance(value, numpy.ma.MaskedArray):
        raise TypeError("a masked array: tl has no masks; `.filled(value)` and `.mask` give arrays of it")
    if numpy and (hasattr(type(value), "__array__") or hasattr(type(value), "__array_interface__")):
        return numpy.asarray(value)
    if numpy and isinstance(value, range):
        return numpy.asarray(value)
    try:
        view = memoryview(value)
    except TypeError:
        return None
    if numpy:
        return numpy.asarray(view)
    letter = view.format.lstrip("@=<")
    if letter in _FORMATS:
        return view.tolist(), _FORMATS[letter]
    if len(letter) == 1 and letter in "bhilqBHILQ":
        return view.tolist(), "%s%d" % ("i" if letter.islower() else "u", 8 * view.itemsize)
    return None


def stacked_array(values):
    """One array of lists of arrays."""
    numpy = _numpy()
    if not numpy:
        raise TypeError("a list of arrays needs NumPy, which stacks them")
    return numpy.asarray(values)


def torch_detached(tensor):
    """The tensor without its history; an error where PyTorch would record what is done with it."""
    import torch
    if torch.is_grad_enabled():
        raise ValueError("this tensor requires gradients, which a call of tl would lose: use tl.torch_op, "
                         "tensor.detach() or torch.no_grad()")
    return tensor.detach()


# ---- tensors


def tensor_repr(tensor):
    numpy = _numpy()
    values = None
    if numpy:
        try:
            values = numpy.array2string(tensor.numpy(), separator=", ", prefix="tl.Tensor(")
        except ImportError:  # bf16 without ml_dtypes
            pass
    return "tl.Tensor(%s, %s)" % (tensor.tolist() if values is None else values, tensor.dtype)


def reduce_tensor(tensor):
    from ._tensor import tensor as make
    if _numpy() and tensor.dtype != "bf16":
        return make, (tensor.numpy(), "key") if tensor.dtype == "key" else (tensor.numpy(),)
    if 0 in tensor.shape[:-1]:
        raise TypeError("to pickle an empty tensor takes NumPy")
    return make, (tensor.tolist(), tensor.dtype)


# ---- functions


class _Written:
    """A default value that tl computes, shown as it is written."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def _default(text):
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    plain = len(text) >= 2 and text[0] == text[-1] == '"' and not set(text[1:-1]) & set('"\\{}\n')
    return text[1:-1] if plain else _Written(text)


def _is_own(function):
    """Whether the declaration is the function's, and not only that of its parameters."""
    declaration = function._declaration
    return declaration is not None and function._expression == declaration[0]


def function_signature(function):
    declaration = function._declaration
    if declaration is None:
        kind = inspect.Parameter.VAR_POSITIONAL
        return inspect.Signature([inspect.Parameter("arguments", kind)])
    empty = inspect.Parameter.empty
    result = declaration[2] if _is_own(function) else None
    parameters = declaration[7]

    def made(kind):
        return inspect.Signature([
            inspect.Parameter(name + "_" if keyword.iskeyword(name) else name, kind, annotation=type or empty,
                              default=empty if default is None else _default(default))
            for name, type, default, _ in parameters
        ], return_annotation=result or inspect.Signature.empty)

    try:
        return made(inspect.Parameter.POSITIONAL_OR_KEYWORD)
    except ValueError:  # a parameter without a default after one with it
        return made(inspect.Parameter.KEYWORD_ONLY)


def function_doc(function):
    declaration = function._declaration
    if declaration is None:
        return function._expression
    lines = [declaration[1] if _is_own(function) else "%s, with the parameters of %s" % (function._expression, declaration[1])]
    if declaration[3].strip():
        lines += ["", declaration[3].strip()]
    about = ["%s: %s" % (name, doc.strip()) for name, _, _, doc in declaration[7] if doc.strip()]
    return "\n".join(lines + ([""] + about if about else []))


def function_repr(function):
    text = function._declaration[1] if _is_own(function) else function._expression
    return "<tl.Function %s>" % text


def reduce_function(function):
    from ._program import restore_function
    return restore_function, (function.program._origin(), function._expression, function._like)

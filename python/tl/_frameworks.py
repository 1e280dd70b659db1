"""What PyTorch and JAX ask of a function before it runs: its parameters, the types of its results, its derivatives as functions."""
import ast
import keyword
import re

from . import _tl

ELEMENT_TYPES = ("bool", "u8", "i8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "c64", "c128")
DIFFERENTIABLE = ("f16", "bf16", "f32", "f64", "c64", "c128")


class Parameter:
    """Of a tl function: `element` is its element type where the program says it, `rank` the number of its axes, -1 for any."""

    def __init__(self, program, name, type_, default=None):
        self.name = name + "_" if keyword.iskeyword(name) else name  # in Python
        self.own_name = name
        self.required = default is None
        self.type = type_ or ""
        self.is_text = self.type == "str"
        match = re.fullmatch(r"(\w+)(?:\[(.*)\])?", self.type, re.S)
        if self.type and not match or match and isinstance(getattr(program, match[1], None), type):
            raise TypeError(f"the parameter `{name}` is {self.type}, and has to be a tensor, a number or a text: "
                            "write a function of the tensors in it, which makes it")
        self.element = match[1] if match and match[1] in ELEMENT_TYPES else None
        sizes = match[2] if match else None
        self.rank = -1 if not match or sizes and ".." in sizes else len(split(sizes)) if sizes else 0
        self.is_concrete = self.is_text or self.element is not None and self.rank >= 0


def check_function(function, caller):
    if not isinstance(function, _tl.Function):
        raise TypeError(f"{caller} takes a function of a program, like p.f or p.function(\"|x| f(x)\"), not {function!r}")


def parameters(function):
    declaration = function._declaration
    if declaration is not None:
        return [Parameter(function.program, name, type_, default) for name, type_, default, _ in declaration[7]]
    expression = function._expression
    written = expression[1:expression.find("|", 1)] if expression.startswith("|") else "("
    found = [re.fullmatch(r"(\w+)(?:\s*:\s*(.*))?", each, re.S) for each in split(written)]
    if None in found:
        raise TypeError(f"the parameters of `{expression}` have no names: give them, program.function(…, like=…), or write |x, y| …")
    return [Parameter(function.program, each[1], each[2]) for each in found]


def declared_results(function):
    """How many tensors the program says that it gives, -1 for one that is no tuple; None where it says nothing."""
    declaration = function._declaration
    text = declaration[2] if declaration is not None and declaration[0] == function._expression else None
    if not text:
        return None
    parts = split(text[1:-1]) if text.startswith("(") else [text]
    for part in parts:
        match = re.fullmatch(r"(\w+)(?:\[.*\])?", part, re.S)
        if not match or part == "str" or isinstance(getattr(function.program, match[1], None), type):
            raise _not_tensors(text)
    return len(parts) if text.startswith("(") else -1


def _not_tensors(text):
    return TypeError(f"the function gives {text}, and has to give tensors, or a tuple of them")


def bind(function, parameters, args, kwargs):
    """The arguments in the order of the parameters; None is one that is left to its default."""
    if len(args) > len(parameters):
        raise TypeError(f"{function._expression} takes {len(parameters)} arguments, and {len(args)} were given")
    values = list(args)
    for parameter in parameters[len(args):]:
        if parameter.name in kwargs:
            values.append(kwargs.pop(parameter.name))
        elif parameter.required:
            raise TypeError(f"{function._expression} needs an argument `{parameter.name}`")
        else:
            values.append(None)
    if kwargs:
        raise TypeError(f"{function._expression} takes no argument `{next(iter(kwargs))}`, or has it already")
    return values


def split(text):
    """The parts between commas that are outside of brackets."""
    parts, depth, begin = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "([<") - (character in ")]>" and text[place - 1:place] != "-")
        if character == "," and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    return [part.strip() for part in [*parts, text[begin:]] if part.strip()]


class Tensor:
    """The type of a result: its element type, and its sizes as expressions of those of the arguments."""

    def __init__(self, text):
        match = re.fullmatch(r"(\w+)(?:\[(.*)\])?", text, re.S)
        if not match or match[1] not in ELEMENT_TYPES:
            raise _not_tensors(text)
        self.element = match[1]
        self.is_differentiable = self.element in DIFFERENTIABLE
        self.sizes = [_parse(size) for size in split(match[2] or "")]

    def shape(self, shapes, least=min, greatest=max):
        """For arguments of these shapes, by their names. None is a size that is known when the function has run."""
        return [_size(size, shapes, least, greatest) for size in self.sizes]


def result_types(text):
    """Of what Function.result_type gives: whether it is a tuple, and the tensors in it."""
    is_tuple = text.startswith("(")
    return is_tuple, [Tensor(part) for part in (split(text[1:-1]) if is_tuple else [text])]


def _parse(size):
    try:
        return ast.parse(size, mode="eval").body
    except SyntaxError:
        return None


def _size(node, shapes, least, greatest):
    def value(inner):
        found = _size(inner, shapes, least, greatest)
        if found is None:
            raise _Unknown
        return found

    try:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            arguments = [value(each) for each in node.args]
            if node.func.id == "min":
                return _fold(least, arguments)
            if node.func.id == "max":
                return _fold(greatest, arguments)
            if node.func.id in ("clip", "clamp") and len(arguments) == 3:
                return least(greatest(arguments[0], arguments[1]), arguments[2])
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            return shapes[node.value.value.id][value(node.slice)]
    except (_Unknown, KeyError, AttributeError):
        pass
    return None


class _Unknown(Exception):
    pass


def _fold(f, values):
    result = values[0]
    for value in values[1:]:
        result = f(result, value)
    return result


_OPERATORS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


class Given:
    """An argument of a call, at a place among the parameters. `by_name`: that parameter, behind one that is left to its default."""

    def __init__(self, place, by_name=None, text=None):
        self.place, self.by_name, self.text = place, by_name, text


def given(parameters, values):
    """The arguments of a call; a value of None is left to its default."""
    found = []
    for place, (parameter, value) in enumerate(zip(parameters, values)):
        if value is not None:
            found.append(Given(place, parameter if len(found) < place else None, value if parameter.is_text else None))
    return found


def pullback(expression, arguments, wanted, results):
    """The text of the function of a call's tensors, in order, and of derivatives of a scalar by the results at the places `results` (None:
    the function `expression` gives one tensor). It gives the scalar's derivatives by the arguments at the places `wanted`: a tuple if there
    are several.
    """
    x, dy = "x", "dy"
    while re.search(rf"\b({x}|{dy})[0-9r]", expression):
        x, dy = x + "_", dy + "_"
    inputs = [f"{x}{each.place}" for each in arguments if each.text is None]
    call = [(f"{each.by_name.own_name} = " if each.by_name else "") + (f"{x}{each.place}" if each.text is None else literal(each.text))
            for each in arguments]
    value = f"({expression})({', '.join(call)})"
    cotangents = [f"{dy}{place}" for place in ([0] if results is None else results)]
    if results is not None:
        value = f"(|{x}r| {_tuple([f'{x}r[{place}]' for place in results])})({value})"
    by = ", ".join(f"{x}{place}" for place in wanted)
    return f"|{', '.join(inputs + cotangents)}| vjp(|{by}| {value}, {by})[1]({_tuple(cotangents)})"


def literal(text):
    """A text as tl writes it."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0", "{": "{{", "}": "}}"}
    return '"' + "".join(escapes.get(character, character) for character in text) + '"'


def _tuple(texts):
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

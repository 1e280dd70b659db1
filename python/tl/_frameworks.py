"""What PyTorch and JAX ask of a function before it runs: its parameters, the types of its results, its derivatives as functions."""
import ast
import re

ELEMENT_TYPES = ("bool", "u8", "i8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64")
FLOATS = ("f16", "bf16", "f32", "f64")


class Parameter:
    """Of a tl function: `element` is its element type where the program says it, `rank` the number of its axes, -1 for any."""

    def __init__(self, program, parameter):
        self.name = parameter.name
        self.required = parameter.default is parameter.empty
        self.type = "" if parameter.annotation is parameter.empty else str(parameter.annotation)
        self.is_text = self.type == "str"
        match = re.fullmatch(r"(\w+)(?:\[(.*)\])?", self.type, re.S)
        if self.type and not match or match and isinstance(getattr(program, match[1], None), type):
            raise TypeError(f"the parameter `{self.name}` is {self.type}, and has to be a tensor, a number or a text: "
                            "write a function of the tensors in it, which makes it")
        self.element = match[1] if match and match[1] in ELEMENT_TYPES else None
        sizes = match[2] if match else None
        self.rank = -1 if not match or sizes and ".." in sizes else len(split(sizes)) if sizes else 0
        self.is_concrete = self.is_text or self.element is not None and self.rank >= 0


def parameters(function):
    return [Parameter(function.program, each) for each in function.__signature__.parameters.values()]


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
            raise TypeError(f"the function gives {text}, and has to give tensors, or a tuple of them")
        self.element = match[1]
        self.is_float = self.element in FLOATS
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


def pullback(function, given, wanted, results):
    """The function that takes the arguments whose places are `given`, then the derivatives of a scalar by the results whose places are
    `results` (None: the function gives one tensor), and gives those by the arguments whose places are `wanted`: a tuple if there are several.
    """
    expression = function.expression
    x, dy = "x", "dy"
    while re.search(rf"\b{x}\d|\b{dy}\d", expression):
        x, dy = x + "_", dy + "_"
    names = list(function.__signature__.parameters)
    call = []
    for order, place in enumerate(given):  # by name behind one that is left to its default
        call.append(f"{x}{place}" if order == place else f"{names[place]} = {x}{place}")
    value = f"({expression})({', '.join(call)})"
    cotangents = [f"{dy}{place}" for place in (range(1) if results is None else results)]
    if results is not None:
        r = f"{x}r"
        value = f"(|{r}| {_tuple([f'{r}[{place}]' for place in results])})({value})"
    inputs = [f"{x}{place}" for place in given]
    by = ", ".join(f"{x}{place}" for place in wanted)
    text = f"|{', '.join(inputs + cotangents)}| vjp(|{by}| {value}, {by})[1]({_tuple(cotangents)})"
    return function.program.function(text)


def _tuple(texts):
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

"""Functions of tl as operators of PyTorch."""
import functools
import itertools
import keyword
import threading

import torch

from . import _frameworks as frameworks

_DTYPES = {
    "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "u16": torch.uint16, "i32": torch.int32,
    "u32": torch.uint32, "i64": torch.int64, "u64": torch.uint64, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
    "f64": torch.float64,
}
_names = set()
_lock = threading.RLock()  # of the tables of operators


def torch_op(function, name=None):
    """An operator of PyTorch that calls a function of tl: under autograd (to any order), torch.compile and torch.export.

    `name` is "namespace::name", or a name in the namespace tl; another operator of that name is replaced. Tensors are on the CPU; numbers
    are taken too. Arguments that are not floats have no gradient. The operator itself is the result's `op`.
    """
    operator = _Operator(function, _qualified(function, name), frameworks.parameters(function))
    parameters, op = operator.parameters, operator.op
    is_list = operator.count is None

    @functools.wraps(function, assigned=("__name__", "__qualname__", "__doc__"), updated=())
    def call(*args, **kwargs):
        if len(args) > len(parameters):
            raise TypeError(f"{function.__name__}() takes {len(parameters)} arguments, and {len(args)} were given")
        values = [_argument(parameter, value) for parameter, value in zip(parameters, args)]
        for parameter in parameters[len(args):]:
            if parameter.name in kwargs:
                values.append(_argument(parameter, kwargs.pop(parameter.name)))
            elif parameter.required:
                raise TypeError(f"{function.__name__}() needs an argument `{parameter.name}`")
            else:
                values.append(None)
        if kwargs:
            raise TypeError(f"{function.__name__}() takes no argument `{next(iter(kwargs))}`, or has it already")
        result = op(*values)
        if is_list:
            return result[0] if len(result) == 1 else tuple(result)
        return result

    call.__signature__ = function.__signature__
    call.op = op
    return call


def _argument(parameter, value):
    if isinstance(value, torch.Tensor) or parameter.is_text:
        return value
    dtype = _DTYPES.get(parameter.element)
    if isinstance(value, (bool, int, float, torch.SymInt, torch.SymFloat, torch.SymBool)):
        if dtype is None:
            is_float = isinstance(value, (float, torch.SymFloat))
            dtype = torch.float32 if is_float else torch.bool if isinstance(value, (bool, torch.SymBool)) else torch.int64
        elif not dtype.is_floating_point and isinstance(value, (float, torch.SymFloat)):
            raise TypeError(f"the argument `{parameter.name}` is {value}, and has to be {parameter.type}")
        return torch.full((), value, dtype=dtype)
    return torch.as_tensor(value, dtype=dtype)


def _qualified(function, name):
    with _lock:
        if name is not None:
            name = name if "::" in name else f"tl::{name}"
        else:
            word = function.__name__ if function.__name__.isidentifier() else "function"
            name = next(each for each in itertools.chain([f"tl::{word}"], (f"tl::{word}_{count}" for count in itertools.count(2)))
                        if each not in _names)
        _names.add(name)
        return name


@functools.cache
def _samples():
    """Real tensors of each element type and number of axes, made before any tracing: what result_type looks at."""
    return {(dtype, rank): torch.empty((1,) * rank, dtype=dtype, device="cpu") for dtype in _DTYPES.values() for rank in range(17)}


class _Operator:
    """An operator, and those of its derivatives that were needed so far.

    `wanted`: it is a derivative, whose results have the types of the arguments at these places."""

    def __init__(self, function, name, parameters, wanted=None):
        self.function, self.name, self.parameters, self.wanted = function, name, parameters, wanted
        self.types = {}
        self.derivatives = {}
        _samples()
        self.count = self.result_count()  # None: as many as there are
        names = [each.name + "_" * (keyword.iskeyword(each.name) or each.name == "self") for each in parameters]
        takes = [f"{'str' if each.is_text else 'Tensor'}{'' if each.required else '?'} {name}{'' if each.required else '=None'}"
                 for each, name in zip(parameters, names)]
        gives = "Tensor[]" if self.count is None else "Tensor" if self.count < 0 else f"({', '.join(['Tensor'] * self.count)})"
        self.op = torch.library.custom_op(name, self.run, mutates_args=(), device_types="cpu", schema=f"({', '.join(takes)}) -> {gives}")
        self.op.register_fake(self.fake)
        self.op.register_autograd(self.backward, setup_context=self.keep)

    def result_count(self):
        """-1 for one that is no tuple, None where it is another one for other arguments."""
        if self.wanted is not None:
            return -1 if len(self.wanted) == 1 else len(self.wanted)
        declared = self.function.__signature__.return_annotation
        if isinstance(declared, str) and declared:
            return len(frameworks.split(declared[1:-1])) if declared.startswith("(") else -1
        if all(each.is_concrete for each in self.parameters):
            arguments = ["" if each.is_text else _samples()[_DTYPES[each.element], each.rank] for each in self.parameters]
            is_tuple, types = frameworks.result_types(self.function.result_type(*arguments))
            return len(types) if is_tuple else -1
        return None

    def bind(self, values):
        """Without those that are left to their defaults: positional ones, and behind the first gap by name."""
        args, kwargs = [], {}
        for parameter, value in zip(self.parameters, values):
            if value is not None and len(args) == self.parameters.index(parameter):
                args.append(value)
            elif value is not None:
                kwargs[parameter.name] = value
        return args, kwargs

    def run(self, *values):
        args, kwargs = self.bind([value.detach() if isinstance(value, torch.Tensor) else value for value in values])
        result = self.function(*args, **kwargs)
        if not isinstance(result, tuple):
            result = torch.as_tensor(result)
            return [result] if self.count is None else result
        result = [torch.as_tensor(each) for each in result]
        return result if self.count is None else tuple(result)

    def result_types(self, values):
        key = tuple((value.dtype, value.dim()) if isinstance(value, torch.Tensor) else value is None for value in values)
        types = self.types.get(key)
        if types is None:
            args, kwargs = self.bind([_samples()[each] if isinstance(each, tuple) else value for value, each in zip(values, key)])
            types = self.types[key] = frameworks.result_types(self.function.result_type(*args, **kwargs))[1]
        return types

    def fake(self, *values):
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        device = tensors[0].device if tensors else "cpu"
        if self.wanted is not None:
            results = [torch.empty(values[place].shape, dtype=values[place].dtype, device=device) for place in self.wanted]
        else:
            shapes = {each.name: value.shape for each, value in zip(self.parameters, values) if isinstance(value, torch.Tensor)}
            results = []
            for result in self.result_types(values):
                shape = [torch.library.get_ctx().new_dynamic_size() if size is None else size
                         for size in result.shape(shapes, torch.sym_min, torch.sym_max)]
                results.append(torch.empty(shape, dtype=_DTYPES[result.element], device=device))
        return results if self.count is None else results[0] if self.count < 0 else tuple(results)

    def keep(self, ctx, inputs, output):
        ctx.texts = [None if isinstance(value, torch.Tensor) else value for value in inputs]
        ctx.save_for_backward(*[value if isinstance(value, torch.Tensor) else None for value in inputs])
        outputs = list(output) if isinstance(output, (tuple, list)) else [output]
        ctx.results = [place for place, value in enumerate(outputs) if value.is_floating_point()]
        ctx.zeros = [(value.shape, value.dtype) for value in outputs]

    def backward(self, ctx, *cotangents):
        if self.count is None:
            cotangents = cotangents[0]
        values = [text if tensor is None else tensor for tensor, text in zip(ctx.saved_tensors, ctx.texts)]
        given = tuple(place for place, value in enumerate(values) if value is not None)
        wanted = tuple(place for place in given if ctx.needs_input_grad[place] and values[place].is_floating_point())
        gradients = [None] * len(values)
        if wanted and ctx.results:
            is_single = self.count == -1 or self.count is None and len(cotangents) == 1
            derivative = self.derivative(given, wanted, None if is_single else tuple(ctx.results))
            seeds = [torch.zeros(ctx.zeros[place][0], dtype=ctx.zeros[place][1]) if cotangents[place] is None else cotangents[place]
                     for place in ctx.results]
            found = derivative.op(*[values[place] for place in given], *seeds)
            for place, gradient in zip(wanted, [found] if len(wanted) == 1 else found):
                gradients[place] = gradient
        return tuple(gradients)

    def derivative(self, given, wanted, results):
        with _lock:
            key = given, wanted, results
            if key not in self.derivatives:
                function = frameworks.pullback(self.function, given, wanted, results)
                name = f"{self.name}_vjp{len(self.derivatives) + 1}"
                places = [given.index(place) for place in wanted]
                self.derivatives[key] = _Operator(function, name, frameworks.parameters(function), places)
            return self.derivatives[key]

"""Functions of tl as operators of PyTorch."""
import concurrent.futures
import functools
import hashlib
import threading

import torch

from . import _frameworks as frameworks

if not hasattr(torch.library, "custom_op"):
    raise ImportError(f"tl.torch_op needs PyTorch 2.4 or later, and this is {torch.__version__}")

_DTYPES = {
    "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "u16": torch.uint16, "i32": torch.int32,
    "u32": torch.uint32, "i64": torch.int64, "u64": torch.uint64, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
    "f64": torch.float64, "c64": torch.complex64, "c128": torch.complex128,
}
_operators = {}  # by their names
_lock = threading.RLock()


def _is_differentiable(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def torch_op(function, name=None):
    """An operator of PyTorch that calls a function of tl: under autograd (to any order), torch.compile and torch.export.

    `name` is "namespace::name", or a name in the namespace tl; without, it is made of the function's name and the program's contents.
    PyTorch's caches know operators by their names, so one that is given must change with the program. Tensors are on the CPU; numbers are
    taken too. Arguments that are neither floats nor complex have no gradient. The operator itself is the result's `op`.
    """
    frameworks.check_function(function, "tl.torch_op")
    return TorchFunction(function, name)


class TorchFunction:
    """What torch_op gives: `op` is the operator. It can be pickled, and is made again where it is loaded."""

    def __init__(self, function, name):
        operator = _Operator(function, _qualified(function, name))
        functools.update_wrapper(self, function, assigned=("__name__", "__qualname__", "__doc__"), updated=())
        self.__signature__ = function.__signature__
        self.op = operator.op
        space, _, word = operator.name.partition("::")
        self._overload = getattr(getattr(torch.ops, space), word).default
        self._function, self._name, self._parameters = function, name, operator.parameters
        self._is_list = operator.count is None

    def __call__(self, *args, **kwargs):
        if kwargs or len(args) != len(self._parameters):
            args = frameworks.bind(self._function, self._parameters, args, kwargs)
        result = self._overload(*[value if isinstance(value, torch.Tensor) else _argument(parameter, value)
                                  for parameter, value in zip(self._parameters, args)])
        if self._is_list:
            return result[0] if len(result) == 1 else tuple(result)
        return result

    def __repr__(self):
        return f"<tl.torch_op {self._function!r}>"

    def __reduce__(self):
        return torch_op, (self._function, self._name)

    def __deepcopy__(self, _):  # of a module with it
        return self


def _argument(parameter, value):
    if value is None or parameter.is_text:
        return value
    dtype = _DTYPES.get(parameter.element)
    if isinstance(value, (bool, int, float, torch.SymInt, torch.SymFloat, torch.SymBool)):
        if dtype is None:
            is_float = isinstance(value, (float, torch.SymFloat))
            dtype = torch.float32 if is_float else torch.bool if isinstance(value, (bool, torch.SymBool)) else torch.int64
        elif not (dtype.is_floating_point or dtype.is_complex) and isinstance(value, (float, torch.SymFloat)):
            raise TypeError(f"the argument `{parameter.name}` is {value}, and has to be {parameter.type}")
        return torch.full((), value, dtype=dtype)
    return torch.as_tensor(value, dtype=dtype)


def _qualified(function, name):
    if name is None:
        contents = hashlib.sha256(repr((function.program._origin(), function._expression)).encode()).hexdigest()
        word = function.__name__ if function.__name__.isidentifier() else "function"
        name = f"{word}_{contents[:12]}"
    return name if "::" in name else f"tl::{name}"


def _untraced(call):
    """What the call gives in a thread of its own, where PyTorch traces nothing."""
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(call).result()


def _sample(dtype, rank):
    return torch.empty((1,) * rank, dtype=dtype, device="cpu")


class _Operator:
    def __init__(self, function, name):
        self.function, self.name, self.parameters = function, name, frameworks.parameters(function)
        self.types = {}
        self.derivatives = {}  # functions, by their expressions
        self.count = self.result_count()
        takes = [f"{'str' if each.is_text else 'Tensor'}{'' if each.required else '?'} {each.name}{'_' * (each.name == 'self')}"
                 + ("" if each.required else "=None") for each in self.parameters]
        gives = "Tensor[]" if self.count is None else "Tensor" if self.count < 0 else f"({', '.join(['Tensor'] * self.count)})"
        with _lock:
            self.op = torch.library.custom_op(name, self.run, mutates_args=(), device_types="cpu", schema=f"({', '.join(takes)}) -> {gives}")
            self.op.register_fake(self.fake)
            self.op.register_autograd(self.backward, setup_context=_keep)
            _operators[name] = self

    def result_count(self):
        """-1 for one that is no tuple, None where it is another one for other arguments."""
        declared = frameworks.declared_results(self.function)
        if declared is not None:
            return declared
        if all(each.is_concrete for each in self.parameters):
            types = ["" if each.is_text else (_DTYPES[each.element], each.rank) for each in self.parameters]
            is_tuple, types = self.untraced_types(types)
            return len(types) if is_tuple else -1
        return None

    def bind(self, values):
        args, kwargs = [], {}
        for each in frameworks.given(self.parameters, values):
            if each.by_name is None:
                args.append(values[each.place])
            else:
                kwargs[each.by_name.name] = values[each.place]
        return args, kwargs

    def run(self, *values):
        values = [value.detach() if isinstance(value, torch.Tensor) and value.requires_grad else value for value in values]
        if any(value is None for value in values):
            args, kwargs = self.bind(values)
            result = self.function(*args, **kwargs)
        else:
            result = self.function(*values)
        if not isinstance(result, tuple):
            result = result if isinstance(result, torch.Tensor) else torch.as_tensor(result)  # of no tensor
            return [result] if self.count is None else result
        result = [torch.as_tensor(each) for each in result]
        return result if self.count is None else tuple(result)

    def untraced_types(self, values):
        """result_types for texts, and pairs of an element type and a number of axes."""
        def call():
            args, kwargs = self.bind([_sample(*value) if isinstance(value, tuple) else value for value in values])
            return self.function.result_type(*args, **kwargs)

        return frameworks.result_types(_untraced(call))

    def result_types(self, values):
        key = tuple((value.dtype, value.dim()) if isinstance(value, torch.Tensor) else None if value is None else "" for value in values)
        types = self.types.get(key)
        if types is None:
            types = self.types[key] = self.untraced_types(key)[1]
        return types

    def fake(self, *values):
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        device = tensors[0].device if tensors else "cpu"
        shapes = {each.name: value.shape for each, value in zip(self.parameters, values) if isinstance(value, torch.Tensor)}
        results = []
        for result in self.result_types(values):
            shape = [torch.library.get_ctx().new_dynamic_size() if size is None else size
                     for size in result.shape(shapes, torch.sym_min, torch.sym_max)]
            results.append(torch.empty(shape, dtype=_DTYPES[result.element], device=device))
        return results if self.count is None else results[0] if self.count < 0 else tuple(results)

    def backward(self, ctx, *cotangents):
        if self.count is None:
            cotangents = cotangents[0]
        values = _kept(ctx)
        arguments = frameworks.given(self.parameters, values)
        wanted = [each.place for each in arguments
                  if each.text is None and ctx.needs_input_grad[each.place] and _is_differentiable(values[each.place])]
        gradients = [None] * len(values)
        if wanted and ctx.results:
            is_single = self.count == -1 or self.count is None and len(cotangents) == 1
            expression = frameworks.pullback(self.function._expression, arguments, wanted, None if is_single else ctx.results)
            tensors = [each.place for each in arguments if each.text is None]
            found = _derivative([values[place] for place in tensors] + _seeds(ctx, cotangents), self.name, expression,
                                [tensors.index(place) for place in wanted])
            for place, gradient in zip(wanted, found):
                gradients[place] = gradient
        return tuple(gradients)


def _keep(ctx, inputs, output):
    ctx.others = [None if isinstance(value, torch.Tensor) else value for value in inputs]
    ctx.save_for_backward(*[value if isinstance(value, torch.Tensor) else None for value in inputs])
    _keep_results(ctx, list(output) if isinstance(output, (tuple, list)) else [output])


def _keep_results(ctx, outputs):
    ctx.results = [place for place, value in enumerate(outputs) if _is_differentiable(value)]
    ctx.zeros = [(value.shape, value.dtype) for value in outputs]


def _kept(ctx):
    return [other if tensor is None else tensor for tensor, other in zip(ctx.saved_tensors, ctx.others)]


def _seeds(ctx, cotangents):
    return [torch.zeros(ctx.zeros[place][0], dtype=ctx.zeros[place][1]) if cotangents[place] is None else cotangents[place]
            for place in ctx.results]


# All derivatives are this operator: what PyTorch compiled in another process may call them before this one has traced them.
@torch.library.custom_op("tl::derivative", mutates_args=(), device_types="cpu",
                         schema="(Tensor[] values, str operator, str expression, int[] wanted) -> Tensor[]")
def _derivative(values, operator, expression, wanted):
    """Of an operator: what the function `expression` of its program gives, which has the types of the values at these places."""
    owner = _operators[operator]
    with _lock:
        if expression not in owner.derivatives:
            owner.derivatives[expression] = owner.function.program.function(expression)
        function = owner.derivatives[expression]
    result = function(*[value.detach() for value in values])
    return list(result) if isinstance(result, tuple) else [result]


@_derivative.register_fake
def _(values, operator, expression, wanted):
    return [torch.empty(values[place].shape, dtype=values[place].dtype, device=values[place].device) for place in wanted]


def _keep_derivative(ctx, inputs, output):
    values, ctx.operator, ctx.expression, _ = inputs
    ctx.save_for_backward(*values)
    _keep_results(ctx, output)


def _backward_of_derivative(ctx, cotangents):
    values = ctx.saved_tensors
    arguments = [frameworks.Given(place) for place in range(len(values))]
    wanted = [place for place, value in enumerate(values) if ctx.needs_input_grad[0][place] and _is_differentiable(value)]
    gradients = [None] * len(values)
    if wanted:
        expression = frameworks.pullback(ctx.expression, arguments, wanted, None if len(ctx.zeros) == 1 else ctx.results)
        found = _derivative([*values, *_seeds(ctx, cotangents)], ctx.operator, expression, wanted)
        for place, gradient in zip(wanted, found):
            gradients[place] = gradient
    return gradients, None, None, None


_derivative.register_autograd(_backward_of_derivative, setup_context=_keep_derivative)

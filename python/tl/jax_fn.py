"""Functions of tl inside JAX's."""
import functools
import inspect
import threading

import jax
import jax.numpy as jnp
import numpy as np

from . import _frameworks as frameworks

_DTYPES = {
    "bool": np.dtype(np.bool_), "u8": np.dtype(np.uint8), "i8": np.dtype(np.int8), "i16": np.dtype(np.int16), "u16": np.dtype(np.uint16),
    "i32": np.dtype(np.int32), "u32": np.dtype(np.uint32), "i64": np.dtype(np.int64), "u64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16), "bf16": np.dtype(jnp.bfloat16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
    "c64": np.dtype(np.complex64), "c128": np.dtype(np.complex128),
}

_NAMES = {str(dtype): name for name, dtype in _DTYPES.items()}

# Under vmap one call after the other: older JAX does so unless told otherwise.
_SEQUENTIAL = {"vmap_method": "sequential"} if "vmap_method" in inspect.signature(jax.pure_callback).parameters else {}


def jax_fn(function):
    """A function of JAX's arrays that calls a function of tl: under jit, grad (to any order, reverse mode) and vmap.

    JAX calls back to the host for it. Without JAX's x64, numbers of 64 bits are 32 wide in JAX: arguments are widened where the function's
    parameters say i64, u64, f64 or c128, and results are narrowed. Arguments that are neither floats nor complex have no gradient.
    """
    frameworks.check_function(function, "tl.jax_fn")
    return _jax_fn(_Traced(function, frameworks.parameters(function)))


def _jax_fn(traced):
    function, parameters = traced.function, traced.parameters

    @functools.wraps(function, assigned=("__name__", "__qualname__", "__doc__"), updated=())
    def call(*args, **kwargs):
        values = frameworks.bind(function, parameters, args, kwargs)
        is_array = [value is not None and not parameter.is_text for parameter, value in zip(parameters, values)]
        pattern = tuple(True if array else value for array, value in zip(is_array, values))
        arrays = [_array(parameter, value) for parameter, array, value in zip(parameters, is_array, values) if array]
        return traced.calls(pattern)(*arrays)

    call.__signature__ = function.__signature__
    return call


def _array(parameter, value):
    if isinstance(value, (jax.Array, np.ndarray)):
        return jnp.asarray(value)
    dtype = _DTYPES.get(parameter.element)
    return jnp.asarray(value, None if dtype is None else jax.dtypes.canonicalize_dtype(dtype))


class _Traced:
    """A function of tl, and those of its derivatives that were needed so far."""

    def __init__(self, function, parameters, like=None):
        """`like`: it is a derivative, whose results have the types of the arguments at these places."""
        self.function, self.parameters, self.like = function, parameters, like
        self.made, self.derivatives = {}, {}
        self.lock = threading.RLock()

    def calls(self, pattern):
        """The function of JAX that takes those arguments that are True in the pattern; it has the texts, and None for what is left to its
        default."""
        with self.lock:
            if pattern not in self.made:
                self.made[pattern] = self.make(frameworks.given(self.parameters, pattern))
            return self.made[pattern]

    def make(self, given):
        places = [each.place for each in given if each.text is None]

        def arguments(arrays):
            """As the function of tl takes them."""
            arrays = iter(arrays)
            args, kwargs = [], {}
            for each in given:
                value = next(arrays) if each.text is None else each.text
                if each.by_name is None:
                    args.append(value)
                else:
                    kwargs[each.by_name.name] = value
            return args, kwargs

        def wide(place, array):
            """The element type in which tl gets it."""
            dtype = _DTYPES.get(self.parameters[place].element)
            return dtype if dtype is not None and jax.dtypes.canonicalize_dtype(dtype) == array.dtype else array.dtype

        @functools.cache
        def result_types(kinds):
            args, kwargs = arguments([np.empty((1,) * rank, dtype) for dtype, rank in kinds])
            return frameworks.result_types(self.function.result_type(*args, **kwargs))

        def types(arrays):
            if self.like is not None:
                like = [str(wide(places[at], arrays[at])) for at in self.like]
                return len(like) > 1, [frameworks.Tensor(_NAMES[dtype]) for dtype in like]
            return result_types(tuple((wide(place, array), array.ndim) for place, array in zip(places, arrays)))

        def run(*arrays):
            """On the host, where JAX must not be called."""
            args, kwargs = arguments([np.asarray(array).astype(wide(place, array), copy=False) for place, array in zip(places, arrays)])
            result = self.function(*args, **kwargs)
            if isinstance(result, tuple):
                return tuple(_narrow(each) for each in result)
            return _narrow(result)

        def call(*arrays):
            shapes = {self.parameters[place].name: array.shape for place, array in zip(places, arrays)}
            is_tuple, results = types(arrays)
            specs = []
            for at, result in enumerate(results):
                shape = result.shape(shapes) if self.like is None else arrays[self.like[at]].shape
                if None in shape:
                    raise TypeError(f"a size of {self.function._expression}'s result is known only when it has run, which JAX does not support")
                specs.append(jax.ShapeDtypeStruct(tuple(shape), jax.dtypes.canonicalize_dtype(_DTYPES[result.element])))
            return jax.pure_callback(run, tuple(specs) if is_tuple else specs[0], *arrays, **_SEQUENTIAL)

        def forward(*arrays):
            return traced(*arrays), arrays

        def backward(arrays, cotangents):
            is_tuple, results = types(arrays)
            wanted = [place for place, array in zip(places, arrays) if jnp.issubdtype(array.dtype, jnp.inexact)]
            floats = [place for place, result in enumerate(results) if result.is_differentiable]
            gradients = {}
            if wanted and floats:
                seeds = [cotangents[place] for place in floats] if is_tuple else [cotangents]
                derivative = self.derivative(given, wanted, floats if is_tuple else None, [results[place].element for place in floats])
                # The derivative by a complex number is the conjugate of JAX's.
                found = derivative(*arrays, *map(jnp.conj, seeds))
                gradients = dict(zip(wanted, map(jnp.conj, (found,) if len(wanted) == 1 else found)))
            return tuple(gradients[place] if place in gradients else np.zeros(array.shape, jax.dtypes.float0)
                         if not jnp.issubdtype(array.dtype, jnp.inexact) else jnp.zeros_like(array)
                         for place, array in zip(places, arrays))

        traced = jax.custom_vjp(call)
        traced.defvjp(forward, backward)
        return traced

    def derivative(self, arguments, wanted, results, elements):
        expression = frameworks.pullback(self.function._expression, arguments, wanted, results)
        key = expression, tuple(elements)
        with self.lock:
            if key not in self.derivatives:
                function = self.function.program.function(expression)
                parameters = frameworks.parameters(function)
                tensors = [each.place for each in arguments if each.text is None]
                for parameter, element in zip(parameters, [self.parameters[place].element for place in tensors] + elements):
                    parameter.element = element
                self.derivatives[key] = _jax_fn(_Traced(function, parameters, [tensors.index(place) for place in wanted]))
            return self.derivatives[key]


def _narrow(result):
    array = np.asarray(result)
    return array.astype(jax.dtypes.canonicalize_dtype(array.dtype), copy=False)

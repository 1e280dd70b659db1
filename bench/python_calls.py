#!/usr/bin/env python3
"""What a call from Python costs apart from its work: the sum of two arrays of four numbers by tl, NumPy, PyTorch, JAX and Numba.

python_calls.py [--rounds 31] [--calls 2000] [--tabs]. In each round every candidate is called as often, in another order; what is printed is
the median of the rounds in microseconds a call, and the least. Needs the package tl and NumPy; a peer that is not installed is left out.
--tabs: lines for bench/tables.py --record.
"""
import argparse
import random
import statistics
import time

import numpy as np
import tl


def candidates():
    """By name: a function without arguments that does one call, and what makes sure that it has been done."""
    x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    program = tl.compile("fn add(x: f32[n], y: f32[n]) -> f32[n] = x + y")
    add = program.add
    found = {"NumPy: np.add": lambda: np.add(x, y), "tl, NumPy's arrays": lambda: add(x, y)}
    a, b = tl.tensor(x), tl.tensor(y)
    found["tl, tl.Tensor, waiting"] = lambda: add(a, b).wait()
    found["tl, tl.Tensor, issuing"] = lambda: add(a, b)
    try:
        import numba
    except ImportError:
        pass
    else:
        jitted = numba.njit(lambda x, y: x + y)
        found["Numba: njit"] = lambda: jitted(x, y)
    try:
        import torch
    except ImportError:
        pass
    else:
        # Apart from its work: an operator of one kernel for the CPU, in Python, as PyTorch's tutorial has it.
        @torch.library.custom_op("bench::add", mutates_args=(), device_types="cpu")
        def of_python(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.add(x, y)

        op = tl.torch_op(add)
        s, t = torch.from_numpy(x), torch.from_numpy(y)
        found["PyTorch: torch.add"] = lambda: torch.add(s, t)
        found["PyTorch: torch.library, torch.add"] = lambda: of_python(s, t)
        found["tl, PyTorch's tensors"] = lambda: add(s, t)
        found["tl, tl.torch_op"] = lambda: op(s, t)
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        pass
    else:
        u, v = jnp.asarray(x), jnp.asarray(y)
        whole = jax.jit(lambda x, y: x + y)
        called_back = jax.jit(lambda x, y: jax.pure_callback(lambda x, y: np.add(x, y), jax.ShapeDtypeStruct(x.shape, x.dtype), x, y))
        of_tl = jax.jit(tl.jax_fn(add))
        found["JAX: jit"] = lambda: whole(u, v).block_until_ready()
        found["JAX: jit, pure_callback, np.add"] = lambda: called_back(u, v).block_until_ready()
        found["tl, JAX's arrays"] = lambda: add(u, v)
        found["tl, jit of tl.jax_fn"] = lambda: of_tl(u, v).block_until_ready()
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--tabs", action="store_true")
    options = parser.parse_args()
    found = candidates()
    times = {name: [] for name in found}
    for call in found.values():
        np.testing.assert_array_equal(np.asarray(call()), [1, 2, 3, 4])
        for _ in range(200):
            call()
    order = list(found)
    for _ in range(options.rounds):
        random.shuffle(order)
        for name in order:
            call = found[name]
            calls = options.calls
            begin = time.perf_counter()
            for _ in range(calls):
                result = call()
            if isinstance(result, tl.Tensor):
                result.wait()
            times[name].append((time.perf_counter() - begin) / calls * 1e6)
    for name, all_times in sorted(times.items(), key=lambda item: statistics.median(item[1])):
        median, least = statistics.median(all_times), min(all_times)
        print(f"{name}\tmedian\t{median:.3f}\n{name}\tleast\t{least:.3f}" if options.tabs else f"{name:36} {median:8.2f} µs {least:8.2f} µs")


if __name__ == "__main__":
    main()

# The peers of gpu_check.tl: python3 gpu_check.py torch|compiled|jax [--small] [--calls N]. The same cases on the same sizes with random data, at the
# precision of tl: f32 products without TF32, sums of bf16 products in f32. Lines as gpu_check.tl prints them, and first what runs on what.
import argparse
import sys
import time

options = argparse.ArgumentParser()
options.add_argument("peer", choices=["torch", "compiled", "jax"])
options.add_argument("--small", action="store_true")
options.add_argument("--calls", type=int, default=10)
options = options.parse_args()
small = options.small
n = 1024 if small else 33_554_432
rows = 16 if small else 4096
long = 2048 if small else 67_108_864
side = 32 if small else 4096
half = 32 if small else 6144
tall, wide = (16, 64) if small else (16384, 1024)


def report(name, what, size, call, wait):
    """The time of a call, of so many in a row on two inputs in turn; those before them compile. A case that fails is left out."""
    try:
        for i in (0, 1, 0, 1):
            wait([call(i)])
        start = time.perf_counter()
        wait([call(i % 2) for i in range(options.calls)])
        print(f"{name} {what} {size} {(time.perf_counter() - start) / options.calls:.9f}", flush=True)
    except Exception as error:  # out of memory, or no compiler for torch.compile
        print(f"{options.peer}: {name}: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr)


if options.peer == "jax":
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_default_matmul_precision", "highest")
    if not small and jax.devices()[0].platform != "gpu":
        sys.exit("jax: it has no GPU here")
    print(f"# JAX {jax.__version__} on {jax.devices()[0].device_kind}; f32 products: precision=highest (no TF32)")
    normal = lambda seed, dims, kind=jnp.float32: jax.random.normal(jax.random.key(seed), dims, kind)
    wait = jax.block_until_ready
    call = lambda f: jax.jit(f)
    exp, tanh, sigmoid, softmax = jnp.exp, jnp.tanh, jax.nn.sigmoid, lambda x: jax.nn.softmax(x, axis=-1)
    total, half_type = jnp.sum, jnp.bfloat16
    ones, zeros = jnp.ones, jnp.zeros

    def layer_norm(x, w, b):
        mean = x.mean(axis=1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(axis=1, keepdims=True) + 1e-5) * w + b
else:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not small:
        sys.exit("PyTorch: it has no GPU here")
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    where = torch.cuda.get_device_name() if device == "cuda" else "the CPU"
    how = ", torch.compile" if options.peer == "compiled" else ""
    print(f"# PyTorch {torch.__version__}{how} on {where}; f32 products: TF32 off")

    def normal(seed, dims, kind=torch.float32):
        generator = torch.Generator(device).manual_seed(seed)
        return torch.randn(dims, generator=generator, device=device, dtype=torch.float32).to(kind)

    def wait(results):
        if device == "cuda":
            torch.cuda.synchronize()

    call = torch.compile if options.peer == "compiled" else lambda f: f
    exp, tanh, sigmoid, softmax = torch.exp, torch.tanh, torch.sigmoid, lambda x: torch.softmax(x, dim=-1)
    total, half_type = torch.sum, torch.bfloat16
    ones, zeros = lambda d: torch.ones(d, device=device), lambda d: torch.zeros(d, device=device)
    torch.set_grad_enabled(False)

    def layer_norm(x, w, b):
        return torch.nn.functional.layer_norm(x, (wide,), w, b)


def case(name, what, size, dims, f, kind=None):
    x = [normal(seed, dims, *([kind] if kind else [])) for seed in (1, 2)]
    g = call(f)
    report(name, what, size, lambda i: g(x[i], x[1 - i]), wait)


case("chain", f"{n}", 8 * n, (n,), lambda x, _: tanh(x) * sigmoid(x) + exp(-x * x))
case("softmax", f"{rows}x{rows}", 8 * rows * rows, (rows, rows), lambda x, _: softmax(x))
case("sum", f"{long}", 4 * long, (long,), lambda x, _: total(x))
if options.peer != "compiled":  # the same libraries
    case("matmul_f32", f"{side}x{side}", 12 * side * side, (side, side), lambda x, y: x @ y)
    case("matmul_bf16", f"{half}x{half}", 6 * half * half, (half, half), lambda x, y: x @ y, half_type)
weight, bias = ones((wide,)), zeros((wide,))
case("layer_norm", f"{tall}x{wide}", 8 * tall * wide, (tall, wide), lambda x, _: layer_norm(x, weight, bias))

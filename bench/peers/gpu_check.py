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

size = side * side
flat = [normal(seed, (size,)) for seed in (1, 2)]
square = [x.reshape(side, side) for x in flat]
rows64 = [x.reshape(size // 64, 64) for x in flat]
many = size // 16
images, edge = (2, 4) if small else (64, 56)


def on(name, what, bytes, x, f, *more):
    g = call(f)
    report(name, what, bytes, lambda i: g(x[i], *more), wait)


if options.peer == "jax":
    at = jax.random.randint(jax.random.key(3), (many,), 0, many)
    places = jax.random.randint(jax.random.key(4), (size // 64,), 0, size // 64)
    transposed = lambda x: jnp.transpose(x) + 1.0
    sorted_ = jnp.sort
    scatter = lambda x, at: jnp.zeros((len(at), *x.shape[1:]), x.dtype).at[at].add(x)
    draw = jax.jit(lambda seed: jax.random.normal(jax.random.key(seed), (size,)))
    conv = lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", precision="highest")
    argmax, cumsum, column_sum = (lambda x: jnp.argmax(x, 1)), jnp.cumsum, lambda x: jnp.sum(x, 0)
    row_cumsum = lambda x: jnp.cumsum(x, 1)
else:
    at = torch.randint(0, many, (many,), device=device)
    places = torch.randint(0, size // 64, (size // 64,), device=device)
    transposed = lambda x: (x.t() + 1.0).contiguous()  # a sum alone keeps the order in memory
    sorted_ = lambda x: torch.sort(x).values
    scatter = lambda x, at: torch.zeros((len(at), *x.shape[1:]), device=device).index_add_(0, at, x)
    draw = lambda seed: torch.randn(size, device=device)
    conv = lambda x, w: torch.nn.functional.conv2d(x, w, padding=1)
    argmax, cumsum, column_sum = (lambda x: x.argmax(1)), (lambda x: x.cumsum(0)), lambda x: x.sum(0)
    row_cumsum = lambda x: x.cumsum(1)
on("column_sum", f"{side}x{side}", 4 * size, square, column_sum)
on("row_argmax", f"{side}x{side}", 4 * size, square, argmax)
on("transpose", f"{side}x{side}", 8 * size, square, transposed)
on("softmax_64", f"{size // 64}x64", 8 * size, rows64, softmax)
on("cumsum", f"{size}", 8 * size, flat, cumsum)
on("row_cumsum", f"{side}x{side}", 8 * size, square, row_cumsum)
if options.peer != "compiled":
    report("normal", f"{size}", 4 * size, draw, wait)
    on("sort", f"{size}", 8 * size, flat, sorted_)
on("gather", f"{size // 64}x64", 8 * size, rows64, lambda x, p: x[p], places)
on("scatter", f"{many}", 12 * many, [x[:many] for x in flat], scatter, at)
on("scatter_64", f"{size // 64}x64", 12 * size, rows64, scatter, places)
pictures = [normal(seed, (images, 64, edge, edge)) for seed in (1, 2)]
on("conv2d", f"{images}x64x{edge}x{edge}", 8 * images * 64 * edge * edge, pictures, conv, normal(5, (64, 64, 3, 3)))

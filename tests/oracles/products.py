"""Matrix products on an emulated card against NumPy in f64, and by tl's own kernel against the CPU bit for bit.

All float types; operands as they are, transposed, sliced, in batches; products with epilogues, of vectors, of nothing, and gradients. `--stats` must say
that the library computed them, and which it left.
"""
import os
import re

import numpy as np

# Of each product: its name, the program's words, NumPy's, and that of the magnitudes that its terms have.
PRODUCTS = [
    ("as they are", "a @ b", lambda x: x.a @ x.b),
    ("left transposed", "transpose(at) @ b", lambda x: x.at.T @ x.b),
    ("right transposed", "a @ transpose(bt)", lambda x: x.a @ x.bt.T),
    ("both transposed", "transpose(at) @ transpose(bt)", lambda x: x.at.T @ x.bt.T),
    ("result transposed", "transpose(a @ b)", lambda x: (x.a @ x.b).T),
    ("odd corners", "a[1:, 1:] @ b[1:, 1:]", lambda x: x.a[1:, 1:] @ x.b[1:, 1:]),
    ("every other row", "a[::2] @ b", lambda x: x.a[::2] @ x.b),
    ("every other column", "a[:, ::2] @ b[::2]", lambda x: x.a[:, ::2] @ x.b[::2]),
    ("reversed", "a[::-1] @ b", lambda x: x.a[::-1] @ x.b),
    ("a batch", "p @ q", lambda x: x.p @ x.q),
    ("a batch, transposed", 'einsum("lki,lkj->lij", pt, q)', lambda x: np.einsum("lki,lkj->lij", x.pt, x.q)),
    ("a batch by one matrix", "p @ b", lambda x: x.p @ x.b),
    ("one matrix by a batch", 'einsum("ik,lkj->lij", a, q)', lambda x: np.einsum("ik,lkj->lij", x.a, x.q)),
    ("part of a batch", "p[1] @ q[1]", lambda x: x.p[1] @ x.q[1]),
    ("a comprehension", "[sum(a[i, c] * bt[j, c] for c) for i, j]", lambda x: x.a @ x.bt.T),
    ("with bias", "a @ b + bias", lambda x: x.a @ x.b + x.bias),
    ("with bias and relu", "relu(a @ b + bias)", lambda x: np.maximum(x.a @ x.b + x.bias, 0)),
    ("scaled and added", "(a @ b) * 0.5 + c", lambda x: (x.a @ x.b) * 0.5 + x.c),
    ("of a batch with bias", "relu(p @ b + bias)", lambda x: np.maximum(x.p @ x.b + x.bias, 0)),
    ("to whole numbers", "f32(i32((a @ b) * 8.0))", None),
    ("matrix by vector", "a @ v", lambda x: x.a @ x.v),
    ("transposed matrix by vector", "transpose(at) @ v", lambda x: x.at.T @ x.v),
    ("vector by matrix", "v @ b", lambda x: x.v @ x.b),
    ("vector by transposed matrix", "v @ transpose(bt)", lambda x: x.v @ x.bt.T),
    ("two vectors", "f32(v @ v) + zeros([1])", lambda x: (x.v @ x.v).reshape(1)),
    ("column by row", "reshape(v, [k, 1]) @ reshape(v, [1, k])", lambda x: np.outer(x.v, x.v)),
    ("gradient by the left", "grad(|w| sum((w @ b) * c))(a)", lambda x: x.c @ x.b.T),
    ("gradient by the right", "grad(|w| sum((a @ w) * c))(b)", lambda x: x.a.T @ x.c),
    ("gradient of a layer", "grad(|w| sum(tanh(a @ w) * c))(b)", lambda x: x.a.T @ (x.c * (1 - np.tanh(x.a @ x.b)**2))),
]
EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
LEFT = 3  # "every other column", whose strides are both more than 1, "reversed", and "one matrix by a batch", which has no batches itself
SIZES = [dict(l=3, m=5, n=7, k=19), dict(l=2, m=33, n=64, k=130), dict(l=2, m=1, n=1, k=40), dict(l=2, m=8, n=16, k=1)]
EMPTY = [dict(l=2, m=0, n=3, k=4), dict(l=2, m=3, n=0, k=4), dict(l=2, m=3, n=4, k=0), dict(l=0, m=3, n=4, k=5)]


class Operands:
    """Numbers that every type holds: of 8 bits."""

    def __init__(self, seed, l, m, n, k):
        random = np.random.default_rng(seed)
        shapes = dict(a=(m, k), at=(k, m), b=(k, n), bt=(n, k), c=(m, n), p=(l, m, k), pt=(l, k, m), q=(l, k, n),
                      bias=(n,), v=(k,))
        for name, shape in shapes.items():
            setattr(self, name, random.integers(-128, 129, shape) / 128.0)
        self.names = list(shapes)


def program(dtype, products):
    """Loads all operands, computes and saves all products."""
    shapes = dict(a="m, k", at="k, m", b="k, n", bt="n, k", c="m, n", p="l, m, k", pt="l, k, m", q="l, k, n", bias="n",
                  v="k")
    lines = ["fn main(" + ", ".join(f"{name}0: f32[{shape}]" for name, shape in shapes.items()) + ") {"]
    lines += [f"  let {name} = {dtype}({name}0)" for name in shapes]
    for number, (_, words, _) in enumerate(products):
        to = "f64" if dtype == "f64" else "f32"
        lines.append(f'  save("{number}.npy", {to}({words}))')
    return "\n".join(lines + ["}", ""])


class Runner:
    def __init__(self, oracle):
        self.oracle, self.check = oracle, oracle.check

    def operands(self, seed, **sizes):
        return Operands(self.oracle.seed + seed, **sizes)

    def run(self, text, operands, *flags):
        """What the program saves, by number, and what --stats says."""
        with self.oracle.folder() as folder:
            for name in operands.names:
                np.save(f"{folder}/{name}0.npy", getattr(operands, name).astype(np.float32))
            files = [f"{name}0.npy" for name in operands.names]
            ran = self.oracle.run(folder, text, ["--stats", *flags], files, timeout=300)
            if ran.returncode:
                print(ran.stderr[:2000])
                return None, ""
            saved = [file for file in os.listdir(folder) if re.fullmatch(r"\d+\.npy", file)]
            return {int(file[:-4]): np.load(f"{folder}/{file}") for file in saved}, ran.stderr

    def products(self, stats):
        """All of them, and those by the library."""
        found = re.search(r"  products there +(\d+) \((\d+) by cuBLASLt\)", stats)
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def one(self, dtype, seed, sizes, flags, left):
        """`left`: how many products the library leaves to tl's kernel; None: any number of them."""
        products = [p for p in PRODUCTS if p[2] is not None or dtype == "f32"]
        if min(sizes.values()) < 2: # parts of what there is not
            products = [p for p in products if p[0] not in ("odd corners", "every other column", "part of a batch")]
        text, operands = program(dtype, products), self.operands(seed, **sizes)
        what = f"{dtype} {sizes} {' '.join(flags)}"
        made, stats = self.run(text, operands, "--device", "gpu-emu", *flags)
        self.check(made is not None and len(made) == len(products), what)
        if made is None:
            return
        magnitude = 1 + sizes["k"]
        for number, (name, words, oracle) in enumerate(products):
            if oracle is None:
                continue
            expected, found = oracle(operands), made.get(number)
            if found is None or found.shape != expected.shape:
                self.check(False, f"{what}: {name}: shape")
                continue
            # Terms are at most 1: sums of k of them are at most k, and go through several operations of the type.
            bound = 8 * EPSILON[dtype] * magnitude * (4 if "gradient" in name else 1)
            error = float(np.max(np.abs(found - expected), initial=0))
            self.check(error <= bound, f"{what}: {name}: off by {error}, {bound} allowed")
        total, by_library = self.products(stats)
        if left is not None:
            self.check(total > 0 and total - by_library == left, f"{what}: {by_library} of {total} by the library")

    def exact(self, dtype, seed, sizes):
        """By tl's kernel: no product by the library, and the bits of the CPU."""
        products = [p for p in PRODUCTS if p[2] is not None or dtype == "f32"]
        text, operands = program(dtype, products), self.operands(seed, **sizes)
        on_cpu, _ = self.run(text, operands)
        exact, stats = self.run(text, operands, "--device", "gpu-emu", "--exact-products")
        self.check(on_cpu and exact and all(on_cpu[k].tobytes() == exact[k].tobytes() for k in on_cpu),
                   f"{dtype}: exact products are those of the CPU")
        total, by_library = self.products(stats)
        self.check(total > 0 and by_library == 0, f"{dtype}: {by_library} of {total} exact products by the library")

    def tf32(self):
        operands = self.operands(9, l=1, m=8, n=8, k=64)
        operands.a = operands.a / 3  # which has more bits than TF32
        text = program("f32", [("", "a @ b", None)])
        made = [self.run(text, operands, "--device", "gpu-emu", *flags)[0] for flags in ([], ["--tf32"])]
        if not all(made):
            self.check(False, "TF32")
            return
        made = [saved[0] for saved in made]
        error = [float(np.max(np.abs(x - operands.a @ operands.b))) for x in made]
        self.check(error[0] < 1e-4 and 1e-5 < error[1] < 0.05, f"TF32: errors of {error}")


SEED = 0


def run(oracle):
    runner = Runner(oracle)
    for seed, sizes in enumerate(SIZES):
        for dtype in EPSILON if seed < 2 else ["f32"]:
            runner.one(dtype, seed, sizes, [], LEFT if min(sizes.values()) > 1 else None)
    for sizes in EMPTY:
        runner.one("f32", 5, sizes, [], None)
    for seed in ("3", "8"):  # with which the library does without some products
        runner.one("f32", 6, SIZES[0], ["--schedule-seed", seed], None)
    for dtype in ("f32", "bf16"):
        runner.exact(dtype, 7, SIZES[0])
    runner.tf32()

#!/usr/bin/env python3
"""Everyday operations on random layouts beside NumPy and PyTorch, each result compared: what is fast only where somebody looked shows here.

    bench/layouts.py --tl build/tl [--set layouts|operations] [--seed S] [--cases N] [--threads 1,2] [--rounds 2] [--only WORD] [--values FILE] [--keep FOLDER]

A case is an operation, a shape that is not round, and a type, drawn from the seed. The time of a case is the shortest of several calls in one
process, and of `rounds` rounds of all sides in turn; the ratio is the better peer's time over tl's, so above 1 tl is faster. Without PyTorch
NumPy is the only peer. A result that differs ends with exit code 1. The set `layouts` has reductions, products, permutations and the like over any
axes, `operations` the rest of what users do all day (bench/operations.py).
"""
import argparse
import math
import os
import random
import subprocess
import sys
import tempfile

import numpy as np

import operations
from drawing import axes_text, elements_of, floating, shape_of, uneven

BATCH = 10  # cases of one process
BUDGET = 0.12  # seconds of calls of one case in one process


class Case:
    def __init__(self, number, kind, name, tl, numpy, torch, inputs):
        self.number, self.kind, self.name = number, kind, name
        self.tl, self.numpy, self.torch = tl, numpy, torch  # expressions over x and y; numpy may be None
        self.inputs = [part[:4] for part in inputs]  # (name, type, shape, how)
        self.sizes = {part[0]: part[4] for part in inputs if len(part) > 4}  # names of an input's sizes, where the operation wants some equal


def draw_reduce(rng):
    op = rng.choice(["sum", "sum", "mean", "mean", "max", "min", "std"])
    rank = rng.randint(2, 4)
    shape = shape_of(rng, rank, elements_of(rng))
    axes = sorted(rng.sample(range(rank), rng.randint(1, rank - 1)))
    dtype = floating(rng)
    where = tuple(axes)
    torch = {"sum": f"x.sum({where})", "mean": f"x.mean({where})", "max": f"torch.amax(x, {where})", "min": f"torch.amin(x, {where})",
             "std": f"torch.std(x, {where}, unbiased=False)"}[op]
    return f"{op} over {axes_text(axes)}", f"{op}(x, axis = {axes_text(axes)})", f"np.{op}(x, {where})", torch, [("x", dtype, shape, "normal")]


def draw_einsum(rng):
    """Two factors whose labels stand in any order: each label is batch, row, column or summed."""
    groups = [rng.choice([0, 0, 1]), rng.choice([0, 1, 1, 2]), rng.choice([0, 1, 1, 2]), rng.choice([1, 1, 1, 2])]
    labels = "abcdefg"[: sum(groups)]
    batch, rows, columns, summed = (labels[sum(groups[:i]): sum(groups[: i + 1])] for i in range(4))
    work = uneven(rng, 2e6, 4e8)
    sizes = dict(zip(labels, shape_of(rng, len(labels), work)))

    def mixed(text):
        letters = list(text)
        rng.shuffle(letters)
        return "".join(letters)

    left, right, out = mixed(batch + rows + summed), mixed(batch + columns + summed), mixed(batch + rows + columns)
    a, b = (tuple(sizes[c] for c in side) for side in (left, right))
    if max(math.prod(a), math.prod(b), math.prod(sizes[c] for c in out)) > 4e6:
        return draw_einsum(rng)
    equation = f"{left},{right}->{out}"
    dtype = floating(rng)
    return equation, f'einsum("{equation}", x, y)', f'np.einsum("{equation}", x, y, optimize=True)', f'torch.einsum("{equation}", x, y)', [
        (name, dtype, shape, "normal", [f"n{label}" for label in side]) for name, shape, side in (("x", a, left), ("y", b, right))]


def draw_permute(rng):
    rank = rng.randint(2, 5)
    shape = shape_of(rng, rank, elements_of(rng))
    axes = list(range(rank))
    while axes == sorted(axes):
        rng.shuffle(axes)
    scaled = rng.random() < 0.3
    text = f"permute(x, {axes})"
    dtype = rng.choice(["f32", "f32", "f32", "f64", "i32", "u8"])
    if scaled and dtype[0] == "f":
        return f"permute {axes}, scaled", f"{text} * 1.5", f"np.multiply(x.transpose({axes}), x.dtype.type(1.5), order='C')", f"(x.permute({axes}) * 1.5).contiguous()", [("x", dtype, shape, "normal")]
    copy = " + 0" if dtype[0] != "f" else " + 0.0"
    return f"permute {axes}", text + copy, f"np.ascontiguousarray(x.transpose({axes}))", f"x.permute({axes}).contiguous()", [("x", dtype, shape, "normal")]


def draw_broadcast(rng):
    rank = rng.randint(2, 4)
    shape = shape_of(rng, rank, elements_of(rng))
    some = rng.sample(range(rank), rng.randint(1, rank - 1))
    other = tuple(1 if i in some else n for i, n in enumerate(shape))
    dtype = floating(rng)
    form = rng.choice(["x + y", "x * y", "x - y", "x / y"])
    if rng.random() < 0.3:  # an outer form: neither has all axes
        mine = tuple(1 if i not in some else n for i, n in enumerate(shape))
        return f"outer {form}", form, form, form, [("x", dtype, mine, "normal"), ("y", dtype, other, "positive")]
    return form, form, form, form, [("x", dtype, shape, "normal"), ("y", dtype, other, "positive")]


def draw_scan(rng):
    rank = rng.randint(1, 4)
    shape = shape_of(rng, rank, elements_of(rng))
    axis = rng.randrange(rank)
    dtype = floating(rng)
    if rng.random() < 0.3:
        return (f"cummax along {axis}", f"cummax(x, axis = {axis})", f"np.maximum.accumulate(x, {axis})", f"torch.cummax(x, {axis})[0]",
                [("x", dtype, shape, "normal")])
    return f"cumsum along {axis}", f"cumsum(x, axis = {axis})", f"np.cumsum(x, {axis})", f"torch.cumsum(x, {axis})", [("x", dtype, shape, "normal")]


def draw_argmax(rng):
    rank = rng.randint(2, 4)
    shape = shape_of(rng, rank, elements_of(rng))
    axis, op = rng.randrange(rank), rng.choice(["argmax", "argmin"])
    return f"{op} along {axis}", f"{op}(x, axis = {axis})", f"np.{op}(x, {axis})", f"torch.{op}(x, {axis})", [("x", floating(rng), shape, "normal")]


def draw_softmax(rng):
    rank = rng.randint(2, 4)
    shape = shape_of(rng, rank, elements_of(rng))
    axis = rng.randrange(rank)
    e = f"np.exp(x - x.max({axis}, keepdims=True))"
    return (f"softmax along {axis}", f"softmax(x, axis = {axis})", f"(lambda e: e / e.sum({axis}, keepdims=True))({e})", f"torch.softmax(x, {axis})",
            [("x", floating(rng), shape, "normal")])


def draw_norm(rng):
    rank = rng.randint(2, 4)
    shape = shape_of(rng, rank, elements_of(rng))
    axes = sorted(rng.sample(range(rank), rng.randint(1, rank - 1)))
    w = tuple(axes)
    form = f"(lambda c: c / np.sqrt((c * c).mean({w}, keepdims=True) + x.dtype.type(1e-5)))(x - x.mean({w}, keepdims=True))"
    other = f"(lambda c: c / torch.sqrt((c * c).mean({w}, keepdim=True) + 1e-5))(x - x.mean({w}, keepdim=True))"
    text = (f"(|c| c / sqrt(mean(c * c, axis = {axes_text(axes)}, keep = true) + 1e-5))"
            f"(x - mean(x, axis = {axes_text(axes)}, keep = true))")
    return f"normalized over {axes_text(axes)}", text, form, other, [("x", floating(rng), shape, "normal")]


def draw_sort(rng):
    rank = rng.randint(1, 3)
    shape = shape_of(rng, rank, uneven(rng, 1e5, 1e6))
    axis = rng.randrange(rank)
    dtype = rng.choice(["f32", "f32", "f64", "i32"])
    if rng.random() < 0.3:
        return (f"argsort along {axis}", f"argsort(x, axis = {axis})", f"np.argsort(x, {axis}, kind='stable')",
                f"torch.sort(x, stable=True, dim={axis})[1]", [("x", dtype, shape, "normal")])
    return f"sort along {axis}", f"sort(x, axis = {axis})", f"np.sort(x, {axis})", f"torch.sort(x, {axis})[0]", [("x", dtype, shape, "normal")]


def draw_gather(rng):
    rank = rng.randint(1, 3)
    shape = shape_of(rng, rank, elements_of(rng))
    axis = rng.randrange(rank)
    count = max(1, round(shape[axis] * rng.uniform(0.4, 1.6)))
    index = ", ".join([":"] * axis + ["y"])
    inputs = [("x", floating(rng), shape, "normal"), ("y", "i64", (count,), f"below {shape[axis]}", ["count"])]
    return f"taken along {axis}", f"x[{index}]", f"np.take(x, y, {axis})", f"torch.index_select(x, {axis}, y)", inputs


def draw_window(rng):
    rank = rng.randint(1, 3)
    shape = shape_of(rng, rank, elements_of(rng), 5)
    axis = rng.randrange(rank)
    width = rng.randint(2, 4)
    before = ":, " * axis
    parts = [f"x[{before}{k or ''}:{k + 1 - width or ''}]" for k in range(width)]
    if rng.random() < 0.5:
        form = " + ".join(parts)
    else:
        form = " * 0.25 + ".join(parts)
    return f"window of {width} along {axis}", form, form.replace("0.25", "x.dtype.type(0.25)"), form, [("x", floating(rng), shape, "normal")]


SETS = {
    "layouts": {
        "reduce": (draw_reduce, 26), "einsum": (draw_einsum, 24), "permute": (draw_permute, 10), "broadcast": (draw_broadcast, 10), "scan": (draw_scan, 8),
        "argmax": (draw_argmax, 6), "softmax": (draw_softmax, 8), "sort": (draw_sort, 6), "gather": (draw_gather, 6), "window": (draw_window, 10),
        "norm": (draw_norm, 6),
    },
    "operations": operations.KINDS,
}


def draw(seed, count, kinds, only=None):
    rng = random.Random(seed)
    names, weights = list(kinds), [weight for _, weight in kinds.values()]
    cases = []
    for number in range(count):
        kind = rng.choices(names, weights)[0]
        case = Case(number, kind, *kinds[kind][0](rng))
        if not only or only in kind or only in case.name or only == str(number):
            cases.append(case)
    return cases


NUMPY = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "u8": np.uint8}


def data(case, folder, seed):
    generator = np.random.default_rng([seed, case.number])
    for name, dtype, shape, how in case.inputs:
        if "below " in how:
            values = generator.integers(1 if how.startswith("from 1 ") else 0, int(how.split()[-1]), shape)
        elif dtype[0] in "iu":
            values = generator.integers(0, 200, shape)
        else:
            values = generator.standard_normal(shape)
            if how == "positive":
                values = np.abs(values) + 0.5
        np.save(f"{folder}/{case.number}.{name}.npy", values.astype(NUMPY[dtype]))


MEASURE = """## Written by bench/layouts.py.

import nn

fn measure(number: i64, f, x, y) {
  var best = f64(inf)
  var spent = f64(0.0)
  var calls = 0
  while calls < 3 or (spent < BUDGET and calls < 1000) {
    let start = time()
    let result = wait(f(x, y))
    let took = time() - start
    if calls == 0 { save("FOLDER/{number}.tl.npy", result) }
    best = min(best, took)
    spent += took
    calls += 1
  }
  print("{number} {best * 1e3:.9f}")
}

"""


def sizes_of(case, name, shape):
    """Names of an input's sizes: unknown when compiling, and equal where the operation wants it."""
    names = case.sizes.get(name, [f"n{i}" for i in range(len(shape))])
    return ["1" if n == 1 else text for n, text in zip(shape, names)]


def program(cases, folder):
    text = MEASURE.replace("FOLDER", folder).replace("BUDGET", str(BUDGET))
    for case in cases:
        lines = []
        for name, dtype, shape, _ in case.inputs:
            sizes = ", ".join(sizes_of(case, name, shape))
            lines.append(f'  let {name}: {dtype}[{sizes}] = load("{folder}/{case.number}.{name}.npy")')
        names = [name for name, *_ in case.inputs]
        arguments = names + ["0"] * (2 - len(names))
        lines.append(f"  measure({case.number}, |x, y| {case.tl}, {', '.join(arguments)})")
        text += f"fn case{case.number}() {{\n" + "\n".join(lines) + "\n}\n\n"
    text += "fn main() {\n" + "".join(f"  case{case.number}()\n" for case in cases) + "}\n"
    return text


def run_tl(tl, cases, folder, threads):
    """Times by number; what fails is tried alone, so that one case takes no others along."""
    path = f"{folder}/cases.tl"
    with open(path, "w") as file:
        file.write(program(cases, folder))
    done = subprocess.run([tl, "run", "--threads", str(threads), path], capture_output=True, text=True)
    shortest = 1e-5  # ms: what takes no time at all, as a tensor tiled once
    times = {int(line.split()[0]): max(float(line.split()[1]), shortest) for line in done.stdout.splitlines()}
    if done.returncode != 0 and len(cases) > 1:
        for case in cases:
            if case.number not in times:
                times.update(run_tl(tl, [case], folder, threads))
    elif done.returncode != 0:
        print(f"case {cases[0].number} {cases[0].name}: exit code {done.returncode}\n{done.stderr}", file=sys.stderr)
    return times


PEER = r'''
import sys, time
import numpy as np
library, folder, threads, budget = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
torch = None
if library == "torch":
    import torch
    torch.set_num_threads(threads)
for line in sys.stdin:
    number, names, expression = line.rstrip("\n").split("|", 2)
    values = {name: np.load(f"{folder}/{number}.{name}.npy") for name in names.split()}
    if torch:
        values = {name: torch.from_numpy(value) for name, value in values.items()}
    f = eval("lambda " + ", ".join(values) + ": " + expression, {"np": np, "torch": torch})
    first = f(**values)
    np.save(f"{folder}/{number}.{library}.npy", np.asarray(first))
    best, spent, calls = 1e9, 0.0, 0
    while calls < 3 or (spent < budget and calls < 1000):
        start = time.perf_counter()
        f(**values)
        took = time.perf_counter() - start
        best, spent, calls = min(best, took), spent + took, calls + 1
    print(number, best * 1e3)
'''


def run_peer(library, cases, folder, threads):
    lines = "".join(f"{case.number}|{' '.join(n for n, *_ in case.inputs)}|{text}\n" for case in cases if (text := getattr(case, library)))
    environment = dict(os.environ, OPENBLAS_NUM_THREADS=str(threads), OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
    done = subprocess.run([sys.executable, "-c", PEER, library, folder, str(threads), str(BUDGET)], input=lines, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"layouts: {library}: {done.stderr}")
    return {int(line.split()[0]): float(line.split()[1]) for line in done.stdout.splitlines()}


def differs(case, folder):
    """Where tl's result is not the oracle's, what is wrong with it; else nothing."""
    if not os.path.exists(f"{folder}/{case.number}.tl.npy"):
        return "no result"
    oracle = "numpy" if case.numpy else "torch"
    ours, theirs = np.load(f"{folder}/{case.number}.tl.npy"), np.load(f"{folder}/{case.number}.{oracle}.npy")
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, not {theirs.shape}"
    tolerance = 1e-10 if theirs.dtype == np.float64 else 2e-4
    scale = float(np.max(np.abs(theirs.astype(np.float64)))) if theirs.size else 1.0
    far = float(np.max(np.abs(ours.astype(np.float64) - theirs.astype(np.float64)))) if theirs.size else 0.0
    return f"differs by {far:.3g} of {scale:.3g}" if not far <= tolerance * max(scale, 1e-30) else None


def summary(ratios):
    values = sorted(ratios)
    return {
        "cases": len(values),
        "geometric mean": math.exp(sum(map(math.log, values)) / len(values)),
        "below 0.9": sum(v < 0.9 for v in values) / len(values),
        "below 0.5": sum(v < 0.5 for v in values) / len(values),
        "worst": values[0],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tl", default="build/tl")
    parser.add_argument("--set", choices=SETS, default="layouts")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10 ** 6))
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", help="kinds, names or a number that contain this")
    parser.add_argument("--worst", type=int, default=20)
    parser.add_argument("--values", help="a file for the summary: row, column, value")
    parser.add_argument("--keep", help="a folder for the programs and their data")
    options = parser.parse_args()
    cases = draw(options.seed, options.cases, SETS[options.set], options.only)
    if not cases:
        raise SystemExit(f"layouts: no case of seed {options.seed} matches '{options.only}'")
    libraries = ["numpy"]
    if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode == 0:
        libraries.append("torch")
    cases = [case for case in cases if any(getattr(case, side) for side in libraries)]
    print(f"{options.set}, seed {options.seed}, {len(cases)} cases, beside {' and '.join(libraries)}", flush=True)
    wrong, figures = [], {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        os.makedirs(folder, exist_ok=True)
        thread_counts = [int(t) for t in options.threads.split(",")]
        times = {(t, side): {} for t in thread_counts for side in ["tl"] + libraries}
        for start in range(0, len(cases), BATCH):
            batch = cases[start: start + BATCH]
            for case in batch:
                data(case, folder, options.seed)
            for threads in thread_counts:
                for _ in range(options.rounds):
                    for side in ["tl"] + libraries:
                        found = run_tl(options.tl, batch, folder, threads) if side == "tl" else run_peer(side, batch, folder, threads)
                        best = times[threads, side]
                        for number, value in found.items():
                            best[number] = min(value, best.get(number, math.inf))
                wrong += [(case, threads, fault) for case in batch if (fault := differs(case, folder))]
            for case in batch:
                if not options.keep:
                    for name in os.listdir(folder):
                        if name.startswith(f"{case.number}."):
                            os.unlink(f"{folder}/{name}")
    for threads in thread_counts:
        rows = []
        for case in cases:
            ours = times[threads, "tl"].get(case.number)
            theirs = {side: found for side in libraries if (found := times[threads, side].get(case.number))}
            if ours is not None:
                rows.append((min(theirs.values()) / ours, case, ours, theirs))
        rows.sort(key=lambda row: row[0])
        total = summary([row[0] for row in rows])
        by_kind = {kind: summary([r[0] for r in rows if r[1].kind == kind]) for kind in SETS[options.set] if any(r[1].kind == kind for r in rows)}
        figures[threads] = {"all": total, "kinds": by_kind}
        print(f"\n{threads} thread(s): geometric mean {total['geometric mean']:.2f}, {total['below 0.9']:.0%} below 0.9, "
              f"{total['below 0.5']:.0%} below 0.5")
        for kind, part in by_kind.items():
            print(f"  {kind:<10} {part['cases']:>4} cases  {part['geometric mean']:>6.2f}  {part['below 0.9']:>5.0%} below 0.9  worst {part['worst']:.2f}")
        print(f"  {'best/tl':>7}  {'tl ms':>9}  " + "".join(f"{side + ' ms':>10}" for side in libraries))
        for ratio, case, ours, theirs in rows[: options.worst]:
            shapes = ", ".join(f"{dtype}{list(shape)}" for _, dtype, shape, _ in case.inputs)
            print(f"  {ratio:7.2f}  {ours:9.3f}  " + "".join(f"{theirs.get(side, math.nan):10.3f}" for side in libraries) + f"  #{case.number} {case.name}  {shapes}")
    if options.values:
        with open(options.values, "w") as file:
            for kind in [*figures[thread_counts[0]]["kinds"], "all"]:
                for number, threads in enumerate(thread_counts):
                    part = figures[threads]["kinds"].get(kind) or figures[threads]["all"]
                    if number == 0:
                        file.write(f"{kind}\tcases\t{part['cases']}\n")
                    for column, value in (("mean", part["geometric mean"]), ("below 0.9", part["below 0.9"]), ("below 0.5", part["below 0.5"])):
                        file.write(f"{kind}\t{threads} {column}\t{value:.4f}\n")
    for case, threads, fault in wrong:
        print(f"WRONG #{case.number} {case.name} ({case.inputs}), {threads} thread(s): {fault}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""sort, argsort, topk and unique against NumPy's stable sorts, bit for bit: all element types, lengths on both sides of where the method
changes, patterns that are hard for one method or another.

Programs read and write .npz files; each runs with one thread, with two, and (short rows) by the interpreter. `card_sorting` runs them on an
emulated card.
"""
import os

import numpy as np

TYPES = ["bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64"]
NUMPY = {"bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32,
         "i64": np.int64, "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64}
SHORT = [(0,), (1,), (2,), (12,), (13,), (31,), (32,), (33,), (64,), (127,), (128,), (129,), (255,), (257,), (1000,), (2047,), (2048,),
         (2049,), (3, 0), (0, 3), (7, 40), (5, 129), (40, 33), (17, 128), (9, 63), (300, 3), (11, 2)]
LONG = [(4096,), (4097,), (32768,), (32769,), (65537,), (200_000,), (2, 3, 300), (6, 33_000), (3, 40_000)]


def patterns(rng, type, shape):
    """Arrays of this type and shape: random bits, few different numbers, ascending, descending, nearly ascending, equal."""
    n = int(np.prod(shape))
    of = NUMPY[type]
    if type == "bool":
        bits = rng.integers(0, 2, n).astype(of)
        ascending = np.sort(bits)
        few = np.zeros(n, of)
    else:
        bits = rng.integers(0, 256, n * np.dtype(of).itemsize, dtype=np.uint8).view(of)
        few = rng.integers(0, 5, n).astype(of)
        if type.startswith("f"):
            bits = np.where(np.isnan(bits), of(np.nan), bits).astype(of)
            few = np.array([0.0, -0.0, np.nan, 1.0, -np.inf], of)[rng.integers(0, 5, n)]
        ascending = np.sort(bits)
    late = ascending.copy()  # a run, but for one of its last
    late[-2:-1] = bits[-2:-1]
    with np.errstate(over="ignore"):
        distinct = np.arange(n)[::-1].astype(of)  # descending without equals, where there are so many
    made = [bits, few, ascending, ascending[::-1], late, distinct]
    if type == "f32":
        made.append(rng.random(n).astype(of))
        made.append(rng.standard_normal(n).astype(of))
    if type == "i64":
        made.append(rng.integers(-1000, 1000, n).astype(of))
    if len(shape) > 1:  # rows of which some are narrow
        made.append(np.where(np.arange(n) // max(1, shape[-1]) % 2 == 0, few, bits))
    return [np.ascontiguousarray(x).reshape(shape) for x in made]


def order_of(x):
    return np.argsort(x, axis=-1, kind="stable")


def top_of(x, k):
    """Positions of the k greatest, NaN first, the first of equals first."""
    reverse = order_of(x[..., ::-1])[..., ::-1]
    return (x.shape[-1] - 1 - reverse)[..., :k]


def wanted(x, k):
    order = order_of(x)
    result = {"sorted": np.take_along_axis(x, order, -1), "order": order, "top": top_of(x, k)}
    result["values"] = np.take_along_axis(x, result["top"], -1)
    if x.ndim > 1:
        result["columns"] = np.take_along_axis(x, np.argsort(x, axis=0, kind="stable"), 0)
    return result


def program(type, cases):
    lines = []
    for i, (x, k) in enumerate(cases):
        axes = ", ".join("_" * x.ndim)
        lines.append(f'let x{i}: {type}[{axes}] = load("in.npz", "x{i}")')
        lines.append(f"let (v{i}, t{i}) = topk(x{i}, {k})")
        outs = [f"sort(x{i})", f"argsort(x{i})", f"t{i}", f"v{i}"] + ([f"sort(x{i}, axis = 0)"] if x.ndim > 1 else [])
        lines.append(f'save("out{i}.npz", ({", ".join(outs)},))')
    return "\n".join(lines) + "\n"


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def complaints_of(oracle, folder, type, cases, options):
    np.savez(os.path.join(folder, "in.npz"), **{f"x{i}": x for i, (x, _) in enumerate(cases)})
    done = oracle.run(folder, program(type, cases), options, timeout=600)
    if done.returncode != 0:
        return [done.stderr]
    complaints = []
    for i, (x, k) in enumerate(cases):
        with np.load(os.path.join(folder, f"out{i}.npz")) as file:
            found = [file[name] for name in file.files]
        for (name, want), got in zip(wanted(x, k).items(), found, strict=True):
            if not same_bits(want, got):
                complaints.append(f"{' '.join(options)}: {type}{list(x.shape)} case {i} k {k}: {name} differs")
    return complaints


SEED = 0


def compare(oracle, rng, type, shapes, ways):
    """All patterns of these shapes, with each way's options of `tl run`."""
    cases = [(x, int(min(x.shape[-1], rng.choice([0, 1, 3, 16, 17, 50, 3000])))) for shape in shapes for x in patterns(rng, type, shape)]
    for options in ways:
        with oracle.folder() as folder:
            oracle.count_cases(len(cases), complaints_of(oracle, folder, type, cases, options))


def run(oracle):
    rng = np.random.default_rng(oracle.seed)
    for type in TYPES:
        compare(oracle, rng, type, SHORT, [["--threads", "1"], ["--interp"]])
        compare(oracle, rng, type, LONG, [["--threads", "1"], ["--threads", "2"]])

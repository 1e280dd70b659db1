"""The orders of sums and scans against Python twins, bit for bit: what `docs/accuracy.md` says, written once more with NumPy's numbers.

Arrays of random numbers of all sizes, in f32 and f64, along every axis; by the interpreter where they are small.
"""
import os

import numpy as np

LANES, CHUNK, RADIX = 32, 4096, 32


def fold_lanes(x, identity, fold):
    """One chunk: lane l takes elements l, l + 32, …; then halves."""
    lanes = [identity] * LANES
    for row in range(0, len(x), LANES):
        for l, v in enumerate(x[row:row + LANES]):
            lanes[l] = fold(lanes[l], v)
    half = LANES // 2
    while half:
        lanes = [fold(lanes[l], lanes[l + half]) for l in range(half)]
        half //= 2
    return lanes[0]


def fold_lanes_fast(x, identity, ufunc):
    """The same, all lanes at once."""
    padded = np.full(-(-len(x) // LANES) * LANES, identity, x.dtype)
    padded[:len(x)] = x
    lanes = np.full(LANES, identity, x.dtype)
    for row in padded.reshape(-1, LANES):
        lanes = ufunc(lanes, row)
    half = LANES // 2
    while half:
        lanes = ufunc(lanes[:half], lanes[half:2 * half])
        half //= 2
    return lanes[0]


def reduced(x, ufunc):
    identity = {np.add: -0.0, np.multiply: 1.0}[ufunc]
    if len(x) == 0:
        return x.dtype.type(0.0 if ufunc is np.add else 1.0)
    level = np.array([fold_lanes_fast(x[i:i + CHUNK], identity, ufunc) for i in range(0, len(x), CHUNK)]).astype(np.float64)
    while len(level) > 1:
        level = np.array([fold_lanes_fast(level[i:i + CHUNK], identity, ufunc) for i in range(0, len(level), CHUNK)])
    return x.dtype.type(level[0])


def running(x, identity, ufunc, width):
    """The running folds in nodes of so many children, each node a row."""
    padded = np.full(-(-len(x) // width) * width, identity, x.dtype)
    padded[:len(x)] = x
    return ufunc.accumulate(padded.reshape(-1, width), axis=1)


def before(children, levels, identity, ufunc):
    """For each of the numbers of one level: the fold of its elder siblings, folded into that of its parent's, from the highest level down."""
    width = RADIX if levels > 1 else max(len(children), 1)
    to_each = running(children, identity, ufunc, width)
    elder = np.concatenate([np.full((len(to_each), 1), identity), to_each[:, :-1]], axis=1)
    if levels > 1:
        elder = ufunc(before(to_each[:, -1], levels - 1, identity, ufunc)[:, None], elder)
    return elder.reshape(-1)[:len(children)]


def scanned(x, ufunc):
    identity = {np.add: -0.0, np.multiply: 1.0}[ufunc]
    if len(x) == 0:
        return x
    own = running(x, x.dtype.type(identity), ufunc, RADIX)
    offsets = before(own[:, -1].astype(np.float64), 4, identity, ufunc)
    return ufunc(offsets[:, None], own.astype(np.float64)).reshape(-1)[:len(x)].astype(x.dtype)


PROGRAM = '''
fn each(x: T[n], y: T[m, k], z: T[a, b, c], folder: str) {
  save(folder + "/sum.npy", [sum(x)])
  save(folder + "/prod.npy", [prod(x)])
  save(folder + "/mapped.npy", [sum(x[i] for i)])
  save(folder + "/rows.npy", sum(y, axis = 1))
  save(folder + "/columns.npy", sum(y, axis = 0))
  save(folder + "/cumsum.npy", cumsum(x))
  save(folder + "/cumprod.npy", cumprod(x))
  save(folder + "/reversed.npy", cumsum(flip(x)))
  save(folder + "/cumsum_rows.npy", cumsum(y, axis = 1))
  save(folder + "/cumsum_columns.npy", cumsum(y, axis = 0))
  save(folder + "/cumprod_middle.npy", cumprod(z, axis = 1))
  save(folder + "/cummax.npy", cummax(x))
  save(folder + "/cummin_rows.npy", cummin(y, axis = 1))
  save(folder + "/cummax_middle.npy", cummax(z, axis = 1))
  save(folder + "/ragged.npy", [sum(sum(y[i, j] for j in 0..min(i % 3 + 1, k)) for i in 0..m)])
  save(folder + "/one.npy", [cumsum(y[0, :1500])[j] * 1.0 for j])
}
fn main(x: T[n], y: T[m, k], z: T[a, b, c], folder: str) { each(x, y, z, folder) }
'''


def expected(x, y, z):
    def along(f, a, axis):
        return np.apply_along_axis(f, axis, a) if a.size else a
    add, mul = np.add, np.multiply
    return {
        "sum": np.array([reduced(x, add)]), "prod": np.array([reduced(x, mul)]), "mapped": np.array([reduced(x, add)]),
        "rows": np.array([reduced(r, add) for r in y], y.dtype), "columns": np.array([reduced(c, add) for c in y.T], y.dtype),
        "ragged": np.array([reduced(np.array([reduced(r[:i % 3 + 1], add) for i, r in enumerate(y)], y.dtype), add)]),
        "cumsum": scanned(x, add), "cumprod": scanned(x, mul), "reversed": scanned(x[::-1].copy(), add),
        "cumsum_rows": along(lambda r: scanned(r, add), y, 1), "cumsum_columns": along(lambda r: scanned(r, add), y, 0),
        "cumprod_middle": along(lambda r: scanned(r, mul), z, 1), "one": scanned(y[0, :1500], add),  # an element at a time
        "cummax": np.maximum.accumulate(x), "cummin_rows": np.minimum.accumulate(y, axis=1),
        "cummax_middle": np.maximum.accumulate(z, axis=1),
    }


SHAPES = [(1, (1, 3), (1, 1, 1)), (31, (2, 33), (2, 31, 3)), (100, (7, 100), (3, 65, 5)), (5000, (40, 1100), (2, 1100, 3)), (33000, (3, 34000), (1, 33000, 2)),
          (140000, (34000, 3), (1, 40, 700)), (1100000, (2, 70000), (2, 40, 40))]
SEED = 5


def compare(oracle, folder, kind, key, value, what, complaint):
    path = f"{folder}/{key}.npy"
    got = np.load(path) if os.path.exists(path) else None
    if got is not None and got.shape == value.shape and got.dtype == value.dtype and np.array_equal(got.view(f"u{kind[1]}"), value.view(f"u{kind[1]}")):
        return oracle.check(True, "")
    where = "missing" if got is None else f"{np.count_nonzero(got != value)} of {value.size} differ, the first at {np.argwhere(got != value)[:1].tolist()}"
    return oracle.check(False, f"{key} {what}: {where} {complaint[:500]}")


def run(oracle):
    rng = np.random.default_rng(oracle.seed)
    # The twin's own two forms agree.
    sample = rng.normal(size=300)
    assert fold_lanes(list(sample), -0.0, lambda a, b: a + b) == fold_lanes_fast(sample, -0.0, np.add)
    shapes = SHAPES + [(CHUNK * CHUNK + 5, (5, 5), (1, 1, 1))] * oracle.large  # sums of more than 4096 chunks
    for n, rows, middle in shapes:
        for kind, name in (("f4", "f32"), ("f8", "f64")):
            x, y = rng.normal(size=n), rng.normal(size=rows)
            z = 1 + rng.normal(size=middle) * 1e-3
            if n > 1000:
                x = x * 1e-3 + (1 if n < 40000 else 1e-5)
            x, y, z = (v.astype(kind) for v in (x, y, z))
            want = expected(x, y, z)
            for flags in [["--sync"], ["--threads", "2", "--schedule-seed", "3"]] + ([["--interp"]] if n <= 33000 else []):
                with oracle.folder() as folder:
                    for variable, value in (("x", x), ("y", y), ("z", z)):
                        np.save(f"{folder}/in_{variable}.npy", value)
                    done = oracle.run(folder, PROGRAM.replace("T[", f"{name}["), flags,
                                      ["--", "in_x.npy", "in_y.npy", "in_z.npy", "--folder", "."])
                    for key, value in want.items():
                        compare(oracle, folder, kind, key, value, f"{name} {n} {rows} {middle} {' '.join(flags)}", done.stderr)

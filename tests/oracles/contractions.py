"""einsum of two tensors against NumPy's, exactly: random labels in random orders, sizes, element types and layouts.

The elements are small integers, whose sums are exact in any order, so NumPy shares nothing with what is tested; those of integer types are
any that these have, as both wrap, and narrower types may be converted to the product's. Of normally distributed elements the bits are those
of the interpreter, which adds one by one.
"""
import os
import random

import numpy as np

TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64,
         "i16": np.int16, "u16": np.uint16, "i8": np.int8, "u8": np.uint8, "bool": np.bool_}
NARROWER = {"i32": ["i16", "u16", "i8", "u8", "bool"], "u32": ["u16", "u8", "bool"], "i64": ["i32", "i16", "u8"], "u64": ["u32", "u8"]}
SIZES = [0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 40, 65, 130, 263, 700]
MOST = 3_000_000  # products of one case
KNOWN = ["bhid,bjhd->bhij", "bihd,bjhd->bhij", "bhij,bjhd->bihd", "bhij,bihd->bjhd", "ibj,kbj->ibk", "nchw,oc->nohw", "ij,ij->i", "ij,j->i",
         "ij,i->j", "abc,cdb->ad", "abc,dac->bd", "abc,bcd->cad", "bi,bj->ijb", "abc,cde->dabe", "ab,cd->acbd", "adeb,dec->acb",
         "adb,cad->bca", "ca,cb->ba", "eab,ecd->bdac", "c,bac->ab", "bac,abc->a", "a,a->", "ab,ab->"]


def labels_of(rng):
    names = rng.sample("abcdefghijklmnop", 9)
    take = lambda most: [names.pop() for _ in range(rng.choice(range(most + 1)))]
    batch, rows, columns, summed = take(2), take(2), take(2), take(2)
    parts = [batch + rows + summed, batch + columns + summed, batch + rows + columns]
    for part in parts:
        rng.shuffle(part)
    lhs, rhs, result = ("".join(part) for part in parts)
    return f"{lhs},{rhs}->{result}"


class Case:
    """One einsum: what its operands are, and how they lie in memory."""

    def __init__(self, rng, spec, type, number):
        self.spec, self.type, self.number = spec, type, number
        self.lhs, rest = spec.split(",")
        self.rhs, self.result = rest.split("->")
        while True:
            self.size = {label: rng.choice(SIZES) for label in sorted(set(self.lhs + self.rhs))}
            if np.prod([float(max(n, 1)) for n in self.size.values()]) <= MOST:
                break
        self.layouts = [rng.choice(["plain", "plain", "transposed", "sliced", "stretched"]) for _ in range(2)]
        self.epilogue = rng.random() < 0.3
        self.held = [rng.choice([type] + 2 * NARROWER.get(type, [])) for _ in range(2)]  # each operand's type in memory
        self.late = [rng.random() < 0.5 for _ in range(2)]  # converted as it is used, not as it is stored

    def whole(self):
        return np.issubdtype(TYPES[self.type], np.integer)

    def arrays(self, noise):
        """The operands as they are stored, and as they are used."""
        stored, used = [], []
        for labels, layout, held in zip((self.lhs, self.rhs), self.layouts, self.held):
            shape = [self.size[label] for label in labels]
            if layout == "transposed":
                shape = shape[::-1]
            if layout == "sliced":
                shape = [2 * n + 1 for n in shape]
            if layout == "stretched" and shape:
                shape[0] = 1
            if self.whole():
                x = noise.integers(-(2**63), 2**63, shape).astype(np.int64) >> 7
                x = np.asarray(x & 1 if held == "bool" else x).astype(TYPES[held])
            else:
                x = np.asarray(noise.integers(-3, 4, shape) if noise.exact else noise.standard_normal(shape)).astype(TYPES[held])
            stored.append(x)
            if layout == "transposed":
                x = x.T
            if layout == "sliced":
                x = x[tuple(slice(1, None, 2) for _ in shape)]
            if layout == "stretched" and shape:
                x = np.broadcast_to(x, [self.size[label] for label in labels])
            used.append(x)
        return stored, used

    def wanted(self, used):
        wide = TYPES[self.type] if self.whole() else np.float64
        c = np.asarray(np.einsum(self.spec, *(x.astype(wide) for x in used)))
        return np.asarray(c * wide(2) + wide(1) if self.epilogue else c).astype(TYPES[self.type])

    def program(self):
        k, lines, names = self.number, [], []
        for side, labels, layout, held, late in zip("xy", (self.lhs, self.rhs), self.layouts, self.held, self.late):
            axes = ["_"] * len(labels)
            if layout == "stretched" and labels:
                axes[0] = "1"
            axes = f'[{", ".join(axes)}]' if labels else ""
            lines.append(f'let {side}{k}: {held}{axes} = load("in.npz", "{side}{k}")')
            name = f"{side}{k}"
            if held != self.type and not late:
                name = f"{self.type}({name})"
            if layout == "transposed" and len(labels) > 1:
                name = f"permute({name}, [{', '.join(str(i) for i in reversed(range(len(labels))))}])"
            elif layout == "sliced" and labels:
                name = f"{name}[{', '.join(['1::2'] * len(labels))}]"
            elif layout == "stretched" and labels:
                name = f"broadcast_to({name}, [{', '.join(str(self.size[label]) for label in labels)}])"
            names.append(f"{self.type}({name})" if held != self.type and late else name)
        call = f'einsum("{self.spec}", {names[0]}, {names[1]})'
        lines.append(f'save("out{k}.npy", {call} * 2 + 1)' if self.epilogue else f'save("out{k}.npy", {call})')
        return "\n".join(lines)


def results(oracle, folder, cases, arrays, options):
    """What a program of all cases gives; a text where it fails."""
    stored = {f"{side}{case.number}": x for case, (pair, _) in zip(cases, arrays) for side, x in zip("xy", pair)}
    np.savez(os.path.join(folder, "in.npz"), **stored)
    done = oracle.run(folder, "\n".join(case.program() for case in cases) + "\n", options)
    if done.returncode != 0:
        return done.stderr
    return [np.load(os.path.join(folder, f"out{case.number}.npy")) for case in cases]


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


SEED, COUNT = 0, 240


def run(oracle):
    rng, noise = random.Random(oracle.seed), np.random.default_rng(oracle.seed)

    class Noise:
        exact = True
        integers, standard_normal = noise.integers, noise.standard_normal

    specs = KNOWN + [labels_of(rng) for _ in range(oracle.count - len(KNOWN))]

    def report(good, case, what):
        oracle.check(good, f"{what}: {case.type} of {case.held} {case.spec} {case.size} {case.layouts}{' + epilogue' if case.epilogue else ''}")

    for begin in range(0, len(specs), 40):
        cases = [Case(rng, spec, rng.choice(["f32", "f32", "f64", "f16", "i32", "i32", "i32", "u32", "i64", "u64"]), i) for i, spec in enumerate(specs[begin : begin + 40])]
        Noise.exact = True
        exact = [case.arrays(Noise) for case in cases]
        for options in (["--threads", "1"], ["--threads", "2"]):
            with oracle.folder() as folder:
                found = results(oracle, folder, cases, exact, options)
                if isinstance(found, str):
                    oracle.count_cases(len(cases), [found] * len(cases))
                    continue
                for case, (_, used), c in zip(cases, exact, found):
                    want = case.wanted(used)
                    report(want.dtype == c.dtype and np.array_equal(want, c), case, f"not NumPy's, {' '.join(options)}")
        cases = [case for case in cases if not case.whole()]
        Noise.exact = False
        rough = [case.arrays(Noise) for case in cases]
        with oracle.folder() as folder:
            ways = [results(oracle, folder, cases, rough, options) for options in (["--threads", "2"], ["--interp"])]
            errors = [way for way in ways if isinstance(way, str)]
            if errors:
                oracle.count_cases(len(cases), errors[:1] * len(cases))
                continue
            for case, ours, theirs in zip(cases, *ways):
                report(same(ours, theirs), case, "not the interpreter's bits")

"""The module `linalg` against NumPy: sizes on both sides of where blocks and methods change, both element types, well and badly conditioned
matrices, batches, matrices that have no such decomposition.

What a decomposition must satisfy is computed in f64 by NumPy, and is relative to norm · epsilon · size. Programs read and
write .npz files; each runs with one thread and with two, small ones by the interpreter, too, and all must give the same bits.
"""
import os

import numpy as np

NUMPY = {"f32": np.float32, "f64": np.float64}
SMALL = [*range(1, 71), 95, 96, 97, 127, 128, 129]
LARGE = [255, 256, 257, 500, 511, 513, 1000]
BATCHES = [(3, 2), (5, 3), (9, 4), (17, 5), (7, 8), (33, 16), (6, 17), (3, 40), (4, 70), (2, 300)]
LIMIT = 30  # of residuals; those of NumPy are about 1


def matrix(rng, shape, condition):
    """Singular values from 1 to 1 / condition."""
    *batch, m, n = shape
    p = min(m, n)
    u, v = (np.linalg.qr(rng.standard_normal((*batch, size, p)))[0] for size in (m, n))
    return (u * np.logspace(0, -np.log10(condition), p)) @ np.swapaxes(v, -1, -2)


def norm(x):
    return np.abs(x).sum(-1).max(-1)


def t(x):
    return np.swapaxes(x, -1, -2)


class Residuals:
    """The greatest of the errors relative to `scale` · epsilon · size, over a batch."""

    def __init__(self, type):
        self.epsilon = float(np.finfo(type).eps)
        self.all = {}

    def add(self, name, difference, scale, size):
        bound = np.asarray(scale) * self.epsilon * size
        ratio = norm(difference) / np.where(bound > 0, bound, 1)
        self.all[name] = float(np.max(ratio)) if np.isfinite(ratio).all() else np.inf

    def equal(self, name, a, b):
        self.all[name] = 0.0 if np.array_equal(a, b) else np.inf

    def orthonormal(self, name, q):
        self.add(name, t(q) @ q - np.eye(q.shape[-1]), 1, max(q.shape[-2:]))


def exchanged(a, pivots):
    a = a.copy()
    for at in np.ndindex(*pivots.shape[:-1]):
        for i, p in enumerate(pivots[at]):
            a[at][[i, p]] = a[at][[p, i]]
    return a


def check(case, got):
    """The residuals of a case; `got` are the results in the order of `program`."""
    r = Residuals(case["a"].dtype)
    a, b, s, g, symmetric = (case[x].astype(np.float64) for x in "absgp")
    n, m = a.shape[-1], g.shape[-2]
    wide = [x if x.dtype == np.int64 else x.astype(np.float64) for x in got]
    l, lu, pivots, x, lower, upper, q, upper_q, u, sigma, vt, w, v, sigma_alone, w_alone, re, im = wide
    r.add("cholesky", l @ t(l) - symmetric, norm(symmetric), n)
    r.equal("upper part of cholesky", l, np.tril(l))
    p = min(m, n)
    unit = np.tril(lu[..., :p], -1) + np.eye(m, p)
    r.add("lu_factor", unit @ np.triu(lu[..., :p, :]) - exchanged(g, pivots), norm(unit) * norm(np.triu(lu)), max(m, n))
    r.add("greatest pivots", np.maximum(np.abs(np.tril(lu[..., :p], -1)) - 1, 0), 1, n)
    r.add("solve", a @ x - b, norm(a) * norm(x), n)
    triangle = np.tril(s)
    r.add("triangular_solve, lower", triangle @ lower - b, norm(triangle) * norm(lower), n)
    r.add("triangular_solve, upper", np.triu(s) @ upper - b, norm(np.triu(s)) * norm(upper), n)
    r.add("qr", q @ upper_q - g, norm(g), max(m, n))
    r.orthonormal("q", q)
    r.equal("lower part of r", upper_q, np.triu(upper_q))
    r.add("svd", (u * sigma[..., None, :]) @ vt - g, norm(g), max(m, n))
    r.orthonormal("u", u)
    r.orthonormal("vt", t(vt))
    want = np.linalg.svd(g, compute_uv=False)
    r.add("singular values", (sigma - want)[..., None, :], norm(g), max(m, n))
    r.add("singular values alone", (sigma_alone - want)[..., None, :], norm(g), max(m, n))
    r.add("descending", np.maximum(np.diff(sigma), 0)[..., None, :] + np.maximum(np.diff(sigma_alone), 0)[..., None, :], 0, 1)
    r.add("eigh", symmetric @ v - v * w[..., None, :], norm(symmetric), n)
    r.orthonormal("v", v)
    want = np.linalg.eigvalsh(symmetric)
    r.add("eigenvalues", (w - want)[..., None, :], norm(symmetric), n)
    r.add("eigenvalues alone", (w_alone - want)[..., None, :], norm(symmetric), n)
    r.add("ascending", np.maximum(-np.diff(w), 0)[..., None, :] + np.maximum(-np.diff(w_alone), 0)[..., None, :], 0, 1)
    r.add("eigenvalues by eig", (np.sort(re) - want)[..., None, :] + np.abs(im)[..., None, :], norm(symmetric), n)
    return r.all


def make_case(rng, type, batch, n, condition):
    k = int(rng.choice([1, 2, 7, 9, n]))
    m = int(rng.choice([n, max(1, n - 3), n + 5, 2 * n + 1, max(1, n // 3)])) if n < 300 else n
    root = matrix(rng, (*batch, n, n), np.sqrt(condition))
    triangle = rng.standard_normal((*batch, n, n)) / n + np.eye(n) * rng.choice([-1, 1], n) * rng.uniform(0.5, 2, n)
    case = {"a": matrix(rng, (*batch, n, n), condition), "b": rng.standard_normal((*batch, n, k)), "s": triangle,
            "g": matrix(rng, (*batch, m, n), condition), "p": root @ t(root)}
    if condition < 100:
        case["p"] += np.eye(n) * 0.1
    else:
        case["p"] += np.eye(n) * n * 10 * np.finfo(type).eps  # so that it is positive after rounding
    return {name: np.ascontiguousarray(x.astype(type)) for name, x in case.items()}


def program(type, cases):
    lines = ["import linalg"]
    for i, case in enumerate(cases):
        axes = ", ".join("_" * case["a"].ndim)
        for name in "absgp":
            lines.append(f'let {name}{i}: {type}[{axes}] = load("in.npz", "{name}{i}")')
        lines += [f"let (lu{i}, pivots{i}) = linalg.lu_factor(g{i})", f"let (q{i}, r{i}) = linalg.qr(g{i})", f"let (u{i}, d{i}, vt{i}) = linalg.svd(g{i})",
                  f"let (w{i}, v{i}) = linalg.eigh(p{i})"]
        outs = [f"linalg.cholesky(p{i})", f"lu{i}", f"pivots{i}", f"linalg.solve(a{i}, b{i})", f"linalg.triangular_solve(s{i}, b{i})",
                f"linalg.triangular_solve(s{i}, b{i}, lower = false)", f"q{i}", f"r{i}", f"u{i}", f"d{i}", f"vt{i}", f"w{i}", f"v{i}",
                f"linalg.svdvals(g{i})", f"linalg.eigvalsh(p{i})", f"real(linalg.eigvals(p{i}))", f"imag(linalg.eigvals(p{i}))"]
        lines.append(f'save("out{i}.npz", ({", ".join(outs)},))')
    return "\n".join(lines) + "\n"


def results(oracle, folder, type, cases, options):
    """The results of each case, or a complaint."""
    np.savez(os.path.join(folder, "in.npz"), **{f"{name}{i}": x for i, case in enumerate(cases) for name, x in case.items()})
    done = oracle.run(folder, program(type, cases), options)
    if done.returncode != 0:
        return done.stderr
    found = []
    for i in range(len(cases)):
        with np.load(os.path.join(folder, f"out{i}.npz")) as file:
            found.append([file[name] for name in file.files])
    return found


def complaints_of(oracle, folder, type, cases, ways):
    first = results(oracle, folder, type, cases, ways[0])
    if isinstance(first, str):
        return [first]
    complaints = []
    for options in ways[1:]:
        again = results(oracle, folder, type, cases, options)
        if isinstance(again, str):
            return [again]
        for case, one, other in zip(cases, first, again, strict=True):
            if any(x.tobytes() != y.tobytes() for x, y in zip(one, other, strict=True)):
                complaints.append(f"{type}{list(case['a'].shape)}: other bits with {' '.join(options)}")
    for case, got in zip(cases, first, strict=True):
        for name, residual in check(case, got).items():
            if not residual <= LIMIT:
                complaints.append(f"{type}{list(case['a'].shape)} b {list(case['b'].shape)} g {list(case['g'].shape)}: {name}: {residual:.3g}")
    return complaints


def failures(oracle, folder):
    """Programs that end with an error, or compute with infinities, by what they print."""
    cases = [
        ("linalg.cholesky(e - 2.0 * one(n, K))", "NotPositiveDefinite"),
        ("linalg.solve(e - one(n, K), e)", "SingularMatrix"),
        ("linalg.triangular_solve(e - one(n, K), e)", "SingularMatrix"),
        ("linalg.cholesky(e * NAN)", "NotPositiveDefinite"),
    ]
    complaints = []
    for n in [1, 2, 4, 16, 17, 64, 65, 130, 300]:
        for type in NUMPY:
            for k in sorted({0, n // 2, n - 1}):
                for text, kind in cases:
                    text = text.replace("K", str(k)).replace("NAN", f"{type}(nan)")
                    code = (f"import linalg\nfn one(n: i64, k: i64) -> {type}[n, n] = [{type}(i == k and j == k) for i in 0..n, j in 0..n]\n"
                            f"let n = {n}\nlet e = eye(n, {type})\nprint(sum({text}))\n")
                    done = oracle.run(folder, code, timeout=60)
                    if done.returncode != 3 or kind not in done.stderr:
                        complaints.append(f"{type} {text} n = {n}: {done.stdout}{done.stderr}")
    return complaints


def special(rng, m, n):
    """Matrices whose vectors are not unique, or whose elements differ by much."""
    g = rng.standard_normal((m, n))
    graded = 10.0 ** -(np.arange(m)[:, None] % 30 + np.arange(n) % 30)
    far = np.where((np.arange(m)[:, None] < m // 2) == (np.arange(n) < n // 2), 1e-20, 0) * g
    far[0, 0] = 1
    return np.stack([np.zeros((m, n)), np.ones((m, n)), np.eye(m, n), g * 1e30, g * 1e-30, np.outer(g[:, 0], g[0]), np.round(g), graded, far,
                     np.where(np.arange(n) == n // 2, 0, g), np.eye(m, n) * rng.integers(-2, 3, n), g])


def spectra(oracle, folder):
    """Decompositions of those, on both sides of where many matrices are computed side by side."""
    complaints = []
    rng = np.random.default_rng(oracle.seed)
    for type, numpy_type in NUMPY.items():
        for m, n in [(1, 1), (2, 2), (3, 3), (3, 1), (2, 7), (8, 5), (16, 16), (16, 3), (5, 16), (17, 17), (17, 4), (30, 30)]:
            a = special(rng, m, n).astype(numpy_type)
            p = min(m, n)
            square = a[:, :p, :p] + t(a[:, :p, :p])
            np.savez(os.path.join(folder, "in.npz"), a=a, p=square)
            done = oracle.run(folder, f"""import linalg
let a: {type}[_, _, _] = load("in.npz", "a")
let p: {type}[_, _, _] = load("in.npz", "p")
let (u, s, vt) = linalg.svd(a)
let (w, v) = linalg.eigh(p)
let (q, r) = linalg.qr(a)
save("out.npz", (u, s, vt, linalg.svdvals(a), w, v, linalg.eigvalsh(p), q, r))
""")
            if done.returncode != 0:
                complaints.append(f"{type}[{m}, {n}]: {done.stderr}")
                continue
            with np.load(os.path.join(folder, "out.npz")) as file:
                u, s, vt, alone, w, v, w_alone, q, upper = (file[name].astype(np.float64) for name in file.files)
            wide, symmetric, residuals = a.astype(np.float64), square.astype(np.float64), Residuals(numpy_type)
            residuals.add("svd", (u * s[..., None, :]) @ vt - wide, norm(wide), max(m, n))
            residuals.orthonormal("u", u)
            residuals.orthonormal("vt", t(vt))
            residuals.add("svdvals", (alone - s)[..., None, :], norm(wide), max(m, n))
            residuals.add("eigh", symmetric @ v - v * w[..., None, :], norm(symmetric), n)
            residuals.orthonormal("v", v)
            residuals.add("eigvalsh", (w_alone - w)[..., None, :], norm(symmetric), n)
            residuals.add("qr", q @ upper - wide, norm(wide), max(m, n))
            residuals.orthonormal("q", q)
            complaints += [f"{type}[{m}, {n}] {name}: {x:.3g}" for name, x in residuals.all.items() if not x <= LIMIT]
    return complaints


SEED = 0


def run(oracle):
    rng = np.random.default_rng(oracle.seed)
    for type, numpy_type in NUMPY.items():
        for condition in [10.0, 0.1 / float(np.finfo(numpy_type).eps)]:
            small = [make_case(rng, numpy_type, (), n, condition) for n in SMALL]
            batches = [make_case(rng, numpy_type, (count,), n, condition) for count, n in BATCHES]
            large = [make_case(rng, numpy_type, (), n, condition) for n in LARGE]
            one, two, interpreted = ["--threads", "1"], ["--threads", "2"], ["--interp"]
            for cases, ways in [(small, [one, two, interpreted]), (batches, [one, two, interpreted]), (large, [one, two])]:
                with oracle.folder() as folder:
                    complaints = complaints_of(oracle, folder, type, cases, ways)
                    oracle.count_cases(len(cases), [f"condition {condition:.0g}: {complaint}" for complaint in complaints])
    with oracle.folder() as folder:
        oracle.count_cases(2, failures(oracle, folder) + spectra(oracle, folder))

"""Tasks such as courses on arrays set, solved in tl and in NumPy: each is a function of some arrays, and both give the same numbers. They run as the
cases of `functions` do, by kernels and by the interpreter.
"""
import numpy as np

from functions import Case, run_cases

SEED = 0
PROGRAM = 20


def life(x):
    p = np.pad(x, 1)
    n = sum(p[1 + i:p.shape[0] - 1 + i, 1 + j:p.shape[1] - 1 + j] for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return ((n == 3) | ((x == 1) & (n == 2))).astype(np.int64)


def sieve(n):
    is_prime = np.ones(n + 1, bool)
    is_prime[:2] = False
    for i in range(2, int(n ** 0.5) + 1):
        if is_prime[i]:
            is_prime[i * i::i] = False
    return np.nonzero(is_prime)[0]


def pascal(n):
    p = np.zeros((n, n), np.int64)
    p[:, 0] = 1
    for i in range(1, n):
        p[i, 1:] = p[i - 1, 1:] + p[i - 1, :-1]
    return p


def diffused(u, steps):
    for _ in range(steps):
        u = u.copy()
        u[1:-1] = u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def power_iteration(a):
    v = np.ones(a.shape[0])
    for _ in range(200):
        v = a @ v
        v = v / np.linalg.norm(v)
    return v @ a @ v


def drawdown(x):
    return np.max(1 - x / np.maximum.accumulate(x))


def lagrange(x, y, at):
    total = np.zeros_like(at)
    for i in range(len(x)):
        term = np.full_like(at, y[i])
        for j in range(len(x)):
            if j != i:
                term = term * (at - x[j]) / (x[i] - x[j])
        total = total + term
    return total


def low_pass(x, keep):
    f = np.fft.rfft(x)
    f[keep:] = 0
    return np.fft.irfft(f, n=len(x))


def labelled(x):
    """Where runs of equal numbers begin, and how long they are."""
    begins = np.concatenate(([0], np.nonzero(np.diff(x))[0] + 1))
    return begins, np.diff(np.concatenate((begins, [len(x)])))


def nearest(points, centres):
    return np.argmin(((points[:, None] - centres[None]) ** 2).sum(-1), axis=1)


def step_of_k_means(points, centres):
    owner = nearest(points, centres)
    return np.stack([points[owner == k].mean(0) for k in range(len(centres))])


def logistic_step(x, y, w):
    p = 1 / (1 + np.exp(-x @ w))
    return w - 0.1 * x.T @ (p - y) / len(y)


def components(x):
    centred = x - x.mean(0)
    return np.linalg.svd(centred, full_matrices=False)[1] ** 2 / (len(x) - 1)


def mandelbrot(c):
    z, n = np.zeros_like(c), np.zeros(c.shape, np.int64)
    for _ in range(30):
        inside = np.abs(z) <= 2
        z = np.where(inside, z * z + c, z)
        n += inside
    return n


def tasks(rng):
    """(tl, arrays, NumPy)"""
    x, y, w = (rng.standard_normal(n) for n in (12, 12, 7))
    m, p = rng.standard_normal((5, 4)), rng.standard_normal((5, 4))
    i, j = rng.integers(0, 6, 20), rng.integers(0, 6, 20)
    grid = rng.integers(0, 2, (7, 9))
    square = rng.standard_normal((4, 4))
    points = rng.standard_normal((9, 2))
    centres = points[:3].copy()
    prices = np.exp(np.cumsum(rng.standard_normal(40) / 20))
    labels = (rng.random(12) < 0.5).astype(float)
    data = rng.standard_normal((12, 3))
    runs = np.repeat(rng.integers(0, 3, 8), rng.integers(1, 4, 8))
    order = rng.permutation(20)
    z = rng.standard_normal((4, 5)) + 1j * rng.standard_normal((4, 5))
    image = rng.random((8, 10))
    return [
        # making arrays
        ("[(i + j) % 2 for i in 0..8, j in 0..8] + 0 * k[0]", {"k": i}, lambda: np.indices((8, 8)).sum(0) % 2),
        ("{ var b = zeros([5, 6]); b[0] = 1.0; b[-1] = 1.0; b[:, 0] = 1.0; b[:, -1] = 1.0; f64(b) + 0.0 * x[0] }", {"x": x},
         lambda: np.pad(np.zeros((3, 4)), 1, constant_values=1.0)),
        ("pad(m, [(1, 1), (1, 1)])", {"m": m}, lambda: np.pad(m, 1)),
        ("[1.0 / (x[i] - y[j] + 9.0) for i, j]", {"x": x, "y": y}, lambda: 1 / (x[:, None] - y[None] + 9)),
        ("[x[i] ** f64(j) for i, j in 0..4]", {"x": np.abs(x)}, lambda: np.vander(np.abs(x), 4, increasing=True)),
        ("[x[abs(i - j)] for i in 0..5, j in 0..5]", {"x": x}, lambda: x[np.abs(np.subtract.outer(np.arange(5), np.arange(5)))]),
        ("[x[i + j] for i in 0..5, j in 0..5]", {"x": x}, lambda: np.lib.stride_tricks.sliding_window_view(x, 5)[:5]),
        ("[f64(i == k[r]) for r, i in 0..6]", {"k": i}, lambda: np.eye(6)[i]),
        ("[[x[a], y[b]] for a in 0..12, b in 0..12].reshape([144, 2])", {"x": x, "y": y},
         lambda: np.stack(np.meshgrid(x, y, indexing="ij"), -1).reshape(-1, 2)),
        ("concat((concat((m, zeros([5, 4], f64)), axis = 1), concat((zeros([5, 4], f64), p), axis = 1)))", {"m": m, "p": p},
         lambda: np.block([[m, np.zeros((5, 4))], [np.zeros((5, 4)), p]])),
        # looking things up
        ("x[argmin(abs(x - 0.3))]", {"x": x}, lambda: x[np.argmin(np.abs(x - 0.3))]),
        ("argmax(bincount(k, 6))", {"k": i}, lambda: np.bincount(i).argmax()),
        ("argsort(argsort(x))", {"x": x}, lambda: np.argsort(np.argsort(x))),
        ("sort(x)[-3:]", {"x": x}, lambda: np.sort(x)[-3:]),
        ("m[argsort(m[:, 1])]", {"m": m}, lambda: m[np.argsort(m[:, 1])]),
        ("nonzero(x[1:-1] > x[:-2] and x[1:-1] > x[2:])[0] + 1", {"x": x}, lambda: np.nonzero((x[1:-1] > x[:-2]) & (x[1:-1] > x[2:]))[0] + 1),
        ("{ var o = zeros([20], i64); o[k] = arange(20); o }", {"k": order}, lambda: np.argsort(order)),
        ("where(x > 0.0, x, 0.0)", {"x": x}, lambda: np.where(x > 0, x, 0)),
        ("unique(k)[0]", {"k": i}, lambda: np.unique(i)),
        ("sum(isin(k, l))", {"k": i, "l": j[:3]}, lambda: np.isin(i, j[:3]).sum()),
        ("searchsorted(sort(x), y)", {"x": x, "y": y}, lambda: np.searchsorted(np.sort(x), y)),
        ("count_nonzero(k[1:] != k[:-1])", {"k": runs}, lambda: np.count_nonzero(np.diff(runs))),
        ("{ let b = concat(([0], nonzero(k[1:] != k[:-1])[0] + 1)); (b, concat((b[1:], [len(k)])) - b) }", {"k": runs}, lambda: labelled(runs)),
        # statistics
        ("(m - mean(m, axis = 0)) / std(m, axis = 0)", {"m": m}, lambda: (m - m.mean(0)) / m.std(0)),
        ("m / sum(abs(m), axis = 1, keep = true)", {"m": m}, lambda: m / np.abs(m).sum(1, keepdims=True)),
        ("[mean(x[i:i + 3]) for i in 0..10]", {"x": x}, lambda: np.convolve(x, np.ones(3) / 3, "valid")),
        ("x[1:] / x[:-1] - 1.0", {"x": prices}, lambda: prices[1:] / prices[:-1] - 1),
        ("max(1.0 - x / cummax(x))", {"x": prices}, lambda: drawdown(prices)),
        ("corrcoef(x[:-1], x[1:])[0, 1]", {"x": prices}, lambda: np.corrcoef(prices[:-1], prices[1:])[0, 1]),
        ("{ var c = zeros([6, 6], i64); for r in 0..len(k) { c[k[r], l[r]] += 1 }; c }", {"k": i, "l": j}, lambda: np.histogram2d(i, j, bins=[np.arange(7), np.arange(7)])[0].astype(np.int64)),
        ("{ let w = zeros([6], f64); scatter_add(w, k, v) / f64(max(bincount(k, 6), 1)) }", {"k": i, "v": rng.standard_normal(20)}, None),
        ("quantile(x, f64([0.25, 0.5, 0.75]))", {"x": x}, lambda: np.quantile(x, [0.25, 0.5, 0.75])),
        ("histogram(x, f64([-3.0, -1.0, 0.0, 1.0, 3.0]))[0]", {"x": x}, lambda: np.histogram(x, [-3.0, -1.0, 0.0, 1.0, 3.0])[0].astype(np.int64)),
        ("average(x, abs(y))", {"x": x, "y": y}, lambda: np.average(x, weights=np.abs(y))),
        # geometry
        ("[norm(p[i] - p[j]) for i, j]", {"p": points}, lambda: np.linalg.norm(points[:, None] - points[None], axis=-1)),
        ("[argmin(sum((p[i, d] - c[k, d]) ** 2 for d) for k) for i]", {"p": points, "c": centres}, lambda: nearest(points, centres)),
        ("{ let o = argmin(sum((p[:, new] - c[new]) ** 2, axis = 2), axis = 1); [sum(p[i, d] for i if o[i] == k) / f64(sum(o == k)) for k in 0..3, d in 0..2] }",
         {"p": points, "c": centres}, lambda: step_of_k_means(points, centres)),
        ("stack((norm(p, axis = 1), atan2(p[:, 1], p[:, 0])), axis = 1)", {"p": points}, lambda: np.stack((np.linalg.norm(points, axis=1), np.arctan2(points[:, 1], points[:, 0])), 1)),
        ("abs(sum(p[i, 0] * (p[(i + 1) % 9, 1] - p[(i + 8) % 9, 1]) for i)) / 2.0", {"p": points},
         lambda: abs(np.sum(points[:, 0] * (np.roll(points[:, 1], -1) - np.roll(points[:, 1], 1)))) / 2),
        ("p @ f64([[0.6, 0.8], [-0.8, 0.6]])", {"p": points}, lambda: points @ np.array([[0.6, 0.8], [-0.8, 0.6]])),
        # images
        ("[[sum(g[2*i + a, 2*j + b] for a in 0..2, b in 0..2) / 4.0 for j in 0..5] for i in 0..4]", {"g": image}, lambda: image.reshape(4, 2, 5, 2).mean((1, 3))),
        ("flip(transpose(g, 0, 1), axis = 0)", {"g": image}, lambda: np.rot90(image)),
        ("g[::-1, ::-1]", {"g": image}, lambda: image[::-1, ::-1]),
        ("hypot(g[1:-1, 2:] - g[1:-1, :-2], g[2:, 1:-1] - g[:-2, 1:-1])", {"g": image},
         lambda: np.hypot(image[1:-1, 2:] - image[1:-1, :-2], image[2:, 1:-1] - image[:-2, 1:-1])),
        ("(g - min(g)) / (max(g) - min(g))", {"g": image}, lambda: (image - image.min()) / np.ptp(image)),
        ("f64(g > mean(g))", {"g": image}, lambda: (image > image.mean()).astype(float)),
        # linear algebra
        ("linalg.lstsq(concat((d, ones([12, 1], f64)), axis = 1), y)", {"d": data, "y": y}, lambda: np.linalg.lstsq(np.c_[data, np.ones(12)], y, rcond=None)[0]),
        ("{ let c = d - mean(d, axis = 0); linalg.svd(c)[1] ** 2 / f64(len(d) - 1) }", {"d": data}, lambda: components(data)),
        ("{ let s = a @ a.T + eye(4, f64); var v = ones([4], f64); for _ in 0..200 { v = s @ v; v = v / norm(v) }; dot(v, s @ v) }", {"a": square},
         lambda: power_iteration(square @ square.T + np.eye(4))),
        ("trace(linalg.matrix_power([[1, 1], [1, 0]], 20)) + 0 * k[0]", {"k": i}, lambda: np.trace(np.linalg.matrix_power(np.array([[1, 1], [1, 0]]), 20))),
        ("outer(x, y)[:3]", {"x": x, "y": y}, lambda: np.outer(x, y)[:3]),
        ("{ let s = a @ a.T; let l = linalg.cholesky(s + eye(4, f64)); max(abs(l @ l.T - s - eye(4, f64))) < 1e-12 }", {"a": square}, lambda: np.asarray(True)),
        ("sort(linalg.eig(concat((-(c[1:] / c[0])[new], eye(6, f64)[:5])))[0].real)", {"c": w}, lambda: np.sort(np.roots(w).real)),
        # iterating
        ("{ let p = pad(g, [(1, 1), (1, 1)]); let n = [sum(p[i + a, j + b] for a in 0..3, b in 0..3) - g[i, j] for i in 0..7, j in 0..9]; "
         "i64(n == 3 or (g == 1 and n == 2)) }", {"g": grid}, lambda: life(grid)),
        ("{ var s = full([101], true); s[:2] = false; for i in 2..11 { if s[i] { s[i * i::i] = false } }; nonzero(s)[0] + 0 * k[0] }", {"k": i}, lambda: sieve(100)),
        ("{ var q = zeros([8, 8], i64); q[:, 0] = 1; for i in 1..8 { q[i, 1:] = q[i - 1, 1:] + q[i - 1, :-1] }; q + 0 * k[0] }", {"k": i}, lambda: pascal(8)),
        ("{ var u = x; for _ in 0..25 { u[1:-1] += 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2]) }; u }", {"x": x}, lambda: diffused(x, 25)),
        ("{ var s = zeros([20], i64); for i in 0..20 { var n = k[i] + 1; while n != 1 { n = if n % 2 == 0 { n // 2 } else { 3 * n + 1 }; s[i] += 1 } }; s }", {"k": i},
         lambda: np.array([collatz(int(n) + 1) for n in i])),
        ("{ var r = x; for _ in 0..30 { r = 0.5 * (r + x / r) }; r }", {"x": np.abs(x) + 0.1}, lambda: np.sqrt(np.abs(x) + 0.1)),
        ("{ var n = zeros([4, 5], i64); var u = zeros([4, 5], c128); for _ in 0..30 { let inside = abs(u) <= 2.0; u = where(inside, u * u + z, u); n += i64(inside) }; n }",
         {"z": z}, lambda: mandelbrot(z)),
        ("w - 0.1 * (d.T @ (1.0 / (1.0 + exp(-(d @ w))) - y)) / f64(len(y))", {"d": data, "y": labels, "w": w[:3]}, lambda: logistic_step(data, labels, w[:3])),
        ("grad(|w| mean(log1p(exp(-(2.0 * y - 1.0) * (d @ w)))))(w)", {"d": data, "y": labels, "w": w[:3]},
         lambda: data.T @ (1 / (1 + np.exp(-data @ w[:3])) - labels) / 12),
        # signals and numbers
        ("{ let f = rfft(x); irfft(where(arange(len(f)) < 3, f, 0.0), n = len(x)) }", {"x": x}, lambda: low_pass(x, 3)),
        ("abs(rfft([x[8 * i + j] * (0.5 - 0.5 * cos(2.0 * 3.141592653589793 * f64(j) / 16.0)) for i in 0..3, j in 0..16]))", {"x": prices},
         lambda: np.abs(np.fft.rfft(np.stack([prices[8 * k:8 * k + 16] for k in range(3)]) * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(16) / 16))))),
        ("trapezoid(y, sort(x))", {"x": x, "y": y}, lambda: np.trapz(y, np.sort(x)) if hasattr(np, "trapz") else np.trapezoid(y, np.sort(x))),
        ("sum((if i == 0 or i == 6 { 1.0 } else { if i % 2 == 1 { 4.0 } else { 2.0 } }) * w[i] for i) / 3.0", {"w": w}, lambda: (w * np.array([1, 4, 2, 4, 2, 4, 1])).sum() / 3),
        ("[sum(y[i] * prod((t[k] - x[j]) / (x[i] - x[j]) for j if j != i) for i) for k]", {"x": np.arange(4.0), "y": y[:4], "t": x[:5]}, lambda: lagrange(np.arange(4.0), y[:4], x[:5])),
        ("[bit_and(shift_right(k[r], b), 1) for r, b in 0..4]", {"k": i}, lambda: (i[:, None] >> np.arange(4)) & 1),
        ("[k[r] // 10 ** (2 - d) % 10 for r, d in 0..3]", {"k": i * 37}, lambda: (i * 37)[:, None] // 10 ** np.arange(2, -1, -1) % 10),
        ("polyval(c, x)", {"c": w, "x": x}, lambda: np.polyval(w, x)),
        ("interp(y, sort(x), cumsum(abs(x)))", {"x": x, "y": y}, lambda: np.interp(y, np.sort(x), np.cumsum(np.abs(x)))),
        ("exp(x - max(x)) / sum(exp(x - max(x)))", {"x": x}, lambda: np.exp(x - x.max()) / np.exp(x - x.max()).sum()),
    ]


def run(oracle):
    rng = np.random.default_rng(oracle.seed)
    all_tasks = tasks(rng)
    cases = []
    for text, arrays, want in all_tasks:
        if want is None:  # the means of what has the same number
            k, v = arrays["k"], arrays["v"]
            want = lambda k=k, v=v: np.bincount(k, v, minlength=6) / np.maximum(np.bincount(k, minlength=6), 1)  # noqa: E731
        cases.append(Case(text, arrays, want, 100))
    for first in range(0, len(cases), PROGRAM):
        for options in (["--threads", "2"], ["--interp"]):
            part = cases[first:first + PROGRAM]
            oracle.count_cases(len(part), run_cases(oracle, part, options))

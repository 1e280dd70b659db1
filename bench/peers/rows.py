"""The rows of bench/rows.tl with NumPy and with PyTorch, eager: rows.py LIBRARY [THREADS] [REPEATS]."""
import sys
import time

import numpy as np

library, threads, repeats = sys.argv[1], int((sys.argv + ["1"])[2]), int((sys.argv + ["", "", "7"])[3] or 7)
torch = None
if library == "torch":
    import torch

    torch.set_num_threads(threads)

n = 4000000
x = np.sin(np.arange(n, dtype=np.float32) * np.float32(0.001))
m, a = x.reshape(4000, 1000), x[:1048576].reshape(1024, 1024)
heads, between, part = x[:786432].reshape(8, 128, 12, 64), x[:262144].reshape(64, 32, 128), a[:500, :500]
definite = part @ part.T + np.float32(500) * np.eye(500, dtype=np.float32)
shuffled = x[(np.arange(1000000) * 7919) % n]


def softmax(m):
    e = np.exp(m - m.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normalized(m):
    centred = m - m.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(1e-5))


def heat(u):
    v = u.clone() if torch else u.copy()
    v[1:-1, 1:-1] += 0.2 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1])
    return v


F = np.float32
ROWS = {
    "elementwise chain": (lambda x: np.tanh(x * F(1.5) + F(0.25)) * F(2.0) - F(0.5), x,
                          lambda x: torch.tanh(x * 1.5 + 0.25) * 2.0 - 0.5),
    "softmax of rows": (softmax, m, lambda m: torch.softmax(m, -1)),
    "layer norm of rows": (normalized, m, lambda m: torch.nn.functional.layer_norm(m, (1000,))),
    "mean of columns": (lambda m: m.mean(0), m, lambda m: m.mean(0)),
    "running sum": (np.cumsum, x, lambda x: torch.cumsum(x, 0)),
    "running maximum": (np.maximum.accumulate, x, lambda x: torch.cummax(x, 0)[0]),
    "matrix product": (lambda a: a @ a, a, lambda a: a @ a),
    "matrix times vector": (lambda m: m @ m[0], m, lambda m: m @ m[0]),
    "vector times matrix": (lambda m: m[:, 0] @ m, m, lambda m: m[:, 0] @ m),
    "four rows times matrix": (lambda m: m[:4] @ m.T, m, lambda m: m[:4] @ m.T),
    "attention scores": (lambda q: np.einsum("bihd,bjhd->bhij", q, q, optimize=True), heads, lambda q: torch.einsum("bihd,bjhd->bhij", q, q)),
    "batch between the factors": (lambda x: np.einsum("ibj,kbj->ibk", x, x, optimize=True), between, lambda x: torch.einsum("ibj,kbj->ibk", x, x)),
    "heat in a plate": (heat, m, heat),
    "pairwise distances": (lambda m: ((m[:500, None] - m[None, :500]) ** 2).sum(-1), m,
                           lambda m: ((m[:500, None] - m[None, :500]) ** 2).sum(-1)),
    "transpose, copied": (lambda m: np.ascontiguousarray(m.T), m, lambda m: m.T.contiguous()),
    "sort": (np.sort, shuffled, lambda x: torch.sort(x)[0]),
    "argsort": (lambda x: np.argsort(x, kind="stable"), shuffled, lambda x: torch.argsort(x, stable=True)),
    "the ten greatest": (lambda x: np.sort(np.partition(x, -10)[-10:]), shuffled, lambda x: torch.topk(x, 10)[0]),
    "linear system": (lambda s: np.linalg.solve(s, s[:, :10] * F(0.5)), definite, lambda s: torch.linalg.solve(s, s[:, :10] * 0.5)),
    "Cholesky factor": (np.linalg.cholesky, definite, torch and torch.linalg.cholesky),
}

for name, (by_numpy, data, by_torch) in ROWS.items():
    f = by_torch if torch else by_numpy
    data = torch.from_numpy(data) if torch else data
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        y = f(data)
        best = min(best, time.perf_counter() - start)
    y = y.double() if torch else y.astype(np.float64)
    total = float((y * y).sum())
    print(f"{name} | {best * 1e3:.4f} | {total:.6g}", flush=True)

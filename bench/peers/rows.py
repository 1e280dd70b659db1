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
shuffled = x[(np.arange(1000000) * 7919) % n]


def softmax(m):
    e = np.exp(m - m.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normalized(m):
    centred = m - m.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(1e-5))


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
    "pairwise distances": (lambda m: ((m[:500, None] - m[None, :500]) ** 2).sum(-1), m,
                           lambda m: ((m[:500, None] - m[None, :500]) ** 2).sum(-1)),
    "transpose, copied": (lambda m: np.ascontiguousarray(m.T), m, lambda m: m.T.contiguous()),
    "sort": (np.sort, shuffled, lambda x: torch.sort(x)[0]),
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

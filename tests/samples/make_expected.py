"""Independent results of the samples, by NumPy and Pillow in f64: python3 make_expected.py (needs numpy, pillow)."""
import os

import numpy as np
from PIL import Image

here = os.path.dirname(os.path.abspath(__file__))
data = os.path.join(here, "../../samples/data")
out = os.path.join(here, "expected")

image = np.asarray(Image.open(os.path.join(data, "house.png"))).astype(np.float64)
h, w, c = image.shape

sigma, r = 2.0, 6
bell = np.exp(-0.5 * (np.arange(-r, r + 1) / sigma) ** 2)
weights = bell / bell.sum()
padded = np.pad(image, ((0, 0), (r, r), (0, 0)), mode="edge")
across = sum(weights[d] * padded[:, d : d + w] for d in range(2 * r + 1))
padded = np.pad(across, ((r, r), (0, 0), (0, 0)), mode="edge")
both = sum(weights[d] * padded[d : d + h] for d in range(2 * r + 1))
np.save(os.path.join(out, "blur.npy"), np.clip(np.round(both), 0, 255).astype(np.uint8))

x = image.mean(axis=2)
gx, gy = np.zeros((h, w)), np.zeros((h, w))
gx[1:-1, 1:-1] = x[:-2, 2:] + 2 * x[1:-1, 2:] + x[2:, 2:] - x[:-2, :-2] - 2 * x[1:-1, :-2] - x[2:, :-2]
gy[1:-1, 1:-1] = x[2:, :-2] + 2 * x[2:, 1:-1] + x[2:, 2:] - x[:-2, :-2] - 2 * x[:-2, 1:-1] - x[:-2, 2:]
strength = np.sqrt(gx * gx + gy * gy)
np.save(os.path.join(out, "edges.npy"), np.clip(strength / 4, 0, 255).astype(np.uint8))

points = np.load(os.path.join(data, "points.npy")).astype(np.float64)
centers = [points[0]]
distance = np.full(len(points), np.inf)
for _ in range(2):
    distance = np.minimum(distance, ((points - centers[-1]) ** 2).sum(axis=1))
    centers.append(points[np.argmax(distance)])
centers = np.array(centers)
for _ in range(20):
    cluster = ((points[:, None] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
    centers = np.array([points[cluster == k].mean(axis=0) for k in range(3)])
np.save(os.path.join(out, "kmeans.npy"), centers.astype(np.float32))

scores = np.load(os.path.join(data, "scores.npy")).astype(np.float64) / 2.0
e = np.exp(scores - scores.max(axis=1, keepdims=True))
np.save(os.path.join(out, "softmax.npy"), (e / e.sum(axis=1, keepdims=True)).astype(np.float32))

# Heat: one step as a matrix, its power applied at once.
n = 17
h = 1 / (n - 1)
steps = int(np.ceil(0.05 / (0.2 * h * h)))
dt = 0.05 / steps
line = np.eye(n, k=1) + np.eye(n, k=-1) - 2 * np.eye(n)
inside = np.zeros((n, n))
inside[1:-1, 1:-1] = 1
step = np.eye(n * n) + dt / h**2 * inside.ravel()[:, None] * (np.kron(line, np.eye(n)) + np.kron(np.eye(n), line))
start = np.outer(*[np.sin(np.pi * np.linspace(0, 1, n))] * 2)
np.save(os.path.join(out, "heat.npy"), (np.linalg.matrix_power(step, steps) @ start.ravel()).reshape(n, n))

# Mandelbrot: all pixels at once, masked.
width, height, limit = 60, 40, 50
c = (-2 + 3 * (np.arange(width) + 0.5) / width)[None, :] + 1j * (-1 + 2 * (np.arange(height) + 0.5) / height)[:, None]
z, count = np.zeros_like(c), np.zeros(c.shape, int)
for _ in range(limit):
    going = np.abs(z) <= 2
    z[going] = z[going] ** 2 + c[going]
    count += going
t = count / limit
colours = np.stack([t**0.5, t**0.3, 0.2 + 0.8 * t**0.2], axis=-1) * 255
colours[count == limit] = 0
np.save(os.path.join(out, "mandelbrot.npy"), colours.astype(np.uint8))

# PageRank: the stationary distribution by solving the linear system.
edges = np.load(os.path.join(data, "links.npy"))
n = edges.max() + 1
links = np.zeros((n, n))
np.add.at(links, (edges[:, 1], edges[:, 0]), 1)
total = links.sum(axis=0)
follow = np.where(total > 0, links / np.maximum(total, 1), 1 / n)
np.save(os.path.join(out, "pagerank.npy"), np.linalg.solve(np.eye(n) - 0.85 * follow, np.full(n, 0.15 / n)))

# Life: a glider moves one cell down and right in four steps.
world = np.zeros((12, 12), int)
world[0:3, 0:3] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
np.save(os.path.join(out, "life.npy"), np.roll(world, (5, 5), axis=(0, 1)))

# Weather: cleaned with NumPy's median.
table = np.genfromtxt(os.path.join(data, "weather.csv"), delimiter=",", skip_header=1, missing_values=["", "NA", "nan"])
table = table[~np.isnan(table[:, -1])]
for j in range(table.shape[1]):
    middle = np.nanmedian(table[:, j])
    column = np.where(np.isnan(table[:, j]), middle, table[:, j])
    spread = np.nanmedian(np.abs(table[:, j] - middle)) * 1.4826
    reach = 4 * spread if spread > 0 else np.inf
    table[:, j] = np.clip(column, middle - reach, middle + reach)
np.save(os.path.join(out, "clean.npy"), np.round(table, 2))

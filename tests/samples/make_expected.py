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

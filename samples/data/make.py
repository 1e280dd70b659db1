"""Writes the files that the samples read, with NumPy and Pillow: python3 make.py (needs: pip install numpy pillow)."""
import os

import numpy as np
from PIL import Image, ImageDraw

here = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(7)

# A picture with soft and hard edges: a sky, a sun, hills, a house.
width, height = 240, 160
sky = np.linspace([70, 120, 200], [230, 220, 200], height)[:, None, :].repeat(width, axis=1)
sky += rng.normal(0, 4, sky.shape)
picture = Image.fromarray(np.clip(sky, 0, 255).astype(np.uint8))
draw = ImageDraw.Draw(picture)
draw.ellipse([170, 15, 210, 55], fill=(255, 240, 150))
draw.polygon([(0, 130), (60, 70), (130, 125), (185, 85), (240, 130), (240, 160), (0, 160)], fill=(60, 110, 60))
draw.rectangle([95, 95, 145, 145], fill=(180, 90, 70))
draw.polygon([(88, 97), (120, 68), (152, 97)], fill=(110, 50, 45))
draw.rectangle([113, 118, 127, 145], fill=(70, 45, 35))
picture.save(os.path.join(here, "house.png"))

# Three clouds of points in the plane.
centers = np.array([[-4.0, 0.0], [3.0, 3.0], [2.0, -4.0]])
points = np.concatenate([c + rng.normal(0, 1.0, (200, 2)) for c in centers])
np.save(os.path.join(here, "points.npy"), rng.permutation(points).astype(np.float32))

# Scores of 6 examples for 5 classes; in Fortran order, as other tools write too.
np.save(os.path.join(here, "scores.npy"), np.asfortranarray(rng.normal(0, 2, (6, 5)).astype(np.float32)))

# Links among 60 pages, some of them without any of their own.
pages = np.random.default_rng(8)
edges = np.stack([pages.integers(0, 50, 300), pages.integers(0, 60, 300) ** 2 // 60], axis=1)
np.save(os.path.join(here, "links.npy"), np.concatenate([edges, [[0, 59]]]).astype(np.int64))

# A physical table: the sound level of an aerofoil in a wind tunnel, from 5 quantities by a smooth law with noise.
wind = np.random.default_rng(9)
rows = 1503
frequency = np.exp(wind.uniform(np.log(200), np.log(20000), rows)).round()
angle = wind.choice([0, 1.5, 3, 4, 5.4, 7.3, 9.9, 12.6, 15.4, 17.4, 22.2], rows)
chord = wind.choice([0.0254, 0.0508, 0.1016, 0.1524, 0.2286, 0.3048], rows)
speed = wind.choice([31.7, 39.6, 55.5, 71.3], rows)
thickness = (0.0004 + 0.0025 * angle * chord * (71.3 / speed) ** 0.5 + wind.uniform(0, 0.004, rows)).round(6)
level = 132 - 4.5 * np.log10(frequency / 1000) ** 2 - 3 * np.log10(frequency / 1000) - 0.35 * angle - 30 * chord + 0.09 * speed - 120 * thickness
level = (level + wind.normal(0, 2.0, rows)).round(3)
with open(os.path.join(here, "sound.csv"), "w", newline="") as table:
    table.write("frequency,angle,chord,speed,thickness,level\n")
    for row in zip(frequency, angle, chord, speed, thickness, level):
        table.write(",".join(f"{v:g}" if v != row[-1] else f"{v:.3f}" for v in row) + "\n")

# A year of weather with gaps and typing errors.
days = np.random.default_rng(10)
n = 365
season = -np.cos(2 * np.pi * (np.arange(n) - 20) / 365)
weather = np.stack([10 + 9 * season + days.normal(0, 3, n), 1013 + days.normal(0, 8, n), np.clip(70 - 15 * season + days.normal(0, 9, n), 5, 100),
                    days.gamma(2, 1.8, n), np.maximum(days.normal(-2, 5, n), 0)], axis=1)
with open(os.path.join(here, "weather.csv"), "w", newline="") as table:
    table.write("temperature,pressure,humidity,wind,rain\n")
    for row in weather:
        words = [f"{v:.2f}" for v in row]
        for k in range(5):
            chance = days.random()
            words[k] = ["", "NA", "nan"][days.integers(3)] if chance < 0.03 else f"{row[k] * 100:.2f}" if chance < 0.037 else words[k]
        table.write(",".join(words) + "\n")

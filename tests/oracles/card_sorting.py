"""Sorts on an emulated card against NumPy's stable sorts, bit for bit: as `sorting`, with lengths on both sides of where the card's method changes."""
import numpy as np

import sorting

SHAPES = [(0,), (33,), (3, 0), (5, 129), (4, 257), (2049,), (2, 3, 4100)]
MORE = {"f32": [(1,), (31,), (300, 3), (256,), (9, 255), (3, 1000), (2048,), (4095,), (4096,), (4097,), (65_537,)],
        "i64": [(2047,), (2048,), (3, 2049), (20_000,)]}
CHUNKS = (4_200_000,)  # chunks of more than one tile
CARD = ["--device", "gpu-emu"]

SEED = 0


def run(oracle):
    rng = np.random.default_rng(oracle.seed)
    for type in sorting.TYPES:
        sorting.compare(oracle, rng, type, [*SHAPES, *MORE.get(type, [])], [CARD, [*CARD, "--schedule-seed", "7"]])
    sorting.compare(oracle, rng, "u8", [CHUNKS], [CARD])

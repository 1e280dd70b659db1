# The peer of dispatch.tl: PyTorch, imperatively.
import sys
import time

import torch

n = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
torch.set_num_threads(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
with torch.no_grad():
    x = torch.ones(4)
    for _ in range(1000):
        x = x * 0.999
    start = time.perf_counter()
    for _ in range(n):
        x = x * 0.999
    print(f"dependent {(time.perf_counter() - start) / n * 1e9:.1f} ns")
    chains = [torch.ones(size) for size in range(4, 12)]
    start = time.perf_counter()
    for _ in range(n // 8):
        chains = [chain * 0.999 for chain in chains]
    print(f"independent {(time.perf_counter() - start) / (n // 8 * 8) * 1e9:.1f} ns")

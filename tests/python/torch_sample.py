#!/usr/bin/env python3
"""samples/python/torch_layer.py, as it is and under torch.compile: it asserts that its losses are PyTorch's. Needs the package tl."""
import pathlib
import subprocess
import sys

try:
    import torch
    torch.library.custom_op
except (ImportError, AttributeError):
    print("SKIPPED: torch_sample.py (it needs PyTorch 2.4 or later)")
    sys.exit(77)

sample = pathlib.Path(__file__).resolve().parents[2] / "samples/python/torch_layer.py"
failed = 0
for arguments in ([], ["--compile"]):
    done = subprocess.run([sys.executable, sample, *arguments], capture_output=True, text=True, timeout=600)
    if done.returncode or "of the points are on the right arm" not in done.stdout:
        failed += 1
        print(done.stdout, done.stderr, sep="\n")
print(f"torch_sample: {failed} failed")
sys.exit(1 if failed else 0)

#!/usr/bin/env python3
"""How long diagnostics take while someone types: latency.py TL [LINES] [EDITS]. Types blanks at random places of a program of functions, main and
loops, and waits each time for what the server says. Wall time, and what the server's threads used of the processor, which other programs do
not change: p50, p95 and the most, in ms."""
import os
import random
import sys
import time

sys.dont_write_bytecode = True

from client import Client  # noqa: E402

FUNCTION = """## Step {n} of the model.
fn step{n}(x: f32[n, 3], w: f32[3], k: i64) -> f32[n] {{
  let centred = x - x.mean(axis = 0)
  var total = centred @ w
  for i in 0..k {{
    let scale = 1.0 / f32(i + {n})
    total = total * scale + sin(total)
  }}
  let rows = [sum(centred[r]) for r in 0..{few}]
  if total.sum() > 0.0 {{ total + rows[0] }} else {{ {last} }}
}}
"""
MAIN = """fn main(n: i64 = 3) {{
  let x = ones([n, 3])
  print(step{n}(x, [1.0, 2.0, 3.0], 4))
}}
"""


def program(lines, rng):
    parts = []
    while sum(part.count("\n") + 1 for part in parts) < lines:
        n = len(parts) + 1
        last = f"step{rng.randrange(1, n)}(x, w, k)" if n > 1 else "total"
        parts.append(FUNCTION.format(n=n, few=3 + n % 5, last=last))
    return "\n".join([*parts, MAIN.format(n=len(parts))])


def processor_ms(process):
    tasks = f"/proc/{process.pid}/task"
    used = 0
    for task in os.listdir(tasks):
        with open(f"{tasks}/{task}/schedstat", encoding="ascii") as file:
            used += int(file.read().split()[0])
    return used / 1e6


def main():
    tl, numbers = os.path.abspath(sys.argv[1]), list(map(int, sys.argv[2:]))
    lines, edits = numbers + [2000, 40][len(numbers):]
    rng = random.Random(1)
    text = program(lines, rng).split("\n")
    client, path = Client(tl), "/typed.tl"
    client.open(path, "\n".join(text))
    client.published(path)
    times = {"wall": [], "processor": []}
    for _ in range(edits):
        row = rng.choice([i for i, line in enumerate(text) if line.startswith("  ")])
        place = {"line": row, "character": len(text[row])}
        text[row] += " "
        before, begin = processor_ms(client.process), time.monotonic()
        client.change(path, {"range": {"start": place, "end": place}, "text": " "})
        client.published(path)
        times["wall"].append((time.monotonic() - begin) * 1e3)
        times["processor"].append(processor_ms(client.process) - before)
        time.sleep(0.05)  # what is left of the last check is freed
    for name, all_ in times.items():
        all_.sort()
        print(f"{name:<10} p50 {all_[len(all_) // 2]:6.1f}  p95 {all_[len(all_) * 95 // 100]:6.1f}  most {all_[-1]:6.1f} ms")
    client.end()


main()

#!/usr/bin/env python3
"""Random ONNX graphs (random_graph.py) through tl and ONNX Runtime: tests/onnx/graphs.py TL SECONDS [SEED] [--count=N] [--only=NUMBER].

A graph has 10 to 40 nodes of some 90 operators, open axes, arithmetic on shapes, branches, constants, and an operator set from 13 to 21. It
is imported once and run at two sizes. How near results have to be follows from what happens to them when the inputs are changed a little. A
graph on which the two differ is cut down to the first value that is wrong, and kept in build/onnx. Runs in the environment of
environment.sh. Ends with `N passed, N failed`."""
import collections
import concurrent.futures
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from random_graph import generated, model_with, session_of  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS, BYTES = 60, 6 << 30


def limited():
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))


def call(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, errors="replace", timeout=SECONDS, preexec_fn=limited)


def problem(tl, g, names, folder):
    """What goes wrong with the part of the graph that computes these values: a kind and a text; or nothing."""
    model = model_with(g, names)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    try:
        session = session_of(model)
        needed = [value.name for value in session.get_inputs()]
        inputs = [[{v.name: v.arrays[size] for v, _ in g.inputs}[name] for name in needed] for size in range(2)]
        wanted = [session.run(None, dict(zip(needed, inputs[size]))) for size in range(2)]
    except Exception as error:
        return "unusable", str(error)
    if not needed:
        return None
    try:
        done = call(tl, "import", path, "-o", folder / "model.tl")
        if done.returncode == 1 and re.match(r"tl: \S+: \w+( of the domain \S+)?( `.*`)?, opset", done.stderr):
            return "refused", done.stderr
        if done.returncode:
            return "import", f"ends with {done.returncode}: {done.stderr}"
        for size in range(2):
            words = []
            for k, array in enumerate(inputs[size]):
                np.save(folder / f"in{k}.npy", array)
                words.append(folder / f"in{k}.npy")
            for k in range(len(names)):
                words += ["-o", folder / f"out{k}.npy"]
            done = call(tl, "run", folder / "model.tl", *words)
            if done.returncode:
                return "run", f"size {size} ends with {done.returncode}: {done.stderr}"
            moved = [x * (1 + 1e-6 * g.n.standard_normal(x.shape)).astype("f4") if x.dtype.kind == "f" else x for x in inputs[size]]
            elsewhere = session.run(None, dict(zip(needed, moved)))
            for k, (name, right, other) in enumerate(zip(names, wanted[size], elsewhere)):
                got = np.load(folder / f"out{k}.npy")
                if got.shape != right.shape or got.dtype != right.dtype:
                    return "result", f"size {size}, {name}: {got.dtype}{list(got.shape)}, and {right.dtype}{list(right.shape)} is right"
                if right.dtype.kind != "f":
                    if not np.array_equal(got, right):
                        return "result", f"size {size}, {name}: other integers"
                    continue
                near = 1e-4 * max(np.abs(right).max(), 1e-3) + 30 * np.abs(other - right).max()
                if not np.abs(got - right).max() <= near:  # NaN is far
                    return "result", f"size {size}, {name}: off by {np.abs(got - right).max():.2e} of {np.abs(right).max():.2e}"
    except subprocess.TimeoutExpired as error:
        return "time", f"{error.cmd[1]} takes longer than {SECONDS} seconds"
    return None


def used(g):
    return {name for node in g.nodes for name in node.input}


def one(tl, seed, kept):
    """The kind of problem of a graph, if there is one, and what is said of it."""
    g = generated(seed)
    taken = used(g)
    computed = [v.name for v in g.values if not any(v is i for i, _ in g.inputs) and not v.sizes]
    outputs = [name for name in computed if name not in taken][-5:]
    if not outputs:
        return "unusable", ""
    with tempfile.TemporaryDirectory(prefix="tl-onnx-") as top:
        folder = pathlib.Path(top)
        found = problem(tl, g, outputs, folder)
        if found is None or found[0] in ("unusable", "refused"):
            return found
        for name in computed:  # the first value that is wrong
            smaller = problem(tl, g, [name], folder)
            if smaller and smaller[0] not in ("unusable", "refused"):
                found = smaller
                break
        path = kept / f"graph-{seed}.onnx"
        path.write_bytes((folder / "model.onnx").read_bytes())
        for size in range(2):
            np.savez(kept / f"graph-{seed}-{size}.npz", **{v.name: v.arrays[size] for v, _ in g.inputs})
        count = len([n for n in onnx.load(path).graph.node if n.op_type != "Constant"])
        return found[0], f"{' '.join(found[1].split())[:600]}\n  kept in {path}: {count} nodes"


def main():
    flags = dict(a[2:].split("=") for a in sys.argv[1:] if a.startswith("--"))
    words = [a for a in sys.argv[1:] if not a.startswith("--")]
    tl, seconds = pathlib.Path(words[0]).resolve(), float(words[1])
    seed = int(words[2]) if len(words) > 2 else int(time.time())
    print(f"seed {seed}", flush=True)
    kept = ROOT / "build" / "onnx"
    kept.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + seconds
    numbers = iter([int(flags["only"])] if "only" in flags else range(int(flags.get("count", 1 << 40))))
    kinds, reasons = collections.Counter(), collections.Counter()

    def work(_):
        while time.monotonic() < end:
            number = next(numbers, None)
            if number is None:
                return
            found = one(tl, f"{seed}-{number}", kept)
            kinds[found[0] if found else "passed"] += 1
            if found and found[0] == "refused":
                reasons.update(re.sub(r"`[^`]*`|^tl: \S+ ", "", line)[:110] for line in found[1].splitlines())
            elif found and found[0] != "unusable":
                print(f"FAIL {seed}-{number}, {found[0]}: {found[1]}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))
    for reason, count in reasons.most_common(20):
        print(f"  refused {count} times: {reason}")
    failed = sum(count for kind, count in kinds.items() if kind not in ("passed", "refused", "unusable"))
    print(f"{kinds['refused']} graphs are refused, {kinds['unusable']} are no graphs")
    print(f"{kinds['passed']} passed, {failed} failed")
    sys.exit(failed > 0 or kinds["passed"] == 0)


if __name__ == "__main__":
    main()

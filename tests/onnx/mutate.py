#!/usr/bin/env python3
"""Changes the published models of the package onnx at random, and imports them: tests/onnx/mutate.py TL SECONDS [SEED].

Inputs are dropped, doubled and exchanged, ranks, sizes, types and attributes changed: whatever comes of it, `tl import` ends with 0, 1, 2 or
3 and a message, within its time and memory; what it accepts, `tl check` ends with 0 or 1. Each finding is kept in ./build/onnx. Ends with
`N passed, N failed`."""
import concurrent.futures
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

import onnx
from onnx.backend.test.loader import load_model_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS, BYTES = 20, 6 << 30
EXTREMES = [0, 1, -1, 2, 3, 7, -2, 64, 1 << 31, (1 << 63) - 1, -(1 << 63), 1 << 40]


def change(model, source):
    graph = model.graph
    node = source.choice(graph.node)
    what = source.randrange(10)
    if what == 0 and node.input:
        node.input[source.randrange(len(node.input))] = ""
    elif what == 1 and node.input:
        del node.input[source.randrange(len(node.input)) :]
    elif what == 2 and len(node.input) > 1:
        i, j = source.sample(range(len(node.input)), 2)
        node.input[i], node.input[j] = node.input[j], node.input[i]
    elif what == 3 and node.input:
        node.input.append(source.choice(node.input))
    elif what in (4, 5) and graph.input:
        tensor = source.choice(graph.input).type.tensor_type
        dims = tensor.shape.dim
        choice = source.randrange(4)
        if choice == 0 and dims:
            del dims[source.randrange(len(dims))]
        elif choice == 1:
            dims.add().dim_value = source.choice(EXTREMES)
        elif choice == 2 and dims:
            source.choice(dims).dim_value = source.choice(EXTREMES)
        elif dims:
            source.choice(dims).dim_param = source.choice(["n", "m", "batch", "?", "a b", "-1"])
    elif what == 6 and graph.input:
        source.choice(graph.input).type.tensor_type.elem_type = source.randrange(1, 17)
    elif what == 7 and node.attribute:
        attribute = source.choice(node.attribute)
        attribute.i = source.choice(EXTREMES)
        for k in range(len(attribute.ints)):
            attribute.ints[k] = source.choice([attribute.ints[k], source.choice(EXTREMES)])
        if attribute.ints and source.random() < 0.3:
            del attribute.ints[-1]
    elif what == 8 and graph.initializer:
        tensor = source.choice(graph.initializer)
        if tensor.dims:
            tensor.dims[source.randrange(len(tensor.dims))] = source.choice(EXTREMES)
    elif what == 9 and node.attribute:
        del node.attribute[source.randrange(len(node.attribute))]


def limited():
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))


def one(tl, folder, model, values):
    """Nothing, or what went wrong. Integers among the inputs may be fixed, so that more is computed when importing."""
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    for words in (["import", path, "-o", folder / "model.tl", *values], ["check", path, *values]):
        try:
            done = subprocess.run([tl, *words], capture_output=True, text=True, errors="replace", timeout=SECONDS, preexec_fn=limited)
        except subprocess.TimeoutExpired:
            return f"{words[0]} takes longer than {SECONDS} seconds"
        if done.returncode not in ((0, 1, 2, 3) if words[0] == "import" else (0, 1)) or (done.returncode and not done.stderr):
            return f"{words[0]} ends with {done.returncode}: {done.stderr[-300:]}"
        if done.returncode != 0:
            return None
    return None


def main():
    tl, seconds = pathlib.Path(sys.argv[1]).resolve(), float(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
    print(f"seed {seed}")
    cases = load_model_tests(kind="node")
    kept = ROOT / "build" / "onnx"
    kept.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + seconds

    def work(worker):
        source, passed, failed = random.Random(f"{seed}-{worker}"), 0, 0
        with tempfile.TemporaryDirectory(prefix="tl-onnx-") as top:
            while time.monotonic() < end:
                case = source.choice(cases)
                model = onnx.ModelProto()
                model.CopyFrom(case.model)
                for _ in range(source.randrange(1, 4)):
                    if model.graph.node:
                        change(model, source)
                values = []
                for value in model.graph.input:
                    if value.type.tensor_type.elem_type in (6, 7) and source.random() < 0.5:
                        values += ["--input", f"{value.name}={','.join(str(source.choice(EXTREMES)) for _ in range(source.randrange(4)))}"]
                problem = one(tl, pathlib.Path(top), model, values)
                passed, failed = passed + (problem is None), failed + (problem is not None)
                if problem:
                    path = kept / f"{seed}-{worker}-{passed + failed}.onnx"
                    path.write_bytes(model.SerializeToString())
                    print(f"FAIL {case.name} {' '.join(values)}: {' '.join(problem.split())}\n  kept in {path}")
        return passed, failed

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(work, range(2)))
    passed, failed = (sum(c[k] for c in counts) for k in range(2))
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

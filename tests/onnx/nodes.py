#!/usr/bin/env python3
"""The published cases of the package onnx, one operator each, through `tl import` and `tl run`: tests/onnx/nodes.py TL [FILTER] [--every=N]
[--write].

Runs in the environment of environment.sh, where the version of onnx is pinned. --every=N: each N-th case. tests/onnx/refused.txt lists the cases that do not pass, with the
reason; every other case must pass, and none that is listed may (`--write` makes the list anew). Ends with `N passed, N failed`."""
import concurrent.futures
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / "refused.txt"
LEAST = 1800  # cases that the package has: fewer, and it is another package
SECONDS = 60


def array_of(value):
    if isinstance(value, list):
        return [array_of(item) for item in value]
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return value


def save(path, value):
    """Gives the path: .npy, or .safetensors for bfloat16, which .npy does not have; .npz for a sequence."""
    if isinstance(value, list):
        np.savez(path.with_suffix(".npz"), *value)
        return path.with_suffix(".npz")
    value = np.ascontiguousarray(value).reshape(np.shape(value))
    if value.dtype.name != "bfloat16":
        np.save(path.with_suffix(".npy"), value)
        return path.with_suffix(".npy")
    header = json.dumps({"x": {"dtype": "BF16", "shape": list(value.shape), "data_offsets": [0, value.nbytes]}}).encode()
    path.with_suffix(".safetensors").write_bytes(struct.pack("<Q", len(header)) + header + value.tobytes())
    return path.with_suffix(".safetensors")


def load(path, wanted):
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".npz":
        return [np.load(path)[f"arr_{k}"] for k in range(len(np.load(path).files))]
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    (of,) = (v for k, v in json.loads(data[8 : 8 + size]).items() if k != "__metadata__")
    return np.frombuffer(data[8 + size :], wanted.dtype if of["dtype"] == "BF16" else np.uint8).reshape(of["shape"])


def parameters_of(program):
    """Names and types of main's parameters, in order."""
    text = re.search(r"fn main\((.*?)\)\s*(?:->|=|\{)", program, re.S).group(1)
    return re.findall(r"(\w+): (\w+)([\[<])?", text)


def word(value):
    value = np.asarray(value)
    if value.dtype == bool:
        return "true" if value else "false"
    return repr(float(value)) if value.dtype.kind == "f" else str(int(value))


def run(tl, folder, case):
    """Nothing where the case passes, else what went wrong."""
    model = folder / "model.onnx"
    model.write_bytes(case.model.SerializeToString())
    limits = {"capture_output": True, "text": True, "errors": "replace", "timeout": SECONDS}
    command = [tl, "import", model, "-o", folder / "model.tl"]
    fixed = {declared.name for value, declared in zip(case.data_sets[0][0], case.model.graph.input) if value is None}
    for name in fixed:
        command += ["--input", f"{name}=none"]
    done = subprocess.run(command, **limits)
    if done.returncode == 1 and "only when it runs" in done.stderr:  # axes and the like, which these cases have as inputs
        for value, declared in zip(case.data_sets[0][0], case.model.graph.input):
            value = np.asarray(array_of(value)) if isinstance(value, (np.ndarray, np.generic, onnx.TensorProto)) else None
            if value is not None and value.dtype.kind in "iub" and value.size <= 16 and value.ndim < 2:
                fixed.add(declared.name)
                command += ["--input", f"{declared.name}={','.join(word(v) for v in value.flatten())}"]
        done = subprocess.run(command, **limits)
    if done.returncode != 0:
        reasons = [re.sub(r"^.*?, opset \d+: ", "", line) for line in done.stderr.splitlines()]
        return f"refused: {reasons[0] if reasons else ''}" if done.returncode == 1 else f"import ends with {done.returncode}: {done.stderr[:200]}"
    program = (folder / "model.tl").read_text()
    parameters = parameters_of(program)
    for number, (inputs, outputs) in enumerate(case.data_sets):
        words = []
        given = [v for v, declared in zip(inputs, case.model.graph.input) if declared.name not in fixed]
        for i, (value, (name, _, is_tensor)) in enumerate(zip(given, parameters)):
            value = array_of(value)
            if is_tensor:
                words.append(save(folder / f"in{i}", value))
            else:
                words.append(f"--{name}={word(value)}")
        ending = lambda value: ".npz" if isinstance(value, list) else ".safetensors" if np.asarray(value).dtype.name == "bfloat16" else ".npy"
        outputs = [array_of(value) for value in outputs]
        files = [folder / f"out{i}{ending(value)}" for i, value in enumerate(outputs)]
        for file in files:
            words += ["-o", file]
        done = subprocess.run([tl, "run", folder / "model.tl", *words], **limits)
        if done.returncode != 0:
            return f"run ends with {done.returncode}: {done.stderr.strip()[:300]}"
        pairs = []
        for i, (file, expected) in enumerate(zip(files, outputs)):
            made = load(file, np.asarray(expected)) if not isinstance(expected, list) else load(file, None)
            if isinstance(expected, list) and len(made) != len(expected):
                return f"output {i} has {len(made)} elements, and {len(expected)} are right"
            pairs += [(i, *pair) for pair in zip(made, expected)] if isinstance(expected, list) else [(i, made, expected)]
        for i, got, expected in pairs:
            wanted = np.asarray(expected)
            if got.dtype != wanted.dtype or got.shape != wanted.shape:
                return f"output {i} is {got.dtype}{list(got.shape)}, and {wanted.dtype}{list(wanted.shape)} is right"
            if wanted.dtype.kind not in "fV":
                near = np.array_equal(got, wanted)
            else:
                near = np.allclose(got.astype("f8"), wanted.astype("f8"), rtol=case.rtol, atol=case.atol, equal_nan=True)
            if not near:
                return f"output {i} is wrong"
    return None


def main():
    flags = [a for a in sys.argv[1:] if a.startswith("--")]
    words = [a for a in sys.argv[1:] if not a.startswith("--")]
    tl, text = pathlib.Path(words[0]).resolve(), words[1] if len(words) > 1 else ""
    with warnings.catch_warnings(action="ignore"):  # of the package's own arithmetic
        cases = {case.name: case for case in load_model_tests(kind="node")}
    assert len(cases) >= LEAST, f"the package has {len(cases)} cases, and {LEAST} at least were expected"
    cases = {name: case for name, case in cases.items() if text in f"onnx cases {name}"}
    every = next((int(flag[8:]) for flag in flags if flag.startswith("--every=")), 1)
    if text in "onnx cases":  # which is no name of a case
        cases = {name: case for i, (name, case) in enumerate(sorted(cases.items())) if i % every == 0}
    known = dict(line.split(" ", 1) for line in LIST.read_text().splitlines()) if LIST.exists() else {}
    found = {}
    with tempfile.TemporaryDirectory(prefix="tl-onnx-") as top, concurrent.futures.ThreadPoolExecutor(2) as pool:

        def one(name):
            folder = pathlib.Path(top) / name
            folder.mkdir()
            try:
                return name, run(tl, folder, cases[name])
            except subprocess.TimeoutExpired:
                return name, f"it takes longer than {SECONDS} seconds"
            except Exception as error:  # a case that cannot be written or compared
                return name, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"

        for name, problem in pool.map(one, cases):
            if problem:
                found[name] = " ".join(problem.replace(f"{top}/{name}/", "").split())[:90]
    if "--write" in flags:
        kept = {name: reason for name, reason in known.items() if name not in cases}
        LIST.write_text("".join(f"{name} {reason}\n" for name, reason in sorted({**kept, **found}.items())))
    failed = 0
    for name in cases:
        if name in found and name not in known:
            failed += 1
            print(f"FAIL {name}: {found[name]}")
        elif name not in found and name in known:
            failed += 1
            print(f"FAIL {name}: it passes, and {LIST.name} says `{known[name]}`")
    print(f"{len(cases) - len(found)} of {len(cases)} cases pass; {sum(r.startswith('refused') for r in found.values())} are refused")
    print(f"{len(cases) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

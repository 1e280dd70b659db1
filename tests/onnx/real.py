#!/usr/bin/env python3
"""Models that published packages carry (zoo.py) through `tl import` and `tl build`, beside ONNX Runtime: tests/onnx/real.py TL [FILTER] [--quick].

One import and one executable serve all sizes; results are within 1e-5 of the largest, and the executable holds little more than the
weights. Runs in the environment of environment.sh; --quick: only models that are done in a second or two. Ends with `N passed, N failed`."""
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import zoo  # noqa: E402

NEAR = 1e-5
SECONDS = 300
QUICK = ("silero_sequence", "silero_op15", "magika", "cls")
LEAST = 16  # models that there are


def call(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, errors="replace", timeout=SECONDS)


def timed(*words):
    begin = time.monotonic()
    done = call(*words)
    return done, time.monotonic() - begin


def session_of(path, threads=0):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def words_of(folder, names, inputs):
    """The command line of these inputs, in the order of names."""
    words = []
    for k, name in enumerate(names):
        np.save(folder / f"in{k}.npy", inputs[name])
        words.append(folder / f"in{k}.npy")
    return words


def distance(got, wanted, scale=0.0):
    """The largest difference, by the largest number there is, or by scale; infinite where types or sizes differ."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype or not np.isfinite(got).all():
        return np.inf
    return float(np.abs(got - wanted).max() / max(np.abs(wanted).max(), scale)) if wanted.size else 0.0


def problems(tl, model, folder):
    """What is wrong with a model, by the names of checks; None where a check passes."""
    path = model.write(folder)
    program, executable = folder / "model.tl", folder / "model"
    done, importing = timed(tl, "import", path, "-o", program, *model.flags)
    yield "import", None if done.returncode == 0 else done.stderr
    if done.returncode:
        return
    done, building = timed(tl, "build", "--no-cache", program, "-o", executable)
    yield "build", None if done.returncode == 0 else done.stderr
    if done.returncode:
        return
    weights = (folder / "model.safetensors").stat().st_size if (folder / "model.safetensors").exists() else 0
    more = executable.stat().st_size - weights
    yield "size", None if more <= model.more * 1e6 else f"the executable has {more:,} bytes more than its weights, and {model.more} MB are allowed"
    session = session_of(path)
    names = [value.name for value in session.get_inputs() if value.name not in model.fixed]
    found = []
    for size in model.sizes:
        inputs = model.inputs(size)
        wanted = session.run(None, {**inputs, **model.fixed})
        words = words_of(folder, names, inputs)
        files = [folder / f"out{k}.npy" for k in range(len(wanted))]
        done = call(executable, *words, *(word for file in files for word in ("-o", file)))
        if done.returncode:
            yield f"size {size}", done.stderr
            continue
        far = max(distance(np.load(file), right, model.scale) for file, right in zip(files, wanted))
        found.append(far)
        yield f"size {size}", None if far <= NEAR else f"differs by {far:.1e} of the largest"
    print(f"{model.name}: imported in {importing:.2f} s, built in {building:.1f} s, weights {weights / 1e6:.1f} MB and {more / 1e6:.2f} more, "
          f"distances {' '.join(f'{far:.0e}' for far in found)}", flush=True)


def main():
    flags = [a for a in sys.argv[1:] if a.startswith("--")]
    words = [a for a in sys.argv[1:] if not a.startswith("--")]
    tl, text = pathlib.Path(words[0]).resolve(), words[1] if len(words) > 1 else ""
    assert len(zoo.MODELS) >= LEAST
    passed = failed = 0
    for model in zoo.MODELS:
        if text not in f"onnx models {model.name}" or ("--quick" in flags and model.name not in QUICK):
            continue
        with tempfile.TemporaryDirectory(prefix="tl-onnx-") as folder:
            for name, problem in problems(tl, model, pathlib.Path(folder)):
                passed, failed = passed + (problem is None), failed + (problem is not None)
                if problem is not None:
                    print(f"FAIL {model.name}, {name}: {problem[:800]}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

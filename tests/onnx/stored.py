#!/usr/bin/env python3
"""The stored models (models.py, export.py) through every command that takes one, and damaged ones: tests/onnx/stored.py TL [FILTER].
What is right was computed by ONNX Runtime, or PyTorch. Ends with `N passed, N failed`."""
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
passed = failed = 0


def check(name, good, said=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAIL {name}\n{said[:1500]}")


def call(*words, cwd=None):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, errors="replace", timeout=120, cwd=cwd)


def results(name, command, stored, folder):
    """Runs a command that takes inputs and -o FILE at each of the sizes."""
    for size in range(2):
        inputs = [stored[f"{size}.in.{k}"] for k in range(9) if f"{size}.in.{k}" in stored]
        wanted = [stored[f"{size}.out.{k}"] for k in range(9) if f"{size}.out.{k}" in stored]
        words = []
        for k, value in enumerate(inputs):
            np.save(folder / f"in{k}.npy", value)
            words.append(folder / f"in{k}.npy")
        for k in range(len(wanted)):
            words += ["-o", folder / f"out{k}.npy"]
        done = call(*command, *words)
        good = done.returncode == 0
        for k, value in enumerate(wanted if good else []):
            got = np.load(folder / f"out{k}.npy")
            good &= got.dtype == value.dtype and got.shape == value.shape
            good = good and np.allclose(got, value, rtol=1e-5, atol=1e-5 * max(1.0, float(np.abs(value).max())))
        check(f"{name}, size {size}", good, done.stderr)


def damaged(tl, name, data, folder):
    """Cut and changed files: a result or a message, never a crash, and no more memory than the file explains."""
    source = random.Random(name)
    for number in range(24):
        changed = bytearray(data)
        if number % 3 == 0:
            changed = changed[: source.randrange(len(changed))]
        else:
            for _ in range(1 + number % 5):
                changed[source.randrange(len(changed))] = source.randrange(256)
        path = folder / "damaged.onnx"
        path.write_bytes(changed)
        done = call(tl, "import", path, "-o", folder / "damaged.tl")
        good = done.returncode in (0, 1, 2, 3) and (done.returncode == 0 or done.stderr.startswith("tl: "))
        check(f"{name}, damaged {number}: exit code {done.returncode}", good, done.stderr)


def main():
    tl, text = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory(prefix="tl-onnx-") as top:
        folder = pathlib.Path(top)
        for model in sorted(HERE.glob("*.onnx")):
            name = model.stem
            if text not in f"onnx {name}":
                continue
            stored = np.load(model.with_suffix(".npz"))
            program = folder / f"{name}.tl"
            done = call(tl, "import", model, "-o", program)
            check(f"{name}: import", done.returncode == 0, done.stderr)
            check(f"{name}: its form", call(tl, "fmt", "--check", program).returncode == 0)
            check(f"{name}: check", call(tl, "check", model).returncode == 0)
            results(f"{name}: imported and run", [tl, "run", program], stored, folder)
            results(f"{name}: run", [tl, "run", model], stored, folder)
            results(f"{name}: interpreted", [tl, "run", "--interp", program], stored, folder)
            built = call(tl, "build", model, "-o", folder / name)
            check(f"{name}: build", built.returncode == 0, built.stderr)
            results(f"{name}: built", [folder / name], stored, folder)
            damaged(tl, name, model.read_bytes(), folder)
        for model in sorted((HERE / "wrong").glob("*.onnx")):
            name = model.stem.replace("_", " ")
            if text in f"onnx wrong: {name}":
                done = call(tl, "import", model, "-o", folder / "wrong.tl")
                check(f"wrong: {name}", done.returncode == 1 and done.stderr.startswith("tl: "), f"{done.returncode}: {done.stderr}")
        if text in "onnx manual":
            page = (ROOT / "docs" / "onnx.md").read_text()
            program = folder / "convolution.tl"
            call(tl, "import", HERE / "convolution.onnx", "-o", program)
            example = page.split("writes a struct of its weights")[1].split("```")[1].strip()
            check("the page's example", example in program.read_text(), example)
            rows = [row for file in (ROOT / "importers" / "onnx").glob("*.cpp") for row in re.findall(r'^\s+\{"(\w+)", (\d+), ', file.read_text(), re.M)]
            words = sorted(name if int(since) <= 7 else f"{name} {since}" for name, since in rows)
            table = page.split("later than 7):")[1].split("Not there:")[0]
            check("the page's table", sorted(" ".join(word.split()) for word in table.split("·")) == words, table)
        if text in "onnx axes":
            stored = np.load(HERE / "fixed.npz")
            both = {f"0.{way}.0": np.concatenate([stored[f"{k}.{way}.0"] for k in range(2)]) for way in ("in", "out")}
            both |= {f"1.{way}.0": stored[f"1.{way}.0"] for way in ("in", "out")}
            results("an axis that is opened", [tl, "run", "--dim", "image.0=batch", HERE / "fixed.onnx"], both, folder)
            done = call(tl, "import", HERE / "quantized.onnx", "-o", folder / "x.tl", "--dim", "x.0=4", "--dim", "x.1=columns")
            check("an axis by its place", "f32[4, columns]" in (folder / "x.tl").read_text(), done.stderr)
            done = call(tl, "import", HERE / "fixed.onnx", "-o", folder / "x.tl", "--dim", "image.2=height")
            good = done.returncode == 1 and "its shape is fixed and has no place for what --dim leaves open" in done.stderr
            check("an axis that cannot be opened", good, done.stderr)
        if text in "onnx blocks":
            done = call(tl, "import", HERE / "repeated.onnx", "-o", folder / "x.tl")
            lines = (folder / "x.tl").read_text().splitlines()
            blocks = [line for line in lines if line.startswith("fn layer(")]
            calls = [line for line in lines if " = layer(" in line]
            check("layers that are alike are a function", len(blocks) == 1 and len(calls) == 4 and sum("tanh" in line for line in lines) == 1, "\n".join(lines))
        if text in "onnx wrong use":
            model = HERE / "convolution.onnx"
            for words, code, said in (
                (["import", folder / "none.onnx"], 2, "no such file"),
                (["import", model, "-o", folder / "x.txt"], 2, "ends in .tl"),
                (["import", model, "--dim", "batch"], 2, "NAME=VALUE"),
                (["import", model, "--dim", "batch=x"], 2, "is no size"),
                (["import", model, "--dim", "depth=2"], 2, "leaves nothing of this name open"),
                (["import", model, "--dim", "image.4=2"], 2, "--dim image.4: the model leaves nothing of this name open"),
                (["import", model, "--dim", "image.0=a-b"], 2, "neither a size nor a name"),
                (["import", model, "--dim", "image.0="], 2, "neither a size nor a name"),
                (["import", model, "--input", "sound=1"], 2, "leaves nothing of this name open"),
                (["run", "--dim", "n=1", folder / "convolution.tl"], 2, "are for ONNX models"),
                (["import", HERE / "stored.py", "-o", folder / "x.tl"], 1, "no ONNX model"),
            ):
                done = call(tl, *words)
                check(f"wrong use: {words}", done.returncode == code and said in done.stderr, f"{done.returncode}: {done.stderr}")
            done = call(tl, "import", model, "-o", folder / "fixed.tl", "--dim", "height=8", "--dim", "width=8")
            check("sizes that are fixed", done.returncode == 0 and "f32[batch, 3, 8, 8]" in (folder / "fixed.tl").read_text(), done.stderr)
            np.save(folder / "two.npy", np.zeros((1, 2, 8), "f4"))
            done = call(tl, "run", HERE / "squeezed.onnx", folder / "two.npy")
            check("a size that the model has no result for", done.returncode == 3 and "AssertionFailed" in done.stderr, done.stderr)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

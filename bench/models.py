#!/usr/bin/env python3
"""ONNX models through tl and through ONNX Runtime: bench/models.py TL [--pairs N] [--profile] [MODEL…] (`./dev bench models`).

Runs in the environment of tests/environment.sh, with the models of tests/onnx/zoo.py. A call is measured inside a process of Python for
each side: `predict` of a library that `tl build` made, and `session.run`. The processes take turns, and the one that waits is stopped, since
threads of ONNX Runtime keep busy for a while after a run. A start is that of the executable, with a file in and files out, and that of
`python -c` that does the same with ONNX Runtime: time and peak memory (of a call too). Results are compared.
--profile: the lines in which tl's executable spends its time, of each model.
"""
import argparse
import json
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "onnx"))

import real  # noqa: E402
import zoo  # noqa: E402

LEFT_OUT = ("det_logits",)  # `det` but for its last node
SIZES = {"silero_sequence": 50, "det": (320, 320), "rec": (1, 320)}
SLICE = 0.25  # seconds of calls in a round, and three calls at least
PEER = """
import sys, numpy, onnxruntime
onnxruntime.set_default_logger_severity(4)
model, count = sys.argv[1], int(sys.argv[2])
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
inputs = dict(numpy.load(sys.argv[3]))
for k, result in enumerate(session.run(None, inputs)):
    numpy.save(f"{sys.argv[4]}{k}.npy", result)
"""


# ---- a process that calls: `bench/models.py --serve SIDE THREADS FOLDER`

def caller(side, threads, folder):
    """A function without arguments that computes the results as arrays."""
    inputs = dict(np.load(folder / "inputs.npz"))
    about = json.loads((folder / "about.json").read_text())
    if side == "tl":
        sys.path.insert(0, str(folder))
        import library

        library.configure("threads", str(threads))
        values = [inputs[name] for name in about["names"]]

        def call():
            results = library.predict(*values)
            return results if isinstance(results, tuple) else (results,)

        return call
    session = real.session_of(about["model"], threads)
    return lambda: session.run(None, inputs)


def serve(side, threads, folder):
    """For each line on standard input a round of calls: the median of their times in milliseconds, and the least."""
    call = caller(side, threads, folder)
    np.savez(folder / f"{side}{threads}.npz", *call())
    for _ in sys.stdin:
        times, end = [], time.perf_counter() + SLICE
        while len(times) < 3 or time.perf_counter() < end:
            begin = time.perf_counter()
            call()
            times.append((time.perf_counter() - begin) * 1e3)
        print(statistics.median(times), min(times), flush=True)


class Server:
    def __init__(self, side, threads, folder):
        words = [sys.executable, __file__, "--serve", side, str(threads), str(folder)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.times = []
        self.round()  # warm

    def round(self, kept=False):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        self.process.send_signal(signal.SIGSTOP)
        if not line:
            raise RuntimeError("a process that computes has ended")
        if kept:
            self.times.append(float(line.split()[0]))

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait()


# ---- one model

def spawned(program, words):
    """Milliseconds from starting a process to its end, and megabytes at its peak: as bench/spawned.cpp has them, a small process, since a
    new one's peak is at least that of the one that starts it."""
    done = real.call(program, 1, *words)
    if done.returncode:
        raise RuntimeError(f"{words[0]} ends with {done.returncode}: {done.stderr}")
    time, kilobytes = done.stdout.split()[-2:]
    return float(time), int(kilobytes) * 1024 / 1e6


def prepared(tl, model, folder):
    """The library, the executable and what they take; returns the commands of both sides that start, compute and end."""
    path = model.write(folder)
    program = folder / "model.tl"
    for words in (["import", path, "-o", program, *model.flags], ["build", program, "-o", folder / "model"],
                  ["build", "--lib", "--python", program, "-o", folder / "library"]):
        done = real.call(tl, *words)
        if done.returncode:
            raise RuntimeError(f"{model.name}: {words[0]}: {done.stderr}")
    session = real.session_of(path)
    names = [value.name for value in session.get_inputs() if value.name not in model.fixed]
    inputs = model.inputs(SIZES.get(model.name, model.sizes[0]))
    np.savez(folder / "inputs.npz", **inputs, **model.fixed)
    (folder / "about.json").write_text(json.dumps({"names": names, "model": str(path)}))
    outputs = [word for k in range(len(session.get_outputs())) for word in ("-o", folder / f"out{k}.npy")]
    ours = [folder / "model", *real.words_of(folder, names, inputs), *outputs]
    return ours, [sys.executable, "-c", PEER, path, len(outputs) // 2, folder / "inputs.npz", folder / "peer"]


def equal(model, folder, threads):
    ours, theirs = (np.load(folder / f"{side}{threads}.npz") for side in ("tl", "peer"))
    return all(real.distance(ours[name], theirs[name], model.scale) <= real.NEAR for name in theirs.files)


def measure(tl, model, pairs, program, folder):
    """Values by column."""
    commands = prepared(tl, model, folder)
    found, starts = {}, ([], [])
    for _ in range(pairs):
        for side in range(2):
            starts[side].append(spawned(program, commands[side]))
    for side, name in enumerate(("tl", "ONNX Runtime")):
        found[f"{name} start"] = statistics.median(time for time, _ in starts[side])
        found[f"{name} MB"] = statistics.median(memory for _, memory in starts[side])
    for threads in (1, 2):
        servers = [Server(side, threads, folder) for side in ("tl", "peer")]
        for _ in range(pairs):
            for server in servers:
                server.round(kept=True)
        for server, name in zip(servers, ("tl", "ONNX Runtime")):
            server.close()
            found[f"{name} {threads}"] = statistics.median(server.times)
            found[f"{name} {threads} least"] = min(server.times)
        if not equal(model, folder, threads):
            print(f"{model.name}: the results differ")
    return found


def profile(tl, model, folder):
    """The lines of the profile that come first."""
    ours, _ = prepared(tl, model, folder)
    done = real.call(ours[0], "--profile", "--threads", 1, *ours[1:])
    print(f"── {model.name}, one thread\n{done.stderr}", flush=True)


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(sys.argv[2], int(sys.argv[3]), pathlib.Path(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tl")
    parser.add_argument("models", nargs="*", help="names of models, or parts of names")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--spawned", default="build/bench/spawned", help="bench/spawned.cpp, built")
    parser.add_argument("--values", help="where lines for bench/tables.py are added")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_intermixed_args()
    tl = pathlib.Path(options.tl).resolve()
    columns = ("tl 1", "ONNX Runtime 1", "tl 2", "ONNX Runtime 2", "tl start", "ONNX Runtime start", "tl MB", "ONNX Runtime MB")
    if not options.profile:
        print(f"{'models':18} {'tl ms':>9} {'ORT ms':>9} {'ORT/tl':>7}  {'2: tl ms':>9} {'ORT ms':>9} {'ORT/tl':>7}  {'start':>7} {'ORT':>7}  {'MB':>6} {'ORT':>6}")
    for model in zoo.MODELS:
        if model.name in LEFT_OUT or (options.models and not any(re.search(part, model.name) for part in options.models)):
            continue
        with tempfile.TemporaryDirectory(prefix="tl-onnx-") as folder:
            if options.profile:
                profile(tl, model, pathlib.Path(folder))
                continue
            found = measure(tl, model, options.pairs, options.spawned, pathlib.Path(folder))
        a, b, c, d, e, f, g, h = (found[name] for name in columns)
        print(f"{model.name:18} {a:9.3f} {b:9.3f} {b / a:7.2f}  {c:9.3f} {d:9.3f} {d / c:7.2f}  {e:7.1f} {f:7.1f}  {g:6.1f} {h:6.1f}", flush=True)
        if options.values:
            with open(options.values, "a") as file:
                for name, value in found.items():
                    file.write(f"{model.name}\t{name}\t{value:.4f}\n")


if __name__ == "__main__":
    main()

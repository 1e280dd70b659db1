#!/usr/bin/env python3
"""libFuzzer over the readers of tl: parser, checker, formatter, graphs as text, compiled programs, ONNX models, each kind of data file.

  run.py --build build-fuzz --tl build/tl [--seconds S] [--jobs N] [TARGET …]

Each target runs for S seconds, N at a time, from what the repository has (golden programs, samples, files that tl and
NumPy write) and from what earlier runs found to be new, which is kept in BUILD/corpus/TARGET. What ends a target by a
signal, by an exception, by more than its time or memory is kept in BUILD/found/TARGET, once for each place in the code.
Ends with `N passed, N failed`: targets without and with findings.
"""
import argparse
import glob
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TEXTS, LONGEST_TEXT, LONGEST_FILE = ("parse", "check", "format", "ir"), 3000, 32768
MODELS = 4096  # bytes of a published model that is a first input
SECONDS_AN_INPUT, MEGABYTES, STACK = 20, 3000, 1 << 30

# Tensors of several kinds in every format that tl writes; `D` is the folder.
WRITER = '''
let small = [[1.0, 2.5], [-3.0, inf]]
let whole: i64[3] = [1, -2, 9223372036854775807]
let image: u8[_, _, _] = [u8(x * y + c) for x in 0..5, y in 0..4, c in 0..3]
for kind in ["npy", "csv", "tsv", "txt", "npy.gz", "csv.gz"] {
  save("D/a." + kind, small)
  save("D/b." + kind, whole)
}
save("D/h.npy", [f16(1.5), f16(-2.0)])
save("D/t.npy", [true, false])
save("D/c.idx", [u8(1), u8(2)])
save("D/d.idx", [[1.0, 2.0], [3.0, 4.0]])
save("D/e.idx.gz", [i32(1)])
for kind in ["png", "jpg", "ppm"] { save("D/i." + kind, image) }
save("D/i.pgm", [[u8(3), u8(4)], [u8(5), u8(6)]])
save("D/g.png", [[u8(3), u8(4)], [u8(5), u8(6)]])
'''
# More than tl writes: deflated archives, columns first, the other order of bytes, headers.
NUMPY = '''
import json, struct, sys, numpy as np
d = sys.argv[1]
a, b = np.arange(12.0).reshape(3, 4), np.array([1, 2], ">i4")
np.savez(d + "/m.npz", a=a, b=b)
np.savez_compressed(d + "/n.npz", a=a, b=b)
np.save(d + "/f.npy", np.asfortranarray(a))
np.save(d + "/g.npy", b)
open(d + "/h.csv", "w").write("x,y\\n1,2.5\\n3,nan\\n")
open(d + "/q.csv", "w").write('"a b";"c"\\n1e3;-0x1p3\\n')
def safetensors(name, **tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for key, (kind, x) in tensors.items():
        header[key] = {"dtype": kind, "shape": list(x.shape), "data_offsets": [len(data), len(data) + x.nbytes]}
        data += x.tobytes()
    text = json.dumps(header).encode()
    open(f"{d}/{name}.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
safetensors("s", w=("F64", a), v=("F32", np.ones((2, 0), "f4")), k=("BF16", np.zeros(3, "u2")))
safetensors("o", only=("I64", np.arange(3)))
'''
# Published models, where their package is installed (tests/environment.sh): each operator is in some.
PUBLISHED = """
import sys, warnings
from onnx.backend.test.loader import load_model_tests
warnings.simplefilter("ignore")
for case in load_model_tests(kind="node"):
    data = case.model.SerializeToString()
    if len(data) <= int(sys.argv[2]):
        open(f"{sys.argv[1]}/{case.name}", "wb").write(data)
"""
FORMATS = {"npy": "*.npy", "gzip": "*.gz", "npz": "*.npz", "safetensors": "*.safetensors", "png": "*.png", "jpeg": "*.jpg", "pnm": "*.p[pg]m", "idx": "*.idx",
           "table": "*.[ct]s[vt]"}


def write_seeds(tl, where, targets):
    """A folder of first inputs for each of these targets."""
    for target in targets:
        os.makedirs(f"{where}/{target}", exist_ok=True)

    def put(target, name, data):
        with open(f"{where}/{target}/{name}", "wb") as file:
            file.write(data)

    programs = sorted(glob.glob(f"{ROOT}/tests/golden/**/*.tl", recursive=True) + glob.glob(f"{ROOT}/samples/*.tl") + glob.glob(f"{ROOT}/stdlib/*.tl"))
    for number, path in enumerate(programs):
        with open(path, "rb") as file:
            text = re.sub(rb"^[ \t]*#[>!=?%:].*\n?|[ \t]+#>.*$", b"", file.read(), flags=re.M)
        lines = text.split(b"\n")
        for part in range(0, len(lines), 60):
            for target in {"parse", "check", "format"} & set(targets):
                put(target, f"{number}_{part}", b"\n".join(lines[part:part + 60])[:LONGEST_TEXT])
    for number, path in enumerate(programs if "ir" in targets else ()):
        for stage in ("lower", "kernels"):
            made = subprocess.run([tl, "dump", "--stage", "ir", "--after", stage, path], capture_output=True)
            functions = re.split(rb"\n(?=func )", made.stdout) if made.returncode == 0 else []
            for part, text in enumerate(functions):
                if len(text) <= LONGEST_TEXT:
                    put("ir", f"{number}_{stage}_{part}", text)
    for path in glob.glob(f"{ROOT}/tests/onnx/**/*.onnx", recursive=True) if "onnx" in targets else ():
        with open(path, "rb") as file:
            put("onnx", os.path.basename(path), file.read()[:LONGEST_FILE])
    python = f"{ROOT}/build/onnx-venv/bin/python"
    if "onnx" in targets and os.path.exists(python):
        subprocess.run([python, "-c", PUBLISHED, f"{where}/onnx", str(MODELS)], check=True)
    with tempfile.TemporaryDirectory() as work:
        for name in ("life", "edges", "option", "text_stats") if "program" in targets else ():
            subprocess.run([tl, "build", f"{ROOT}/samples/{name}.tl", "-o", f"{work}/{name}"], check=True)
            with open(f"{work}/{name}", "rb") as file:
                data = file.read()
            begin = data.index(b"\x00\x0ctl program")  # what write_program begins with
            put("program", name, data[begin:begin + LONGEST_FILE])
        subprocess.run([tl, "run", "-e", WRITER.replace("D/", f"{work}/")], check=True)
        subprocess.run([sys.executable, "-c", NUMPY, work], check=True)
        for target in set(FORMATS) & set(targets):
            for path in sorted(glob.glob(f"{work}/{FORMATS[target]}")):
                with open(path, "rb") as file:
                    put(target, os.path.basename(path), file.read())


def binary(build, target):
    return f"{build}/tests/fuzz/tl_fuzz_{'files' if target in FORMATS else target}"


def environment():
    return {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_abort=1", "UBSAN_OPTIONS": "print_stacktrace=1"}


def deep_stack():
    resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK))


def alone():
    """For one input: what counts is the time of the processor, however busy the machine is."""
    deep_stack()
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_AN_INPUT, SECONDS_AN_INPUT + 1))


def options(target, seconds=SECONDS_AN_INPUT):
    longest = LONGEST_TEXT if target in TEXTS else LONGEST_FILE
    return [f"-max_len={longest}", f"-timeout={seconds}", f"-rss_limit_mb={MEGABYTES}", "-verbosity=1"]


def place_of(build, target, path):
    """Where an input ends its target: the first two functions of tl on the stack. None: it does not."""
    try:
        run = subprocess.run([binary(build, target), *options(target, 1000), path], capture_output=True, text=True, errors="replace", env=environment(),
                             preexec_fn=alone, timeout=1000)
    except subprocess.TimeoutExpired:
        return "no end", ""
    if run.returncode == 0:
        return None, ""
    if run.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "too long", ""
    error = re.search(r"SUMMARY: (.*)|terminate called.*\n.*what\(\): *(.*)", run.stderr)
    frames = re.findall(r"#\d+ 0x\w+ in (tl::[\w:~<>]+)", run.stderr)[:2]
    said = [line[:200] for line in run.stderr.splitlines() if re.search(r"runtime error|ERROR: |what\(\)|SUMMARY|in tl::", line)]
    return " < ".join(frames) or (error.group(0) if error else f"exit {run.returncode}"), "\n".join(said[:8])


def fuzz(build, target, seconds):
    """Runs one target; the places where it ended."""
    corpus, found = f"{build}/corpus/{target}", f"{build}/found/{target}"
    os.makedirs(corpus, exist_ok=True)
    os.makedirs(found, exist_ok=True)
    before = set(os.listdir(found))
    command = [binary(build, target), *options(target), "-fork=1", "-ignore_crashes=1", "-ignore_timeouts=1", "-ignore_ooms=1", f"-max_total_time={seconds}",
               f"-artifact_prefix={found}/", corpus, f"{build}/seeds/{target}"]
    with open(f"{build}/found/{target}.log", "w") as log:
        code = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=environment(), preexec_fn=deep_stack).returncode
    with open(f"{build}/found/{target}.log", errors="replace") as log:
        ran = re.findall(r"^#(\d+): cov: (\d+)", log.read(), re.M)
    places = {}
    for name in sorted(set(os.listdir(found)) - before, key=lambda n: os.path.getsize(f"{found}/{n}")):
        place, text = place_of(build, target, f"{found}/{name}")
        if place in places or (place is None and name.startswith(("slow-unit", "timeout"))):
            os.unlink(f"{found}/{name}")
        else:
            places[place] = (name, text)
    done = ran[-1] if ran else ("0", "0")
    print(f"{target}: {int(done[0]):,} inputs, {done[1]} edges, {len(places)} findings", flush=True)
    for name, text in places.values():
        print(f"{found}/{name}\n{text}", flush=True)
    return len(places) + (code != 0 and not places) + (done[0] == "0")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="a build with TL_FUZZ")
    parser.add_argument("--tl", required=True, help="a tl that makes the first inputs")
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("targets", nargs="*", help=f"of {', '.join((*TEXTS, 'program', 'onnx', *FORMATS))} (default: all)")
    flags = parser.parse_args()
    known = (*TEXTS, "program", "onnx", *FORMATS)
    for target in flags.targets:
        if target not in known:
            parser.error(f"no target '{target}'; there are {', '.join(known)}")
    build = os.path.abspath(flags.build)
    targets = flags.targets or known
    write_seeds(os.path.abspath(flags.tl), f"{build}/seeds", targets)
    with ThreadPoolExecutor(flags.jobs) as pool:
        found = list(pool.map(lambda target: fuzz(build, target, flags.seconds), targets))
    print(f"{sum(n == 0 for n in found)} passed, {sum(n != 0 for n in found)} failed")
    sys.exit(any(found))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The tables of figures in Markdown, written from the measurements in bench/results.

  bench/tables.py --write                       all tables, the figures in prose and docs/images/ratios.svg
  bench/tables.py --check                       what differs from the measurements, or has none
  bench/tables.py --record CASE FOLDER COMMAND  CASE.json from lines `ROW, COLUMN, VALUE` (tabs between them) on standard input

CASE.json says what `./dev bench CASE` measured: commit, date, machine, command, and `values`, by row and column. In a page a table stands
between `<!-- figures: TABLE -->` and `<!-- /figures -->`; a number in prose stands behind `<!-- figure: CASE.ROW.COLUMN -->` and keeps its
number of digits. The gate (tests/gate.py) fails where a page and the measurements differ, and where a table has numbers and no source.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import figure  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = pathlib.Path("bench/results")
PAGES = ["README.md", "docs/BENCHMARKS.md", "bench/README.md", "docs/memory.md", "docs/onnx.md", "docs/python.md"]
PICTURE = "docs/images/ratios.svg"
OLD = 100  # commits
FIELDS = ["commit", "date", "machine", "command", "values"]


def load(case):
    return json.loads((ROOT / RESULTS / f"{case}.json").read_text())


def values(case):
    return load(case)["values"]


# ---- how tables look

def milliseconds(x):
    return f"{x:.1f} ms" if x < 100 else f"{x:.0f} ms"


def pair(row, kind):
    """Median and least of building a program."""
    median, least = row[kind], row[f"{kind} least"]
    if median >= 1500:
        return f"{median / 1000:.1f} / {least / 1000:.1f} s"
    return f"{median:.0f} / {least:.0f} ms"


def readme():
    dispatch, start, size = values("dispatch"), values("start"), values("size")
    rows = ["| measured (`docs/BENCHMARKS.md` says how) | tl | compared with |", "| --- | --- | --- |"]
    for name, row in (("a chain of", "dependent"), ("independent", "independent")):
        tl, peer = dispatch[row]["tl"], dispatch[row]["PyTorch"]
        rows.append(f"| {name} tiny operations | {tl:.0f} ns each | PyTorch, eager: {peer:.0f} ns, {peer / tl:.1f} times as long |")
    rows += [
        f"| from starting a process to its first line of output | {milliseconds(start['run_warm']['median'])}, as an executable "
        f"{milliseconds(start['built']['median'])} | `python -c 'import torch'`: {start['torch']['median'] / 1000:.1f} s |",
        f"| a LeNet as an executable that needs nothing | {size['lenet']['bytes'] / 1e6:.1f} MB | |",
        f"| the whole compiler, with LLVM and lld inside | {size['tl']['bytes'] / 1e6:.0f} MB | |",
    ]
    return rows, ["dispatch", "start", "size"]


def engine():
    dispatch, promises, ahead = values("dispatch"), values("promises"), values("run_ahead")
    rows = ["| case | tl | peer or bound | target | |", "| --- | --- | --- | --- | --- |"]
    for name, row in (("dependent operations (`bench/dispatch.tl`)", "dependent"), ("independent operations, eight chains", "independent")):
        tl, peer = dispatch[row]["tl"], dispatch[row]["PyTorch"]
        rows.append(f"| tiny {name} | {tl:.0f} ns each | PyTorch {peer:.0f} ns | ≤ 300 ns, ≥ 10 × | {peer / tl:.1f} × |")
    for name, row in (("on one device, ten on another, both (`two_devices.tl`)", "two_devices"), ("copies of their results, overlapped (`copies.tl`)", "copies")):
        comma = " " if row == "two_devices" else ", "
        rows.append(f"| ten products{comma}{name} | {'both together' if row == 'two_devices' else 'overlapped'} | the longer one alone | ≤ 1.05 | "
                    f"{promises[f'overlap: {row}']['measured']:.3f} |")
    steps, free, bound = ahead["steps"]["count"], ahead["freely"]["seconds"], ahead["limited"]["seconds"]
    rows.append(f"| {steps} training steps without waiting, under 1.2 × the memory of a serial run | {bound:.2f} s | without a limit {free:.2f} s | "
                f"≤ 1.05, never above the limit | {bound / free:.2f}; {ahead['limited']['bytes'] / 1e6:.2f} of {ahead['limit']['bytes'] / 1e6:.2f} MB |")
    return rows, ["dispatch", "promises", "run_ahead"]


def everyday():
    rows = ["| | tl | NumPy | PyTorch | best / tl |", "| --- | --- | --- | --- | --- |"]
    for name, row in values("rows").items():
        peers = [row[peer] for peer in ("NumPy", "PyTorch") if peer in row]
        cells = [f"{row[peer]:.2f}" if peer in row else "" for peer in ("tl", "NumPy", "PyTorch")]
        rows.append(f"| {name} | {' | '.join(cells)} | {min(peers) / row['tl']:.2f} |")
    return rows, ["rows"]


def starting():
    start = values("start")
    mapped = "MB: the weights are mapped, and only one page of them is read"
    lines = [
        ("`tl run hello.tl`, empty disk cache", "run_cold", "≤ 60 ms", ""),
        ("`tl run hello.tl`", "run_warm", "≤ 15 ms", ""),
        ("hello, built", "built", "≤ 3 ms", f"peak memory {start['built']['bytes'] / 1e6:.1f} MB"),
        ("first result of `tl repl` from a pipe", "repl", "≤ 100 ms", ""),
        ("`tl -e 'print(1 + 2)'`", "text", "≤ 100 ms", ""),
        ('built, with 100 MB of weights (`const w = load("w.npy")`)', "weights", "", f"{start['weights']['bytes'] / 1e6:.1f} {mapped}"),
        ("`python -c 'import torch'`", "torch", "", "the peer"),
    ]
    rows = ["| start | median | minimum | target | |", "| --- | --- | --- | --- | --- |"]
    for name, row, target, note in lines:
        if row in start:
            cells = [name, milliseconds(start[row]["median"]), milliseconds(start[row]["least"]), target, note]
            rows.append("| " + " | ".join(cells).replace("|  |", "| |").replace("|  |", "| |") + (" |" if note else "|"))
    return rows, ["start"]


def sizes():
    size = values("size")
    programs = [("hello", "hello", "≤ 1 MB"), ("`samples/lenet.tl`", "lenet", "≤ 2 MB"), ("`samples/digit.tl`", "digit", ""),
                ("`samples/gpt.tl`", "gpt", ""), ("100 MB of weights", "weights", "")]
    rows = ["| | bytes | target | built, empty disk cache | rebuilt |", "| --- | --- | --- | --- | --- |"]
    for name, row, target in programs:
        rows.append(f"| {name} | {size[row]['bytes']:,} | {target} | {pair(size[row], 'cold')} | {pair(size[row], 'warm')} |".replace("|  |", "| |"))
    rows.append(f"| a library, `samples/embed/mlp.tl`: the `.so` | {size['mlp']['bytes']:,} | | | |")
    rows.append(f"| tl | {size['tl']['bytes']:,} | | | |")
    if "deb" in size and "bundle" in size:
        rows.append(f"| Debian package, bundle with all tests | {size['deb']['bytes']:,}, {size['bundle']['bytes']:,} | | | |")
    return rows, ["size"]


def loops():
    found = values("loops")
    names = {"common": "dynamic programming (`common`)"}
    ratios = [f"{row['ratio']:.2f}" for row in found.values()]
    rows = ["| " + " | ".join(names.get(name, name) for name in found) + " |", "|" + " --- |" * len(found), "| " + " | ".join(ratios) + " |"]
    return rows, ["loops"]


def gradients():
    names = {"mlp": "mlp 512 → 2048 → 512 → 1, batch 256", "attention": "attention, 8 heads of 128 × 64", "layer_norm": "layer norm, 2048 × 768, and a cube",
             "convolution": "convolution, 64×20×13×13 by 50×3×3", "elementwise": "elementwise, 2048 × 768", "recurrence": "recurrence of 1,000,000 steps"}
    digits = lambda x: f"{x:.2f}" if x < 2 else f"{x:.1f}"
    rows = ["| | forward ms | gradient ms | ratio |", "| --- | --- | --- | --- |"]
    for name, row in values("gradients").items():
        forward, gradient = row["forward"], row["gradient"]
        rows.append(f"| {names.get(name, name)} | {digits(forward)} | {digits(gradient)} | {gradient / forward:.1f} |")
    return rows, ["gradients"]


MODELS = {"silero_sequence": "silero-vad, sequence of 50", "silero_op15": "silero-vad, one chunk", "magika": "magika", "cls": "PP-OCR, direction of a line",
          "det": "PP-OCR, lines in 320 × 320", "rec": "PP-OCR, text of 48 × 320", "squeezenet": "SqueezeNet", "shufflenet": "ShuffleNet",
          "inception_v1": "Inception v1", "inception_v2": "Inception v2", "densenet121": "DenseNet-121", "resnet50": "ResNet-50", "bvlc_alexnet": "AlexNet",
          "zfnet512": "ZFNet-512", "vgg19": "VGG-19"}


def digits_by_size(x):
    return f"{x:.3f}" if x < 1 else f"{x:.2f}" if x < 10 else f"{x:.1f}" if x < 100 else f"{x:.0f}"


def model_ratios(row):
    return [f"{row[f'ONNX Runtime {threads} least'] / row[f'tl {threads} least']:.2f}" for threads in (1, 2)]


def models():
    """Milliseconds (of the best round) and megabytes: tl / ONNX Runtime."""
    rows = ["| | one thread | | two threads | | start to result | peak memory |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for name, row in values("models").items():
        pair_of = lambda column, digits=digits_by_size: f"{digits(row[f'tl{column}'])} / {digits(row[f'ONNX Runtime{column}'])}"
        ratios = model_ratios(row)
        cells = [MODELS.get(name, name), pair_of(" 1 least"), ratios[0], pair_of(" 2 least"), ratios[1], pair_of(" start", lambda x: f"{x:.0f}"), pair_of(" MB", lambda x: f"{x:.0f}")]
        rows.append("| " + " | ".join(cells) + " |")
    return rows, ["models"]


def models_short():
    """How long ONNX Runtime takes by how long tl takes, and memory."""
    rows = ["| | ONNX Runtime / tl, one thread | two threads | MB, tl | MB, ONNX Runtime |", "| --- | --- | --- | --- | --- |"]
    for name, row in values("models").items():
        ratios = model_ratios(row)
        rows.append(f"| {MODELS.get(name, name)} | {ratios[0]} | {ratios[1]} | {row['tl MB']:.0f} | {row['ONNX Runtime MB']:.0f} |")
    return rows, ["models"]


LAYOUTS = {"reduce": "reductions over any axes", "einsum": "`einsum`, random labels", "permute": "permutations", "broadcast": "broadcasting",
           "scan": "running sums and maxima", "argmax": "positions of extremes", "softmax": "softmax along any axis", "sort": "sorting along any axis",
           "gather": "elements taken", "window": "windows", "norm": "normalization over any axes", "all": "all"}


OPERATIONS = {"chain": "chains of elementwise operations", "slice": "slices with steps, their sums", "join": "`concat`, `stack`", "pad": "`pad`", "roll": "`roll`",
              "repeat": "`repeat`, `tile`", "bools": "`any`, `all`, `count_nonzero`", "folded_integers": "sums and extremes of integers",
              "statistic": "statistics along an axis", "mask": "masks", "scatter": "counts, scatters, rows taken", "product": "products of matrices",
              "cast": "conversions", "pairs": "pairs of rows", "search": "searching, sets, histograms", "integers": "arithmetic of integers",
              "matrix": "matrices", "image": "convolutions, pooling", "all": "all"}


def by_kind(case, titles):
    """How long the better of NumPy and PyTorch takes by how long tl takes."""
    rows = ["| | cases | one thread | below 0.9 | below 0.5 | two threads | below 0.9 | below 0.5 |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, row in values(case).items():
        cells = [titles[name], f"{row['cases']:.0f}"]
        for threads in (1, 2):
            cells.append(f"{row[f'{threads} mean']:.2f}")
            cells += [f"{row[f'{threads} below {bound}']:.0%}" for bound in ("0.9", "0.5")]
        rows.append("| " + " | ".join(cells) + " |")
    return rows, [case]


def python_calls():
    rows = ["| | µs a call |", "| --- | --- |"]
    for name, row in sorted(values("python_calls").items(), key=lambda item: item[1]["median"]):
        median = row["median"]
        rows.append(f"| {name} | {median:.1f} |" if median >= 1 else f"| {name} | {median:.2f} |")
    return rows, ["python_calls"]


def gpu():
    """Milliseconds of a call on a GPU, and the fastest of the others by tl."""
    others = ["torch", "compiled", "jax"]
    rows = ["| case | size | tl | PyTorch | torch.compile | JAX | best / tl |", "| --- | --- | --- | --- | --- | --- | --- |"]
    ratio = {name: min(row[other] for other in others if other in row) / row["tl"] for name, row in values("gpu").items()}
    for name in sorted(ratio, key=ratio.get, reverse=True):
        row = values("gpu")[name]
        cells = [f"{row[who] * 1e3:.3g}" if who in row else "" for who in ["tl", *others]]
        rows.append(f"| {name.replace('_', ' ')} | {row['size']} | {' | '.join(cells)} | {ratio[name]:.2f} |")
    return rows, ["gpu"]


TABLES = {"gpu": gpu, "layouts": lambda: by_kind("layouts", LAYOUTS), "operations": lambda: by_kind("operations", OPERATIONS),
          "readme": readme, "engine": engine, "rows": everyday, "start": starting, "size": sizes, "loops": loops, "gradients": gradients, "models": models,
          "models_short": models_short, "python_calls": python_calls}


def source(cases):
    """The sentence below a table."""
    parts = {}  # a case may be measured by the command of another
    for case in cases:
        data = load(case)
        machine = data["machine"] if len(cases) == 1 else ""
        command = data["command"]
        command = f"`{command}`" if command.startswith(("./dev", "THREADS", "ROUNDS", "PAIRS", "STEPS", "PYTHON", "python3")) else f"{case}, command {command}"
        parts[f"{command} at {data['commit']} ({data['date']}{'; ' if machine else ''}{machine})"] = None
    text = "Measured by " + "; ".join(parts) + "."
    return textwrap.wrap(text, 140, break_long_words=False, break_on_hyphens=False)


def render(name):
    rows, cases = TABLES[name]()
    return "\n".join(rows + [""] + source(cases)) + "\n"


# ---- pages

BLOCK = re.compile(r"<!-- figures: (\w+) -->\n(.*?)<!-- /figures -->\n", re.S)
INLINE = re.compile(r"(<!-- figure: (\w+)\.([^.>]+)\.([\w ]+) -->)([\d,]+(?:\.\d+)?)")


def digits_of(text, value):
    """The value with as many digits behind the point as the text has."""
    decimals = len(text.partition(".")[2])
    return f"{value:,.{decimals}f}" if "," in text else f"{value:.{decimals}f}"


def written(text):
    """The page as the measurements have it."""
    text = BLOCK.sub(lambda match: f"<!-- figures: {match[1]} -->\n{render(match[1])}<!-- /figures -->\n" if match[1] in TABLES else match[0], text)
    return INLINE.sub(lambda match: match[1] + digits_of(match[5], values(match[2])[match[3]][match[4]]), text)


def problems(page, text):
    """Pairs of line and message."""
    if page not in PAGES:
        return
    at = lambda position: text.count("\n", 0, position) + 1
    outside = text
    for match in BLOCK.finditer(text):
        outside = outside.replace(match[0], re.sub(r"[^\n]", "", match[0]), 1)
        if match[1] not in TABLES:
            yield at(match.start()), f"there are no figures `{match[1]}` (bench/tables.py)"
        elif match[2] != render(match[1]):
            wanted = render(match[1]).split("\n")
            line = next((n for n, (a, b) in enumerate(zip(match[2].split("\n"), wanted)) if a != b), 0)
            yield at(match.start()) + 1 + line, f"the figures `{match[1]}` are not those of bench/results: `./dev bench --write`"
    for match in INLINE.finditer(text):
        try:
            value = values(match[2])[match[3]][match[4]]
        except (OSError, KeyError):
            yield at(match.start()), f"there is no measurement `{match[2]}.{match[3]}.{match[4]}` in bench/results"
            continue
        if digits_of(match[5], value) != match[5]:
            yield at(match.start()), f"{match[5]} is {value} in bench/results/{match[2]}.json: `./dev bench --write`"
    rows = told = 0
    for number, line in enumerate(outside.split("\n"), 1):
        rows = rows + 1 if line.startswith("|") else 0
        told = told if rows else 0
        if rows > 2 and not told and re.search(r"\d", re.sub(r"`[^`]*`", "", line)):  # behind the names of columns and the rule
            told = 1
            yield number, "a table with figures and no source: put it between `<!-- figures: NAME -->` and `<!-- /figures -->` (bench/tables.py)"


def picture():
    return figure.draw({name: min(row[peer] for peer in ("NumPy", "PyTorch") if peer in row) / row["tl"] for name, row in values("rows").items()})


def old():
    """Lines about measurements that many commits have passed since."""
    for path in sorted((ROOT / RESULTS).glob("*.json")):
        commit = json.loads(path.read_text())["commit"].split()[0]
        done = subprocess.run(["git", "rev-list", "--count", f"{commit}..HEAD"], cwd=ROOT, capture_output=True, text=True)
        if done.returncode == 0 and int(done.stdout) > OLD:
            yield f"old: {RESULTS}/{path.name} was measured {done.stdout.strip()} commits ago, at {commit}"


def broken():
    """Pairs of file and message about the measurements themselves."""
    for path in sorted((ROOT / RESULTS).glob("*.json")):
        data = json.loads(path.read_text())
        for field in FIELDS:
            if not data.get(field):
                yield f"{RESULTS}/{path.name}", f"does not say its {field}"
    if (ROOT / PICTURE).read_text() != picture():
        yield PICTURE, "is not that of bench/results/rows.json: `./dev bench --write`"


# ---- recording

def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", info)
    memory = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())[1])
    vectors = "AVX-512" if "avx512f" in info else "AVX2" if " avx2" in info else "no AVX2"
    return f"{os.cpu_count()} cores, {model[1].strip() if model else 'unknown'} ({vectors}), {memory / 2**20:.0f} GB"


def record(case, folder, command):
    found = {}
    for line in sys.stdin:
        row, column, value = line.rstrip("\n").split("\t")
        if value.strip() != "nan":
            number = float(value)
            found.setdefault(row, {})[column] = int(number) if number == int(number) else number
    git = lambda *arguments: subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    commit = git("rev-parse", "--short", "HEAD") + (" with changes" if git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results") else "")
    data = {"commit": commit, "date": datetime.date.today().isoformat(), "machine": machine(), "command": command, "values": found}
    path = pathlib.Path(folder) / f"{case}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", nargs=3, metavar=("CASE", "FOLDER", "COMMAND"))
    options = parser.parse_args()
    if options.record:
        return record(*options.record)
    os.chdir(ROOT)
    if options.write:
        for page in PAGES:
            path = pathlib.Path(page)
            path.write_text(written(path.read_text()))
        pathlib.Path(PICTURE).write_text(picture())
    failed = False
    if options.check or options.write:
        for page in PAGES:
            for line, what in problems(page, pathlib.Path(page).read_text()):
                print(f"{page}:{line}: {what}")
                failed = True
        for file, what in broken():
            print(f"{file}:1: {what}")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()

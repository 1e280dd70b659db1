#!/usr/bin/env python3
"""Puts faults into the compiler, one at a time, and says which tests see them.

    tests/mutants/run.py [--gpu] [--only 3,7] [--work FOLDER] [--jobs N] [--table FILE]

All faults of `faults.py`, or with --gpu of `gpu_faults.py`, are built into one program: in each, MUTANT stands for a condition that the environment variable
TL_MUTANT turns on. So one build serves them all. A fault is caught if a test fails under it that passes without any; the
stages below run in their order until one does. The table says for each fault which stage that was.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time

import faults
import gpu_faults

ROOT = pathlib.Path(__file__).resolve().parents[2]

CONDITION = """#include <cstdlib>
namespace tl {
inline bool mutant(int number) {
  static const int chosen = [] {
    const char* text = std::getenv("TL_MUTANT");
    return text ? std::atoi(text) : 0;
  }();
  return chosen == number;
}
} // namespace tl
"""


def gpu_stages(tree, build):
    golden = [f"{build}/tests/tl_golden", "--tl", f"{build}/tl", "--no-builds", "--jobs", "1", "--seconds", "60", "--config"]
    return [
        ("emulated card", ["tests/gpu_emulated.sh", f"{build}/tl"]),
        ("golden programs: error", golden + ["gpu,gpu-seed5", "tests/golden/error"]),
        ("golden programs: run", golden + ["gpu,gpu-seed5", "tests/golden/run"]),
        ("races", golden + ["gpu-races", "tests/golden/run"]),
        ("golden programs, more orders", golden + ["gpu-seed1,gpu-seed2,gpu-seed3,gpu-seed4", "tests/golden/run"]),
    ]


def stages(tree, build):
    """Name and command of each stage, the quickest first."""
    golden = [f"{build}/tests/tl_golden", "--tl", f"{build}/tl", "--no-builds", "--seconds", "60", "--config"]
    differential = [sys.executable, "tests/differential/run.py", "--tl", f"{build}/tl", "--jobs", "1", "--shrink", "0", "--stop", "1",
                    "--out", f"{build}/differential-OUT"]
    return [
        ("golden programs: check", golden + ["default", "tests/golden/check", "tests/golden/ir", "tests/golden/pass"]),
        ("differential", differential + ["--seed", "1", "--count", "400"]),
        ("golden programs: error", golden + ["default", "tests/golden/error"]),
        ("golden programs: run", golden + ["default", "tests/golden/run"]),
        ("golden programs, interpreted and verified", golden + ["interp,sync", "tests/golden/run", "tests/golden/error"]),
        ("unit tests", ["sh", "-c", f"{build}/tests/tl_test_passes && {build}/tests/tl_test_ir && {build}/tests/tl_test_parser"]),
        ("generated", [f"{build}/tests/tl_generated"]),
        ("memory", ["tests/memory.sh", f"{build}/tl"]),
        ("commands", ["tests/commands.sh", f"{build}/tl"]),
        ("differential, more", differential + ["--seed", "100000", "--count", "4000"]),
    ]


def faulty(tree, rows):
    """The sources of a tree with all faults in them, by path."""
    texts = {}
    for number, (path, original, mutated, _) in enumerate(rows, 1):
        text = texts.setdefault(path, (tree / path).read_text())
        if text.count(original) != 1:
            sys.exit(f"mutants: {number}: `{original}` stands {text.count(original)} times in {path}")
        texts[path] = text.replace(original, mutated.replace("MUTANT", f"tl::mutant({number})"))
    return texts


def prepare(work, rows):
    """A copy of the tree with all faults in it, built."""
    tree, build = work / "tree", work / "tree" / "build"  # as in the repository, so that a compiler cache knows the rest
    tree.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-m"], cwd=tree, input=archive, check=True)
    for path, text in faulty(tree, rows).items():
        (tree / path).write_text(CONDITION + text)
    if not (build / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "release"], cwd=tree, check=True, stdout=subprocess.DEVNULL)
    targets = ["tl", "tl_golden", "tl_test_passes", "tl_test_ir", "tl_test_parser", "tl_generated"]
    subprocess.run(["cmake", "--build", build, "--target", *targets], check=True)
    return tree, build


def run_stage(command, tree, build, number, seconds):
    """None if it passed, else what it said last."""
    environment = dict(os.environ, TL_MUTANT=str(number), TL_CACHE_DIR=str(build / "kernel-cache"), TL_SOURCE_DIR=str(tree))
    command = [word.replace("OUT", str(number)) if "differential-OUT" in word else word for word in command]
    try:
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, timeout=seconds, text=True,
                              errors="replace")
    except subprocess.TimeoutExpired:
        return "ran too long"
    if done.returncode == 0:
        return None
    return f"exit code {done.returncode}"


def judge(number, tree, build, limits, commands):
    for name, command in commands:
        if name not in limits:
            continue
        if run_stage(command, tree, build, number, limits[name]) is not None:
            return name
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gpu", action="store_true", help="faults in what runs programs on GPUs")
    parser.add_argument("--only", help="numbers of faults, with commas")
    parser.add_argument("--work", type=pathlib.Path, )
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--stages", type=int, default=99, help="only the first of them")
    parser.add_argument("--built", action="store_true", help="the tree in --work is built already")
    parser.add_argument("--table", type=pathlib.Path, help="where the table is written (Markdown)")
    parser.add_argument("--check", action="store_true", help="only whether the text of each fault still stands in the sources")
    options = parser.parse_args()
    if options.check:
        for rows in (faults.FAULTS, gpu_faults.FAULTS):
            print(f"{len(rows)} faults in {len(faulty(ROOT, rows))} files")
        return 0
    rows_of_faults = gpu_faults.FAULTS if options.gpu else faults.FAULTS
    work = (options.work or ROOT / "build" / ("mutants-gpu" if options.gpu else "mutants")).resolve()
    tree, build = (work / "tree", work / "tree" / "build") if options.built else prepare(work, rows_of_faults)
    limits = {}
    commands = (gpu_stages if options.gpu else stages)(tree, build)
    for name, command in commands[: options.stages]:
        begin = time.monotonic()
        if trouble := run_stage(command, tree, build, 0, 3600):
            sys.exit(f"mutants: without any fault, `{name}` fails: {trouble}")
        limits[name] = 60 + 10 * (time.monotonic() - begin)
        print(f"without a fault: {name}: passed", flush=True)
    numbers = [int(n) for n in options.only.split(",")] if options.only else list(range(1, len(rows_of_faults) + 1))
    caught = 0
    rows = ["| | file | fault | caught by |", "| --- | --- | --- | --- |"]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, by in zip(numbers, pool.map(lambda n: judge(n, tree, build, limits, commands), numbers)):
            path, _, _, what = rows_of_faults[number - 1]
            caught += by is not None
            rows.append(f"| {number} | `{path}` | {what} | {by or '**nothing**'} |")
            print(rows[-1], flush=True)
    if options.table:
        options.table.write_text("\n".join(rows) + "\n")
    print(f"{caught} of {len(numbers)} caught")
    return 0 if caught == len(numbers) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What tl computes against NumPy's results or Python's, one module for each subject.

  tests/oracles/run.py --tl TL [NAME…] [--filter TEXT] [--count N] [--seed S] [--keep DIR] [--large]

Without names all subjects. Prints one line for each subject, and at the end `N passed, N failed`. Exit code 1 if anything failed, 77 if
nothing could run. A Python that has NumPy is looked for; subjects whose tools are not installed are skipped by name.
"""
import argparse
import importlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

from oracle import Oracle  # noqa: E402 (after the line above)

SUBJECTS = ["extremes", "orders", "layouts", "short_rows", "sorting", "card_sorting", "functions", "slopes", "complex_numbers", "contractions", "convolutions", "linalg", "products",
            "turns", "batches", "rows", "tables", "tasks", "examples", "plots", "pieces", "names", "arguments"]
WITHOUT_NUMPY = ["extremes", "tables", "plots", "names", "arguments"]
COMPILERS = ["c++", "g++", "clang++"]  # one of them compiles the kernels of emulated cards


def find_numpy():
    """Goes on in the system's Python where this one has no NumPy and that one has."""
    other = "/usr/bin/python3"
    if importlib.util.find_spec("numpy") or os.path.realpath(sys.executable) == os.path.realpath(other) or not os.path.exists(other):
        return
    if subprocess.run([other, "-c", "import numpy"], capture_output=True).returncode == 0:
        os.execv(other, [other, *sys.argv])


def missing(name):
    """What the subject needs and this machine does not have."""
    if name not in WITHOUT_NUMPY and not importlib.util.find_spec("numpy"):
        return "there is no python3 with NumPy"
    if name in ("products", "card_sorting") and not any(map(shutil.which, COMPILERS)):
        return "there is no C++ compiler"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SUBJECTS))
    parser.add_argument("--tl", required=True)
    parser.add_argument("--filter", default="", help="only subjects with this in their names")
    parser.add_argument("--count", type=int, help="random cases, of subjects that have such")
    parser.add_argument("--seed", type=int, help="of random numbers")
    parser.add_argument("--keep", type=pathlib.Path, help="where the folders of programs that fail are copied to")
    parser.add_argument("--large", action="store_true", help="also what takes minutes and gigabytes")
    options = parser.parse_args()
    for name in options.names:
        if name not in SUBJECTS:
            parser.error(f"no subject `{name}`; there are {', '.join(SUBJECTS)}")
    names = [name for name in options.names or SUBJECTS if options.filter in name]
    if any(name not in WITHOUT_NUMPY for name in names):
        find_numpy()
    passed = failed = 0
    skipped = []
    for name in names:
        why = missing(name)
        if why:
            print(f"SKIPPED: {name} ({why})")
            skipped.append(name)
            continue
        subject = importlib.import_module(name)
        if options.count is not None and not hasattr(subject, "COUNT"):
            parser.error(f"--count: the cases of {name} are a fixed list")
        oracle = Oracle(name, os.path.realpath(options.tl), subject.SEED if options.seed is None else options.seed,
                        getattr(subject, "COUNT", 0) if options.count is None else options.count, options.keep, options.large)
        subject.run(oracle)
        print(f"   {name:<20} {oracle.passed} passed, {oracle.failed} failed", flush=True)
        passed, failed = passed + oracle.passed, failed + oracle.failed
    if skipped and skipped == names:
        sys.exit(77)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

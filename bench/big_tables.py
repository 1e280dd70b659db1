"""Tables of many rows beside pandas: reading, groups with several reductions, a join, sorting; rounds of tl and of pandas take turns.

  bench/big_tables.py TL [--rows N] [--rounds N] [--threads N] [--python PYTHON]

PYTHON is one that has pandas. Prints the least seconds of each step and the ratio; above 1, tl is faster.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

BENCH = pathlib.Path(__file__).resolve().parent
CITIES = 1000
ZONES = 100000


def write(folder, rows, python):
    """By NumPy and pandas, which are quick at it."""
    subprocess.run([python, "-c", f"""
import numpy as np, pandas as pd
rng = np.random.default_rng(0)
n = {rows}
names = np.array(["city %d" % k for k in range({CITIES})])
pd.DataFrame({{"city": names[rng.integers(0, {CITIES}, n)], "zone": rng.integers(0, {ZONES}, n), "fare": rng.random(n).round(6) * 100,
              "tip": rng.random(n).round(3)}}).to_csv("trips.csv", index=False, float_format="%.6g")
pd.DataFrame({{"zone": rng.permutation({ZONES}), "price": rng.random({ZONES}).round(3)}}).to_csv("zones.csv", index=False)
"""], cwd=folder, check=True)


def seconds(command, folder, environment=None):
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env=environment)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tl")
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    tl = os.path.realpath(options.tl)
    threads = {**os.environ, **{name: options.threads for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_MAX_THREADS"]}}
    best = {"tl": {}, "pandas": {}}
    with tempfile.TemporaryDirectory(prefix="tl-tables-") as folder:
        write(folder, options.rows, options.python)
        for _ in range(options.rounds):
            sides = {"tl": seconds([tl, "run", "--threads", options.threads, str(BENCH / "big_tables.tl"), "--trips", "trips.csv", "--zones", "zones.csv", "--rounds", "1"], folder),
                     "pandas": seconds([options.python, str(BENCH / "peers/big_tables.py"), "trips.csv", "zones.csv", "1"], folder, threads)}
            for side, steps in sides.items():
                for name, value in steps.items():
                    best[side][name] = min(best[side].get(name, value), value)
    print(f"{options.rows} rows, {options.threads} threads")
    for name, mine in best["tl"].items():
        print(f"{name:<16} tl {mine:8.3f} s   pandas {best['pandas'][name]:8.3f} s   ratio {best['pandas'][name] / mine:5.2f}")


main()

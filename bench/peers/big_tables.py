"""The peer of bench/big_tables.tl: the same steps in pandas, on as many threads as it takes. big_tables.py TRIPS ZONES [ROUNDS]."""
import sys
import time

import pandas as pd


def step(name, rounds, run):
    best = float("inf")
    for _ in range(rounds):
        begun = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begun)
    print(f"{name} {best:.3f}")


def main(trips, zones, rounds):
    begun = time.perf_counter()
    t = pd.read_csv(trips, usecols=["city", "zone", "fare", "tip"], dtype={"city": "category"})
    print(f"read {time.perf_counter() - begun:.3f}")
    z = pd.read_csv(zones)
    several = {"fare": ["sum", "max", "count"], "tip": "mean"}
    step("group_integers", rounds, lambda: t.groupby("zone").agg(several))
    step("group_texts", rounds, lambda: t.groupby("city", observed=True).agg(several))
    step("join", rounds, lambda: (lambda m: (m.fare * m.price).sum())(t[["zone", "fare"]].merge(z, on="zone")))
    step("sort", rounds, lambda: t.sort_values("fare", kind="stable"))


main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3)

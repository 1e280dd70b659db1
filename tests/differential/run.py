#!/usr/bin/env python3
"""Generates programs and their twins, runs both, and writes down the smallest programs on which they differ. See README.md."""
from __future__ import annotations

import argparse
import copy
import json
import multiprocessing
import os
import random
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import execute  # noqa: E402
import generate  # noqa: E402
import shrink  # noqa: E402

BATCH = 40


def flags_of(rng, interpreted) -> tuple:
    """How the program of a batch is run: this share by the interpreter, which costs a tenth and has all that stands before passes and kernels; else compiled, in a way that must not matter."""
    if rng.random() < interpreted:
        return ("fmt", "--interp") if rng.random() < 0.05 else ("--interp",)
    at = rng.random()
    for share, flags in ((0.72, ()), (0.14, ("--schedule-seed", str(rng.randint(1, 1000)), "--threads", "2")), (0.1, ("--sync",)), (0.04, ("build",))):
        at -= share
        if at < 0:
            break
    return flags if flags == ("build",) else ("--no-cache", *flags)


def batch(runner, topic, first, count, options):
    """Runs `count` functions from seed `first` on. Gives the number that was tested, and findings."""
    rng = random.Random(f"batch {topic} {first}")
    cases, outcomes, findings = [], [], []
    for seed in range(first, first + count):
        try:
            case = generate.make(seed, topic)
            outcome = execute.run_twin(case)
        except Exception as fault:  # a fault of the generator is reported like any other
            findings.append((seed, topic, f"twin: {type(fault).__name__}", str(fault)[:4000], "", ""))
            continue
        cases.append(case)
        outcomes.append(outcome)
    style = "main" if rng.random() < 0.6 else "script"
    flags = flags_of(rng, options.interpreted)
    tails = [(k, j) for k, o in enumerate(outcomes) for j, x in enumerate(o) if x.failure is not None and not x.skip]
    tail = rng.choice(tails) if tails else None
    alone = rng.sample(tails, min(len(tails), 12 if topic == "failures" else 2))
    tested = sum(any(o.failure is None and not o.skip for o in os) for os in outcomes)
    found = execute.examine(runner, cases, outcomes, flags, style, tail)
    for k, j in alone:
        if cases[k] not in [f.case for f in found]:
            one = copy.copy(cases[k])
            one.calls = [one.calls[j]]
            found += execute.examine(runner, [one], [[outcomes[k][j]]], flags if "build" not in flags else (), style, (0, 0))
    for finding in found:
        # Sizes are sums of products: where their parts are no i64, they may be refused though the whole is one.
        if finding.kind in ("fails SizeOverflow", "fails at the end SizeOverflow") and re.search(r"\d{19}", program_text(finding.case, style)):
            tested -= 1
            continue
        if options.shrink and not finding.kind.endswith("together") and not options.known(finding):
            late = options.seconds and time.time() > options.end
            finding = shrink.shrink(runner, finding, style, min(options.shrink, 8) if late else options.shrink)
        text = finding.program or program_text(finding.case, style)
        findings.append((finding.case.seed, topic, finding.kind, f"{' '.join(finding.flags)}\n{finding.detail}", text, execute.twin_text(finding.case)))
    return tested, findings


def program_text(case, style) -> str:
    try:
        outcomes = execute.run_twin(case)
    except execute.TwinFault:
        return ""
    tails = [(0, j) for j, o in enumerate(outcomes) if o.failure is not None and not o.skip]
    return execute.Program([case], [outcomes], style, tails[0] if tails else None).text


def work(number, options, tasks, results):
    """A worker: takes numbers of batches until there are none."""
    runner = execute.Runner(options.tl, options.timeout)
    while True:
        with tasks.get_lock():
            n = tasks.value
            tasks.value += 1
        if n >= options.batches or (options.seconds and time.time() > options.end):
            break
        topic = options.topics[n % len(options.topics)]
        first = options.seed + n * BATCH
        count = min(BATCH, options.count - n * BATCH) if options.count else BATCH
        try:
            tested, findings = batch(runner, topic, first, count, options)
        except Exception as fault:
            tested, findings = 0, [(first, topic, f"runner: {type(fault).__name__}", repr(fault), "", "")]
        results.put((n, tested, findings))
    results.put(None)


class Options:
    """What the workers need. Findings of a kind that was seen often are not shrunk any more."""

    def __init__(self, arguments):
        self.__dict__.update(vars(arguments))
        self.seen = {}

    def known(self, finding) -> bool:
        self.seen[finding.kind] = self.seen.get(finding.kind, 0) + 1
        return self.seen[finding.kind] > self.each


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--tl", required=True, help="the program to test")
    p.add_argument("--seed", type=int, default=None, help="the first seed (default: fresh)")
    p.add_argument("--count", type=int, default=0, help="how many functions")
    p.add_argument("--seconds", type=float, default=0, help="how long instead")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    p.add_argument("--topic", action="append", choices=sorted(generate.TOPICS), help="only these topics")
    p.add_argument("--interpreted", type=float, default=0.7, help="the share of programs that the interpreter runs; the others are compiled")
    p.add_argument("--out", default="build/differential", help="where failing programs go")
    p.add_argument("--state", help="a file that says where the last run stopped; this one goes on from there")
    p.add_argument("--shrink", type=float, default=40.0, help="seconds for making one failing program small (0: as it is)")
    p.add_argument("--each", type=int, default=4, help="how many failures of one kind each job makes small")
    p.add_argument("--timeout", type=float, default=60.0, help="seconds after which a program hangs")
    p.add_argument("--stop", type=int, default=200, help="stop after so many failures")
    options = Options(p.parse_args())
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1, 10 ** 9) * 1000
        if options.state and os.path.exists(options.state):
            options.seed = json.load(open(options.state))["next"]
    if not options.count and not options.seconds:
        options.count = 2000
    options.topics = options.topic or generate.ORDER
    options.batches = (options.count + BATCH - 1) // BATCH if options.count else 10 ** 9
    options.end = time.time() + options.seconds
    print(f"differential: seed {options.seed}, {options.jobs} jobs", flush=True)
    tasks = multiprocessing.Value("q", 0)
    results = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(k, options, tasks, results)) for k in range(options.jobs)]
    start = time.time()
    for w in workers:
        w.start()
    passed, failed, running, last = 0, 0, len(workers), -1
    while running:
        message = results.get()
        if message is None:
            running -= 1
            continue
        n, tested, findings = message
        last = max(last, n)
        passed += tested - len(findings)
        failed += len(findings)
        for finding in findings:
            report(options, *finding)
        if failed >= options.stop:
            with tasks.get_lock():
                tasks.value = 10 ** 12
    for w in workers:
        w.join()
    if options.state:
        with open(options.state, "w") as f:
            json.dump({"next": options.seed + (last + 1) * BATCH}, f)
    print(f"{passed + failed} functions in {time.time() - start:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def report(options, seed, topic, kind, detail, text, twin):
    name = re.sub(r"[^A-Za-z0-9]+", "_", f"{topic}_{seed}_{kind}")[:80]
    os.makedirs(options.out, exist_ok=True)
    path = os.path.join(options.out, name)
    note = f"# {kind}; again with --topic {topic} --seed {seed} --count 1\n" + "".join(f"# {line}\n" for line in detail.splitlines())
    with open(path + ".tl", "w") as f:
        f.write(text + note)
    with open(path + ".py", "w") as f:
        f.write(note + twin)
    print(f"{topic} {seed}: {kind} ({path}.tl)", flush=True)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""How far the work of two devices overlaps, from a timeline that `tl run --trace FILE` wrote: overlap.py FILE [LEAST].

The program's waits cut its operations into groups. In a group, a device (or a lane of copies) is at work from the beginning of
its first operation to the end of its last. Of the groups in which two are at work, and the shorter of them at least half as long
as in any other group, the one counts in which both are at work together for the least share of the shorter time. Exits with 1
if that share is less than LEAST, or if there is no such group.
"""
import json
import sys


def groups_of(events):
    """Lists of {device or lane: (begin, end)}, by the waits that the issuing thread made between operations."""
    lanes = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    steps = sorted((e for e in events if e["ph"] == "X" and e["cat"] == "issuing"), key=lambda e: e["ts"])
    group_of, group, waited = {}, 0, False
    for step in steps:
        if step["name"].startswith("wait"):
            waited = True
        elif step["name"].startswith("issue"):
            group += waited
            waited = False
            group_of[step["args"]["operation"]] = group
    found = {}
    for e in events:
        number = e["args"]["operation"] if e["ph"] == "X" and e["cat"] != "issuing" else None
        if number not in group_of:
            continue
        # The issuing thread works for the devices while it waits.
        who = lanes[e["pid"], e["tid"]] if e["cat"] == "copy" else e["args"]["device"]
        work = found.setdefault(group_of[number], {})
        begin, end = work.get(who, (e["ts"], 0))
        work[who] = (min(begin, e["ts"]), max(end, e["ts"] + e["dur"]))
    return list(found.values())


def times(work):
    """Of the two that work longest: how long the shorter one does, and how long both do."""
    (a, b), (c, d) = sorted(work.values(), key=lambda w: w[0] - w[1])[:2]
    return min(b - a, d - c), max(0.0, min(b, d) - max(a, c))


def main():
    trace = json.load(open(sys.argv[1], encoding="utf-8"))
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    found = [times(work) for work in groups_of(events) if len(work) > 1]
    longest = max((shorter for shorter, _ in found), default=0)
    shares = [both / shorter for shorter, both in found if shorter >= longest / 2 and shorter > 0]
    least = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    print(f"two devices are at work together for {min(shares, default=0):.3f} of the shorter time, in {len(shares)} groups")
    sys.exit(not shares or min(shares) < least)


main()

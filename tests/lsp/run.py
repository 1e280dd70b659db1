#!/usr/bin/env python3
"""The language server, as an editor talks to it: tests/lsp/run.py TL [FILTER] [--rewrite].

snapshots.py: requests and their answers (`cases/`); protocol.py: messages as they must be, and wrong ones; edits.py: random edits, after which
the diagnostics are those of `tl check`, and what is said at once is said in the end; fixes.py: every quick fix that wrong programs are offered, applied. latency.py alone measures how long
diagnostics take. --rewrite writes the answers into `cases/` in place of the expected ones.
"""
import argparse
import os
import sys
import traceback

sys.dont_write_bytecode = True

import edits  # noqa: E402
import fixes  # noqa: E402
import protocol  # noqa: E402
import snapshots  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tl")
    parser.add_argument("filter", nargs="?", default="")
    parser.add_argument("--rewrite", action="store_true")
    arguments = parser.parse_args()
    arguments.tl = os.path.abspath(arguments.tl)
    passed = failed = 0
    tests = [*snapshots.tests(arguments.tl, arguments.rewrite), *protocol.tests(arguments.tl), *edits.tests(arguments.tl), *fixes.tests(arguments.tl)]
    for name, test in tests:
        if arguments.filter not in name:
            continue
        try:
            test()
            passed += 1
        except Exception as error:  # whatever is wrong with one, the others run
            failed += 1
            print(f"FAIL {name}: {error}" if isinstance(error, AssertionError) else f"FAIL {name}: {traceback.format_exc()}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs the tests beside this file, or those whose names contain the argument, and prints `N passed, N failed, N skipped`."""

import os
import sys
import unittest


def selected(suite, word):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from selected(test, word)
        elif word in test.id():
            yield test


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    found = unittest.TestLoader().discover(folder, "test_*.py", top_level_dir=folder)
    result = unittest.TextTestRunner(sys.stdout, verbosity=1).run(unittest.TestSuite(selected(found, word)))
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    for test, why in result.skipped:
        print("SKIPPED: %s (%s)" % (test.id(), why))
    print("%d passed, %d failed, %d skipped" % (result.testsRun - failed - skipped, failed, skipped))
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())

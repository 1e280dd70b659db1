"""What scripts share that end with `N passed, N failed`."""


def count(cases, problem, only=""):
    """Prints each case, (name, *what it is), of which `problem` says what is wrong with it, and the line that the steps read; an exit code."""
    passed = failed = 0
    for name, *case in cases:
        if only not in name:
            continue
        fault = problem(*case)
        passed, failed = passed + (not fault), failed + bool(fault)
        if fault:
            print(f"FAILED {name}: {fault}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)

"""The command line of tl: `python -m tl`, and the script `tl`."""

import os
import sys


def main():
    if sys.argv[1:2] == ["kernel"]:
        from .kernel import main as kernel
        return kernel(sys.argv[2:])
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "tl")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, ["tl"] + sys.argv[1:])


if __name__ == "__main__":
    main()

#!/usr/bin/env bash
# Programs changed at random (fuzz/mutate.py): none may end tl by a signal, a fault of its own or not at all. Seeds that are
# always the same. And formats against Python's (fuzz/formats.py). tests/fuzz.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -z $filter || fuzz == *"$filter"* ]] || { echo "0 passed, 0 failed"; exit 0; }
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }
failed=0
python3 tests/fuzz/formats.py --tl "$tl" --seed 1 --count 20 --out "$(dirname "$tl")/fuzz" || failed=1
python3 tests/fuzz/mutate.py --tl "$tl" --seed 1 --count 300 --out "$(dirname "$tl")/fuzz" || failed=1
exit $failed

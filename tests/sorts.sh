#!/usr/bin/env bash
# Sorting against NumPy (tests/sorting/run.py). tests/sorts.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -z $filter || sorts == *"$filter"* ]] || { echo "0 passed, 0 failed"; exit 0; }
source tests/check.sh
needs_numpy
exec "$python" tests/sorting/run.py --tl "$tl"

#!/usr/bin/env bash
# Linear algebra against NumPy (tests/linalg/run.py). tests/decompositions.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -z $filter || decompositions == *"$filter"* ]] || { echo "0 passed, 0 failed"; exit 0; }
source tests/check.sh
needs_numpy
exec "$python" tests/linalg/run.py --tl "$tl"

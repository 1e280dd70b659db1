#!/usr/bin/env bash
# Convolutions against NumPy (tests/convolutions/run.py). tests/convolutions.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -z $filter || convolutions == *"$filter"* ]] || { echo "0 passed, 0 failed"; exit 0; }
source tests/check.sh
needs_numpy
exec "$python" tests/convolutions/run.py --tl "$tl"

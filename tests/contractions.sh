#!/usr/bin/env bash
# einsum against NumPy (tests/contractions/run.py). tests/contractions.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -z $filter || contractions == *"$filter"* ]] || { echo "0 passed, 0 failed"; exit 0; }
source tests/check.sh
needs_numpy
exec "$python" tests/contractions/run.py --tl "$tl"

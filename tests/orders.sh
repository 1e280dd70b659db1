#!/usr/bin/env bash
# The orders of sums and scans against Python (tests/orders/run.py). tests/orders.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -z $filter || orders == *"$filter"* ]] || { echo "0 passed, 0 failed"; exit 0; }
source tests/check.sh
needs_numpy
exec "$python" tests/orders/run.py --tl "$tl"

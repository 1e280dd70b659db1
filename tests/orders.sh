#!/usr/bin/env bash
# The orders of sums and scans against Python (tests/orders/run.py). tests/orders.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -z $filter || orders == *"$filter"* ]] || { echo "0 passed, 0 failed"; exit 0; }
for python in python3 /usr/bin/python3; do
  "$python" -c 'import numpy' 2>/dev/null && break || python=
done
[[ -n $python ]] || { echo "needs python3 with NumPy"; exit 77; }
exec "$python" tests/orders/run.py --tl "$tl"

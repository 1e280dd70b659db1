#!/usr/bin/env bash
# Matrix products on an emulated card against NumPy (tests/products/run.py). tests/products.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -z $filter || products == *"$filter"* ]] || { echo "0 passed, 0 failed"; exit 0; }
source tests/check.sh
needs_numpy
[[ -f tests/products/run.py ]] || { echo "SKIPPED: all of products.sh (there is no tests/products/run.py)"; exit 77; }
command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || {
  echo "SKIPPED: all of products.sh (there is no C++ compiler)"
  exit 77
}
exec "$python" tests/products/run.py --tl "$tl"

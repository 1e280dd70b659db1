#!/usr/bin/env bash
# Random programs against their twins in Python (tests/differential), for about a minute: seeds that are always the same, and
# fresh ones. What fresh seeds find is printed and kept, and does not count as failed: no change is to blame for it.
# tests/differential.sh TL [FILTER]. TL_TEST_SECONDS: how long the fresh ones go on (20).
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -z $filter || differential == *"$filter"* ]] || { echo "0 passed, 0 failed"; exit 0; }
source tests/check.sh
needs_numpy
out=$(dirname "$tl")/differential
run() { "$python" tests/differential/run.py --tl "$tl" --out "$out" --jobs "$(nproc)" "$@"; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0
for arguments in "--seed 1 --count 1000" "--seconds ${TL_TEST_SECONDS:-20}"; do
  # shellcheck disable=SC2086
  run $arguments | tee "$log"
  line=$(tail -1 "$log")
  if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    if [[ $arguments == --seed* ]]; then failed=$((failed + BASH_REMATCH[2])); fi
    ((BASH_REMATCH[2] == 0)) || echo "found: $out"
  else
    failed=$((failed + 1)) # it ended without saying how
  fi
done
echo "$passed passed, $failed failed"
((failed == 0))

#!/usr/bin/env bash
# The catalogue of errors (docs/errors.md): of each section the first program must fail with that kind, the second run;
# and every kind that the sources report has a section. tests/explain.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
needs awk
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# out/KIND.1.tl: the program that is refused, out/KIND.2.tl: the right one
awk -v out="$out" '
  /^## / { kind = $2; n = 0; next }
  /^```tl/ { inside = 1; file = out "/" kind "." ++n ".tl"; next }
  /^```/ { inside = 0; next }
  inside { print > file }' docs/errors.md
for file in "$out"/*.1.tl; do
  kind=$(basename "$file" .1.tl)
  if "$tl" explain "$kind" | grep -q "^A warning of"; then
    check "$kind is a warning" 1 "warning\[$kind\]" -- "$tl" check --warnings=error "$file"
    check "$kind: it runs" 0 -- "$tl" run "$file"
    check "$kind mended" 0 -- "$tl" check --warnings=error "$out/$kind.2.tl"
    check "tl explain $kind" 0 "^warned of:" -- "$tl" explain "$kind"
    continue
  fi
  text=$("$tl" run "$file" 2>&1 >/dev/null)
  code=$?
  check "$kind is refused" 0 "error\[$kind\]" -- echo "$text"
  check "$kind: exit code" 0 -- test $code -eq 1 -o $code -eq 3
  check "$kind mended" 0 -- "$tl" run "$out/$kind.2.tl"
  check "tl explain $kind" 0 "^refused:" -- "$tl" explain "$kind"
done
check "tl explain lists the kinds" 0 "^MixedTypes" -- "$tl" explain
check "tl explain of no kind" 2 "did you mean .ShapeMismatch" -- "$tl" explain ShapeMissmatch

# Faults of tl itself, those that tests inject, and what a cancelled run ends with inside, are no messages about programs.
sections=$("$tl" explain)
if [[ ! -d parser ]]; then
  echo "SKIPPED: the kinds in the sources (there are no sources)"
  finish
  exit
fi
kinds=$(grep -rhoE '"[A-Z][a-z]+[A-Z][A-Za-z]+"' parser ir vm lang --include=*.cpp --include=*.re --include=*.yy |
  grep -oE '[A-Z][A-Za-z]+' | sort -u | grep -vxE 'InternalError|InjectedFault|Cancelled|Interrupted')
for kind in $kinds; do check "docs/errors.md has $kind" 0 -- grep -qx "$kind" <(echo "$sections"); done
finish
